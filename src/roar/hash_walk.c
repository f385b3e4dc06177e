/* hash_walk.c - see hash_walk.h
 *
 * The folders that are still to be read wait in a list.  None is kept open while
 * another one is read, so the depth of a tree costs no descriptors, and the order
 * comes from one sort at the end. */
#include "hash_walk.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/vec.h"

DEFINE_CLEANUP(DIR *, closedir)

struct walk {
	struct hash_names *names;
	const char **folders; /* to be read, the next one last */
	size_t n_folders;
	size_t cap;
};

static int add_folder(struct walk *w, const char *path)
{
	const char **slot = VEC_PUSH(w->folders, w->n_folders, w->cap);

	if (!path || !slot)
		return -ENOMEM;
	*slot = path;
	return 0;
}

/* NULL and errno when it cannot be opened. */
static DIR *open_folder(const char *path, int flags)
{
	CLEANUP(closep)
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | flags);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);

	if (dir)
		fd = -1;
	return dir;
}

/* DT_REG, DT_DIR, ... or a negative errno.  Some file systems leave it out. */
static int type_of(DIR *dir, const struct dirent *entry)
{
	struct stat st;

	if (entry->d_type != DT_UNKNOWN)
		return entry->d_type;
	if (fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	return IFTODT(st.st_mode);
}

static bool is_dots(const char *name)
{
	return !strcmp(name, ".") || !strcmp(name, "..");
}

static int add_entry(struct walk *w, DIR *dir, const char *folder,
		     const struct dirent *entry)
{
	int type = type_of(dir, entry);
	const char *path;

	if (is_dots(entry->d_name) || type == DT_LNK)
		return 0;
	path = pool_printf(&w->names->pool, "%s%s%s", folder,
			   folder[strlen(folder) - 1] == '/' ? "" : "/",
			   entry->d_name);
	if (type == DT_DIR)
		return add_folder(w, path);
	if (type >= 0)
		type = type == DT_REG ? 0 : -EINVAL;
	return hash_names_add(w->names, path, type);
}

static int read_folder(struct walk *w, const char *folder, int flags)
{
	CLEANUP(closedirp) DIR *dir = open_folder(folder, flags);
	int r = 0;

	if (!dir)
		return hash_names_add(w->names, folder, -errno);
	while (r == 0) {
		const struct dirent *entry;

		errno = 0;
		entry = readdir(dir);
		if (!entry)
			break;
		r = add_entry(w, dir, folder, entry);
	}
	if (r == 0 && errno)
		r = hash_names_add(w->names, folder, -errno);
	return r;
}

static int by_path(const void *a, const void *b)
{
	const struct hash_name *x = a;
	const struct hash_name *y = b;

	return strcmp(x->path, y->path);
}

int hash_walk(struct hash_names *names, const char *path)
{
	struct walk w = { .names = names };
	size_t first = names->n;
	int r = read_folder(&w, path, 0);

	/* A folder that became a link since its parent was read stays out. */
	while (r == 0 && w.n_folders)
		r = read_folder(&w, w.folders[--w.n_folders], O_NOFOLLOW);
	free(w.folders);
	if (r == 0 && names->n > first)
		qsort(names->all + first, names->n - first,
		      sizeof(names->all[0]), by_path);
	return r;
}
