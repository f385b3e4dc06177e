/* git_walk.c - see git_walk.h */
#include "git/git_walk.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/pool.h"
#include "base/vec.h"
#include "git/git_status.h"
#include "git/git_tree.h"
#include "git/git_watch.h"

enum { NAMES_MAX = 4 * 1000 * 1000 }; /* directory entries read in all */

struct walk {
	const struct git_tree *tree;
	const struct git_status *status;
	struct git_watches *watches;
	struct pool pool; /* of the names in todo */
	const char **todo; /* directories not yet read; a stack */
	size_t n_todo, cap;
	size_t n_names;
};

static void walk_release(struct walk *w)
{
	free(w->todo);
	pool_release(&w->pool);
}

static bool is_dir(const struct walk *w, const char *path,
		   const struct dirent *entry)
{
	struct stat st;

	if (entry->d_type != DT_UNKNOWN)
		return entry->d_type == DT_DIR;
	return fstatat(w->tree->root_fd, path, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	       S_ISDIR(st.st_mode);
}

static bool is_skipped(const struct walk *w, const char *path, size_t len)
{
	return map_get(&w->status->ignored_dirs, path, len) ||
	       git_path_under(path, len, w->tree->own);
}

static int push(struct walk *w, const char *path)
{
	const char **slot = VEC_PUSH(w->todo, w->n_todo, w->cap);

	if (!slot)
		return -ENOMEM;
	*slot = path;
	return 0;
}

/* Looks at one name in `dir`; 1 when it shows that `dir` is a repository. */
static int take_name(struct walk *w, const char *dir,
		     const struct dirent *entry)
{
	bool top = strcmp(dir, ".") == 0;
	const char *name = entry->d_name;
	char *path;

	if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return 0;
	if (strcmp(name, ".git") == 0)
		return !top;
	if (entry->d_type != DT_DIR && entry->d_type != DT_UNKNOWN &&
	    strcmp(name, ".gitignore") != 0)
		return 0; /* nearly all names end here, without a copy */
	path = top ? pool_strdup(&w->pool, name) :
		     pool_printf(&w->pool, "%s/%s", dir, name);
	if (!path)
		return -ENOMEM;
	if (is_dir(w, path, entry))
		return is_skipped(w, path, strlen(path)) ? 0 : push(w, path);
	if (strcmp(name, ".gitignore") == 0)
		return git_watch_add(w->watches, w->tree->root_fd, path,
				     strlen(path));
	return 0;
}

static int read_dir(struct walk *w, const char *dir)
{
	size_t n_todo = w->n_todo;
	CLEANUP(closedirp) DIR *stream = NULL;
	struct dirent *entry;
	int fd, r;

	fd = openat(w->tree->root_fd, dir,
		    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return 0; /* unreadable for git as well, or gone */
	stream = fdopendir(fd);
	if (!stream) {
		(void)close(fd);
		return -ENOMEM;
	}
	while ((entry = readdir(stream))) {
		r = take_name(w, dir, entry);
		if (r < 0)
			return r;
		if (r > 0) {
			w->n_todo = n_todo; /* git does not go in either */
			return 0;
		}
		if (++w->n_names > NAMES_MAX)
			return -E2BIG;
	}
	return 0;
}

int git_walk(const struct git_tree *tree, const struct git_status *status,
	     const atomic_bool *cancel, struct git_watches *watches)
{
	CLEANUP(walk_release)
	struct walk w = { .tree = tree, .status = status, .watches = watches };
	int r;

	r = push(&w, ".");
	while (r == 0 && w.n_todo) {
		const char *dir = w.todo[--w.n_todo];

		if (atomic_load(cancel))
			return -ECANCELED;
		r = git_watch_add(watches, tree->root_fd, dir, strlen(dir));
		if (r == 0)
			r = read_dir(&w, dir);
	}
	return r;
}
