/* test_frames_client.c - a client of frames, with a good server and with wrong ones. */
#include "net/frames/frames_client.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "scene.h"

enum { UNARY = 1, MAX_LEN = 100000, ROUND_MS = 20, MAX_ROUNDS = 500 };

static const struct address_kind KIND = {
	.service = "a server",
	.form = "HOST:PORT",
	.schemes = "http:// ",
	.port = "1",
	.max = 2,
};

static struct scene scene;
static struct frames_client client;
static struct address_list addresses;
static unsigned n_opened, n_frames, n_failed;
static struct frame last;
static char text[MAX_LEN + 1];
static char why[256];

static void on_opened(struct frames_client *f)
{
	(void)f;
	n_opened++;
}

static void on_frame(struct frames_client *f, const struct frame *frame,
		     const void *data)
{
	dial_good(&f->dial);
	n_frames++;
	last = *frame;
	memcpy(text, data, frame->len);
	text[frame->len] = '\0';
}

static void on_failed(struct frames_client *f, bool was_up)
{
	(void)was_up;
	if (!n_failed++)
		(void)snprintf(why, sizeof(why), "%s", dial_why(&f->dial));
}

static const struct frames_client_user USER = {
	.opened = on_opened,
	.frame = on_frame,
	.failed = on_failed,
	.tls_option = "--ca",
};

static void open_client(unsigned port)
{
	const struct dial_options options = { .addresses = &addresses,
					      .connect_ms = 5000,
					      .greet_ms = 5000,
					      .pause_max_ms = 50 };
	char list[32];

	n_opened = n_frames = n_failed = 0;
	(void)snprintf(list, sizeof(list), "127.0.0.1:%u", port);
	assert_int_equal(address_list_parse(list, &KIND, &addresses, NULL), 0);
	assert_int_equal(frames_client_open(&client, scene.loop, &options,
					    MAX_LEN, &USER),
			 0);
}

#define TURN_UNTIL(condition)                                          \
	for (int n_ = 0; !(condition); n_++) {                         \
		assert_true(n_ < MAX_ROUNDS);                          \
		assert_int_equal(loop_round(scene.loop, ROUND_MS), 0); \
	}

static int setup(void **state)
{
	(void)state;
	scene_open(&scene, NULL);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	frames_client_close(&client);
	address_list_release(&addresses);
	scene_close(&scene);
	return 0;
}

static void open_echo(void)
{
	uint16_t port = 0;

	assert_int_equal(rpc_server_listen(scene.echo.server, "127.0.0.1:0",
					   NULL, &port, NULL),
			 0);
	open_client(port);
	TURN_UNTIL(n_opened);
}

static void ask(const char *data, size_t len)
{
	const struct frame f = { .len = (uint32_t)len,
				 .method = UNARY,
				 .call = 7 };

	frames_client_send(&client, &f, data);
}

static void a_call_is_answered(void **state)
{
	(void)state;
	open_echo();
	ask("hello", 5);
	assert_true(frames_client_unsent(&client) > 0);
	TURN_UNTIL(n_frames);
	assert_int_equal(last.call, 7);
	assert_int_equal(last.flags, FRAME_END);
	assert_string_equal(text, "hello");
	assert_int_equal(frames_client_unsent(&client), 0);
}

/* Larger than what is read at once, and in many pieces. */
static void a_large_reply_comes_whole(void **state)
{
	static char large[MAX_LEN];

	(void)state;
	memset(large, 'x', sizeof(large));
	open_echo();
	ask(large, sizeof(large));
	ask("after", 5);
	TURN_UNTIL(n_frames == 2);
	assert_string_equal(text, "after");
}

static void who_flushes_and_reads_needs_no_round(void **state)
{
	(void)state;
	open_echo();
	TURN_UNTIL(frames_client_unsent(&client) == 0);
	ask("now", 3);
	frames_client_flush(&client);
	assert_int_equal(frames_client_unsent(&client), 0);
	TURN_UNTIL(n_frames);
	assert_int_equal(frames_client_read(&client), 0); /* nothing more */
	assert_int_equal(n_failed, 0);
}

static void a_server_that_answers_pings_is_not_silent(void **state)
{
	int64_t due_ms = 0;

	(void)state;
	open_echo();
	while (!client.asked_ms) {
		assert_int_equal(loop_round(scene.loop, 1), 0);
		assert_false(frames_client_is_silent(&client, 1, 5000, &due_ms));
	}
	TURN_UNTIL(n_frames); /* the PONG */
	assert_int_equal(last.method, FRAME_PONG);
	assert_false(frames_client_is_silent(&client, 60000, 1, &due_ms));
}

/* ---- wrong ones ---- */

static int listen_at(unsigned *ret_port)
{
	struct sockaddr_in a = { .sin_family = AF_INET,
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(a);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(bind(fd, (struct sockaddr *)&a, sizeof(a)), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&a, &len), 0);
	assert_int_equal(listen(fd, 8), 0);
	*ret_port = ntohs(a.sin_port);
	return fd;
}

static void check_answer(const char *answer, size_t len, const char *expected)
{
	unsigned port;
	int listener = listen_at(&port);
	int fd;

	open_client(port);
	TURN_UNTIL(n_opened);
	fd = accept(listener, NULL, NULL);
	assert_int_equal(send(fd, answer, len, 0), len);
	TURN_UNTIL(n_failed);
	assert_non_null(strstr(why, expected));
	assert_int_equal(n_frames, 0);
	(void)close(fd);
	(void)close(listener);
}

static void what_speaks_http_is_told(void **state)
{
	(void)state;
	check_answer("HTTP/1.1 400 Bad\r\n\r\n", 20, "its certificate (--ca)");
}

static void a_frame_that_is_too_large_is_told(void **state)
{
	(void)state;
	check_answer("SSH-2.0-OpenSSH_9.2p1\r\n", 23, "is not a coordinator");
}

static void a_silent_server_is_noticed(void **state)
{
	unsigned port;
	int listener = listen_at(&port);
	int64_t due_ms;

	(void)state;
	open_client(port);
	TURN_UNTIL(n_opened);
	TURN_UNTIL(frames_client_is_silent(&client, 10, 10, &due_ms));
	assert_true(client.asked_ms >= client.dial.heard_ms + 10);
	assert_true(due_ms >= client.asked_ms + 10);
	(void)close(listener);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_call_is_answered),
		TEST(a_large_reply_comes_whole),
		TEST(who_flushes_and_reads_needs_no_round),
		TEST(a_server_that_answers_pings_is_not_silent),
		TEST(what_speaks_http_is_told),
		TEST(a_frame_that_is_too_large_is_told),
		TEST(a_silent_server_is_noticed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
