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
	LOAD_NAMES_MAX = 256, /* names of kernel types it needs */
};

/* An object that is being loaded. */
struct loading {
	const struct image *image;
	const struct btf *btf; /* the kernel's types */
	bool own; /* for one run alone: EBPF_OWN */
	int types; /* the object's own, loaded */
	int rodata; /* map of the constants */
	int maps[LOAD_MAPS_MAX]; /* by their index in the image */
	int64_t fields[LOAD_NAMES_MAX]; /* offsets, or -ENOENT */
};

struct ebpf {
	struct ebpf_maps maps;
	int rings; /* map of the rings; -1 when pinned */
	pthread_t ring_thread; /* makes the first ring */
	bool ring_started; /* ring_thread runs and was not joined yet */
	_Atomic int first_ring; /* written by ring_thread, taken by the owner:
				 * made and not yet among the maps */
	int ring_error; /* written by ring_thread; read after the join */
	enum ebpf_layer layer;
	int trampoline_error; /* why there is no trampoline; else 0 */
	int links[EBPF_LINKS_MAX]; /* of programs that are always attached */
	size_t n_links;
	int bodies; /* tail-call targets of other programs, as long as this is
		     * open */
	int hook_programs[EBPF_HOOKS]; /* -1: trampolines are used instead */
	int hooks[EBPF_HOOKS]; /* their links, while there are watchers */
	unsigned n_watchers;
	int hook_ids; /* map of the ids of hooks; -1: not pinned */
	int folder; /* directory of the pins, held for its lock; -1: not pinned */
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

/* Reads the kernel's types in a thread of its own. */
struct load_types {
	struct btf *btf; /* the result, after the join; the caller closes it */
	int error;
	pthread_t thread;
	bool started; /* the thread runs and was not joined yet */
};

/* Each start needs an await.  0 or a negative errno. */
void load_types_start(struct load_types *t);
int load_types_await(struct load_types *t);

/* ---- load_maps.c ---- */

int load_make_maps(struct loading *l);

/* The second object has the same maps as the first. */
int load_share_maps(struct loading *to, const struct loading *from);

/* The index of a map in its image, or -ENOENT. */
int load_map_index(const struct image *image, const char *name);

/* ---- load_link.c ---- */

/* The program's instructions for this kernel; the caller frees them.  NULL when out of
 * memory. */
struct bpf_insn *load_link(const struct loading *l,
			   const struct image_program *p);

/* ---- load_programs.c ---- */

/* The name of a program's target in the kernel's types. */
void load_target_name(const struct image_program *p, char *buf, size_t size);

/* The index of a program at all system calls; -1: it is not one. */
int load_hook_of(const struct image_program *p);
extern const char *const load_hook_targets[EBPF_HOOKS];

/* May the kernel lack the target? */
bool load_is_optional(const struct image_program *p);

/* Does the kernel accept programs at the ends of its functions?  Many do not: this
 * tries the shortest one.  0 or a negative errno. */
int load_try_trampoline(const struct btf *btf);

/* Loads programs into the kernel, and puts tail-call targets into their map; `hooks`:
 * also the programs at all system calls.  0, or the negative errno of the first
 * refusal; the caller closes loaded programs in any case. */
int load_programs(const struct loading *l, bool hooks,
		  int programs[EBPF_LINKS_MAX]);

/* ---- load_rings.c ---- */

/* Makes rings up to that number and puts them into the map of the programs; each takes
 * the kernel 10 ms. */
int load_add_rings(struct ebpf *e, int rings, unsigned n);

/* Makes the first ring in a thread of its own; is it in the map; waits until it is.  0
 * or a negative errno. */
void load_start_ring(struct ebpf *e);
int load_ring_in_place(struct ebpf *e);
int load_await_ring(struct ebpf *e);

/* ---- pin.c ---- */

/* Opens the pinned programs.  0, or -ENOENT. */
int pin_get(struct ebpf *e);

#endif
