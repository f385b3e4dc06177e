/* dir_census.c - see dir_census.h */
#include "run/dir_census.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/map.h"
#include "base/path.h"
#include "base/pool.h"
#include "base/vec.h"
#include "ckpt/ckpt_name.h"
#include "store/store_collection.h"

/* What its names say of a directory. */
enum sign {
	SIGN_ZARR = 1 << 0,
	SIGN_MANIFEST = 1 << 1, /* of a checkpoint */
	SIGN_VERSIONS = 1 << 2, /* lance */
	SIGN_DATA = 1 << 3,
	SIGN_INFO = 1 << 4, /* info.json */
	SIGN_CHUNKS = 1 << 5, /* directories chunk-* */
	SIGN_META_INFO = 1 << 6, /* meta/info.json */
	SIGN_DATA_CHUNKS = 1 << 7, /* data/chunk-* */
};

struct dir {
	char *path;
	size_t len;
	struct dir *parent; /* NULL: it is the top, or below a place */
	bool place; /* never whole, and not in `all` */
	uint32_t depth; /* number of slashes */
	unsigned signs;
	uint64_t n_tars, n_parquets;
	uint64_t n_subdirs; /* known ones */
	struct dir_count {
		uint64_t n, names; /* known files here: number, sum of hashes */
		uint64_t n_whole; /* subdirectories that are whole */
		uint64_t total; /* files here and in whole subdirectories */
		bool whole;
		bool covered; /* by a known layout above */
	} side[DIR_SIDES];
};

struct dir_census {
	const char *const *places;
	size_t n_places;
	struct pool pool;
	struct map by_path;
	struct dir *last; /* that a file was added to */
	struct dir **all;
	size_t n, cap;
	struct dir_whole *found;
	size_t n_found, cap_found;
};

int dir_census_new(const char *const *places, size_t n_places,
		   struct dir_census **ret)
{
	struct dir_census *c = calloc(1, sizeof(*c));

	if (!c)
		return -ENOMEM;
	c->places = places;
	c->n_places = n_places;
	*ret = c;
	return 0;
}

void dir_census_free(struct dir_census *c)
{
	if (!c)
		return;
	map_release(&c->by_path);
	pool_release(&c->pool);
	free(c->all);
	free(c->found);
	free(c);
}

/* ---- what is known ---- */

/* Is it a place, or above one? */
static bool is_place(const struct dir_census *c, const char *path)
{
	for (size_t i = 0; i < c->n_places; i++)
		if (c->places[i] && c->places[i][0] &&
		    path_is_under(c->places[i], path))
			return true;
	return !path[0];
}

/* Length of the directory of path[0 .. len). */
static size_t dir_len(const char *path, size_t len)
{
	while (len && path[len - 1] != '/')
		len--;
	return len ? len - 1 : 0;
}

/* The directory path[0 .. len) with all above it, up to a place; *ret is NULL when it is
 * one itself. */
static int know_dir(struct dir_census *c, const char *path, size_t len,
		    struct dir **ret)
{
	struct dir *below = NULL;

	*ret = NULL;
	for (;; len = dir_len(path, len)) {
		struct dir *d = map_get(&c->by_path, path, len);
		struct dir **slot;
		bool known = d;

		if (!known) {
			char *copy = pool_dup(&c->pool, path, len);

			d = pool_zalloc(&c->pool, sizeof(*d));
			if (!copy || !d)
				return -ENOMEM;
			d->path = copy;
			d->len = len;
			d->place = is_place(c, copy);
			for (size_t i = 0; i < len; i++)
				d->depth += copy[i] == '/';
			if (map_set(&c->by_path, copy, len, d) < 0)
				return -ENOMEM;
			slot = d->place ? &d : VEC_PUSH(c->all, c->n, c->cap);
			if (!slot)
				return -ENOMEM;
			*slot = d;
		}
		if (d->place)
			return 0;
		if (below) {
			below->parent = d;
			d->n_subdirs++;
		}
		if (!*ret)
			*ret = d;
		if (known)
			return 0;
		below = d;
	}
}

int dir_census_add(struct dir_census *c, const char *path, size_t len,
		   enum dir_side side)
{
	size_t n = dir_len(path, len);
	struct dir *d = c->last;
	int r;

	if (!d || d->len != n || memcmp(d->path, path, n) != 0) {
		r = know_dir(c, path, n, &d);
		if (r < 0 || !d)
			return r;
		c->last = d;
	}
	d->side[side].n++;
	d->side[side].names += map_hash(path + n + 1, len - n - 1);
	return 0;
}

/* ---- what there is ---- */

static bool ends_with(const char *name, const char *end)
{
	size_t len = strlen(name);
	size_t n = strlen(end);

	return len > n && !strcmp(name + len - n, end);
}

static void note_file(struct dir *d, const char *name)
{
	static const struct {
		const char *name;
		unsigned sign;
	} signs[] = {
		{ ".zarray", SIGN_ZARR },	  { ".zgroup", SIGN_ZARR },
		{ "zarr.json", SIGN_ZARR },	  { "info.json", SIGN_INFO },
		{ CKPT_MANIFEST, SIGN_MANIFEST },
	};

	for (size_t i = 0; i < sizeof(signs) / sizeof(*signs); i++)
		if (!strcmp(name, signs[i].name))
			d->signs |= signs[i].sign;
	d->n_tars += ends_with(name, ".tar") || ends_with(name, ".tar.gz") ||
		     ends_with(name, ".tgz") || ends_with(name, ".tar.zst");
	d->n_parquets += ends_with(name, ".parquet");
}

static void note_dir(struct dir *d, const char *name, const struct dir *sub)
{
	if (!strcmp(name, "_versions"))
		d->signs |= SIGN_VERSIONS;
	if (!strcmp(name, "data"))
		d->signs |= SIGN_DATA |
			    (sub->signs & SIGN_CHUNKS ? SIGN_DATA_CHUNKS : 0);
	if (!strcmp(name, "meta") && sub->signs & SIGN_INFO)
		d->signs |= SIGN_META_INFO;
	if (!strncmp(name, "chunk-", 6))
		d->signs |= SIGN_CHUNKS;
	if (strchr(name, '='))
		d->n_parquets += sub->n_parquets;
}

/* Directories without any file do not count. */
static bool is_empty(int dirfd, const char *name)
{
	int fd = openat(dirfd, name,
			O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	CLEANUP(closedirp) DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;

	if (!dir && fd >= 0)
		(void)close(fd);
	if (!dir)
		return false;
	while ((entry = readdir(dir)))
		if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, ".."))
			return false;
	return true;
}

static unsigned char type_of(int dirfd, const struct dirent *entry)
{
	struct stat st;

	if (entry->d_type != DT_UNKNOWN)
		return entry->d_type;
	if (fstatat(dirfd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return DT_UNKNOWN;
	return IFTODT(st.st_mode);
}

/* Files seen so far, compared with the known ones. */
struct listing {
	uint64_t n, names;
	bool possible[DIR_SIDES];
};

static void list_file(struct dir *d, struct listing *l, const char *name)
{
	l->n++;
	l->names += map_hash(name, strlen(name));
	for (int side = 0; side < DIR_SIDES; side++)
		l->possible[side] &= l->n <= d->side[side].n;
	note_file(d, name);
}

static void list_dir(const struct dir_census *c, struct dir *d,
		     struct listing *l, int dirfd, const char *name)
{
	char path[PATH_MAX];
	int len = snprintf(path, sizeof(path), "%s/%s", d->path, name);
	const struct dir *sub = len > 0 && (size_t)len < sizeof(path) ?
					map_get(&c->by_path, path,
						(size_t)len) :
					NULL;

	if (!sub && is_empty(dirfd, name))
		return;
	for (int side = 0; side < DIR_SIDES; side++)
		l->possible[side] &= sub && sub->side[side].whole;
	if (sub)
		note_dir(d, name, sub);
}

/* The cheap part: is there a reason to list it? */
static bool may_be_whole(const struct dir *d, int side)
{
	const struct dir_count *k = &d->side[side];

	return k->n_whole == d->n_subdirs && (k->n || k->n_whole);
}

static void examine(const struct dir_census *c, struct dir *d)
{
	struct listing l = { .possible = { may_be_whole(d, DIR_READ),
					   may_be_whole(d, DIR_WRITTEN) } };
	CLEANUP(closedirp) DIR *dir = NULL;
	const struct dirent *entry;

	if (l.possible[DIR_READ] || l.possible[DIR_WRITTEN])
		dir = opendir(d->path);
	if (!dir)
		return;
	while ((l.possible[DIR_READ] || l.possible[DIR_WRITTEN]) &&
	       (entry = readdir(dir))) {
		const char *name = entry->d_name;
		unsigned char type;

		if (!strcmp(name, ".") || !strcmp(name, ".."))
			continue;
		type = type_of(dirfd(dir), entry);
		if (type == DT_DIR)
			list_dir(c, d, &l, dirfd(dir), name);
		else if (type == DT_REG || type == DT_LNK)
			list_file(d, &l, name);
		else
			return;
	}
	for (int side = 0; side < DIR_SIDES; side++) {
		struct dir_count *k = &d->side[side];

		k->whole = l.possible[side] && l.n == k->n &&
			   l.names == k->names;
		k->total += k->n;
		if (k->whole && d->parent) {
			d->parent->side[side].n_whole++;
			d->parent->side[side].total += k->total;
		}
	}
}

/* ---- what it is ---- */

static int kind_of(const struct dir *d)
{
	uint64_t step;

	if (d->signs & SIGN_MANIFEST &&
	    ckpt_name_parse_step(path_basename(d->path), &step))
		return COLLECTION_CHECKPOINT;
	if (d->signs & SIGN_ZARR)
		return COLLECTION_ZARR;
	if ((d->signs & (SIGN_VERSIONS | SIGN_DATA)) ==
	    (SIGN_VERSIONS | SIGN_DATA))
		return COLLECTION_LANCE;
	if ((d->signs & (SIGN_META_INFO | SIGN_DATA_CHUNKS)) ==
	    (SIGN_META_INFO | SIGN_DATA_CHUNKS))
		return COLLECTION_LEROBOT;
	if (d->n_tars >= 2)
		return COLLECTION_WEBDATASET;
	return d->n_parquets >= 2 ? COLLECTION_PARQUET : COLLECTION_PLAIN;
}

static int report(struct dir_census *c, struct dir *d, enum dir_side side,
		  size_t *n_plain)
{
	const struct dir *up = d->parent;
	struct dir_count *k = &d->side[side];
	struct dir_whole *found;
	int kind;

	if (!k->whole)
		return 0;
	kind = kind_of(d);
	k->covered = up && up->side[side].whole && up->side[side].covered;
	if (k->covered || k->total < 2)
		return 0;
	if (kind == COLLECTION_PLAIN &&
	    ((up && up->side[side].whole) || ++*n_plain > DIR_CENSUS_PLAIN_MAX))
		return 0;
	k->covered = kind != COLLECTION_PLAIN;
	found = VEC_PUSH(c->found, c->n_found, c->cap_found);
	if (!found)
		return -ENOMEM;
	*found = (struct dir_whole){
		.path = d->path,
		.kind = kind,
		.side = side,
		.n_files = k->total,
	};
	return 0;
}

static int by_depth(const void *a, const void *b)
{
	const struct dir *x = *(struct dir *const *)a;
	const struct dir *y = *(struct dir *const *)b;

	if (x->depth != y->depth)
		return x->depth < y->depth ? -1 : 1;
	return strcmp(x->path, y->path);
}

int dir_census_take(struct dir_census *c, const struct dir_whole **ret,
		    size_t *ret_n)
{
	size_t n_plain = 0;
	int r = 0;

	if (c->n)
		qsort(c->all, c->n, sizeof(*c->all), by_depth);
	for (size_t i = c->n; i-- > 0;)
		examine(c, c->all[i]);
	for (size_t i = 0; r == 0 && i < c->n; i++)
		for (int side = 0; r == 0 && side < DIR_SIDES; side++)
			r = report(c, c->all[i], side, &n_plain);
	*ret = c->found;
	*ret_n = c->n_found;
	return r;
}
