/* test_outcome.c - what the file system shows of a call whose end nobody saw */
#include "trace/call/outcome.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "trace/call/call.h"

enum { HOUR_S = 3600 };

static char dir[] = "/tmp/test-outcome-XXXXXX";

static int enter(void **state)
{
	(void)state;
	return !mkdtemp(dir) || chdir(dir) < 0;
}

static int leave(void **state)
{
	(void)state;
	return chdir("/") < 0 || rmdir(dir) < 0;
}

static void put(const char *name)
{
	int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0644);

	assert_true(fd >= 0);
	assert_int_equal(close(fd), 0);
}

/* A call about names of this directory that began just now. */
static void begin(struct pending *w, enum call call, uint64_t flags,
		  const char *name, const char *name2)
{
	*w = (struct pending){ .call = call,
			       .flags = flags,
			       .entry_ns = clock_now_ns() };
	if (name) {
		str_addf(&w->path, "%s", name);
		(void)lstat(name, &w->before);
	}
	if (name2)
		str_addf(&w->path2, "%s", name2);
}

static void end(struct pending *w, enum outcome expected)
{
	assert_int_equal(outcome_of(w), expected);
	str_release(&w->path);
	str_release(&w->path2);
}

static void a_rename_shows_at_both_names(void **state)
{
	struct pending w;

	(void)state;
	put("a");
	begin(&w, CALL_RENAME, 0, "a", "b");
	assert_int_equal(outcome_of(&w), OUTCOME_NOT_DONE);
	assert_int_equal(rename("a", "b"), 0);
	assert_int_equal(outcome_of(&w), OUTCOME_DONE);
	/* A stranger takes it on: nobody knows from where. */
	assert_int_equal(rename("b", "c"), 0);
	end(&w, OUTCOME_UNKNOWN);
	assert_int_equal(unlink("c"), 0);
}

static void a_link_shows_at_the_new_name(void **state)
{
	struct pending w;

	(void)state;
	put("a");
	begin(&w, CALL_LINK, 0, "a", "b");
	assert_int_equal(outcome_of(&w), OUTCOME_NOT_DONE);
	assert_int_equal(link("a", "b"), 0);
	assert_int_equal(outcome_of(&w), OUTCOME_DONE);
	/* One that has been there is not it. */
	w.entry_ns += HOUR_S * 1000000000LL;
	end(&w, OUTCOME_NOT_DONE);
	begin(&w, CALL_UNLINK, 0, "b", NULL);
	assert_int_equal(outcome_of(&w), OUTCOME_NOT_DONE);
	assert_int_equal(unlink("b"), 0);
	end(&w, OUTCOME_DONE);
	assert_int_equal(unlink("a"), 0);
}

static void a_symlink_shows_by_its_text(void **state)
{
	struct pending w;

	(void)state;
	begin(&w, CALL_SYMLINK, 0, "text", "s");
	assert_int_equal(outcome_of(&w), OUTCOME_NOT_DONE);
	assert_int_equal(symlink("other", "s"), 0);
	assert_int_equal(outcome_of(&w), OUTCOME_NOT_DONE);
	assert_int_equal(unlink("s"), 0);
	assert_int_equal(symlink("text", "s"), 0);
	end(&w, OUTCOME_DONE);
	assert_int_equal(unlink("s"), 0);
}

static void a_file_that_is_new_was_created(void **state)
{
	struct pending made, opened;

	(void)state;
	begin(&made, CALL_MKNOD, 0, "a", NULL);
	begin(&opened, CALL_OPEN, O_CREAT | O_WRONLY, "a", NULL);
	assert_int_equal(outcome_of(&made), OUTCOME_NOT_DONE);
	assert_int_equal(outcome_of(&opened), OUTCOME_NOT_DONE);
	put("a");
	end(&made, OUTCOME_DONE);
	end(&opened, OUTCOME_DONE);
	assert_int_equal(unlink("a"), 0);
}

static void a_file_that_is_emptied_has_changed(void **state)
{
	struct pending cut, opened, read;
	struct stat st;

	(void)state;
	put("a");
	begin(&cut, CALL_TRUNCATE, 0, "a", NULL);
	begin(&opened, CALL_OPEN, O_TRUNC | O_WRONLY, "a", NULL);
	begin(&read, CALL_OPEN, O_RDONLY, "a", NULL);
	/* However long that took: it was changed when they began. */
	assert_int_equal(stat("a", &st), 0);
	cut.entry_ns = st.st_ctim.tv_sec * 1000000000LL + st.st_ctim.tv_nsec;
	opened.entry_ns = cut.entry_ns;
	assert_int_equal(outcome_of(&cut), OUTCOME_DONE);
	assert_int_equal(outcome_of(&opened), OUTCOME_DONE);
	cut.entry_ns += HOUR_S * 1000000000LL;
	opened.entry_ns = cut.entry_ns;
	assert_int_equal(outcome_of(&cut), OUTCOME_NOT_DONE);
	assert_int_equal(outcome_of(&opened), OUTCOME_NOT_DONE);
	assert_int_equal(outcome_of(&read), OUTCOME_UNKNOWN);
	/* Removed since: nobody can say any more. */
	assert_int_equal(unlink("a"), 0);
	end(&cut, OUTCOME_UNKNOWN);
	end(&opened, OUTCOME_UNKNOWN);
	end(&read, OUTCOME_UNKNOWN);
}

static void a_name_that_was_not_seen_tells_nothing(void **state)
{
	struct pending w;

	(void)state;
	begin(&w, CALL_OPEN, O_CREAT | O_WRONLY, NULL, NULL);
	end(&w, OUTCOME_UNKNOWN);
	begin(&w, CALL_UNSEEN, 0, "a", NULL);
	end(&w, OUTCOME_UNKNOWN);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_rename_shows_at_both_names),
		cmocka_unit_test(a_link_shows_at_the_new_name),
		cmocka_unit_test(a_symlink_shows_by_its_text),
		cmocka_unit_test(a_file_that_is_new_was_created),
		cmocka_unit_test(a_file_that_is_emptied_has_changed),
		cmocka_unit_test(a_name_that_was_not_seen_tells_nothing),
	};

	return cmocka_run_group_tests(tests, enter, leave);
}
