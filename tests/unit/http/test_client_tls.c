/* TLS and proxies: which server is trusted, and what proxies are sent. */
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/macros.h"
#include "certificate.h"
#include "http/server.h"
#include "net/listen.h"
#include "net/stream.h"
#include "net/tls/tls_client.h"
#include "net/tls/tls_server.h"
#include "peer.h"

static struct certificate certificate; /* of "localhost" and 127.0.0.1 */
static struct certificate foreign; /* of another name */

static void answer(struct http_exchange *x)
{
	http_reply(x, 200, NULL, x->request->target,
		   strlen(x->request->target));
}

static void nothing(struct http_exchange *x)
{
	(void)x;
}

static const struct http_handler HANDLER = { .begin = nothing, .end = answer };

struct scene {
	struct peer peer; /* its server is the proxy */
	struct http_server *server;
	struct tls_server *tls_server;
	struct tls_client *tls_client;
	uint16_t port; /* of the server */
	char url[64];
};

static void open_scene(struct scene *s, const struct certificate *own,
		       const char *ca, const struct http_proxies *proxies)
{
	struct listen_socket socket;
	struct roar_error err;

	peer_init(&s->peer, &HTTP_CLIENT_LIMITS);
	assert_int_equal(tls_server_new(own->cert, own->key, NULL, "http/1.1",
					&s->tls_server, &err),
			 0);
	assert_int_equal(tls_client_new(ca, NULL, NULL, "http/1.1",
					&s->tls_client, &err),
			 0);
	http_client_free(s->peer.client);
	assert_int_equal(http_client_new(s->peer.loop, s->tls_client, proxies,
					 &HTTP_CLIENT_LIMITS, &s->peer.client),
			 0);
	assert_int_equal(http_server_new(s->peer.loop, &HANDLER, NULL,
					 &HTTP_LIMITS, &s->server),
			 0);
	assert_int_equal(listen_open("127.0.0.1:0", 1000, &socket, &err), 0);
	assert_int_equal(
		http_server_listen(s->server, socket.fd, s->tls_server), 0);
	s->port = socket.port;
	(void)sprintf(s->url, "https://127.0.0.1:%u", s->port);
}

static void close_scene(struct scene *s)
{
	http_server_free(s->server);
	peer_release(&s->peer);
	tls_server_free(s->tls_server);
	tls_client_free(s->tls_client);
}

static void get(struct scene *s, const char *origin, struct outcome *o)
{
	peer_begin(&s->peer,
		   &(struct http_call_request){ .method = "GET",
						.origin = origin,
						.target = "/a?b" },
		   o);
}

/* ---- TLS ---- */

static void a_trusted_server_replies(void **state)
{
	char by_name[64];
	struct scene s;
	struct outcome o;

	(void)state;
	open_scene(&s, &certificate, certificate.cert, NULL);
	(void)snprintf(by_name, sizeof(by_name), "https://localhost:%u",
		       s.port);
	for (int i = 0; i < 4; i++) {
		get(&s, i % 2 ? by_name : s.url, &o);
		peer_pump_until(&s.peer, &o.n_ended);
		assert_int_equal(o.error, 0);
		assert_string_equal(str_cstr(&o.body), "/a?b");
		outcome_release(&o);
	}
	assert_int_equal(http_client_counts(s.peer.client).n_connects, 2);
	assert_int_equal(http_server_counts(s.server).n_requests, 4);
	close_scene(&s);
}

static void a_server_of_another_name_is_refused(void **state)
{
	char by_name[64];
	struct scene s;
	struct outcome o;

	(void)state;
	open_scene(&s, &foreign, foreign.cert, NULL);
	(void)snprintf(by_name, sizeof(by_name), "https://localhost:%u",
		       s.port);
	get(&s, by_name, &o);
	peer_pump_until(&s.peer, &o.n_ended);
	assert_int_equal(o.error, -EPROTO);
	assert_non_null(strstr(o.sentence, "TLS with 'localhost' failed"));
	assert_non_null(strstr(o.sentence, "hostname mismatch"));
	assert_int_equal(http_server_counts(s.server).n_requests, 0);
	close_scene(&s);
}

static void an_untrusted_server_is_refused(void **state)
{
	struct scene s;
	struct outcome o;

	(void)state;
	open_scene(&s, &certificate, foreign.cert, NULL);
	get(&s, s.url, &o);
	peer_pump_until(&s.peer, &o.n_ended);
	assert_int_equal(o.error, -EPROTO);
	assert_non_null(strstr(o.sentence, "self-signed"));
	assert_int_equal(http_server_counts(s.server).n_requests, 0);
	close_scene(&s);
}

static void a_server_without_tls_is_refused(void **state)
{
	char url[64];
	struct scene s;
	struct outcome o;

	(void)state;
	open_scene(&s, &certificate, certificate.cert, NULL);
	(void)snprintf(url, sizeof(url), "https://127.0.0.1:%u", s.peer.port);
	get(&s, url, &o);
	assert_int_equal(s.peer.n_accepted, 1);
	peer_say(&s.peer, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
	assert_int_equal(o.error, -EPROTO);
	assert_int_equal(o.status, 0);
	close_scene(&s);
}

/* ---- a body that ends with the connection ---- */

struct tls_end {
	struct stream stream;
	struct shelf shelf;
	bool says_goodbye, has_replied;
};

static void on_ready(struct loop_fd *f, uint32_t events)
{
	static const char reply[] = "HTTP/1.1 200 OK\r\n\r\nall of it";
	struct tls_end *e = container_of(f, struct tls_end, stream.fd);
	char bytes[4096];

	(void)events;
	if (stream_read(&e->stream, bytes, sizeof(bytes)) > 0 &&
	    !e->has_replied) {
		e->has_replied = true;
		assert_int_equal(
			stream_add(&e->stream, reply, sizeof(reply) - 1), 0);
		assert_true(stream_flush(&e->stream) > 0);
		if (e->says_goodbye)
			stream_shutdown(&e->stream);
		else
			(void)shutdown(f->fd, SHUT_WR);
		return;
	}
	(void)stream_flush(&e->stream);
}

static void a_body_that_another_party_may_have_cut_fails(void **state)
{
	(void)state;
	for (int goodbye = 0; goodbye < 2; goodbye++) {
		struct tls_end e = { .says_goodbye = goodbye };
		char url[64];
		struct scene s;
		struct outcome o;

		open_scene(&s, &certificate, certificate.cert, NULL);
		(void)snprintf(url, sizeof(url), "https://127.0.0.1:%u",
			       s.peer.port);
		s.peer.is_deaf = true;
		get(&s, url, &o);
		assert_true(s.peer.fd >= 0);
		assert_int_equal(stream_open(&e.stream, s.peer.loop, &e.shelf,
					     s.peer.fd, s.tls_server, on_ready),
				 0);
		s.peer.fd = -1;
		peer_pump_until(&s.peer, &o.n_ended);
		assert_int_equal(o.error, goodbye ? 0 : -ECONNRESET);
		assert_string_equal(str_cstr(&o.body), "all of it");
		outcome_release(&o);
		stream_close(&e.stream);
		shelf_release(&e.shelf);
		close_scene(&s);
	}
}

/* ---- proxies ---- */

static void a_proxy_is_asked_for_the_whole_url(void **state)
{
	char proxy[96];
	struct http_proxies proxies = { .http = proxy };
	struct scene s;
	struct outcome o;

	(void)state;
	open_scene(&s, &certificate, certificate.cert, &proxies);
	(void)snprintf(proxy, sizeof(proxy),
		       "http://us%%65r:a%%20b@127.0.0.1:%u/", s.peer.port);
	get(&s, "http://[fd00::1]:8080", &o);
	assert_string_equal(str_cstr(&s.peer.got),
			    "GET http://[fd00::1]:8080/a?b HTTP/1.1\r\n"
			    "Host: [fd00::1]:8080\r\n"
			    "Proxy-Authorization: Basic dXNlcjphIGI=\r\n\r\n");
	peer_say(&s.peer, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
	assert_int_equal(o.status, 200);
	str_clear(&s.peer.got);
	proxies.direct = (char *)"127.0.0.1";
	get(&s, s.peer.origin, &o);
	assert_non_null(strstr(str_cstr(&s.peer.got), "GET /a?b HTTP/1.1\r\n"));
	assert_null(strstr(str_cstr(&s.peer.got), "Proxy-Authorization"));
	close_scene(&s);
}

/* Passes bytes between the proxy's connection and the server for a while. */
static void pass_bytes(struct scene *s, int upstream, const unsigned *until)
{
	char bytes[65536];
	ssize_t n;

	for (int i = 0; i < 2000 && !*until; i++) {
		assert_int_equal(loop_round(s->peer.loop, 1), 0);
		n = recv(s->peer.fd, bytes, sizeof(bytes), MSG_DONTWAIT);
		if (n > 0)
			assert_int_equal(send(upstream, bytes, (size_t)n, 0),
					 n);
		n = recv(upstream, bytes, sizeof(bytes), MSG_DONTWAIT);
		if (n > 0)
			assert_int_equal(send(s->peer.fd, bytes, (size_t)n, 0),
					 n);
	}
}

static void https_passes_a_proxy_by_a_tunnel(void **state)
{
	char proxy[96], expected[256];
	struct http_proxies proxies = { .https = proxy };
	struct sockaddr_in a = { .sin_family = AF_INET,
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int upstream = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct scene s;
	struct outcome o;

	(void)state;
	open_scene(&s, &certificate, certificate.cert, &proxies);
	(void)snprintf(proxy, sizeof(proxy), "http://a:b@127.0.0.1:%u",
		       s.peer.port);
	get(&s, s.url, &o);
	(void)snprintf(expected, sizeof(expected),
		       "CONNECT 127.0.0.1:%u HTTP/1.1\r\n"
		       "Host: 127.0.0.1:%u\r\n"
		       "Proxy-Authorization: Basic YTpi\r\n\r\n",
		       s.port, s.port);
	assert_string_equal(str_cstr(&s.peer.got), expected);
	a.sin_port = htons(s.port);
	assert_int_equal(connect(upstream, (struct sockaddr *)&a, sizeof(a)),
			 0);
	assert_true(send(s.peer.fd,
			 "HTTP/1.1 200 Connection established\r\n\r\n", 39,
			 0) == 39);
	pass_bytes(&s, upstream, &o.n_ended);
	assert_int_equal(o.error, 0);
	assert_string_equal(str_cstr(&o.body), "/a?b");
	outcome_release(&o);
	get(&s, s.url, &o); /* by the same tunnel */
	pass_bytes(&s, upstream, &o.n_ended);
	assert_int_equal(o.error, 0);
	assert_int_equal(s.peer.n_accepted, 1);
	outcome_release(&o);
	(void)close(upstream);
	close_scene(&s);
}

static void a_proxy_may_refuse_a_tunnel(void **state)
{
	static const struct {
		const char *reply;
		int error;
		const char *why;
	} cases[] = {
		{ "HTTP/1.1 407 Proxy Authentication Required\r\n"
		  "Content-Length: 0\r\n\r\n",
		  -EACCES, "407 Proxy Authentication Required" },
		{ "HTTP/1.1 502 Bad Gateway\r\n\r\n", -EPROTO,
		  "502 Bad Gateway" },
		{ "HTTP/1.1 200 OK\r\n\r\nearly", -EPROTO, "before TLS" },
		{ "HTTP/1.1 200 OK\n\n", -EPROTO, "malformed" },
		{ "SSH-2.0\r\n\r\n", -EPROTO, "malformed" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct http_proxies proxies = { 0 };
		struct scene s;
		struct outcome o;

		open_scene(&s, &certificate, certificate.cert, &proxies);
		proxies.https = s.peer.origin;
		get(&s, "https://server.example", &o);
		peer_say(&s.peer, cases[i].reply);
		assert_int_equal(o.n_ended, 1);
		assert_int_equal(o.error, cases[i].error);
		if (!strstr(o.sentence, cases[i].why))
			fail_msg("%s", o.sentence);
		close_scene(&s);
	}
}

static int make_certificates(void **state)
{
	(void)state;
	certificate_make(&certificate, "localhost");
	certificate_make(&foreign, "other.example");
	return 0;
}

static int remove_certificates(void **state)
{
	(void)state;
	certificate_remove(&certificate);
	certificate_remove(&foreign);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_trusted_server_replies),
		cmocka_unit_test(a_server_of_another_name_is_refused),
		cmocka_unit_test(an_untrusted_server_is_refused),
		cmocka_unit_test(a_server_without_tls_is_refused),
		cmocka_unit_test(a_body_that_another_party_may_have_cut_fails),
		cmocka_unit_test(a_proxy_is_asked_for_the_whole_url),
		cmocka_unit_test(https_passes_a_proxy_by_a_tunnel),
		cmocka_unit_test(a_proxy_may_refuse_a_tunnel),
	};

	return cmocka_run_group_tests(tests, make_certificates,
				      remove_certificates);
}
