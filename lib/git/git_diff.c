/* git_diff.c - see git.h: what a snapshot changed
 *
 * `git diff-tree` compares the commit with its parent and reads neither index nor work
 * tree.  Its output is not cut; programs that the configuration names do not run. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "git/git.h"
#include "git/git_child.h"
#include "git/git_env.h"
#include "git/git_head.h"
#include "git/git_owner.h"
#include "git/git_repo.h"

static int run(const struct git_repo *repo, struct git_command *command,
	       struct str *errors)
{
	CLEANUP(git_env_release) struct git_env env = { 0 };
	CLEANUP(str_release) struct str home = STR_INIT;
	struct git_owner owner;
	struct git_runner runner = { .root = repo->root,
				     .env = &env,
				     .cancel_fd = -1 };
	int r = git_env_init(&env, environ);

	if (r == 0 && git_owner_find(repo, &owner)) {
		runner.owner = &owner;
		git_owner_home(&owner, &home);
		if (home.len)
			r = git_env_set_home(&env, home.data);
	}
	return r < 0 ? r : git_run(&runner, command, errors);
}

int git_diff_read(const char *root, const char *id, bool color,
		  int (*take)(void *ctx, const char *data, size_t len),
		  void *ctx, struct str *errors)
{
	struct git_command command = {
		.args = { "diff-tree", "-p", "-M", "--root", "--no-commit-id",
			  "--no-ext-diff", "--no-textconv", "--binary",
			  color ? "--color=always" : "--color=never", id, "--" },
		.take = take,
		.ctx = ctx,
	};
	struct git_repo repo = { 0 };
	int r;

	if (!git_hex_valid(id, strlen(id)))
		return -EINVAL;
	r = git_repo_open(root, &repo);
	if (r > 0)
		r = run(&repo, &command, errors);
	else if (r == 0)
		r = -ENOENT;
	git_repo_release(&repo);
	return r;
}
