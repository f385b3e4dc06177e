/* test_proof.c - for how long a process is known to have descriptors left */
#include "trace/call/proof.h"

#include <linux/capability.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "trace/call/call.h"

enum { MS = 1000000 };

/* We look at ourselves. */
struct self {
	struct observer *o;
	struct tracee *t;
	struct rlimit limit;
};

static int make(void **state)
{
	struct self *s = calloc(1, sizeof(*s));

	s->o = calloc(1, sizeof(*s->o));
	s->o->mono_ns = 1000LL * MS;
	s->t = tree_add(&s->o->tree, getpid(), NULL);
	s->t->process->n_looks = UINT8_MAX; /* not young any more */
	*state = s;
	return getrlimit(RLIMIT_NOFILE, &s->limit);
}

static int end(void **state)
{
	struct self *s = *state;

	(void)setrlimit(RLIMIT_NOFILE, &s->limit);
	proof_release(&s->o->proof);
	tree_release(&s->o->tree);
	free(s->o);
	free(s);
	return 0;
}

static void set_limit(struct self *s, rlim_t n)
{
	struct rlimit limit = { n, s->limit.rlim_max };

	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

static bool is_full(struct self *s)
{
	proof_check_limit(s->o, s->t);
	return s->t->process->full;
}

static void a_look_is_believed_for_its_time(void **state)
{
	struct self *s = *state;

	set_limit(s, 1000);
	assert_false(is_full(s));
	assert_true(s->t->process->roomy_until_ns > s->o->mono_ns);
	assert_true(s->t->process->roomy_until_ns < s->o->mono_ns + 1000 * 40);
	set_limit(s, 10);
	assert_false(is_full(s));
	s->o->mono_ns += 3 * MS;
	assert_true(is_full(s));
}

static void more_threads_ask_for_another_look(void **state)
{
	struct self *s = *state;
	int64_t until;

	set_limit(s, 1000);
	assert_false(is_full(s));
	until = s->t->process->roomy_until_ns;
	assert_non_null(tree_add(&s->o->tree, 1, s->t->process));
	assert_int_equal(s->t->process->roomy_until_ns, 0);
	assert_false(is_full(s));
	assert_true(s->t->process->roomy_until_ns < until);
	assert_true(s->t->process->roomy_until_ns > s->o->mono_ns);
}

static void a_limit_that_is_being_set_is_looked_at_each_time(void **state)
{
	struct self *s = *state;
	const uint64_t args[6] = { 0 };

	set_limit(s, 1000);
	assert_false(is_full(s));
	assert_false(call_enter(s->o, s->t, CALL_PRLIMIT, args));
	assert_false(is_full(s)); /* not yet */
	set_limit(s, 10);
	assert_true(is_full(s));
	set_limit(s, 1000);
	assert_false(is_full(s));
}

static void what_is_held_tells_the_same(void **state)
{
	struct self *s = *state;
	int64_t until;

	set_limit(s, 1000);
	assert_false(is_full(s));
	until = s->t->process->roomy_until_ns;
	thread_fd_attach(&s->o->proof.table, s->t->tid);
	for (int i = 0; i < 2; i++) {
		s->t->process->roomy_until_ns = 0;
		assert_false(is_full(s));
		/* Its own descriptor is one of ours here. */
		assert_int_equal(s->t->process->roomy_until_ns, until - 40);
	}
}

static void a_young_one_is_not_looked_up_in_proc(void **state)
{
	struct self *s = *state;
	int high = 1000 - 64;

	set_limit(s, 1000);
	s->t->process->n_looks = 0;
	assert_false(is_full(s));
	assert_int_equal(s->t->process->roomy_until_ns, 0);
	/* The number it goes by is taken: that says nothing. */
	assert_int_equal(dup2(0, high), high);
	assert_false(is_full(s));
	assert_true(s->t->process->roomy_until_ns > 0);
	(void)close(high);
	s->o->mono_ns += 1000LL * MS;
	set_limit(s, 10);
	assert_true(is_full(s));
}

/* The limit of a process of root's is not told to others. */
static void who_cannot_be_looked_at_is_doubtful(void **state)
{
	struct self *s = *state;
	int status;
	pid_t pid;

	if (geteuid() != 0)
		skip();
	proof_check_limit(s->o, s->t);
	assert_false(call_is_doubtful(s->t));
	s->o->mono_ns += 1000LL * MS;
	pid = fork();
	if (pid == 0) {
		if (setuid(65534) < 0)
			_exit(2);
		proof_check_limit(s->o, s->t);
		_exit(!call_is_doubtful(s->t));
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

/* With the right to override permissions in force, or without. */
static bool set_override(bool on)
{
	struct __user_cap_header_struct header = {
		.version = _LINUX_CAPABILITY_VERSION_3,
	};
	struct __user_cap_data_struct data[2];
	uint32_t bit = 1U << CAP_DAC_OVERRIDE;

	if (syscall(SYS_capget, &header, data) < 0 ||
	    !(data[0].permitted & bit))
		return false;
	data[0].effective = on ? data[0].effective | bit :
				 data[0].effective & ~bit;
	return syscall(SYS_capset, &header, data) == 0;
}

/* Root in the first user namespace alone; a user never. */
static void override_is_a_matter_of_capabilities(void **state)
{
	bool before = proof_overrides();

	(void)state;
	assert_true(before || geteuid() == 0 || !set_override(true));
	if (!set_override(false))
		return;
	assert_false(proof_overrides());
	assert_true(set_override(true));
	assert_int_equal(proof_overrides(), before);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(override_is_a_matter_of_capabilities),
		cmocka_unit_test_setup_teardown(a_look_is_believed_for_its_time,
						make, end),
		cmocka_unit_test_setup_teardown(
			more_threads_ask_for_another_look, make, end),
		cmocka_unit_test_setup_teardown(
			a_limit_that_is_being_set_is_looked_at_each_time, make,
			end),
		cmocka_unit_test_setup_teardown(
			a_young_one_is_not_looked_up_in_proc, make, end),
		cmocka_unit_test_setup_teardown(what_is_held_tells_the_same,
						make, end),
		cmocka_unit_test_setup_teardown(
			who_cannot_be_looked_at_is_doubtful, make, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
