/* dir_listing.h - which names of a folder are regular files, by one look at the folder.
 *
 * A name is looked at before it is opened, for a FIFO or a device must not be: that is
 * a sixth of what a small file costs.  Where many files of one folder are read, the folder
 * tells the same of all of them for an eighth of that.
 *
 * A listing says what was there a moment ago, and grows old soon.  What was put in the
 * place of a file since then is opened, as it would be had it come between the look and
 * the open.
 *
 * Only of file systems whose times are those of our clock, see engine_small.c; of others
 * a listing has no names.  All threads may use listings; one is never changed. */
#ifndef ROAR_HASH_DIR_LISTING_H
#define ROAR_HASH_DIR_LISTING_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dir_listing;

/* The folder that was read last, for all threads. */
struct dir_listings {
	pthread_mutex_t lock; /* protects the rest */
	struct dir_listing *last; /* may be NULL */
	bool busy; /* somebody reads a folder */
	size_t n_files; /* that will be asked for: no folder is read further */
	size_t budget; /* names that may still be read */
};

/* For a list of `n_files`: reading folders must not cost more than it can save. */
void dir_listings_init(struct dir_listings *l, size_t n_files);
void dir_listings_release(struct dir_listings *l);

/* The names of the folder that is the first `len` bytes of `path`, "." without any;
 * NULL when there is no listing now.  To be given back. */
struct dir_listing *dir_listings_get(struct dir_listings *l, const char *path,
				     size_t len);
void dir_listing_unref(struct dir_listing *listing);

/* Too old to be asked? */
bool dir_listing_is_old(const struct dir_listing *listing);

/* Was there a regular file of that name? */
bool dir_listing_has(const struct dir_listing *listing, const char *name);

/* The device of these files; others have been mounted there. */
uint64_t dir_listing_dev(const struct dir_listing *listing);

#endif
