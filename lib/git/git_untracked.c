/* git_untracked.c - see git.h: which of some files are new to git
 *
 * `git ls-files --others` with the paths as its arguments: it reads the index and the
 * rules for ignored files, and nothing else of the tree. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/str.h"
#include "git/git.h"
#include "git/git_child.h"
#include "git/git_env.h"

enum { TIMEOUT_MS = 500 };

/* Is one of the answers, each ended by NUL, this path? */
static bool is_listed(const struct str *answers, const char *path)
{
	size_t n = strlen(path) + 1;

	for (size_t i = 0; i + n <= answers->len;) {
		const char *answer = answers->data + i;

		if (memcmp(answer, path, n) == 0)
			return true;
		i += strnlen(answer, answers->len - i) + 1;
	}
	return false;
}

int git_untracked_find(const char *root, const char *paths[], size_t n)
{
	CLEANUP(str_release) struct str answers = STR_INIT;
	CLEANUP(git_env_release) struct git_env env = { 0 };
	struct git_command command = {
		.args = { "--literal-pathspecs", "ls-files", "--others",
			  "--exclude-standard", "-z", "--" },
		.take = git_take_text,
		.ctx = &answers,
	};
	struct git_runner runner = {
		.root = root,
		.env = &env,
		.deadline_ns = clock_mono_ns() + TIMEOUT_MS * 1000000ll,
		.cancel_fd = -1,
	};
	int found = 0;
	int r;

	if (n > GIT_UNTRACKED_MAX)
		n = GIT_UNTRACKED_MAX;
	if (n == 0)
		return 0;
	memcpy(&command.args[6], paths, n * sizeof(*paths));
	r = git_env_init(&env, environ);
	if (r == 0)
		r = git_run(&runner, &command, NULL);
	if (r < 0)
		return r;
	for (size_t i = 0; r == 0 && i < n; i++)
		if (is_listed(&answers, paths[i]))
			paths[found++] = paths[i];
	return found;
}
