/* test_log_lines.c - lines of the program about itself. */
#include "test.h"

#include <fcntl.h>
#include <string.h>
#include <syslog.h>
#include <unistd.h>

#include "base/log_lines.h"

static int ends[2];
static char text[1 << 16];

static int make_pipe(void **state)
{
	(void)state;
	return pipe2(ends, O_NONBLOCK | O_CLOEXEC);
}

static int close_pipe(void **state)
{
	(void)state;
	closep(&ends[0]);
	closep(&ends[1]);
	return 0;
}

static const char *written(void)
{
	ssize_t n = read(ends[0], text, sizeof(text) - 1);

	text[n > 0 ? n : 0] = '\0';
	return text;
}

static void a_line_has_time_level_and_job(void **state)
{
	CLEANUP(log_lines_release)
	struct log_lines n = { .fd = ends[1], .level = LOG_INFO };
	const char *line;

	(void)state;
	log_lines_add(&n, LOG_WARNING, "a", "worker %d is dead", 3);
	line = written();
	assert_int_equal(line[4], '-');
	assert_string_equal(strchr(line, ' '),
			    " warning job=a worker 3 is dead\n");
	log_lines_add(&n, LOG_ERR, NULL, "x");
	assert_string_equal(strchr(written(), ' '), " error x\n");
}

static void what_is_less_urgent_is_not_written(void **state)
{
	CLEANUP(log_lines_release)
	struct log_lines n = { .fd = ends[1], .level = LOG_WARNING };

	(void)state;
	log_lines_add(&n, LOG_INFO, NULL, "x");
	assert_string_equal(written(), "");
	assert_int_equal(n.left_out_total, 0);
}

static void names_cannot_make_lines_of_their_own(void **state)
{
	CLEANUP(log_lines_release)
	struct log_lines n = { .fd = ends[1], .level = LOG_INFO };

	(void)state;
	log_lines_add(&n, LOG_INFO, "a\nb", "c\n\x1b[2J\xff");
	assert_string_equal(strchr(written(), ' '),
			    " info job=a\\nb c\\n\\x1b[2J\\xff\n");
}

static void json_is_one_object_a_line(void **state)
{
	CLEANUP(log_lines_release)
	struct log_lines n = { .fd = ends[1], .level = LOG_INFO, .json = true };

	(void)state;
	log_lines_add(&n, LOG_INFO, "a\"b", "c\nd");
	assert_non_null(strstr(written(),
			       "\"level\":\"info\",\"job\":\"a\\\"b\","
			       "\"message\":\"c\\nd\"}\n"));
}

static void a_flood_is_cut_and_counted(void **state)
{
	CLEANUP(log_lines_release)
	struct log_lines n = { .fd = ends[1], .level = LOG_INFO };
	int lines = 0;

	(void)state;
	for (int i = 0; i < 10 * LOG_LINES_PER_S; i++) {
		log_lines_add(&n, LOG_INFO, NULL, "x");
		lines += *written() ? 1 : 0;
	}
	/* The second may have changed once or twice meanwhile. */
	assert_true(lines < 4 * LOG_LINES_PER_S);
	assert_int_equal(n.left_out_total + (uint64_t)lines,
			 10 * LOG_LINES_PER_S);
	n.second = 0;
	log_lines_add(&n, LOG_INFO, NULL, "y");
	assert_non_null(strstr(written(), " lines were dropped\n"));
}

static void what_is_left_out_can_be_looked_up(void **state)
{
	CLEANUP(log_lines_release)
	struct log_lines n = { .fd = ends[1], .level = LOG_INFO };

	(void)state;
	for (int i = 0; i < 2 * LOG_LINES_PER_S; i++)
		log_lines_add(&n, LOG_INFO, "j", "line %d", i);
	log_lines_add(&n, LOG_DEBUG, "j", "not asked for");
	assert_int_equal(n.recent.last, 2 * LOG_LINES_PER_S);
	assert_string_equal(
		recent_lines_after(&n.recent, 2 * LOG_LINES_PER_S - 1)->message,
		"line 399");
}

static void a_reader_that_does_not_read_is_not_waited_for(void **state)
{
	CLEANUP(log_lines_release)
	struct log_lines n = { .fd = ends[1], .level = LOG_INFO };
	char filler[4096] = { 0 };

	(void)state;
	assert_int_equal(fcntl(ends[1], F_SETFL, O_NONBLOCK), 0);
	while (write(ends[1], filler, sizeof(filler)) > 0)
		;
	assert_int_equal(fcntl(ends[1], F_SETFL, 0), 0);
	log_lines_add(&n, LOG_ERR, NULL, "x");
	assert_int_equal(n.left_out, 1);
}

#define WITH_PIPE(test) \
	cmocka_unit_test_setup_teardown(test, make_pipe, close_pipe)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_PIPE(a_line_has_time_level_and_job),
		WITH_PIPE(what_is_less_urgent_is_not_written),
		WITH_PIPE(names_cannot_make_lines_of_their_own),
		WITH_PIPE(json_is_one_object_a_line),
		WITH_PIPE(a_flood_is_cut_and_counted),
		WITH_PIPE(what_is_left_out_can_be_looked_up),
		WITH_PIPE(a_reader_that_does_not_read_is_not_waited_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
