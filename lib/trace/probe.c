/* probe.c - see probe.h */
#include "trace/probe_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/macros.h"
#include "base/str.h"
#include "trace/ebpf/ebpf.h"
#include "trace/ebpf/load.h"
#include "trace/ebpf/remote.h"
#include "trace/hybrid/environment.h"
#include "trace/hybrid/hybrid.h"
#include "trace/ptrace/ptrace.h"

#define TYPES_FILE "/sys/kernel/btf/vmlinux"
#define YAMA_FILE "/proc/sys/kernel/yama/ptrace_scope"

#define BIT(n) (1ULL << (n))

enum { CAPABILITY_PERFMON = 38, CAPABILITY_BPF = 39 };

/* ---- privileges ---- */

unsigned long long probe_capabilities(void)
{
	struct __user_cap_header_struct head = {
		.version = _LINUX_CAPABILITY_VERSION_3,
	};
	struct __user_cap_data_struct data[2] = { 0 };

	if (syscall(SYS_capget, &head, data) < 0)
		return 0;
	return (unsigned long long)data[1].effective << 32 | data[0].effective;
}

bool probe_has_capabilities(unsigned long long mask)
{
	return (probe_capabilities() & mask) == mask;
}

static bool may_load_programs(void)
{
	return probe_has_capabilities(BIT(CAP_SYS_ADMIN)) ||
	       probe_has_capabilities(BIT(CAPABILITY_BPF) |
				      BIT(CAPABILITY_PERFMON));
}

/* ---- one backend each ---- */

static enum probe_state refuse(struct probe *p, const char *why)
{
	(void)snprintf(p->why, sizeof(p->why), "%s", why);
	return PROBE_REFUSED;
}

static enum probe_state refuse_errno(struct probe *p, const char *what)
{
	(void)snprintf(p->why, sizeof(p->why), "%s: %s", what, strerror(errno));
	return PROBE_REFUSED;
}

static void remark(struct probe *p, const char *text)
{
	(void)snprintf(p->why, sizeof(p->why), "%s", text);
}

static enum probe_state look_at_ebpf(struct probe *p)
{
	p->cost = "lowest: no process ever waits";
	if (!tracer_ebpf.run)
		return refuse(p, "this roar was built without eBPF");
	if (remote_answers()) {
		remark(p, "roard holds the programs");
		return PROBE_READY;
	}
	if (!may_load_programs())
		return refuse(p, "it needs root, or roard ('roar tracer enable "
				 "ebpf' sets it up)");
	if (ebpf_is_pinned()) {
		remark(p, "its programs are in the kernel");
		return PROBE_READY;
	}
	if (access(TYPES_FILE, R_OK) < 0)
		return refuse(
			p, "the kernel does not provide its types (" TYPES_FILE
			   ")");
	remark(p, "its programs have to be loaded for every run ('roar tracer "
		  "enable ebpf' keeps them)");
	return PROBE_SLOW;
}

static enum probe_state look_at_hybrid(struct probe *p)
{
	unsigned action = SECCOMP_RET_USER_NOTIF;
	struct seccomp_notif_sizes sizes;
	char path[1024];

	p->cost = "low: only static programs and direct calls wait";
	if (syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) < 0 ||
	    syscall(SYS_seccomp, SECCOMP_GET_NOTIF_SIZES, 0, &sizes) < 0)
		return refuse_errno(p, "seccomp user notification is refused "
				       "here");
	if (environment_find_library(path, sizeof(path)) < 0) {
		p->cost = "medium: every program waits at each file";
		remark(p,
		       "libroar-preload.so was not found, so every program is as "
		       "slow as a static one");
	}
	return PROBE_READY;
}

static enum probe_state look_at_preload(struct probe *p)
{
	char path[1024];

	p->cost = "lowest: no process ever waits";
	if (environment_find_library(path, sizeof(path)) < 0)
		return refuse(p, "libroar-preload.so was not found");
	return PROBE_READY;
}

/* Yama: 2 restricts ptrace to privileged processes, 3 forbids it.  No file: no Yama. */
static int yama_scope(void)
{
	CLEANUP(str_release) struct str text = STR_INIT;

	if (fd_read_file(AT_FDCWD, YAMA_FILE, 16, &text) < 0)
		return 0;
	return atoi(str_cstr(&text));
}

static enum probe_state look_at_ptrace(struct probe *p)
{
	int scope = yama_scope();

	p->cost = "medium: every process waits at each file";
	/* We do not trace our parent, so the expected error is ESRCH. */
	if (ptrace(PTRACE_DETACH, getppid(), NULL, NULL) < 0 &&
	    (errno == EPERM || errno == ENOSYS))
		return refuse_errno(p, "ptrace is refused here");
	if (scope >= 3 ||
	    (scope == 2 && !probe_has_capabilities(BIT(CAP_SYS_PTRACE))))
		return refuse(p, "ptrace is forbidden (" YAMA_FILE ")");
	return PROBE_READY;
}

static const struct {
	const struct tracer_ops *ops;
	enum probe_state (*look)(struct probe *p);
} looks[] = {
	/* In the order of `auto`: the most complete record first, then the lowest
	 * overhead.  eBPF does not make processes wait, so a file that the run
	 * overwrites soon after reading it may stay unidentified; the library alone
	 * does not see everything. */
	{ &tracer_hybrid, look_at_hybrid },
	{ &tracer_ebpf, look_at_ebpf },
	{ &tracer_ptrace, look_at_ptrace },
	{ &tracer_preload, look_at_preload },
};

enum { N_LOOKS = ARRAY_SIZE(looks) };

void probe_tracer(const struct tracer_ops *ops, struct probe *ret)
{
	*ret = (struct probe){ .ops = ops, .cost = "" };
	for (size_t i = 0; i < N_LOOKS; i++)
		if (looks[i].ops == ops)
			ret->state = looks[i].look(ret);
	if (ret->state != PROBE_REFUSED &&
	    probe_recall(ops, ret->why, sizeof(ret->why)))
		ret->state = PROBE_REFUSED;
}

/* ---- the choice ---- */

static bool is_listed(const struct tracer_ops *const *list, size_t n,
		      const struct tracer_ops *ops)
{
	for (size_t i = 0; i < n; i++)
		if (list[i] == ops)
			return true;
	return false;
}

/* ptrace is always tried: when no backend works, its error message explains why. */
static size_t add_auto(const struct tracer_ops *list[PROBE_MAX], size_t n)
{
	for (size_t i = 0; i < N_LOOKS && n < PROBE_MAX; i++) {
		struct probe p;

		if (is_listed(list, n, looks[i].ops))
			continue;
		probe_tracer(looks[i].ops, &p);
		if (p.state == PROBE_READY || looks[i].ops == &tracer_ptrace)
			list[n++] = looks[i].ops;
	}
	return n;
}

const struct tracer_ops *probe_backend(size_t i)
{
	return i < N_LOOKS ? looks[i].ops : NULL;
}

size_t probe_candidates(const char *name, bool others,
			const struct tracer_ops *ret[PROBE_MAX])
{
	if (strcmp(name, "auto") == 0)
		return add_auto(ret, 0);
	ret[0] = tracer_find(name);
	if (!ret[0])
		return 0;
	return others ? add_auto(ret, 1) : 1;
}
