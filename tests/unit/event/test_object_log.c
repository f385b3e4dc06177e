/* test_object_log.c - operations on objects, written by the proxy and read by roar. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/str.h"
#include "event/object_log.h"

#define HEADING "roar-objects 1\n"
/* A line without what its flags field says. */
#define LINE(flags)                                                       \
	"get\t7\t1\t2\t200\thttp://h\tb\tk\t-\te\t3\twhole\t-\t-\t" flags \
	"\t-\t-\t-\n"

struct scene {
	char dir[64];
	int fd;
};

static int make_scene(void **state)
{
	struct scene *s = calloc(1, sizeof(*s));

	strcpy(s->dir, "/tmp/test-object-log.XXXXXX");
	assert_non_null(mkdtemp(s->dir));
	s->fd = open(s->dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	assert_true(s->fd >= 0);
	*state = s;
	return 0;
}

static int remove_scene(void **state)
{
	struct scene *s = *state;

	(void)unlinkat(s->fd, "log", 0);
	(void)close(s->fd);
	assert_int_equal(rmdir(s->dir), 0);
	free(s);
	return 0;
}

/* ---- helpers ---- */

static struct object_op make_put(void)
{
	struct object_op op = OBJECT_OP_INIT;

	op.kind = OBJECT_PUT;
	op.flags = OBJECT_BEGUN;
	op.pid = 12;
	op.start_ns = 100;
	op.end_ns = 200;
	op.status = 200;
	op.endpoint = "http://127.0.0.1:9000";
	op.bucket = "data";
	op.key = "a b/100%\t\n\xff";
	op.version = "v.1";
	op.etag = "0123-2";
	op.size = 5;
	op.whole = true;
	op.has_blake3 = true;
	memset(op.blake3, 0xab, sizeof(op.blake3));
	op.copy_source = "-";
	op.part = 2;
	return op;
}

/* The keys that were read, with the kind of their operation. */
static int collect(void *ctx, const struct object_op *op)
{
	str_addf(ctx, "%s %s;", object_op_name(op->kind), op->key);
	return 0;
}

static int read_log(const struct scene *s, const char *expected,
		    struct object_log_summary *ret)
{
	CLEANUP(str_release) struct str found = STR_INIT;
	CLEANUP(closep)
	int fd = openat(s->fd, "log", O_RDONLY | O_CLOEXEC);
	int r;

	assert_true(fd >= 0);
	r = object_log_read(fd, collect, &found, ret);
	if (expected)
		assert_string_equal(str_cstr(&found), expected);
	return r;
}

static void put_text(const struct scene *s, const char *text, size_t len)
{
	assert_int_equal(fd_replace_file(s->fd, "log", text, len, 0600), 0);
}

static struct object_log_summary read_text(const struct scene *s,
					   const char *text)
{
	struct object_log_summary sum;

	put_text(s, text, strlen(text));
	assert_int_equal(read_log(s, NULL, &sum), 0);
	return sum;
}

static struct object_log *open_log(const struct scene *s)
{
	struct object_log *log = NULL;

	assert_int_equal(object_log_open(s->fd, "log", &log), 0);
	return log;
}

/* ---- writing ---- */

static void the_form_on_disk_is_kept(void **state)
{
	struct scene *s = *state;
	CLEANUP(str_release) struct str text = STR_INIT;
	struct object_log *log = open_log(s);
	struct object_op put = make_put();
	struct object_op list = OBJECT_OP_INIT;
	struct stat st;

	list.kind = OBJECT_LIST;
	list.flags = OBJECT_UNFINISHED | OBJECT_ABORTED;
	list.first = 4;
	list.last = 9;
	assert_int_equal(object_log_begin(log), 0);
	assert_int_equal(object_log_add(log, &put), 0);
	assert_int_equal(object_log_add(log, &list), 0);
	assert_int_equal(object_log_end(log), 0);
	object_log_close(log);
	assert_int_equal(fd_read_file(s->fd, "log", 10000, &text), 0);
	assert_string_equal(
		text.data,
		HEADING "begin\t1\n"
			"put\t12\t100\t200\t200\thttp://127.0.0.1:9000\tdata\t"
			"a b/100%25%09%0A%FF\tv.1\t0123-2\t5\twhole\t"
			"abababababababababababababababab"
			"abababababababababababababababab\t"
			"-\tbegun\t%2D\t-\t2\n"
			"list\t0\t0\t0\t0\t-\t-\t-\t-\t-\t-\t4-9\t-\t-\t"
			"unfinished,aborted\t-\t-\t-\n"
			"end\t2\n");
	assert_int_equal(fstatat(s->fd, "log", &st, 0), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
}

static int compare_put(void *ctx, const struct object_op *op)
{
	struct object_op put = make_put();

	++*(int *)ctx;
	assert_int_equal(op->kind, put.kind);
	assert_int_equal(op->flags, put.flags);
	assert_int_equal(op->pid, put.pid);
	assert_int_equal(op->start_ns, put.start_ns);
	assert_int_equal(op->end_ns, put.end_ns);
	assert_int_equal(op->status, put.status);
	assert_string_equal(op->endpoint, put.endpoint);
	assert_string_equal(op->bucket, put.bucket);
	assert_string_equal(op->key, put.key);
	assert_string_equal(op->version, put.version);
	assert_string_equal(op->etag, put.etag);
	assert_int_equal(op->size, put.size);
	assert_true(op->whole);
	assert_true(op->has_blake3);
	assert_memory_equal(op->blake3, put.blake3, sizeof(put.blake3));
	assert_false(op->has_sha256);
	assert_string_equal(op->copy_source, put.copy_source);
	assert_string_equal(op->upload_id, "");
	assert_int_equal(op->part, put.part);
	return 0;
}

static void what_is_written_is_read_back(void **state)
{
	struct scene *s = *state;
	struct object_log *log = open_log(s);
	struct object_op put = make_put();
	struct object_log_summary sum;
	CLEANUP(closep) int fd = -1;
	int n = 0;

	assert_int_equal(object_log_begin(log), 0);
	assert_int_equal(object_log_add(log, &put), 0);
	assert_int_equal(object_log_end(log), 0);
	object_log_close(log);
	fd = openat(s->fd, "log", O_RDONLY | O_CLOEXEC);
	assert_int_equal(object_log_read(fd, compare_put, &n, &sum), 0);
	assert_int_equal(n, 1);
	assert_int_equal(sum.n_ops, 1);
	assert_int_equal(sum.n_bad + sum.n_open, 0);
	assert_true(sum.ended);
}

static void only_a_regular_file_is_a_log(void **state)
{
	struct scene *s = *state;
	struct object_log *log = NULL;

	assert_int_equal(symlinkat("/dev/null", s->fd, "log"), 0);
	assert_int_equal(object_log_open(s->fd, "log", &log), -ELOOP);
	assert_int_equal(object_log_open(AT_FDCWD, "/dev/null", &log), -EINVAL);
	assert_int_equal(object_log_open(AT_FDCWD, "/nosuch/log", &log),
			 -ENOENT);
}

static void a_line_that_is_too_long_prevents_the_end(void **state)
{
	struct scene *s = *state;
	struct object_log *log = open_log(s);
	struct object_op put = make_put();
	struct object_log_summary sum;
	char *key = calloc(1, OBJECT_LINE_MAX + 1);

	memset(key, 'k', OBJECT_LINE_MAX);
	put.key = key;
	assert_int_equal(object_log_add(log, &put), -EMSGSIZE);
	put.key = "short";
	assert_int_equal(object_log_add(log, &put), 0);
	assert_int_equal(object_log_end(log), -EMSGSIZE);
	object_log_close(log);
	free(key);
	assert_int_equal(read_log(s, "put short;", &sum), 0);
	assert_false(sum.ended);
}

/* In a child, because the limit holds for all that a process writes. */
static void write_until_full(int dirfd)
{
	struct rlimit limit = { 200, 200 };
	struct object_log *log;
	struct object_op op = OBJECT_OP_INIT;

	op.kind = OBJECT_GET;
	op.key = "k";
	(void)signal(SIGXFSZ, SIG_IGN);
	if (object_log_open(dirfd, "log", &log) < 0 ||
	    setrlimit(RLIMIT_FSIZE, &limit) < 0)
		_exit(2);
	for (int i = 0; i < 100; i++)
		if (object_log_add(log, &op) < 0)
			_exit(object_log_end(log) == -ENOSPC ? 0 : 3);
	_exit(4);
}

static void a_full_disk_prevents_the_end(void **state)
{
	struct scene *s = *state;
	struct object_log_summary sum;
	pid_t pid = fork();
	int status;

	if (!pid)
		write_until_full(s->fd);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(read_log(s, NULL, &sum), 0);
	assert_true(sum.n_ops > 1);
	assert_int_equal(sum.n_bad, 1);
	assert_false(sum.ended);
}

static void a_second_writer_goes_on_after_a_torn_line(void **state)
{
	struct scene *s = *state;
	struct object_log_summary sum;
	struct object_log *log;
	struct object_op put = make_put();

	put_text(s, HEADING LINE("-") "get\t7", strlen(HEADING LINE("-")) + 5);
	log = open_log(s);
	put.key = "second";
	assert_int_equal(object_log_add(log, &put), 0);
	assert_int_equal(object_log_end(log), 0);
	object_log_close(log);
	assert_int_equal(read_log(s, "get k;put second;", &sum), 0);
	assert_int_equal(sum.n_bad, 1);
	assert_false(sum.ended);
}

/* ---- reading ---- */

static void a_log_without_its_end_is_not_complete(void **state)
{
	struct scene *s = *state;

	assert_false(read_text(s, "").ended);
	assert_false(read_text(s, HEADING).ended);
	assert_true(read_text(s, HEADING "end\t0\n").ended);
	assert_false(read_text(s, HEADING "end\t0").ended);
	assert_false(read_text(s, HEADING "end\t1\n").ended);
	assert_false(read_text(s, HEADING "end\t0\n" LINE("-")).ended);
	assert_false(read_text(s, HEADING "end\t0\nbegin\t1\n").ended);
	assert_true(read_text(s, HEADING LINE("-") "end\t1\n").ended);
	assert_true(read_text(s, HEADING "end\t0\n" HEADING "end\t0\n").ended);
	assert_false(read_text(s, HEADING HEADING "end\t0\n").ended);
}

static void an_operation_that_began_and_has_no_line_is_open(void **state)
{
	struct scene *s = *state;

	assert_int_equal(read_text(s, HEADING "begin\t1\nbegin\t2\n" LINE(
					      "begun") LINE("-"))
				 .n_open,
			 1);
	assert_int_equal(
		read_text(s, HEADING "begin\t1\n" LINE("begun")).n_open, 0);
	/* Each writer counts its own. */
	assert_int_equal(
		read_text(s, HEADING "begin\t1\n" HEADING LINE("begun")).n_open,
		1);
}

static void lines_that_are_not_valid_are_counted(void **state)
{
	struct scene *s = *state;
	static const char *const bad[] = {
		"x\n",
		"get\n",
		"begin\tx\n",
		"end\t-1\n",
		LINE("x"),
		LINE("begun,"),
		LINE(""),
		LINE("-\t-"),
		"fetch\t7\t1\t2\t200\th\tb\tk\t-\te\t3\t-\t-\t-\t-\t-\t-\t-\n",
		"get\t-7\t1\t2\t200\th\tb\tk\t-\te\t3\t-\t-\t-\t-\t-\t-\t-\n",
		"get\t7\t1\t2\t99999999999\th\tb\tk\t-\te\t3\t-\t-\t-\t-\t-\t-\t-\n",
		"get\t7\t1\t2\t200\th\tb\t\t-\te\t3\t-\t-\t-\t-\t-\t-\t-\n",
		"get\t7\t1\t2\t200\th\tb\t%00\t-\te\t3\t-\t-\t-\t-\t-\t-\t-\n",
		"get\t7\t1\t2\t200\th\tb\tk\t-\te\t3\t9-4\t-\t-\t-\t-\t-\t-\n",
		"get\t7\t1\t2\t200\th\tb\tk\t-\te\t3\t-4\t-\t-\t-\t-\t-\t-\n",
		"get\t7\t1\t2\t200\th\tb\tk\t-\te\t3\t-\tabc\t-\t-\t-\t-\t-\n",
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		CLEANUP(str_release) struct str text = STR_INIT;
		struct object_log_summary sum;

		str_addf(&text, HEADING "%s" LINE("-"), bad[i]);
		sum = read_text(s, text.data);
		assert_int_equal(sum.n_bad, 1);
		assert_int_equal(sum.n_ops, 1);
	}
}

static void a_line_with_a_nul_is_not_valid(void **state)
{
	struct scene *s = *state;
	static const char text[] = HEADING "end\t0\n" LINE("-\0");
	struct object_log_summary sum;

	put_text(s, text, sizeof(text) - 1);
	assert_int_equal(read_log(s, "", &sum), 0);
	assert_int_equal(sum.n_bad, 1);
	assert_false(sum.ended);
}

static void another_file_is_not_a_log(void **state)
{
	struct scene *s = *state;
	struct object_log_summary sum;
	char *text = calloc(1, OBJECT_LINE_MAX * 3);

	put_text(s, "roar-objects 2\n", 15);
	assert_int_equal(read_log(s, NULL, &sum), -EBADMSG);
	memcpy(text, HEADING, strlen(HEADING));
	put_text(s, text, OBJECT_LINE_MAX * 3);
	assert_int_equal(read_log(s, NULL, &sum), -EBADMSG);
	free(text);
}

static int refuse(void *ctx, const struct object_op *op)
{
	(void)op;
	++*(int *)ctx;
	return -ECANCELED;
}

static void a_reader_can_stop(void **state)
{
	struct scene *s = *state;
	static const char text[] = HEADING LINE("-") LINE("-");
	struct object_log_summary sum;
	CLEANUP(closep) int fd = -1;
	int n = 0;

	put_text(s, text, strlen(text));
	fd = openat(s->fd, "log", O_RDONLY | O_CLOEXEC);
	assert_int_equal(object_log_read(fd, refuse, &n, &sum), -ECANCELED);
	assert_int_equal(n, 1);
}

/* More than the reader holds at once. */
static void a_long_log_is_read_line_by_line(void **state)
{
	enum { N = 5000 };
	struct scene *s = *state;
	struct object_log *log = open_log(s);
	struct object_op put = make_put();
	struct object_log_summary sum;

	for (int i = 0; i < N; i++) {
		assert_int_equal(object_log_begin(log), 0);
		assert_int_equal(object_log_add(log, &put), 0);
	}
	assert_int_equal(object_log_end(log), 0);
	object_log_close(log);
	assert_int_equal(read_log(s, NULL, &sum), 0);
	assert_int_equal(sum.n_ops, N);
	assert_int_equal(sum.n_bad + sum.n_open, 0);
	assert_true(sum.ended);
}

#define T(f) cmocka_unit_test_setup_teardown(f, make_scene, remove_scene)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(the_form_on_disk_is_kept),
		T(what_is_written_is_read_back),
		T(only_a_regular_file_is_a_log),
		T(a_line_that_is_too_long_prevents_the_end),
		T(a_full_disk_prevents_the_end),
		T(a_second_writer_goes_on_after_a_torn_line),
		T(a_log_without_its_end_is_not_complete),
		T(an_operation_that_began_and_has_no_line_is_open),
		T(lines_that_are_not_valid_are_counted),
		T(a_line_with_a_nul_is_not_valid),
		T(another_file_is_not_a_log),
		T(a_reader_can_stop),
		T(a_long_log_is_read_line_by_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
