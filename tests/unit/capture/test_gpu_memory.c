/* test_gpu_memory.c - samples of a fake NVML, whose processes are lines of a file. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "capture/gpu_memory.h"
#include "tree.h"

enum { OURS = 4000000, CHILD = 4000001, ALIEN = 4000002 };

/* `lines`: "GPU PID BYTES". */
static void set_processes(struct tree *t, const char *lines)
{
	CLEANUP(freep) char *next = strdup(tree_path(t, "next"));

	tree_write(t, "next", lines);
	assert_int_equal(rename(next, tree_path(t, "processes")), 0);
}

static void await_file(const char *path)
{
	int64_t end = clock_mono_ns() + 60000000000;

	while (access(path, F_OK) < 0) {
		assert_true(clock_mono_ns() < end);
		(void)usleep(1000);
	}
}

static void await_question(struct tree *t)
{
	const char *asked = tree_path(t, "processes.asked");

	(void)unlink(asked);
	await_file(asked);
}

/* The second question comes when the answers to the first are noted. */
static void await_sample(struct tree *t)
{
	await_question(t);
	await_question(t);
}

static struct gpu_memory *start(struct tree *t, const char *library)
{
	struct gpu_memory *m = NULL;

	assert_int_equal(
		setenv("ROAR_TEST_NVML_FILE", tree_path(t, "processes"), 1), 0);
	assert_int_equal(gpu_memory_start(library, 1, &m), 0);
	gpu_memory_add(m, OURS);
	return m;
}

static void the_largest_sample_counts(void **state)
{
	struct tree *t = *state;
	struct gpu_peaks peaks;
	struct gpu_memory *m;

	set_processes(t, "0 4000000 100\n");
	m = start(t, FAKE_NVML);
	await_sample(t);
	gpu_memory_add(m, CHILD);
	set_processes(t, "0 4000000 200\n0 4000001 5000000000\n");
	await_sample(t);
	set_processes(t, "0 4000000 300\n");
	await_sample(t);
	gpu_memory_end(m, &peaks);
	assert_true(peaks.list[0].used);
	assert_int_equal(peaks.list[0].bytes, 5000000200);
	assert_false(peaks.list[1].used);
}

static void other_processes_do_not_count(void **state)
{
	CLEANUP(str_release) struct str lines = STR_INIT;
	struct tree *t = *state;
	struct gpu_peaks peaks;
	struct gpu_memory *m;

	for (int i = 0; i < 100; i++)
		str_addf(&lines, "1 %d 1000\n", ALIEN + i);
	str_addf(&lines, "1 4000000 7\n0 4000001 9\n0 4294967295 9\n");
	set_processes(t, str_cstr(&lines));
	m = start(t, FAKE_NVML);
	gpu_memory_remove(m, CHILD);
	await_sample(t);
	gpu_memory_remove(m, OURS);
	set_processes(t, "1 4000000 1000\n");
	await_sample(t);
	gpu_memory_end(m, &peaks);
	assert_false(peaks.list[0].used);
	assert_true(peaks.list[1].used);
	assert_int_equal(peaks.list[1].bytes, 7);
}

static void memory_may_be_unknown(void **state)
{
	struct tree *t = *state;
	struct gpu_peaks peaks;
	struct gpu_memory *m;

	set_processes(t, "0 4000000 18446744073709551615\n");
	m = start(t, FAKE_NVML);
	await_sample(t);
	gpu_memory_end(m, &peaks);
	assert_true(peaks.list[0].used);
	assert_int_equal(peaks.list[0].bytes, 0);
}

static void old_libraries_have_smaller_entries(void **state)
{
	struct tree *t = *state;
	struct gpu_peaks peaks;
	struct gpu_memory *m;

	set_processes(t, "0 4000002 100\n0 4000000 20\n0 4000000 3\n");
	m = start(t, FAKE_NVML_OLD);
	await_sample(t);
	gpu_memory_end(m, &peaks);
	assert_int_equal(peaks.list[0].bytes, 23);
}

static void a_failed_question_is_no_sample(void **state)
{
	struct tree *t = *state;
	struct gpu_peaks peaks;
	struct gpu_memory *m;

	set_processes(t, "fail\n");
	m = start(t, FAKE_NVML);
	await_sample(t);
	set_processes(t, "0 4000000 100\n");
	await_sample(t);
	set_processes(t, "fail\n");
	await_sample(t);
	gpu_memory_end(m, &peaks);
	assert_int_equal(peaks.list[0].bytes, 100);
}

static void without_nvml_nothing_is_known(void **state)
{
	struct gpu_peaks peaks = { .list[0].used = true };
	struct gpu_memory *m = start(*state, "libno-such.so");

	gpu_memory_end(m, &peaks);
	assert_false(peaks.list[0].used);
	gpu_memory_end(NULL, NULL);
}

static void signs_of_a_gpu(void **state)
{
	static const struct {
		const char *path;
		bool is_sign;
	} cases[] = {
		{ "/dev/nvidiactl", true },
		{ "/dev/nvidia0", true },
		{ "/dev/nvidia15", true },
		{ "/dev/nvidia-uvm", false },
		{ "/dev/nvidia", false },
		{ "/dev/null", false },
		{ "/usr/lib/x86_64-linux-gnu/libcuda.so.550.54.15", true },
		{ "/usr/lib/libcudart.so.12", false },
		{ "", false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(gpu_memory_is_sign(cases[i].path,
						    strlen(cases[i].path)),
				 cases[i].is_sign);
}

/* Last: its thread stays. */
static void a_question_that_hangs_is_abandoned(void **state)
{
	struct tree *t = *state;
	int64_t begin;
	struct gpu_peaks peaks;
	struct gpu_memory *m;

	set_processes(t, "0 4000000 100\n");
	m = start(t, FAKE_NVML);
	await_sample(t);
	set_processes(t, "hang\n");
	await_file(tree_path(t, "processes.hung"));
	begin = clock_mono_ns();
	gpu_memory_add(m, CHILD);
	gpu_memory_end(m, &peaks);
	assert_true(clock_mono_ns() - begin < 30000000000);
	assert_int_equal(peaks.list[0].bytes, 100);
}

int main(void)
{
#define TEST(name) \
	cmocka_unit_test_setup_teardown(name, tree_setup, tree_teardown)
	const struct CMUnitTest tests[] = {
		TEST(the_largest_sample_counts),
		TEST(other_processes_do_not_count),
		TEST(memory_may_be_unknown),
		TEST(old_libraries_have_smaller_entries),
		TEST(a_failed_question_is_no_sample),
		TEST(without_nvml_nothing_is_known),
		TEST(signs_of_a_gpu),
		TEST(a_question_that_hangs_is_abandoned),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
