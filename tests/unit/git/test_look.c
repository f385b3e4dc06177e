/* test_look.c - whole looks at real repositories. */
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/str.h"
#include "fixture.h"

#define LOOK_TEST(name) \
	cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

/* Takes git out of reach while a look runs, to prove that none is started. */
static struct git_facts look_without_git(const struct fixture *f)
{
	CLEANUP(freep) char *path = strdup(getenv("PATH"));
	struct git_facts facts;

	(void)setenv("PATH", "/nonexistent", 1);
	facts = look(f);
	(void)setenv("PATH", path, 1);
	return facts;
}

/* --- commit, branch, remote ----------------------------------------------- */

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
	assert_false(facts.dirty);
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
	struct git_look *started = (void *)f;
	struct git_facts facts;

	assert_int_equal(git_look_start(f->top, f->cache, NULL, &started), 0);
	assert_null(started);
	assert_int_equal(git_look_finish(started, 0, &facts), 0);
	assert_null(facts.root);
	git_facts_release(&facts);
}

static void relative_folder_is_refused(void **state)
{
	struct git_look *started = NULL;

	(void)state;
	assert_int_equal(git_look_start("work", NULL, NULL, &started), -EINVAL);
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
	assert_false(facts.dirty);
	git_facts_release(&facts);
}

/* --- dirty trees ---------------------------------------------------------- */

static void changes_are_counted_and_kept(void **state)
{
	const struct fixture *f = *state;
	struct git_facts facts;

	sh(f, "echo 'print(9)' > a.py; rm lib/b.py; echo new > new.py;"
	      "mkdir out deep; echo x > out/model; echo y > deep/er.py;"
	      "echo staged > s.py; git add s.py");
	facts = look(f);
	assert_true(facts.dirty);
	assert_int_equal(facts.n_modified, 3);
	assert_int_equal(facts.n_untracked, 2);
	assert_int_equal(facts.n_left_out, 0);
	assert_null(facts.note);
	assert_non_null(facts.snapshot);
	assert_sh(f, ".gitignore\na.py\ndeep/er.py\nnew.py\ns.py",
		  "git ls-tree -r --name-only %s", facts.snapshot);
	assert_sh(f, "print(9)", "git show %s:a.py", facts.snapshot);
	assert_sh(f, "y", "git show %s:deep/er.py", facts.snapshot);
	assert_sh(f, facts.commit, "git rev-parse %s^", facts.snapshot);
	assert_sh(f, facts.snapshot, "git rev-parse refs/roar/%s",
		  facts.snapshot);
	assert_sh(f, "roar <roar@localhost>",
		  "git log -1 --format='%%an <%%ae>'"
		  " %s",
		  facts.snapshot);
	git_facts_release(&facts);
}

static void users_view_is_unchanged(void **state)
{
	static const char view[] =
		"export GIT_OPTIONAL_LOCKS=0; # the view itself must not refresh\n"
		"git status --porcelain=v2 --branch; git log --oneline;"
		"git branch -a; git stash list; git tag; md5sum .git/index;"
		"git reflog; stat -c %Y%Z%i .git/index; ls -A .git ../cache";
	const struct fixture *f = *state;
	CLEANUP(freep) char *before = NULL;
	CLEANUP(freep) char *after = NULL;
	struct git_facts facts;

	sh(f, "echo 2 >> a.py; echo 3 > c.py; echo 4 > d.py; git add d.py;"
	      "git stash -q; git stash apply -q");
	settle();
	facts = look(f); /* leaves refs/roar and the cache file */
	assert_non_null(facts.snapshot);
	git_facts_release(&facts);
	before = sh_out(f, "%s", view);
	sh(f, "echo 5 > c.py");
	facts = look(f);
	assert_non_null(facts.snapshot);
	git_facts_release(&facts);
	after = sh_out(f, "%s", view);
	assert_string_equal(before, after);
}

static void equal_content_has_equal_snapshot(void **state)
{
	const struct fixture *f = *state;
	struct git_facts first, second, other;

	sh(f, "echo 2 >> a.py; echo 3 > c.py");
	first = look(f);
	sh(f, "rm c.py; echo 3 > c.py; cp a.py t; mv t a.py");
	second = look(f);
	sh(f, "echo 4 > c.py");
	other = look(f);
	assert_false(second.reused);
	assert_non_null(first.snapshot);
	assert_string_equal(first.snapshot, second.snapshot);
	assert_string_not_equal(first.snapshot, other.snapshot);
	git_facts_release(&first);
	git_facts_release(&second);
	git_facts_release(&other);
}

static void large_and_binary_files_are_left_out(void **state)
{
	const struct git_options options = {
		.limits = { .untracked_bytes = 100, .tracked_bytes = 1000 },
	};
	const struct fixture *f = *state;
	struct git_facts facts;

	sh(f, "seq 1000 > a.py; seq 100 > lib/b.py; seq 100 > big.txt;"
	      "printf 'a\\0b' > bin; echo ok > ok.py");
	facts = look_at(f, ".", &options);
	assert_int_equal(facts.n_modified, 2);
	assert_int_equal(facts.n_untracked, 3);
	assert_int_equal(facts.n_left_out, 3);
	assert_non_null(strstr(facts.note, "3 changed files are not in"));
	assert_sh(f, ".gitignore\na.py\nlib/b.py\nok.py",
		  "git ls-tree -r --name-only %s", facts.snapshot);
	assert_sh(f, "print(1)", "git show %s:a.py", facts.snapshot);
	assert_sh(f, "100", "git show %s:lib/b.py | wc -l", facts.snapshot);
	git_facts_release(&facts);
}

static void number_and_sum_of_files_are_limited(void **state)
{
	struct git_options options = { .limits = { .n_files = 2 } };
	const struct fixture *f = *state;
	struct git_facts facts;

	sh(f, "echo x >> a.py; for i in 1 2 3; do echo $i > $i.py; done");
	facts = look_at(f, ".", &options);
	assert_int_equal(facts.n_left_out, 2);
	assert_sh(f, "2", "git diff --name-only HEAD %s | wc -l",
		  facts.snapshot);
	git_facts_release(&facts);

	options = (struct git_options){ .limits = { .total_bytes = 12 } };
	facts = look_at(f, ".", &options);
	assert_int_equal(facts.n_left_out, 3);
	git_facts_release(&facts);
}

static void odd_names_survive(void **state)
{
	const struct fixture *f = *state;
	struct git_facts facts;

	sh(f, "printf 1 > \"$(printf 'new\\nline')\";"
	      "printf 2 > \"$(printf 'bad\\377utf')\"; printf 3 > ' \"q\" '");
	facts = look(f);
	assert_int_equal(facts.n_untracked, 3);
	assert_sh(f, "3", "git diff --name-only HEAD %s | wc -l",
		  facts.snapshot);
	assert_sh(f, "1", "git show \"%s:$(printf 'new\\nline')\"",
		  facts.snapshot);
	assert_sh(f, "2", "git show \"%s:$(printf 'bad\\377utf')\"",
		  facts.snapshot);
	git_facts_release(&facts);
}

static void links_modes_and_type_changes_survive(void **state)
{
	const struct fixture *f = *state;
	struct git_facts facts;

	sh(f, "chmod +x a.py; ln -s a.py link; rm lib/b.py; mkdir lib/b.py;"
	      "echo in > lib/b.py/inner.py");
	facts = look(f);
	assert_null(facts.note);
	assert_sh(f,
		  "100644 .gitignore\n100755 a.py\n100644 lib/b.py/inner.py\n"
		  "120000 link",
		  "git ls-tree -r %s | sed 's/ .*\\t/ /'", facts.snapshot);
	git_facts_release(&facts);
}

static void conflict_is_kept_as_the_tree_has_it(void **state)
{
	const struct fixture *f = *state;
	struct git_facts facts;

	sh(f, "git checkout -q -b other; echo o > a.py; git commit -qam o;"
	      "git checkout -q main; echo m > a.py; git commit -qam m;"
	      "! git merge -q other >/dev/null 2>&1");
	facts = look(f);
	assert_int_equal(facts.n_modified, 1);
	assert_non_null(facts.snapshot);
	assert_sh(f, "<<<<<<< HEAD", "git show %s:a.py | head -1",
		  facts.snapshot);
	git_facts_release(&facts);
}

static void unborn_branch_gives_a_root_snapshot(void **state)
{
	const struct fixture *f = *state;
	struct git_facts facts;

	sh(f, "git init -q -b trunk ../young; echo 1 > ../young/x.py");
	facts = look_at(f, "../young", NULL);
	assert_null(facts.commit);
	assert_string_equal(facts.branch, "trunk");
	assert_int_equal(facts.n_untracked, 1);
	assert_non_null(facts.snapshot);
	assert_sh(f, "x.py", "cd ../young && git ls-tree --name-only %s",
		  facts.snapshot);
	git_facts_release(&facts);
}

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
	assert_false(facts.dirty);
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
	assert_false(facts.dirty);
	git_facts_release(&facts);
	facts = look(f);
	assert_false(facts.dirty);
	assert_non_null(strstr(facts.note, "1 submodule"));
	git_facts_release(&facts);
	facts = look_without_git(f);
	assert_true(facts.reused);
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
}

static void own_folder_does_not_count(void **state)
{
	const struct fixture *f = *state;
	struct git_look *started;
	struct git_facts facts;
	char cache[128];

	sh(f, "mkdir .roar; echo x > .roar/roar.db");
	(void)snprintf(cache, sizeof(cache), "%s/.roar/git-look", f->work);
	for (int i = 0; i < 2; i++) {
		settle();
		assert_int_equal(git_look_start(f->work, cache, NULL, &started),
				 0);
		assert_int_equal(git_look_finish(started, 30000, &facts), 0);
		assert_false(facts.dirty);
		assert_int_equal(facts.reused, i);
		git_facts_release(&facts);
	}
	assert_sh(f, "600", "stat -c %%a .roar/git-look");
}

static void snapshot_can_be_declined(void **state)
{
	const struct git_options options = { .no_snapshot = true };
	const struct fixture *f = *state;
	struct git_facts facts;

	sh(f, "echo 2 > a.py");
	facts = look_at(f, ".", &options);
	assert_true(facts.dirty);
	assert_null(facts.snapshot);
	assert_null(facts.note);
	assert_sh(f, "", "git for-each-ref refs/roar");
	git_facts_release(&facts);
}

/* --- memory --------------------------------------------------------------- */

static void second_look_does_not_start_git(void **state)
{
	const struct fixture *f = *state;
	struct git_facts facts;

	/* "kept" is ignored as a whole, in spite of the file tracked in it. */
	sh(f, "mkdir out empty kept; echo 1 > out/x; echo kept/ >> .gitignore;"
	      "touch kept/.keep kept/y; git add -f .gitignore kept/.keep;"
	      "git commit -qm keep");
	settle();
	facts = look(f);
	assert_false(facts.reused);
	git_facts_release(&facts);
	/* What happens in an ignored folder is of no interest. */
	sh(f, "echo 2 > out/y; mkdir out/deep; touch out/deep/z kept/z");
	facts = look_without_git(f);
	assert_true(facts.reused);
	assert_true(facts.checked);
	assert_false(facts.dirty);
	assert_null(facts.note);
	git_facts_release(&facts);
}

static void second_look_at_a_dirty_tree_reuses_the_snapshot(void **state)
{
	const struct fixture *f = *state;
	struct git_facts first, second;

	sh(f, "echo 2 > a.py; rm lib/b.py; echo 3 > c.py; mkdir out");
	settle();
	first = look(f);
	second = look_without_git(f);
	assert_true(second.reused);
	assert_string_equal(first.snapshot, second.snapshot);
	assert_int_equal(second.n_modified, 2);
	assert_int_equal(second.n_untracked, 1);
	git_facts_release(&first);
	git_facts_release(&second);
}

/* Every way to change the answer must be noticed; each command is applied to
 * a remembered clean tree. */
static void every_change_is_noticed(void **state)
{
	static const char *const changes[] = {
		"echo 'print(3)' > a.py", /* same size */
		"touch -d '2020-01-01' a.py; echo >> lib/b.py",
		"chmod +x a.py",
		"rm lib/b.py",
		"echo 1 > new.py",
		"echo 1 > empty/new.py",
		"echo 1 > logs/new.txt", /* holds only ignored files so far */
		"mkdir -p n/e/w; echo 1 > n/e/w/est",
		"echo '# nothing' > .gitignore",
		"echo 'x' > .git/info/exclude; echo 1 > x; rm x; echo 1 > y",
		"echo 2 > a.py; git add a.py",
		"git commit -q --allow-empty -m second",
		"git checkout -q -b other",
		"git rm -q --cached a.py",
		"echo s >> a.py; git commit -qam third",
		"git config core.excludesFile ../excl; echo '*.py' > ../excl",
		"rm a.py; ln -s lib/b.py a.py",
		"mv lib lib2; mkdir lib; cp lib2/b.py lib; rm -r lib2",
	};
	const struct fixture *f = *state;

	sh(f, "mkdir -p empty logs out; echo '*.log' >> .gitignore;"
	      "echo 1 > logs/a.log; git commit -qam ignore; cp -a . ../model");
	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		struct git_facts facts;

		sh(f, "cd ..; rm -rf work cache/*; cp -a model work; cd work;"
		      "git update-index -q --refresh");
		settle();
		facts = look(f);
		git_facts_release(&facts);
		facts = look_without_git(f);
		if (!facts.reused)
			fail_msg("not remembered before: %s", changes[i]);
		git_facts_release(&facts);
		sh(f, "%s", changes[i]);
		facts = look(f);
		if (facts.reused)
			fail_msg("not noticed: %s", changes[i]);
		assert_true(facts.checked);
		git_facts_release(&facts);
	}
}

/* A copied tree has other inodes and times than its index says; git status
 * compares contents and, not allowed to refresh, would do it every time. */
static void stale_index_is_looked_at_once(void **state)
{
	const struct fixture *f = *state;
	struct git_facts facts;

	sh(f, "cp -r . ../copy");
	settle();
	facts = look_at(f, "../copy", NULL);
	assert_false(facts.dirty);
	git_facts_release(&facts);
	facts = look_at(f, "../copy", NULL);
	assert_true(facts.reused);
	git_facts_release(&facts);
	sh(f, "echo 'print(7)' > ../copy/a.py");
	facts = look_at(f, "../copy", NULL);
	assert_false(facts.reused);
	assert_int_equal(facts.n_modified, 1);
	git_facts_release(&facts);
}

static void version_4_index_is_remembered(void **state)
{
	const struct fixture *f = *state;
	struct git_facts facts;

	sh(f, "git update-index --index-version 4");
	settle();
	facts = look(f);
	git_facts_release(&facts);
	facts = look_without_git(f);
	assert_true(facts.reused);
	git_facts_release(&facts);
	sh(f, "echo 2 > lib/b.py");
	facts = look(f);
	assert_int_equal(facts.n_modified, 1);
	git_facts_release(&facts);
}

static void split_index_is_asked_every_time(void **state)
{
	const struct fixture *f = *state;

	sh(f, "git update-index --split-index; echo 2 > c.py; git add c.py;"
	      "git commit -qm c");
	settle();
	for (int i = 0; i < 2; i++) {
		struct git_facts facts = look(f);

		assert_true(facts.checked);
		assert_false(facts.dirty);
		assert_false(facts.reused);
		git_facts_release(&facts);
	}
	sh(f, "echo 3 > a.py");
	{
		CLEANUP(git_facts_release) struct git_facts facts = look(f);

		assert_int_equal(facts.n_modified, 1);
		assert_sh(f, "3", "git show %s:a.py", facts.snapshot);
	}
}

static void fresh_change_is_not_remembered(void **state)
{
	const struct fixture *f = *state;
	struct git_facts facts;

	sh(f, "echo 2 > a.py");
	facts = look(f);
	git_facts_release(&facts);
	assert_int_equal(access(f->cache, F_OK), -1);
}

static void deleted_snapshot_is_made_again(void **state)
{
	const struct fixture *f = *state;
	struct git_facts first, second;

	sh(f, "echo 2 > a.py");
	settle();
	first = look(f);
	sh(f, "git update-ref -d refs/roar/%s", first.snapshot);
	second = look(f);
	assert_false(second.reused);
	assert_string_equal(first.snapshot, second.snapshot);
	assert_sh(f, first.snapshot, "git rev-parse refs/roar/%s",
		  first.snapshot);
	git_facts_release(&first);
	git_facts_release(&second);
}

static void damaged_memory_is_no_memory(void **state)
{
	const struct fixture *f = *state;
	struct git_facts facts;

	facts = look(f);
	git_facts_release(&facts);
	sh(f, "printf '\\1' | dd of=../cache/look bs=1 seek=100 conv=notrunc"
	      " 2>/dev/null");
	facts = look(f);
	assert_false(facts.reused);
	assert_true(facts.checked);
	git_facts_release(&facts);
	facts = look(f);
	assert_true(facts.reused);
	git_facts_release(&facts);
}

/* --- when things go wrong ------------------------------------------------- */

static void missing_git_leaves_the_facts_of_files(void **state)
{
	const struct fixture *f = *state;
	struct git_facts facts = look_without_git(f);

	assert_sh(f, facts.commit, "git rev-parse HEAD");
	assert_string_equal(facts.branch, "main");
	assert_false(facts.checked);
	assert_string_equal(facts.note, "the state of the work tree is not "
					"known: git is not installed");
	git_facts_release(&facts);
}

/* Puts a script in place of git; `body` is shell. */
static void fake_git(const struct fixture *f, const char *body)
{
	CLEANUP(str_release) struct str path = STR_INIT;

	sh(f,
	   "mkdir -p ../bin; printf '#!/bin/sh\\n%%s\\n' \"$(cat <<'X'\n%s\n"
	   "X\n)\" > ../bin/git; chmod +x ../bin/git",
	   body);
	str_addf(&path, "%s/bin:%s", f->top, getenv("PATH"));
	(void)setenv("PATH", path.data, 1);
}

static void slow_git_is_given_up_at_the_limit(void **state)
{
	const struct git_options options = { .limits = { .timeout_ms = 200 } };
	CLEANUP(freep) char *path = strdup(getenv("PATH"));
	const struct fixture *f = *state;
	int64_t begin_ns = clock_mono_ns();
	struct git_facts facts;

	fake_git(f, "echo $$ > ${0%/*}/pid; sleep 60");
	facts = look_at(f, ".", &options);
	(void)setenv("PATH", path, 1);
	assert_true(clock_mono_ns() - begin_ns < 5 * INT64_C(1000000000));
	assert_false(facts.checked);
	assert_non_null(strstr(facts.note, "git did not answer in 0.2 s"));
	assert_sh(f, "gone",
		  "kill -0 $(cat ../bin/pid) 2>/dev/null || echo gone");
	git_facts_release(&facts);
}

static void impatient_end_kills_git(void **state)
{
	CLEANUP(freep) char *path = strdup(getenv("PATH"));
	const struct fixture *f = *state;
	struct git_look *started;
	struct git_facts facts;
	int64_t begin_ns;

	fake_git(f, "echo $$ > ${0%/*}/pid; sleep 60 & wait");
	assert_int_equal(git_look_start(f->work, f->cache, NULL, &started), 0);
	(void)setenv("PATH", path, 1);
	begin_ns = clock_mono_ns();
	assert_int_equal(git_look_finish(started, 100, &facts), 0);
	assert_true(clock_mono_ns() - begin_ns < 2 * INT64_C(1000000000));
	assert_string_equal(facts.branch, "main");
	assert_non_null(strstr(facts.note, "the run ended before git"));
	assert_sh(f, "gone",
		  "kill -0 $(cat ../bin/pid) 2>/dev/null || echo gone");
	git_facts_release(&facts);
}

static void background_process_of_git_does_not_hold_the_look(void **state)
{
	CLEANUP(freep) char *path = strdup(getenv("PATH"));
	const struct fixture *f = *state;
	int64_t begin_ns = clock_mono_ns();
	struct git_facts facts;

	fake_git(f, "sleep 5 & printf '? new.py\\0'; exit 0");
	facts = look_at(f, ".", &(struct git_options){ .no_snapshot = true });
	(void)setenv("PATH", path, 1);
	assert_true(clock_mono_ns() - begin_ns < 3 * INT64_C(1000000000));
	assert_int_equal(facts.n_untracked, 1);
	git_facts_release(&facts);
}

/* Not every git knows reftables, so a script plays one that does. */
static void head_in_a_reftable_is_asked_from_git(void **state)
{
	CLEANUP(freep) char *path = strdup(getenv("PATH"));
	const struct fixture *f = *state;

	sh(f, "echo 'ref: refs/heads/.invalid' > .git/HEAD");
	fake_git(f, "case \"$*\" in\n"
		    "*symbolic-ref*) echo refs/heads/deep/x ;;\n"
		    "*rev-parse*) printf '%040d\\n' 7 ;;\n"
		    "esac");
	for (int i = 0; i < 2; i++) {
		CLEANUP(git_facts_release) struct git_facts facts = look(f);

		assert_string_equal(facts.branch, "deep/x");
		assert_int_equal(strlen(facts.commit), 40);
		assert_true(facts.checked);
		assert_false(facts.reused);
	}
	(void)setenv("PATH", path, 1);
}

static void nonsense_from_git_is_a_note(void **state)
{
	CLEANUP(freep) char *path = strdup(getenv("PATH"));
	const struct fixture *f = *state;
	struct git_facts facts;

	fake_git(f, "printf 'hello\\0'");
	facts = look(f);
	(void)setenv("PATH", path, 1);
	assert_false(facts.checked);
	assert_non_null(facts.note);
	git_facts_release(&facts);
}

static void damaged_index_is_a_note(void **state)
{
	const struct fixture *f = *state;
	struct git_facts facts;

	sh(f, "echo garbage > .git/index");
	facts = look(f);
	assert_false(facts.checked);
	assert_non_null(strstr(facts.note, "git says: "));
	git_facts_release(&facts);
}

static void locked_index_is_no_obstacle(void **state)
{
	const struct fixture *f = *state;
	struct git_facts facts;

	sh(f, "touch .git/index.lock; echo 2 > a.py");
	facts = look(f);
	assert_int_equal(facts.n_modified, 1);
	assert_non_null(facts.snapshot);
	assert_null(facts.note);
	git_facts_release(&facts);
}

static void hooks_and_signing_do_not_run(void **state)
{
	const struct fixture *f = *state;
	struct git_facts facts;

	sh(f,
	   "for h in post-index-change reference-transaction pre-commit"
	   " fsmonitor; do"
	   "  printf '#!/bin/sh\\ntouch ../ran\\nexit 1\\n' > .git/hooks/$h;"
	   "  chmod +x .git/hooks/$h; done;"
	   "git config commit.gpgSign true; git config gpg.program /bin/false;"
	   "git config core.fsmonitor .git/hooks/fsmonitor; echo 2 > a.py");
	facts = look(f);
	assert_non_null(facts.snapshot);
	git_facts_release(&facts);
	sh(f, "test ! -e ../ran");
}

static void read_only_cache_folder_costs_only_the_memory(void **state)
{
	const struct fixture *f = *state;
	struct git_look *started;
	struct git_facts facts;

	sh(f, "echo 2 > a.py");
	settle();
	assert_int_equal(
		git_look_start(f->work, "/proc/none/look", NULL, &started), 0);
	assert_int_equal(git_look_finish(started, 30000, &facts), 0);
	assert_non_null(facts.snapshot);
	assert_null(facts.note);
	git_facts_release(&facts);
	assert_int_equal(git_look_start(f->work, NULL, NULL, &started), 0);
	assert_int_equal(git_look_finish(started, 30000, &facts), 0);
	assert_non_null(facts.snapshot);
	git_facts_release(&facts);
}

static void leftovers_of_a_killed_look_are_removed(void **state)
{
	const struct fixture *f = *state;
	struct git_facts facts;

	sh(f, "echo 2 > a.py; touch ../cache/look.index-now;"
	      "touch -d '2 hours ago' ../cache/look.index-old");
	settle();
	facts = look(f);
	git_facts_release(&facts);
	assert_sh(f, "look\nlook.index-now", "ls ../cache");
}

enum { OTHER_USER = 65534 };

/* Runs `check` in a child that is an ordinary user owning the fixture. */
static void as_other_user(const struct fixture *f,
			  void (*check)(const struct fixture *f))
{
	int status;
	pid_t pid;

	sh(f, "chown -R %d:%d ..", OTHER_USER, OTHER_USER);
	(void)fflush(NULL);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		if (setresgid(OTHER_USER, OTHER_USER, OTHER_USER) < 0 ||
		    setresuid(OTHER_USER, OTHER_USER, OTHER_USER) < 0)
			_exit(3);
		check(f);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void check_read_only(const struct fixture *f)
{
	struct git_facts facts;

	sh(f, "echo 2 > a.py; chmod -R a-w .git");
	facts = look(f);
	if (!facts.dirty || facts.snapshot || !facts.note ||
	    !strstr(facts.note, "no snapshot was made: git says: "))
		_exit(1);
	git_facts_release(&facts);
}

static void read_only_repository_is_a_note(void **state)
{
	if (geteuid() != 0) {
		check_read_only(*state);
		return;
	}
	as_other_user(*state, check_read_only);
}

static void repository_of_another_user_is_a_note(void **state)
{
	const struct fixture *f = *state;
	struct git_facts facts;

	if (geteuid() != 0)
		skip(); /* only root can give files away */
	(void)unsetenv("SUDO_UID");
	sh(f, "chown -R %d . ", OTHER_USER);
	facts = look(f);
	assert_false(facts.checked);
	assert_non_null(facts.commit);
	assert_non_null(strstr(facts.note, "git says: "));
	assert_non_null(strstr(facts.note, "ownership"));
	git_facts_release(&facts);
}

static void unreadable_file_is_left_out(void **state)
{
	const struct fixture *f = *state;
	struct git_facts facts;

	if (geteuid() == 0)
		skip(); /* root reads everything */
	sh(f, "echo 2 > a.py; echo 3 > c.py; chmod 0 c.py");
	facts = look(f);
	assert_int_equal(facts.n_left_out, 1);
	assert_non_null(facts.snapshot);
	git_facts_release(&facts);
}

static void look_thread_blocks_signals(void **state)
{
	const struct fixture *f = *state;
	struct git_look *started;
	struct git_facts facts;
	sigset_t before, after;

	(void)pthread_sigmask(SIG_SETMASK, NULL, &before);
	assert_int_equal(git_look_start(f->work, f->cache, NULL, &started), 0);
	(void)pthread_sigmask(SIG_SETMASK, NULL, &after);
	assert_int_equal(sigismember(&before, SIGINT),
			 sigismember(&after, SIGINT));
	assert_int_equal(git_look_finish(started, 30000, &facts), 0);
	git_facts_release(&facts);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		LOOK_TEST(clean_tree_gives_commit_and_branch),
		LOOK_TEST(subfolder_finds_the_same_repository),
		LOOK_TEST(folder_without_repository_gives_no_look),
		LOOK_TEST(relative_folder_is_refused),
		LOOK_TEST(bare_repository_gives_no_look),
		LOOK_TEST(detached_head_has_no_branch),
		LOOK_TEST(packed_refs_are_read),
		LOOK_TEST(remote_is_told_without_credentials),
		LOOK_TEST(environment_does_not_lead_elsewhere),
		LOOK_TEST(changes_are_counted_and_kept),
		LOOK_TEST(users_view_is_unchanged),
		LOOK_TEST(equal_content_has_equal_snapshot),
		LOOK_TEST(large_and_binary_files_are_left_out),
		LOOK_TEST(number_and_sum_of_files_are_limited),
		LOOK_TEST(odd_names_survive),
		LOOK_TEST(links_modes_and_type_changes_survive),
		LOOK_TEST(conflict_is_kept_as_the_tree_has_it),
		LOOK_TEST(unborn_branch_gives_a_root_snapshot),
		LOOK_TEST(sha256_repository_works),
		LOOK_TEST(linked_worktree_has_its_own_head),
		LOOK_TEST(
			submodule_is_its_own_repository_and_a_commit_in_the_outer),
		LOOK_TEST(own_folder_does_not_count),
		LOOK_TEST(snapshot_can_be_declined),
		LOOK_TEST(second_look_does_not_start_git),
		LOOK_TEST(second_look_at_a_dirty_tree_reuses_the_snapshot),
		LOOK_TEST(every_change_is_noticed),
		LOOK_TEST(stale_index_is_looked_at_once),
		LOOK_TEST(version_4_index_is_remembered),
		LOOK_TEST(split_index_is_asked_every_time),
		LOOK_TEST(fresh_change_is_not_remembered),
		LOOK_TEST(deleted_snapshot_is_made_again),
		LOOK_TEST(damaged_memory_is_no_memory),
		LOOK_TEST(missing_git_leaves_the_facts_of_files),
		LOOK_TEST(slow_git_is_given_up_at_the_limit),
		LOOK_TEST(impatient_end_kills_git),
		LOOK_TEST(background_process_of_git_does_not_hold_the_look),
		LOOK_TEST(head_in_a_reftable_is_asked_from_git),
		LOOK_TEST(nonsense_from_git_is_a_note),
		LOOK_TEST(damaged_index_is_a_note),
		LOOK_TEST(locked_index_is_no_obstacle),
		LOOK_TEST(hooks_and_signing_do_not_run),
		LOOK_TEST(read_only_cache_folder_costs_only_the_memory),
		LOOK_TEST(leftovers_of_a_killed_look_are_removed),
		LOOK_TEST(read_only_repository_is_a_note),
		LOOK_TEST(repository_of_another_user_is_a_note),
		LOOK_TEST(unreadable_file_is_left_out),
		LOOK_TEST(look_thread_blocks_signals),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
