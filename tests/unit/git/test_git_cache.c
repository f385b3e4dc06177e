/* test_cache.c - the memory of looks, its file and its stamps. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/str.h"
#include "fixture.h"
#include "git/git_cache.h"

static void fill(struct git_cache *cache)
{
	struct stamp stamp = { 1, 2, 3, 4, 5 };

	*cache = (struct git_cache){
		.context = 42,
		.index = { 9, 8, 7, 6, 5 },
		.n_modified = 1,
		.n_untracked = 2,
		.dirty = TRI_YES,
		.ref = strdup("refs/heads/main"),
		.snapshot = strdup("abc"),
		.note = strdup(""),
	};
	assert_int_equal(git_watch_put(&cache->watches, ".", 1, &stamp), 0);
	stamp.ino = 0;
	assert_int_equal(git_watch_put(&cache->watches, "a\nb", 3, &stamp), 0);
	assert_int_equal(git_left_outs_add(&cache->left_out, ".env", 4,
					   GIT_REASON_CREDENTIALS),
			 0);
	cache->left_out.n = 3; /* two more that have no name here */
}

static void what_is_written_is_read(void **state)
{
	CLEANUP(git_cache_release) struct git_cache cache;
	CLEANUP(git_cache_release) struct git_cache back = { 0 };
	CLEANUP(str_release) struct str text = STR_INIT;

	(void)state;
	fill(&cache);
	assert_int_equal(git_cache_format(&cache, &text), 0);
	assert_int_equal(git_cache_parse(text.data, text.len, &back), 0);
	assert_int_equal(back.context, 42);
	assert_int_equal(back.dirty, TRI_YES);
	assert_true(stamp_equal(&back.index, &cache.index));
	assert_int_equal(back.n_modified, 1);
	assert_int_equal(back.n_untracked, 2);
	assert_int_equal(back.left_out.n, 3);
	assert_int_equal(back.left_out.n_items, 1);
	assert_string_equal(back.left_out.items[0].path, ".env");
	assert_int_equal(back.left_out.items[0].reason, GIT_REASON_CREDENTIALS);
	assert_string_equal(back.ref, "refs/heads/main");
	assert_null(back.commit);
	assert_string_equal(back.snapshot, "abc");
	assert_string_equal(back.note, "");
	assert_int_equal(back.watches.n_items, 2);
	assert_string_equal(back.watches.items[1].path, "a\nb");
	assert_true(git_watch_has(&back.watches, ".", 1));
	assert_false(git_watch_has(&back.watches, "a", 1));
}

static void every_damage_is_noticed(void **state)
{
	CLEANUP(git_cache_release) struct git_cache cache;
	CLEANUP(str_release) struct str text = STR_INIT;
	struct git_cache back;

	(void)state;
	fill(&cache);
	assert_int_equal(git_cache_format(&cache, &text), 0);
	for (size_t i = 0; i < text.len; i++) {
		assert_int_equal(git_cache_parse(text.data, i, &back),
				 -EBADMSG);
		text.data[i] ^= 0x10;
		assert_int_equal(git_cache_parse(text.data, text.len, &back),
				 -EBADMSG);
		text.data[i] ^= 0x10;
	}
	str_addc(&text, 'x');
	assert_int_equal(git_cache_parse(text.data, text.len, &back), -EBADMSG);
}

static void file_is_private(void **state)
{
	const struct fixture *f = *state;
	CLEANUP(git_cache_release) struct git_cache cache;
	struct git_cache back;
	struct stat st;

	assert_int_equal(git_cache_load(f->cache, &back), -ENOENT);
	fill(&cache);
	assert_int_equal(git_cache_save(f->cache, &cache), 0);
	assert_int_equal(stat(f->cache, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(git_cache_load(f->cache, &back), 0);
	git_cache_release(&back);
}

static void watches_hold_until_something_changes(void **state)
{
	static const atomic_bool go_on = false;
	const struct fixture *f = *state;
	CLEANUP(git_watches_release)
	struct git_watches watches = GIT_WATCHES_INIT;
	CLEANUP(closep) int fd = open(f->work, O_RDONLY | O_DIRECTORY);
	int64_t now_ns;

	assert_int_equal(git_watch_add(&watches, fd, ".", 1), 0);
	assert_int_equal(git_watch_add(&watches, fd, "a.py", 4), 0);
	assert_int_equal(git_watch_add(&watches, fd, "a.py", 4), 0);
	assert_int_equal(git_watch_add(&watches, fd, "none", 4), 0);
	assert_int_equal(watches.n_items, 3);
	assert_true(git_watches_hold(&watches, fd, &go_on));
	assert_true(git_watches_settled(&watches, clock_now_ns()));
	sh(f, "echo 1 > none");
	assert_false(git_watches_hold(&watches, fd, &go_on));

	now_ns = clock_now_ns();
	assert_int_equal(git_watch_add(&watches, fd, "lib", 3), 0);
	sh(f, "echo 2 > new");
	assert_int_equal(git_watch_add(&watches, fd, "new", 3), 0);
	assert_false(git_watches_settled(&watches, now_ns));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_written_is_read),
		cmocka_unit_test(every_damage_is_noticed),
		cmocka_unit_test_setup_teardown(file_is_private, fixture_setup,
						fixture_teardown),
		cmocka_unit_test_setup_teardown(
			watches_hold_until_something_changes, fixture_setup,
			fixture_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
