/* clean_tree.c - see clean_tree.h */
#include "run/clean_tree.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/quote.h"
#include "base/str.h"
#include "cli/cli.h"
#include "git/git.h"
#include "project/project.h"

enum { WAIT_MS = 30000 };

#define REMEDY                                                                 \
	"commit or stash them ('git status' lists them), or 'roar config set " \
	"run.require_clean false'"

static int refuse(const struct git_facts *git)
{
	CLEANUP(str_release) struct str root = STR_INIT;
	const unsigned n = git->n_modified + git->n_untracked;

	quote_printable(&root, git->root, strlen(git->root));
	if (git->dirty == TRI_YES)
		return cli_fail("nothing was run: '%s' has %u uncommitted "
				"%s and run.require_clean is set; " REMEDY,
				str_cstr(&root), n,
				n == 1 ? "change" : "changes");
	return cli_fail(
		"nothing was run: run.require_clean is set, and whether "
		"'%s' has uncommitted changes is unknown (%s); 'roar "
		"config set run.require_clean false' runs it",
		str_cstr(&root), git->note ? git->note : "git did not answer");
}

int clean_tree_require(const struct project *project)
{
	const struct git_options options = {
		.own_dir = project->dir,
		.no_snapshot = true,
		.limits = { .timeout_ms = WAIT_MS },
	};
	struct git_facts git = { 0 };
	struct git_state *state = NULL;
	int r = git_state_start(project->cwd, NULL, &options, &state);

	if (r == 0)
		r = git_state_finish(state, WAIT_MS, &git);
	if (r < 0)
		return cli_fail("nothing was run: run.require_clean is set, and "
				"the state of git cannot be read: %s",
				strerror(-r));
	r = git.root && git.dirty != TRI_NO ? refuse(&git) : 0;
	git_facts_release(&git);
	return r;
}
