/* test_look_failure.c - looks when things go wrong. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/str.h"
#include "fixture.h"

static void missing_git_leaves_the_facts_of_files(void **state)
{
	const struct fixture *f = *state;
	struct git_facts facts = look_without_git(f);

	assert_sh(f, facts.commit, "git rev-parse HEAD");
	assert_string_equal(facts.branch, "main");
	assert_false(facts.checked);
	assert_int_equal(facts.dirty, TRI_UNKNOWN);
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
	struct git_state *started;
	struct git_facts facts;
	int64_t begin_ns;

	fake_git(f, "echo $$ > ${0%/*}/pid; sleep 60 & wait");
	assert_int_equal(git_state_start(f->work, f->cache, NULL, &started), 0);
	(void)setenv("PATH", path, 1);
	begin_ns = clock_mono_ns();
	assert_int_equal(git_state_finish(started, 100, &facts), 0);
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
	struct git_state *started;
	struct git_facts facts;

	sh(f, "echo 2 > a.py");
	settle();
	assert_int_equal(
		git_state_start(f->work, "/proc/none/look", NULL, &started), 0);
	assert_int_equal(git_state_finish(started, 30000, &facts), 0);
	assert_non_null(facts.snapshot);
	assert_null(facts.note);
	git_facts_release(&facts);
	assert_int_equal(git_state_start(f->work, NULL, NULL, &started), 0);
	assert_int_equal(git_state_finish(started, 30000, &facts), 0);
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
	assert_int_equal(facts.left_out.n, 1);
	assert_non_null(facts.snapshot);
	git_facts_release(&facts);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		FIXTURE_TEST(missing_git_leaves_the_facts_of_files),
		FIXTURE_TEST(slow_git_is_given_up_at_the_limit),
		FIXTURE_TEST(impatient_end_kills_git),
		FIXTURE_TEST(background_process_of_git_does_not_hold_the_look),
		FIXTURE_TEST(head_in_a_reftable_is_asked_from_git),
		FIXTURE_TEST(nonsense_from_git_is_a_note),
		FIXTURE_TEST(damaged_index_is_a_note),
		FIXTURE_TEST(locked_index_is_no_obstacle),
		FIXTURE_TEST(hooks_and_signing_do_not_run),
		FIXTURE_TEST(read_only_cache_folder_costs_only_the_memory),
		FIXTURE_TEST(leftovers_of_a_killed_look_are_removed),
		FIXTURE_TEST(read_only_repository_is_a_note),
		FIXTURE_TEST(repository_of_another_user_is_a_note),
		FIXTURE_TEST(unreadable_file_is_left_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
