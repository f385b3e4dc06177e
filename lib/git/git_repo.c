/* git_repo.c - see git_repo.h */
#include "git/git_repo.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/str.h"

enum { LINK_MAX_BYTES = 8192 }; /* of a `.git` or `commondir` file */

void git_repo_release(struct git_repo *repo)
{
	free(repo->root);
	free(repo->git_dir);
	free(repo->common_dir);
	*repo = (struct git_repo){ 0 };
}

int git_read_file(const char *dir, const char *name, size_t max,
		  struct str *out)
{
	CLEANUP(str_release) struct str path = STR_INIT;
	CLEANUP(closep) int fd = -1;
	struct stat st;
	ssize_t n;

	str_addf(&path, "%s/%s", dir, name);
	if (str_error(&path) < 0)
		return -ENOMEM;
	fd = open(path.data, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -ENOENT;
	if ((uint64_t)st.st_size > max)
		return -EFBIG;
	if (str_reserve(out, (size_t)st.st_size) < 0)
		return -ENOMEM;
	/* A file that grew meanwhile was not replaced in the way git does it;
	 * its first part is as good as any. */
	n = fd_read_all(fd, out->data + out->len, (size_t)st.st_size);
	if (n < 0)
		return (int)n;
	out->len += (size_t)n;
	out->data[out->len] = '\0';
	return 0;
}

static bool has(const char *dir, const char *name, mode_t type)
{
	CLEANUP(str_release) struct str path = STR_INIT;
	struct stat st;

	str_addf(&path, "%s/%s", dir, name);
	return str_error(&path) == 0 && stat(path.data, &st) == 0 &&
	       (st.st_mode & S_IFMT) == type;
}

/* HEAD may be a dangling symbolic link in old repositories, but no repository
 * that git made in the last decade lacks a HEAD that opens. */
static bool is_git_dir(const char *dir)
{
	if (!has(dir, "HEAD", S_IFREG))
		return false;
	return has(dir, "commondir", S_IFREG) || has(dir, "objects", S_IFDIR);
}

/* Reads dir/name, a file of one path, and makes it absolute with `dir`. */
static int read_link_file(const char *dir, const char *name, const char *prefix,
			  char **ret_path)
{
	CLEANUP(str_release) struct str text = STR_INIT;
	CLEANUP(str_release) struct str path = STR_INIT;
	size_t skip = strlen(prefix);
	int r;

	r = git_read_file(dir, name, LINK_MAX_BYTES, &text);
	if (r < 0)
		return r;
	while (text.len && strchr("\r\n", text.data[text.len - 1]))
		text.data[--text.len] = '\0';
	if (text.len <= skip || strncmp(text.data, prefix, skip) != 0 ||
	    strlen(text.data) != text.len)
		return -ENOENT;
	path_normalize(&path, dir, text.data + skip);
	*ret_path = str_take(&path);
	return *ret_path ? 0 : -ENOMEM;
}

/* Fills in git_dir from root/.git; -ENOENT when there is no usable one. */
static int find_git_dir(struct git_repo *repo)
{
	CLEANUP(str_release) struct str path = STR_INIT;
	struct stat st;

	path_normalize(&path, repo->root, ".git");
	if (str_error(&path) < 0)
		return -ENOMEM;
	if (stat(path.data, &st) < 0)
		return -ENOENT;
	if (S_ISREG(st.st_mode))
		return read_link_file(repo->root, ".git",
				      "gitdir: ", &repo->git_dir);
	if (!S_ISDIR(st.st_mode))
		return -ENOENT;
	repo->git_dir = str_take(&path);
	return repo->git_dir ? 0 : -ENOMEM;
}

static int find_common_dir(struct git_repo *repo)
{
	int r = read_link_file(repo->git_dir, "commondir", "",
			       &repo->common_dir);

	if (r != -ENOENT)
		return r;
	repo->common_dir = strdup(repo->git_dir);
	return repo->common_dir ? 0 : -ENOMEM;
}

int git_repo_open(const char *root, struct git_repo *ret_repo)
{
	CLEANUP(git_repo_release) struct git_repo repo = { 0 };
	int r;

	assert(root[0] == '/');
	repo.root = strdup(root);
	if (!repo.root)
		return -ENOMEM;
	r = find_git_dir(&repo);
	if (r == -ENOMEM)
		return r;
	if (r < 0 || !is_git_dir(repo.git_dir))
		return 0;
	r = find_common_dir(&repo);
	if (r < 0)
		return r == -ENOMEM ? r : 0;
	*ret_repo = repo;
	repo = (struct git_repo){ 0 };
	return 1;
}

/* A repository without a work tree, or the inside of a `.git`. */
static bool is_bare(const char *dir)
{
	return is_git_dir(dir) && has(dir, "refs", S_IFDIR);
}

int git_repo_find(const char *cwd, struct git_repo *ret_repo)
{
	CLEANUP(str_release) struct str dir = STR_INIT;

	if (cwd[0] != '/')
		return -EINVAL;
	path_normalize(&dir, "/", cwd);
	for (;;) {
		int r = str_error(&dir);

		if (r < 0)
			return r;
		r = git_repo_open(dir.data, ret_repo);
		if (r != 0)
			return r;
		if (is_bare(dir.data) || dir.len == 1)
			return 0;
		/* Up one directory; the first one below "/" leads to "/". */
		while (dir.len > 1 && dir.data[dir.len - 1] != '/')
			dir.len--;
		if (dir.len > 1)
			dir.len--;
		dir.data[dir.len] = '\0';
	}
}
