/* note.c - see note.h */
#include "event/note.h"

#include <assert.h>
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/proc.h"
#include "base/str.h"

enum { ANCESTORS_MAX = 256, HEADING_MAX = NOTE_KIND_MAX + 16 };

#define VERSION " 1\n"

/* ---- which run ---- */

/* The length of ".../.roar/runs/UID" if the path is that of a journal; else 0. */
static size_t run_length(const char *path, size_t len)
{
	static const char folder[] = "/.roar/runs/";
	static const char ending[] = ".journal";
	size_t folder_len = strlen(folder);
	size_t ending_len = strlen(ending);
	const char *uid;

	if (len < folder_len + NOTE_UID_LEN + ending_len)
		return 0;
	len -= ending_len;
	uid = path + len - NOTE_UID_LEN;
	if (strcmp(path + len, ending) != 0 ||
	    memcmp(uid - folder_len, folder, folder_len) != 0 ||
	    strspn(uid, "0123456789abcdef") != NOTE_UID_LEN)
		return 0;
	return len;
}

/* The run whose journal this process has open.  1 when there is one, else 0. */
static int read_run(pid_t pid, struct str *ret_run)
{
	char text[64];
	char path[PATH_MAX];
	CLEANUP(closedirp) DIR *dir = NULL;
	struct dirent *entry;

	if (proc_read(pid, "comm", text, sizeof(text)) < 0 ||
	    strcmp(text, "roar\n") != 0)
		return 0;
	dir = opendir(proc_path(pid, "fd").text);
	while (dir && (entry = readdir(dir))) {
		ssize_t n = readlinkat(dirfd(dir), entry->d_name, path,
				       sizeof(path) - 1);
		size_t len;

		if (n < 0)
			continue; /* "." or closed meanwhile */
		path[n] = '\0';
		len = run_length(path, (size_t)n);
		if (!len)
			continue;
		str_add(ret_run, path, len);
		return str_error(ret_run) < 0 ? -ENOMEM : 1;
	}
	return 0;
}

int note_find_run(struct str *ret_run)
{
	pid_t pid, parent = getpid();

	for (int i = 0; i < ANCESTORS_MAX; i++) {
		int r;

		if (proc_family(parent, &pid, &parent) < 0 || parent <= 1)
			break;
		r = read_run(parent, ret_run);
		if (r)
			return r < 0 ? r : 0;
	}
	return -ESRCH;
}

/* ---- writing ---- */

/* The letters of a kind at the start of `text`; 0 when there are too many. */
static size_t kind_length(const char *text)
{
	size_t n = strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789_");

	return n <= NOTE_KIND_MAX ? n : 0;
}

static int write_file(const char *path, const char *kind, const void *payload,
		      size_t len)
{
	CLEANUP(closep)
	int fd = open(path,
		      O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW,
		      0666);
	char heading[HEADING_MAX];
	int r;

	if (fd < 0)
		return -errno;
	(void)snprintf(heading, sizeof(heading), "roar-%s" VERSION, kind);
	r = fd_write_all(fd, heading, strlen(heading));
	return r < 0 ? r : fd_write_all(fd, payload, len);
}

/* Renames, unless there is a file: -EEXIST. */
static int rename_new(const char *from, const char *to)
{
	if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0)
		return 0;
	if (errno != EINVAL && errno != ENOSYS)
		return -errno;
	/* The file system cannot; only another thread of ours could meddle. */
	if (access(to, F_OK) == 0)
		return -EEXIST;
	return rename(from, to) < 0 ? -errno : 0;
}

static int name_note(struct str *path, const char *run, const char *kind,
		     uint32_t number)
{
	str_clear(path);
	str_addf(path, "%s.%s-%d", run, kind, (int)getpid());
	if (number > 1)
		str_addf(path, ".%u", number - 1);
	return str_error(path);
}

static bool is_used(const char *run, const char *kind, uint32_t number)
{
	CLEANUP(str_release) struct str path = STR_INIT;

	return name_note(&path, run, kind, number) == 0 &&
	       access(path.data, F_OK) == 0;
}

/* The numbers of a process are used without gaps: its next one is found by doubling and
 * halving, since a long run may have thousands of notes. */
static uint32_t next_number(const char *run, const char *kind)
{
	uint32_t used = 0;
	uint32_t free_one = 1;

	while (free_one < UINT32_MAX / 2 && is_used(run, kind, free_one)) {
		used = free_one;
		free_one *= 2;
	}
	while (free_one - used > 1) {
		uint32_t middle = used + (free_one - used) / 2;

		if (is_used(run, kind, middle))
			used = middle;
		else
			free_one = middle;
	}
	return free_one;
}

static int publish(const char *written, const char *run, const char *kind,
		   uint32_t *number)
{
	CLEANUP(str_release) struct str path = STR_INIT;
	int r;

	if (*number) {
		r = name_note(&path, run, kind, *number);
		if (r < 0)
			return r;
		return rename(written, path.data) < 0 ? -errno : 0;
	}
	for (uint32_t n = next_number(run, kind); n < UINT32_MAX; n++) {
		r = name_note(&path, run, kind, n);
		if (r == 0)
			r = rename_new(written, path.data);
		if (r == -EEXIST)
			continue;
		if (r == 0)
			*number = n;
		return r;
	}
	return -EEXIST;
}

int note_write(const char *run, const char *kind, uint32_t *number,
	       const void *payload, size_t len)
{
	CLEANUP(str_release) struct str temporary = STR_INIT;
	int r;

	if (!kind_length(kind) || kind[kind_length(kind)])
		return -EINVAL;
	if (len > NOTE_MAX - HEADING_MAX)
		return -EFBIG;
	/* Its name is different in each thread, and is not that of a note. */
	str_addf(&temporary, "%s.%s-%d.%d.new", run, kind, (int)getpid(),
		 (int)gettid());
	r = str_error(&temporary);
	if (r < 0)
		return r;
	r = write_file(temporary.data, kind, payload, len);
	if (r == 0)
		r = publish(temporary.data, run, kind, number);
	if (r < 0)
		(void)unlink(temporary.data);
	return r;
}

/* ---- reading ---- */

/* The length of the kind in the name of a note of this run, or of a half-written
 * one, and where its pid starts; 0 when it is neither. */
static size_t parse_name(const char *name, const char *uid,
			 const char **ret_pid)
{
	size_t len;

	if (strncmp(name, uid, NOTE_UID_LEN) != 0 || name[NOTE_UID_LEN] != '.')
		return 0;
	name += NOTE_UID_LEN + 1;
	len = kind_length(name);
	if (!len || name[len] != '-')
		return 0;
	*ret_pid = name + len + 1;
	return len;
}

/* PID or PID.N as the pid; 0 when it is not written so. */
static int32_t parse_pid(const char *text)
{
	char *end;
	long pid;

	if (!isdigit((unsigned char)*text))
		return 0;
	errno = 0;
	pid = strtol(text, &end, 10);
	if (errno || pid > INT32_MAX)
		return 0;
	if (*end == '.' && isdigit((unsigned char)end[1]))
		end += 1 + strspn(end + 1, "0123456789");
	return *end ? 0 : (int32_t)pid;
}

char *note_payload(struct str *text, const char *kind)
{
	char heading[HEADING_MAX];
	size_t len = (size_t)snprintf(heading, sizeof(heading),
				      "roar-%s" VERSION, kind);

	if (text->len < len || memcmp(text->data, heading, len) != 0)
		return NULL;
	return text->data + len;
}

static int read_note(int runs, const char *name, const char *uid,
		     const char *kind, note_fn fn, void *ctx)
{
	CLEANUP(str_release) struct str text = STR_INIT;
	struct note note = { 0 };
	const char *pid;
	size_t len = parse_name(name, uid, &pid);

	if (!len || len != strlen(kind) ||
	    memcmp(pid - 1 - len, kind, len) != 0)
		return 0;
	note.pid = parse_pid(pid);
	/* A note that cannot be read is ignored. */
	if (!note.pid || fd_read_file(runs, name, NOTE_MAX, &text) < 0)
		return 0;
	note.payload = note_payload(&text, kind);
	if (!note.payload)
		return 0;
	note.len = text.len - (size_t)(note.payload - text.data);
	return fn(ctx, &note);
}

static DIR *open_runs(int project)
{
	int fd = openat(project, "runs",
			O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);

	if (!dir && fd >= 0)
		(void)close(fd);
	return dir;
}

int note_read_all(int project, const char *uid, const char *kind, note_fn fn,
		  void *ctx)
{
	CLEANUP(closedirp) DIR *dir = open_runs(project);
	struct dirent *entry;
	int r = 0;

	assert(strlen(uid) >= NOTE_UID_LEN);
	while (r == 0 && dir && (entry = readdir(dir)))
		r = read_note(dirfd(dir), entry->d_name, uid, kind, fn, ctx);
	return r;
}

void note_remove_all(int project, const char *uid)
{
	CLEANUP(closedirp) DIR *dir = open_runs(project);
	struct dirent *entry;
	const char *pid;

	assert(strlen(uid) >= NOTE_UID_LEN);
	while (dir && (entry = readdir(dir)))
		if (parse_name(entry->d_name, uid, &pid))
			(void)unlinkat(dirfd(dir), entry->d_name, 0);
}
