/* test_input_clone.c - the content of a large input that its run changes in place.
 *
 * The file systems of most test machines have no clones: a function that copies the
 * first bytes of a sparse file stands for the kernel. */
#include "scene.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "hash/file/file_hash.h"
#include "project/project.h"
#include "run/contents.h"
#include "run/input_clone.h"
#include "run/run.h"
#include "run/verdict.h"
#include "trace/ptrace/ptrace.h"

enum { LARGE = 64 * 1024 * 1024 + 1, HEAD = 16 };

static unsigned n_calls;
static int fail_with;
static bool disturb;

static void overwrite(const char *path, const char *text)
{
	CLEANUP(closep) int fd = open(path, O_RDWR | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, text, strlen(text), 0), strlen(text));
}

static int copy(int to, int from)
{
	char head[HEAD] = "";
	struct stat st;

	n_calls++;
	if (fail_with && (fail_with != -EXDEV || n_calls == 1))
		return fail_with;
	assert_int_equal(fstat(from, &st), 0);
	assert_int_equal(ftruncate(to, st.st_size), 0);
	assert_true(pread(from, head, sizeof(head), 0) >= 0);
	assert_int_equal(pwrite(to, head, sizeof(head), 0), sizeof(head));
	if (disturb)
		overwrite("x", "disturbed");
	return 0;
}

static int reset(void **state)
{
	n_calls = 0;
	fail_with = 0;
	disturb = false;
	return scene_setup(state);
}

/* A file whose stamp is too old to be racy. */
static struct stamp make_input(const char *name, off_t size)
{
	const struct timespec ms50 = { .tv_nsec = 50000000 };
	struct stat st;

	scene_write(name, "what was read");
	assert_int_equal(truncate(name, size), 0);
	(void)nanosleep(&ms50, NULL);
	assert_int_equal(stat(name, &st), 0);
	return stamp_of(&st);
}

static void a_clone_keeps_what_is_overwritten(void **state)
{
	struct input_cloner c = { .clone = copy };
	struct stamp stamp = make_input("x", 100);
	CLEANUP(closep) int fd = -1;
	char head[HEAD + 1] = "";

	(void)state;
	assert_int_equal(input_clone_make(&c, AT_FDCWD, "x", &stamp, &fd), 0);
	overwrite("x", "something else");
	assert_int_equal(pread(fd, head, HEAD, 0), HEAD);
	assert_string_equal(head, "what was read");
	/* It is not what it was. */
	assert_int_equal(input_clone_make(&c, AT_FDCWD, "x", &stamp, &fd),
			 -ESTALE);
}

static void a_file_that_changes_meanwhile_is_refused(void **state)
{
	struct input_cloner c = { .clone = copy };
	struct stamp stamp = make_input("x", 100);
	int fd;

	(void)state;
	disturb = true;
	assert_int_equal(input_clone_make(&c, AT_FDCWD, "x", &stamp, &fd),
			 -ESTALE);
}

static void a_file_system_without_clones_is_asked_once(void **state)
{
	struct input_cloner c = { .clone = copy };
	struct stamp stamp = make_input("x", 100);
	int fd;

	(void)state;
	fail_with = -EOPNOTSUPP;
	for (int i = 0; i < 2; i++)
		assert_int_equal(input_clone_make(&c, AT_FDCWD, "x", &stamp,
						  &fd),
				 -EOPNOTSUPP);
	assert_int_equal(n_calls, 1);
}

static void on_another_file_system_the_clone_is_made_there(void **state)
{
	struct input_cloner c = { .clone = copy };
	struct stamp stamp = make_input("x", 100);
	CLEANUP(closep) int fd = -1;

	(void)state;
	fail_with = -EXDEV;
	assert_int_equal(input_clone_make(&c, AT_FDCWD, "x", &stamp, &fd), 0);
	assert_int_equal(n_calls, 2);
}

/* ---- a run that reads a large file and then changes it ---- */

static void tell_open(struct run *run, const char *path, unsigned flags,
		      const struct stamp *stamp)
{
	struct event *ev = calloc(1, EVENT_SIZE_MAX);

	assert_non_null(ev);
	ev->kind = EVENT_OPEN;
	ev->ftype = EVENT_FTYPE_REGULAR;
	ev->flags = (uint16_t)flags;
	ev->pid = 2;
	ev->time_ns = clock_now_ns();
	ev->before = *stamp;
	event_set_paths(ev, path, strlen(path), "", 0);
	intake_event(run, ev);
	free(ev);
}

/* Returns whether the record is complete; then the input's digest is that of what was
 * there at first. */
static bool observe_change(int (*clone)(int to, int from))
{
	static char *argv[] = { (char *)"true", NULL };
	struct run_options options = { .kind = "run",
				       .name = "",
				       .quiet = true,
				       .tracer = &tracer_ptrace };
	CLEANUP(project_release) struct project project = { .dirfd = -1 };
	CLEANUP(run_release) struct run run = { 0 };
	struct stamp stamp = make_input("x", LARGE);
	struct file_hash expected;
	struct roar_error err;
	struct digests got;
	char path[128];
	bool complete;

	assert_int_equal(file_hash(AT_FDCWD, "x", DIGEST_SET_BLAKE3, NULL, NULL,
				   &expected),
			 0);
	assert_int_equal(project_open(PROJECT_CREATE, &project, NULL, &err), 0);
	assert_int_equal(run_init(&run, &project, &options), 0);
	assert_int_equal(run_meta_fill(&run, argv), 0);
	run.cloner.clone = clone;
	run.n_early = UINT32_MAX /
		      2; /* no thread hashes it before the change */
	(void)snprintf(path, sizeof(path), "%s/x", scene_dir());

	tell_open(&run, path, EVENT_READ, &stamp);
	intake_before_change(&run, path, strlen(path), &stamp);
	overwrite("x", "changed in place");
	tell_open(&run, path, EVENT_WRITE, &stamp);
	assert_int_equal(run_classify(&run), 0);

	complete = verdict_is_complete(&run);
	if (complete) {
		contents_get(contents_find(run.files[0].file, CONTENT_INPUT),
			     &got);
		assert_memory_equal(got.blake3, expected.digests.blake3,
				    sizeof(got.blake3));
	}
	return complete;
}

static void the_record_names_what_was_read(void **state)
{
	(void)state;
	assert_true(observe_change(copy));
	assert_int_equal(n_calls, 1);
}

static void without_a_clone_the_record_is_not_complete(void **state)
{
	(void)state;
	fail_with = -EOPNOTSUPP;
	assert_false(observe_change(copy));
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, reset, scene_teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_clone_keeps_what_is_overwritten),
		TEST(a_file_that_changes_meanwhile_is_refused),
		TEST(a_file_system_without_clones_is_asked_once),
		TEST(on_another_file_system_the_clone_is_made_there),
		TEST(the_record_names_what_was_read),
		TEST(without_a_clone_the_record_is_not_complete),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
