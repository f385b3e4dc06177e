/* test_rpc_conn.c - connections before their wire is known, and too many of them. */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "net/frames/frames.h"
#include "scene.h"

static struct scene scene;

static int setup(void **state)
{
	(void)state;
	scene_open(&scene, NULL);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	scene_close(&scene);
	return 0;
}

static void the_first_bytes_may_come_one_by_one(void **state)
{
	static const char bytes[] = FRAMES_PREFACE "\1\0\0\0\1\0\0\0\1\0\0\0"
						   "\0\0\0\0x";
	int fd = scene_connect(&scene);
	char reply[100];

	(void)state;
	for (size_t i = 0; i < sizeof(bytes) - 1; i++)
		scene_write(&scene, fd, bytes + i, 1);
	assert_int_equal(scene_read(&scene, fd, reply, sizeof(reply)), 17);
	close(fd);
}

static void what_is_neither_wire_is_left(void **state)
{
	static const char *const noise[] = { "x", "ROARFR2\n", "PRI * HX",
					     "\x16\x03\x01", "roarfr1\n" };
	char byte;

	(void)state;
	for (size_t i = 0; i < sizeof(noise) / sizeof(noise[0]); i++) {
		int fd = scene_connect(&scene);

		scene_write(&scene, fd, noise[i], strlen(noise[i]));
		while (recv(fd, &byte, 1, 0) == 1)
			;
		assert_int_equal(scene_counts(&scene).n_connections, 0);
		assert_int_equal(scene_counts(&scene).protocol_errors, i + 1);
		close(fd);
	}
	assert_int_equal(scene.echo.disconnected, 0);
}

static void a_browser_gets_a_sentence(void **state)
{
	static const char get[] = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
	int fd = scene_connect(&scene);
	char reply[1000] = { 0 };

	(void)state;
	scene_write(&scene, fd, get, sizeof(get) - 1);
	assert_true(scene_read(&scene, fd, reply, sizeof(reply) - 1) > 0);
	assert_non_null(strstr(reply, "This port speaks gRPC"));
	close(fd);
}

static void who_says_nothing_is_left(void **state)
{
	const struct rpc_limits limits = { .idle_hello_ms = 5 };
	struct scene s;
	int fd;

	(void)state;
	scene_open(&s, &limits);
	fd = scene_connect(&s);
	scene_write(&s, fd, "ROAR", 4);
	while (scene_counts(&s).n_connections)
		assert_int_equal(loop_round(s.loop, -1), 0);
	close(fd);
	scene_close(&s);
}

/* ---- listening ---- */

static int connect_to(uint16_t port)
{
	struct sockaddr_in to = { .sin_family = AF_INET,
				  .sin_port = htons(port),
				  .sin_addr = { htonl(INADDR_LOOPBACK) } };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
	assert_int_equal(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
	return fd;
}

static void wait_for(struct scene *s, uint64_t accepted, uint64_t refused)
{
	while (scene_counts(s).accepted < accepted ||
	       scene_counts(s).refused < refused)
		assert_int_equal(loop_round(s->loop, -1), 0);
	assert_int_equal(scene_counts(s).accepted, accepted);
	assert_int_equal(scene_counts(s).refused, refused);
}

/* A call of Wait, by frames. */
static const char WAIT[] = FRAMES_PREFACE "\0\0\0\0\2\0\0\0\1\0\0\0"
					  "\0\0\0\0";

static void connections_are_bounded(void **state)
{
	const struct rpc_limits limits = { .max_connections = 2 };
	struct scene s;
	uint16_t port = 0;
	int fds[3];

	(void)state;
	scene_open(&s, &limits);
	assert_int_equal(rpc_server_listen(s.echo.server, "127.0.0.1:0", NULL,
					   &port, NULL),
			 0);
	for (int i = 0; i < 2; i++) {
		fds[i] = connect_to(port);
		wait_for(&s, (uint64_t)i + 1, 0);
		scene_write(&s, fds[i], WAIT, sizeof(WAIT) - 1);
		while (scene_counts(&s).n_calls <= (uint32_t)i)
			assert_int_equal(loop_round(s.loop, -1), 0);
	}
	fds[2] = connect_to(port);
	wait_for(&s, 2, 1);
	close(fds[0]);
	while (scene_counts(&s).n_connections == 2)
		assert_int_equal(loop_round(s.loop, -1), 0);
	close(fds[1]);
	close(fds[2]);
	scene_close(&s);
}

static void wait_for_calls(struct scene *s, uint32_t n)
{
	while (scene_counts(s).n_calls != n)
		assert_int_equal(loop_round(s->loop, -1), 0);
}

/* The first is known and has called, the second has called and is not known, the third
 * has said nothing; then others come. */
static void strangers_give_way_the_oldest_first(void **state)
{
	const struct rpc_limits limits = { .max_connections = 3 };
	static const char hello[] = FRAMES_PREFACE "\4\0\0\0\0\xff\0\0\0\0\0\0"
						   "\0\0\0\0good";
	struct scene s;
	int fds[5];
	char byte;

	(void)state;
	scene_open(&s, &limits);
	s.echo.token = "Bearer good";
	for (int i = 0; i < 3; i++)
		fds[i] = scene_connect(&s);
	scene_write(&s, fds[0], hello, sizeof(hello) - 1);
	scene_write(&s, fds[0], WAIT + FRAMES_PREFACE_LEN,
		    sizeof(WAIT) - 1 - FRAMES_PREFACE_LEN);
	scene_write(&s, fds[1], WAIT, sizeof(WAIT) - 1);
	wait_for_calls(&s, 2);
	fds[3] = scene_connect(&s);
	assert_int_equal(scene_read(&s, fds[1], &byte, 1), -1);
	fds[4] = scene_connect(&s);
	assert_int_equal(scene_read(&s, fds[2], &byte, 1), -1);
	assert_int_equal(scene_counts(&s).n_connections, 3);
	assert_int_equal(scene_counts(&s).refused, 2);
	assert_int_equal(scene_counts(&s).n_calls, 1);
	for (int i = 0; i < 5; i++)
		close(fds[i]);
	scene_close(&s);
}

/* The lowest descriptor that is free. */
static int next_fd(void)
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	close(fd);
	return fd;
}

static void without_descriptors_clients_are_told_at_once(void **state)
{
	struct rlimit before, low;
	uint16_t port = 0;
	int fds[5];
	char byte;

	(void)state;
	assert_int_equal(rpc_server_listen(scene.echo.server, "127.0.0.1:0",
					   NULL, &port, NULL),
			 0);
	for (int i = 0; i < 5; i++)
		fds[i] = connect_to(port);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	low = before;
	low.rlim_cur = (rlim_t)next_fd() + 2; /* room for two */
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
	wait_for(&scene, 2, 3);
	assert_int_equal(loop_round(scene.loop, 0), 0);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	assert_int_equal(recv(fds[4], &byte, 1, MSG_DONTWAIT), 0);
	assert_int_equal(recv(fds[0], &byte, 1, MSG_DONTWAIT), -1);
	assert_int_equal(errno, EAGAIN);
	for (int i = 0; i < 5; i++)
		close(fds[i]);
}

static void draining_closes_who_has_not_spoken(void **state)
{
	int fd = scene_connect(&scene);
	char byte;

	(void)state;
	rpc_server_drain(scene.echo.server);
	assert_int_equal(scene_read(&scene, fd, &byte, 1), -1);
	assert_true(rpc_server_drained(scene.echo.server));
	close(fd);
}

static void a_server_that_is_freed_cancels_everything(void **state)
{
	struct scene s;
	int fd;

	(void)state;
	scene_open(&s, NULL);
	fd = scene_connect(&s);
	scene_write(&s, fd, WAIT, sizeof(WAIT) - 1);
	assert_int_equal(scene_counts(&s).n_calls, 1);
	scene_close(&s);
	assert_int_equal(s.echo.cancelled, 1);
	assert_int_equal(s.echo.disconnected, 1);
	close(fd);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(the_first_bytes_may_come_one_by_one),
		T(what_is_neither_wire_is_left),
		T(a_browser_gets_a_sentence),
		T(who_says_nothing_is_left),
		T(connections_are_bounded),
		T(strangers_give_way_the_oldest_first),
		T(without_descriptors_clients_are_told_at_once),
		T(draining_closes_who_has_not_spoken),
		T(a_server_that_is_freed_cancels_everything),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
