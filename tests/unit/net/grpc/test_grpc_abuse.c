/* test_grpc_abuse.c - peers that cost more than they should: each is bounded. */
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "alloc_fail.h"
#include "h2_client.h"

static struct scene scene;
static struct h2 *h;

static void open_with(const struct rpc_limits *limits)
{
	scene_open(&scene, limits);
	h = h2_open(&scene, NULL, 0);
	h2_run(h);
}

static void close_all(void)
{
	h2_close(h);
	scene_close(&scene);
}

static void assert_told_to_calm_down(void)
{
	assert_true(h->gone);
	assert_int_equal(h->goaway, NGHTTP2_ENHANCE_YOUR_CALM);
	assert_int_equal(scene_counts(&scene).n_connections, 0);
	assert_true(scene_counts(&scene).protocol_errors > 0);
}

static void rapid_resets_end_the_connection(void **state)
{
	const struct rpc_limits limits = { .max_resets = 20 };
	int n = 0;

	(void)state;
	open_with(&limits);
	/* The limit is one of a second, which may end in between. */
	for (; n < 2000 && !h->gone; n++) {
		int32_t id = h2_begin(h, "Unary", NULL, NULL);

		assert_int_equal(nghttp2_submit_rst_stream(h->session, 0, id,
							   NGHTTP2_CANCEL),
				 0);
		h2_run(h);
	}
	assert_true(n > 20);
	assert_told_to_calm_down();
	assert_int_equal(scene.echo.cancelled, n);
	close_all();
}

/* More DATA than content-length allows: the stream is reset by us. */
static void frames_that_make_us_reset_count_as_resets(void **state)
{
	const struct rpc_limits limits = { .max_resets = 20 };
	int n = 0;

	(void)state;
	open_with(&limits);
	for (; n < 1000 && !h->gone; n++)
		h2_message(h, h2_begin(h, "Bidi", "content-length", "1"), "a",
			   1, false);
	assert_true(n > 20);
	assert_told_to_calm_down();
	assert_int_equal(scene.echo.cancelled, n);
	close_all();
}

static void all_calls_may_be_taken_back_at_once(void **state)
{
	enum { N = 2000 };
	const struct rpc_limits limits = { .max_streams = N };

	(void)state;
	open_with(&limits);
	for (int i = 0; i < N; i++)
		(void)h2_begin(h, "Wait", NULL, NULL);
	for (int32_t id = 1; id < 2 * N; id += 2)
		assert_int_equal(nghttp2_submit_rst_stream(h->session, 0, id,
							   NGHTTP2_CANCEL),
				 0);
	h2_run(h);
	assert_false(h->gone);
	assert_int_equal(scene.echo.cancelled, N);
	close_all();
}

static void pings_are_answered_but_not_for_ever(void **state)
{
	const struct rpc_limits limits = { .max_control = 50 };

	(void)state;
	open_with(&limits);
	for (int i = 0; i < 20; i++)
		assert_int_equal(nghttp2_submit_ping(h->session, 0, NULL), 0);
	h2_run(h);
	assert_int_equal(h->n_acks, 20);
	for (int n = 0; n < 2000 && !h->gone; n++) {
		assert_int_equal(nghttp2_submit_ping(h->session, 0, NULL), 0);
		h2_run(h);
	}
	assert_told_to_calm_down();
	close_all();
}

static void settings_are_bounded(void **state)
{
	const struct rpc_limits limits = { .max_control = 50 };
	const nghttp2_settings_entry one = {
		NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, 70000
	};

	(void)state;
	open_with(&limits);
	for (int n = 0; n < 2000 && !h->gone; n++) {
		assert_int_equal(
			nghttp2_submit_settings(h->session, 0, &one, 1), 0);
		h2_run(h);
	}
	assert_told_to_calm_down();
	close_all();
}

static void frames_with_nothing_in_them_are_bounded(void **state)
{
	const struct rpc_limits limits = { .max_control = 50 };
	static const uint8_t header[] = { 0, 0, 0, 0, 0, 0, 0, 0, 1 };

	(void)state;
	open_with(&limits);
	(void)h2_begin(h, "Bidi", NULL, NULL);
	for (int n = 0; n < 2000 && !h->gone; n++) {
		scene_write(&scene, h->fd, header, sizeof(header));
		h2_run(h);
	}
	assert_told_to_calm_down();
	close_all();
}

/* One long value, put into HPACK's table and named again and again. */
static int32_t send_bomb(size_t value_len, int n)
{
	static char value[4000];
	struct h2_field fields[64] = {
		{ ":method", "POST" },
		{ ":scheme", "http" },
		{ ":path", "/echo.Echo/Unary" },
		{ ":authority", "here" },
		{ "te", "trailers" },
		{ "content-type", "application/grpc" },
	};

	memset(value, 'b', value_len);
	value[value_len] = '\0';
	for (int i = 0; i < n; i++)
		fields[6 + i] = (struct h2_field){ "x-bomb", value };
	return h2_headers(h, fields, false);
}

static void too_much_metadata_is_refused(void **state)
{
	int32_t id;

	(void)state;
	open_with(NULL);
	id = send_bomb(3900, 5);
	h2_run(h);
	assert_has(h2_stream(h, id)->head, "grpc-status: 8");
	assert_false(h->gone);
	assert_int_equal(h2_stream(h, h2_call(h, "Unary", "x"))->data.len, 6);
	close_all();
}

static void a_bomb_of_headers_ends_the_connection(void **state)
{
	(void)state;
	open_with(NULL);
	(void)send_bomb(3900, 50);
	h2_run(h);
	assert_told_to_calm_down();
	close_all();
}

static void messages_under_way_are_bounded(void **state)
{
	enum { MIB = 1 << 20, PART = 900 << 10 };
	const struct rpc_limits limits = { .max_message = MIB };
	static uint8_t part[PART] = { 0, 0, 16 };
	int32_t first, second;

	(void)state;
	open_with(&limits);
	first = h2_begin(h, "Unary", NULL, NULL);
	h2_data(h, first, part, PART, false);
	second = h2_begin(h, "Unary", NULL, NULL);
	h2_data(h, second, part, PART, false);
	assert_has(h2_stream(h, second)->head, "grpc-status: 8");
	h2_data(h, first, part, MIB + 5 - PART, true);
	assert_has(h2_stream(h, first)->trailers, "grpc-status: 0");
	second = h2_begin(h, "Unary", NULL, NULL);
	h2_data(h, second, part, PART, false);
	assert_int_equal(h2_stream(h, second)->n_heads, 0);
	close_all();
}

static void who_never_reads_is_left(void **state)
{
	const struct rpc_limits limits = { .max_unsent = 100000 };
	const nghttp2_settings_entry none = {
		NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, 0
	};

	(void)state;
	scene_open(&scene, &limits);
	h = h2_open(&scene, &none, 1);
	h2_run(h);
	(void)h2_call(h, "Many", "1 500000"); /* one is taken, if it is large */
	assert_false(h->gone);
	assert_int_equal(scene_counts(&scene).unsent_bytes, 500005);
	(void)h2_call(h, "Many", "1 1");
	assert_true(h->gone);
	assert_int_equal(scene_counts(&scene).slow_readers, 1);
	assert_int_equal(scene_counts(&scene).unsent_bytes, 0);
	close_all();
}

static void all_slow_readers_together_are_bounded(void **state)
{
	enum { N = 70 };
	const struct rpc_limits limits = { .max_unsent = 200000 };
	const nghttp2_settings_entry none = {
		NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, 0
	};
	struct h2 *many[N];

	(void)state;
	scene_open(&scene, &limits);
	for (int i = 0; i < N; i++) {
		many[i] = h2_open(&scene, &none, 1);
		h2_run(many[i]);
		(void)h2_call(many[i], "Many", "1 199000");
	}
	/* Less than each of them may have, but all of them have too much. */
	(void)h2_call(many[0], "Many", "1 1");
	assert_true(many[0]->gone);
	assert_int_equal(scene_counts(&scene).slow_readers, 1);
	h = h2_open(&scene, NULL, 0);
	h2_run(h);
	assert_int_equal(h2_stream(h, h2_call(h, "Unary", "x"))->data.len, 6);
	for (int i = 0; i < N; i++)
		h2_close(many[i]);
	scene_turn(&scene);
	assert_int_equal(scene_counts(&scene).unsent_bytes, 0);
	close_all();
}

static void open_calls_are_bounded(void **state)
{
	const struct rpc_limits limits = { .max_streams = 3 };

	(void)state;
	open_with(&limits);
	for (int i = 0; i < 5; i++)
		(void)h2_begin(h, "Wait", NULL, NULL);
	h2_run(h);
	/* A client that keeps to it waits with the others itself. */
	assert_int_equal(scene_counts(&scene).n_calls, 3);
	close_all();
}

static void silence_is_answered_by_a_question(void **state)
{
	const struct rpc_limits limits = { .keepalive_ms = 5,
					   .keepalive_timeout_ms = 5 };

	(void)state;
	open_with(&limits);
	while (h->n_pings < 2) { /* the first one is answered */
		assert_int_equal(loop_round(scene.loop, -1), 0);
		h2_run(h);
	}
	assert_false(h->gone);
	while (scene_counts(&scene).n_connections)
		assert_int_equal(loop_round(scene.loop, -1), 0);
	assert_int_equal(scene.echo.disconnected, 1);
	close_all();
}

/* ---- no memory ---- */

static void add_frame_of(struct str *out, uint8_t stream, uint8_t type,
			 uint8_t flags, const void *data, size_t len)
{
	const uint8_t head[9] = { 0, 0, (uint8_t)len, type, flags, 0,
				  0, 0, stream };

	str_add(out, head, sizeof(head));
	str_add(out, data, len);
}

static void add_frame(struct str *out, uint8_t type, uint8_t flags,
		      const void *data, size_t len)
{
	add_frame_of(out, type == NGHTTP2_SETTINGS ? 0 : 1, type, flags, data,
		     len);
}

/* A whole connection, as bytes: a stream with two messages, one of them torn. */
static void write_connection(struct str *out)
{
	static const char head[] = "\x83\x86\x44\x0f/echo.Echo/Bidi\x41\4here"
				   "\x40\2te\x08trailers"
				   "\x5f\x10"
				   "application/grpc"
				   "\x40\x0cgrpc-timeout\3"
				   "10S"
				   "\x40\x0d"
				   "authorization\3abc";
	static const char data[] = "\0\0\0\0\1a\0\0\0\0\5hel";

	str_adds(out, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
	add_frame(out, 4, 0, NULL, 0);
	add_frame(out, 1, 4, head, sizeof(head) - 1);
	add_frame(out, 0, 0, data, sizeof(data) - 1);
	add_frame(out, 0, 0, "lo", 2);
	assert_int_equal(str_error(out), 0);
}

/* ---- streams that are over ---- */

/* HEADERS that end a stream, sent beside the client's session. */
static void send_headers(int32_t stream)
{
	const uint8_t frame[] = {
		0,
		0,
		1,
		NGHTTP2_HEADERS,
		NGHTTP2_FLAG_END_STREAM | NGHTTP2_FLAG_END_HEADERS,
		0,
		0,
		0,
		(uint8_t)stream,
		0x82
	};

	assert_int_equal(write(h->fd, frame, sizeof(frame)), sizeof(frame));
	h2_run(h);
}

static void headers_on_a_stream_that_is_over_end_the_connection(void **state)
{
	const struct rpc_limits limits = { 0 };
	int32_t id;

	(void)state;
	open_with(&limits);
	id = h2_call(h, "Unary", "a");
	h2_run(h);
	assert_true(h2_stream(h, id)->closed);
	send_headers(id);
	assert_true(h->gone);
	assert_int_equal(h->goaway, NGHTTP2_STREAM_CLOSED);
	close_all();
}

/* DATA of `len` bytes, beside the client's session; each write is one read of the server. */
static void send_data(int32_t stream, uint8_t flags, uint8_t len)
{
	uint8_t frame[9 + 255] = { 0, 0, len, NGHTTP2_DATA,   flags,
				   0, 0, 0,   (uint8_t)stream };

	assert_int_equal(send(h->fd, frame, 9 + len, MSG_NOSIGNAL), 9 + len);
	h2_run(h);
}

static void data_on_a_stream_that_is_over_ends_the_connection(void **state)
{
	const struct rpc_limits limits = { 0 };
	int32_t id;

	(void)state;
	for (uint8_t len = 0; len < 20; len += 19) {
		open_with(&limits);
		id = h2_call(h, "Unary", "a");
		h2_run(h);
		assert_true(h2_stream(h, id)->closed);
		send_data(id, NGHTTP2_FLAG_END_STREAM, len);
		assert_true(h->gone);
		assert_int_equal(h->goaway, NGHTTP2_STREAM_CLOSED);
		assert_true(scene_counts(&scene).protocol_errors > 0);
		close_all();
	}
}

static void a_number_that_was_passed_over_ends_the_connection(void **state)
{
	const struct rpc_limits limits = { 0 };

	(void)state;
	open_with(&limits);
	assert_int_equal(nghttp2_session_set_next_stream_id(h->session, 5), 0);
	assert_int_equal(h2_call(h, "Unary", "a"), 5);
	h2_run(h);
	send_headers(3);
	assert_true(h->gone);
	assert_int_equal(h->goaway, NGHTTP2_PROTOCOL_ERROR);
	close_all();
}

/* The client may have sent them before it knew. */
static void trailers_on_a_stream_that_we_reset_are_ignored(void **state)
{
	const struct rpc_limits limits = { 0 };
	int32_t id;

	(void)state;
	open_with(&limits);
	id = h2_begin(h, "Bidi", "content-length", "1");
	h2_message(h, id, "a", 1, false);
	h2_run(h);
	assert_true(h2_stream(h, id)->closed);
	send_headers(id);
	assert_false(h->gone);
	id = h2_call(h, "Unary", "a");
	h2_run(h);
	assert_has(h2_stream(h, id)->trailers, "grpc-status: 0");
	close_all();
}

/* Also after the client has reset a stream that was over already. */
static void data_on_a_stream_that_we_ended_is_ignored(void **state)
{
	static const uint8_t reset[] = {
		0, 0, 4, NGHTTP2_RST_STREAM, 0, 0, 0, 0, 1,
		0, 0, 0, NGHTTP2_CANCEL
	};
	const struct rpc_limits limits = { 0 };
	int32_t id;

	(void)state;
	open_with(&limits);
	assert_int_equal(h2_call(h, "Unary", "a"), 1);
	h2_run(h);
	assert_int_equal(write(h->fd, reset, sizeof(reset)), sizeof(reset));
	h2_run(h);
	id = h2_begin(h, "Bidi", "content-length", "1");
	h2_message(h, id, "a", 1, false);
	h2_run(h);
	assert_true(h2_stream(h, id)->closed);
	send_data(id, 0, 200);
	send_data(id, NGHTTP2_FLAG_END_STREAM, 0);
	assert_false(h->gone);
	id = h2_call(h, "Unary", "a");
	h2_run(h);
	assert_has(h2_stream(h, id)->trailers, "grpc-status: 0");
	close_all();
}

/* In one write, so that both frames are read at once. */
static void data_after_the_clients_own_reset_ends_the_connection(void **state)
{
	const struct rpc_limits limits = { 0 };
	CLEANUP(str_release) struct str bytes = STR_INIT;

	(void)state;
	open_with(&limits);
	assert_int_equal(h2_begin(h, "Bidi", NULL, NULL), 1);
	h2_run(h);
	add_frame(&bytes, NGHTTP2_RST_STREAM, 0, "\0\0\0\x08", 4);
	add_frame(&bytes, NGHTTP2_DATA, 0, "abc", 3);
	assert_int_equal(write(h->fd, bytes.data, bytes.len), bytes.len);
	h2_run(h);
	assert_true(h->gone);
	assert_int_equal(h->goaway, NGHTTP2_STREAM_CLOSED);
	close_all();
}

/* Stream 3 is one too many for a client that has not heard of the limit yet. */
static void data_on_a_stream_that_was_refused_is_ignored(void **state)
{
	static const char head[] = "\x83\x86\x44\x0f/echo.Echo/Bidi\x41\4here"
				   "\x40\2te\x08trailers"
				   "\x5f\x10"
				   "application/grpc";
	const struct rpc_limits limits = { .max_streams = 1 };
	CLEANUP(str_release) struct str bytes = STR_INIT;
	int fd;

	(void)state;
	scene_open(&scene, &limits);
	fd = scene_connect(&scene);
	str_adds(&bytes, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
	add_frame(&bytes, NGHTTP2_SETTINGS, 0, NULL, 0);
	add_frame_of(&bytes, 1, NGHTTP2_HEADERS, 4, head, sizeof(head) - 1);
	add_frame_of(&bytes, 3, NGHTTP2_HEADERS, 4, head, sizeof(head) - 1);
	add_frame_of(&bytes, 1, NGHTTP2_RST_STREAM, 0, "\0\0\0\x08", 4);
	add_frame_of(&bytes, 5, NGHTTP2_HEADERS, 4, head, sizeof(head) - 1);
	scene_write(&scene, fd, bytes.data, bytes.len);
	assert_int_equal(scene.echo.cancelled, 1);
	str_clear(&bytes);
	add_frame_of(&bytes, 3, NGHTTP2_DATA, 0, "abc", 3);
	scene_write(&scene, fd, bytes.data, bytes.len);
	assert_int_equal(scene_counts(&scene).n_connections, 1);
	(void)close(fd);
	scene_close(&scene);
}

/* So many frames that the connection's turn ends among them, and reads end within them. */
static void data_is_found_after_turns_that_ended(void **state)
{
	const struct rpc_limits limits = { 0 };
	CLEANUP(str_release) struct str bytes = STR_INIT;

	(void)state;
	open_with(&limits);
	assert_int_equal(h2_call(h, "Unary", "a"), 1);
	h2_run(h);
	assert_int_equal(h2_begin(h, "Bidi", NULL, NULL), 3);
	h2_run(h);
	for (int i = 0; i < 20000; i++)
		add_frame_of(&bytes, 3, NGHTTP2_DATA, 0, "\0\0\0\0\1a", 6);
	scene_write(&scene, h->fd, bytes.data, bytes.len);
	h2_run(h);
	assert_false(h->gone);
	send_data(1, 0, 1);
	assert_true(h->gone);
	assert_int_equal(h->goaway, NGHTTP2_STREAM_CLOSED);
	close_all();
}

/* Its header comes byte by byte, after a frame that also did. */
static void data_is_found_however_the_bytes_come(void **state)
{
	static const uint8_t frames[] = {
		0, 0, 8, NGHTTP2_PING, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
		0, 0, 1, NGHTTP2_DATA, 0, 0, 0, 0, 1, 0
	};
	const struct rpc_limits limits = { 0 };

	(void)state;
	open_with(&limits);
	assert_int_equal(h2_call(h, "Unary", "a"), 1);
	h2_run(h);
	for (size_t i = 0; i < sizeof(frames) - 1; i++) {
		assert_false(h->gone);
		assert_int_equal(write(h->fd, frames + i, 1), 1);
		h2_run(h);
	}
	assert_true(h->gone);
	assert_int_equal(h->goaway, NGHTTP2_STREAM_CLOSED);
	close_all();
}

/* Also those of nghttp2, which has its memory from us. */
static void any_allocation_may_fail(void **state)
{
	CLEANUP(str_release) struct str bytes = STR_INIT;

	(void)state;
	write_connection(&bytes);
	for (int n = 0; n < 100; n++) {
		int fd;

		scene_open(&scene, NULL);
		fd = scene_connect(&scene);
		alloc_fail_after(n);
		scene_write(&scene, fd, bytes.data, bytes.len);
		alloc_fail_never();
		if (n == 99) /* enough for all of it */
			assert_int_equal(scene_counts(&scene).n_calls, 1);
		close(fd);
		scene_turn(&scene);
		assert_int_equal(scene_counts(&scene).n_calls, 0);
		assert_int_equal(scene_counts(&scene).n_connections, 0);
		scene_close(&scene);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rapid_resets_end_the_connection),
		cmocka_unit_test(frames_that_make_us_reset_count_as_resets),
		cmocka_unit_test(all_calls_may_be_taken_back_at_once),
		cmocka_unit_test(pings_are_answered_but_not_for_ever),
		cmocka_unit_test(settings_are_bounded),
		cmocka_unit_test(frames_with_nothing_in_them_are_bounded),
		cmocka_unit_test(too_much_metadata_is_refused),
		cmocka_unit_test(a_bomb_of_headers_ends_the_connection),
		cmocka_unit_test(messages_under_way_are_bounded),
		cmocka_unit_test(who_never_reads_is_left),
		cmocka_unit_test(all_slow_readers_together_are_bounded),
		cmocka_unit_test(open_calls_are_bounded),
		cmocka_unit_test(silence_is_answered_by_a_question),
		cmocka_unit_test(
			headers_on_a_stream_that_is_over_end_the_connection),
		cmocka_unit_test(
			data_on_a_stream_that_is_over_ends_the_connection),
		cmocka_unit_test(data_on_a_stream_that_we_ended_is_ignored),
		cmocka_unit_test(
			data_after_the_clients_own_reset_ends_the_connection),
		cmocka_unit_test(data_on_a_stream_that_was_refused_is_ignored),
		cmocka_unit_test(data_is_found_however_the_bytes_come),
		cmocka_unit_test(data_is_found_after_turns_that_ended),
		cmocka_unit_test(
			a_number_that_was_passed_over_ends_the_connection),
		cmocka_unit_test(trailers_on_a_stream_that_we_reset_are_ignored),
		cmocka_unit_test(any_allocation_may_fail),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
