/* test_grpc.c - what gRPC over HTTP/2 looks like, frame by frame. */
#include <string.h>
#include <unistd.h>

#include "h2_client.h"

static struct scene scene;
static struct h2 *h;

static int setup(void **state)
{
	(void)state;
	scene_open(&scene, NULL);
	h = h2_open(&scene, NULL, 0);
	h2_run(h);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	h2_close(h);
	scene_close(&scene);
	return 0;
}

/* The call was answered by one HEADERS frame with that status. */
static void assert_refused(int32_t id, const char *status_line)
{
	struct h2_stream *s = h2_stream(h, id);

	assert_int_equal(s->n_heads, 1);
	assert_has(s->head, ":status: 200");
	assert_has(s->head, "content-type: application/grpc");
	assert_non_null(strstr(str_cstr(&s->head), status_line));
	assert_int_equal(s->data.len, 0);
	assert_true(s->closed);
	assert_int_equal(s->error, NGHTTP2_NO_ERROR);
}

/* ---- replies ---- */

static void a_reply_is_headers_data_and_trailers(void **state)
{
	struct h2_stream *s = h2_stream(h, h2_call(h, "Unary", "hello"));

	(void)state;
	assert_has(s->head, ":status: 200");
	assert_has(s->head, "content-type: application/grpc");
	assert_str(&s->data, "\0\0\0\0\5hello");
	assert_str(&s->trailers, "grpc-status: 0\n");
	assert_true(s->closed);
	assert_int_equal(scene_counts(&scene).calls_grpc, 1);
	assert_int_equal(scene_counts(&scene).n_calls, 0);
	assert_int_equal(scene.echo.cancelled, 0);
}

/* DATA of all of them in one piece, as a client does that has much to ask. */
static void calls_that_take_long_take_turns(void **state)
{
	enum { N = 5 };
	static const uint8_t
		data[15] = { [2] = 6, [4] = 1, [13] = 1, [14] = 'x' };
	uint8_t all[N][sizeof(data)];
	int32_t ids[N];

	(void)state;
	for (int i = 0; i < N; i++) {
		ids[i] = h2_begin(h, "Slow", NULL, NULL);
		memcpy(all[i], data, sizeof(data));
		all[i][8] = (uint8_t)ids[i];
	}
	assert_int_equal(write(h->fd, all, sizeof(all)), sizeof(all));
	for (unsigned i = 1; i <= N; i++) {
		assert_int_equal(loop_round(scene.loop, 0), 0);
		assert_true(scene_counts(&scene).n_calls >= N - i);
	}
	h2_run(h);
	assert_int_equal(scene_counts(&scene).n_calls, 0);
	for (int i = 0; i < N; i++)
		assert_str(&h2_stream(h, ids[i])->data, "\0\0\0\0\1x");
}

static void a_failure_is_one_frame_with_its_sentence(void **state)
{
	int32_t id = h2_call(h, "Fail", "10 w\xc3\xb6rker 100%\n");

	(void)state;
	assert_refused(id, "grpc-status: 10\n");
	assert_has(h2_stream(h, id)->head,
		   "grpc-message: w%C3%B6rker 100%25%0A");
	assert_has(h2_stream(h, id)->head, "roar-absent: w1,w2");
}

static void a_stream_may_fail_after_messages(void **state)
{
	int32_t id = h2_call(h, "Wait", "");
	struct rpc_call *call = scene_waiting(&scene);

	(void)state;
	rpc_call_send(call, "abc", 3);
	h2_run(h);
	assert_int_equal(h2_stream(h, id)->data.len, 8);
	assert_false(h2_stream(h, id)->closed);
	rpc_call_end(call, 14, "gone", NULL, 0);
	h2_run(h);
	assert_str(&h2_stream(h, id)->trailers,
		   "grpc-status: 14\ngrpc-message: gone\n");
	assert_true(h2_stream(h, id)->closed);
}

static void small_windows_are_respected(void **state)
{
	const nghttp2_settings_entry small = {
		NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, 100
	};
	struct h2 *other = h2_open(&scene, &small, 1);

	(void)state;
	h2_run(other);

	int32_t id = h2_call(other, "Many", "3 50000");

	assert_int_equal(h2_stream(other, id)->data.len, 3 * 50005);
	assert_has(h2_stream(other, id)->trailers, "grpc-status: 0");
	h2_close(other);
}

static void limits_are_announced(void **state)
{
	(void)state;
	assert_int_equal(nghttp2_session_get_remote_settings(
				 h->session,
				 NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS),
			 10000);
	assert_int_equal(nghttp2_session_get_remote_settings(
				 h->session,
				 NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE),
			 16 << 10);
	assert_true(nghttp2_session_get_remote_window_size(h->session) >=
		    8 << 20);
}

/* ---- messages ---- */

static void a_message_may_come_in_any_pieces(void **state)
{
	static const char bytes[] = "\0\0\0\0\5hello";
	int32_t id = h2_begin(h, "Unary", NULL, NULL);

	(void)state;
	for (size_t i = 0; i < 10; i++)
		h2_data(h, id, bytes + i, 1, i == 9);
	assert_str(&h2_stream(h, id)->data, "\0\0\0\0\5hello");
}

static void the_end_may_come_alone(void **state)
{
	int32_t id = h2_begin(h, "Unary", NULL, NULL);

	(void)state;
	h2_message(h, id, "hello", 5, false);
	assert_int_equal(h2_stream(h, id)->n_heads, 0);
	h2_data(h, id, NULL, 0, true);
	assert_str(&h2_stream(h, id)->data, "\0\0\0\0\5hello");
}

static void one_frame_may_have_several_messages(void **state)
{
	static const char bytes[] = "\0\0\0\0\1a\0\0\0\0\0\0\0\0\0\2bc\0\0";
	int32_t id = h2_begin(h, "Bidi", NULL, NULL);

	(void)state;
	h2_data(h, id, bytes, 20, false);
	assert_str(&h2_stream(h, id)->data,
		   "\0\0\0\0\1a\0\0\0\0\0\0\0\0\0\2bc");
	h2_data(h, id, "\0\0\1d", 4, true);
	assert_int_equal(h2_stream(h, id)->data.len, 24);
	assert_str(&h2_stream(h, id)->trailers, "grpc-status: 0\n");
}

static void a_stream_cut_in_a_message_is_an_error(void **state)
{
	int32_t id = h2_begin(h, "Bidi", NULL, NULL);

	(void)state;
	h2_data(h, id, "\0\0\0\0\5hel", 8, true);
	assert_refused(id, "grpc-status: 13\n");
	assert_int_equal(scene.echo.cancelled, 1);
}

static void two_messages_are_too_many_for_unary(void **state)
{
	int32_t id = h2_begin(h, "Unary", NULL, NULL);

	(void)state;
	h2_data(h, id, "\0\0\0\0\1a\0\0\0\0\1b", 12, true);
	assert_refused(id, "grpc-status: 12\n");
	id = h2_begin(h, "Unary", NULL, NULL);
	h2_message(h, id, "a", 1, false);
	h2_message(h, id, "b", 1, false);
	assert_refused(id, "grpc-status: 12\n");
}

static void no_message_is_too_few_for_unary(void **state)
{
	const struct h2_field fields[] = {
		{ ":method", "POST" },
		{ ":scheme", "http" },
		{ ":authority", "here" },
		{ ":path", "/echo.Echo/Unary" },
		{ "te", "trailers" },
		{ "content-type", "application/grpc" },
		{ NULL, NULL },
	};
	int32_t id = h2_begin(h, "Unary", NULL, NULL);

	(void)state;
	h2_data(h, id, NULL, 0, true);
	assert_refused(id, "grpc-status: 12\n");
	id = h2_begin(h, "Unary", NULL, NULL);
	h2_data(h, id, "\0\0", 2, true);
	assert_refused(id, "grpc-status: 12\n");
	id = h2_headers(h, fields, true);
	h2_run(h);
	assert_refused(id, "grpc-status: 12\n");
}

static void compression_is_refused_and_said_so(void **state)
{
	int32_t id = h2_begin(h, "Unary", "grpc-encoding", "gzip");

	(void)state;
	h2_data(h, id, "\1\0\0\0\1a", 6, true);
	assert_refused(id, "grpc-status: 12\n");
	assert_has(h2_stream(h, id)->head, "grpc-accept-encoding: identity");
	id = h2_begin(h, "Unary", "grpc-encoding", "gzip");
	h2_message(h, id, "plain", 5, true);
	assert_str(&h2_stream(h, id)->data, "\0\0\0\0\5plain");
}

static void a_malformed_prefix_is_an_error(void **state)
{
	int32_t id = h2_begin(h, "Unary", NULL, NULL);

	(void)state;
	h2_data(h, id, "\7\0\0\0\1a", 6, true);
	assert_refused(id, "grpc-status: 13\n");
}

static void a_message_too_large_is_refused_before_it_comes(void **state)
{
	int32_t id = h2_begin(h, "Unary", NULL, NULL);

	(void)state;
	h2_data(h, id, "\0\x7f\xff\xff\xff", 5, false);
	assert_refused(id, "grpc-status: 8\n");
	id = h2_begin(h, "Bidi", NULL, NULL);
	h2_data(h, id, "\0\4\0\0", 4, false);
	h2_data(h, id, "\1", 1, false);
	assert_refused(id, "grpc-status: 8\n");
}

/* ---- headers ---- */

static int32_t with_headers(const char *method, const char *path,
			    const char *te, const char *type)
{
	const struct h2_field fields[] = {
		{ ":method", method },
		{ ":scheme", "http" },
		{ ":authority", "here" },
		{ ":path", path },
		{ type ? "content-type" : "x", type ? type : "y" },
		{ te ? "te" : NULL, te },
		{ NULL, NULL },
	};
	int32_t id = h2_headers(h, fields, false);

	h2_message(h, id, "a", 1, true);
	return id;
}

static void who_does_not_speak_grpc_is_answered_in_http(void **state)
{
	static const char path[] = "/echo.Echo/Unary";
	int32_t id;

	(void)state;
	id = with_headers("POST", path, "trailers", "application/json");
	assert_has(h2_stream(h, id)->head, ":status: 415");
	id = with_headers("POST", path, "trailers", NULL);
	assert_has(h2_stream(h, id)->head, ":status: 415");
	id = with_headers("GET", path, "trailers", "application/grpc");
	assert_has(h2_stream(h, id)->head, ":status: 405");
	id = with_headers("POST", path, "trailers", "application/grpc+proto");
	assert_str(&h2_stream(h, id)->data, "\0\0\0\0\1a");
}

static void without_te_there_may_be_a_proxy(void **state)
{
	int32_t id = with_headers("POST", "/echo.Echo/Unary", NULL,
				  "application/grpc");

	(void)state;
	assert_refused(id, "grpc-status: 13\n");
}

static void an_unknown_path_is_unimplemented(void **state)
{
	(void)state;
	assert_refused(with_headers("POST", "/echo.Echo/No", "trailers",
				    "application/grpc"),
		       "grpc-status: 12\n");
	assert_refused(with_headers("POST", "/", "trailers", "application/grpc"),
		       "grpc-status: 12\n");
}

static void a_call_can_be_refused_by_its_metadata(void **state)
{
	int32_t id = h2_begin(h, "Who", "authorization", "Bearer bad");

	(void)state;
	h2_run(h);
	assert_refused(id, "grpc-status: 16\n");
	id = h2_begin(h, "Who", "roar-job", "j1");
	h2_message(h, id, "", 0, true);
	assert_str(&h2_stream(h, id)->data, "\0\0\0\0\4-\nj1");
}

/* ---- deadlines and cancellation ---- */

static void the_deadline_ends_a_call(void **state)
{
	int32_t id = h2_begin(h, "Wait", "grpc-timeout", "20m");

	(void)state;
	h2_message(h, id, "", 0, true);
	assert_true(rpc_call_deadline_ms(scene_waiting(&scene)) <=
		    loop_now_ms(scene.loop) + 20);
	while (!h2_stream(h, id)->closed) {
		assert_int_equal(loop_round(scene.loop, -1), 0);
		h2_run(h);
	}
	assert_refused(id, "grpc-status: 4\n");
	assert_int_equal(scene.echo.cancelled, 1);
	assert_null(rpc_call_find(scene.echo.server, scene.echo.waiting));
}

static void a_malformed_timeout_is_refused(void **state)
{
	int32_t id = h2_begin(h, "Unary", "grpc-timeout", "soon");

	(void)state;
	h2_run(h);
	assert_refused(id, "grpc-status: 13\n");
}

static void a_reset_cancels_the_call(void **state)
{
	int32_t id = h2_call(h, "Wait", "");

	(void)state;
	assert_int_equal(scene_counts(&scene).n_calls, 1);
	assert_int_equal(nghttp2_submit_rst_stream(h->session, 0, id,
						   NGHTTP2_CANCEL),
			 0);
	h2_run(h);
	assert_int_equal(scene.echo.cancelled, 1);
	assert_int_equal(scene_counts(&scene).n_calls, 0);
	assert_null(rpc_call_find(scene.echo.server, scene.echo.waiting));
	assert_int_equal(h2_stream(h, h2_call(h, "Unary", "x"))->data.len, 6);
}

static void ids_are_never_used_again(void **state)
{
	uint64_t before = 0;

	(void)state;
	for (int i = 0; i < 50; i++) {
		(void)h2_call(h, "Wait", "");
		assert_true(scene.echo.waiting != before);
		before = scene.echo.waiting;
		rpc_call_end(scene_waiting(&scene), 0, NULL, NULL, 0);
		h2_run(h);
		assert_null(rpc_call_find(scene.echo.server, before));
	}
	assert_null(rpc_call_find(scene.echo.server, 0));
	assert_null(rpc_call_find(scene.echo.server, UINT64_MAX));
}

static void the_end_of_a_connection_cancels_its_calls(void **state)
{
	struct h2 *other = h2_open(&scene, NULL, 0);

	(void)state;
	(void)h2_call(other, "Wait", "");
	(void)h2_call(other, "Wait", "");
	h2_close(other);
	scene_turn(&scene);
	assert_int_equal(scene.echo.cancelled, 2);
	assert_int_equal(scene.echo.disconnected, 1);
	assert_int_equal(scene_counts(&scene).n_connections, 1);
}

/* ---- flow ---- */

static void who_does_not_read_may_not_send_for_ever(void **state)
{
	const nghttp2_settings_entry none = {
		NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, 0
	};
	struct h2 *other = h2_open(&scene, &none, 1);
	static uint8_t message[5 + 60000] = { 0, 0, 0, 60000 >> 8,
					      60000 & 255 };

	(void)state;
	h2_run(other);

	int32_t id = h2_begin(other, "Bidi", NULL, NULL);

	h2_run(other);
	while (nghttp2_session_get_stream_remote_window_size(
		       other->session, id) >= (int32_t)sizeof(message)) {
		h2_data(other, id, message, sizeof(message), false);
		assert_true(scene_counts(&scene).unsent_bytes < 3 << 20);
	}
	/* When it reads again, it may send again. */
	assert_int_equal(nghttp2_session_set_local_window_size(other->session,
							       0, id, 1 << 30),
			 0);
	h2_run(other);
	assert_int_equal(scene_counts(&scene).unsent_bytes, 0);
	assert_true(nghttp2_session_get_stream_remote_window_size(
			    other->session, id) > 500000);
	h2_close(other);
}

/* ---- draining ---- */

static void draining_takes_two_steps(void **state)
{
	int32_t waiting = h2_call(h, "Wait", "");

	(void)state;
	rpc_server_drain(scene.echo.server);
	assert_false(rpc_server_drained(scene.echo.server));
	scene_turn(&scene);
	h2_run(h);
	assert_int_equal(h->n_goaways, 2);
	assert_int_equal(h->goaway, NGHTTP2_NO_ERROR);
	assert_int_equal(h->goaway_last, waiting);
	assert_false(h->gone);
	rpc_call_send(scene_waiting(&scene), "done", 4);
	rpc_call_end(scene_waiting(&scene), 0, NULL, NULL, 0);
	h2_run(h);
	assert_int_equal(h2_stream(h, waiting)->data.len, 9);
	assert_true(h->gone);
	assert_true(rpc_server_drained(scene.echo.server));
}

static void a_call_that_was_on_its_way_is_still_taken(void **state)
{
	int32_t id;

	(void)state;
	rpc_server_drain(scene.echo.server);
	id = h2_call(h, "Unary", "x"); /* sent before GOAWAY is read */
	assert_int_equal(h2_stream(h, id)->data.len, 6);
	assert_true(h->gone);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_reply_is_headers_data_and_trailers),
		T(a_failure_is_one_frame_with_its_sentence),
		T(calls_that_take_long_take_turns),
		T(a_stream_may_fail_after_messages),
		T(small_windows_are_respected),
		T(limits_are_announced),
		T(a_message_may_come_in_any_pieces),
		T(the_end_may_come_alone),
		T(one_frame_may_have_several_messages),
		T(a_stream_cut_in_a_message_is_an_error),
		T(two_messages_are_too_many_for_unary),
		T(no_message_is_too_few_for_unary),
		T(compression_is_refused_and_said_so),
		T(a_malformed_prefix_is_an_error),
		T(a_message_too_large_is_refused_before_it_comes),
		T(who_does_not_speak_grpc_is_answered_in_http),
		T(without_te_there_may_be_a_proxy),
		T(an_unknown_path_is_unimplemented),
		T(a_call_can_be_refused_by_its_metadata),
		T(the_deadline_ends_a_call),
		T(a_malformed_timeout_is_refused),
		T(a_reset_cancels_the_call),
		T(ids_are_never_used_again),
		T(the_end_of_a_connection_cancels_its_calls),
		T(who_does_not_read_may_not_send_for_ever),
		T(draining_takes_two_steps),
		T(a_call_that_was_on_its_way_is_still_taken),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
