/* cgroup_limits.c - see cgroup_limits.h */
#include "capture/cgroup_limits.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/macros.h"
#include "base/str.h"
#include "capture/package_database.h"

enum { TEXT_MAX = 64 * 1024, DEPTH_MAX = 64 };

/* More than any machine has: version 1 writes such a number for "no limit". */
static const uint64_t no_limit = UINT64_C(1) << 60;

static bool read_text(const char *root, const char *path, struct str *out)
{
	CLEANUP(str_release) struct str full = STR_INIT;

	str_addf(&full, "%s%s", root, path);
	return str_error(&full) == 0 &&
	       package_file_read(AT_FDCWD, full.data, TEXT_MAX, out) == 0;
}

static bool read_below(const char *root, const char *base, const char *group,
		       const char *name, struct str *out)
{
	char path[4096];

	(void)snprintf(path, sizeof(path), "%s%s/%s", base,
		       strcmp(group, "/") == 0 ? "" : group, name);
	return read_text(root, path, out);
}

static void lower_cpus(struct cgroup_limits *l, double quota, double period)
{
	double cpus = period > 0 ? quota / period : 0;

	if (cpus > 0 && (l->cpus <= 0 || cpus < l->cpus))
		l->cpus = cpus;
}

static void lower_memory(struct cgroup_limits *l, const char *text)
{
	uint64_t bytes = strtoull(text, NULL, 10);

	if (bytes && bytes < no_limit &&
	    (!l->memory_bytes || bytes < l->memory_bytes))
		l->memory_bytes = bytes;
}

/* Version 2: "max 100000" or "200000 100000", and "max" or a number. */
static void read_group(const char *root, const char *group,
		       struct cgroup_limits *l)
{
	CLEANUP(str_release) struct str text = STR_INIT;
	char *end;
	double quota;

	if (read_below(root, "/sys/fs/cgroup", group, "cpu.max", &text)) {
		quota = strtod(str_cstr(&text), &end);
		lower_cpus(l, quota, strtod(end, NULL));
	}
	if (read_below(root, "/sys/fs/cgroup", group, "memory.max", &text))
		lower_memory(l, str_cstr(&text));
}

/* Version 1 has a tree per controller; in a container its root is that of the group. */
static void read_old_group(const char *root, struct cgroup_limits *l)
{
	CLEANUP(str_release) struct str text = STR_INIT;
	CLEANUP(str_release) struct str period = STR_INIT;

	if (read_text(root, "/sys/fs/cgroup/memory/memory.limit_in_bytes",
		      &text))
		lower_memory(l, str_cstr(&text));
	if (read_text(root, "/sys/fs/cgroup/cpu/cpu.cfs_quota_us", &text) &&
	    read_text(root, "/sys/fs/cgroup/cpu/cpu.cfs_period_us", &period))
		lower_cpus(l, strtod(str_cstr(&text), NULL),
			   strtod(str_cstr(&period), NULL));
}

bool cgroup_limits_find(const char *root, struct cgroup_limits *ret)
{
	CLEANUP(str_release) struct str text = STR_INIT;
	char *group, *slash;

	*ret = (struct cgroup_limits){ 0 };
	if (!read_text(root, "/proc/self/cgroup", &text))
		return false;
	group = strstr(str_cstr(&text), "0::/");
	if (group) {
		group += 3;
		group[strcspn(group, "\n")] = '\0';
	}
	for (int i = 0; group && i < DEPTH_MAX; i++) {
		read_group(root, *group ? group : "/", ret);
		slash = strrchr(group, '/');
		if (!slash || !group[1])
			break;
		slash[slash == group] = '\0';
	}
	read_old_group(root, ret);
	return ret->cpus > 0 || ret->memory_bytes;
}

/* ---- containers ---- */

static bool is_there(const char *root, const char *path)
{
	CLEANUP(str_release) struct str full = STR_INIT;

	str_addf(&full, "%s%s", root, path);
	return str_error(&full) == 0 && access(full.data, F_OK) == 0;
}

/* By the name of a cgroup of the first process. */
static const char *kind_by_group(const char *root)
{
	static const struct {
		const char *part;
		const char *kind;
	} known[] = {
		{ "kubepods", "kubernetes" },
		{ "docker", "docker" },
		{ "libpod", "podman" },
		{ "containerd", "containerd" },
		{ "/lxc", "lxc" },
	};
	CLEANUP(str_release) struct str text = STR_INIT;

	if (!read_text(root, "/proc/1/cgroup", &text))
		return NULL;
	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		if (strstr(str_cstr(&text), known[i].part))
			return known[i].kind;
	return NULL;
}

/* "image=..." or "image=\"...\"" in Podman's file. */
static void take_image(const char *root, char *image, size_t size)
{
	CLEANUP(str_release) struct str text = STR_INIT;
	const char *at;

	if (!read_text(root, "/run/.containerenv", &text))
		return;
	at = strstr(str_cstr(&text), "image=");
	if (!at)
		return;
	at += strlen("image=");
	at += *at == '"';
	(void)snprintf(image, size, "%.*s", (int)strcspn(at, "\"\n"), at);
}

bool container_find(const char *root, char *kind, size_t kind_size, char *image,
		    size_t image_size)
{
	static const char *const apptainer[] = { "APPTAINER_CONTAINER",
						 "SINGULARITY_CONTAINER" };
	CLEANUP(str_release) struct str text = STR_INIT;
	const char *found = NULL;

	image[0] = '\0';
	for (size_t i = 0; !found && i < ARRAY_SIZE(apptainer); i++) {
		const char *name = getenv(apptainer[i]);

		if (!name)
			continue;
		found = "apptainer";
		(void)snprintf(image, image_size, "%s", name);
	}
	if (!found && getenv("KUBERNETES_SERVICE_HOST"))
		found = "kubernetes";
	if (!found && is_there(root, "/run/.containerenv")) {
		found = "podman";
		take_image(root, image, image_size);
	}
	if (!found && is_there(root, "/.dockerenv"))
		found = "docker";
	if (!found)
		found = kind_by_group(root);
	if (!found && read_text(root, "/run/systemd/container", &text)) {
		text.data[strcspn(text.data, "\n")] = '\0';
		found = text.data;
	}
	if (!found || !*found)
		return false;
	(void)snprintf(kind, kind_size, "%s", found);
	return true;
}
