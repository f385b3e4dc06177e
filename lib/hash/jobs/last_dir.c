/* last_dir.c - a file by its folder; see engine_internal.h
 *
 * The folder is opened for the second file in a row that is in it: for one alone that
 * would cost more than it saves. */
#include <fcntl.h>
#include <string.h>

#include "base/cleanup.h"
#include "hash/jobs/engine_internal.h"

void last_dir_release(struct last_dir *last)
{
	closep(&last->fd);
	dir_listing_unref(last->listing);
	*last = (struct last_dir){ .fd = -1 };
}

static bool is_same_folder(const struct last_dir *last, const char *path,
			   size_t len)
{
	return last->path && last->len == len &&
	       memcmp(last->path, path, len) == 0;
}

static int open_folder(const struct last_dir *last)
{
	CLEANUP(freep) char *folder = strndup(last->path, last->len);

	return folder ? open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
}

/* A folder that cannot be opened is tried again with the next file; meanwhile the whole
 * path says what is wrong. */
int last_dir_find(struct last_dir *last, const char *path,
		  const char **ret_name)
{
	const char *slash = strrchr(path, '/');
	size_t len = slash ? (size_t)(slash - path) + 1 : 0;

	*ret_name = path;
	last->name = NULL;
	if (slash && !slash[1])
		return AT_FDCWD;
	if (!is_same_folder(last, path, len)) {
		last_dir_release(last);
		last->path = path;
		last->len = len;
		return AT_FDCWD;
	}
	last->name = path + len;
	last->n_more++;
	if (last->fd < 0 && slash)
		last->fd = open_folder(last);
	if (last->fd < 0)
		return AT_FDCWD;
	*ret_name = last->name;
	return last->fd;
}

/* A folder is read when many files in a row were in it.  Somebody else may be reading
 * it: then it is asked for again some files later. */
static struct dir_listing *get_listing(struct last_dir *last,
				       struct dir_listings *listings)
{
	enum { MANY = 32, PAUSE = 16 };

	if (last->n_more < MANY || last->n_more % PAUSE)
		return NULL;
	return dir_listings_get(listings, last->path, last->len);
}

bool last_dir_is_listed(struct last_dir *last, struct dir_listings *listings,
			uint64_t *ret_dev)
{
	if (!last->name)
		return false;
	if (last->listing && dir_listing_is_old(last->listing)) {
		dir_listing_unref(last->listing);
		last->listing = NULL;
	}
	if (!last->listing)
		last->listing = get_listing(last, listings);
	if (!last->listing || !dir_listing_has(last->listing, last->name))
		return false;
	*ret_dev = dir_listing_dev(last->listing);
	return true;
}
