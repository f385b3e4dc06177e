/* test_frames_wire.c - frames from a client that may do anything. */
#include <string.h>
#include <unistd.h>

#include "alloc_fail.h"
#include "net/frames/frames.h"
#include "scene.h"

enum { UNARY = 1, WAIT, BIDI, MANY, COLLECT, WHO, FAIL, COUNTS, SLOW, BRIEF };

static struct scene scene;
static int fd;

static void open_with(const struct rpc_limits *limits)
{
	scene_open(&scene, limits);
	fd = scene_connect(&scene);
	scene_write(&scene, fd, FRAMES_PREFACE, FRAMES_PREFACE_LEN);
}

static int setup(void **state)
{
	(void)state;
	open_with(NULL);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	close(fd);
	scene_close(&scene);
	return 0;
}

static void send_frame(const struct frame *f, const void *data)
{
	uint8_t head[FRAME_HEADER_LEN];

	frame_pack(f, head);
	scene_write(&scene, fd, head, sizeof(head));
	scene_write(&scene, fd, data, f->len);
}

static void call(uint16_t method, uint32_t number, const char *text)
{
	const struct frame f = { .len = (uint32_t)strlen(text),
				 .method = method,
				 .call = number };

	send_frame(&f, text);
}

static void control(enum frame_type type, uint32_t number)
{
	const struct frame f = { .method = (uint16_t)type, .call = number };

	send_frame(&f, NULL);
}

static void assert_reply(uint16_t method, uint32_t number, uint16_t flags,
			 uint32_t status, const char *text)
{
	uint8_t head[FRAME_HEADER_LEN];
	char data[1000] = { 0 };
	struct frame f;

	assert_int_equal(scene_read(&scene, fd, head, sizeof(head)),
			 sizeof(head));
	frame_unpack(head, &f);
	assert_true(f.len < sizeof(data));
	assert_int_equal(scene_read(&scene, fd, data, f.len), f.len);
	assert_int_equal(f.method, method);
	assert_int_equal(f.call, number);
	assert_int_equal(f.flags, flags);
	assert_int_equal(f.number, status);
	if (text)
		assert_string_equal(data, text);
}

static void assert_silent(void)
{
	char byte;

	assert_int_equal(scene_read(&scene, fd, &byte, 1), 0);
}

static void assert_ended(void)
{
	char byte;

	assert_int_equal(scene_read(&scene, fd, &byte, 1), -1);
	assert_int_equal(scene_counts(&scene).n_connections, 0);
}

/* ---- calls ---- */

static void a_unary_call_gets_one_frame(void **state)
{
	(void)state;
	call(UNARY, 7, "hello");
	assert_reply(UNARY, 7, FRAME_END, 0, "hello");
	assert_silent();
	assert_int_equal(scene_counts(&scene).calls_frames, 1);
	assert_int_equal(scene_counts(&scene).n_calls, 0);
}

static void a_failure_has_sentence_and_trailers(void **state)
{
	(void)state;
	call(FAIL, 8, "9 not now");
	assert_reply(FAIL, 8, FRAME_END, 9, "not now");
	call(4000, 9, "");
	assert_reply(4000, 9, FRAME_END, 12, NULL);
}

static void many_calls_wait_and_are_found_by_number(void **state)
{
	enum { N = 3000 };

	(void)state;
	for (uint32_t i = 0; i < N; i++) {
		call(WAIT, i * 7919, "");
		assert_int_equal(scene_counts(&scene).n_calls, i + 1);
	}
	for (uint32_t i = 0; i < N; i++) {
		control(FRAME_CANCEL, i * 7919);
		assert_int_equal(scene.echo.cancelled, i + 1);
	}
	control(FRAME_CANCEL, 1);
	assert_int_equal(scene.echo.cancelled, N);
	assert_silent();
}

/* However much one sends at once, after a call that takes long others are served. */
static void who_asks_much_does_not_keep_others_from_an_answer(void **state)
{
	enum { N = 5, LEN = FRAME_HEADER_LEN + 1 };
	uint8_t calls[N * LEN];
	uint8_t replies[N * LEN];
	int other = scene_connect(&scene);

	(void)state;
	scene_write(&scene, other, FRAMES_PREFACE, FRAMES_PREFACE_LEN);
	for (unsigned i = 0; i < N; i++) {
		const struct frame f = { .len = 1,
					 .method = SLOW,
					 .call = i + 1 };

		frame_pack(&f, calls + i * LEN);
		calls[i * LEN + FRAME_HEADER_LEN] = 'x';
	}
	assert_int_equal(write(fd, calls, sizeof(calls)), sizeof(calls));
	frame_pack(&(struct frame){ .len = 1, .method = UNARY, .call = 1 },
		   calls);
	assert_int_equal(write(other, calls, LEN), LEN);
	assert_int_equal(loop_round(scene.loop, 0), 0);
	assert_int_equal(read(other, replies, sizeof(replies)), LEN);
	assert_int_equal(read(fd, replies, sizeof(replies)), LEN);
	/* One at a time, all have their answer. */
	assert_int_equal(loop_round(scene.loop, 0), 0);
	assert_int_equal(read(fd, replies, sizeof(replies)), LEN);
	assert_int_equal(scene_read(&scene, fd, replies, (N - 2) * LEN),
			 (N - 2) * LEN);
	call(UNARY, 9, "then");
	assert_reply(UNARY, 9, FRAME_END, 0, "then");
	close(other);
}

static void a_connection_may_end_before_its_next_turn(void **state)
{
	uint8_t calls[2][FRAME_HEADER_LEN];

	(void)state;
	for (unsigned i = 0; i < 2; i++)
		frame_pack(&(struct frame){ .method = SLOW, .call = i + 1 },
			   calls[i]);
	assert_int_equal(write(fd, calls, sizeof(calls)), sizeof(calls));
	assert_int_equal(loop_round(scene.loop, 0), 0);
	close(fd);
	fd = -1;
	scene_turn(&scene);
	assert_int_equal(scene_counts(&scene).n_connections, 0);
}

static void numbers_are_of_a_connection(void **state)
{
	int other = scene_connect(&scene);
	int mine = fd;

	(void)state;
	scene_write(&scene, other, FRAMES_PREFACE, FRAMES_PREFACE_LEN);
	call(WAIT, 1, "");
	fd = other;
	call(WAIT, 1, "");
	control(FRAME_CANCEL, 1);
	assert_int_equal(scene_counts(&scene).n_calls, 1);
	fd = mine;
	control(FRAME_CANCEL, 1);
	assert_int_equal(scene_counts(&scene).n_calls, 0);
	close(other);
}

static void a_waiting_call_is_answered_later(void **state)
{
	(void)state;
	call(WAIT, 1, "");
	assert_silent();
	rpc_call_send(scene_waiting(&scene), "now", 3);
	rpc_call_end(scene_waiting(&scene), 0, NULL, NULL, 0);
	scene_turn(&scene);
	assert_reply(WAIT, 1, FRAME_END, 0, "now");
	assert_null(rpc_call_find(scene.echo.server, scene.echo.waiting));
	call(WAIT, 1, ""); /* its number is free again */
	assert_int_equal(scene_counts(&scene).n_calls, 1);
}

static void the_deadline_ends_a_call(void **state)
{
	const struct frame f = { .method = WAIT, .call = 1, .number = 10 };

	(void)state;
	send_frame(&f, NULL);
	while (scene_counts(&scene).n_calls)
		assert_int_equal(loop_round(scene.loop, -1), 0);
	assert_reply(WAIT, 1, FRAME_END, 4, NULL);
	assert_int_equal(scene.echo.cancelled, 1);
}

static void a_method_may_have_a_deadline_of_its_own(void **state)
{
	const struct frame f = { .method = BRIEF, .call = 1 };

	(void)state;
	send_frame(&f, NULL);
	while (scene_counts(&scene).n_calls)
		assert_int_equal(loop_round(scene.loop, -1), 0);
	assert_reply(BRIEF, 1, FRAME_END, 4, NULL);
}

static void a_stream_goes_on_until_its_end(void **state)
{
	struct frame f = { .len = 1, .method = BIDI, .call = 1 };

	(void)state;
	send_frame(&f, "a");
	assert_reply(BIDI, 1, 0, 0, "a");
	f.flags = FRAME_MORE;
	send_frame(&f, "b");
	assert_reply(BIDI, 1, 0, 0, "b");
	f.len = 0;
	f.flags = FRAME_MORE | FRAME_END;
	send_frame(&f, NULL);
	assert_reply(BIDI, 1, FRAME_END, 0, "");
	f.len = 1;
	f.flags = FRAME_MORE;
	send_frame(&f, "c"); /* too late */
	assert_silent();
	assert_int_equal(scene_counts(&scene).calls_frames, 1);
}

static void the_end_of_a_connection_cancels_its_calls(void **state)
{
	(void)state;
	call(WAIT, 1, "");
	call(WAIT, 2, "");
	close(fd);
	fd = -1;
	scene_turn(&scene);
	assert_int_equal(scene.echo.cancelled, 2);
	assert_int_equal(scene.echo.disconnected, 1);
	assert_int_equal(scene_counts(&scene).n_calls, 0);
}

/* ---- what must not happen ---- */

static void a_number_in_use_is_an_error(void **state)
{
	(void)state;
	call(WAIT, 1, "");
	call(UNARY, 1, "");
	assert_ended();
	assert_int_equal(scene_counts(&scene).protocol_errors, 1);
	assert_int_equal(scene.echo.cancelled, 1);
}

static void an_unknown_control_frame_is_an_error(void **state)
{
	(void)state;
	control(0xffff, 1);
	assert_ended();
}

static void a_hello_that_is_too_long_is_an_error(void **state)
{
	const struct frame f = { .len = 100000, .method = FRAME_HELLO };
	uint8_t head[FRAME_HEADER_LEN];

	(void)state;
	frame_pack(&f, head);
	scene_write(&scene, fd, head, sizeof(head));
	assert_ended();
}

static void hellos_of_all_shapes_are_taken(void **state)
{
	struct frame f = { .method = FRAME_HELLO };

	(void)state;
	call(WHO, 1, "");
	assert_reply(WHO, 1, FRAME_END, 0, "-\n-");
	f.len = 5;
	send_frame(&f, "t\0job");
	call(WHO, 2, "");
	assert_reply(WHO, 2, FRAME_END, 0, "Bearer t\njob");
	f.len = 4;
	send_frame(&f, "\0job");
	call(WHO, 3, "");
	assert_reply(WHO, 3, FRAME_END, 0, "-\njob");
	f.len = 3;
	send_frame(&f, "bad");
	call(WHO, 4, "");
	assert_reply(WHO, 4, FRAME_END, 16, NULL);
	f.len = 0;
	send_frame(&f, "");
	call(WHO, 5, "");
	assert_reply(WHO, 5, FRAME_END, 0, "-\n-");
}

static void a_stranger_may_say_little(void **state)
{
	enum { LEN = RPC_STRANGER_MESSAGE + 1 };
	const struct frame f = { .len = LEN, .method = COLLECT, .call = 1 };
	const struct frame hello = { .len = 4, .method = FRAME_HELLO };
	static char text[LEN];

	(void)state;
	scene.echo.token = "Bearer good";
	close(fd);
	fd = scene_connect(&scene);
	scene_write(&scene, fd, FRAMES_PREFACE, FRAMES_PREFACE_LEN);
	send_frame(&f, text);
	assert_reply(COLLECT, 1, FRAME_END, 8,
		     "the message is larger than the server takes from a "
		     "client without a valid token");
	send_frame(&hello, "good");
	send_frame(&f, text);
	assert_silent();
	assert_int_equal(scene_counts(&scene).n_calls, 1);
}

static void a_stranger_may_have_few_calls(void **state)
{
	(void)state;
	close(fd);
	scene.echo.token = "Bearer good";
	fd = scene_connect(&scene);
	scene_write(&scene, fd, FRAMES_PREFACE, FRAMES_PREFACE_LEN);
	for (uint32_t i = 0; i < RPC_STRANGER_CALLS; i++)
		call(WAIT, i, "");
	assert_int_equal(scene_counts(&scene).n_calls, RPC_STRANGER_CALLS);
	call(WAIT, RPC_STRANGER_CALLS, "");
	assert_ended();
	assert_int_equal(scene_counts(&scene).n_calls, 0);
}

/* The oldest of their connections goes, and who is known notices nothing. */
static void strangers_may_have_few_calls_together(void **state)
{
	enum {
		N = RPC_STRANGERS_CALLS / RPC_STRANGER_CALLS + 1,
		CALLS = RPC_STRANGER_CALLS,
	};
	static uint8_t calls[CALLS][FRAME_HEADER_LEN];
	int others[N];
	char byte;

	(void)state;
	for (uint32_t i = 0; i < CALLS; i++)
		frame_pack(&(struct frame){ .method = WAIT, .call = i },
			   calls[i]);
	call(WAIT, 1, "");
	scene.echo.token = "Bearer good";
	for (int i = 0; i < N; i++) {
		others[i] = scene_connect(&scene);
		scene_write(&scene, others[i], FRAMES_PREFACE,
			    FRAMES_PREFACE_LEN);
		scene_write(&scene, others[i], calls, sizeof(calls));
	}
	assert_int_equal(scene_read(&scene, others[0], &byte, 1), -1);
	assert_int_equal(scene_read(&scene, others[N - 1], &byte, 1), 0);
	assert_int_equal(scene_counts(&scene).n_calls, (N - 1) * CALLS + 1);
	for (int i = 0; i < N; i++)
		close(others[i]);
}

/* Sends all but the last byte of a message; the server may close meanwhile. */
static int begin_message(size_t len)
{
	static uint8_t bytes[FRAMES_PREFACE_LEN + FRAME_HEADER_LEN +
			     RPC_STRANGER_MESSAGE];
	const struct frame f = { .len = (uint32_t)len,
				 .method = UNARY,
				 .call = 1 };
	size_t all = FRAMES_PREFACE_LEN + FRAME_HEADER_LEN + len - 1;
	int other = scene_connect(&scene);

	memcpy(bytes, FRAMES_PREFACE, FRAMES_PREFACE_LEN);
	frame_pack(&f, bytes + FRAMES_PREFACE_LEN);
	assert_int_equal(write(other, bytes, all), all);
	scene_turn(&scene);
	return other;
}

/* However much strangers have begun to say, others are heard, and of a stranger a
 * little. */
static void strangers_take_no_room_from_others(void **state)
{
	enum { MAX = 1 << 20, N = MAX / RPC_STRANGER_MESSAGE + 4 };
	const struct rpc_limits limits = { .max_message = MAX };
	const struct frame hello = { .len = 4, .method = FRAME_HELLO };
	const struct frame large = { .len = MAX, .method = COLLECT, .call = 1 };
	static const char text[MAX];
	int others[N], other;

	(void)state;
	open_with(&limits);
	scene.echo.token = "Bearer good";
	for (int i = 0; i < N; i++)
		others[i] = begin_message(RPC_STRANGER_MESSAGE);
	assert_in_range(scene_counts(&scene).n_connections, 2, N);
	send_frame(&hello, "good");
	send_frame(&large, text);
	assert_int_equal(scene_counts(&scene).n_calls, 1);
	other = fd;
	fd = begin_message(1000);
	scene_write(&scene, fd, "", 1);
	assert_int_equal(scene_counts(&scene).calls_frames, 2);
	close(fd);
	fd = other;
	for (int i = 0; i < N; i++)
		close(others[i]);
}

static void too_large_messages_are_skipped(void **state)
{
	const struct rpc_limits limits = { .max_message = 100 };
	struct frame f = { .len = 101, .method = UNARY, .call = 1 };
	static const char large[1000];

	(void)state;
	open_with(&limits);
	send_frame(&f, large);
	assert_reply(UNARY, 1, FRAME_END, 8, NULL);
	call(UNARY, 2, "next");
	assert_reply(UNARY, 2, FRAME_END, 0, "next");
	f = (struct frame){ .len = 1, .method = BIDI, .call = 3 };
	send_frame(&f, "a");
	assert_reply(BIDI, 3, 0, 0, "a");
	f.flags = FRAME_MORE;
	f.len = 1000;
	send_frame(&f, large);
	assert_reply(BIDI, 3, FRAME_END, 8, NULL);
	assert_int_equal(scene.echo.cancelled, 1);
}

static void open_calls_are_bounded(void **state)
{
	const struct rpc_limits limits = { .max_streams = 3 };

	(void)state;
	open_with(&limits);
	for (uint32_t i = 0; i < 4; i++)
		call(WAIT, i, "");
	assert_reply(WAIT, 3, FRAME_END, 8, NULL);
	assert_int_equal(scene_counts(&scene).n_calls, 3);
}

static void pings_are_answered_but_not_for_ever(void **state)
{
	const struct rpc_limits limits = { .max_control = 20 };

	(void)state;
	open_with(&limits);
	control(FRAME_PING, 5);
	assert_reply(FRAME_PONG, 5, 0, 0, "");
	for (int i = 0; i < 2000 && scene_counts(&scene).n_connections; i++)
		control(FRAME_PING, 6);
	assert_int_equal(scene_counts(&scene).protocol_errors, 1);
	assert_int_equal(scene_counts(&scene).n_connections, 0);
}

static void who_does_not_read_is_not_read_from(void **state)
{
	static char large[300000];
	const struct frame f = { .len = sizeof(large), .method = UNARY };
	uint8_t head[FRAME_HEADER_LEN];
	int sent = 0;

	(void)state;
	/* The client only writes, as far as the sockets take it. */
	frame_pack(&f, head);
	for (int stuck = 0; stuck < 100;) {
		const void *from = sent % 2 ? (const void *)large : head;
		size_t len = sent % 2 ? sizeof(large) : sizeof(head);
		ssize_t n = write(fd, from, len);

		scene_turn(&scene);
		stuck = n < 0 ? stuck + 1 : 0;
		if (n >= 0 && (size_t)n < len)
			break; /* a part of it: the socket is full */
		if (n >= 0)
			sent++;
	}
	scene_turn(&scene);
	assert_true(scene_counts(&scene).unsent_bytes < 4 << 20);
	assert_int_equal(scene_counts(&scene).n_connections, 1);
	assert_int_equal(scene_counts(&scene).slow_readers, 0);
}

/* ---- the end ---- */

static void draining_refuses_new_calls_and_finishes_old_ones(void **state)
{
	(void)state;
	call(WAIT, 1, "");
	rpc_server_drain(scene.echo.server);
	scene_turn(&scene);
	assert_reply(FRAME_GOAWAY, 0, 0, 0, "");
	call(UNARY, 2, "");
	assert_reply(UNARY, 2, FRAME_END, 14, NULL);
	assert_false(rpc_server_drained(scene.echo.server));
	rpc_call_end(scene_waiting(&scene), 0, NULL, NULL, 0);
	scene_turn(&scene);
	assert_reply(WAIT, 1, FRAME_END, 0, "");
	assert_true(rpc_server_drained(scene.echo.server));
	assert_ended();
}

static void any_allocation_may_fail(void **state)
{
	static const char bytes[] = FRAMES_PREFACE
		"\5\0\0\0\0\xff\0\0\0\0\0\0\0\0\0\0"
		"t\0job"
		"\1\0\0\0\3\0\0\0\1\0\0\0\0\0\0\0"
		"a"
		"\0\0\0\0\2\0\0\0\2\0\0\0\x10\x27\0\0"
		"\4\0\0\0\7\0\0\0\3\0\0\0\0\0\0\0"
		"9 no"
		"\x10\0\0\0\1";

	(void)state;
	for (int n = 0; n < 40; n++) {
		struct scene s;
		int ends;

		scene_open(&s, NULL);
		ends = scene_connect(&s);
		alloc_fail_after(n);
		scene_write(&s, ends, bytes, sizeof(bytes) - 1);
		alloc_fail_never();
		close(ends);
		scene_turn(&s);
		assert_int_equal(scene_counts(&s).n_calls, 0);
		assert_int_equal(scene_counts(&s).n_connections, 0);
		scene_close(&s);
	}
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
#define OWN(f) cmocka_unit_test_teardown(f, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_unary_call_gets_one_frame),
		T(a_failure_has_sentence_and_trailers),
		T(many_calls_wait_and_are_found_by_number),
		T(who_asks_much_does_not_keep_others_from_an_answer),
		T(a_connection_may_end_before_its_next_turn),
		T(numbers_are_of_a_connection),
		T(a_waiting_call_is_answered_later),
		T(the_deadline_ends_a_call),
		T(a_stream_goes_on_until_its_end),
		T(the_end_of_a_connection_cancels_its_calls),
		T(a_number_in_use_is_an_error),
		T(an_unknown_control_frame_is_an_error),
		T(a_hello_that_is_too_long_is_an_error),
		T(hellos_of_all_shapes_are_taken),
		T(a_method_may_have_a_deadline_of_its_own),
		T(a_stranger_may_say_little),
		T(a_stranger_may_have_few_calls),
		T(strangers_may_have_few_calls_together),
		OWN(strangers_take_no_room_from_others),
		OWN(too_large_messages_are_skipped),
		OWN(open_calls_are_bounded),
		OWN(pings_are_answered_but_not_for_ever),
		T(who_does_not_read_is_not_read_from),
		T(draining_refuses_new_calls_and_finishes_old_ones),
		cmocka_unit_test(any_allocation_may_fail),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
