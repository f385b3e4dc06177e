/* probe_cache.c - remembers refusals for later runs
 *
 *	roar-tracers 1 KEY
 *	hybrid 1731660000 a sentence
 *
 * KEY names everything that a refusal depends on; a file with another key is ignored.
 * The number is the time of the refusal, in seconds since 1970.  The file is small and
 * written as a whole.  Lines that cannot be parsed are skipped: a damaged file can cost
 * a better tracer for an hour at most. */
#include "trace/probe_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cache_dir.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/str.h"

enum {
	BELIEVED_S = 3600,
	FILE_MAX = 8192, /* bytes */
};

#define NAME "tracers"

/* ---- where, and for whom ---- */

/* Opens the directory, and makes it when `create`.  A descriptor or a negative errno. */
static int open_folder(bool create)
{
	CLEANUP(str_release) struct str dir = STR_INIT;
	CLEANUP(closep) int fd = -1;
	struct stat st;
	int r = cache_dir_find(&dir, create);

	if (r < 0)
		return r;
	fd = open(dir.data, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) < 0 || st.st_uid != geteuid())
		return -EPERM;
	return TAKE_FD(fd);
}

/* Boot, build, user and privileges; a container has a user namespace or less
 * capabilities, and often a seccomp filter of its own. */
static int make_key(struct str *key)
{
	struct stat exe = { 0 }, user = { 0 };
	int r = fd_read_file(AT_FDCWD, "/proc/sys/kernel/random/boot_id", 64,
			     key);

	if (r < 0)
		return r;
	while (key->len && key->data[key->len - 1] == '\n')
		key->data[--key->len] = '\0';
	(void)stat("/proc/self/exe", &exe);
	(void)stat("/proc/self/ns/user", &user);
	str_addf(key, "-%llx-%llx-%llx-%llx-%llx-%x-%llx-%x",
		 (unsigned long long)exe.st_dev, (unsigned long long)exe.st_ino,
		 (unsigned long long)exe.st_size,
		 (unsigned long long)clock_timespec_ns(exe.st_mtim),
		 (unsigned long long)user.st_ino, geteuid(),
		 probe_capabilities(),
		 (unsigned)prctl(PR_GET_SECCOMP, 0, 0, 0, 0));
	return str_error(key);
}

/* ---- reading ---- */

/* The lines after the first, when that one is ours. */
static const char *read_lines(int dir, const char *key, struct str *text)
{
	CLEANUP(str_release) struct str head = STR_INIT;

	if (fd_read_file(dir, NAME, FILE_MAX, text) < 0)
		return NULL;
	str_addf(&head, "roar-tracers 1 %s\n", key);
	if (str_error(&head) < 0 || text->len < head.len ||
	    memcmp(text->data, head.data, head.len) != 0)
		return NULL;
	return text->data + head.len;
}

/* The message of a line about that backend, if it is still valid. */
static const char *sentence_of(const char *line, const char *name)
{
	size_t len = strlen(name);
	int64_t now = clock_now_ns() / 1000000000;
	char *end;
	long long then;

	if (strncmp(line, name, len) != 0 || line[len] != ' ')
		return NULL;
	then = strtoll(line + len + 1, &end, 10);
	if (*end != ' ' || then > now || then < now - BELIEVED_S)
		return NULL;
	return end + 1;
}

bool probe_recall(const struct tracer_ops *ops, char *why, size_t size)
{
	CLEANUP(str_release) struct str text = STR_INIT;
	CLEANUP(str_release) struct str key = STR_INIT;
	CLEANUP(closep) int dir = open_folder(false);
	const char *line;

	if (dir < 0 || faccessat(dir, NAME, R_OK, 0) < 0 || make_key(&key) < 0)
		return false;
	line = read_lines(dir, key.data, &text);
	while (line && *line) {
		const char *found = sentence_of(line, ops->name);
		const char *end = strchrnul(line, '\n');

		if (found && found < end) {
			(void)snprintf(why, size, "%.*s", (int)(end - found),
				       found);
			return true;
		}
		line = *end ? end + 1 : NULL;
	}
	return false;
}

/* ---- writing ---- */

/* Errors that mean "not on this machine" and not "not now". */
static bool lasts(int error)
{
	return error == -EPERM || error == -EACCES || error == -ENOSYS ||
	       error == -EINVAL || error == -EOPNOTSUPP;
}

static void add_other_lines(struct str *out, const char *line, const char *name)
{
	size_t len = strlen(name);

	while (line && *line) {
		const char *end = strchrnul(line, '\n');

		if (strncmp(line, name, len) != 0 || line[len] != ' ') {
			str_add(out, line, (size_t)(end - line));
			str_addc(out, '\n');
		}
		line = *end ? end + 1 : NULL;
	}
}

void probe_remember(const struct tracer_ops *ops, int error, const char *why)
{
	CLEANUP(str_release) struct str old = STR_INIT;
	CLEANUP(str_release) struct str text = STR_INIT;
	CLEANUP(str_release) struct str key = STR_INIT;
	CLEANUP(closep) int dir = lasts(error) ? open_folder(true) : -1;

	if (dir < 0 || make_key(&key) < 0)
		return;
	str_addf(&text, "roar-tracers 1 %s\n", key.data);
	add_other_lines(&text, read_lines(dir, key.data, &old), ops->name);
	str_addf(&text, "%s %lld %.*s\n", ops->name,
		 (long long)(clock_now_ns() / 1000000000),
		 (int)strcspn(why, "\n"), why);
	if (str_error(&text) == 0 && text.len <= FILE_MAX)
		(void)fd_replace_file(dir, NAME, text.data, text.len, 0600);
}

void probe_forget(void)
{
	CLEANUP(closep) int dir = open_folder(false);

	if (dir >= 0)
		(void)unlinkat(dir, NAME, 0);
}
