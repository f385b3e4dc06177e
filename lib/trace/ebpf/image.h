/* image.h - a compiled BPF object as embed.py writes it in C.
 *
 * The instructions are complete except for three things that only the running kernel
 * has: descriptors of maps, offsets of fields in its types, and the ids of the types to
 * which programs are attached.  The lists say where they go. */
#ifndef ROAR_TRACE_EBPF_IMAGE_H
#define ROAR_TRACE_EBPF_IMAGE_H

#include <stddef.h>
#include <stdint.h>

enum { IMAGE_PATH_MAX = 4 }; /* members on the way to a field */

enum image_attach {
	IMAGE_TP_BTF, /* a tracepoint, with typed arguments */
	IMAGE_RAW_TP, /* a tracepoint, with plain numbers */
	IMAGE_FENTRY, /* the start of a kernel function */
	IMAGE_FEXIT, /* and the end of one */
};

enum image_core_kind {
	IMAGE_OFFSET = 0, /* bytes from the start of the struct */
	IMAGE_EXISTS = 2, /* 1 or 0 */
	IMAGE_TYPE = 7, /* number of the struct itself; no path */
	IMAGE_FUNCTION = 100, /* a call of the kernel's function of that name */
};

/* Instruction `insn` loads the address of a map or, map -1, of a constant. */
struct image_ref {
	uint32_t insn;
	int32_t map;
	uint32_t offset; /* of the constant */
};

/* Instruction `insn` needs information about a field. */
struct image_core {
	uint32_t insn;
	uint32_t kind; /* enum image_core_kind */
	uint32_t field; /* index into fields */
};

/* A function starts at `insn`; its type in the object's own types. */
struct image_func {
	uint32_t insn;
	uint32_t type;
};

struct image_program {
	const char *name;
	enum image_attach attach;
	const char *target; /* tracepoint or function */
	const uint64_t *insns;
	const struct image_ref *refs;
	const struct image_core *core;
	const struct image_func *funcs;
	uint32_t n_insns;
	uint32_t n_refs;
	uint32_t n_core;
	uint32_t n_funcs;
};

struct image_map {
	const char *name;
	uint32_t type;
	uint32_t key_size;
	uint32_t value_size;
	uint32_t max_entries;
	uint32_t flags;
	uint32_t key_type; /* in the object's own types */
	uint32_t value_type;
	uint32_t inner_type; /* map type of the values; 0: not a map of maps */
	uint32_t inner_entries;
};

struct image_field {
	const char *type; /* "task_struct" */
	const char *path[IMAGE_PATH_MAX]; /* "fs", then NULL */
	uint32_t extra; /* bytes into it: an element of an array */
};

struct image {
	const char *id; /* different in each build */
	const struct image_program *programs;
	size_t n_programs;
	const struct image_map *maps;
	size_t n_maps;
	const struct image_field *fields;
	size_t n_fields;
	const uint8_t *types; /* the object's own types, in the kernel's form */
	size_t types_len;
	const uint8_t *rodata; /* constants */
	size_t rodata_len;
	size_t has_own_ring; /* offset of this constant in rodata */
};

/* Programs at tracepoints, which are sufficient; and the same for kernels before 6.2,
 * which have fewer direct reads. */
extern const struct image ebpf_tracepoint;
extern const struct image ebpf_tracepoint_old;

/* Programs at the ends of single system calls, instead of the program at the end of all
 * calls; the maps have the same names. */
extern const struct image ebpf_trampoline;

#endif
