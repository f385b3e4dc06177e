/* load.c - see load.h.
 *
 * The work of a linker and of libbpf, for objects whose needs are known: find the
 * kernel's types (load_types.c), make the maps (load_maps.c), put numbers into the
 * instructions (load_link.c), load (load_programs.c), attach, and make rings
 * (load_rings.c).  Programs at all system calls are attached when there is a watcher
 * (load_watch.c). */
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

static void loading_init(struct loading *l, const struct image *image, bool own)
{
	*l = (struct loading){
		.image = image,
		.own = own,
		.types = -1,
		.rodata = -1,
	};
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

static int attach(struct ebpf *e, const struct image_program *p, int *program)
{
	int hook = load_hook_of(p);
	int link;

	if (hook >= 0) {
		e->hook_programs[hook] = TAKE_FD(*program);
		return 0;
	}
	if (e->n_links == EBPF_LINKS_MAX)
		return -E2BIG;
	link = bpf_attach(*program,
			  p->attach == IMAGE_RAW_TP ? p->target : NULL);
	if (link < 0)
		return link == -ENOENT && load_is_optional(p) ? 0 : link;
	e->links[e->n_links++] = link;
	return 0;
}

static int attach_image(struct ebpf *e, const struct loading *l)
{
	int programs[EBPF_LINKS_MAX];
	int r;

	for (size_t i = 0; i < EBPF_LINKS_MAX; i++)
		programs[i] = -1;
	r = load_programs(l, e->layer != EBPF_TRAMPOLINE, programs);
	for (size_t i = 0; i < l->image->n_programs; i++) {
		if (r == 0 && programs[i] >= 0)
			r = attach(e, &l->image->programs[i], &programs[i]);
		closep(&programs[i]);
	}
	return r;
}

static void detach(struct ebpf *e)
{
	while (e->n_links)
		(void)close(e->links[--e->n_links]);
}

/* Trampolines where the kernel has them; otherwise nothing is attached. */
static int try_trampolines(struct ebpf *e, const struct loading *base,
			   const struct btf *btf)
{
	CLEANUP(loading_release) struct loading l;
	int r = load_try_trampoline(btf);

	loading_init(&l, &ebpf_trampoline, base->own);
	if (r < 0)
		return r;
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
	e->bodies = TAKE_FD(l->maps[load_map_index(l->image, "bodies")]);
	if (l->own)
		e->maps.rings[0] = TAKE_FD(
			l->maps[load_map_index(l->image, "own_ring")]);
}

/* ---- the whole ---- */

/* The maps exist: load, attach, and make a first ring meanwhile. */
static int fill(struct ebpf *e, struct loading *l, const struct btf *btf)
{
	int r;

	if (!l->own) {
		e->rings = fcntl(l->maps[load_map_index(l->image, "rings")],
				 F_DUPFD_CLOEXEC, 0);
		load_start_ring(e);
	}
	r = find_fields(l, btf);
	if (r == 0)
		r = attach_all(e, l, btf);
	return r < 0 || l->own ? r : load_ring_in_place(e);
}

static int make_maps(struct loading *l)
{
	l->types = bpf_types_load(l->image->types, l->image->types_len);
	return l->types < 0 ? l->types : load_make_maps(l);
}

/* The maps exist, and are those of the usual image; older kernels need another. */
static int load_image(struct ebpf *e, struct loading *l, const struct btf *btf)
{
	int r = 0;

	if (btf_function(btf, "bpf_rdonly_cast") < 0) {
		bool own = l->own;

		loading_release(l);
		loading_init(l, &ebpf_tracepoint_old, own);
		r = make_maps(l);
	}
	if (r == 0)
		r = fill(e, l, btf);
	if (r == 0)
		keep_maps(e, l);
	return r;
}

static int load(struct ebpf *e, bool own, struct roar_error *err)
{
	CLEANUP(loading_release) struct loading l;
	struct load_types types = { 0 };
	int maps, r;

	loading_init(&l, &ebpf_tracepoint, own);
	load_types_start(&types);
	maps = make_maps(&l);
	r = load_types_await(&types);
	if (r < 0)
		return error_set(err, r,
				 "the kernel does not provide its types "
				 "(/sys/kernel/btf/vmlinux): %s",
				 strerror(-r));
	r = maps < 0 ? maps : load_image(e, &l, types.btf);
	btf_close(types.btf);
	if (r < 0)
		return error_set(err, r, "eBPF programs are refused here: %s",
				 strerror(-r));
	return 0;
}

int ebpf_open(enum ebpf_how how, struct ebpf **ret_ebpf, struct roar_error *err)
{
	CLEANUP(ebpf_closep) struct ebpf *e = calloc(1, sizeof(*e));
	int r;

	if (!e)
		return error_set(err, -ENOMEM, "out of memory");
	e->rings = e->bodies = e->hook_ids = e->folder = -1;
	atomic_init(&e->first_ring, -1);
	for (size_t i = 0; i < EBPF_MAPS; i++)
		*ebpf_map_slot(e, i) = -1;
	for (size_t i = 0; i < EBPF_HOOKS; i++)
		e->hook_programs[i] = e->hooks[i] = -1;
	r = how == EBPF_PINNED ? pin_get(e) : load(e, how == EBPF_OWN, err);
	if (r < 0 && how == EBPF_PINNED)
		return error_set(err, r, "no eBPF programs are pinned here");
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
	e->n_watchers = e->n_watchers > 0;
	ebpf_unwatch(e);
	detach(e);
	for (size_t i = 0; i < EBPF_HOOKS; i++)
		closep(&e->hook_programs[i]);
	closep(&e->bodies);
	closep(&e->hook_ids);
	closep(&e->folder);
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
