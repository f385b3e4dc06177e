/* targets.c - `roar get`: which objects, and to which files
 *
 *	s3://bucket/key		DEST/key's last part where DEST is a directory or ends in "/",
 *				else DEST
 *	s3://bucket/prefix/	DEST/rest of the key, for each object
 *
 * Names come from a server: one that would lead out of DEST is refused. */
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
#include "hash/dir/dir_hash.h"
#include "hash/dir/dir_walk.h"
#include "http/url.h"
#include "project/project.h"
#include "s3/s3_driver.h"
#include "transfer/fetched_files.h"

struct targets {
	struct transfer *t;
	const char *url; /* as given */
	struct s3_url object; /* of s3:// and gs:// */
	struct str top; /* where files go, absolute */
	const struct target_options *options;
	struct roar_error *err;
};

/* ---- files ---- */

static int check_file(struct targets *g, struct transfer_item *item)
{
	struct stat st;

	item->replaces = g->options->force;
	item->was_there = lstat(item->path, &st) == 0;
	if (!item->was_there)
		return 0;
	if (S_ISDIR(st.st_mode))
		return error_set(g->err, -EISDIR,
				 "'%s' is a directory: remove it or choose "
				 "another destination",
				 item->path);
	if (!g->options->force)
		return error_set(g->err, -EEXIST,
				 "'%s' exists: give --force to replace it",
				 item->path);
	if (!S_ISREG(st.st_mode) && !S_ISLNK(st.st_mode))
		return error_set(g->err, -EINVAL,
				 "'%s' is not a regular file: choose another "
				 "destination",
				 item->path);
	return 0;
}

/* Is DEST a directory, or will it be one? */
static bool is_dir_name(const char *word, const char *path)
{
	size_t len = word ? strlen(word) : 0;
	struct stat st;

	return !len || word[len - 1] == '/' ||
	       (stat(path, &st) == 0 && S_ISDIR(st.st_mode));
}

/* The item of a single object. */
static int add_single(struct targets *g, const char *destination,
		      const char *name, const struct s3_facts *facts)
{
	struct pool *pool = &g->t->pool;
	struct transfer_item *item;

	if (is_dir_name(destination, str_cstr(&g->top))) {
		if (!*name || !strcmp(name, ".") || !strcmp(name, ".."))
			return error_set(g->err, -EINVAL,
					 "'%s' does not end in the name of a "
					 "file: give one after it",
					 g->url);
		str_addf(&g->top, "/%s", name);
	}
	item = g->top.failed ? NULL : transfer_add(g->t, g->top.data, g->url);
	if (!item)
		return error_set(g->err, -ENOMEM, "out of memory");
	item->size_bytes = facts->size_bytes;
	/* Only an ETag tells that all ranges are of one content. */
	item->has_ranges = facts->has_ranges && *facts->etag &&
			   strncmp(facts->etag, "W/", 2) != 0;
	item->etag = pool_strdup(pool, facts->etag);
	item->version = pool_strdup(pool, facts->version);
	item->expected = g->options->hash;
	if (!item->expected && strlen(facts->blake3) == 2 * BLAKE3_LEN)
		item->expected = pool_strdup(pool, facts->blake3);
	if (g->object.key) {
		item->bucket = pool_strdup(pool, g->object.bucket);
		item->key = pool_strdup(pool, g->object.key);
	}
	item->url = facts->url ? pool_strdup(pool, facts->url) : NULL;
	if (!item->etag || !item->version)
		return error_set(g->err, -ENOMEM, "out of memory");
	return check_file(g, item);
}

/* ---- prefixes ---- */

static int add_below(struct targets *g, const char *name, const char *place)
{
	CLEANUP(str_release) struct str path = STR_INIT;
	struct transfer_item *item;

	if (dir_hash_check_path(name, strlen(name)) < 0)
		return error_set(
			g->err, -EINVAL,
			"'%.300s' cannot be stored below '%s': its name "
			"has empty, '.' or '..' parts",
			place, str_cstr(&g->top));
	str_addf(&path, "%s/%s", str_cstr(&g->top), name);
	item = path.failed ? NULL : transfer_add(g->t, path.data, place);
	if (!item)
		return error_set(g->err, -ENOMEM,
				 "out of memory for the list of objects");
	item->name = pool_strdup(&g->t->pool, name);
	return item->name ? 0 : -ENOMEM;
}

static int on_object(void *data, const struct s3_object *object)
{
	CLEANUP(str_release) struct str place = STR_INIT;
	struct targets *g = data;
	const char *name = object->key + strlen(g->object.key);
	struct transfer_item *item;
	size_t len = strlen(object->key);
	int r;

	/* Consoles make "folders" of empty objects. */
	if (!len || object->key[len - 1] == '/')
		return 0;
	if (strncmp(object->key, g->object.key, strlen(g->object.key)) != 0)
		return error_set(g->err, -EPROTO,
				 "the server lists '%.300s', which is not below "
				 "'%s'",
				 object->key, g->url);
	str_addf(&place, "%s://%s/%s", g->object.is_gcs ? "gs" : "s3",
		 g->object.bucket, object->key);
	if (place.failed)
		return -ENOMEM;
	r = add_below(g, name, place.data);
	if (r < 0)
		return r;
	item = &g->t->items[g->t->n - 1];
	item->bucket = pool_strdup(&g->t->pool, g->object.bucket);
	item->key = item->place + strlen(item->place) - len;
	item->size_bytes = object->size_bytes;
	item->has_ranges = true;
	item->etag = pool_strdup(&g->t->pool, object->etag);
	return item->bucket && item->etag ? 0 : -ENOMEM;
}

/* Those that an interrupted download has left are no hindrance. */
static int check_files(struct targets *g)
{
	struct transfer *t = g->t;
	int r = fetched_files_take(t, g->err);

	for (size_t i = 0; i < t->n && r == 0; i++)
		if (!t->items[i].is_done)
			r = check_file(g, &t->items[i]);
	return r;
}

static int add_tree(struct targets *g)
{
	struct transfer *t = g->t;
	struct transfer_tree *tree;

	if (!t->n)
		return error_set(g->err, -ENOENT, "there is nothing below '%s'",
				 g->url);
	tree = VEC_PUSH(t->trees, t->n_trees, t->cap_trees);
	if (!tree)
		return error_set(g->err, -ENOMEM, "out of memory");
	*tree = (struct transfer_tree){
		.path = pool_strdup(&t->pool, str_cstr(&g->top)),
		.place = g->url,
		.end = t->n,
	};
	return tree->path ? check_files(g) : -ENOMEM;
}

static int list_prefix(struct targets *g)
{
	int r = s3_driver_list(g->t->driver, g->t->client, g->object.bucket,
			       g->object.key, TRANSFER_MAX_ITEMS, on_object, g,
			       g->err);

	if (r < 0 && !g->err->text[0])
		(void)error_set(g->err, r, "cannot list '%s': %s", g->url,
				strerror(-r));
	return r < 0 ? r : add_tree(g);
}

/* ---- file:// ---- */

static int on_leaf(void *ctx, const struct dir_walk_entry *found)
{
	CLEANUP(str_release) struct str place = STR_INIT;
	struct targets *g = ctx;
	int r;

	str_addf(&place, "%s/%s", g->url, found->path);
	if (place.failed)
		return -ENOMEM;
	r = add_below(g, found->path, place.data);
	if (r == 0)
		g->t->items[g->t->n - 1].size_bytes = (int64_t)found->stamp.size;
	return r;
}

static void on_error(void *ctx, const char *path, int error)
{
	struct targets *g = ctx;

	if (!g->err->text[0])
		(void)error_set(g->err, error, "cannot read '%s/%.200s': %s",
				g->url, path,
				error == -EINVAL ? "it is a FIFO, a socket or "
						   "a device" :
						   strerror(-error));
}

static int list_local(struct targets *g, const char *destination)
{
	CLEANUP(str_release) struct str path = STR_INIT;
	const struct dir_walk_visitor visitor = { .leaf = on_leaf,
						  .error = on_error,
						  .ctx = g };
	struct s3_facts facts = { 0 };
	struct stat st;
	int r;

	if (!g->url[7])
		return error_set(g->err, -EINVAL,
				 "'%s' has no path: write file:///PATH",
				 g->url);
	path_normalize(&path, g->t->project->cwd, g->url + 7);
	if (path.failed)
		return error_set(g->err, -ENOMEM, "out of memory");
	if (stat(path.data, &st) < 0)
		return error_set(g->err, -errno, "cannot read '%s': %s",
				 path.data, strerror(errno));
	g->url = pool_strdup(&g->t->pool, path.data);
	if (!g->url)
		return error_set(g->err, -ENOMEM, "out of memory");
	facts.size_bytes = st.st_size;
	if (!S_ISDIR(st.st_mode))
		return add_single(g, destination, path_basename(g->url),
				  &facts);
	r = dir_walk(AT_FDCWD, g->url, &visitor);
	if (r < 0)
		return g->err->text[0] ?
			       r :
			       error_set(g->err, r, "cannot read '%s': %s",
					 g->url, strerror(-r));
	return add_tree(g);
}

/* ---- https:// ---- */

static int list_url(struct targets *g, const char *destination)
{
	CLEANUP(freep) char *name = strdup(g->url);
	struct s3_facts facts = { .size_bytes = -1 };
	struct http_url parsed;
	int r;

	if (!name)
		return error_set(g->err, -ENOMEM, "out of memory");
	if (http_url_parse(g->url, &parsed) < 0)
		return error_set(g->err, -EINVAL,
				 "'%.200s' is not a URL such as "
				 "https://HOST/PATH",
				 g->url);
	if (parsed.userinfo)
		return error_set(g->err, -EINVAL,
				 "a URL with a user name or password is not "
				 "supported");
	name[strcspn(name, "?#")] = '\0';
	r = s3_driver_stat_url(g->t->driver, g->url, &facts, g->err);
	if (r == 0)
		r = add_single(g, destination,
			       strchr(name + 8, '/') ? path_basename(name) : "",
			       &facts);
	free(facts.url);
	return r;
}

static int list_object(struct targets *g, const char *destination)
{
	struct s3_facts facts;
	int r = s3_driver_stat(g->t->driver, g->t->client, g->object.bucket,
			       g->object.key, &facts, g->err);

	if (r == -ENOENT)
		return error_set(
			g->err, r,
			"there is no object '%s'; for all objects below "
			"it, end it with '/'",
			g->url);
	return r < 0 ? r :
		       add_single(g, destination, path_basename(g->object.key),
				  &facts);
}

int targets_list(struct transfer *t, const char *url, const char *destination,
		 const struct target_options *options, struct roar_error *err)
{
	struct targets g = { .t = t,
			     .url = url,
			     .options = options,
			     .err = err };
	size_t len;
	int r = 0;

	path_normalize(&g.top, t->project->cwd,
		       destination ? destination : ".");
	if (g.top.failed)
		r = error_set(err, -ENOMEM, "out of memory");
	else if (s3_url_is_one(url))
		r = s3_url_parse(url, &g.object, err);
	len = g.object.key ? strlen(g.object.key) : 0;
	if (r < 0)
		;
	else if (!strncmp(url, "file://", 7))
		r = list_local(&g, destination);
	else if (!g.object.key)
		r = list_url(&g, destination);
	else if (!len || g.object.key[len - 1] == '/')
		r = list_prefix(&g);
	else
		r = list_object(&g, destination);
	str_release(&g.top);
	return r;
}
