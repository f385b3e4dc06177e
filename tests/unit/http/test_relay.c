/* The client and the server together: a proxy in the middle, plain and by TLS. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "certificate.h"
#include "net/listen.h"
#include "net/tls/tls_client.h"
#include "net/tls/tls_server.h"
#include "peer.h"
#include "relay.h"

enum { LARGE = 24 << 20 };

/* ---- the origin ---- */

struct origin {
	size_t n_received; /* bytes of the body */
	uint64_t sum;
	size_t left; /* bytes that it still sends */
};

static char pattern(size_t i)
{
	return (char)(i * 7 + (i >> 11));
}

static void origin_begin(struct http_exchange *x)
{
	struct origin *o = calloc(1, sizeof(*o));

	x->data = o;
	http_exchange_set_max_body(x, UINT64_MAX);
	if (strcmp(x->request->target, "/refuse") == 0)
		http_reply(x, 403, NULL, "no", 2);
}

static void origin_body(struct http_exchange *x, const char *data, size_t len)
{
	struct origin *o = x->data;

	for (size_t i = 0; i < len; i++)
		o->sum += data[i] == pattern(o->n_received + i);
	o->n_received += len;
}

static void send_more(struct http_exchange *x)
{
	struct origin *o = x->data;
	char piece[32 << 10];
	size_t n = o->left < sizeof(piece) ? o->left : sizeof(piece);

	for (size_t i = 0; i < n; i++)
		piece[i] = pattern(LARGE - o->left + i);
	o->left -= n;
	(void)http_reply_write(x, piece, n);
	if (o->left == 0)
		http_reply_end(x);
}

static void origin_end(struct http_exchange *x)
{
	struct origin *o = x->data;
	char text[64];

	if (strcmp(x->request->target, "/large") == 0) {
		o->left = LARGE;
		http_reply_begin(x, 200, HTTP_LENGTH_CHUNKED);
		send_more(x);
		return;
	}
	(void)snprintf(text, sizeof(text), "%zu of %zu", (size_t)o->sum,
		       o->n_received);
	http_reply(x, 200, NULL, text, strlen(text));
}

static void origin_drained(struct http_exchange *x)
{
	if (((struct origin *)x->data)->left)
		send_more(x);
}

static void origin_closed(struct http_exchange *x)
{
	free(x->data);
}

static const struct http_handler ORIGIN = { .begin = origin_begin,
					    .body = origin_body,
					    .end = origin_end,
					    .drained = origin_drained,
					    .closed = origin_closed };

/* ---- all of them, on one loop ---- */

struct scene {
	struct peer peer; /* its client is the one that asks */
	struct http_server *origin, *proxy;
	struct tls_server *tls_server;
	struct tls_client *tls_client;
	struct relay relay;
	char origin_url[64], proxy_url[64];
	struct certificate certificate;
	bool has_tls;
};

static void serve(struct scene *s, const struct http_handler *handler,
		  void *ctx, struct tls_server *tls, struct http_server **ret,
		  char *url)
{
	struct listen_socket socket;
	struct roar_error err;

	assert_int_equal(http_server_new(s->peer.loop, handler, ctx,
					 &HTTP_LIMITS, ret),
			 0);
	assert_int_equal(listen_open("127.0.0.1:0", 1000, &socket, &err), 0);
	assert_int_equal(http_server_listen(*ret, socket.fd, tls), 0);
	(void)sprintf(url, "%s://127.0.0.1:%u", tls ? "https" : "http",
		      socket.port);
}

static int begin(void **state, bool has_tls)
{
	struct scene *s = calloc(1, sizeof(*s));
	struct roar_error err;

	*state = s;
	peer_init(&s->peer, &HTTP_CLIENT_LIMITS);
	s->has_tls = has_tls;
	if (has_tls) {
		certificate_make(&s->certificate, "localhost");
		assert_int_equal(
			tls_server_new(s->certificate.cert, s->certificate.key,
				       NULL, "http/1.1", &s->tls_server, &err),
			0);
		assert_int_equal(tls_client_new(s->certificate.cert, NULL, NULL,
						"http/1.1", &s->tls_client,
						&err),
				 0);
	}
	assert_int_equal(http_client_new(s->peer.loop, s->tls_client, NULL,
					 &HTTP_CLIENT_LIMITS, &s->relay.client),
			 0);
	serve(s, &ORIGIN, NULL, s->tls_server, &s->origin, s->origin_url);
	serve(s, &relay_handler, &s->relay, NULL, &s->proxy, s->proxy_url);
	s->relay.origin = s->origin_url;
	return 0;
}

static int setup(void **state)
{
	return begin(state, false);
}

static int setup_tls(void **state)
{
	return begin(state, true);
}

static int teardown(void **state)
{
	struct scene *s = *state;

	http_server_free(s->proxy);
	http_server_free(s->origin);
	http_client_free(s->relay.client);
	peer_release(&s->peer);
	tls_server_free(s->tls_server);
	tls_client_free(s->tls_client);
	if (s->has_tls)
		certificate_remove(&s->certificate);
	free(s);
	return 0;
}

static void call(struct scene *s, const char *method, const char *target,
		 const char *body, int64_t length, struct outcome *o)
{
	peer_begin(&s->peer,
		   &(struct http_call_request){ .method = method,
						.origin = s->proxy_url,
						.target = target,
						.body = body,
						.length = length },
		   o);
	peer_pump_until(&s->peer, &o->n_ended);
}

static void uploads_and_downloads_pass(void **state)
{
	struct scene *s = *state;
	char *body = malloc(LARGE);
	char expected[64];
	struct outcome o;

	for (size_t i = 0; i < LARGE; i++)
		body[i] = pattern(i);
	call(s, "PUT", "/a", body, LARGE, &o);
	assert_int_equal(o.error, 0);
	(void)snprintf(expected, sizeof(expected), "%d of %d", LARGE, LARGE);
	assert_string_equal(str_cstr(&o.body), expected);
	outcome_release(&o);
	call(s, "GET", "/large", NULL, 0, &o);
	assert_int_equal(o.error, 0);
	assert_int_equal(o.body.len, LARGE);
	assert_memory_equal(o.body.data, body, LARGE);
	outcome_release(&o);
	free(body);
	/* No more waits in the middle than the limit and one read. */
	assert_true(s->relay.max_waiting <=
		    RELAY_ENOUGH + HTTP_READ_LEN + (32 << 10));
	assert_int_equal(http_client_counts(s->relay.client).n_connects, 1);
}

static void a_refused_upload_is_answered(void **state)
{
	struct scene *s = *state;
	char *body = calloc(1, LARGE);
	CLEANUP(outcome_release) struct outcome o;

	call(s, "PUT", "/refuse", body, LARGE, &o);
	assert_int_equal(o.error, 0);
	assert_int_equal(o.status, 403);
	assert_string_equal(str_cstr(&o.body), "no");
	free(body);
}

static void a_slow_reader_stops_the_origin(void **state)
{
	struct scene *s = *state;
	struct outcome o;
	size_t before;

	peer_begin(&s->peer,
		   &(struct http_call_request){ .method = "GET",
						.origin = s->proxy_url,
						.target = "/large" },
		   &o);
	before = o.body.len;
	o.pauses = true;
	for (int i = 0; i < 40; i++)
		peer_pump(&s->peer);
	assert_int_equal(o.n_ended, 0);
	assert_true(o.body.len <= before + (128 << 10));
	assert_true(s->relay.max_waiting <=
		    RELAY_ENOUGH + HTTP_READ_LEN + (32 << 10));
	http_call_pause(o.call, false);
	peer_pump_until(&s->peer, &o.n_ended);
	assert_int_equal(o.body.len, LARGE);
	outcome_release(&o);
}

static void a_client_that_leaves_ends_the_call(void **state)
{
	struct scene *s = *state;
	struct outcome o;

	peer_begin(&s->peer,
		   &(struct http_call_request){ .method = "GET",
						.origin = s->proxy_url,
						.target = "/large" },
		   &o);
	while (!o.status)
		peer_pump(&s->peer);
	http_call_cancel(o.call);
	for (int i = 0; i < 20; i++)
		peer_pump(&s->peer);
	assert_int_equal(http_client_counts(s->relay.client).n_connections, 0);
	outcome_release(&o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(uploads_and_downloads_pass,
						setup, teardown),
		cmocka_unit_test_setup_teardown(a_refused_upload_is_answered,
						setup, teardown),
		cmocka_unit_test_setup_teardown(a_slow_reader_stops_the_origin,
						setup, teardown),
		cmocka_unit_test_setup_teardown(
			a_client_that_leaves_ends_the_call, setup, teardown),
		cmocka_unit_test_setup_teardown(uploads_and_downloads_pass,
						setup_tls, teardown),
		cmocka_unit_test_setup_teardown(a_refused_upload_is_answered,
						setup_tls, teardown),
		cmocka_unit_test_setup_teardown(a_slow_reader_stops_the_origin,
						setup_tls, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
