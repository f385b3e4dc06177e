/* bpf.c - see bpf.h */
#include "trace/ebpf/bpf.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

static __u64 address(const void *p)
{
	return (__u64)(uintptr_t)p;
}

int bpf_call(enum bpf_cmd cmd, union bpf_attr *attr, size_t size)
{
	int fd = (int)syscall(SYS_bpf, cmd, attr, size);

	return fd < 0 ? -errno : fd;
}

static int on_element(enum bpf_cmd cmd, int map, const void *key,
		      const void *value, __u64 flags)
{
	union bpf_attr attr = {
		.map_fd = (__u32)map,
		.key = address(key),
		.value = address(value),
		.flags = flags,
	};

	return bpf_call(cmd, &attr, sizeof(attr));
}

int bpf_map_lookup(int map, const void *key, void *value)
{
	return on_element(BPF_MAP_LOOKUP_ELEM, map, key, value, 0);
}

int bpf_map_update(int map, const void *key, const void *value, __u64 flags)
{
	return on_element(BPF_MAP_UPDATE_ELEM, map, key, value, flags);
}

int bpf_map_delete(int map, const void *key)
{
	return on_element(BPF_MAP_DELETE_ELEM, map, key, NULL, 0);
}

int bpf_map_next_key(int map, const void *key, void *next)
{
	return on_element(BPF_MAP_GET_NEXT_KEY, map, key, next, 0);
}

int bpf_map_freeze(int map)
{
	union bpf_attr attr = { .map_fd = (__u32)map };

	return bpf_call(BPF_MAP_FREEZE, &attr, sizeof(attr));
}

int bpf_ring_new(size_t bytes)
{
	union bpf_attr attr = {
		.map_type = BPF_MAP_TYPE_RINGBUF,
		.max_entries = (__u32)bytes,
		.map_name = "roar_ring",
	};

	return bpf_call(BPF_MAP_CREATE, &attr, sizeof(attr));
}

int bpf_types_load(const void *data, size_t len)
{
	union bpf_attr attr = { .btf = address(data), .btf_size = (__u32)len };

	return bpf_call(BPF_BTF_LOAD, &attr, sizeof(attr));
}

int bpf_attach(int program, const char *tracepoint)
{
	union bpf_attr attr = {
		.raw_tracepoint = { .name = address(tracepoint),
				    .prog_fd = (__u32)program },
	};

	return bpf_call(BPF_RAW_TRACEPOINT_OPEN, &attr, sizeof(attr));
}

int bpf_pin(int fd, const char *path)
{
	union bpf_attr attr = {
		.pathname = address(path),
		.bpf_fd = (__u32)fd,
	};

	return bpf_call(BPF_OBJ_PIN, &attr, sizeof(attr));
}

int bpf_get(const char *path)
{
	union bpf_attr attr = { .pathname = address(path) };

	return bpf_call(BPF_OBJ_GET, &attr, sizeof(attr));
}

int bpf_array_new(const char *name, size_t value_bytes, unsigned n)
{
	union bpf_attr attr = {
		.map_type = BPF_MAP_TYPE_ARRAY,
		.key_size = sizeof(__u32),
		.value_size = (__u32)value_bytes,
		.max_entries = n,
	};

	(void)snprintf(attr.map_name, sizeof(attr.map_name), "%s", name);
	return bpf_call(BPF_MAP_CREATE, &attr, sizeof(attr));
}

/* ---- numbers ---- */

int bpf_link_by_id(__u32 id)
{
	union bpf_attr attr = { .link_id = id };

	return bpf_call(BPF_LINK_GET_FD_BY_ID, &attr, sizeof(attr));
}

static int get_info(int fd, void *info, size_t size)
{
	union bpf_attr attr = { .info = {
					.bpf_fd = (__u32)fd,
					.info_len = (__u32)size,
					.info = address(info),
				} };

	return bpf_call(BPF_OBJ_GET_INFO_BY_FD, &attr, sizeof(attr));
}

int bpf_link_ids(int link, __u32 *ret_id, __u32 *ret_program_id)
{
	struct bpf_link_info info = { 0 };
	int r = get_info(link, &info, sizeof(info));

	if (r < 0)
		return r;
	*ret_id = info.id;
	*ret_program_id = info.prog_id;
	return 0;
}

int bpf_program_id(int program, __u32 *ret_id)
{
	struct bpf_prog_info info = { 0 };
	int r = get_info(program, &info, sizeof(info));

	if (r < 0)
		return r;
	*ret_id = info.id;
	return 0;
}
