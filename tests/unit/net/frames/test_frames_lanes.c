/* test_frames_lanes.c - many connections on one socket. */
#include <string.h>
#include <unistd.h>

#include "alloc_fail.h"
#include "net/frames/frames.h"
#include "scene.h"

enum { UNARY = 1, WAIT, BIDI, MANY, COLLECT, WHO, FAIL, COUNTS, SLOW };

static struct scene scene;
static int fd;

static int setup(void **state)
{
	(void)state;
	scene_open(&scene, NULL);
	fd = scene_connect(&scene);
	scene_write(&scene, fd, FRAMES_PREFACE, FRAMES_PREFACE_LEN);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	close(fd);
	scene_turn(&scene);
	assert_int_equal(scene_counts(&scene).n_lanes, 0);
	assert_int_equal(scene_counts(&scene).n_calls, 0);
	scene_close(&scene);
	return 0;
}

static void send_frame(uint16_t method, uint32_t call, const char *text,
		       size_t len)
{
	const struct frame f = { .len = (uint32_t)len,
				 .method = method,
				 .call = call };
	uint8_t head[FRAME_HEADER_LEN];

	frame_pack(&f, head);
	scene_write(&scene, fd, head, sizeof(head));
	scene_write(&scene, fd, text, len);
}

static void call(uint16_t method, uint32_t number, const char *text)
{
	send_frame(method, number, text, strlen(text));
}

static void lane(uint32_t number)
{
	send_frame(FRAME_LANE, number, NULL, 0);
}

static void end_lane(uint32_t number)
{
	send_frame(FRAME_LANE_END, number, NULL, 0);
}

static void assert_reply(uint32_t number, const char *text)
{
	uint8_t head[FRAME_HEADER_LEN];
	char data[1000] = { 0 };
	struct frame f;

	assert_int_equal(scene_read(&scene, fd, head, sizeof(head)),
			 sizeof(head));
	frame_unpack(head, &f);
	assert_true(f.len < sizeof(data));
	assert_int_equal(scene_read(&scene, fd, data, f.len), f.len);
	assert_int_equal(f.call, number);
	assert_int_equal(f.number, 0);
	assert_string_equal(data, text);
}

static void assert_ended(void)
{
	char byte;

	assert_int_equal(scene_read(&scene, fd, &byte, 1), -1);
	assert_int_equal(scene_counts(&scene).n_connections, 0);
	assert_int_equal(scene_counts(&scene).n_lanes, 0);
}

static uint64_t conn_of_waiting(void)
{
	return rpc_call_conn(scene_waiting(&scene));
}

/* ---- what a lane is ---- */

static void each_lane_is_a_connection_to_the_handler(void **state)
{
	uint64_t own, one, two;

	(void)state;
	call(WAIT, 1, "");
	own = conn_of_waiting();
	lane(1);
	call(WAIT, 2, "");
	one = conn_of_waiting();
	lane(2);
	call(WAIT, 3, "");
	two = conn_of_waiting();
	assert_true(own != one && one != two && own != two);
	lane(1);
	call(WAIT, 4, "");
	assert_true(conn_of_waiting() == one);
	lane(0);
	call(WAIT, 5, "");
	assert_true(conn_of_waiting() == own);
	assert_int_equal(scene_counts(&scene).n_lanes, 2);
	assert_int_equal(scene_counts(&scene).n_connections, 1);
}

static void replies_of_all_lanes_come_on_the_one_socket(void **state)
{
	(void)state;
	for (uint32_t i = 1; i <= 20; i++) {
		lane(i);
		call(UNARY, 100 + i, "x");
	}
	for (uint32_t i = 1; i <= 20; i++)
		assert_reply(100 + i, "x");
}

static void a_hello_is_of_its_lane(void **state)
{
	(void)state;
	lane(1);
	send_frame(FRAME_HELLO, 0, "one\0a", 5);
	lane(2);
	send_frame(FRAME_HELLO, 0, "two\0b", 5);
	call(WHO, 1, "");
	assert_reply(1, "Bearer two\nb");
	lane(1);
	call(WHO, 2, "");
	assert_reply(2, "Bearer one\na");
	lane(0);
	call(WHO, 3, "");
	assert_reply(3, "-\n-");
}

static void a_cancel_finds_the_call_of_its_lane(void **state)
{
	(void)state;
	lane(1);
	call(WAIT, 1, "");
	lane(2);
	send_frame(FRAME_CANCEL, 1, NULL, 0);
	assert_int_equal(scene.echo.cancelled, 0);
	lane(1);
	send_frame(FRAME_CANCEL, 1, NULL, 0);
	assert_int_equal(scene.echo.cancelled, 1);
}

/* ---- ends ---- */

static void the_end_of_a_lane_cancels_its_calls_alone(void **state)
{
	(void)state;
	lane(1);
	call(WAIT, 1, "");
	call(WAIT, 2, "");
	lane(2);
	call(WAIT, 3, "");
	end_lane(1);
	assert_int_equal(scene.echo.cancelled, 2);
	assert_int_equal(scene.echo.disconnected, 1);
	assert_int_equal(scene_counts(&scene).n_lanes, 1);
	call(UNARY, 4, "goes on");
	assert_reply(4, "goes on");
}

static void a_number_that_is_used_again_is_another_connection(void **state)
{
	uint64_t first;

	(void)state;
	lane(1);
	call(WAIT, 1, "");
	first = conn_of_waiting();
	end_lane(1);
	lane(1);
	call(WAIT, 1, "");
	assert_true(conn_of_waiting() != first);
	assert_int_equal(scene.echo.disconnected, 1);
}

/* What comes then is the carrier's own. */
static void the_end_of_the_lane_that_speaks_is_fine(void **state)
{
	(void)state;
	lane(7);
	end_lane(7);
	end_lane(7);
	end_lane(0);
	end_lane(UINT32_MAX);
	call(UNARY, 1, "x");
	assert_reply(1, "x");
	assert_int_equal(scene.echo.disconnected, 1);
}

static void the_end_of_the_socket_ends_all_lanes(void **state)
{
	(void)state;
	for (uint32_t i = 1; i <= 8; i++) {
		lane(i);
		call(WAIT, i, "");
	}
	close(fd);
	scene_turn(&scene);
	assert_int_equal(scene.echo.cancelled, 8);
	assert_int_equal(scene.echo.disconnected, 9);
	assert_int_equal(scene_counts(&scene).n_connections, 0);
	fd = scene_connect(&scene);
}

static void a_server_that_hangs_up_ends_all_lanes(void **state)
{
	(void)state;
	lane(1);
	call(WAIT, 1, "");
	rpc_server_hang_up(scene.echo.server);
	scene_turn(&scene);
	assert_int_equal(scene.echo.cancelled, 1);
	assert_ended();
}

static void a_server_that_is_freed_frees_lanes(void **state)
{
	(void)state;
	for (uint32_t i = 1; i <= 3; i++) {
		lane(i);
		call(WAIT, i, "");
	}
	scene_close(&scene);
	assert_int_equal(scene.echo.cancelled, 3);
	scene_open(&scene, NULL);
}

static void draining_waits_for_calls_of_lanes(void **state)
{
	(void)state;
	lane(1);
	call(WAIT, 1, "");
	rpc_server_drain(scene.echo.server);
	scene_turn(&scene);
	assert_false(rpc_server_drained(scene.echo.server));
	assert_int_equal(scene_counts(&scene).n_lanes, 1);
	rpc_call_end(scene_waiting(&scene), 0, NULL, NULL, 0);
	scene_turn(&scene);
	assert_true(rpc_server_drained(scene.echo.server));
	assert_int_equal(scene_counts(&scene).n_connections, 0);
}

/* ---- bounds ---- */

static void a_lane_beyond_the_last_is_an_error(void **state)
{
	(void)state;
	lane(FRAMES_MAX_LANES);
	call(UNARY, 1, "the last");
	assert_reply(1, "the last");
	lane(FRAMES_MAX_LANES + 1);
	assert_ended();
}

static void lanes_may_come_and_go_but_not_for_ever(void **state)
{
	const struct rpc_limits limits = { .max_resets = 10 };

	(void)state;
	close(fd);
	scene_close(&scene);
	scene_open(&scene, &limits);
	fd = scene_connect(&scene);
	scene_write(&scene, fd, FRAMES_PREFACE, FRAMES_PREFACE_LEN);
	for (int i = 0; i < 30 && scene_counts(&scene).n_connections; i++) {
		lane(1);
		end_lane(1);
	}
	assert_ended();
}

/* Others on the socket are not to blame. */
static void a_stranger_on_a_lane_is_refused_and_not_cut_off(void **state)
{
	uint8_t head[FRAME_HEADER_LEN];
	char sentence[1000];
	struct frame f;

	(void)state;
	scene.echo.token = "Bearer t0ken";
	lane(1);
	send_frame(FRAME_HELLO, 0, "t0ken", 5);
	lane(2);
	for (uint32_t i = 0; i <= RPC_STRANGER_CALLS; i++)
		call(WAIT, i, "");
	assert_int_equal(scene_read(&scene, fd, head, sizeof(head)),
			 sizeof(head));
	frame_unpack(head, &f);
	assert_int_equal(f.call, RPC_STRANGER_CALLS);
	assert_int_equal(f.number, 8);
	assert_int_equal(scene_read(&scene, fd, sentence, f.len), f.len);
	lane(1);
	call(UNARY, RPC_STRANGER_CALLS + 1, "goes on");
	assert_reply(RPC_STRANGER_CALLS + 1, "goes on");
}

/* ---- bounds ---- */

static int stranger(uint32_t n_lanes)
{
	int other = scene_connect(&scene);
	int own = fd;

	fd = other;
	scene_write(&scene, fd, FRAMES_PREFACE, FRAMES_PREFACE_LEN);
	for (uint32_t i = 1; i <= n_lanes; i++)
		lane(i);
	fd = own;
	return other;
}

static void a_stranger_has_few_lanes(void **state)
{
	(void)state;
	scene.echo.token = "Bearer t0ken";
	close(fd);
	fd = stranger(RPC_STRANGER_LANES);
	scene_turn(&scene);
	assert_int_equal(scene_counts(&scene).n_lanes, RPC_STRANGER_LANES);
	lane(RPC_STRANGER_LANES + 1);
	assert_ended();
}

static void who_shows_a_token_has_many(void **state)
{
	(void)state;
	scene.echo.token = "Bearer t0ken";
	close(fd);
	fd = stranger(0);
	lane(1);
	send_frame(FRAME_HELLO, 0, "t0ken", 5);
	for (uint32_t i = 2; i <= FRAMES_MAX_LANES; i++)
		lane(i);
	call(UNARY, 1, "here");
	assert_int_equal(scene_counts(&scene).n_lanes, FRAMES_MAX_LANES);
}

/* However many connections strangers make, the lanes of all are bounded, and an agent gets
 * through. */
static void strangers_have_few_lanes_together(void **state)
{
	enum { N = RPC_STRANGERS_LANES / RPC_STRANGER_LANES + 4 };
	int others[N];

	(void)state;
	scene.echo.token = "Bearer t0ken";
	for (int i = 0; i < N; i++)
		others[i] = stranger(RPC_STRANGER_LANES);
	scene_turn(&scene);
	assert_int_equal(scene_counts(&scene).n_lanes, RPC_STRANGERS_LANES);
	close(fd);
	fd = stranger(0);
	lane(1);
	send_frame(FRAME_HELLO, 0, "wr0ng", 5);
	lane(2);
	send_frame(FRAME_HELLO, 0, "t0ken", 5);
	for (uint32_t i = 3; i <= 100; i++)
		lane(i);
	lane(2);
	call(UNARY, 7, "here");
	assert_reply(7, "here");
	for (int i = 0; i < N; i++)
		close(others[i]);
	scene_turn(&scene);
	assert_int_equal(scene_counts(&scene).n_lanes, 100);
}

static void any_allocation_may_fail(void **state)
{
	(void)state;
	for (int i = 0; i < 60; i++) {
		(void)setup(NULL);
		alloc_fail_after(i);
		lane(1);
		call(WAIT, 1, "");
		lane(20);
		send_frame(FRAME_HELLO, 0, "t\0j", 3);
		call(WAIT, 2, "");
		end_lane(1);
		alloc_fail_never();
		(void)teardown(NULL);
	}
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(each_lane_is_a_connection_to_the_handler),
		T(replies_of_all_lanes_come_on_the_one_socket),
		T(a_hello_is_of_its_lane),
		T(a_cancel_finds_the_call_of_its_lane),
		T(the_end_of_a_lane_cancels_its_calls_alone),
		T(a_number_that_is_used_again_is_another_connection),
		T(the_end_of_the_lane_that_speaks_is_fine),
		T(the_end_of_the_socket_ends_all_lanes),
		T(a_server_that_hangs_up_ends_all_lanes),
		T(a_server_that_is_freed_frees_lanes),
		T(draining_waits_for_calls_of_lanes),
		T(a_lane_beyond_the_last_is_an_error),
		T(lanes_may_come_and_go_but_not_for_ever),
		T(a_stranger_on_a_lane_is_refused_and_not_cut_off),
		T(a_stranger_has_few_lanes),
		T(who_shows_a_token_has_many),
		T(strangers_have_few_lanes_together),
		cmocka_unit_test(any_allocation_may_fail),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
