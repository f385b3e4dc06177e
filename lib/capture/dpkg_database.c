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
#include <pthread.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/cpus.h"
#include "base/macros.h"
#include "base/map.h"
#include "base/pool.h"
#include "base/str.h"
#include "base/thread.h"
#include "base/vec.h"
#include "capture/owner_index.h"
#include "capture/package_database.h"

enum {
	STATUS_MAX = 256 * 1024 * 1024,
	READERS_MAX = 4, /* threads */
	LISTS_PER_READER = 200, /* fewer are read by one thread */
};

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

/* A list of files, and whose it is. */
struct list {
	const char *name; /* in info/ */
	int package;
};

/* Part of the lists, and who reads them: a thousand small files are slow to open. */
struct reader {
	int info_fd;
	const struct list *lists;
	size_t n_lists;
	size_t first, step; /* every `step`th list from the first */
	struct owner_builder *builder;
	pthread_t thread;
	bool started;
};

static void *read_lists(void *arg)
{
	CLEANUP(str_release) struct str text = STR_INIT;
	struct reader *r = arg;

	for (size_t i = r->first; i < r->n_lists; i += r->step)
		if (package_file_read(r->info_fd, r->lists[i].name,
				      PACKAGE_LIST_MAX, &text) == 0)
			dpkg_list_parse(str_cstr(&text), text.len, r->builder,
					r->lists[i].package);
	return NULL;
}

/* Lists whose package is not installed are left out. */
static int find_lists(struct status *s, DIR *info, struct list **ret,
		      size_t *ret_n)
{
	size_t cap = 0;
	struct dirent *entry;

	while ((entry = readdir(info))) {
		size_t len = strlen(entry->d_name);
		uintptr_t number;
		struct list *l;

		if (len < 6 || strcmp(entry->d_name + len - 5, ".list") != 0)
			continue;
		number = (uintptr_t)map_get(&s->versions, entry->d_name,
					    len - 5);
		if (!number)
			continue;
		l = VEC_PUSH(*ret, *ret_n, cap);
		if (!l)
			return -ENOMEM;
		l->name = pool_strdup(&s->pool, entry->d_name);
		l->package = (int)number - 1;
		if (!l->name)
			return -ENOMEM;
	}
	return 0;
}

/* By several threads if there are many; this one is the first of them. */
static void read_all(int info_fd, const struct list *lists, size_t n,
		     struct owner_builder *b)
{
	struct reader readers[READERS_MAX] = { 0 };
	size_t n_readers = n < LISTS_PER_READER ? 1 : cpus_allowed();

	if (n_readers > READERS_MAX)
		n_readers = READERS_MAX;
	for (size_t i = 0; i < n_readers; i++) {
		readers[i] = (struct reader){ .info_fd = info_fd,
					      .lists = lists,
					      .n_lists = n,
					      .first = i,
					      .step = n_readers };
		if (!i || owner_builder_new(&readers[i].builder) < 0)
			readers[i].builder = b;
		else
			readers[i].started = thread_start(&readers[i].thread,
							  NULL, read_lists,
							  &readers[i]) == 0;
	}
	/* What has no thread is read here. */
	for (size_t i = 0; i < n_readers; i++)
		if (!readers[i].started)
			(void)read_lists(&readers[i]);
	for (size_t i = 1; i < n_readers; i++) {
		if (readers[i].started)
			(void)pthread_join(readers[i].thread, NULL);
		if (readers[i].builder == b)
			continue;
		owner_builder_merge(b, readers[i].builder);
		owner_builder_free(readers[i].builder);
	}
}

int dpkg_database_read(const char *dir, struct owner_builder *b)
{
	CLEANUP(release_status) struct status s = { .builder = b };
	CLEANUP(str_release) struct str text = STR_INIT;
	CLEANUP(closedirp) DIR *info = NULL;
	CLEANUP(freep) struct list *lists = NULL;
	CLEANUP(closep)
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	size_t n = 0;
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
	r = find_lists(&s, info, &lists, &n);
	if (r == 0)
		read_all(info_fd, lists, n, b);
	return r;
}
