/* test_loop.c - rounds of a loop over pipes. */
#include "net/loop.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "test.h"

/* What was called in which order, by the letters of those who were. */
static char calls[64];
static struct loop *loop;

static void note(char c)
{
	size_t n = strlen(calls);

	if (n + 1 < sizeof(calls))
		calls[n] = c;
}

static int setup(void **state)
{
	(void)state;
	memset(calls, 0, sizeof(calls));
	return loop_new(&loop);
}

static int teardown(void **state)
{
	(void)state;
	loop_free(loop);
	return 0;
}

struct end {
	struct loop_fd fd;
	char letter;
	struct end *victim; /* removed when this one is called */
	struct loop_later *asks; /* for the end of the round */
};

static void on_ready(struct loop_fd *f, uint32_t events)
{
	struct end *e = (struct end *)f;
	char byte;

	assert_true(events & EPOLLIN);
	assert_int_equal(read(f->fd, &byte, 1), 1);
	note(e->letter);
	if (e->asks)
		loop_later(loop, e->asks);
	if (e->victim) {
		loop_remove(loop, &e->victim->fd);
		e->victim = NULL;
	}
}

/* A pipe with one byte in it, whose reading end is watched. */
static void watch(struct end *e, char letter, int ret_fds[2])
{
	assert_int_equal(pipe2(ret_fds, O_CLOEXEC | O_NONBLOCK), 0);
	*e = (struct end){ .fd = { .fd = ret_fds[0], .ready = on_ready },
			   .letter = letter };
	assert_int_equal(loop_add(loop, &e->fd, EPOLLIN), 0);
	assert_int_equal(write(ret_fds[1], "x", 1), 1);
}

static void close_both(const int fds[2])
{
	close(fds[0]);
	close(fds[1]);
}

static void a_ready_descriptor_is_called(void **state)
{
	struct end e;
	int fds[2];

	(void)state;
	watch(&e, 'a', fds);
	assert_int_equal(loop_round(loop, 0), 0);
	assert_int_equal(loop_round(loop, 0), 0);
	assert_string_equal(calls, "a");
	loop_remove(loop, &e.fd);
	close_both(fds);
}

static void who_is_removed_in_the_round_is_not_called(void **state)
{
	struct end a, b;
	int fds_a[2], fds_b[2];

	(void)state;
	watch(&a, 'a', fds_a);
	watch(&b, 'b', fds_b);
	a.victim = &b;
	b.victim = &a;
	assert_int_equal(loop_round(loop, 0), 0);
	assert_int_equal(loop_round(loop, 0), 0);
	assert_int_equal(strlen(calls), 1);
	loop_remove(loop, calls[0] == 'a' ? &a.fd : &b.fd);
	close_both(fds_a);
	close_both(fds_b);
}

static void one_that_removes_itself_is_gone(void **state)
{
	struct end a;
	int fds[2];

	(void)state;
	watch(&a, 'a', fds);
	a.victim = &a;
	assert_int_equal(loop_round(loop, 0), 0);
	assert_int_equal(write(fds[1], "x", 1), 1);
	assert_int_equal(loop_round(loop, 0), 0);
	assert_string_equal(calls, "a");
	close_both(fds);
}

struct ordered_timer {
	struct loop_timer t;
	char letter;
	bool again; /* set anew, for now */
};

static void on_due(struct loop_timer *t)
{
	struct ordered_timer *timer = (struct ordered_timer *)t;

	note(timer->letter);
	if (timer->again)
		assert_int_equal(loop_timer_set(loop, t, loop_now_ms(loop)), 0);
}

static void timers_come_in_order_of_time(void **state)
{
	struct ordered_timer a = { .t.due = on_due, .letter = 'a' };
	struct ordered_timer b = { .t.due = on_due, .letter = 'b' };
	struct ordered_timer c = { .t.due = on_due, .letter = 'c' };
	int64_t now = loop_now_ms(loop);

	(void)state;
	assert_int_equal(loop_timer_set(loop, &a.t, now + 2), 0);
	assert_int_equal(loop_timer_set(loop, &b.t, now + 1), 0);
	assert_int_equal(loop_timer_set(loop, &c.t, now + 3), 0);
	loop_timer_clear(loop, &c.t);
	while (strlen(calls) < 2)
		assert_int_equal(loop_round(loop, -1), 0);
	assert_string_equal(calls, "ba");
	assert_true(loop_now_ms(loop) >= now + 2);
	assert_int_equal(loop_round(loop, 0), 0);
	assert_string_equal(calls, "ba");
}

static void a_timer_set_again_for_now_waits_for_the_next_round(void **state)
{
	struct ordered_timer a = { .t.due = on_due,
				   .letter = 'a',
				   .again = true };

	(void)state;
	assert_int_equal(loop_timer_set(loop, &a.t, 0), 0);
	assert_int_equal(loop_round(loop, 0), 0);
	assert_string_equal(calls, "a");
	assert_int_equal(loop_round(loop, -1), 0);
	assert_string_equal(calls, "aa");
	loop_timer_clear(loop, &a.t);
}

struct later {
	struct loop_later l;
	char letter;
	struct loop_later *asks;
};

static void on_later(struct loop_later *l)
{
	struct later *later = (struct later *)l;

	note(later->letter);
	if (later->asks)
		loop_later(loop, later->asks);
	later->asks = NULL;
}

static void the_end_of_the_round_comes_after_everything(void **state)
{
	struct later z = { .l.call = on_later, .letter = 'z' };
	struct ordered_timer t = { .t.due = on_due, .letter = 't' };
	struct end a, b;
	int fds_a[2], fds_b[2];

	(void)state;
	watch(&a, 'a', fds_a);
	watch(&b, 'a', fds_b);
	a.asks = &z.l;
	b.asks = &z.l;
	assert_int_equal(loop_timer_set(loop, &t.t, 0), 0);
	assert_int_equal(loop_round(loop, 0), 0);
	assert_string_equal(calls, "aatz");
	loop_remove(loop, &a.fd);
	loop_remove(loop, &b.fd);
	close_both(fds_a);
	close_both(fds_b);
}

static void who_asks_at_the_end_is_called_in_the_same_end(void **state)
{
	struct later y = { .l.call = on_later, .letter = 'y' };
	struct later x = { .l.call = on_later, .letter = 'x', .asks = &y.l };

	(void)state;
	loop_later(loop, &x.l);
	assert_int_equal(loop_round(loop, -1), 0);
	assert_string_equal(calls, "xy");
}

static void one_taken_back_is_not_called(void **state)
{
	struct later x = { .l.call = on_later, .letter = 'x' };
	struct later y = { .l.call = on_later, .letter = 'y' };
	struct later z = { .l.call = on_later, .letter = 'z' };

	(void)state;
	loop_later(loop, &x.l);
	loop_later(loop, &y.l);
	loop_later(loop, &z.l);
	loop_later_clear(loop, &y.l);
	loop_later_clear(loop, &z.l);
	loop_later_clear(loop, &z.l);
	loop_later(loop, &y.l);
	assert_int_equal(loop_round(loop, -1), 0);
	assert_string_equal(calls, "xy");
}

static void stops(struct loop_timer *t)
{
	(void)t;
	note('s');
	loop_stop(loop);
}

static void running_ends_when_it_is_stopped(void **state)
{
	struct loop_timer t = { .due = stops };

	(void)state;
	assert_int_equal(loop_timer_set(loop, &t, 0), 0);
	assert_int_equal(loop_run(loop), 0);
	assert_int_equal(loop_timer_set(loop, &t, 0), 0);
	assert_int_equal(loop_run(loop), 0);
	assert_string_equal(calls, "ss");
}

static void a_closed_descriptor_is_refused(void **state)
{
	struct loop_fd f = { .fd = -1, .ready = on_ready };

	(void)state;
	assert_int_equal(loop_add(loop, &f, EPOLLIN), -EBADF);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_ready_descriptor_is_called),
		T(who_is_removed_in_the_round_is_not_called),
		T(one_that_removes_itself_is_gone),
		T(timers_come_in_order_of_time),
		T(a_timer_set_again_for_now_waits_for_the_next_round),
		T(the_end_of_the_round_comes_after_everything),
		T(who_asks_at_the_end_is_called_in_the_same_end),
		T(one_taken_back_is_not_called),
		T(running_ends_when_it_is_stopped),
		T(a_closed_descriptor_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
