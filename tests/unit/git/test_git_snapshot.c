/* test_snapshot.c - dirty trees, and what is kept of them. */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "fixture.h"

static void changes_are_counted_and_kept(void **state)
{
	const struct fixture *f = *state;
	struct git_facts facts;

	sh(f, "echo 'print(9)' > a.py; rm lib/b.py; echo new > new.py;"
	      "mkdir out deep; echo x > out/model; echo y > deep/er.py;"
	      "echo staged > s.py; git add s.py");
	facts = look(f);
	assert_int_equal(facts.dirty, TRI_YES);
	assert_int_equal(facts.n_modified, 3);
	assert_int_equal(facts.n_untracked, 2);
	assert_int_equal(facts.left_out.n, 0);
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
	assert_int_equal(facts.left_out.n, 3);
	assert_string_equal(facts.note,
			    "3 uncommitted files are not in the snapshot: "
			    "a.py (too large), big.txt (too large), "
			    "bin (not text)");
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
	assert_int_equal(facts.left_out.n, 2);
	assert_sh(f, "2", "git diff --name-only HEAD %s | wc -l",
		  facts.snapshot);
	git_facts_release(&facts);

	options = (struct git_options){ .limits = { .total_bytes = 12 } };
	facts = look_at(f, ".", &options);
	assert_int_equal(facts.left_out.n, 3);
	git_facts_release(&facts);
}

static void credentials_stay_out_and_are_named(void **state)
{
	const struct fixture *f = *state;
	struct git_facts facts;

	sh(f, "mkdir bin; echo 1 > bin/python-job.sh; echo 2 > .env.local;"
	      "echo 3 > token.txt;"
	      "echo '-----BEGIN PRIVATE KEY-----' > deploy; echo 4 > c.py");
	settle();
	facts = look(f);
	assert_int_equal(facts.n_untracked, 5);
	assert_int_equal(facts.left_out.n, 3);
	assert_string_equal(facts.left_out.items[0].path, ".env.local");
	assert_int_equal(facts.left_out.items[0].reason,
			 GIT_REASON_CREDENTIALS);
	assert_string_equal(facts.left_out.items[1].path, "deploy");
	assert_string_equal(facts.left_out.items[2].path, "token.txt");
	assert_sh(f, ".gitignore\na.py\nbin/python-job.sh\nc.py\nlib/b.py",
		  "git ls-tree -r --name-only %s", facts.snapshot);
	git_facts_release(&facts);
	/* The next query remembers. */
	facts = look_without_git(f);
	assert_true(facts.reused);
	assert_int_equal(facts.left_out.n, 3);
	assert_string_equal(facts.left_out.items[2].path, "token.txt");
	git_facts_release(&facts);
	/* Not among the loose objects either. */
	assert_sh(f, "0",
		  "git cat-file --batch-all-objects --batch-check |"
		  " grep -c $(git hash-object token.txt) || :");
}

static void tracked_credentials_stay_as_git_has_them(void **state)
{
	const struct fixture *f = *state;
	struct git_facts facts;

	sh(f, "echo old > .env; git add .env; git commit -qm env;"
	      "echo staged > token.txt; git add token.txt;"
	      "echo new > .env; echo x > c.py");
	facts = look(f);
	assert_int_equal(facts.left_out.n, 1);
	assert_string_equal(facts.left_out.items[0].path, ".env");
	assert_sh(f, "old", "git show %s:.env", facts.snapshot);
	assert_sh(f, "staged", "git show %s:token.txt", facts.snapshot);
	git_facts_release(&facts);
}

static void packages_are_one_change_and_bytecode_none(void **state)
{
	const struct fixture *f = *state;
	struct git_facts facts;

	sh(f, "mkdir __pycache__; echo x > __pycache__/a.pyc");
	facts = look(f);
	assert_int_equal(facts.dirty, TRI_NO);
	assert_null(facts.note);
	git_facts_release(&facts);
	sh(f, "mkdir -p v/bin; touch v/pyvenv.cfg v/bin/python v/bin/pip");
	facts = look(f);
	assert_int_equal(facts.dirty, TRI_YES);
	assert_int_equal(facts.n_untracked, 1);
	assert_null(facts.snapshot);
	assert_string_equal(facts.note, "1 uncommitted file is in no snapshot: "
					"v/ (installed packages)");
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

static void snapshot_can_be_declined(void **state)
{
	const struct git_options options = { .no_snapshot = true };
	const struct fixture *f = *state;
	struct git_facts facts;

	sh(f, "echo 2 > a.py");
	facts = look_at(f, ".", &options);
	assert_int_equal(facts.dirty, TRI_YES);
	assert_null(facts.snapshot);
	assert_null(facts.note);
	assert_sh(f, "", "git for-each-ref refs/roar");
	git_facts_release(&facts);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		FIXTURE_TEST(changes_are_counted_and_kept),
		FIXTURE_TEST(users_view_is_unchanged),
		FIXTURE_TEST(equal_content_has_equal_snapshot),
		FIXTURE_TEST(large_and_binary_files_are_left_out),
		FIXTURE_TEST(number_and_sum_of_files_are_limited),
		FIXTURE_TEST(credentials_stay_out_and_are_named),
		FIXTURE_TEST(tracked_credentials_stay_as_git_has_them),
		FIXTURE_TEST(packages_are_one_change_and_bytecode_none),
		FIXTURE_TEST(odd_names_survive),
		FIXTURE_TEST(links_modes_and_type_changes_survive),
		FIXTURE_TEST(conflict_is_kept_as_the_tree_has_it),
		FIXTURE_TEST(unborn_branch_gives_a_root_snapshot),
		FIXTURE_TEST(snapshot_can_be_declined),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
