/* headroom.c - see headroom.h
 *
 * The machine's is what /proc/meminfo calls available, and swap.  Of a control group it
 * is the limit less the use, where files in the cache count as free: they are given up
 * first.  A group's limit holds for all below it, so every folder on the way up has a say.
 * Both versions of control groups are read; in a container the way may lead nowhere, and
 * then the top of what is mounted is the container's own. */
#include "arena/headroom.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"

enum { TEXT = 8192 };

struct version {
	const char *folder; /* below /sys/fs/cgroup */
	const char *limit;
	const char *use;
	const char *cached; /* in memory.stat */
};

static const struct version v1 = { "/memory", "memory.limit_in_bytes",
				   "memory.usage_in_bytes",
				   "total_inactive_file" };
static const struct version v2 = { "", "memory.max", "memory.current",
				   "inactive_file" };

static int read_text(const char *folder, const char *name, char *text)
{
	CLEANUP(closep) int fd = -1;
	char path[PATH_MAX];
	ssize_t n;

	n = snprintf(path, sizeof(path), "%s/%s", folder, name);
	if (n >= (ssize_t)sizeof(path))
		return -ENAMETOOLONG;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -errno : fd_read_all(fd, text, TEXT - 1);
	if (n < 0)
		return (int)n;
	text[n] = '\0';
	return 0;
}

/* The number behind a word at the beginning of a line, 0 when it is not there. */
static uint64_t number_after(const char *text, const char *word)
{
	size_t len = strlen(word);

	for (; *text; text += strcspn(text, "\n"), text += *text == '\n')
		if (strncmp(text, word, len) == 0 &&
		    (text[len] == ' ' || text[len] == ':'))
			return strtoull(text + len + 1, NULL, 10);
	return 0;
}

static uint64_t of_machine(const char *proc)
{
	char text[TEXT];
	uint64_t kib;

	if (read_text(proc, "meminfo", text) < 0)
		return UINT64_MAX;
	kib = number_after(text, "MemAvailable");
	if (!kib)
		return UINT64_MAX;
	return (kib + number_after(text, "SwapFree")) * 1024;
}

/* "max" is no number, and version 1 has a very large one for it: both are none. */
static uint64_t of_group(const char *folder, const struct version *v)
{
	uint64_t limit;
	uint64_t use;
	char text[TEXT];
	char *end;

	if (read_text(folder, v->limit, text) < 0)
		return UINT64_MAX;
	limit = strtoull(text, &end, 10);
	if (end == text || limit >= INT64_MAX / 2 ||
	    read_text(folder, v->use, text) < 0)
		return UINT64_MAX;
	use = strtoull(text, NULL, 10);
	if (read_text(folder, "memory.stat", text) == 0) {
		uint64_t cached = number_after(text, v->cached);

		use -= cached < use ? cached : use;
	}
	return limit > use ? limit - use : 0;
}

/* The least of a group and all above it. */
static uint64_t of_groups(const char *cgroup, const struct version *v,
			  const char *group)
{
	uint64_t least = UINT64_MAX;
	char folder[PATH_MAX];
	size_t top;
	int n;

	n = snprintf(folder, sizeof(folder), "%s%s", cgroup, v->folder);
	if (n < 0 || n >= (int)sizeof(folder))
		return least;
	top = (size_t)n;
	if (!strstr(group, "/..") && strlen(group) < sizeof(folder) - top)
		memcpy(folder + top, group, strlen(group) + 1);
	for (;;) {
		uint64_t here = of_group(folder, v);
		char *slash = strrchr(folder + top, '/');

		if (here < least)
			least = here;
		if (!slash)
			return least;
		*slash = '\0';
	}
}

/* Lines are "4:memory:/group" (version 1) and "0::/group" (version 2). */
static uint64_t of_line(const char *cgroup, char *line)
{
	char *names = strchr(line, ':');
	char *group = names ? strchr(names + 1, ':') : NULL;

	if (!group)
		return UINT64_MAX;
	*group++ = '\0';
	if (strcmp(names + 1, "") == 0)
		return of_groups(cgroup, &v2, group);
	if (strcmp(names + 1, "memory") == 0)
		return of_groups(cgroup, &v1, group);
	return UINT64_MAX;
}

uint64_t headroom_of(const char *proc, const char *cgroup)
{
	uint64_t least = of_machine(proc);
	char text[TEXT];
	char *rest = NULL;

	if (read_text(proc, "self/cgroup", text) < 0)
		return least;
	for (char *line = strtok_r(text, "\n", &rest); line;
	     line = strtok_r(NULL, "\n", &rest)) {
		uint64_t bytes = of_line(cgroup, line);

		if (bytes < least)
			least = bytes;
	}
	return least;
}

/* A sixteenth stays: the kernel's figure is an estimate, and others live too. */
uint64_t headroom_bytes(void)
{
	uint64_t bytes = headroom_of("/proc", "/sys/fs/cgroup");

	return bytes - bytes / 16;
}
