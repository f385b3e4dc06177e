/* directory_moves.c - see directory_moves.h */
#include "run/directory_moves.h"

#include <dirent.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "run/run.h"

enum {
	WALK_MAX = 200000, /* the most names below renamed directories */
	WALK_DEPTH = 64,
};

static void see_moved(struct run *run, struct str *path, const struct stat *st,
		      int depth, unsigned *budget);

/* Appends "/NAME" and returns whether the result can be a name of the record. */
static bool enter(struct str *path, const char *name)
{
	str_addf(path, "/%s", name);
	return !path->failed && path->len <= EVENT_PATH_MAX;
}

static void walk_moved(struct run *run, struct str *path, int depth,
		       unsigned *budget)
{
	CLEANUP(closedirp) DIR *dir = opendir(path->data);
	size_t len = path->len;
	struct dirent *entry;

	if (dir && depth > WALK_DEPTH)
		*budget = 0;
	while (dir && *budget && (entry = readdir(dir))) {
		struct stat st;

		if (strcmp(entry->d_name, ".") == 0 ||
		    strcmp(entry->d_name, "..") == 0)
			continue;
		(*budget)--;
		if (!enter(path, entry->d_name)) {
			*budget = 0;
			return;
		}
		if (lstat(path->data, &st) == 0)
			see_moved(run, path, &st, depth, budget);
		path->len = len;
	}
}

static void see_moved(struct run *run, struct str *path, const struct stat *st,
		      int depth, unsigned *budget)
{
	struct stamp stamp = stamp_of(st);

	if (S_ISDIR(st->st_mode))
		walk_moved(run, path, depth + 1, budget);
	else if (S_ISREG(st->st_mode) || S_ISLNK(st->st_mode))
		(void)fold_add_found(run->fold, path->data,
				     event_ftype_of(st->st_mode), &stamp);
}

void directory_moves_follow(struct run *run)
{
	CLEANUP(str_release) struct str path = STR_INIT;
	unsigned budget = WALK_MAX;

	for (size_t i = 0; i < run->n_moved_dirs; i++) {
		if (filter_match(&run->filters, run->moved_dirs[i], true) !=
		    FILTER_NONE)
			continue;
		str_clear(&path);
		str_adds(&path, run->moved_dirs[i]);
		walk_moved(run, &path, 0, &budget);
	}
	if (!budget)
		fold_add_gap(run->fold, EVENT_GAP_PATH,
			     "too much below directories that were renamed");
}
