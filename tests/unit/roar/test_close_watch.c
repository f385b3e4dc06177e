/* test_watch.c - written files that were closed, and the end of watching. */
#include "scene.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "run/close_watch.h"

static void make_file(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(close(fd), 0);
}

static void note(void *ctx, const char *path, size_t len)
{
	char *name = ctx;

	assert_true(len < 256);
	memcpy(name, path, len + 1);
}

static void a_closed_file_is_reported_by_its_name(void **state)
{
	CLEANUP(close_watch_freep) struct close_watch *w = NULL;
	char dir[] = "/tmp/roar-watch-XXXXXX";
	char path[64], name[256] = "";

	(void)state;
	assert_non_null(mkdtemp(dir));
	(void)snprintf(path, sizeof(path), "%s/a", dir);
	assert_int_equal(close_watch_new(&w), 0);
	close_watch_add(w, path, strlen(path));
	make_file(path);
	close_watch_read(w, note, name);
	assert_string_equal(name, path);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(rmdir(dir), 0);
}

/* Of this process; the kernel may still have them. */
static int count_instances(void)
{
	char link[64];
	char to[64];
	int n = 0;

	for (int fd = 0; fd < 64; fd++) {
		ssize_t len;

		(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
		len = readlink(link, to, sizeof(to) - 1);
		to[len < 0 ? 0 : len] = '\0';
		n += strstr(to, "inotify") != NULL;
	}
	return n;
}

static void what_was_abandoned_is_not_ours_to_close(void **state)
{
	CLEANUP(close_watch_freep) struct close_watch *w = NULL;

	(void)state;
	assert_int_equal(close_watch_new(&w), 0);
	close_watch_add(w, "/tmp/a", strlen("/tmp/a"));
	assert_int_equal(count_instances(), 1);
	close_watch_abandon(w);
	assert_int_equal(count_instances(), 0);
}

static void what_was_abandoned_tells_nothing(void **state)
{
	CLEANUP(close_watch_freep) struct close_watch *w = NULL;
	char name[256] = "";

	(void)state;
	close_watch_abandon(NULL);
	assert_int_equal(close_watch_new(&w), 0);
	close_watch_abandon(w);
	close_watch_add(w, "/tmp/a", strlen("/tmp/a"));
	close_watch_read(w, note, name);
	close_watch_abandon(w);
	assert_string_equal(name, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_closed_file_is_reported_by_its_name),
		cmocka_unit_test(what_was_abandoned_is_not_ours_to_close),
		cmocka_unit_test(what_was_abandoned_tells_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
