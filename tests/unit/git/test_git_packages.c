/* test_packages.c - folders of installed packages become one change each. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "git/git_packages.h"
#include "git/git_status.h"

/* The changes behind the fold, "!" before what is a folder of packages. */
static void assert_folded(const char *record, size_t len, const char *expected)
{
	CLEANUP(git_status_release) struct git_status status;
	CLEANUP(str_release) struct str out = STR_INIT;

	git_status_init(&status, NULL);
	assert_int_equal(git_status_feed(&status, record, len), 0);
	assert_int_equal(git_packages_fold(&status), 0);
	for (size_t i = 0; i < status.n_changes; i++) {
		const struct git_change *change = &status.changes[i];

		assert_int_equal(strlen(change->path), change->len);
		str_addf(&out, "%s%s\n", change->packages ? "!" : "",
			 change->path);
	}
	assert_string_equal(str_cstr(&out), expected);
	assert_int_equal(status.n_modified + status.n_untracked,
			 status.n_changes);
}

#define FOLDED(record, expected) \
	assert_folded(record, sizeof(record) - 1, expected)

static void an_environment_is_proved_by_its_own_files(void **state)
{
	(void)state;
	FOLDED("? v/bin/pip\0? v/lib/python3.11/site-packages/a.py\0"
	       "? v/pyvenv.cfg\0? w.py\0",
	       "!v/\nw.py\n");
	FOLDED("? c/bin/x\0? c/conda-meta/history\0? d/bin/x\0",
	       "!c/\nd/bin/x\n");
}

static void known_folders_are_folded_where_they_are(void **state)
{
	(void)state;
	FOLDED("? a.py\0? web/node_modules/x/y.js\0"
	       "? web/node_modules/z.js\0? web/src.js\0",
	       "a.py\n!web/node_modules/\nweb/src.js\n");
	FOLDED("? p/dist-packages/a\0? site-packages\0",
	       "!p/dist-packages/\nsite-packages\n");
}

static void names_the_user_may_give_prove_nothing(void **state)
{
	(void)state;
	FOLDED("? .env/cfg\0? bin/python-job.sh\0? lib/python3.d/out\0"
	       "? runs/anaconda1/w\0? venv/code.py\0",
	       ".env/cfg\nbin/python-job.sh\nlib/python3.d/out\n"
	       "runs/anaconda1/w\nvenv/code.py\n");
	/* The tree itself is not a folder of packages. */
	FOLDED("? a.py\0? conda-meta/history\0? pyvenv.cfg\0",
	       "a.py\nconda-meta/history\npyvenv.cfg\n");
}

static void bytecode_is_no_change(void **state)
{
	(void)state;
	FOLDED("? __pycache__/a.pyc\0? lib/__pycache__/b.pyc\0? x.py\0",
	       "x.py\n");
}

static void tracked_files_stay(void **state)
{
	(void)state;
	FOLDED("1 .M N... 100644 100644 100644 aa aa web/node_modules/x.js\0"
	       "? web/node_modules/y.js\0",
	       "web/node_modules/x.js\n!web/node_modules/\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_environment_is_proved_by_its_own_files),
		cmocka_unit_test(known_folders_are_folded_where_they_are),
		cmocka_unit_test(names_the_user_may_give_prove_nothing),
		cmocka_unit_test(bytecode_is_no_change),
		cmocka_unit_test(tracked_files_stay),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
