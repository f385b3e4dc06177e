/* test_ebpf_session.c - runs beside each other, full rings.
 *
 * Needs the privilege to load programs; without it the test is skipped and says
 * why. */
#include "trace/ebpf/session.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "ebpf_child.h"
#include "trace/ebpf/load.h"

static struct ebpf *programs;

static void open_often(const char *path)
{
	for (int i = 0; i < 50000; i++)
		open_it(path);
}

/* Long names fill a ring soonest. */
enum { N_MADE = 12000, N_TOLD = 2 * N_MADE + 1 /* open, unlink; the exit */ };

static void make_many(const char *dir)
{
	char path[320];

	for (int i = 0; i < N_MADE; i++) {
		(void)snprintf(path, sizeof(path), "%s/%0240d", dir, i);
		close(open(path, O_WRONLY | O_CREAT, 0600));
		(void)unlink(path);
	}
}

/* Files without a name are not told of, but what is written to them is. */
static void write_and_make_many(const char *dir)
{
	for (int i = 0; i < 16; i++)
		(void)!write(open(dir, O_WRONLY | O_TMPFILE, 0600), "x", 1);
	make_many(dir);
}

static void fork_and_open(const char *path)
{
	pid_t pid = fork();

	if (pid == 0) {
		open_it(path);
		end_child();
	}
	(void)waitpid(pid, NULL, 0);
}

static struct session *session_of(const struct child *c)
{
	struct session *s = NULL;

	assert_int_equal(session_open(ebpf_maps(programs), &s), 0);
	assert_int_equal(session_add(s, c->pid), 0);
	return s;
}

static int set_up(void **state)
{
	struct roar_error err = { 0 };

	(void)state;
	if (ebpf_open(EBPF_FRESH, &programs, &err) == 0 &&
	    ebpf_watch(programs) == 0)
		return 0;
	printf("skipped: %s\n", err.text);
	exit(77);
}

static int tear_down(void **state)
{
	(void)state;
	ebpf_close(programs);
	return 0;
}

static void a_member_and_its_children_are_seen(void **state)
{
	struct child c = start(fork_and_open, "/etc/passwd");
	CLEANUP(session_closep) struct session *s = session_of(&c);
	struct session_state now;
	struct seen seen = { 0 };

	(void)state;
	go(&c);
	session_drain(s, take, &seen);
	assert_int_equal(seen.n_fork, 1);
	assert_int_equal(seen.n_exit, 2);
	assert_int_equal(seen.n_open, 1);
	assert_string_equal(seen.last, "passwd");
	assert_int_equal(session_ask(s, &now), 0);
	assert_int_equal(now.n_live, 0);
	assert_int_equal(now.lost, 0);
}

static void *wait_for_the_end(void *arg)
{
	for (;;)
		(void)pause();
	return arg;
}

static void end_with_threads(const char *arg)
{
	pthread_t thread;

	(void)arg;
	for (int i = 0; i < 16; i++)
		(void)pthread_create(&thread, NULL, wait_for_the_end, NULL);
}

static void *end_later(void *arg)
{
	char byte;

	(void)!read(*(int *)arg, &byte, 1);
	(void)usleep(10000);
	end_child();
}

/* A child with two threads, of which the second ends last. */
static struct child start_two_threads(void)
{
	struct child c;
	int gate[2], ready[2];
	pthread_t thread;
	char byte;

	assert_int_equal(pipe2(gate, O_CLOEXEC), 0);
	assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
	c.pid = fork();
	assert_true(c.pid >= 0);
	if (c.pid == 0) {
		close(gate[1]);
		(void)pthread_create(&thread, NULL, end_later, &gate[0]);
		(void)!write(ready[1], "", 1);
		(void)!read(gate[0], &byte, 1);
		(void)syscall(SYS_exit, 0);
	}
	close(gate[0]);
	close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	c.gate = gate[1];
	return c;
}

static void a_thread_from_before_may_be_the_last(void **state)
{
	struct child c = start_two_threads();
	CLEANUP(session_closep) struct session *s = session_of(&c);
	struct session_state now;
	struct seen seen = { 0 };

	(void)state;
	go(&c);
	session_drain(s, take, &seen);
	assert_int_equal(seen.n_exit, 1);
	assert_int_equal(session_ask(s, &now), 0);
	assert_int_equal(now.n_live, 0);
}

/* Threads end side by side, and one of them is the last. */
static void a_process_ends_once(void **state)
{
	(void)state;
	for (int i = 0; i < 40; i++) {
		struct child c = start(end_with_threads, NULL);
		CLEANUP(session_closep) struct session *s = session_of(&c);
		struct session_state now;
		struct seen seen = { 0 };

		go(&c);
		session_drain(s, take, &seen);
		assert_int_equal(session_ask(s, &now), 0);
		assert_int_equal(seen.n_exit, 1);
		assert_int_equal(now.n_live, 0);
	}
}

static void strangers_are_not_seen(void **state)
{
	struct child c = start(open_it, "/etc/passwd");
	struct child other = start(open_it, "/etc/group");
	CLEANUP(session_closep) struct session *s = session_of(&c);
	struct seen seen = { 0 };

	(void)state;
	go(&other);
	go(&c);
	session_drain(s, take, &seen);
	assert_int_equal(seen.n_open, 1);
	assert_string_equal(seen.last, "passwd");
}

/* One ring was made with the programs: a second run must be told so. */
static void a_ring_is_lent_to_one_run_at_a_time(void **state)
{
	struct session *s = NULL, *second = NULL;

	(void)state;
	assert_int_equal(session_open(ebpf_maps(programs), &s), 0);
	assert_int_equal(session_open(ebpf_maps(programs), &second), -EBUSY);
	session_close(s);
	assert_int_equal(session_open(ebpf_maps(programs), &second), 0);
	session_close(second);
}

static void former_members_do_not_speak_to_the_next_run(void **state)
{
	struct child c = start(open_it, "/etc/passwd");
	struct child next = start(open_it, "/etc/group");
	struct session *s = session_of(&c);
	struct seen seen = { 0 };

	(void)state;
	session_close(s);
	s = session_of(&next);
	go(&c);
	go(&next);
	session_drain(s, take, &seen);
	session_close(s);
	assert_int_equal(seen.n_open, 1);
	assert_string_equal(seen.last, "group");
}

static void repetitions_do_not_fill_the_ring(void **state)
{
	struct child c = start(open_often, "/etc/passwd");
	CLEANUP(session_closep) struct session *s = session_of(&c);
	struct session_state now;
	struct seen seen = { 0 };

	(void)state;
	go(&c);
	assert_int_equal(session_ask(s, &now), 0);
	assert_int_equal(now.lost, 0);
	session_drain(s, take, &seen);
	assert_true(seen.n_open < 50000);
	assert_int_equal(seen.n_exit, 1);
}

static void what_finds_no_room_is_counted(void **state)
{
	char dir[] = "/tmp/roar-test-ring-XXXXXX";
	struct child c = start(make_many, mkdtemp(dir));
	CLEANUP(session_closep) struct session *s = session_of(&c);
	struct session_state now;
	struct seen seen = { 0 };
	size_t n;

	(void)state;
	go(&c);
	n = session_drain(s, take, &seen);
	assert_int_equal(session_ask(s, &now), 0);
	assert_int_equal(n + now.lost, N_TOLD);
	assert_true(now.lost > 0);
	assert_int_equal(rmdir(dir), 0);
}

/* The record is as complete without them. */
static void sums_that_find_no_room_are_counted_apart(void **state)
{
	char dir[] = "/tmp/roar-test-ring-XXXXXX";
	struct child c = start(write_and_make_many, mkdtemp(dir));
	CLEANUP(session_closep) struct session *s = session_of(&c);
	struct session_state now;
	struct seen seen = { 0 };
	size_t n;

	(void)state;
	go(&c);
	n = session_drain(s, take, &seen);
	assert_int_equal(session_ask(s, &now), 0);
	assert_int_equal(n - seen.n_sums + now.lost, N_TOLD);
	assert_int_equal(now.sums_lost,
			 ebpf_layer(programs) == EBPF_TRACEPOINT);
	assert_int_equal(rmdir(dir), 0);
}

static void the_layer_is_what_the_kernel_allows(void **state)
{
	int error = ebpf_trampoline_error(programs);

	(void)state;
	assert_true(error <= 0);
	assert_int_equal(ebpf_layer(programs),
			 error ? EBPF_TRACEPOINT : EBPF_TRAMPOLINE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_member_and_its_children_are_seen),
		cmocka_unit_test(a_process_ends_once),
		cmocka_unit_test(a_thread_from_before_may_be_the_last),
		cmocka_unit_test(strangers_are_not_seen),
		cmocka_unit_test(a_ring_is_lent_to_one_run_at_a_time),
		cmocka_unit_test(former_members_do_not_speak_to_the_next_run),
		cmocka_unit_test(repetitions_do_not_fill_the_ring),
		cmocka_unit_test(what_finds_no_room_is_counted),
		cmocka_unit_test(sums_that_find_no_room_are_counted_apart),
		cmocka_unit_test(the_layer_is_what_the_kernel_allows),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
