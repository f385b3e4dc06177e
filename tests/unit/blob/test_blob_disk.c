/* test_blob_disk.c - a directory as a store */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/macros.h"
#include "blob/blob.h"

enum { BLOCK = 1 << 20 };

static char dir[] = "/tmp/roar-blob-XXXXXX";
static struct blob_store *store;
static struct roar_error err;

static int set_up(void **state)
{
	char path[64];

	(void)state;
	(void)snprintf(dir, sizeof(dir), "/tmp/roar-blob-XXXXXX");
	assert_non_null(mkdtemp(dir));
	(void)snprintf(path, sizeof(path), "%s/a/b//", dir);
	err.text[0] = '\0';
	return blob_open(path, true, 8, &store, &err);
}

static int tear_down(void **state)
{
	char command[64];

	(void)state;
	blob_close(store);
	(void)snprintf(command, sizeof(command), "rm -rf %s", dir);
	return system(command);
}

static char *block(int seed)
{
	char *data = aligned_alloc(BLOB_ALIGN, BLOCK);

	assert_non_null(data);
	for (size_t i = 0; i < BLOCK; i++)
		data[i] = (char)(i * 31 + (size_t)seed + (i >> 12));
	return data;
}

static void large_files_have_what_was_written_in_any_order(void **state)
{
	CLEANUP(freep) char *a = block(1);
	CLEANUP(freep) char *b = block(2);
	CLEANUP(freep) char *got = block(3);
	CLEANUP(blob_close_readerp) struct blob_reader *r = NULL;
	struct blob_writer *w;
	uint64_t size;

	(void)state;
	assert_int_equal(blob_create(store, "s/f", 2 * BLOCK, &w, &err), 0);
	assert_int_equal(blob_write(w, BLOCK, b, 5000, &err), 0);
	assert_int_equal(blob_write(w, 0, a, BLOCK, &err), 0);
	assert_int_equal(blob_finish(w, BLOCK + 5000, &err), 0);
	assert_int_equal(blob_make_durable(store, "s", &err), 0);
	assert_int_equal(blob_open_reader(store, "s/f", 0, &r, &size, &err), 0);
	assert_int_equal(size, BLOCK + 5000);
	assert_int_equal(blob_read(r, 0, got, BLOCK, &err), 0);
	assert_memory_equal(got, a, BLOCK);
	assert_int_equal(blob_read(r, BLOCK - 1, got + 1, 5001, &err), 0);
	assert_memory_equal(got + 2, b, 5000);
	assert_int_equal(got[1], a[BLOCK - 1]);
	assert_int_equal(blob_read(r, BLOCK, got, 5001, &err), -ENODATA);
	assert_non_null(strstr(err.text, "s/f' is truncated"));
}

static void a_name_is_given_once(void **state)
{
	struct blob_writer *w, *again;

	(void)state;
	assert_int_equal(blob_create(store, "f", 10, &w, &err), 0);
	assert_int_equal(blob_create(store, "f", 10, &again, &err), -EEXIST);
	blob_abandon(w);
	assert_int_equal(blob_create(store, "f", 10, &w, &err), 0);
	blob_abandon(w);
	assert_int_equal(blob_remove(store, "f", &err), -ENOENT);
}

static void names_stay_in_the_store(void **state)
{
	static const char *const names[] = {
		"", "/etc/x", "..", "../x", "a/../b", "a/.x", "a//b", "a/b/c"
	};
	CLEANUP(str_release) struct str text = STR_INIT;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		assert_int_equal(blob_put(store, names[i], NULL, "x", 1, 0,
					  &err),
				 -EINVAL);
		assert_int_equal(blob_get(store, names[i], 9, &text, &err),
				 -EINVAL);
	}
}

static void an_exclusive_put_never_replaces(void **state)
{
	CLEANUP(str_release) struct str text = STR_INIT;

	(void)state;
	/* A directory that has vanished is not made again. */
	assert_int_equal(blob_put(store, "s/m", "s/m.1", "one", 3,
				  BLOB_PUT_EXCLUSIVE, &err),
			 -ENOENT);
	assert_int_equal(blob_put(store, "s/x", NULL, "x", 1, 0, &err), 0);
	assert_int_equal(blob_remove(store, "s/x", &err), 0);
	assert_int_equal(blob_put(store, "s/m", "s/m.1", "one", 3,
				  BLOB_PUT_EXCLUSIVE, &err),
			 0);
	assert_int_equal(blob_put(store, "s/m", "s/m.2", "two", 3,
				  BLOB_PUT_EXCLUSIVE, &err),
			 -EEXIST);
	assert_int_equal(blob_get(store, "s/m", 100, &text, &err), 0);
	assert_string_equal(text.data, "one");
	str_clear(&text);
	assert_int_equal(blob_put(store, "s/m", NULL, "three", 5, 0, &err), 0);
	assert_int_equal(blob_get(store, "s/m", 100, &text, &err), 0);
	assert_string_equal(text.data, "three");
	assert_int_equal(blob_get(store, "s/m", 4, &text, &err), -EFBIG);
	assert_int_equal(blob_get(store, "s/n", 4, &text, &err), -ENOENT);
	/* Nothing temporary is left. */
	assert_int_equal(blob_remove(store, "s/m", &err), 0);
	assert_int_equal(blob_remove(store, "s/", &err), 0);
}

static int add_name(void *ctx, const struct blob_entry *entry)
{
	str_addf(ctx, "%s:%llu ", entry->name,
		 (unsigned long long)entry->size_bytes);
	return 0;
}

static void lists_have_the_files_below_a_prefix(void **state)
{
	CLEANUP(str_release) struct str names = STR_INIT;

	(void)state;
	assert_int_equal(blob_put(store, "s1/x", NULL, "12", 2, 0, &err), 0);
	assert_int_equal(blob_put(store, "s2/y", NULL, "1", 1, 0, &err), 0);
	assert_int_equal(blob_put(store, "z", NULL, "123", 3, 0, &err), 0);
	assert_int_equal(blob_list(store, "s1/", add_name, &names, &err), 0);
	assert_non_null(strstr(names.data, "s1/x:2 "));
	assert_null(strstr(names.data, "s2"));
	assert_null(strstr(names.data, "z"));
	str_clear(&names);
	assert_int_equal(blob_list(store, "", add_name, &names, &err), 0);
	assert_non_null(strstr(names.data, "s1/x:2 "));
	assert_non_null(strstr(names.data, "s2/y:1 "));
	assert_non_null(strstr(names.data, "s2/:"));
	assert_non_null(strstr(names.data, "z:3 "));
}

static void a_hold_ends_with_its_process(void **state)
{
	struct blob_hold *h;
	int pipes[2];
	pid_t child;
	char c;

	(void)state;
	assert_int_equal(pipe(pipes), 0);
	child = fork();
	if (child == 0) {
		c = blob_hold(store, "s/writing-1", &h, &err) == 0 ? 'y' : 'n';
		(void)!write(pipes[1], &c, 1);
		(void)pause();
		_exit(0);
	}
	assert_int_equal(read(pipes[0], &c, 1), 1);
	assert_int_equal(c, 'y');
	assert_true(blob_is_held(store, "s/writing-1"));
	assert_int_equal(kill(child, SIGKILL), 0);
	assert_int_equal(waitpid(child, NULL, 0), child);
	assert_false(blob_is_held(store, "s/writing-1"));
	/* Several writers of one save hold it at once. */
	assert_int_equal(blob_hold(store, "s/writing-1", &h, &err), 0);
	assert_true(blob_is_held(store, "s/writing-1"));
	blob_release(h, true);
	assert_false(blob_is_held(store, "s/writing-1"));
	assert_int_equal(blob_remove(store, "s/writing-1", &err), -ENOENT);
	(void)close(pipes[0]);
	(void)close(pipes[1]);
}

static void a_directory_that_vanished_is_named(void **state)
{
	struct blob_writer *w;
	char path[64];

	(void)state;
	(void)snprintf(path, sizeof(path), "%s/a/b", dir);
	assert_int_equal(rmdir(path), 0);
	assert_int_equal(blob_create(store, "s/f", 10, &w, &err), -ENOENT);
	assert_non_null(strstr(err.text, path));
	assert_int_equal(blob_put(store, "f", NULL, "x", 1, 0, &err), -ENOENT);
	assert_non_null(strstr(err.text, path));
}

static void what_cannot_be_a_store_is_refused(void **state)
{
	struct blob_store *s;

	(void)state;
	assert_int_equal(blob_open("/dev/null/x", true, 8, &s, &err), -ENOTDIR);
	assert_int_equal(blob_open("/nowhere/x", false, 8, &s, &err), -ENOENT);
	assert_non_null(strstr(err.text, "'/nowhere/x'"));
	assert_int_equal(blob_open("ftp://x/y", true, 8, &s, &err), -ENOTSUP);
	assert_int_equal(blob_open("", true, 8, &s, &err), -EINVAL);
	assert_int_equal(blob_open("file://host/x", true, 8, &s, &err),
			 -EINVAL);
	assert_non_null(strstr(err.text, "three slashes"));
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(large_files_have_what_was_written_in_any_order),
		TEST(a_name_is_given_once),
		TEST(names_stay_in_the_store),
		TEST(an_exclusive_put_never_replaces),
		TEST(lists_have_the_files_below_a_prefix),
		TEST(a_hold_ends_with_its_process),
		TEST(a_directory_that_vanished_is_named),
		TEST(what_cannot_be_a_store_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
