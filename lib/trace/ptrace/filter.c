/* filter.c - see filter.h
 *
 * Shape of the program:
 *
 *	load arch
 *	for each ABI:	arch? else next ABI
 *			load number
 *			for each call:	number? else next call
 *					[look at an argument: allow]
 *					return TRACE | call
 *			allow
 *	allow
 */
#include "trace/ptrace/filter.h"

#include <assert.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "trace/ptrace/calls.h"

#ifndef __O_TMPFILE
#define __O_TMPFILE 020000000
#endif

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

/* O_PATH reads nothing; O_DIRECTORY opens a directory or fails, except that
 * O_TMPFILE contains its bit. */
static void allow_directories(struct filter_program *f, int flags_arg)
{
	load_arg(f, flags_arg);
	unless(f, BPF_JSET, O_PATH, 1);
	ret(f, SECCOMP_RET_ALLOW);
	unless(f, BPF_JSET, O_DIRECTORY, 2);
	emit(f, BPF_JMP | BPF_JSET | BPF_K, __O_TMPFILE)->jt = 1;
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
		/* Without a new limit it only asks. */
		load_arg(f, 2);
		unless(f, BPF_JEQ, 0, 1);
		ret(f, SECCOMP_RET_ALLOW);
		break;
	case CALL_PRCTL:
		load_arg(f, 0);
		emit(f, BPF_JMP | BPF_JEQ | BPF_K, PR_CAPBSET_DROP)->jt = 3;
		emit(f, BPF_JMP | BPF_JEQ | BPF_K, PR_SET_SECUREBITS)->jt = 2;
		allow_unless(f, PR_SET_SECCOMP);
		break;
	default:
		break;
	}
}

static void add_call(struct filter_program *f, const struct call_spec *spec)
{
	unsigned jump = f->prog.len;

	unless(f, BPF_JEQ, spec->nr, 0);
	look_at_arguments(f, spec->call);
	ret(f, SECCOMP_RET_TRACE | (uint32_t)spec->call);
	f->code[jump].jf = (uint8_t)(f->prog.len - jump - 1);
}

static void add_abi(struct filter_program *f, const struct call_abi *abi)
{
	unsigned jump;

	/* The skip is a long one: jump to a plain jump that has 32 bits. */
	emit(f, BPF_JMP | BPF_JEQ | BPF_K, abi->audit_arch)->jt = 1;
	jump = f->prog.len;
	emit(f, BPF_JMP | BPF_JA, 0);
	load(f, offsetof(struct seccomp_data, nr));
	if (abi->foreign_from) {
		unless(f, BPF_JGE, abi->foreign_from, 1);
		ret(f, SECCOMP_RET_TRACE | CALL_FOREIGN);
	}
	for (size_t i = 0; i < abi->n_specs; i++)
		add_call(f, &abi->specs[i]);
	ret(f, SECCOMP_RET_ALLOW);
	f->code[jump].k = f->prog.len - jump - 1;
}

void filter_build(struct filter_program *f)
{
	f->prog = (struct sock_fprog){ .filter = f->code };
	load(f, offsetof(struct seccomp_data, arch));
	for (size_t i = 0; i < n_call_abis; i++)
		add_abi(f, &call_abis[i]);
	ret(f, SECCOMP_RET_ALLOW);
}
