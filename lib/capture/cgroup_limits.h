/* cgroup_limits.h - the container that this process is in, and the limits of its cgroup. */
#ifndef ROAR_CAPTURE_CGROUP_LIMITS_H
#define ROAR_CAPTURE_CGROUP_LIMITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cgroup_limits {
	double cpus; /* CPU time per time; 0: no limit */
	uint64_t memory_bytes; /* 0: no limit */
};

/* The tightest limits of the cgroup and those above it.  False: there are none, or they
 * cannot be read.  `root` is put before /proc and /sys. */
bool cgroup_limits_find(const char *root, struct cgroup_limits *ret);

/* False: not in a container.  `image` is "" when it is not known. */
bool container_find(const char *root, char *kind, size_t kind_size, char *image,
		    size_t image_size);

#endif
