/* btf.h - finds types and fields of the running kernel.
 *
 * The kernel describes its own types in /sys/kernel/btf/vmlinux: five megabytes, a
 * hundred thousand types.  A general library reads all of it into tables, which takes
 * 40 ms.  We need a few dozen names, known beforehand, and find them in one pass of
 * little more than 1 ms.
 *
 *	header: magic, lengths of the two parts
 *	types:  12 bytes each (name, kind and count, size or type), followed by
 *	        what the kind needs, e.g. 12 bytes per member of a struct; their
 *	        numbers are their order, from 1
 *	strings: names, by offset
 *
 * The kernel is trusted, but the file may be truncated: offsets are checked. */
#ifndef ROAR_TRACE_EBPF_BTF_H
#define ROAR_TRACE_EBPF_BTF_H

#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

struct btf;
struct image_field;

/* Reads the types at `path` (NULL: the kernel's) and finds those of the given
 * names: structs and unions, typedefs, functions.  `names` are only used during
 * the call. */
int btf_open(const char *path, const char *const *names, size_t n_names,
	     struct btf **ret_btf);
void btf_close(struct btf *b);
DEFINE_CLEANUP(struct btf *, btf_close)

/* Byte offset of a field, or -ENOENT. */
int64_t btf_field(const struct btf *b, const struct image_field *field);

/* Number of the struct, typedef or function of that name, or -ENOENT. */
int btf_struct(const struct btf *b, const char *name);
int btf_typedef(const struct btf *b, const char *name);
int btf_function(const struct btf *b, const char *name);

#endif
