/* A server and a client of TLS, on both ends of a pair of sockets. */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "certificate.h"
#include "net/stream.h"
#include "net/tls/tls_client.h"
#include "net/tls/tls_server.h"
#include "test.h"

enum { ROUNDS = 50 };

DEFINE_CLEANUP(struct tls_server *, tls_server_free)

static struct certificate certificate;

struct end {
	struct stream stream;
	ssize_t last; /* result of the last read; -EAGAIN: nothing yet */
};

struct pair {
	struct loop *loop;
	struct shelf shelf;
	struct tls_server *server_tls;
	struct tls_client *client_tls;
	struct end server, client;
};

static void on_ready(struct loop_fd *f, uint32_t events)
{
	struct end *e = (struct end *)((char *)f -
				       offsetof(struct end, stream) -
				       offsetof(struct stream, fd));
	char bytes[64];

	(void)events;
	e->last = stream_read(&e->stream, bytes, sizeof(bytes));
	(void)stream_flush(&e->stream);
	if (e->last == 0 || (e->last < 0 && e->last != -EAGAIN))
		loop_remove(e->stream.loop, f);
}

static void open_pair(struct pair *p, const char *server_alpn,
		      const char *client_alpn, const char *host)
{
	struct roar_error err = { 0 };
	int ends[2];

	memset(p, 0, sizeof(*p));
	p->server.last = p->client.last = -EAGAIN;
	assert_int_equal(loop_new(&p->loop), 0);
	assert_int_equal(tls_server_new(certificate.cert, certificate.key, NULL,
					server_alpn, &p->server_tls, &err),
			 0);
	assert_int_equal(tls_client_new(certificate.cert, NULL, NULL,
					client_alpn, &p->client_tls, &err),
			 0);
	assert_int_equal(socketpair(AF_UNIX,
				    SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
				    0, ends),
			 0);
	assert_int_equal(stream_open(&p->server.stream, p->loop, &p->shelf,
				     ends[0], p->server_tls, on_ready),
			 0);
	assert_int_equal(stream_open_client(&p->client.stream, p->loop,
					    &p->shelf, ends[1], p->client_tls,
					    host, on_ready),
			 0);
	assert_true(stream_flush(&p->client.stream) > 0);
	for (int i = 0; i < ROUNDS; i++)
		assert_int_equal(loop_round(p->loop, 0), 0);
}

static void close_pair(struct pair *p)
{
	stream_close(&p->server.stream);
	stream_close(&p->client.stream);
	tls_server_free(p->server_tls);
	tls_client_free(p->client_tls);
	shelf_release(&p->shelf);
	loop_free(p->loop);
}

static void check_agreement(const char *server_alpn, const char *client_alpn,
			    const char *agreed)
{
	struct pair p;

	open_pair(&p, server_alpn, client_alpn, "localhost");
	assert_true(stream_is_open(&p.client.stream));
	assert_string_equal(stream_alpn(&p.server.stream), agreed);
	assert_string_equal(stream_alpn(&p.client.stream), agreed);
	close_pair(&p);
}

static void protocol_is_the_first_of_the_server_that_is_offered(void **state)
{
	(void)state;
	check_agreement("h2,roar-frames", "roar-frames", "roar-frames");
	check_agreement("h2,roar-frames", "roar-frames,h2", "h2");
	check_agreement("http/1.1", "h2,http/1.1", "http/1.1");
	check_agreement("http/1.1", "http/1.1", "http/1.1");
}

static void client_that_offers_none_of_them_is_refused(void **state)
{
	struct pair p;

	(void)state;
	open_pair(&p, "http/1.1", "h2", "localhost");
	assert_false(stream_is_open(&p.client.stream));
	assert_int_equal(p.server.last, -EPROTO);
	assert_int_equal(p.client.last, -EPROTO);
	assert_non_null(strstr(stream_why(&p.client.stream),
			       "no application protocol"));
	close_pair(&p);
}

static void certificate_must_be_for_the_host(void **state)
{
	struct pair p;

	(void)state;
	open_pair(&p, "h2", "h2", "elsewhere");
	assert_int_equal(p.client.last, -EPROTO);
	assert_non_null(strstr(stream_why(&p.client.stream), "mismatch"));
	close_pair(&p);
	open_pair(&p, "h2", "h2", "127.0.0.1");
	assert_true(stream_is_open(&p.client.stream));
	close_pair(&p);
	open_pair(&p, "h2", "h2", "127.0.0.2");
	assert_false(stream_is_open(&p.client.stream));
	close_pair(&p);
}

static void file_that_is_not_there_is_named(void **state)
{
	CLEANUP(tls_server_freep) struct tls_server *server = NULL;
	struct tls_client *client = NULL;
	struct roar_error err = { 0 };

	(void)state;
	assert_int_equal(tls_server_new("/none/cert", certificate.key, NULL,
					"h2", &server, &err),
			 -EINVAL);
	assert_string_equal(err.text, "cannot use the certificate '/none/cert':"
				      " No such file or directory");
	assert_int_equal(tls_client_new("/none/ca", NULL, NULL, "h2", &client,
					&err),
			 -EINVAL);
	assert_string_equal(err.text,
			    "cannot use '/none/ca' to check certificates of "
			    "servers: No such file or directory");
}

static int set_up(void **state)
{
	(void)state;
	certificate_make(&certificate, "localhost");
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	certificate_remove(&certificate);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			protocol_is_the_first_of_the_server_that_is_offered),
		cmocka_unit_test(client_that_offers_none_of_them_is_refused),
		cmocka_unit_test(certificate_must_be_for_the_host),
		cmocka_unit_test(file_that_is_not_there_is_named),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
