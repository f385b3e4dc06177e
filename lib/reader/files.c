/* files.c - shards that are the files of a folder, and of the folders in it
 *
 * The order is that of their paths, byte by byte.  A link to a regular file is that file;
 * links to folders are not followed, because they may lead back.  Names that begin with
 * a dot are passed over, and so is what is no regular file. */
#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/pool.h"
#include "base/vec.h"
#include "reader/reader_internal.h"

struct entry {
	const char *name; /* below the folder, in the pool */
	uint64_t size; /* when it was listed */
	int64_t mtime_ns;
};

struct folder {
	int fd;
	struct pool names;
	struct entry *entries;
	size_t n, cap;
};

static void fts_closep(FTS **fts)
{
	if (*fts)
		(void)fts_close(*fts);
}

/* ---- listing ---- */

static int add(struct folder *f, const char *name, const struct stat *st)
{
	struct stamp stamp = stamp_of(st);
	struct entry *e = VEC_PUSH(f->entries, f->n, f->cap);

	if (!e)
		return -ENOMEM;
	*e = (struct entry){ .name = pool_strdup(&f->names, name),
			     .size = stamp.size,
			     .mtime_ns = stamp.mtime_ns };
	return e->name ? 0 : -ENOMEM;
}

static int visit(struct folder *f, FTS *fts, FTSENT *e, size_t skip)
{
	struct stat st;

	if (e->fts_level > 0 && e->fts_name[0] == '.')
		return fts_set(fts, e, FTS_SKIP) < 0 ? -errno : 0;
	switch (e->fts_info) {
	case FTS_F:
		return add(f, e->fts_path + skip, e->fts_statp);
	case FTS_SL:
		if (stat(e->fts_accpath, &st) == 0 && S_ISREG(st.st_mode))
			return add(f, e->fts_path + skip, &st);
		return 0;
	case FTS_DNR:
	case FTS_ERR:
	case FTS_NS:
		return -e->fts_errno;
	default:
		return 0;
	}
}

static int list(struct reader *r, struct folder *f, struct roar_error *err)
{
	char *const roots[] = { r->path, NULL };
	CLEANUP(fts_closep)
	FTS *fts = fts_open(roots, FTS_PHYSICAL | FTS_COMFOLLOW | FTS_NOCHDIR,
			    NULL);
	size_t skip = strlen(r->path);
	FTSENT *e;

	if (!fts)
		return error_set(err, -errno, "cannot list '%s': %s", r->path,
				 strerror(errno));
	skip += r->path[skip - 1] != '/';
	while ((errno = 0, e = fts_read(fts))) {
		int done = visit(f, fts, e, skip);

		if (done < 0)
			return error_set(err, done, "cannot list '%s': %s",
					 e->fts_path, strerror(-done));
	}
	return errno ? error_set(err, -errno, "cannot list '%s': %s", r->path,
				 strerror(errno)) :
		       0;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct entry *)a)->name,
		      ((const struct entry *)b)->name);
}

static int files_open(struct reader *r, struct roar_error *err)
{
	struct folder *f = calloc(1, sizeof(*f));
	int found;

	if (!f)
		return error_set(err, -ENOMEM, "out of memory");
	r->data = f;
	f->fd = open(r->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (f->fd < 0)
		return error_set(err, -errno, "cannot open '%s': %s", r->path,
				 strerror(errno));
	found = list(r, f, err);
	if (found < 0)
		return found;
	if (f->n)
		qsort(f->entries, f->n, sizeof(*f->entries), by_name);
	r->count = f->n;
	return 0;
}

static void files_close(struct reader *r)
{
	struct folder *f = r->data;

	if (!f)
		return;
	closep(&f->fd);
	pool_release(&f->names);
	free(f->entries);
	free(f);
}

/* ---- one file ---- */

static struct span files_span(const struct reader *r, uint64_t number)
{
	const struct folder *f = r->data;

	return (struct span){ .file = number, .len = f->entries[number].size };
}

static int say_changed(const struct reader *r, const struct entry *e,
		       struct roar_error *err)
{
	return error_set(err, -ESTALE,
			 "'%s/%s' changed after its directory was listed; open "
			 "the directory again when no process writes to it",
			 r->path, e->name);
}

static int files_load(const struct reader *r, const struct span *span, void *to,
		      struct roar_error *err)
{
	const struct folder *f = r->data;
	const struct entry *e = &f->entries[span->file];
	CLEANUP(closep)
	int fd = openat(f->fd, e->name,
			O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct source source = { .fd = fd, .path = e->name };
	struct stat st;

	if (fd < 0 || fd_stat(fd, &st) < 0)
		return error_set(err, -errno, "cannot open '%s/%s': %s",
				 r->path, e->name, strerror(errno));
	source.stamp = stamp_of(&st);
	if (!S_ISREG(st.st_mode) || source.stamp.size != e->size ||
	    source.stamp.mtime_ns != e->mtime_ns)
		return say_changed(r, e, err);
	return source_read(&source, span->offset, to, (size_t)span->len, err);
}

static void files_key(const struct reader *r, struct reader_sample *sample)
{
	const struct folder *f = r->data;

	sample->key = f->entries[sample->number].name;
	sample->key_len = strlen(sample->key);
}

const struct reader_ops files_ops = {
	.name = "files",
	.open = files_open,
	.close = files_close,
	.span = files_span,
	.load = files_load,
	.key = files_key,
};
