/* test_headroom.c - how much memory can be had */
#include "helpers.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "arena/headroom.h"

static char top[] = "/tmp/roar-headroom-XXXXXX";

/* Writes a file below the folder of the test, and the folders on the way. */
static void file(const char *name, const char *text)
{
	char path[512];
	size_t len = strlen(text);
	int fd;

	(void)snprintf(path, sizeof(path), "%s/%s", top, name);
	for (char *p = strchr(path + strlen(top) + 1, '/'); p;
	     p = strchr(p + 1, '/')) {
		*p = '\0';
		(void)mkdir(path, 0700);
		*p = '/';
	}
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	assert_int_equal(write(fd, text, len), len);
	(void)close(fd);
}

static uint64_t headroom(void)
{
	char proc[512];
	char cgroup[512];

	(void)snprintf(proc, sizeof(proc), "%s/proc", top);
	(void)snprintf(cgroup, sizeof(cgroup), "%s/cgroup", top);
	return headroom_of(proc, cgroup);
}

static int clean(void **state)
{
	char command[512];

	(void)state;
	(void)snprintf(command, sizeof(command), "rm -rf %s/*", top);
	return system(command);
}

static void the_machine_has_what_is_available_and_swap(void **state)
{
	(void)state;
	file("proc/meminfo", "MemTotal:  900 kB\nMemAvailable:  500 kB\n"
			     "SwapFree:  7 kB\n");
	assert_int_equal(headroom(), 507 * 1024);
}

static void a_group_has_its_limit_less_its_use(void **state)
{
	(void)state;
	file("proc/meminfo", "MemAvailable:  500 kB\n");
	file("proc/self/cgroup", "0::/a/b\n");
	file("cgroup/a/b/memory.max", "100000\n");
	file("cgroup/a/b/memory.current", "60000\n");
	assert_int_equal(headroom(), 40000);
	file("cgroup/a/b/memory.stat", "anon 5\ninactive_file 10000\n");
	assert_int_equal(headroom(), 50000);
	file("cgroup/a/b/memory.current", "100001\n");
	file("cgroup/a/b/memory.stat", "inactive_file 0\n");
	assert_int_equal(headroom(), 0);
}

static void the_groups_above_have_a_say(void **state)
{
	(void)state;
	file("proc/meminfo", "MemAvailable:  500 kB\n");
	file("proc/self/cgroup", "0::/a/b\n");
	file("cgroup/a/b/memory.max", "max\n");
	file("cgroup/a/memory.max", "30000\n");
	file("cgroup/a/memory.current", "10000\n");
	assert_int_equal(headroom(), 20000);
}

static void the_first_version_is_read_too(void **state)
{
	(void)state;
	file("proc/meminfo", "MemAvailable:  500 kB\n");
	file("proc/self/cgroup", "5:cpu:/\n4:memory:/a\n0::/\n");
	file("cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
	file("cgroup/memory/a/memory.limit_in_bytes", "9000\n");
	file("cgroup/memory/a/memory.usage_in_bytes", "2000\n");
	assert_int_equal(headroom(), 7000);
}

/* In a container the name is often that of the world outside. */
static void a_group_that_is_not_there_leaves_the_top(void **state)
{
	(void)state;
	file("proc/meminfo", "MemAvailable:  500 kB\n");
	file("proc/self/cgroup", "0::/../../elsewhere\n");
	file("cgroup/memory.max", "50000\n");
	file("cgroup/memory.current", "20000\n");
	assert_int_equal(headroom(), 30000);
}

static void where_nothing_is_told_there_is_no_limit(void **state)
{
	(void)state;
	assert_true(headroom() == UINT64_MAX);
	file("proc/meminfo", "nonsense\n");
	file("proc/self/cgroup", "nonsense\n:\n::\n0:\n");
	assert_true(headroom() == UINT64_MAX);
}

static void an_arena_that_the_machine_has_not_is_refused_at_once(void **state)
{
	struct roar_arena_config config = { .size_bytes = 1ULL << 45 };
	struct roar_arena *a = NULL;

	(void)state;
	assert_int_equal(roar_arena_create(&config, &a), -ENOSPC);
	assert_non_null(strstr(roar_arena_error(), "make it smaller"));
	assert_null(a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(
			the_machine_has_what_is_available_and_swap, clean),
		cmocka_unit_test_teardown(a_group_has_its_limit_less_its_use,
					  clean),
		cmocka_unit_test_teardown(the_groups_above_have_a_say, clean),
		cmocka_unit_test_teardown(the_first_version_is_read_too, clean),
		cmocka_unit_test_teardown(
			a_group_that_is_not_there_leaves_the_top, clean),
		cmocka_unit_test_teardown(
			where_nothing_is_told_there_is_no_limit, clean),
		cmocka_unit_test(
			an_arena_that_the_machine_has_not_is_refused_at_once),
	};
	int r;

	if (!mkdtemp(top))
		return 1;
	r = cmocka_run_group_tests(tests, NULL, NULL);
	(void)rmdir(top);
	return r;
}
