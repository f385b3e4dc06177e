/* test_command.c - what is heard of the command's own process */
#include "trace/command.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "trace/tracer.h"

struct scene {
	struct tracer_control control;
	struct tracer_job job;
	pid_t pid;
	int told[8]; /* signals, in the order they were told */
	int n_told;
};

static void hear(void *ctx, int sig)
{
	struct scene *s = ctx;

	assert_true(s->n_told < 8);
	s->told[s->n_told++] = sig;
}

/* A child that sleeps until it gets a signal. */
static int make_scene(void **state)
{
	static struct scene s;

	s = (struct scene){ .job = { .stopped = hear } };
	s.job.control = &s.control;
	s.job.ctx = &s;
	s.pid = fork();
	if (s.pid == 0) {
		(void)pause();
		_exit(0);
	}
	atomic_store(&s.control.command, s.pid);
	*state = &s;
	return s.pid < 0 ? -1 : 0;
}

static int end_scene(void **state)
{
	struct scene *s = *state;

	/* Where the test has not: nobody else has that number meanwhile. */
	if (atomic_load(&s->control.command) == s->pid) {
		(void)kill(s->pid, SIGKILL);
		(void)waitpid(s->pid, NULL, 0);
	}
	return 0;
}

/* Sends it and waits until the kernel has news, without taking them. */
static void send(const struct scene *s, int sig, int news)
{
	siginfo_t info;

	assert_int_equal(kill(s->pid, sig), 0);
	assert_int_equal(waitid(P_PID, (id_t)s->pid, &info, news | WNOWAIT), 0);
}

static int look(struct scene *s, int *status)
{
	return command_wait(&s->job, s->pid, WNOHANG, status, NULL);
}

static void of_one_that_runs_there_is_no_news(void **state)
{
	struct scene *s = *state;
	int status = -7;

	assert_int_equal(look(s, &status), 0);
	assert_int_equal(s->n_told, 0);
	assert_int_equal(status, -7);
	assert_int_equal(s->control.command, s->pid);
}

static void stops_are_told_and_stand_in_the_page(void **state)
{
	struct scene *s = *state;
	int status;

	send(s, SIGSTOP, WSTOPPED);
	assert_int_equal(look(s, &status), 0);
	assert_int_equal(s->n_told, 1);
	assert_int_equal(s->told[0], SIGSTOP);
	assert_int_equal(s->control.stopped, 1);
	assert_int_equal(s->control.signal_ns[SIGCONT], 0);
	send(s, SIGCONT, WCONTINUED);
	assert_int_equal(look(s, &status), 0);
	assert_int_equal(s->n_told, 2);
	assert_int_equal(s->told[1], SIGCONT);
	assert_int_equal(s->control.stopped, 0);
	assert_true(s->control.signal_ns[SIGCONT] > 0);
}

static void the_end_has_a_status_and_takes_the_number(void **state)
{
	struct scene *s = *state;
	int status;

	send(s, SIGTERM, WEXITED);
	assert_int_equal(look(s, &status), 1);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGTERM);
	assert_int_equal(s->control.command, -1);
	assert_int_equal(s->n_told, 0);
}

static void who_waits_hears_of_all_on_the_way(void **state)
{
	struct scene *s = *state;
	struct rusage usage = { .ru_maxrss = -1 };
	int status;

	s->job.stopped = NULL; /* nobody asked */
	send(s, SIGSTOP, WSTOPPED);
	assert_int_equal(kill(s->pid, SIGKILL), 0);
	assert_int_equal(command_wait(&s->job, s->pid, 0, &status, &usage), 1);
	assert_int_equal(WTERMSIG(status), SIGKILL);
	assert_true(usage.ru_maxrss >= 0);
}

static void nobody_to_wait_for_is_a_negative_errno(void **state)
{
	struct scene *s = *state;
	int status = -7;

	send(s, SIGKILL, WEXITED);
	assert_int_equal(waitpid(s->pid, NULL, 0), s->pid);
	assert_int_equal(look(s, &status), -ECHILD);
	assert_int_equal(status, -7);
	assert_int_equal(s->control.command, -1);
}

#define SCENE(fn) cmocka_unit_test_setup_teardown(fn, make_scene, end_scene)

int main(void)
{
	const struct CMUnitTest tests[] = {
		SCENE(of_one_that_runs_there_is_no_news),
		SCENE(stops_are_told_and_stand_in_the_page),
		SCENE(the_end_has_a_status_and_takes_the_number),
		SCENE(who_waits_hears_of_all_on_the_way),
		SCENE(nobody_to_wait_for_is_a_negative_errno),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
