/* test_owner.c - under sudo nothing in the user's repository becomes root's. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "fixture.h"
#include "git/git_owner.h"
#include "git/git_repo.h"

#define USER "65534"

static int setup(void **state)
{
	int r = fixture_setup(state);

	(void)unsetenv("SUDO_UID");
	(void)unsetenv("SUDO_GID");
	if (r == 0 && geteuid() == 0)
		sh(*state, "chmod 755 ..; chown -R " USER ":" USER
			   " . ../home ../cache");
	return r;
}

static int teardown(void **state)
{
	(void)unsetenv("SUDO_UID");
	(void)unsetenv("SUDO_GID");
	return fixture_teardown(state);
}

#define OWNER_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

static void need_root(void)
{
	if (geteuid() != 0)
		skip();
}

static void snapshot_under_sudo_is_the_users(void **state)
{
	const struct fixture *f = *state;
	struct git_facts facts;

	need_root();
	(void)setenv("SUDO_UID", USER, 1);
	sh(f, "echo 2 > a.py; echo 3 > new.py; chown " USER " a.py new.py");
	facts = look(f);
	assert_int_equal(facts.dirty, TRI_YES);
	assert_null(facts.note);
	assert_non_null(facts.snapshot);
	assert_sh(f, "", "find .git ../cache ! -user " USER);
	assert_sh(f, USER, "stat -c %%u .git/refs/roar/%s", facts.snapshot);
	git_facts_release(&facts);
}

static void folder_of_roots_is_no_obstacle(void **state)
{
	const struct fixture *f = *state;
	struct git_facts facts;

	need_root();
	(void)setenv("SUDO_UID", USER, 1);
	sh(f, "echo 2 > a.py; chown -R 0 ../cache; chmod 700 ../cache");
	facts = look(f);
	assert_null(facts.note);
	assert_non_null(facts.snapshot);
	assert_sh(f, "", "find .git ! -user " USER);
	assert_sh(f, "", "ls -A ../cache; ls /tmp/roar.index-* 2>/dev/null||:");
	git_facts_release(&facts);
}

/* Not trusted: git refuses, and whether the tree is clean is not known. */
static void stranger_is_not_impersonated(void **state)
{
	const struct fixture *f = *state;
	struct git_facts facts;

	need_root();
	(void)setenv("SUDO_UID", "65533", 1);
	facts = look(f);
	assert_int_equal(facts.dirty, TRI_UNKNOWN);
	assert_false(facts.checked);
	assert_non_null(strstr(facts.note, "dubious ownership"));
	git_facts_release(&facts);
}

static void owner_is_who_typed_sudo(void **state)
{
	const struct fixture *f = *state;
	CLEANUP(git_repo_release) struct git_repo repo = { 0 };
	CLEANUP(str_release) struct str home = STR_INIT;
	struct git_owner owner;

	need_root();
	assert_int_equal(git_repo_open(f->work, &repo), 1);
	assert_false(git_owner_find(&repo, &owner));
	(void)setenv("SUDO_UID", "0", 1);
	assert_false(git_owner_find(&repo, &owner));
	(void)setenv("SUDO_UID", "65534x", 1);
	assert_false(git_owner_find(&repo, &owner));
	(void)setenv("SUDO_UID", USER, 1);
	assert_true(git_owner_find(&repo, &owner));
	assert_int_equal(owner.gid, 65534);
	(void)setenv("SUDO_GID", "12", 1);
	assert_true(git_owner_find(&repo, &owner));
	assert_int_equal(owner.uid, 65534);
	assert_int_equal(owner.gid, 12);
	git_owner_home(&(struct git_owner){ .uid = 0 }, &home);
	assert_string_equal(str_cstr(&home), "/root");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		OWNER_TEST(snapshot_under_sudo_is_the_users),
		OWNER_TEST(folder_of_roots_is_no_obstacle),
		OWNER_TEST(stranger_is_not_impersonated),
		OWNER_TEST(owner_is_who_typed_sudo),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
