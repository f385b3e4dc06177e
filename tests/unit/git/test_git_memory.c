/* test_memory.c - looks that remember the one before. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "fixture.h"

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
	assert_int_equal(facts.dirty, TRI_NO);
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
	assert_int_equal(facts.dirty, TRI_NO);
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
		assert_int_equal(facts.dirty, TRI_NO);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		FIXTURE_TEST(second_look_does_not_start_git),
		FIXTURE_TEST(second_look_at_a_dirty_tree_reuses_the_snapshot),
		FIXTURE_TEST(every_change_is_noticed),
		FIXTURE_TEST(stale_index_is_looked_at_once),
		FIXTURE_TEST(version_4_index_is_remembered),
		FIXTURE_TEST(split_index_is_asked_every_time),
		FIXTURE_TEST(fresh_change_is_not_remembered),
		FIXTURE_TEST(deleted_snapshot_is_made_again),
		FIXTURE_TEST(damaged_memory_is_no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
