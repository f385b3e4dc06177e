/* git_watch.c - see git_watch.h */
#include "git/git_watch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/vec.h"

enum { CANCEL_EVERY = 256 }; /* names between two checks of the flag */

void git_watches_release(struct git_watches *watches)
{
	free(watches->items);
	map_release(&watches->by_path);
	pool_release(&watches->pool);
	*watches = GIT_WATCHES_INIT;
}

struct stamp git_stamp_at(int root_fd, const char *path)
{
	struct stat st;

	if (fstatat(root_fd, path, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return (struct stamp){ 0 };
	return stamp_of(&st);
}

bool git_watch_has(const struct git_watches *watches, const char *path,
		   size_t len)
{
	return map_get(&watches->by_path, path, len) != NULL;
}

int git_watch_put(struct git_watches *watches, const char *path, size_t len,
		  const struct stamp *stamp)
{
	struct git_watch *watch;
	char *copy;

	if (git_watch_has(watches, path, len))
		return 0;
	if (watches->n_items >= GIT_WATCH_MAX)
		return -E2BIG;
	copy = pool_dup(&watches->pool, path, len);
	watch = VEC_PUSH(watches->items, watches->n_items, watches->cap);
	if (!copy || !watch)
		return -ENOMEM;
	*watch = (struct git_watch){ copy, (uint32_t)len, *stamp };
	return map_set(&watches->by_path, copy, len, copy);
}

int git_watch_add(struct git_watches *watches, int root_fd, const char *path,
		  size_t len)
{
	struct stamp stamp;

	if (git_watch_has(watches, path, len))
		return 0;
	stamp = git_stamp_at(root_fd, path);
	return git_watch_put(watches, path, len, &stamp);
}

bool git_watches_hold(const struct git_watches *watches, int root_fd,
		      const atomic_bool *cancel)
{
	for (size_t i = 0; i < watches->n_items; i++) {
		const struct git_watch *watch = &watches->items[i];
		struct stamp now = git_stamp_at(root_fd, watch->path);

		if (!stamp_equal(&now, &watch->stamp))
			return false;
		if (i % CANCEL_EVERY == 0 && atomic_load(cancel))
			return false;
	}
	return true;
}

bool git_watches_settled(const struct git_watches *watches, int64_t time_ns)
{
	for (size_t i = 0; i < watches->n_items; i++) {
		const struct stamp *stamp = &watches->items[i].stamp;

		if (stamp_exists(stamp) && stamp_is_racy(stamp, time_ns))
			return false;
	}
	return true;
}
