/* git_tree.c - see git_tree.h */
#include "git/git_tree.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "git/git_config.h"
#include "git/git_head.h"
#include "git/git_index.h"
#include "git/git_repo.h"
#include "git/git_status.h"

enum {
	INDEX_MAX_BYTES = 1 << 30,
	CANCEL_EVERY = 256, /* entries between two checks of the flag */
};

/* Size and stamp come from the descriptor that is read: git replaces the index
 * by a rename, so both belong to the same content. */
static int read_index(struct git_tree *tree)
{
	CLEANUP(str_release) struct str path = STR_INIT;
	CLEANUP(closep) int fd = -1;
	struct stat st;
	ssize_t n;

	str_addf(&path, "%s/index", tree->repo->git_dir);
	if (str_error(&path) < 0)
		return -ENOMEM;
	fd = open(path.data, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode) || st.st_size > INDEX_MAX_BYTES)
		return -EBADMSG;
	if (str_reserve(&tree->index, (size_t)st.st_size) < 0)
		return -ENOMEM;
	n = fd_read_all(fd, tree->index.data, (size_t)st.st_size);
	if (n < 0)
		return (int)n;
	tree->index.len = (size_t)n;
	tree->index.data[n] = '\0';
	tree->index_stamp = stamp_of(&st);
	return 0;
}

int git_tree_open(struct git_tree *tree, const struct git_repo *repo,
		  const struct git_config *config, const char *own)
{
	int r;

	*tree = (struct git_tree){
		.repo = repo,
		.config = config,
		.own = own,
		.index = STR_INIT,
	};
	tree->root_fd = open(repo->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (tree->root_fd < 0)
		return -errno;
	r = read_index(tree);
	if (r < 0)
		git_tree_close(tree);
	return r;
}

void git_tree_close(struct git_tree *tree)
{
	closep(&tree->root_fd);
	tree->root_fd = -1;
	str_release(&tree->index);
}

static void to_hex(const uint8_t *oid, size_t len, char *ret_hex)
{
	for (size_t i = 0; i < len; i++)
		(void)snprintf(ret_hex + 2 * i, 3, "%02x", oid[i]);
}

/* Is there a repository that may hold changes? */
static bool is_checked_out(const struct git_tree *tree,
			   const struct git_index_entry *entry)
{
	CLEANUP(str_release) struct str path = STR_INIT;

	str_addf(&path, "%s/.git", entry->path);
	return str_error(&path) < 0 ||
	       faccessat(tree->root_fd, path.data, F_OK, 0) == 0;
}

/* A submodule is unchanged when its HEAD is the commit in the index, or when it was
 * never checked out and its directory only exists. */
static bool submodule_holds(const struct git_tree *tree,
			    const struct git_index_entry *entry)
{
	CLEANUP(git_repo_release) struct git_repo repo = { 0 };
	CLEANUP(git_head_release) struct git_head head = { 0 };
	CLEANUP(str_release) struct str path = STR_INIT;
	char hex[GIT_HEX_MAX + 1];
	struct stat st;
	int r;

	str_addf(&path, "%s/%s", tree->repo->root, entry->path);
	if (str_error(&path) < 0 || lstat(path.data, &st) < 0 ||
	    !S_ISDIR(st.st_mode))
		return false;
	r = git_repo_open(path.data, &repo);
	if (r == 0) {
		str_adds(&path, "/.git");
		return str_error(&path) == 0 && lstat(path.data, &st) < 0 &&
		       errno == ENOENT;
	}
	if (r < 0 || git_head_read(&repo, &head) < 0 || !head.commit)
		return false;
	to_hex(entry->oid, tree->config->hash_len, hex);
	return strcmp(hex, head.commit) == 0;
}

/* Does stat prove the entry unchanged?  Delivers the file's stamp. */
static bool entry_holds(const struct git_tree *tree,
			const struct git_index_entry *entry,
			struct stamp *ret_now)
{
	struct stat st;

	*ret_now = (struct stamp){ 0 };
	if (entry->skip_worktree || entry->assume_valid)
		return true;
	if (git_path_under(entry->path, entry->path_len, tree->own))
		return true;
	if (entry->mode == GIT_MODE_GITLINK)
		return entry->stage == 0 && submodule_holds(tree, entry);
	if (fstatat(tree->root_fd, entry->path, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return false;
	*ret_now = stamp_of(&st);
	return entry->stage == 0 && !entry->intent_to_add &&
	       git_index_entry_matches(entry, &st, tree->config->trust_ctime) &&
	       !stamp_is_racy(ret_now, tree->index_stamp.mtime_ns);
}

static int scan(struct git_tree *tree, struct git_index *index,
		const atomic_bool *cancel,
		int (*fn)(void *ctx, const struct git_index_entry *entry,
			  const struct stamp *now),
		void *ctx)
{
	struct git_index_entry entry;
	struct stamp now;
	int r;

	for (size_t i = 0; (r = git_index_next(index, &entry)) > 0; i++) {
		if (i % CANCEL_EVERY == 0 && atomic_load(cancel))
			return -ECANCELED;
		if (entry.mode == GIT_MODE_GITLINK &&
		    is_checked_out(tree, &entry))
			tree->n_submodules++;
		if (entry_holds(tree, &entry, &now))
			continue;
		r = fn(ctx, &entry, &now);
		if (r != 0)
			return r;
	}
	if (r < 0)
		return r;
	r = git_index_has_extension(index, "link");
	return r > 0 ? -EOPNOTSUPP : r;
}

int git_tree_scan(struct git_tree *tree, const atomic_bool *cancel,
		  int (*fn)(void *ctx, const struct git_index_entry *entry,
			    const struct stamp *now),
		  void *ctx)
{
	struct git_index index;
	int r;

	tree->n_submodules = 0;
	if (!stamp_exists(&tree->index_stamp))
		return 0;
	r = git_index_init(&index, tree->index.data, tree->index.len,
			   tree->config->hash_len);
	if (r < 0)
		return r;
	r = scan(tree, &index, cancel, fn, ctx);
	git_index_release(&index);
	return r;
}
