/* fixture.h - throw-away repositories for the tests of lib/git.
 *
 * A fixture is a temporary folder with HOME in it, so that the tester's own
 * git configuration plays no part:
 *
 *	top/home   HOME
 *	top/work   a repository with one commit: a.py, lib/b.py, .gitignore
 *	top/cache  where looks keep their memory */
#ifndef ROAR_TESTS_GIT_FIXTURE_H
#define ROAR_TESTS_GIT_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "git/git.h"

struct fixture {
	char top[64];
	char work[96];
	char cache[96]; /* the cache file */
};

/* cmocka's set-up and tear-down; *state becomes a struct fixture. */
int fixture_setup(void **state);
int fixture_teardown(void **state);

/* A row of cmocka's table: a test with a fixture of its own. */
#define FIXTURE_TEST(name) \
	cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

/* Runs a shell command in top/work; the test fails unless it exits with 0. */
void sh(const struct fixture *f, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* The same, returning its output without the last newline; caller frees. */
char *sh_out(const struct fixture *f, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* Asserts that the command prints exactly `expected`. */
void assert_sh(const struct fixture *f, const char *expected, const char *fmt,
	       ...) __attribute__((format(printf, 3, 4)));

/* Lets the clock pass the margin in which a stamp proves nothing. */
void settle(void);

/* One look at `dir` (relative to top/work), waiting for its answer. */
struct git_facts look_at(const struct fixture *f, const char *dir,
			 const struct git_options *options);
struct git_facts look(const struct fixture *f);

/* The same with git out of reach, to prove that none is started. */
struct git_facts look_without_git(const struct fixture *f);

#endif
