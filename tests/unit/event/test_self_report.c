/* test_self_report.c - what a program says of itself: all of it, or nothing. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "event/event.h"
#include "event/self_report.h"

#define START "roar-files 1\0"

static struct self_report_item item;

/* How reading the text ends: 0 or -EBADMSG. */
static int read_all(const char *text, size_t len)
{
	struct self_report report = self_report_of(text, len);
	int r;

	while ((r = self_report_next(&report, &item)) > 0)
		;
	return r;
}

#define READ(text) read_all(text, sizeof(text) - 1)

static void every_word_is_read(void **state)
{
	(void)state;
	assert_int_equal(READ(START), 0);
	assert_int_equal(READ(START "name\0train\0arg\0a\0arg\0\0pid\0"
				    "12\0started\0"
				    "1\0ended\0"
				    "2\0exit\0"
				    "255\0lost\0"
				    "0\0gap\0x\0"),
			 0);
	assert_int_equal(item.kind, SELF_REPORT_GAP);
	assert_int_equal(READ(START "rename\0/a\0/b\0link\0/a\0/b\0symlink\0"
				    "text\0/b\0remove\0-\0/a\0"),
			 0);
	assert_int_equal(item.kind, SELF_REPORT_REMOVE);
	assert_int_equal(READ(START "open\0rw\0"
				    "33188:1:2:3:4:5\0"
				    "6\0/a b\0"),
			 0);
	assert_int_equal(item.flags, EVENT_READ | EVENT_WRITE);
	assert_int_equal(item.mode, 33188);
	assert_int_equal(item.stamp.ino, 2);
	assert_int_equal(item.stamp.ctime_ns, 5);
	assert_int_equal(item.number, 6);
	assert_string_equal(item.path, "/a b");
}

static void other_texts_are_refused(void **state)
{
	(void)state;
	assert_int_equal(READ(""), -EBADMSG);
	assert_int_equal(READ("roar-files 2\0"), -EBADMSG);
	assert_int_equal(READ("roar-files 1"), -EBADMSG);
	assert_int_equal(READ(START "name\0train"), -EBADMSG);
	assert_int_equal(READ(START "name\0"), -EBADMSG);
	assert_int_equal(READ(START "other\0x\0"), -EBADMSG);
	assert_int_equal(READ(START "pid\0-1\0"), -EBADMSG);
	assert_int_equal(READ(START "exit\0"
				    "256\0"),
			 -EBADMSG);
	assert_int_equal(READ(START "rename\0a\0/b\0"), -EBADMSG);
	assert_int_equal(READ(START "symlink\0a\0b\0"), -EBADMSG);
	assert_int_equal(READ(START "open\0t\0-\0"
				    "1\0/a\0"),
			 -EBADMSG);
	assert_int_equal(READ(START "open\0x\0-\0"
				    "1\0/a\0"),
			 -EBADMSG);
	assert_int_equal(READ(START "remove\0"
				    "1:2:3:4:5\0/a\0"),
			 -EBADMSG);
	assert_int_equal(READ(START "remove\0"
				    "1:2:3:4:5:6:7\0/a\0"),
			 -EBADMSG);
	assert_int_equal(READ(START "remove\0"
				    "0:2:3:4:5:6\0/a\0"),
			 -EBADMSG);
}

static void strings_have_a_bound(void **state)
{
	static char text[SELF_REPORT_PATH_MAX + 64] = START "name\0";
	size_t start = sizeof(START "name\0") - 1;

	(void)state;
	memset(text + start, 'x', SELF_REPORT_PATH_MAX);
	assert_int_equal(read_all(text, start + SELF_REPORT_PATH_MAX + 1), 0);
	memset(text + start, 'x', SELF_REPORT_PATH_MAX + 1);
	assert_int_equal(read_all(text, start + SELF_REPORT_PATH_MAX + 2),
			 -EBADMSG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_word_is_read),
		cmocka_unit_test(other_texts_are_refused),
		cmocka_unit_test(strings_have_a_bound),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
