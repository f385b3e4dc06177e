/* test_machine.c - hardware, limits and GPUs, from files that the test wrote. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "capture/cgroup_limits.h"
#include "capture/children_io.h"
#include "capture/gpu.h"
#include "capture/machine.h"
#include "tree.h"

static const char *document(struct tree *t, const char *cache)
{
	struct capture_system system = { .root = t->dir, .cache = cache };
	struct json json = json_writer(&t->text, false);

	str_clear(&t->text);
	machine_write(&system, FAKE_NVML, &json);
	assert_int_equal(str_error(&t->text), 0);
	return t->text.data;
}

static void check_has(struct tree *t, const char *part)
{
	if (!strstr(t->text.data, part))
		fail_msg("no %s in %s", part, t->text.data);
}

static void make_machine(struct tree *t)
{
	tree_write(t, "proc/cpuinfo",
		   "processor\t: 0\nmodel name\t: Xeon\nphysical id\t: 0\n"
		   "core id\t\t: 0\n\nprocessor\t: 1\nmodel name\t: Xeon\n"
		   "physical id\t: 0\ncore id\t\t: 0\n\nprocessor\t: 2\n"
		   "model name\t: Xeon\nphysical id\t: 1\ncore id\t\t: 0\n");
	tree_write(t, "proc/meminfo", "MemTotal:       1024 kB\nMemFree: 1\n");
	tree_write(t, "proc/sys/kernel/random/boot_id", "boot-1\n");
	tree_write(t, "etc/os-release", "ID=x\nPRETTY_NAME=\"Some Linux 1\"\n");
	tree_write(t, "sys/class/dmi/id/sys_vendor", "Amazon EC2\n");
	tree_write(t, "sys/class/dmi/id/product_name", "p5.48xlarge\n");
}

static void hardware_is_described(void **state)
{
	struct tree *t = *state;

	make_machine(t);
	document(t, NULL);
	check_has(t, "\"os\":\"Some Linux 1\"");
	check_has(t, "\"cpu\":{\"model\":\"Xeon\",\"sockets\":2,\"cores\":2,"
		     "\"threads\":3},\"memory_bytes\":1048576,\"gpus\":[]");
	check_has(t, "\"cloud\":{\"vendor\":\"aws\",\"product\":"
		     "\"p5.48xlarge\"}");
}

static void a_machine_without_files_is_described(void **state)
{
	struct tree *t = *state;

	document(t, NULL);
	check_has(t, "\"os\":null");
	check_has(t, "\"gpus\":[]");
	check_has(t, "\"cloud\":null");
	check_has(t, "\"cgroup\":null");
}

static void hardware_is_kept_until_the_next_boot(void **state)
{
	struct tree *t = *state;
	CLEANUP(freep) char *cache = strdup(tree_path(t, "cache"));

	make_machine(t);
	assert_int_equal(mkdir(cache, 0700), 0);
	document(t, cache);
	tree_write(t, "proc/meminfo", "MemTotal:       2048 kB\n");
	document(t, cache);
	check_has(t, "\"memory_bytes\":1048576");
	tree_write(t, "cache/machine", "boot-1\nnot JSON");
	document(t, cache);
	check_has(t, "\"memory_bytes\":2097152");
	tree_write(t, "proc/meminfo", "MemTotal:       4096 kB\n");
	tree_write(t, "proc/sys/kernel/random/boot_id", "boot-2\n");
	document(t, cache);
	check_has(t, "\"memory_bytes\":4194304");
}

/* ---- GPUs ---- */

static void make_driver(struct tree *t)
{
	tree_write(t, "proc/driver/nvidia/version",
		   "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104.05"
		   "  Sat Aug 19\nGCC version: 12\n");
	tree_write(t, "proc/driver/nvidia/gpus/0000:01:00.0/information",
		   "Model: \t\t NVIDIA A100\nIRQ:   \t\t 64\n"
		   "GPU UUID: \t GPU-5678\n");
}

static void gpus_come_from_nvml(void **state)
{
	struct tree *t = *state;

	make_driver(t);
	document(t, NULL);
	check_has(t, "\"gpus\":[{\"index\":0,\"name\":\"NVIDIA H100\","
		     "\"uuid\":\"GPU-1234\",\"memory_bytes\":85899345920},");
	check_has(t, "\"driver\":\"550.54.15\",\"cuda\":\"12.4\"");
}

static void without_nvml_gpus_come_from_proc(void **state)
{
	struct tree *t = *state;
	struct gpus *g = calloc(1, sizeof(*g));

	make_driver(t);
	assert_int_equal(setenv("ROAR_TEST_NVML", "fail", 1), 0);
	assert_int_equal(gpus_find(t->dir, FAKE_NVML, g), 0);
	assert_int_equal(unsetenv("ROAR_TEST_NVML"), 0);
	assert_int_equal(g->n, 1);
	assert_string_equal(g->list[0].name, "NVIDIA A100");
	assert_string_equal(g->list[0].uuid, "GPU-5678");
	assert_string_equal(g->driver, "535.104.05");
	assert_int_equal(gpus_find(t->dir, "libno-such.so", g), 0);
	assert_int_equal(g->n, 1);
	free(g);
}

static void gpus_of_amd_come_from_sys(void **state)
{
	struct tree *t = *state;
	struct gpus *g = calloc(1, sizeof(*g));

	tree_write(t, "sys/class/drm/card1/device/mem_info_vram_total",
		   "68702699520\n");
	tree_write(t, "sys/class/drm/card1/device/unique_id", "abc\n");
	assert_int_equal(gpus_find(t->dir, FAKE_NVML, g), 0);
	assert_int_equal(g->n, 1);
	assert_int_equal(g->list[0].memory_bytes, 68702699520);
	assert_string_equal(g->list[0].uuid, "abc");
	free(g);
}

/* Last: its thread stays. */
static void nvml_that_hangs_is_abandoned(void **state)
{
	struct tree *t = *state;
	int64_t start = clock_mono_ns();

	make_driver(t);
	assert_int_equal(setenv("ROAR_TEST_NVML", "hang", 1), 0);
	document(t, NULL);
	check_has(t, "NVIDIA A100");
	check_has(t, "\"notes\":[\"the NVIDIA management library did not");
	assert_true(clock_mono_ns() - start < 30000000000);
}

/* ---- limits ---- */

static void the_tightest_limit_counts(void **state)
{
	struct tree *t = *state;
	struct cgroup_limits l;

	tree_write(t, "proc/self/cgroup", "0::/a/b\n");
	tree_write(t, "sys/fs/cgroup/a/b/cpu.max", "max 100000\n");
	tree_write(t, "sys/fs/cgroup/a/b/memory.max", "4096\n");
	tree_write(t, "sys/fs/cgroup/a/cpu.max", "150000 100000\n");
	tree_write(t, "sys/fs/cgroup/a/memory.max", "8192\n");
	tree_write(t, "sys/fs/cgroup/memory.max", "max\n");
	assert_true(cgroup_limits_find(t->dir, &l));
	assert_true(l.cpus > 1.49 && l.cpus < 1.51);
	assert_int_equal(l.memory_bytes, 4096);
}

static void limits_of_version_1_are_read(void **state)
{
	struct tree *t = *state;
	struct cgroup_limits l;

	tree_write(t, "proc/self/cgroup", "4:memory:/docker/x\n");
	tree_write(t, "sys/fs/cgroup/memory/memory.limit_in_bytes",
		   "9223372036854771712\n");
	assert_false(cgroup_limits_find(t->dir, &l));
	tree_write(t, "sys/fs/cgroup/cpu/cpu.cfs_quota_us", "50000\n");
	tree_write(t, "sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
	assert_true(cgroup_limits_find(t->dir, &l));
	assert_true(l.cpus > 0.49 && l.cpus < 0.51);
}

static void containers_are_recognised(void **state)
{
	struct tree *t = *state;
	char kind[32], image[64];

	assert_int_equal(unsetenv("KUBERNETES_SERVICE_HOST"), 0);
	assert_int_equal(unsetenv("SINGULARITY_CONTAINER"), 0);
	assert_int_equal(unsetenv("APPTAINER_CONTAINER"), 0);
	assert_false(container_find(t->dir, kind, 32, image, 64));
	tree_write(t, "proc/1/cgroup", "0::/kubepods/besteffort/x\n");
	assert_true(container_find(t->dir, kind, 32, image, 64));
	assert_string_equal(kind, "kubernetes");
	tree_write(t, "run/.containerenv", "engine=\"x\"\nimage=\"img:1\"\n");
	assert_true(container_find(t->dir, kind, 32, image, 64));
	assert_string_equal(kind, "podman");
	assert_string_equal(image, "img:1");
}

static void io_of_children_is_found(void **state)
{
	struct children_io before, after;

	(void)state;
	if (!children_io_find(&before))
		skip();
	assert_int_equal(system("head -c 100000 /dev/zero > /dev/null"), 0);
	assert_true(children_io_find(&after));
	assert_true(after.bytes_read - before.bytes_read >= 100000);
	assert_true(after.bytes_written - before.bytes_written >= 100000);
}

int main(void)
{
#define TEST(name) \
	cmocka_unit_test_setup_teardown(name, tree_setup, tree_teardown)
	const struct CMUnitTest tests[] = {
		TEST(hardware_is_described),
		TEST(a_machine_without_files_is_described),
		TEST(hardware_is_kept_until_the_next_boot),
		TEST(gpus_come_from_nvml),
		TEST(without_nvml_gpus_come_from_proc),
		TEST(gpus_of_amd_come_from_sys),
		TEST(the_tightest_limit_counts),
		TEST(limits_of_version_1_are_read),
		TEST(containers_are_recognised),
		TEST(io_of_children_is_found),
		TEST(nvml_that_hangs_is_abandoned),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
