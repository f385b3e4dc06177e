/* test_service.c - HTTP on the loop, over loopback. */
#include "test.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "http/server.h"
#include "http/service.h"

static struct loop *loop;
static struct http_service *http;
static struct sockaddr_in at;
static char reply[1 << 16];
static struct http_stream stream;
static unsigned n_drained, n_closed;

static void on_drained(struct http_stream *s)
{
	(void)s;
	n_drained++;
}

static void on_closed(struct http_stream *s)
{
	(void)s;
	n_closed++;
}

static void handle(void *ctx, const struct http_request *request,
		   struct http_reply *r)
{
	const char *limit = http_request_query(request, "limit");

	(void)ctx;
	if (strcmp(request->path, "/missing") == 0)
		r->status = 404;
	if (strcmp(request->path, "/fixed") == 0) {
		r->fixed = "always the same\n";
		r->fixed_len = 16;
		r->etag = "\"tag\"";
		r->cache = "no-cache";
		return;
	}
	if (strcmp(request->path, "/stream") == 0) {
		r->stream = &stream;
		return;
	}
	str_addf(&r->body, "%s%s limit=%s auth=%s\n",
		 request->is_post ? "POST " : "", request->path,
		 limit ? limit : "-",
		 request->authorization ? request->authorization : "-");
	if (request->body_len)
		str_addf(&r->body, "body=%s\n", request->body);
}

static int begin(void **state)
{
	socklen_t len = sizeof(at);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	(void)state;
	n_drained = n_closed = 0;
	stream = (struct http_stream){ .drained = on_drained,
				       .closed = on_closed };
	at = (struct sockaddr_in){ .sin_family = AF_INET,
				   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	return bind(fd, (struct sockaddr *)&at, sizeof(at)) < 0 ||
	       listen(fd, 16) < 0 ||
	       getsockname(fd, (struct sockaddr *)&at, &len) < 0 ||
	       loop_new(&loop) < 0 ||
	       http_service_new(loop, fd, handle, NULL, &http) < 0;
}

static int end(void **state)
{
	(void)state;
	http_service_free(http);
	loop_free(loop);
	return 0;
}

static int connect_to(void)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(connect(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	return fd;
}

/* What comes back until `ending` is in it, or the server closes. */
static void expect(int fd, const char *ending)
{
	size_t n = 0;

	reply[0] = '\0';
	for (int i = 0; i < 1000 && !strstr(reply, ending); i++) {
		ssize_t got;

		assert_true(loop_round(loop, 10) >= 0);
		got = recv(fd, reply + n, sizeof(reply) - 1 - n, MSG_DONTWAIT);
		if (got == 0)
			return;
		n += got > 0 ? (size_t)got : 0;
		reply[n] = '\0';
	}
}

static void say(int fd, const char *text)
{
	assert_int_equal(send(fd, text, strlen(text), 0), strlen(text));
}

static void a_connection_is_used_again(void **state)
{
	CLEANUP(closep) int fd = connect_to();

	(void)state;
	say(fd, "GET /a HTTP/1.1\r\nHost: x\r\n\r\n");
	expect(fd, "auth=-\n");
	assert_non_null(strstr(reply, "HTTP/1.1 200 OK\r\n"));
	assert_non_null(strstr(reply, "application/json"));
	assert_null(strstr(reply, "onnection: close"));
	say(fd, "GET /b?limit=7 HTTP/1.1\r\nHost: x\r\n"
		"Authorization: Bearer t\r\n\r\n");
	expect(fd, "auth=Bearer t\n");
	assert_non_null(strstr(reply, "/b limit=7 "));
}

static void the_status_is_the_handlers(void **state)
{
	CLEANUP(closep) int fd = connect_to();

	(void)state;
	say(fd, "GET /missing HTTP/1.1\r\nHost: x\r\n\r\n");
	expect(fd, "auth=-\n");
	assert_non_null(strstr(reply, "HTTP/1.1 404 "));
}

static void head_has_no_body(void **state)
{
	CLEANUP(closep) int fd = connect_to();

	(void)state;
	say(fd, "HEAD /a HTTP/1.1\r\nHost: x\r\n\r\n");
	expect(fd, "\r\n\r\n");
	assert_non_null(strstr(reply, "HTTP/1.1 200 OK\r\n"));
	assert_null(strstr(reply, "limit="));
}

static void other_methods_are_refused(void **state)
{
	CLEANUP(closep) int fd = connect_to();

	(void)state;
	say(fd, "DELETE /a HTTP/1.1\r\nHost: x\r\n\r\n");
	expect(fd, "served\"}\n");
	assert_non_null(strstr(reply, "HTTP/1.1 405 "));
	assert_non_null(strstr(reply, "Allow: GET, HEAD, POST\r\n"));
}

static void a_body_is_given_and_no_other_requests(void **state)
{
	CLEANUP(closep) int fd = connect_to();

	(void)state;
	say(fd,
	    "POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\n12345");
	expect(fd, "body=12345\n");
	assert_non_null(strstr(reply, "POST /a limit=-"));
	say(fd, "POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n");
	expect(fd, "auth=-\n");
}

static void a_body_without_end_ends_the_connection(void **state)
{
	CLEANUP(closep) int fd = connect_to();
	char body[4096];

	(void)state;
	memset(body, 'x', sizeof(body));
	say(fd,
	    "POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 999999999\r\n\r\n");
	for (int i = 0; i < 2 * HTTP_MAX_BODY / 4096; i++) {
		(void)!send(fd, body, sizeof(body),
			    MSG_NOSIGNAL | MSG_DONTWAIT);
		assert_true(loop_round(loop, 1) >= 0);
	}
	expect(fd, "never");
	assert_null(strstr(reply, "200"));
}

static void a_page_of_another_site_changes_nothing(void **state)
{
	CLEANUP(closep) int fd = connect_to();

	(void)state;
	say(fd, "POST /a HTTP/1.1\r\nHost: x\r\nOrigin: http://evil\r\n"
		"Content-Length: 0\r\n\r\n");
	expect(fd, "here\"}\n");
	assert_non_null(strstr(reply, "HTTP/1.1 403 "));
	say(fd, "POST /a HTTP/1.1\r\nHost: x\r\nOrigin: http://x\r\n"
		"Content-Length: 0\r\n\r\n");
	expect(fd, "auth=-\n");
	assert_non_null(strstr(reply, "POST /a limit=-"));
}

static void a_head_beyond_the_limit_is_refused(void **state)
{
	CLEANUP(closep) int fd = connect_to();
	char big[2 * HTTP_MAX_HEAD];

	(void)state;
	memset(big, 'x', sizeof(big));
	memcpy(big, "GET /", 5);
	(void)!send(fd, big, sizeof(big), MSG_NOSIGNAL);
	expect(fd, "never");
	assert_null(strstr(reply, "200 OK"));
}

static void paths_are_decoded(void **state)
{
	CLEANUP(closep) int fd = connect_to();

	(void)state;
	say(fd, "GET /a%22b?limit=%0a HTTP/1.1\r\nHost: x\r\n\r\n");
	expect(fd, "auth=-\n");
	assert_non_null(strstr(reply, "/a\"b limit=\n "));
}

static void what_never_changes_may_be_kept(void **state)
{
	CLEANUP(closep) int fd = connect_to();

	(void)state;
	say(fd, "GET /fixed HTTP/1.1\r\nHost: x\r\n\r\n");
	expect(fd, "always the same\n");
	assert_non_null(strstr(reply, "Content-Length: 16\r\n"));
	assert_non_null(strstr(reply, "ETag: \"tag\"\r\n"));
	assert_non_null(strstr(reply, "Cache-Control: no-cache\r\n"));
}

static void a_stream_goes_on_until_it_ends(void **state)
{
	CLEANUP(closep) int fd = connect_to();

	(void)state;
	say(fd, "GET /stream HTTP/1.1\r\nHost: x\r\n\r\n");
	expect(fd, "\r\n\r\n");
	for (int i = 0; i < 100 && n_drained == 0; i++)
		assert_true(loop_round(loop, 10) >= 0);
	assert_int_equal(http_service_n_streams(http), 1);
	str_adds(&stream.out, "one");
	http_stream_wake(&stream);
	expect(fd, "one\r\n");
	str_adds(&stream.out, "two");
	http_stream_wake(&stream);
	expect(fd, "two\r\n");
	assert_int_equal(n_closed, 0);
	http_stream_end(&stream);
	expect(fd, "0\r\n\r\n");
	assert_int_equal(n_closed, 1);
	assert_int_equal(http_service_n_streams(http), 0);
	/* The connection is good for more. */
	say(fd, "GET /a HTTP/1.1\r\nHost: x\r\n\r\n");
	expect(fd, "auth=-\n");
}

static void a_stream_ends_with_its_client(void **state)
{
	int fd = connect_to();

	(void)state;
	say(fd, "GET /stream HTTP/1.1\r\nHost: x\r\n\r\n");
	expect(fd, "\r\n\r\n");
	closep(&fd);
	for (int i = 0; i < 1000 && !n_closed; i++) {
		str_adds(&stream.out, "x");
		http_stream_wake(&stream);
		assert_true(loop_round(loop, 1) >= 0);
	}
	assert_int_equal(n_closed, 1);
}

/* end() frees the server while it waits for something to send. */
static void a_stream_ends_with_the_server(void **state)
{
	CLEANUP(closep) int fd = connect_to();

	say(fd, "GET /stream HTTP/1.1\r\nHost: x\r\n\r\n");
	expect(fd, "\r\n\r\n");
	for (int i = 0; i < 100 && n_drained == 0; i++)
		assert_true(loop_round(loop, 10) >= 0);
	(void)end(state);
	assert_int_equal(n_closed, 1);
	assert_int_equal(begin(state), 0);
}

#define SERVED(test) cmocka_unit_test_setup_teardown(test, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		SERVED(a_connection_is_used_again),
		SERVED(the_status_is_the_handlers),
		SERVED(head_has_no_body),
		SERVED(other_methods_are_refused),
		SERVED(a_body_is_given_and_no_other_requests),
		SERVED(a_body_without_end_ends_the_connection),
		SERVED(a_page_of_another_site_changes_nothing),
		SERVED(a_head_beyond_the_limit_is_refused),
		SERVED(paths_are_decoded),
		SERVED(what_never_changes_may_be_kept),
		SERVED(a_stream_goes_on_until_it_ends),
		SERVED(a_stream_ends_with_its_client),
		SERVED(a_stream_ends_with_the_server),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
