/* dpkg_database.c - Debian's packages
 *
 * status has a paragraph per package; info/NAME.list, or NAME:ARCH.list for a package
 * that may be installed for several architectures, has a path per line.  dpkg replaces
 * both by rename, so a reader sees a whole file without taking dpkg's lock.
 *
 * There are thousands of lists with hundreds of thousands of lines, so what a run cannot
 * use is skipped: documentation, and directories. */
#include <dirent.h>
#include <fcntl.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/macros.h"
#include "base/map.h"
#include "base/pool.h"
#include "base/str.h"
#include "capture/owner_index.h"
#include "capture/package_database.h"

enum { STATUS_MAX = 256 * 1024 * 1024 };

/* ---- lists ---- */

/* Long lists of files that no program opens. */
static bool is_documentation(const char *path, size_t len)
{
	static const char *const below[] = { "doc/", "man/", "locale/",
					     "icons/", "lintian/" };
	static const char share[] = "/usr/share/";
	size_t n = sizeof(share) - 1;

	if (len < n || memcmp(path, share, n) != 0)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(below); i++) {
		size_t m = strlen(below[i]);

		if (len >= n + m && memcmp(path + n, below[i], m) == 0)
			return true;
	}
	return false;
}

/* A directory comes right before what is in it. */
static bool is_parent(const char *path, size_t len, const char *next,
		      size_t next_len)
{
	return next_len > len && next[len] == '/' &&
	       memcmp(path, next, len) == 0;
}

void dpkg_list_parse(const char *text, size_t len, struct owner_builder *b,
		     int package)
{
	const char *end = text + len;
	const char *last = NULL;
	size_t last_len = 0;

	while (text < end) {
		const char *eol = memchr(text, '\n', (size_t)(end - text));
		size_t n = (size_t)((eol ? eol : end) - text);

		if (last && !is_parent(last, last_len, text, n) &&
		    !is_documentation(last, last_len))
			owner_builder_path(b, last, last_len, package);
		last = text;
		last_len = n;
		text += n + 1;
	}
	if (last && !is_documentation(last, last_len))
		owner_builder_path(b, last, last_len, package);
}

/* ---- status ---- */

struct status {
	struct pool pool;
	struct map versions; /* "NAME:ARCH" -> number of the package */
	struct owner_builder *builder;
};

static char *dup_field(struct pool *pool, const char *text, size_t len,
		       const char *field)
{
	const char *value = "";
	size_t n = 0;

	(void)package_field(text, len, field, &value, &n);
	return pool_dup(pool, value, n);
}

static void note_key(struct status *s, const char *key, int number)
{
	if (key && !map_get(&s->versions, key, strlen(key)))
		(void)map_set(&s->versions, key, strlen(key),
			      (void *)(uintptr_t)(number + 1));
}

static int add_paragraph(struct status *s, const char *text, size_t len)
{
	struct owner_package p = { .location = "" };
	const char *state;
	size_t n;
	int number;

	if (!package_field(text, len, "Status", &state, &n) || n < 10 ||
	    memcmp(state + n - 10, " installed", 10) != 0)
		return 0;
	p.name = dup_field(&s->pool, text, len, "Package");
	p.version = dup_field(&s->pool, text, len, "Version");
	p.arch = dup_field(&s->pool, text, len, "Architecture");
	if (!p.name || !p.version || !p.arch)
		return -ENOMEM;
	number = owner_builder_package(s->builder, &p);
	if (number < 0)
		return number;
	note_key(s, p.name, number);
	note_key(s, pool_printf(&s->pool, "%s:%s", p.name, p.arch), number);
	return 0;
}

static int parse_status(struct status *s, const char *text, size_t len)
{
	const char *end = text + len;

	while (text < end) {
		const char *stop = memmem(text, (size_t)(end - text), "\n\n",
					  2);
		int r;

		if (!stop)
			stop = end;
		r = add_paragraph(s, text, (size_t)(stop - text));
		if (r < 0)
			return r;
		text = stop + 2;
	}
	return 0;
}

/* ---- all of it ---- */

static void release_status(struct status *s)
{
	map_release(&s->versions);
	pool_release(&s->pool);
}

static void read_list(struct status *s, int dirfd, const char *name,
		      struct str *text)
{
	size_t len = strlen(name);
	uintptr_t number;

	if (len < 6 || strcmp(name + len - 5, ".list") != 0)
		return;
	number = (uintptr_t)map_get(&s->versions, name, len - 5);
	if (number &&
	    package_file_read(dirfd, name, PACKAGE_LIST_MAX, text) == 0)
		dpkg_list_parse(str_cstr(text), text->len, s->builder,
				(int)number - 1);
}

int dpkg_database_read(const char *dir, struct owner_builder *b)
{
	CLEANUP(release_status) struct status s = { .builder = b };
	CLEANUP(str_release) struct str text = STR_INIT;
	CLEANUP(closedirp) DIR *info = NULL;
	CLEANUP(closep)
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct dirent *entry;
	int info_fd;
	int r;

	if (fd < 0)
		return -errno;
	r = package_file_read(fd, "status", STATUS_MAX, &text);
	if (r == 0)
		r = parse_status(&s, str_cstr(&text), text.len);
	if (r < 0)
		return r;
	info_fd = openat(fd, "info", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	info = info_fd < 0 ? NULL : fdopendir(info_fd);
	if (!info) {
		r = -errno;
		closep(&info_fd);
		return r;
	}
	while ((entry = readdir(info)))
		read_list(&s, info_fd, entry->d_name, &text);
	return 0;
}
