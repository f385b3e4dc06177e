/* test_hot.c - the loan of a CPU leaves no trace in anybody's affinity */
#include "trace/ptrace/hot.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { BURST = 40 };

/* Two processes that sleep, and the affinity they were born with. */
struct world {
	struct hot h;
	cpu_set_t cpus;
	int64_t now_ns;
	pid_t first;
	pid_t second;
};

static pid_t sleeper(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			(void)pause();
	}
	return pid;
}

static int make(void **state)
{
	struct world *w = calloc(1, sizeof(*w));

	*state = w;
	w->now_ns = 1000000000;
	w->first = sleeper();
	w->second = sleeper();
	hot_init(&w->h);
	return sched_getaffinity(0, sizeof(w->cpus), &w->cpus);
}

static int end(void **state)
{
	struct world *w = *state;

	hot_end(&w->h, w->now_ns);
	(void)kill(w->first, SIGKILL);
	(void)kill(w->second, SIGKILL);
	(void)waitpid(w->first, NULL, 0);
	(void)waitpid(w->second, NULL, 0);
	free(w);
	return 0;
}

static bool is_free(const struct world *w, pid_t tid)
{
	cpu_set_t cpus;

	assert_int_equal(sched_getaffinity(tid, sizeof(cpus), &cpus), 0);
	return CPU_EQUAL(&cpus, &w->cpus);
}

/* As a child that was made just now has it. */
static void inherit(pid_t parent, pid_t child)
{
	cpu_set_t cpus;

	assert_int_equal(sched_getaffinity(parent, sizeof(cpus), &cpus), 0);
	assert_int_equal(sched_setaffinity(child, sizeof(cpus), &cpus), 0);
}

static void lend(struct world *w, pid_t tid)
{
	if (!w->h.possible)
		skip(); /* there is one CPU only */
	for (int i = 0; i < BURST && !w->h.borrowed; i++) {
		w->now_ns += 10000;
		(void)hot_stop(&w->h, tid, w->now_ns);
	}
	assert_int_equal(w->h.borrowed, tid);
	assert_false(is_free(w, tid));
	assert_false(is_free(w, 0));
}

static void a_loan_ends_as_it_began(void **state)
{
	struct world *w = *state;

	lend(w, w->first);
	hot_end(&w->h, w->now_ns);
	assert_true(is_free(w, w->first));
	assert_true(is_free(w, 0));
}

static void a_child_is_free(void **state)
{
	struct world *w = *state;

	lend(w, w->first);
	inherit(w->first, w->second);
	hot_forked(&w->h, w->first, w->second);
	assert_true(is_free(w, w->second));
	assert_true(is_free(w, w->first));
}

static void a_child_is_free_when_the_loan_ended_meanwhile(void **state)
{
	struct world *w = *state;

	lend(w, w->first);
	inherit(w->first, w->second);
	hot_end(&w->h, w->now_ns);
	hot_forked(&w->h, w->first, w->second);
	assert_true(is_free(w, w->second));
}

static void who_bound_itself_stays_bound(void **state)
{
	struct world *w = *state;
	cpu_set_t loan;

	lend(w, w->first);
	assert_int_equal(sched_getaffinity(w->first, sizeof(loan), &loan), 0);
	hot_end(&w->h, w->now_ns);
	assert_int_equal(sched_setaffinity(w->first, sizeof(loan), &loan), 0);
	inherit(w->first, w->second);
	hot_forked(&w->h, w->first, w->second);
	assert_false(is_free(w, w->second));
}

/* Another thread than the one on loan takes the leader's place, and its id. */
static void a_new_leader_keeps_its_own_affinity(void **state)
{
	struct world *w = *state;

	lend(w, w->first);
	hot_renamed(&w->h, w->second, w->first);
	hot_end(&w->h, w->now_ns);
	assert_false(is_free(w, w->first)); /* what it has is its own */
	assert_true(is_free(w, 0));
}

static void a_loan_follows_its_thread(void **state)
{
	struct world *w = *state;

	lend(w, w->first);
	hot_renamed(&w->h, w->first, w->first);
	assert_int_equal(w->h.borrowed, w->first);
	hot_end(&w->h, w->now_ns);
	hot_renamed(&w->h, 0, w->second);
	assert_int_equal(w->h.borrowed, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_loan_ends_as_it_began, make,
						end),
		cmocka_unit_test_setup_teardown(a_child_is_free, make, end),
		cmocka_unit_test_setup_teardown(
			a_child_is_free_when_the_loan_ended_meanwhile, make,
			end),
		cmocka_unit_test_setup_teardown(who_bound_itself_stays_bound,
						make, end),
		cmocka_unit_test_setup_teardown(
			a_new_leader_keeps_its_own_affinity, make, end),
		cmocka_unit_test_setup_teardown(a_loan_follows_its_thread, make,
						end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
