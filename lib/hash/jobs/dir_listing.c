/* dir_listing.c - see dir_listing.h
 *
 * Of a name 32 bits of its hash are kept, in a place that others of its bits choose:
 * small enough for the cache of a CPU, and the name of something else is taken for one of
 * these once in a billion times.  Linear probing at a load of up to 3/4; 0 is an empty
 * slot. */
#include "hash/jobs/dir_listing.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/map.h"
#include "base/vec.h"
#include "hash/read/filesystem.h"

#define OLD_NS INT64_C(1000000000)

struct dir_listing {
	atomic_uint
		n_refs; /* the other fields are not changed while it is shared */
	char *folder;
	int64_t read_ns; /* monotonic, before the first name */
	uint64_t dev;
	size_t n_slots; /* 0 or a power of two */
	uint32_t *slots;
};

DEFINE_CLEANUP(struct dir_listing *, dir_listing_unref)

void dir_listing_unref(struct dir_listing *listing)
{
	if (!listing || atomic_fetch_sub(&listing->n_refs, 1) > 1)
		return;
	free(listing->folder);
	free(listing->slots);
	free(listing);
}

/* ---- the set ---- */

/* The slot that holds what is kept of `hash`, or the empty one where it belongs. */
static uint32_t *find(const struct dir_listing *l, uint64_t hash)
{
	uint32_t kept = (uint32_t)(hash >> 32) | 1;
	size_t i = hash & (l->n_slots - 1);

	while (l->slots[i] && l->slots[i] != kept)
		i = (i + 1) & (l->n_slots - 1);
	return &l->slots[i];
}

static uint64_t hash_of(const char *name)
{
	return map_hash(name, strlen(name));
}

bool dir_listing_has(const struct dir_listing *listing, const char *name)
{
	return listing->n_slots && *find(listing, hash_of(name));
}

/* The hashes of all names become the set, or there is none. */
static void fill(struct dir_listing *l, const uint64_t *hashes, size_t n)
{
	size_t n_slots = 4;

	while (n_slots / 4 * 3 < n)
		n_slots *= 2;
	l->slots = calloc(n_slots, sizeof(*l->slots));
	if (!l->slots)
		return;
	l->n_slots = n_slots;
	for (size_t i = 0; i < n; i++)
		*find(l, hashes[i]) = (uint32_t)(hashes[i] >> 32) | 1;
}

bool dir_listing_is_old(const struct dir_listing *listing)
{
	return clock_mono_tick_ns() - listing->read_ns > OLD_NS;
}

uint64_t dir_listing_dev(const struct dir_listing *listing)
{
	return listing->dev;
}

/* ---- reading ---- */

static DIR *open_folder(const char *folder)
{
	CLEANUP(closep)
	int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);

	if (dir)
		(void)TAKE_FD(fd);
	return dir;
}

static bool is_ours(int fd, uint64_t *ret_dev)
{
	struct statfs fs;
	struct stat st;

	if (fstatfs(fd, &fs) < 0 ||
	    !filesystem_has_our_time((uint32_t)fs.f_type) ||
	    fd_stat(fd, &st) < 0)
		return false;
	*ret_dev = (uint64_t)st.st_dev;
	return true;
}

/* What cannot be read to its end has the names up to there.  Returns how many were
 * met, `max` at most. */
static size_t read_names(struct dir_listing *l, size_t max)
{
	CLEANUP(closedirp) DIR *dir = open_folder(l->folder);
	CLEANUP(freep) uint64_t *hashes = NULL;
	size_t n = 0, n_hashes = 0, cap = 0;
	const struct dirent *entry;

	if (!dir || !is_ours(dirfd(dir), &l->dev))
		return 0;
	for (; n < max && (entry = readdir(dir)); n++) {
		uint64_t *hash;

		if (entry->d_type != DT_REG)
			continue;
		hash = VEC_PUSH(hashes, n_hashes, cap);
		if (!hash)
			break;
		*hash = hash_of(entry->d_name);
	}
	fill(l, hashes, n_hashes);
	return n;
}

static struct dir_listing *listing_new(const char *path, size_t len)
{
	CLEANUP(dir_listing_unrefp)
	struct dir_listing *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	atomic_init(&l->n_refs, 1);
	l->folder = len ? strndup(path, len) : strdup(".");
	l->read_ns = clock_mono_tick_ns();
	return l->folder ? TAKE_PTR(l) : NULL;
}

/* ---- sharing ---- */

void dir_listings_init(struct dir_listings *l, size_t n_files)
{
	enum { BESIDES = 16 }; /* "." and "..", and a few that are no files */

	*l = (struct dir_listings){ .n_files = n_files + BESIDES,
				    .budget = 2 * (n_files + BESIDES) };
	(void)pthread_mutex_init(&l->lock, NULL);
}

void dir_listings_release(struct dir_listings *l)
{
	dir_listing_unref(l->last);
	(void)pthread_mutex_destroy(&l->lock);
}

static bool is_of(const struct dir_listing *listing, const char *path,
		  size_t len)
{
	if (!len)
		return !strcmp(listing->folder, ".");
	return !strncmp(listing->folder, path, len) && !listing->folder[len];
}

/* The last one with a reference, or NULL and whether it is ours to read another. */
static struct dir_listing *get_last(struct dir_listings *l, const char *path,
				    size_t len, size_t *ret_max)
{
	struct dir_listing *found = NULL;

	(void)pthread_mutex_lock(&l->lock);
	if (l->last && is_of(l->last, path, len) &&
	    !dir_listing_is_old(l->last)) {
		found = l->last;
		atomic_fetch_add(&found->n_refs, 1);
	} else if (!l->busy) {
		*ret_max = l->budget < l->n_files ? l->budget : l->n_files;
		l->busy = *ret_max > 0;
	}
	(void)pthread_mutex_unlock(&l->lock);
	return found;
}

static void put_last(struct dir_listings *l, struct dir_listing *listing,
		     size_t n_read)
{
	struct dir_listing *before;

	if (listing)
		atomic_fetch_add(&listing->n_refs, 1);
	(void)pthread_mutex_lock(&l->lock);
	before = l->last;
	l->last = listing;
	l->budget -= n_read;
	l->busy = false;
	(void)pthread_mutex_unlock(&l->lock);
	dir_listing_unref(before);
}

struct dir_listing *dir_listings_get(struct dir_listings *l, const char *path,
				     size_t len)
{
	size_t max = 0, n_read = 0;
	struct dir_listing *listing = get_last(l, path, len, &max);

	if (listing || !max)
		return listing;
	listing = listing_new(path, len);
	if (listing)
		n_read = read_names(listing, max);
	put_last(l, listing, n_read);
	return listing;
}
