/* load_programs.c - loads the programs of an object through the verifier
 *
 * The verifier takes most of the time of a load, some ten milliseconds for the largest
 * program, and checks programs in parallel: several threads share the work. */
#include "trace/ebpf/load_internal.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/cpus.h"
#include "base/macros.h"
#include "base/thread.h"
#include "trace/ebpf/bpf.h"
#include "trace/ebpf/btf.h"

/* ---- one ---- */

void load_target_name(const struct image_program *p, char *buf, size_t size)
{
	(void)snprintf(buf, size, "%s%s",
		       p->attach == IMAGE_TP_BTF ? "btf_trace_" : "",
		       p->target);
}

/* 0: it needs none. */
static int target_id(const struct loading *l, const struct image_program *p)
{
	char name[128];

	if (p->attach == IMAGE_RAW_TP)
		return 0;
	load_target_name(p, name, sizeof(name));
	return p->attach == IMAGE_TP_BTF ? btf_typedef(l->btf, name) :
					   btf_function(l->btf, name);
}

static const enum bpf_prog_type program_types[] = {
	[IMAGE_TP_BTF] = BPF_PROG_TYPE_TRACING,
	[IMAGE_RAW_TP] = BPF_PROG_TYPE_RAW_TRACEPOINT,
	[IMAGE_FENTRY] = BPF_PROG_TYPE_TRACING,
	[IMAGE_FEXIT] = BPF_PROG_TYPE_TRACING,
};

static const enum bpf_attach_type attach_types[] = {
	[IMAGE_TP_BTF] = BPF_TRACE_RAW_TP,
	[IMAGE_FENTRY] = BPF_TRACE_FENTRY,
	[IMAGE_FEXIT] = BPF_TRACE_FEXIT,
};

static int load_program(const struct loading *l, const struct image_program *p)
{
	CLEANUP(freep) struct bpf_insn *insns = load_link(l, p);
	int target = target_id(l, p);
	union bpf_attr attr = {
		.prog_type = program_types[p->attach],
		.expected_attach_type = attach_types[p->attach],
		.insn_cnt = p->n_insns,
		.insns = (__u64)(uintptr_t)insns,
		.license = (__u64)(uintptr_t) "GPL", /* tracepoint.bpf.c: why */
		.prog_btf_fd = (__u32)l->types,
		.func_info = (__u64)(uintptr_t)p->funcs,
		.func_info_rec_size = sizeof(*p->funcs),
		.func_info_cnt = p->n_funcs,
	};

	if (!insns)
		return -ENOMEM;
	if (target < 0)
		return target;
	attr.attach_btf_id = (__u32)target;
	(void)snprintf(attr.prog_name, sizeof(attr.prog_name), "roar_%s",
		       p->name);
	return bpf_call(BPF_PROG_LOAD, &attr, sizeof(attr));
}

int load_try_trampoline(const struct btf *btf)
{
	const struct bpf_insn nothing[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K }, /* r0 = 0 */
		{ .code = BPF_JMP | BPF_EXIT },
	};
	union bpf_attr attr = {
		.prog_type = BPF_PROG_TYPE_TRACING,
		.expected_attach_type = BPF_TRACE_FEXIT,
		.insn_cnt = ARRAY_SIZE(nothing),
		.insns = (__u64)(uintptr_t)nothing,
		.license = (__u64)(uintptr_t) "GPL",
	};
	const struct image *image = &ebpf_trampoline;
	CLEANUP(closep) int program = -ENOENT;

	for (size_t i = 0; i < image->n_programs && program == -ENOENT; i++) {
		int target = btf_function(btf, image->programs[i].target);

		if (target < 0)
			continue;
		attr.attach_btf_id = (__u32)target;
		program = bpf_call(BPF_PROG_LOAD, &attr, sizeof(attr));
	}
	return program < 0 ? program : 0;
}

const char *const load_hook_targets[EBPF_HOOKS] = { "sys_enter", "sys_exit" };

int load_hook_of(const struct image_program *p)
{
	for (int i = 0; i < EBPF_HOOKS; i++)
		if (strcmp(p->target, load_hook_targets[i]) == 0)
			return i;
	return -1;
}

/* System calls of 32-bit programs, and io_uring, which a kernel may lack. */
bool load_is_optional(const struct image_program *p)
{
	return strncmp(p->target, "__ia32", 6) == 0 ||
	       strstr(p->target, "io_uring") != NULL;
}

/* ---- all ---- */

enum { HELPERS_MAX = 3 };

struct work {
	const struct loading *l;
	bool hooks; /* also those at all system calls */
	int *programs; /* receives the descriptors; each thread writes its own
		        * elements */
	size_t order[EBPF_LINKS_MAX]; /* the largest first */
	_Atomic size_t next; /* taken by fetch-add: the next index of `order` to
			      * load */
	_Atomic int error; /* any thread sets it: the first refusal, after which
			    * all stop */
};

/* Then the work at the end is short. */
static void put_in_order(struct work *w)
{
	const struct image *image = w->l->image;

	for (size_t i = 0; i < image->n_programs; i++) {
		size_t at = i;

		for (; at && image->programs[w->order[at - 1]].n_insns <
				     image->programs[i].n_insns;
		     at--)
			w->order[at] = w->order[at - 1];
		w->order[at] = i;
	}
}

/* Some are tail-call targets, in the order of enum body (tracepoint.bpf.c). */
static int put_body(const struct loading *l, const struct image_program *p,
		    int program)
{
	static const char *const bodies[] = { "sched_process_exec",
					      "sched_process_exit" };
	int map = load_map_index(l->image, "bodies");

	for (__u32 i = 0; i < ARRAY_SIZE(bodies); i++)
		if (strcmp(p->target, bodies[i]) == 0)
			return bpf_map_update(l->maps[map], &i, &program,
					      BPF_ANY);
	return 0;
}

static void load_one(struct work *w, size_t i)
{
	const struct image_program *p = &w->l->image->programs[i];
	int r = load_program(w->l, p);

	w->programs[i] = r;
	if (r >= 0 && p->attach == IMAGE_RAW_TP)
		r = put_body(w->l, p, r);
	if (r < 0 && !(r == -ENOENT && load_is_optional(p)))
		atomic_store(&w->error, r);
}

static void *take_part(void *arg)
{
	struct work *w = arg;
	const struct image *image = w->l->image;

	while (!atomic_load(&w->error)) {
		size_t next = atomic_fetch_add(&w->next, 1);
		size_t i;

		if (next >= image->n_programs)
			break;
		i = w->order[next];
		if (!w->hooks && load_hook_of(&image->programs[i]) >= 0)
			continue;
		load_one(w, i);
	}
	return NULL;
}

/* At most one thread for each of the large programs. */
static unsigned start_helpers(struct work *w, pthread_t helpers[HELPERS_MAX])
{
	unsigned n = 0, max = cpus_allowed() - 1;

	while (n < max && n < HELPERS_MAX &&
	       thread_start(&helpers[n], NULL, take_part, w) == 0)
		n++;
	return n;
}

int load_programs(const struct loading *l, bool hooks,
		  int programs[EBPF_LINKS_MAX])
{
	struct work w = { .l = l, .hooks = hooks, .programs = programs };
	pthread_t helpers[HELPERS_MAX];
	unsigned n;

	put_in_order(&w);
	n = start_helpers(&w, helpers);
	(void)take_part(&w);
	while (n)
		(void)pthread_join(helpers[--n], NULL);
	return atomic_load(&w.error);
}
