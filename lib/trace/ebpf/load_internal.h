/* load_internal.h - shared by the load*.c files and pin.c */
#ifndef ROAR_TRACE_EBPF_LOAD_INTERNAL_H
#define ROAR_TRACE_EBPF_LOAD_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/ebpf/image.h"
#include "trace/ebpf/load.h"

struct bpf_insn;
struct btf;

enum {
	EBPF_HOOKS = 2, /* at the entry and the exit of every system call */
	EBPF_LINKS_MAX = 96,
	LOAD_MAPS_MAX = 16, /* of an object */
	LOAD_NAMES_MAX = 256, /* it wants to know of the kernel */
};

/* An object on its way into the kernel. */
struct loading {
	const struct image *image;
	const struct btf *btf; /* the kernel's types */
	bool own; /* for one run alone: EBPF_OWN */
	int types; /* the object's own, loaded */
	int rodata; /* map of the constants */
	int maps[LOAD_MAPS_MAX]; /* by their place in the image */
	int64_t fields[LOAD_NAMES_MAX]; /* offsets, or -ENOENT */
};

struct ebpf {
	struct ebpf_maps maps;
	int rings; /* map of the rings; -1 when pinned */
	pthread_t ring_thread; /* it puts the first ring there */
	bool ring_started; /* and has not been joined */
	_Atomic int first_ring; /* made there and not yet among the maps */
	int ring_error; /* to be read when it has been joined */
	enum ebpf_layer layer;
	int trampoline_error; /* why not that one; else 0 */
	int links[EBPF_LINKS_MAX]; /* of programs that are always hooked in */
	size_t n_links;
	int bodies; /* programs that others go on with, as long as this is open */
	int hook_programs[EBPF_HOOKS]; /* -1: trampolines do their work */
	int hooks[EBPF_HOOKS]; /* their links, while there are watchers */
	unsigned n_watchers;
	int hook_ids; /* map of the numbers of hooks; -1: not pinned */
	int folder; /* of the pins, for its lock; -1: not pinned */
};

/* All descriptors of struct ebpf_maps in a row, and their names. */
enum { EBPF_MAPS = 2 + EBPF_RINGS };
_Static_assert(sizeof(struct ebpf_maps) == EBPF_MAPS * sizeof(int), "a row");
extern const char *const ebpf_map_names[EBPF_MAPS];

static inline int *ebpf_map_slot(struct ebpf *e, size_t i)
{
	return &e->maps.members + i;
}

/* ---- load_types.c ---- */

/* The kernel's types on their way to us. */
struct load_types {
	struct btf *btf; /* when they are here; to be closed */
	int error;
	pthread_t thread;
	bool started; /* and has not been joined */
};

/* After a start there must be an await; 0 or a negative errno. */
void load_types_start(struct load_types *t);
int load_types_await(struct load_types *t);

/* ---- load_maps.c ---- */

int load_make_maps(struct loading *l);

/* The second object has the same maps as the first. */
int load_share_maps(struct loading *to, const struct loading *from);

/* The place of a map in its image, or -ENOENT. */
int load_map_index(const struct image *image, const char *name);

/* ---- load_link.c ---- */

/* The program's instructions for this kernel, to be freed; NULL without memory. */
struct bpf_insn *load_link(const struct loading *l,
			   const struct image_program *p);

/* ---- load_programs.c ---- */

/* What a program is attached to, as the kernel's types call it. */
void load_target_name(const struct image_program *p, char *buf, size_t size);

/* Which of those at all system calls is it?  -1: none. */
int load_hook_of(const struct image_program *p);
extern const char *const load_hook_targets[EBPF_HOOKS];

/* May the kernel lack what it is attached to? */
bool load_is_optional(const struct image_program *p);

/* Does the kernel take programs at the ends of its functions?  Many do not: this asks
 * with the shortest there is.  0 or a negative errno. */
int load_try_trampoline(const struct btf *btf);

/* Loads programs into the kernel, and puts bodies where others find them; `hooks`: also
 * those at all system calls.  0, or the negative errno of the first refusal; what was
 * loaded is to be closed in any case. */
int load_programs(const struct loading *l, bool hooks,
		  int programs[EBPF_LINKS_MAX]);

/* ---- load_rings.c ---- */

/* Makes rings up to that number and puts them where the programs find them; each
 * takes the kernel 10 ms. */
int load_add_rings(struct ebpf *e, int rings, unsigned n);

/* Makes the first one in a thread of its own; is it in place; is it there for good?
 * 0 or a negative errno. */
void load_start_ring(struct ebpf *e);
int load_ring_in_place(struct ebpf *e);
int load_await_ring(struct ebpf *e);

/* ---- pin.c ---- */

/* Opens what is pinned.  0, or -ENOENT. */
int pin_get(struct ebpf *e);

#endif
