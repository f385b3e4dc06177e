/* bpf.h - the bpf() system call, one function per command we use.
 *
 * All return a descriptor or 0, or a negative errno.  The kernel makes all descriptors
 * close-on-exec. */
#ifndef ROAR_TRACE_EBPF_BPF_H
#define ROAR_TRACE_EBPF_BPF_H

#include <linux/bpf.h>
#include <stddef.h>

/* The call itself, for commands with many attributes. */
int bpf_call(enum bpf_cmd cmd, union bpf_attr *attr, size_t size);

int bpf_map_lookup(int map, const void *key, void *value);
int bpf_map_update(int map, const void *key, const void *value, __u64 flags);
int bpf_map_delete(int map, const void *key);
/* The key after `key` (NULL: the first), or -ENOENT. */
int bpf_map_next_key(int map, const void *key, void *next);
int bpf_map_freeze(int map);
int bpf_ring_new(size_t bytes); /* a ring buffer; a power of two */
int bpf_types_load(const void *data, size_t len);
int bpf_attach(int program, const char *tracepoint); /* NULL: the target it was
						      * loaded for; returns a
						      * link */
int bpf_pin(int fd, const char *path);
int bpf_get(const char *path); /* opens a pinned object */
int bpf_array_new(const char *name, size_t value_bytes, unsigned n);

/* Links and programs have ids; the kernel does not reuse an id for a long time. */
int bpf_link_by_id(__u32 id); /* -ENOENT: it does not exist any more */
int bpf_link_ids(int link, __u32 *ret_id, __u32 *ret_program_id);
int bpf_program_id(int program, __u32 *ret_id);

#endif
