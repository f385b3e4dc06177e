/* transfer_tag.c - the tag in the git repository
 *
 * The tag is roar/COMMIT, of the commit that was checked out, or of the snapshot that holds
 * what was not committed (git/git.h).  It keeps that commit from being collected, and tells
 * where an upload came from.  It stays in the repository: nothing is pushed. */
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/str.h"
#include "git/git.h"
#include "git/git_child.h"
#include "git/git_env.h"
#include "git/git_owner.h"
#include "git/git_repo.h"
#include "transfer/transfer.h"

enum { LIMIT_S = 20 };

extern char **environ;

static int run_git(const struct git_runner *runner, const char *verb,
		   const char *name, const char *commit, struct str *errors)
{
	const struct git_command check = { .args = { "rev-parse", "-q",
						     "--verify", name, NULL } };
	const struct git_command tag = {
		.args = { "update-ref", "-m", "roar", name, commit,
			  "0000000000000000000000000000000000000000", NULL }
	};

	return git_run(runner, *verb == 'c' ? &check : &tag, errors);
}

int transfer_tag(const struct git_facts *git, struct str *ret_name,
		 struct roar_error *err)
{
	CLEANUP(str_release) struct str ref = STR_INIT;
	CLEANUP(str_release) struct str errors = STR_INIT;
	CLEANUP(git_env_release) struct git_env env = { 0 };
	CLEANUP(git_repo_release) struct git_repo repo = { 0 };
	const char *commit = git->snapshot ? git->snapshot : git->commit;
	struct git_runner runner = {
		.root = git->root,
		.env = &env,
		.deadline_ns = clock_mono_ns() + LIMIT_S * INT64_C(1000000000),
		.cancel_fd = -1,
	};
	struct git_owner owner;
	int r;

	if (!commit)
		return error_set(err, -ENOENT, "there is no commit to tag");
	str_addf(&ref, "refs/tags/roar/%s", commit);
	str_addf(ret_name, "roar/%s", commit);
	if (ref.failed || ret_name->failed || git_env_init(&env, environ) < 0)
		return error_set(err, -ENOMEM, "out of memory");
	if (git_repo_open(git->root, &repo) > 0 && git_owner_find(&repo, &owner))
		runner.owner = &owner;
	r = run_git(&runner, "check", ref.data, commit, &errors);
	if (r == 0)
		return 0;
	str_clear(&errors);
	r = run_git(&runner, "tag", ref.data, commit, &errors);
	if (r == 0)
		return 1;
	return error_set(err, r < 0 ? r : -EIO, "git could not tag %s: %s",
			 commit, r < 0 ? strerror(-r) : str_cstr(&errors));
}
