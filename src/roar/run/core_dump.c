/* core_dump.c - see core_dump.h */
#include "run/core_dump.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/str.h"
#include "event/event.h"

enum { TICK_NS = 20 * 1000 * 1000 }; /* file times lag that much */

/* The first line of a file in /proc; "" when it cannot be read. */
static void read_line(const char *path, char *buf, size_t size)
{
	CLEANUP(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, buf, size - 1);

	buf[n < 0 ? 0 : n] = '\0';
	buf[strcspn(buf, "\n")] = '\0';
}

/* A character that a glob takes as it is. */
static void add_plain(struct str *out, char c)
{
	if (strchr("*?[\\", c))
		str_addc(out, '\\');
	str_addc(out, c);
}

static void add_all_plain(struct str *out, const char *text)
{
	for (; *text; text++)
		add_plain(out, *text);
}

/* The pattern as a glob: what we do not know (the name of the program, the time)
 * may be anything. */
static void add_glob(struct str *out, const char *pattern, int32_t pid)
{
	bool has_pid = false;
	char uses_pid[8];

	for (const char *p = pattern; *p; p++) {
		if (*p != '%') {
			add_plain(out, *p);
			continue;
		}
		switch (*++p) {
		case '\0':
			return;
		case '%':
			str_addc(out, '%');
			break;
		case 'p':
			str_addf(out, "%d", (int)pid);
			has_pid = true;
			break;
		default:
			str_addc(out, '*');
			break;
		}
	}
	read_line("/proc/sys/kernel/core_uses_pid", uses_pid, sizeof(uses_pid));
	if (!has_pid && strcmp(uses_pid, "0") != 0)
		str_addf(out, ".%d", (int)pid);
}

/* The youngest of the files that is not older than the run. */
static const char *youngest(const glob_t *found, int64_t since_ns)
{
	const char *best = NULL;

	for (size_t i = 0; i < found->gl_pathc; i++) {
		struct stat st;

		if (lstat(found->gl_pathv[i], &st) < 0 ||
		    !S_ISREG(st.st_mode) ||
		    clock_timespec_ns(st.st_mtim) < since_ns)
			continue;
		since_ns = clock_timespec_ns(st.st_mtim);
		best = found->gl_pathv[i];
	}
	return best;
}

int core_dump_find(const struct event *exit, const char *cwd, int64_t since_ns,
		   struct str *out)
{
	CLEANUP(str_release) struct str pattern = STR_INIT;
	CLEANUP(globfree) glob_t found = { 0 };
	CLEANUP(freep) char *real = NULL;
	const char *path = NULL;
	char text[256];

	read_line("/proc/sys/kernel/core_pattern", text, sizeof(text));
	if (text[0] == '|' || text[0] == '@')
		return 0;
	if (text[0] != '/') {
		add_all_plain(&pattern, cwd);
		str_addc(&pattern, '/');
	}
	add_glob(&pattern, text[0] ? text : "core", exit->pid);
	if (str_error(&pattern) == 0 &&
	    glob(pattern.data, GLOB_NOSORT, NULL, &found) == 0)
		path = youngest(&found, since_ns - TICK_NS);
	real = path ? realpath(path, NULL) : NULL;
	if (!real)
		return -ENOENT;
	str_adds(out, real);
	return str_error(out) < 0 ? -ENOMEM : 1;
}
