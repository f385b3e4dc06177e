/* sources.c - `roar put`: which files, and to which keys
 *
 *	FILE DEST		the key is DEST, or DEST/FILE where DEST ends in "/"
 *	DIR DEST		DEST/NAME for each file below DIR
 *	several			DEST/FILE and DEST/DIR/NAME
 *	@N, nothing		DEST/PATH, where PATH is that from the project's top */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/map.h"
#include "base/path.h"
#include "base/str.h"
#include "base/vec.h"
#include "event/event.h"
#include "hash/dir/dir_walk.h"
#include "lineage/fold.h"
#include "project/project.h"
#include "query/query.h"
#include "query/target.h"
#include "s3/s3_url.h"
#include "store/store.h"
#include "transfer/transfer.h"

struct sources {
	struct transfer *t;
	const char *destination; /* a URL, or an absolute path for file:// */
	bool is_dir; /* keys are below it */
	struct map places; /* that are taken */
	struct roar_error *err;
};

/* ---- items ---- */

/* "s3://bucket/prefix" and "a/b" make "s3://bucket/prefix/a/b". */
static void add_place(struct str *out, const struct sources *s,
		      const char *name)
{
	str_adds(out, s->destination);
	if (!s->is_dir)
		return;
	if (s->destination[strlen(s->destination) - 1] != '/')
		str_addc(out, '/');
	str_adds(out, name);
}

static int set_object(struct sources *s, struct transfer_item *item)
{
	struct s3_url url;
	int r;

	if (!s3_url_is_one(item->place))
		return 0;
	r = s3_url_parse(item->place, &url, s->err);
	if (r < 0)
		return r;
	item->bucket = pool_strdup(&s->t->pool, url.bucket);
	item->key = url.key;
	return item->bucket ? 0 : -ENOMEM;
}

static int add_file(struct sources *s, const char *path, const char *name,
		    const char *below, int64_t size_bytes)
{
	CLEANUP(str_release) struct str place = STR_INIT;
	struct transfer_item *item;
	int r;

	add_place(&place, s, name);
	item = place.failed ? NULL : transfer_add(s->t, path, place.data);
	if (!item)
		return error_set(s->err, -ENOMEM,
				 "out of memory for the list of files");
	item->name = below ? pool_strdup(&s->t->pool, below) : NULL;
	item->size_bytes = size_bytes;
	item->replaces = true;
	r = set_object(s, item);
	if (r < 0)
		return r;
	if (map_get(&s->places, item->place, strlen(item->place)))
		return error_set(s->err, -EEXIST,
				 "two files would become '%s': put them one by "
				 "one",
				 item->place);
	return map_set(&s->places, item->place, strlen(item->place),
		       (void *)item->place);
}

/* ---- directories ---- */

struct walk {
	struct sources *s;
	const char *top; /* absolute */
	const char *prefix; /* of names, "" or "dir/" */
	int error;
};

/* A link to a file is sent as the file. */
static int on_leaf(void *ctx, const struct dir_walk_entry *found)
{
	CLEANUP(str_release) struct str path = STR_INIT;
	CLEANUP(str_release) struct str name = STR_INIT;
	struct walk *w = ctx;
	struct stat st;

	str_addf(&path, "%s/%s", w->top, found->path);
	str_addf(&name, "%s%s", w->prefix, found->path);
	if (path.failed || name.failed)
		return -ENOMEM;
	if (stat(path.data, &st) < 0 || !S_ISREG(st.st_mode))
		return error_set(w->s->err, -EINVAL,
				 "'%s' is a link to something other than a "
				 "file: remove it, or put the files one by one",
				 path.data);
	return add_file(w->s, path.data, name.data, found->path, st.st_size);
}

static void on_error(void *ctx, const char *path, int error)
{
	struct walk *w = ctx;

	if (w->error == 0)
		w->error = error_set(w->s->err, error,
				     "cannot read '%s/%.200s': %s", w->top,
				     path,
				     error == -EINVAL ?
					     "it is a FIFO, a socket or a "
					     "device" :
					     strerror(-error));
}

static int compare_items(const void *a, const void *b)
{
	return strcmp(((const struct transfer_item *)a)->path,
		      ((const struct transfer_item *)b)->path);
}

static int add_dir(struct sources *s, const char *top, const char *prefix)
{
	struct walk w = { .s = s, .top = top, .prefix = prefix };
	const struct dir_walk_visitor visitor = { .leaf = on_leaf,
						  .error = on_error,
						  .ctx = &w };
	CLEANUP(str_release) struct str place = STR_INIT;
	struct transfer *t = s->t;
	struct transfer_tree *tree;
	size_t first = t->n;
	int r = dir_walk(AT_FDCWD, top, &visitor);

	if (r < 0)
		return w.error || s->err->text[0] ?
			       r :
			       error_set(s->err, r, "cannot read '%s': %s", top,
					 strerror(-r));
	if (t->n > first)
		qsort(t->items + first, t->n - first, sizeof(*t->items),
		      compare_items);
	add_place(&place, s, prefix);
	if (place.len && place.data[place.len - 1] != '/')
		str_addc(&place, '/');
	tree = VEC_PUSH(t->trees, t->n_trees, t->cap_trees);
	if (!tree || place.failed)
		return error_set(s->err, -ENOMEM, "out of memory");
	*tree = (struct transfer_tree){
		.path = pool_strdup(&t->pool, top),
		.place = pool_dup(&t->pool, place.data, place.len),
		.first = first,
		.end = t->n,
	};
	return tree->path && tree->place ? 0 : -ENOMEM;
}

static int add_path(struct sources *s, const char *word, bool is_one_of_many)
{
	CLEANUP(str_release) struct str path = STR_INIT;
	CLEANUP(str_release) struct str prefix = STR_INIT;
	struct stat st;

	path_normalize(&path, s->t->project->cwd, word);
	if (path.failed)
		return error_set(s->err, -ENOMEM, "out of memory");
	if (stat(path.data, &st) < 0)
		return error_set(s->err, -errno, "cannot read '%s': %s", word,
				 strerror(errno));
	if (S_ISREG(st.st_mode))
		return add_file(s, path.data, path_basename(path.data), NULL,
				st.st_size);
	if (!S_ISDIR(st.st_mode))
		return error_set(s->err, -EINVAL,
				 "'%s' is neither a file nor a directory",
				 word);
	if (is_one_of_many)
		str_addf(&prefix, "%s/", path_basename(path.data));
	s->is_dir = true;
	return add_dir(s, path.data, str_cstr(&prefix));
}

/* ---- outputs of the record ---- */

/* Outputs that are still there; of a path that was written twice, one. */
static int add_outputs(struct sources *s, const struct store_file *rows,
		       size_t n)
{
	CLEANUP(map_release) struct map seen = MAP_INIT;
	const char *root = s->t->project->root;
	int r = 0;

	for (size_t i = 0; i < n && r == 0; i++) {
		const char *path = rows[i].path;
		struct stat st;

		if (rows[i].role != LINEAGE_OUTPUT || rows[i].filter ||
		    rows[i].ftype != EVENT_FTYPE_REGULAR ||
		    map_get(&seen, path, strlen(path)) || stat(path, &st) < 0 ||
		    !S_ISREG(st.st_mode))
			continue;
		r = map_set(&seen, path, strlen(path), (void *)path);
		if (r == 0)
			r = add_file(s, path,
				     path_is_under(path, root) ?
					     path_relative(path, root) :
					     path_basename(path),
				     NULL, st.st_size);
	}
	return r;
}

static int add_step(struct sources *s, struct store *store, struct pool *pool,
		    const char *word)
{
	struct query q = { .store = store, .pool = pool };
	struct store_file *rows;
	struct target target;
	size_t n, before = s->t->n;
	int r = target_resolve(&q, s->t->project->cwd, word, TARGET_WANT_JOB,
			       &target, s->err);

	if (r == 0)
		r = store_files(store, pool, target.job.id, false, &rows, &n,
				s->err);
	if (r == 0)
		r = add_outputs(s, rows, n);
	query_release(&q);
	if (r == 0 && s->t->n == before)
		return error_set(s->err, -ENOENT,
				 "step '%s' has no outputs that still exist",
				 word);
	return r;
}

static int add_session(struct sources *s, struct store *store,
		       struct pool *pool)
{
	struct store_session session;
	struct store_file *rows;
	size_t n;
	int r = store_session_active(store, false, &session, s->err);

	if (r == 0)
		r = store_session_files(store, pool, session.id, &rows, &n,
					s->err);
	if (r == 0)
		r = add_outputs(s, rows, n);
	if (r == 0 && !s->t->n)
		return error_set(s->err, -ENOENT,
				 "the session has no outputs that still exist: "
				 "name the files");
	return r;
}

/* ---- all of them ---- */

static int add_all(struct sources *s, char *const *operands, int n)
{
	CLEANUP(store_closep) struct store *store = NULL;
	CLEANUP(pool_release) struct pool pool = POOL_INIT;
	bool is_dir = s->is_dir;
	int r = 0;

	for (int i = 0; i < n && r == 0; i++) {
		s->is_dir = is_dir || n > 1;
		if (!target_is_step(operands[i])) {
			r = add_path(s, operands[i], n > 1);
			continue;
		}
		s->is_dir = true;
		if (!store)
			r = project_store(s->t->project, STORE_READONLY, &store,
					  s->err);
		if (r == 0)
			r = add_step(s, store, &pool, operands[i]);
	}
	if (n || r < 0)
		return r;
	s->is_dir = true;
	r = project_store(s->t->project, STORE_READONLY, &store, s->err);
	return r < 0 ? r : add_session(s, store, &pool);
}

int sources_list(struct transfer *t, char *const *operands, int n,
		 const char *destination, struct roar_error *err)
{
	CLEANUP(str_release) struct str local = STR_INIT;
	struct sources s = { .t = t, .destination = destination, .err = err };
	struct s3_url url;
	size_t len = strlen(destination);
	int r;

	s.is_dir = destination[len - 1] == '/';
	if (s3_url_is_one(destination)) {
		r = s3_url_parse(destination, &url, err);
		if (r < 0)
			return r;
		s.is_dir |= !*url.key;
	} else {
		struct stat st;

		if (!destination[7])
			return error_set(err, -EINVAL,
					 "'%s' has no path: write "
					 "file:///DIRECTORY/",
					 destination);
		path_normalize(&local, t->project->cwd, destination + 7);
		if (local.failed)
			return error_set(err, -ENOMEM, "out of memory");
		s.destination = local.data;
		s.is_dir |= stat(local.data, &st) == 0 && S_ISDIR(st.st_mode);
	}
	r = add_all(&s, operands, n);
	map_release(&s.places);
	return r;
}
