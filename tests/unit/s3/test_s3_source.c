/* Objects that several threads read, open, list and let go of at the same time: every byte is
 * right, and ThreadSanitizer finds nothing.  A server of blocking sockets has the objects, one
 * thread for each connection. */
#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/fd.h"
#include "reader/sample_source.h"
#include "s3/s3_lookup.h"
#include "s3/s3_source.h"

enum {
	SIZE = 11 * (1 << 20) + 123, /* of each object */
	N_THREADS = 4,
	N_OBJECTS = 3,
};

/* ---- the server ---- */

static struct {
	int fd;
	atomic_uint generation; /* of the content, and so of the ETag */
	atomic_int n_refusals; /* to come: 503 */
	atomic_bool stalls; /* requests wait */
	atomic_uint n_gets;
} server;

/* Byte `at` of the object whose key is `name`. */
static uint8_t content_at(char name, uint64_t at)
{
	return (uint8_t)((at * 2654435761U >> 11) ^ (unsigned char)name);
}

static void send_all(int fd, const void *data, size_t len)
{
	const char *at = data;

	while (len) {
		ssize_t n = send(fd, at, len, MSG_NOSIGNAL);

		if (n <= 0)
			return;
		at += n;
		len -= (size_t)n;
	}
}

static void reply(int fd, const char *status, const char *fields,
		  const char *body)
{
	char text[1024];
	int n = snprintf(text, sizeof(text),
			 "HTTP/1.1 %s\r\n%sContent-Length: %zu\r\n\r\n%s",
			 status, fields, strlen(body), body);

	send_all(fd, text, (size_t)n);
}

static void reply_list(int fd)
{
	char body[512] = "<ListBucketResult>";
	size_t len = strlen(body);

	for (char key = 'a'; key < 'a' + N_OBJECTS; key++)
		len += (size_t)snprintf(body + len, sizeof(body) - len,
					"<Contents><Key>%c</Key><Size>%d</Size>"
					"</Contents>",
					key, SIZE);
	(void)snprintf(body + len, sizeof(body) - len,
		       "<IsTruncated>false</IsTruncated></ListBucketResult>");
	reply(fd, "200 OK", "", body);
}

static void reply_range(int fd, char name, uint64_t first, uint64_t last)
{
	size_t len = (size_t)(last + 1 - first);
	CLEANUP(freep) char *body = malloc(len);
	char head[256];
	int n = snprintf(head, sizeof(head),
			 "HTTP/1.1 206 Partial Content\r\nETag: \"%u\"\r\n"
			 "Content-Range: bytes %zu-%zu/%d\r\n"
			 "Content-Length: %zu\r\n\r\n",
			 atomic_load(&server.generation), (size_t)first,
			 (size_t)last, SIZE, len);

	for (size_t i = 0; i < len; i++)
		body[i] = (char)content_at(name, first + i);
	send_all(fd, head, (size_t)n);
	send_all(fd, body, len);
}

static void reply_head(int fd)
{
	char text[256];
	int n = snprintf(text, sizeof(text),
			 "HTTP/1.1 200 OK\r\nETag: \"%u\"\r\n"
			 "Content-Length: %d\r\n\r\n",
			 atomic_load(&server.generation), SIZE);

	send_all(fd, text, (size_t)n);
}

static void answer(int fd, const char *head)
{
	const char *range = strcasestr(head, "\r\nrange: bytes=");
	const char *match = strcasestr(head, "\r\nif-match: \"");
	unsigned long long first, last;
	char name = strstr(head, "/data/")[strlen("/data/")];

	while (atomic_load(&server.stalls))
		(void)usleep(1000);
	if (atomic_load(&server.n_refusals) > 0 &&
	    atomic_fetch_sub(&server.n_refusals, 1) > 0) {
		reply(fd, "503 Slow Down", "",
		      "<Error><Code>SlowDown</Code></Error>");
	} else if (name == '?') {
		reply_list(fd);
	} else if (name < 'a' || name >= 'a' + N_OBJECTS) {
		reply(fd, "404 Not Found", "", "");
	} else if (strncmp(head, "HEAD", 4) == 0) {
		reply_head(fd);
	} else if (match && strtoul(match + strlen("\r\nif-match: \""), NULL,
				    10) != atomic_load(&server.generation)) {
		reply(fd, "412 Precondition Failed", "",
		      "<Error><Code>PreconditionFailed</Code></Error>");
	} else {
		assert(range &&
		       sscanf(range, "%*[^=]=%llu-%llu", &first, &last) == 2);
		atomic_fetch_add(&server.n_gets, 1);
		reply_range(fd, name, first, last);
	}
}

static void *serve_connection(void *arg)
{
	CLEANUP(closep) int fd = (int)(intptr_t)arg;
	char head[8192];
	size_t len = 0;

	for (;;) {
		ssize_t n = recv(fd, head + len, sizeof(head) - 1 - len, 0);
		char *end;

		if (n <= 0)
			return NULL;
		len += (size_t)n;
		head[len] = '\0';
		/* Requests have no bodies, and the client waits for each reply. */
		end = strstr(head, "\r\n\r\n");
		if (end) {
			answer(fd, head);
			len = 0;
		}
	}
}

static void *serve(void *arg)
{
	for (;;) {
		int fd = accept4(server.fd, NULL, NULL, SOCK_CLOEXEC);
		pthread_t thread;

		if (fd < 0)
			return arg;
		if (pthread_create(&thread, NULL, serve_connection,
				   (void *)(intptr_t)fd) == 0)
			(void)pthread_detach(thread);
	}
}

static int start_server(void **state)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_addr = { htonl(INADDR_LOOPBACK) } };
	socklen_t len = sizeof(address);
	pthread_t thread;
	char url[64];

	(void)state;
	server.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (server.fd < 0 ||
	    bind(server.fd, (struct sockaddr *)&address, len) < 0 ||
	    listen(server.fd, 64) < 0 ||
	    getsockname(server.fd, (struct sockaddr *)&address, &len) < 0 ||
	    pthread_create(&thread, NULL, serve, NULL) != 0)
		return -1;
	(void)pthread_detach(thread);
	(void)snprintf(url, sizeof(url), "http://127.0.0.1:%u",
		       ntohs(address.sin_port));
	(void)setenv("AWS_ENDPOINT_URL_S3", url, 1);
	(void)setenv("AWS_ACCESS_KEY_ID", "AKIAROARTEST", 1);
	(void)setenv("AWS_SECRET_ACCESS_KEY", "secret", 1);
	(void)setenv("AWS_CONFIG_FILE", "/dev/null", 1);
	(void)setenv("AWS_SHARED_CREDENTIALS_FILE", "/dev/null", 1);
	(void)setenv("AWS_EC2_METADATA_DISABLED", "true", 1);
	(void)setenv("no_proxy", "*", 1);
	s3_source_register();
	return 0;
}

/* ---- threads ---- */

/* cmocka's assertions are for its own thread: threads count what is wrong. */
static atomic_uint n_wrong;

static void check_read(const struct source *s, char name, uint64_t offset,
		       size_t len)
{
	CLEANUP(freep) uint8_t *bytes = malloc(len);
	struct roar_error err = { "" };

	if (source_read(s, offset, bytes, len, &err) < 0) {
		print_error("%c: %s\n", name, err.text);
		atomic_fetch_add(&n_wrong, 1);
		return;
	}
	for (size_t i = 0; i < len; i += 97)
		if (bytes[i] != content_at(name, offset + i)) {
			atomic_fetch_add(&n_wrong, 1);
			return;
		}
}

static void open_object(struct source *s, const char *url)
{
	struct roar_error err = { "" };

	if (source_open(url, s, &err) < 0) {
		print_error("%s\n", err.text);
		abort();
	}
}

static void run_threads(void *(*work)(void *arg), void *arg)
{
	pthread_t threads[N_THREADS];

	for (int i = 0; i < N_THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, work, arg),
				 0);
	for (int i = 0; i < N_THREADS; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	assert_int_equal(atomic_load(&n_wrong), 0);
}

/* In a row, then here and there, where some of it was announced. */
static void *read_parts(void *arg)
{
	struct source *s = arg;
	unsigned seed = (unsigned)(uintptr_t)pthread_self();

	for (uint64_t at = 0; at + 200000 <= SIZE; at += 200000) {
		(void)source_is_cached(s, at); /* while pieces arrive */
		check_read(s, 'a', at, 200000);
	}
	for (int i = 0; i < 20; i++) {
		uint64_t at = (unsigned)rand_r(&seed) % (SIZE - 50000);

		source_expect(s, at, 50000);
		check_read(s, 'a', at, 50000);
	}
	return NULL;
}

static void threads_share_a_source(void **state)
{
	struct source s;

	(void)state;
	open_object(&s, "s3://data/a");
	assert_int_equal(s.stamp.size, SIZE);
	run_threads(read_parts, &s);
	source_close(&s);
}

/* What was asked for comes after it was let go of. */
static void *open_and_leave(void *arg)
{
	static const char *const urls[] = { "s3://data/a", "s3://data/b",
					    "s3://data/c" };

	for (unsigned i = 0; i < 12; i++) {
		const char *url = urls[i % N_OBJECTS];
		struct source s, copy;

		open_object(&s, url);
		for (uint64_t at = 0; at + 300000 < SIZE; at += 3000000)
			source_expect(&s, at, 1000);
		if (i % 3 == 0)
			check_read(&s, url[10], 5000, 1000);
		if (i % 3 == 1 && source_copy(&s, url, &copy, NULL) == 0) {
			check_read(&copy, url[10], SIZE - 10, 10);
			source_close(&copy);
		}
		source_close(&s);
	}
	return arg;
}

static void objects_are_opened_and_closed_beside_each_other(void **state)
{
	(void)state;
	run_threads(open_and_leave, NULL);
}

static void *list_objects(void *arg)
{
	struct s3_url url;

	if (s3_url_parse("s3://data/", &url, NULL) < 0)
		abort();
	for (int i = 0; i < 10; i++) {
		struct s3_lookup_list list = { 0 };
		struct s3_version version;

		if (s3_lookup_list(&url, &list, NULL) < 0 ||
		    list.n != N_OBJECTS ||
		    strcmp(list.objects[N_OBJECTS - 1].key, "c") != 0)
			atomic_fetch_add(&n_wrong, 1);
		s3_lookup_list_release(&list);
		url.key = "b";
		if (s3_lookup_head(&url, &version, NULL) < 0 ||
		    version.size_bytes != SIZE)
			atomic_fetch_add(&n_wrong, 1);
		url.key = "no";
		if (s3_lookup_head(&url, &version, NULL) != -ENOENT)
			atomic_fetch_add(&n_wrong, 1);
		url.key = "";
	}
	return arg;
}

static void any_thread_may_ask(void **state)
{
	(void)state;
	run_threads(list_objects, NULL);
}

/* ---- what goes wrong ---- */

static void refusals_are_retried(void **state)
{
	struct source s;

	(void)state;
	atomic_store(&server.n_refusals, 2);
	open_object(&s, "s3://data/b");
	atomic_store(&server.n_refusals, 2);
	check_read(&s, 'b', 1000, 1000);
	assert_int_equal(atomic_load(&n_wrong), 0);
	source_close(&s);
}

static void other_content_is_stale(void **state)
{
	struct roar_error err;
	struct source s;
	uint8_t bytes[1000];

	(void)state;
	open_object(&s, "s3://data/c");
	atomic_fetch_add(&server.generation, 1);
	assert_int_equal(source_read(&s, SIZE - 1000, bytes, 1000, &err),
			 -ESTALE);
	assert_non_null(strstr(err.text, "was replaced"));
	source_close(&s);
}

static bool is_interrupted(void)
{
	return true;
}

/* The reply comes when nobody waits for it any more. */
static void *be_interrupted(void *arg)
{
	struct roar_error err = { "" };
	struct source s;

	source_set_interrupt(is_interrupted);
	if (source_open("s3://data/a", &s, &err) != -EINTR ||
	    source_read(arg, SIZE / 2, &(char){ 0 }, 1, &err) != -EINTR)
		atomic_fetch_add(&n_wrong, 1);
	return NULL;
}

static void waits_are_interrupted(void **state)
{
	struct source s;

	(void)state;
	open_object(&s, "s3://data/a");
	atomic_store(&server.stalls, true);
	run_threads(be_interrupted, &s);
	atomic_store(&server.stalls, false);
	check_read(&s, 'a', SIZE / 2, 1000);
	assert_int_equal(atomic_load(&n_wrong), 0);
	source_close(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(threads_share_a_source),
		cmocka_unit_test(
			objects_are_opened_and_closed_beside_each_other),
		cmocka_unit_test(any_thread_may_ask),
		cmocka_unit_test(refusals_are_retried),
		cmocka_unit_test(other_content_is_stale),
		cmocka_unit_test(waits_are_interrupted),
	};

	return cmocka_run_group_tests(tests, start_server, NULL);
}
