/* diff_code.c - the changes between the code of two jobs, by the git program */
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/path.h"
#include "base/pool.h"
#include "diff/diff.h"
#include "git/git_child.h"
#include "git/git_env.h"
#include "git/git_owner.h"
#include "git/git_repo.h"
#include "store/store.h"

enum { LIMIT_S = 30 };

/* What a job ran: its snapshot has the uncommitted changes too. */
static const char *revision(const struct store_job *job)
{
	return job->git_snapshot[0] != '\0' ? job->git_snapshot :
					      job->git_commit;
}

/* Hex digits, never an option. */
static bool is_revision(const char *text)
{
	return text[0] != '\0' &&
	       text[strspn(text, "0123456789abcdef")] == '\0';
}

/* Neither programs nor filters that the repository's configuration names take part. */
static int run_git(const struct git_repo *repo, const char *root,
		   const struct git_command *command)
{
	CLEANUP(git_env_release) struct git_env env = { 0 };
	struct git_owner owner;
	struct git_runner runner = {
		.root = root,
		.env = &env,
		.deadline_ns = clock_mono_ns() + LIMIT_S * INT64_C(1000000000),
		.cancel_fd = -1,
	};
	int r = git_env_init(&env, environ);

	if (r < 0)
		return r;
	if (git_owner_find(repo, &owner))
		runner.owner = &owner;
	r = git_run(&runner, command, NULL);
	return r == -ENOMEM ? r : 0;
}

/* Code files that differ, as arguments of git. */
static int add_paths(const struct diff_report *r, struct pool *pool, size_t *at,
		     const char **args, size_t max)
{
	const char *root = r->job[0]->git_root;
	size_t n = 0;

	for (; *at < r->diff.n && n < max; ++*at) {
		const struct job_diff_item *item = &r->diff.items[*at];
		const struct store_file *row = item->file_a ? item->file_a :
							      item->file_b;

		if (item->kind != JOB_DIFF_CODE || !row ||
		    !path_is_under(row->path, root))
			continue;
		args[n] = pool_printf(pool, ":(top,literal)%s",
				      path_relative(row->path, root));
		if (!args[n++])
			return -ENOMEM;
	}
	return n > 0;
}

/* The files in groups, as many as a command takes. */
static int diff_files(const struct git_repo *repo, struct diff_report *r,
		      struct pool *pool)
{
	enum { FIXED = 8 };
	size_t at = 0;

	for (;;) {
		struct git_command command = {
			.args = { "diff", "--no-color", "--no-ext-diff",
				  "--no-textconv", "--no-renames",
				  revision(r->job[0]), revision(r->job[1]),
				  "--" },
			.take = git_take_text,
			.ctx = &r->code,
		};
		int x = add_paths(r, pool, &at, command.args + FIXED,
				  GIT_ARGS_MAX - FIXED - 1);

		if (x <= 0)
			return x;
		x = run_git(repo, r->job[0]->git_root, &command);
		if (x < 0)
			return x;
	}
}

int diff_code(struct diff_report *r, struct pool *pool)
{
	CLEANUP(git_repo_release) struct git_repo repo = { 0 };
	const char *root = r->job[0]->git_root;

	if (!is_revision(revision(r->job[0])) ||
	    !is_revision(revision(r->job[1])) || root[0] != '/' ||
	    strcmp(root, r->job[1]->git_root) != 0)
		return 0;
	int x = git_repo_open(root, &repo);

	if (x <= 0)
		return x == -ENOMEM ? x : 0;
	return diff_files(&repo, r, pool);
}
