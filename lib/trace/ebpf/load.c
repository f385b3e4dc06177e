/* load.c - see load.h.  The work of a linker and of libbpf, for objects whose needs
 * are known: find the kernel's types (btf.h), make the maps (load_maps.c), put numbers
 * into the instructions (load_link.c), load, attach, and lay out rings (load_rings.c). */
#include "trace/ebpf/load_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace/ebpf/bpf.h"
#include "trace/ebpf/btf.h"
#include "trace/ebpf/image.h"

const char *const ebpf_map_names[EBPF_MAPS] = {
	"members", "sessions", "ring-0", "ring-1", "ring-2",
	"ring-3",  "ring-4",   "ring-5", "ring-6", "ring-7",
};

static void loading_init(struct loading *l, const struct image *image)
{
	*l = (struct loading){ .image = image, .types = -1, .rodata = -1 };
	for (int i = 0; i < LOAD_MAPS_MAX; i++)
		l->maps[i] = -1;
}

static void loading_release(struct loading *l)
{
	closep(&l->types);
	closep(&l->rodata);
	for (int i = 0; i < LOAD_MAPS_MAX; i++)
		closep(&l->maps[i]);
}

/* ---- programs ---- */

static void target_name(const struct image_program *p, char *buf, size_t size)
{
	(void)snprintf(buf, size, "%s%s",
		       p->attach == IMAGE_TP_BTF ? "btf_trace_" : "",
		       p->target);
}

static int target_id(const struct loading *l, const struct image_program *p)
{
	char name[128];

	target_name(p, name, sizeof(name));
	return p->attach == IMAGE_TP_BTF ? btf_typedef(l->btf, name) :
					   btf_function(l->btf, name);
}

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
		.prog_type = BPF_PROG_TYPE_TRACING,
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

static int load_and_attach(struct ebpf *e, const struct loading *l,
			   const struct image_program *p)
{
	CLEANUP(closep) int program = load_program(l, p);
	int link;

	if (program < 0)
		return program;
	if (e->n_links == EBPF_LINKS_MAX)
		return -E2BIG;
	link = bpf_attach(program);
	if (link < 0)
		return link;
	e->links[e->n_links++] = link;
	return 0;
}

/* ---- the whole ---- */

/* Fills `names` with all that must be found in the kernel's types. */
static size_t wanted_names(const struct image *image, const char **names,
			   char (*targets)[128])
{
	size_t n = 0;

	for (size_t i = 0; i < image->n_fields; i++)
		names[n++] = image->fields[i].type;
	for (size_t i = 0; i < image->n_programs; i++) {
		target_name(&image->programs[i], targets[i], 128);
		names[n++] = targets[i];
	}
	return n;
}

static int find_fields(struct loading *l, const struct btf *btf)
{
	if (l->image->n_fields > LOAD_NAMES_MAX ||
	    l->image->n_maps > LOAD_MAPS_MAX)
		return -E2BIG;
	l->btf = btf;
	for (size_t i = 0; i < l->image->n_fields; i++)
		l->fields[i] = btf_field(btf, &l->image->fields[i]);
	return 0;
}

/* System calls of 32-bit programs, and io_uring, where the kernel has none. */
static bool is_optional(const struct image_program *p)
{
	return strncmp(p->target, "__ia32", 6) == 0 ||
	       strstr(p->target, "io_uring") != NULL;
}

static bool is_for_all_calls(const struct image_program *p)
{
	return strcmp(p->target, "sys_exit") == 0 ||
	       strcmp(p->target, "sys_enter") == 0;
}

/* The first refusal decides. */
static int attach_image(struct ebpf *e, const struct loading *l)
{
	for (size_t i = 0; i < l->image->n_programs; i++) {
		const struct image_program *p = &l->image->programs[i];
		int r;

		if (e->layer == EBPF_TRAMPOLINE && is_for_all_calls(p))
			continue;
		r = load_and_attach(e, l, p);
		if (r < 0 && !(r == -ENOENT && is_optional(p)))
			return r;
	}
	return 0;
}

static void detach(struct ebpf *e)
{
	while (e->n_links)
		(void)close(e->links[--e->n_links]);
}

/* Trampolines where the kernel has them; nothing is attached where it has not. */
static int try_trampolines(struct ebpf *e, const struct loading *base,
			   const struct btf *btf)
{
	CLEANUP(loading_release) struct loading l;
	int r;

	loading_init(&l, &ebpf_trampoline);
	l.types = bpf_types_load(l.image->types, l.image->types_len);
	r = l.types < 0 ? l.types : find_fields(&l, btf);
	if (r == 0)
		r = load_share_maps(&l, base);
	if (r == 0)
		r = attach_image(e, &l);
	if (r < 0)
		detach(e);
	return r;
}

/* Programs one after the other: side by side they take three times as long, because
 * each change of the kernel's text interrupts all CPUs. */
static int attach_all(struct ebpf *e, const struct loading *l,
		      const struct btf *btf)
{
	e->trampoline_error = try_trampolines(e, l, btf);
	if (e->trampoline_error == 0)
		e->layer = EBPF_TRAMPOLINE;
	return attach_image(e, l);
}

static void keep_maps(struct ebpf *e, struct loading *l)
{
	e->maps.members = TAKE_FD(l->maps[load_map_index(l->image, "members")]);
	e->maps.sessions = TAKE_FD(
		l->maps[load_map_index(l->image, "sessions")]);
}

static int open_types(struct btf **ret)
{
	static const struct image *const images[] = { &ebpf_tracepoint,
						      &ebpf_trampoline };
	const char *names[2 * LOAD_NAMES_MAX];
	char targets[2][EBPF_LINKS_MAX][128];
	size_t n = 0;

	for (size_t i = 0; i < 2; i++) {
		if (images[i]->n_fields + images[i]->n_programs >
			    LOAD_NAMES_MAX ||
		    images[i]->n_programs > EBPF_LINKS_MAX)
			return -E2BIG;
		n += wanted_names(images[i], names + n, targets[i]);
	}
	return btf_open(NULL, names, n, ret);
}

/* The maps are there: load, attach, and a first ring meanwhile. */
static int load_programs(struct ebpf *e, struct loading *l,
			 const struct btf *btf)
{
	int r;

	e->rings = fcntl(l->maps[load_map_index(l->image, "rings")],
			 F_DUPFD_CLOEXEC, 0);
	load_start_ring(e);
	r = find_fields(l, btf);
	if (r == 0)
		r = attach_all(e, l, btf);
	return r < 0 ? r : load_ring_in_place(e);
}

static int load_image(struct ebpf *e, const struct image *image,
		      const struct btf *btf)
{
	CLEANUP(loading_release) struct loading l;
	int r;

	loading_init(&l, image);
	l.types = bpf_types_load(l.image->types, l.image->types_len);
	r = l.types < 0 ? l.types : load_make_maps(&l);
	if (r == 0)
		r = load_programs(e, &l, btf);
	if (r == 0)
		keep_maps(e, &l);
	return r;
}

static int load(struct ebpf *e, struct roar_error *err)
{
	CLEANUP(btf_closep) struct btf *btf = NULL;
	int r = open_types(&btf);

	if (r < 0)
		return error_set(err, r,
				 "the kernel does not tell its types "
				 "(/sys/kernel/btf/vmlinux): %s",
				 strerror(-r));
	r = load_image(e,
		       btf_function(btf, "bpf_rdonly_cast") < 0 ?
			       &ebpf_tracepoint_old :
			       &ebpf_tracepoint,
		       btf);
	if (r < 0)
		return error_set(err, r, "eBPF programs are refused here: %s",
				 strerror(-r));
	return 0;
}

int ebpf_open(enum ebpf_how how, struct ebpf **ret_ebpf, struct roar_error *err)
{
	CLEANUP(ebpf_closep) struct ebpf *e = calloc(1, sizeof(*e));
	int r = -ENOENT;

	if (!e)
		return error_set(err, -ENOMEM, "out of memory");
	e->rings = -1;
	for (size_t i = 0; i < EBPF_MAPS; i++)
		*ebpf_map_slot(e, i) = -1;
	if (how != EBPF_FRESH)
		r = pin_get(e);
	if (r < 0 && how == EBPF_PINNED)
		return error_set(err, r, "no eBPF programs are pinned here");
	if (r < 0)
		r = load(e, err);
	if (r < 0)
		return r;
	*ret_ebpf = TAKE_PTR(e);
	return 0;
}

void ebpf_close(struct ebpf *e)
{
	if (!e)
		return;
	(void)load_await_ring(e);
	detach(e);
	closep(&e->rings);
	for (size_t i = 0; i < EBPF_MAPS; i++)
		closep(ebpf_map_slot(e, i));
	free(e);
}

const struct ebpf_maps *ebpf_maps(const struct ebpf *e)
{
	return &e->maps;
}

enum ebpf_layer ebpf_layer(const struct ebpf *e)
{
	return e->layer;
}

int ebpf_trampoline_error(const struct ebpf *e)
{
	return e->trampoline_error;
}
