/* load_maps.c - the maps of an object */
#include "trace/ebpf/load_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace/ebpf/bpf.h"

static int make_inner(const struct image_map *m)
{
	union bpf_attr attr = {
		.map_type = m->inner_type,
		.max_entries = m->inner_entries,
	};

	return bpf_call(BPF_MAP_CREATE, &attr, sizeof(attr));
}

static int make_map(const struct loading *l, const struct image_map *m)
{
	CLEANUP(closep) int inner = -1;
	union bpf_attr attr = {
		.map_type = m->type,
		.key_size = m->key_size,
		.value_size = m->value_size,
		.max_entries = m->max_entries,
		.map_flags = m->flags,
	};

	(void)snprintf(attr.map_name, sizeof(attr.map_name), "roar_%s",
		       m->name);
	if (l->own && strcmp(m->name, "own_ring") == 0)
		attr.max_entries = EBPF_RING_BYTES;
	if (m->inner_type) {
		inner = make_inner(m);
		if (inner < 0)
			return inner;
		attr.inner_map_fd = (__u32)inner;
	} else if (m->type == BPF_MAP_TYPE_TASK_STORAGE) {
		attr.btf_fd = (__u32)l->types;
		attr.btf_key_type_id = m->key_type;
		attr.btf_value_type_id = m->value_type;
	}
	return bpf_call(BPF_MAP_CREATE, &attr, sizeof(attr));
}

/* The verifier knows the values of frozen constants. */
static int make_rodata(struct loading *l)
{
	union bpf_attr attr = {
		.map_type = BPF_MAP_TYPE_ARRAY,
		.key_size = sizeof(__u32),
		.value_size = (__u32)l->image->rodata_len,
		.max_entries = 1,
		.map_flags = BPF_F_RDONLY_PROG,
		.map_name = "roar_constants",
	};
	CLEANUP(freep) uint8_t *constants = malloc(l->image->rodata_len);
	__u32 own = l->own;
	__u32 key = 0;
	int r;

	if (!constants)
		return -ENOMEM;
	memcpy(constants, l->image->rodata, l->image->rodata_len);
	memcpy(constants + l->image->has_own_ring, &own, sizeof(own));
	l->rodata = bpf_call(BPF_MAP_CREATE, &attr, sizeof(attr));
	if (l->rodata < 0)
		return l->rodata;
	r = bpf_map_update(l->rodata, &key, constants, BPF_ANY);
	return r < 0 ? r : bpf_map_freeze(l->rodata);
}

int load_make_maps(struct loading *l)
{
	for (size_t i = 0; i < l->image->n_maps; i++) {
		if (l->maps[i] < 0)
			l->maps[i] = make_map(l, &l->image->maps[i]);
		if (l->maps[i] < 0)
			return l->maps[i];
	}
	return make_rodata(l);
}

int load_map_index(const struct image *image, const char *name)
{
	for (size_t i = 0; i < image->n_maps; i++)
		if (strcmp(image->maps[i].name, name) == 0)
			return (int)i;
	return -ENOENT;
}

int load_share_maps(struct loading *to, const struct loading *from)
{
	for (size_t i = 0; i < to->image->n_maps; i++) {
		int j = load_map_index(from->image, to->image->maps[i].name);

		to->maps[i] = j < 0 ? j :
				      fcntl(from->maps[j], F_DUPFD_CLOEXEC, 0);
		if (to->maps[i] < 0)
			return -EBADF;
	}
	return make_rodata(to);
}
