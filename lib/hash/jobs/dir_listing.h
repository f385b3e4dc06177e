/* dir_listing.h - finds the regular files of a directory by reading the directory once.
 *
 * A file must be checked with stat(2) before it is opened, because FIFOs and devices must
 * not be opened.  That is a sixth of the cost of a small file.  If many files of one
 * directory are read, reading the directory has the same information for an eighth of that.
 *
 * A listing describes a moment in the past and expires soon.  Something that has replaced a
 * file since then is opened, just as if it had been put there between stat() and open().
 *
 * Only for file systems whose timestamps come from this machine's clock, see
 * engine_small.c; for others a listing has no names.  Listings are immutable: any thread
 * may use them. */
#ifndef ROAR_HASH_DIR_LISTING_H
#define ROAR_HASH_DIR_LISTING_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dir_listing;

/* The directory that was read last, for all threads. */
struct dir_listings {
	pthread_mutex_t lock; /* protects the fields below; innermost */
	struct dir_listing *last; /* may be NULL */
	bool busy; /* a thread reads a directory */
	size_t n_files; /* that will be looked up: limits the names read */
	size_t budget; /* names that may still be read */
};

/* For a list of `n_files`, which limits the cost of reading directories to what it can
 * save. */
void dir_listings_init(struct dir_listings *l, size_t n_files);
void dir_listings_release(struct dir_listings *l);

/* The listing of the directory that is the first `len` bytes of `path` (0: "."); NULL: no
 * listing now.  Release it with dir_listing_unref(). */
struct dir_listing *dir_listings_get(struct dir_listings *l, const char *path,
				     size_t len);
void dir_listing_unref(struct dir_listing *listing);

/* Is the listing expired? */
bool dir_listing_is_old(const struct dir_listing *listing);

/* Was there a regular file of that name? */
bool dir_listing_has(const struct dir_listing *listing, const char *name);

/* The device of these files; files of other devices are mount points. */
uint64_t dir_listing_dev(const struct dir_listing *listing);

#endif
