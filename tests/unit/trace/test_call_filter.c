/* test_call_filter.c - the seccomp program, tried on every number of every ABI
 *
 * The kernel's part is played by a small machine for the few instructions the
 * program has; call_find(), which goes through the tables one by one, says what must
 * come out. */
#include "trace/call/seccomp_filter.h"

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/fs.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "trace/call/calls.h"
#include "trace/preload/log.h"

enum { NUMBERS = 1024, STEPS_MAX = 64 };

#define PASS UINT64_C(0x123456789abcdef1)

/* ---- the machine ---- */

static bool holds(const struct sock_filter *ins, uint32_t a)
{
	switch (BPF_OP(ins->code)) {
	case BPF_JEQ:
		return a == ins->k;
	case BPF_JGE:
		return a >= ins->k;
	case BPF_JSET:
		return a & ins->k;
	default:
		fail_msg("unknown jump");
		return false;
	}
}

/* What the program answers, in few steps. */
static uint32_t answer(const struct filter_program *f,
		       const struct seccomp_data *data)
{
	uint32_t a = 0, x = 0;
	unsigned pc = 0;

	for (unsigned step = 0; step < STEPS_MAX; step++) {
		const struct sock_filter *ins = &f->code[pc++];

		assert_true(pc <= f->prog.len);
		if (ins->code == (BPF_RET | BPF_K))
			return ins->k;
		if (ins->code == (BPF_LD | BPF_W | BPF_ABS)) {
			assert_true(ins->k + sizeof(a) <= sizeof(*data));
			memcpy(&a, (const char *)data + ins->k, sizeof(a));
		} else if (ins->code == (BPF_MISC | BPF_TAX)) {
			x = a;
		} else if (ins->code == (BPF_ALU | BPF_XOR | BPF_X)) {
			a ^= x;
		} else if (ins->code == (BPF_JMP | BPF_JA)) {
			pc += ins->k;
		} else {
			assert_int_equal(BPF_CLASS(ins->code), BPF_JMP);
			pc += holds(ins, a) ? ins->jt : ins->jf;
		}
	}
	fail_msg("too many steps");
	return 0;
}

/* ---- what it must say ---- */

/* Arguments by which the call concerns us. */
static void set_arguments(struct seccomp_data *data, enum call call)
{
	memset(data->args, 0, sizeof(data->args));
	switch (call) {
	case CALL_LIMIT:
		data->args[0] = RLIMIT_NOFILE;
		break;
	case CALL_PRLIMIT:
		data->args[1] = RLIMIT_NOFILE;
		data->args[2] = 4096;
		break;
	case CALL_CLONE:
		data->args[0] = CLONE_NEWNS;
		break;
	case CALL_ATTRIBUTES:
		data->args[1] = FS_IOC_SETFLAGS;
		break;
	case CALL_PRCTL:
		data->args[0] = PR_SET_SECCOMP;
		break;
	case CALL_PTRACE:
		data->args[0] = PTRACE_SEIZE;
		break;
	case CALL_WAIT:
		data->args[2] = __WALL;
		break;
	default:
		break;
	}
}

static bool is_wanted(const struct filter_program *f, enum call call)
{
	bool traced = f->action == SECCOMP_RET_TRACE;

	switch (call) {
	case CALL_NONE:
		return false;
	case CALL_GETAFFINITY:
	case CALL_SETAFFINITY:
	case CALL_CLONE:
	case CALL_CLONE3:
	case CALL_WAIT:
		return traced;
	case CALL_RIGHTS:
		return f->rights_matter;
	default:
		return true;
	}
}

static uint32_t expected(const struct filter_program *f, enum call call)
{
	if (!is_wanted(f, call))
		return SECCOMP_RET_ALLOW;
	return f->action == SECCOMP_RET_TRACE ? f->action | (uint32_t)call :
						f->action;
}

static void try_number(const struct filter_program *f, uint32_t arch,
		       uint32_t nr)
{
	struct seccomp_data data = { .nr = (int)nr, .arch = arch };
	enum call call = call_find(arch, nr);

	set_arguments(&data, call);
	if (answer(f, &data) != expected(f, call))
		fail_msg("arch %#x, number %u: %#x instead of %#x", arch, nr,
			 answer(f, &data), expected(f, call));
}

static void try_all(uint32_t action, bool rights_matter)
{
	struct filter_program f;

	filter_build(&f, action, 0, rights_matter);
	for (size_t i = 0; i < n_call_abis; i++) {
		uint32_t from = call_abis[i].foreign_from;

		for (uint32_t nr = 0; nr < NUMBERS; nr++)
			try_number(&f, call_abis[i].audit_arch, nr);
		if (from) {
			try_number(&f, call_abis[i].audit_arch, from - 1);
			try_number(&f, call_abis[i].audit_arch, from);
			try_number(&f, call_abis[i].audit_arch, from + 257);
			assert_int_equal(call_find(call_abis[i].audit_arch,
						   from + 257),
					 CALL_FOREIGN);
			/* syscall(-1) is no call of anybody. */
			try_number(&f, call_abis[i].audit_arch, UINT32_MAX);
			assert_int_equal(call_find(call_abis[i].audit_arch,
						   UINT32_MAX),
					 CALL_NONE);
		}
	}
	for (uint32_t nr = 0; nr < NUMBERS; nr++)
		try_number(&f, AUDIT_ARCH_S390X, nr); /* nobody's */
}

static void every_call_of_the_tables_stops_and_no_other(void **state)
{
	(void)state;
	for (int rights_matter = 0; rights_matter < 2; rights_matter++) {
		try_all(SECCOMP_RET_TRACE, rights_matter);
		try_all(SECCOMP_RET_USER_NOTIF, rights_matter);
	}
}

/* ---- the tables ---- */

static void no_number_stands_in_a_table_twice(void **state)
{
	(void)state;
	for (size_t i = 0; i < n_call_abis; i++) {
		const struct call_abi *abi = &call_abis[i];

		for (size_t j = 0; j < abi->n_specs; j++)
			for (size_t k = 0; k < j; k++)
				assert_int_not_equal(abi->specs[j].nr,
						     abi->specs[k].nr);
	}
}

/* Calls that a machine may not have. */
static bool may_lack(size_t abi, enum call call)
{
	switch (call) {
	case CALL_NONE:
	case CALL_UNSEEN:
	case CALL_FOREIGN:
		return true;
	case CALL_RECVMSG: /* its struct is another in 32 bits */
		return abi > 0;
#ifndef SYS_open
	case CALL_OPEN:
	case CALL_CREAT:
	case CALL_RENAME:
	case CALL_LINK:
	case CALL_SYMLINK:
	case CALL_UNLINK:
	case CALL_MKNOD:
		return abi == 0;
#endif
	default:
		return false;
	}
}

static void every_machine_has_every_kind_of_call(void **state)
{
	(void)state;
	for (size_t i = 0; i < n_call_abis; i++) {
		bool has[CALL_END] = { false };

		for (size_t j = 0; j < call_abis[i].n_specs; j++)
			has[call_abis[i].specs[j].call] = true;
		for (int call = 0; call < CALL_END; call++)
			if (!has[call] && !may_lack(i, (enum call)call))
				fail_msg("table %zu lacks %d", i, call);
	}
}

/* ---- arguments ---- */

static uint32_t answer_native(uint32_t action, long nr, uint64_t a0,
			      uint64_t a1, uint64_t a2)
{
	struct seccomp_data data = {
		.nr = (int)nr,
		.arch = call_abis[0].audit_arch,
		.args = { a0, a1, a2 },
	};
	struct filter_program f;

	filter_build(&f, action, 0, true);
	return answer(&f, &data);
}

#define TRACED(...) \
	(answer_native(SECCOMP_RET_TRACE, __VA_ARGS__) != SECCOMP_RET_ALLOW)
#define NOTIFIED(...)                                          \
	(answer_native(SECCOMP_RET_USER_NOTIF, __VA_ARGS__) != \
	 SECCOMP_RET_ALLOW)

static void opens_of_no_content_pass(void **state)
{
	(void)state;
	assert_true(TRACED(SYS_openat, 0, 0, O_RDONLY));
	assert_true(TRACED(SYS_openat, 0, 0, O_RDWR | O_CREAT | O_TRUNC));
	assert_true(TRACED(SYS_openat, 0, 0, O_DIRECTORY | O_CREAT));
	assert_false(TRACED(SYS_openat, 0, 0, O_PATH));
	assert_false(TRACED(SYS_openat, 0, 0, O_DIRECTORY));
	assert_false(TRACED(SYS_openat, 0, 0, O_TMPFILE | O_RDWR));
	assert_false(NOTIFIED(SYS_openat, 0, 0, O_DIRECTORY));
}

static void a_removed_directory_matters_to_a_listener(void **state)
{
	(void)state;
	assert_true(TRACED(SYS_unlinkat, 0, 0, 0));
	assert_false(TRACED(SYS_unlinkat, 0, 0, AT_REMOVEDIR));
	assert_true(NOTIFIED(SYS_unlinkat, 0, 0, AT_REMOVEDIR));
}

static void what_only_asks_passes(void **state)
{
	(void)state;
	assert_true(TRACED(SYS_setrlimit, RLIMIT_NOFILE, 4096, 0));
	assert_false(TRACED(SYS_setrlimit, RLIMIT_CORE, 4096, 0));
	assert_true(TRACED(SYS_prlimit64, 0, RLIMIT_NOFILE, 4096));
	assert_false(TRACED(SYS_prlimit64, 0, RLIMIT_NOFILE, 0));
	assert_false(TRACED(SYS_prlimit64, 0, RLIMIT_CORE, 4096));
	assert_true(TRACED(SYS_clone, CLONE_UNTRACED, 0, 0));
	assert_true(TRACED(SYS_clone, CLONE_NEWUSER, 0, 0));
	assert_false(TRACED(SYS_clone, CLONE_VM | CLONE_FILES, 0, 0));
	assert_true(TRACED(SYS_wait4, 1, 0, __WALL));
	assert_false(TRACED(SYS_wait4, 1, 0, WNOHANG));
	assert_true(TRACED(SYS_ioctl, 0, FS_IOC_SETFLAGS, 0));
	assert_true(TRACED(SYS_ioctl, 0, FS_IOC32_SETFLAGS, 0));
	assert_true(TRACED(SYS_ioctl, 0, FS_IOC_FSSETXATTR, 0));
	assert_false(TRACED(SYS_ioctl, 0, FS_IOC_GETFLAGS, 0));
	assert_true(TRACED(SYS_prctl, PR_CAPBSET_DROP, 0, 0));
	assert_true(TRACED(SYS_prctl, PR_SET_SECUREBITS, 0, 0));
	assert_true(TRACED(SYS_prctl, PR_SET_SECCOMP, 0, 0));
	assert_false(TRACED(SYS_prctl, PR_GET_SECCOMP, 0, 0));
	assert_true(TRACED(SYS_ptrace, PTRACE_TRACEME, 0, 0));
	assert_true(TRACED(SYS_ptrace, PTRACE_ATTACH, 1, 0));
	assert_true(TRACED(SYS_ptrace, PTRACE_SEIZE, 1, 0));
	assert_true(TRACED(SYS_ptrace, PTRACE_GETREGSET, 1, 0));
	assert_true(NOTIFIED(SYS_ptrace, PTRACE_SEIZE, 1, 0));
	assert_false(NOTIFIED(SYS_ptrace, PTRACE_GETREGSET, 1, 0));
}

/* ---- marked calls ---- */

static uint32_t answer_marked(uint64_t mark, uint32_t arch, uint32_t nr)
{
	struct seccomp_data data = { .nr = (int)nr, .arch = arch };
	struct filter_program f;

	filter_build(&f, SECCOMP_RET_USER_NOTIF, PASS, true);
	set_arguments(&data, call_find(arch, nr));
	data.args[5] = mark;
	return answer(&f, &data);
}

static void marked_calls_pass(void **state)
{
	const struct call_abi *abi = &call_abis[0];

	(void)state;
	for (size_t i = 0; i < abi->n_specs; i++) {
		uint32_t nr = abi->specs[i].nr;
		uint32_t arch = abi->audit_arch;
		uint32_t unmarked = answer_marked(0, arch, nr);

		assert_int_equal(answer_marked(log_mark(PASS, nr), arch, nr),
				 SECCOMP_RET_ALLOW);
		/* That of another call, one half of it, another one. */
		assert_int_equal(answer_marked(log_mark(PASS, nr + 1), arch, nr),
				 unmarked);
		assert_int_equal(answer_marked((uint32_t)log_mark(PASS, nr),
					       arch, nr),
				 unmarked);
		assert_int_equal(answer_marked(PASS & ~UINT64_C(0xffffffff),
					       arch, nr),
				 unmarked);
	}
	assert_int_equal(answer_marked(0, abi->audit_arch, SYS_openat),
			 SECCOMP_RET_USER_NOTIF);
	assert_int_equal(answer_marked(log_mark(PASS, call_abis[1].specs[0].nr),
				       call_abis[1].audit_arch,
				       call_abis[1].specs[0].nr),
			 SECCOMP_RET_USER_NOTIF);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_call_of_the_tables_stops_and_no_other),
		cmocka_unit_test(no_number_stands_in_a_table_twice),
		cmocka_unit_test(every_machine_has_every_kind_of_call),
		cmocka_unit_test(opens_of_no_content_pass),
		cmocka_unit_test(a_removed_directory_matters_to_a_listener),
		cmocka_unit_test(what_only_asks_passes),
		cmocka_unit_test(marked_calls_pass),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
