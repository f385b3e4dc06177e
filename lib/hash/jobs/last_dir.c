/* engine_near.c - a file by its folder; see engine_internal.h
 *
 * The folder is opened for the second file in a row that is in it: for one alone that
 * would cost more than it saves. */
#include <fcntl.h>
#include <string.h>

#include "base/cleanup.h"
#include "hash/jobs/engine_internal.h"

void near_release(struct near *near)
{
	closep(&near->fd);
	listing_unref(near->listing);
	*near = (struct near){ .fd = -1 };
}

static bool is_same_folder(const struct near *near, const char *path,
			   size_t len)
{
	return near->path && near->len == len &&
	       memcmp(near->path, path, len) == 0;
}

static int open_folder(const struct near *near)
{
	CLEANUP(freep) char *folder = strndup(near->path, near->len);

	return folder ? open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
}

/* A folder that cannot be opened is tried again with the next file; meanwhile the whole
 * path says what is wrong. */
int near_find(struct near *near, const char *path, const char **ret_name)
{
	const char *slash = strrchr(path, '/');
	size_t len = slash ? (size_t)(slash - path) + 1 : 0;

	*ret_name = path;
	near->name = NULL;
	if (slash && !slash[1])
		return AT_FDCWD;
	if (!is_same_folder(near, path, len)) {
		near_release(near);
		near->path = path;
		near->len = len;
		return AT_FDCWD;
	}
	near->name = path + len;
	near->n_more++;
	if (near->fd < 0 && slash)
		near->fd = open_folder(near);
	if (near->fd < 0)
		return AT_FDCWD;
	*ret_name = near->name;
	return near->fd;
}

/* A folder is read when many files in a row were in it.  Somebody else may be reading
 * it: then it is asked for again some files later. */
static struct listing *get_listing(struct near *near, struct listings *listings)
{
	enum { MANY = 32, PAUSE = 16 };

	if (near->n_more < MANY || near->n_more % PAUSE)
		return NULL;
	return listings_get(listings, near->path, near->len);
}

bool near_is_listed(struct near *near, struct listings *listings,
		    uint64_t *ret_dev)
{
	if (!near->name)
		return false;
	if (near->listing && listing_is_old(near->listing)) {
		listing_unref(near->listing);
		near->listing = NULL;
	}
	if (!near->listing)
		near->listing = get_listing(near, listings);
	if (!near->listing || !listing_has(near->listing, near->name))
		return false;
	*ret_dev = listing_dev(near->listing);
	return true;
}
