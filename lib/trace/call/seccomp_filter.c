/* seccomp_filter.c - see seccomp_filter.h
 *
 * Shape of the program:
 *
 *	load arch
 *	for each ABI:	arch? else next ABI
 *			load number
 *			not below the middle one? else left half, and so on
 *			for few calls:	number? else next call
 *					[look at an argument: allow]
 *					return TRACE | call, or go to the tail
 *			allow
 *		tail:	[marked: allow]
 *			return USER_NOTIF
 *	allow
 *
 * The binary search is for the kernel: when the filter is installed, it tries all
 * numbers of all ABIs to find out which are always allowed.  With a list that would
 * take 0.1 ms. */
#include "trace/call/seccomp_filter.h"

#include <assert.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "trace/call/calls.h"

enum {
	CALLS_MAX = 128, /* of one ABI */
	FEW_CALLS = 8, /* are tested one after the other */
};

static struct sock_filter *emit(struct filter_program *f, uint16_t code,
				uint32_t k)
{
	struct sock_filter *ins = &f->code[f->prog.len];

	assert(f->prog.len < FILTER_MAX);
	*ins = (struct sock_filter){ .code = code, .k = k };
	f->prog.len++;
	return ins;
}

static void load(struct filter_program *f, size_t offset)
{
	emit(f, BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset);
}

static void ret(struct filter_program *f, uint32_t action)
{
	emit(f, BPF_RET | BPF_K, action);
}

/* Conditional jump over `skip` instructions when the test fails (or holds). */
static void unless(struct filter_program *f, uint16_t test, uint32_t k,
		   uint8_t skip)
{
	emit(f, BPF_JMP | test | BPF_K, k)->jf = skip;
}

/* The low half of an argument; flags never use the high one. */
static void load_arg(struct filter_program *f, int n)
{
	size_t low = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? 0 : 4;

	load(f, offsetof(struct seccomp_data, args) + 8 * (size_t)n + low);
}

/* Opens that do not involve the content of a named file; see is_idle() in call_open.c. */
static void allow_directories(struct filter_program *f, int flags_arg)
{
	load_arg(f, flags_arg);
	unless(f, BPF_JSET, O_PATH, 1);
	ret(f, SECCOMP_RET_ALLOW);
	unless(f, BPF_JSET, O_DIRECTORY, 2);
	emit(f, BPF_JMP | BPF_JSET | BPF_K, O_CREAT)->jt = 1;
	ret(f, SECCOMP_RET_ALLOW);
}

static void allow_unless(struct filter_program *f, uint32_t k)
{
	emit(f, BPF_JMP | BPF_JEQ | BPF_K, k)->jt = 1;
	ret(f, SECCOMP_RET_ALLOW);
}

static void look_at_arguments(struct filter_program *f, enum call call)
{
	switch (call) {
	case CALL_OPEN:
		allow_directories(f, 1);
		break;
	case CALL_OPENAT:
		allow_directories(f, 2);
		break;
	case CALL_UNLINKAT:
		/* A listener resolves names later than they were used, so it must see
		 * the removal of a directory before it happens. */
		if (f->action != SECCOMP_RET_TRACE)
			break;
		load_arg(f, 2);
		unless(f, BPF_JSET, AT_REMOVEDIR, 1);
		ret(f, SECCOMP_RET_ALLOW);
		break;
	case CALL_LIMIT:
		load_arg(f, 0);
		allow_unless(f, RLIMIT_NOFILE);
		break;
	case CALL_PRLIMIT:
		load_arg(f, 1);
		allow_unless(f, RLIMIT_NOFILE);
		/* Without a new limit the call only reads it. */
		load_arg(f, 2);
		unless(f, BPF_JEQ, 0, 1);
		ret(f, SECCOMP_RET_ALLOW);
		break;
	case CALL_CLONE:
		load_arg(f, 0);
		emit(f, BPF_JMP | BPF_JSET | BPF_K,
		     CLONE_NEWUSER | CLONE_NEWNS | CLONE_UNTRACED)
			->jt = 1;
		ret(f, SECCOMP_RET_ALLOW);
		break;
	case CALL_ATTRIBUTES:
		load_arg(f, 1);
		emit(f, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)FS_IOC_SETFLAGS)
			->jt = 3;
		emit(f, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)FS_IOC32_SETFLAGS)
			->jt = 2;
		allow_unless(f, (uint32_t)FS_IOC_FSSETXATTR);
		break;
	case CALL_PRCTL:
		load_arg(f, 0);
		emit(f, BPF_JMP | BPF_JEQ | BPF_K, PR_CAPBSET_DROP)->jt = 3;
		emit(f, BPF_JMP | BPF_JEQ | BPF_K, PR_SET_SECUREBITS)->jt = 2;
		allow_unless(f, PR_SET_SECCOMP);
		break;
	case CALL_PTRACE:
		/* A tracer that stops may answer every request itself. */
		if (f->action == SECCOMP_RET_TRACE)
			break;
		load_arg(f, 0);
		emit(f, BPF_JMP | BPF_JEQ | BPF_K, PTRACE_TRACEME)->jt = 3;
		emit(f, BPF_JMP | BPF_JEQ | BPF_K, PTRACE_ATTACH)->jt = 2;
		allow_unless(f, PTRACE_SEIZE);
		break;
	case CALL_WAIT:
		load_arg(f, 2);
		emit(f, BPF_JMP | BPF_JSET | BPF_K, (uint32_t)__WALL)->jt = 1;
		ret(f, SECCOMP_RET_ALLOW);
		break;
	default:
		break;
	}
}

/* A ptrace tracer receives the call as data.  A listener must look it up by number, and
 * all calls of an ABI share one ending: the tail, whose position is not known yet.
 * Instructions that jump there are marked by their operand. */
enum { TO_TAIL = UINT32_MAX };

static void stop(struct filter_program *f, enum call call)
{
	if (f->action == SECCOMP_RET_TRACE)
		ret(f, SECCOMP_RET_TRACE | (uint32_t)call);
	else
		emit(f, BPF_JMP | BPF_JA, TO_TAIL);
}

static void add_call(struct filter_program *f, const struct call_spec *spec)
{
	unsigned jump = f->prog.len;

	unless(f, BPF_JEQ, spec->nr, 0);
	look_at_arguments(f, spec->call);
	stop(f, spec->call);
	f->code[jump].jf = (uint8_t)(f->prog.len - jump - 1);
}

/* Is it marked?  See log_mark(): the number is only in the low half. */
static void allow_marked(struct filter_program *f)
{
	size_t mark = offsetof(struct seccomp_data, args[5]);
	size_t low = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? 0 : 4;

	load(f, mark + 4 - low);
	unless(f, BPF_JEQ, (uint32_t)(f->pass >> 32), 6);
	load(f, offsetof(struct seccomp_data, nr));
	emit(f, BPF_MISC | BPF_TAX, 0);
	load(f, mark + low);
	emit(f, BPF_ALU | BPF_XOR | BPF_X, 0);
	unless(f, BPF_JEQ, (uint32_t)f->pass, 1);
	ret(f, SECCOMP_RET_ALLOW);
}

static void add_tail(struct filter_program *f, unsigned from, bool marks)
{
	for (unsigned i = from; i < f->prog.len; i++)
		if (f->code[i].code == (BPF_JMP | BPF_JA) &&
		    f->code[i].k == TO_TAIL)
			f->code[i].k = f->prog.len - i - 1;
	if (marks)
		allow_marked(f);
	ret(f, f->action);
}

/* Only the ptrace backend binds threads to a CPU, hides that, and has to know how
 * processes are made.  A tracer that overrides permissions need not see their changes. */
static bool is_wanted(const struct filter_program *f, enum call call)
{
	switch (call) {
	case CALL_GETAFFINITY:
	case CALL_SETAFFINITY:
	case CALL_CLONE:
	case CALL_CLONE3:
	case CALL_WAIT:
		return f->action == SECCOMP_RET_TRACE;
	case CALL_RIGHTS:
		return f->rights_matter;
	default:
		return true;
	}
}

static int by_number(const void *a, const void *b)
{
	const struct call_spec *const *x = a, *const *y = b;

	return (*x)->nr < (*y)->nr ? -1 : (*x)->nr > (*y)->nr;
}

/* Sorts the wanted calls into `sorted` and returns their number. */
static size_t sort_calls(const struct filter_program *f,
			 const struct call_abi *abi,
			 const struct call_spec *sorted[CALLS_MAX])
{
	size_t n = 0;

	assert(abi->n_specs <= CALLS_MAX);
	for (size_t i = 0; i < abi->n_specs; i++)
		if (is_wanted(f, abi->specs[i].call))
			sorted[n++] = &abi->specs[i];
	qsort(sorted, n, sizeof(sorted[0]), by_number);
	return n;
}

static void add_calls(struct filter_program *f,
		      const struct call_spec *const *specs, size_t n)
{
	unsigned jump;

	if (n <= FEW_CALLS) {
		for (size_t i = 0; i < n; i++)
			add_call(f, specs[i]);
		ret(f, SECCOMP_RET_ALLOW);
		return;
	}
	emit(f, BPF_JMP | BPF_JGE | BPF_K, specs[n / 2]->nr)->jf = 1;
	jump = f->prog.len;
	emit(f, BPF_JMP | BPF_JA, 0);
	add_calls(f, specs, n / 2);
	f->code[jump].k = f->prog.len - jump - 1;
	add_calls(f, specs + n / 2, n - n / 2);
}

static void add_abi(struct filter_program *f, const struct call_abi *abi)
{
	const struct call_spec *specs[CALLS_MAX];
	unsigned jump;

	/* The distance is too long: jump to an unconditional jump, which has 32 bits. */
	emit(f, BPF_JMP | BPF_JEQ | BPF_K, abi->audit_arch)->jt = 1;
	jump = f->prog.len;
	emit(f, BPF_JMP | BPF_JA, 0);
	load(f, offsetof(struct seccomp_data, nr));
	if (abi->foreign_from) {
		unless(f, BPF_JGE, abi->foreign_from, 2);
		emit(f, BPF_JMP | BPF_JGE | BPF_K, abi->foreign_until)->jt = 1;
		stop(f, CALL_FOREIGN);
	}
	add_calls(f, specs, sort_calls(f, abi, specs));
	if (f->action != SECCOMP_RET_TRACE)
		add_tail(f, jump + 1, f->pass && abi == &call_abis[0]);
	f->code[jump].k = f->prog.len - jump - 1;
}

void filter_build(struct filter_program *f, uint32_t action, uint64_t pass,
		  bool rights_matter)
{
	f->prog = (struct sock_fprog){ .filter = f->code };
	f->action = action;
	f->rights_matter = rights_matter;
	f->pass = pass;
	load(f, offsetof(struct seccomp_data, arch));
	for (size_t i = 0; i < n_call_abis; i++)
		add_abi(f, &call_abis[i]);
	ret(f, SECCOMP_RET_ALLOW);
}
