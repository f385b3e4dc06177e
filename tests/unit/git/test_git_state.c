/* test_look.c - whole queries at real repositories: what kind, which commit. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "fixture.h"

/* ---- commit, branch, remote ---- */

static void clean_tree_gives_commit_and_branch(void **state)
{
	CLEANUP(git_facts_release) struct git_facts facts = look(*state);
	const struct fixture *f = *state;

	assert_string_equal(facts.root, f->work);
	assert_sh(f, facts.commit, "git rev-parse HEAD");
	assert_string_equal(facts.branch, "main");
	assert_null(facts.remote);
	assert_null(facts.snapshot);
	assert_null(facts.note);
	assert_true(facts.checked);
	assert_int_equal(facts.dirty, TRI_NO);
	assert_false(facts.reused);
}

static void subfolder_finds_the_same_repository(void **state)
{
	CLEANUP(git_facts_release)
	struct git_facts facts = look_at(*state, "lib", NULL);
	const struct fixture *f = *state;

	assert_string_equal(facts.root, f->work);
	assert_true(facts.checked);
}

static void folder_without_repository_gives_no_look(void **state)
{
	const struct fixture *f = *state;
	struct git_state *started = (void *)f;
	struct git_facts facts;

	assert_int_equal(git_state_start(f->top, f->cache, NULL, &started), 0);
	assert_null(started);
	assert_int_equal(git_state_finish(started, 0, &facts), 0);
	assert_null(facts.root);
	git_facts_release(&facts);
}

static void relative_folder_is_refused(void **state)
{
	struct git_state *started = NULL;

	(void)state;
	assert_int_equal(git_state_start("work", NULL, NULL, &started),
			 -EINVAL);
}

static void bare_repository_gives_no_look(void **state)
{
	const struct fixture *f = *state;
	struct git_facts facts;

	sh(f, "git clone -q --bare . ../bare.git; mkdir bare2.git;"
	      "cd bare2.git && git init -q --bare .");
	facts = look_at(f, "../bare.git", NULL);
	assert_null(facts.root);
	git_facts_release(&facts);
	/* Not the outer repository either. */
	facts = look_at(f, "bare2.git/refs", NULL);
	assert_null(facts.root);
	git_facts_release(&facts);
	facts = look_at(f, ".git/refs", NULL);
	assert_null(facts.root);
	git_facts_release(&facts);
}

static void detached_head_has_no_branch(void **state)
{
	const struct fixture *f = *state;
	struct git_facts facts;

	sh(f, "git checkout -q --detach");
	facts = look(f);
	assert_null(facts.branch);
	assert_sh(f, facts.commit, "git rev-parse HEAD");
	git_facts_release(&facts);
}

static void packed_refs_are_read(void **state)
{
	const struct fixture *f = *state;
	struct git_facts facts;

	sh(f, "git checkout -q -b feature/x && git pack-refs --all &&"
	      "test ! -e .git/refs/heads/feature/x");
	facts = look(f);
	assert_string_equal(facts.branch, "feature/x");
	assert_sh(f, facts.commit, "git rev-parse HEAD");
	git_facts_release(&facts);
}

static void remote_is_told_without_credentials(void **state)
{
	const struct fixture *f = *state;
	struct git_facts facts;

	sh(f, "git remote add other https://o.example/r.git &&"
	      "git remote add origin https://me:secret@h.example/r.git");
	facts = look(f);
	assert_string_equal(facts.remote, "https://h.example/r.git");
	git_facts_release(&facts);
}

static void environment_does_not_lead_elsewhere(void **state)
{
	const struct fixture *f = *state;
	struct git_facts facts;

	sh(f, "git init -q ../other");
	(void)setenv("GIT_DIR", "../other/.git", 1);
	(void)setenv("GIT_INDEX_FILE", "/nonexistent/index", 1);
	facts = look(f);
	(void)unsetenv("GIT_DIR");
	(void)unsetenv("GIT_INDEX_FILE");
	assert_string_equal(facts.root, f->work);
	assert_true(facts.checked);
	assert_int_equal(facts.dirty, TRI_NO);
	git_facts_release(&facts);
}

/* ---- kinds of repositories ---- */

static void sha256_repository_works(void **state)
{
	const struct fixture *f = *state;
	struct git_facts facts;

	sh(f, "git init -q --object-format=sha256 ../long; cd ../long;"
	      "echo 1 > x.py; git add .; git commit -qm x; echo 2 > x.py");
	facts = look_at(f, "../long", NULL);
	assert_int_equal(strlen(facts.commit), 64);
	assert_int_equal(facts.n_modified, 1);
	assert_int_equal(strlen(facts.snapshot), 64);
	git_facts_release(&facts);
}

static void linked_worktree_has_its_own_head(void **state)
{
	const struct fixture *f = *state;
	struct git_facts facts;

	sh(f, "git worktree add -q ../linked -b side; echo 2 > ../linked/a.py");
	facts = look_at(f, "../linked", NULL);
	assert_string_equal(facts.branch, "side");
	assert_int_equal(facts.n_modified, 1);
	assert_sh(f, "2", "git show %s:a.py", facts.snapshot);
	git_facts_release(&facts);
	facts = look(f);
	assert_int_equal(facts.dirty, TRI_NO);
	git_facts_release(&facts);
}

static void submodule_is_its_own_repository_and_a_commit_in_the_outer(void **s)
{
	const struct fixture *f = *s;
	struct git_facts facts;

	sh(f, "git clone -q . ../lib.git; git submodule add -q ../lib.git sub"
	      " 2>/dev/null; git commit -qm sub");
	settle();
	facts = look_at(f, "sub/lib", NULL);
	assert_non_null(strstr(facts.root, "/work/sub"));
	assert_int_equal(facts.dirty, TRI_NO);
	git_facts_release(&facts);
	facts = look(f);
	assert_int_equal(facts.dirty, TRI_UNKNOWN);
	assert_non_null(strstr(facts.note, "1 submodule"));
	git_facts_release(&facts);
	facts = look_without_git(f);
	assert_true(facts.reused);
	assert_int_equal(facts.dirty, TRI_UNKNOWN);
	git_facts_release(&facts);

	sh(f, "cd sub; echo 3 > a.py; git commit -qam three");
	facts = look(f);
	assert_false(facts.reused);
	assert_int_equal(facts.n_modified, 1);
	assert_sh(f, "160000", "git ls-tree %s sub | cut -c1-6",
		  facts.snapshot);
	assert_sh(f, "same",
		  "test \"$(git rev-parse %s:sub)\" ="
		  " \"$(cd sub; git rev-parse HEAD)\" && echo same",
		  facts.snapshot);
	git_facts_release(&facts);

	/* One that is not checked out holds nothing. */
	sh(f, "git submodule -q update; git submodule -q deinit -f sub");
	facts = look(f);
	assert_int_equal(facts.dirty, TRI_NO);
	assert_null(facts.note);
	git_facts_release(&facts);
}

static void own_folder_does_not_count(void **state)
{
	const struct fixture *f = *state;
	struct git_state *started;
	struct git_facts facts;
	char cache[128];

	sh(f, "mkdir .roar; echo x > .roar/roar.db");
	(void)snprintf(cache, sizeof(cache), "%s/.roar/git-look", f->work);
	for (int i = 0; i < 2; i++) {
		settle();
		assert_int_equal(
			git_state_start(f->work, cache, NULL, &started), 0);
		assert_int_equal(git_state_finish(started, 30000, &facts), 0);
		assert_int_equal(facts.dirty, TRI_NO);
		assert_int_equal(facts.reused, i);
		git_facts_release(&facts);
	}
	assert_sh(f, "600", "stat -c %%a .roar/git-look");
}

/* ---- what the command makes meanwhile ---- */

struct asked {
	unsigned n_young, n_old;
};

static bool is_made(void *ctx, const char *path, size_t len, bool young)
{
	struct asked *asked = ctx;

	(void)len;
	asked->n_young += young;
	asked->n_old += !young;
	return strstr(path, "result") != NULL;
}

static void what_the_command_makes_is_no_part_of_the_tree(void **state)
{
	const struct fixture *f = *state;
	struct asked asked = { 0 };
	struct git_facts facts;

	sh(f, "echo x >result.txt");
	facts = look_at(f, ".",
			&(struct git_options){ .is_made = is_made,
					       .ctx = &asked });
	assert_int_equal(facts.dirty, TRI_NO);
	assert_null(facts.snapshot);
	assert_int_equal(asked.n_young, 1);
	git_facts_release(&facts);
}

/* Nobody should wait for word of a file that was there before. */
static void only_what_is_as_young_as_the_look_may_be_made(void **state)
{
	const struct fixture *f = *state;
	struct asked asked = { 0 };
	struct git_facts facts;

	sh(f, "echo x >other.txt");
	settle();
	facts = look_at(f, ".",
			&(struct git_options){ .is_made = is_made,
					       .ctx = &asked });
	assert_int_equal(facts.dirty, TRI_YES);
	assert_int_equal(asked.n_young, 0);
	assert_int_equal(asked.n_old, 1);
	git_facts_release(&facts);
}

/* ---- the program around it ---- */

static void look_thread_blocks_signals(void **state)
{
	const struct fixture *f = *state;
	struct git_state *started;
	struct git_facts facts;
	sigset_t before, after;

	(void)pthread_sigmask(SIG_SETMASK, NULL, &before);
	assert_int_equal(git_state_start(f->work, f->cache, NULL, &started), 0);
	(void)pthread_sigmask(SIG_SETMASK, NULL, &after);
	assert_int_equal(sigismember(&before, SIGINT),
			 sigismember(&after, SIGINT));
	assert_int_equal(git_state_finish(started, 30000, &facts), 0);
	git_facts_release(&facts);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		FIXTURE_TEST(clean_tree_gives_commit_and_branch),
		FIXTURE_TEST(subfolder_finds_the_same_repository),
		FIXTURE_TEST(folder_without_repository_gives_no_look),
		FIXTURE_TEST(relative_folder_is_refused),
		FIXTURE_TEST(bare_repository_gives_no_look),
		FIXTURE_TEST(detached_head_has_no_branch),
		FIXTURE_TEST(packed_refs_are_read),
		FIXTURE_TEST(remote_is_told_without_credentials),
		FIXTURE_TEST(environment_does_not_lead_elsewhere),
		FIXTURE_TEST(sha256_repository_works),
		FIXTURE_TEST(linked_worktree_has_its_own_head),
		FIXTURE_TEST(
			submodule_is_its_own_repository_and_a_commit_in_the_outer),
		FIXTURE_TEST(own_folder_does_not_count),
		FIXTURE_TEST(what_the_command_makes_is_no_part_of_the_tree),
		FIXTURE_TEST(only_what_is_as_young_as_the_look_may_be_made),
		FIXTURE_TEST(look_thread_blocks_signals),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
