/* test_index.c - index files, sound and broken. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "fixture.h"
#include "git/git_index.h"
#include "git/git_repo.h"

#define INDEX_TEST(name) \
	cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

static struct str read_index(const struct fixture *f)
{
	struct str out = STR_INIT;

	assert_int_equal(git_read_file(f->work, ".git/index", 1 << 20, &out),
			 0);
	return out;
}

/* All paths with mode, one a line, as `git ls-files -s` would order them. */
static int list(const struct str *data, size_t len, struct str *out)
{
	struct git_index index = { 0 };
	struct git_index_entry entry;
	int r;

	r = git_index_init(&index, data->data, len, 20);
	if (r == 0) {
		while ((r = git_index_next(&index, &entry)) > 0)
			str_addf(out, "%06o %u %s\n", entry.mode, entry.stage,
				 entry.path);
		if (r == 0)
			r = git_index_has_extension(&index, "link");
	}
	git_index_release(&index);
	return r;
}

static void assert_listed(const struct fixture *f)
{
	CLEANUP(str_release) struct str data = read_index(f);
	CLEANUP(str_release) struct str out = STR_INIT;
	CLEANUP(freep) char *expected = NULL;

	expected = sh_out(f, "git -c core.quotePath=false ls-files -s |"
			     " sed 's/\\(^[0-9]*\\) [0-9a-f]* \\(.\\)\\t/"
			     "\\1 \\2 /'");
	assert_int_equal(list(&data, data.len, &out), 0);
	out.data[--out.len] = '\0'; /* the last newline */
	assert_string_equal(out.data, expected);
}

static void all_versions_are_read(void **state)
{
	const struct fixture *f = *state;

	sh(f, "mkdir -p d/e; for i in $(seq 30); do echo $i > d/e/file$i;"
	      "echo $i > d/f$i; done; chmod +x d/f1; ln -s x d/link;"
	      "mkdir -p $(printf 'l%%0100d/' 1 2 3);"
	      "echo > $(printf 'l%%0100d/' 1 2 3)end; git add .");
	for (int version = 2; version <= 4; version++) {
		sh(f, "git update-index --index-version %d", version);
		assert_listed(f);
	}
	sh(f, "echo i > ita; git add -N ita"); /* extended flags */
	for (int version = 3; version <= 4; version++) {
		sh(f, "git update-index --index-version %d", version);
		assert_listed(f);
	}
}

static void flags_are_told(void **state)
{
	const struct fixture *f = *state;
	struct git_index index;
	struct git_index_entry entry;
	CLEANUP(str_release) struct str data = STR_INIT;

	sh(f, "git update-index --assume-unchanged .gitignore;"
	      "git update-index --skip-worktree a.py;"
	      "echo > z; git add -N z");
	data = read_index(f);
	assert_int_equal(git_index_init(&index, data.data, data.len, 20), 0);
	assert_int_equal(git_index_next(&index, &entry), 1);
	assert_true(entry.assume_valid && !entry.skip_worktree);
	assert_int_equal(git_index_next(&index, &entry), 1);
	assert_true(entry.skip_worktree && !entry.assume_valid);
	assert_int_equal(git_index_next(&index, &entry), 1);
	assert_false(entry.skip_worktree || entry.intent_to_add);
	assert_int_equal(git_index_next(&index, &entry), 1);
	assert_true(entry.intent_to_add);
	assert_int_equal(git_index_next(&index, &entry), 0);
	git_index_release(&index);
}

static void entry_matches_its_file_until_that_changes(void **state)
{
	const struct fixture *f = *state;
	CLEANUP(str_release) struct str data = read_index(f);
	struct git_index index;
	struct git_index_entry entry;
	struct stat st;
	char path[128];

	assert_int_equal(git_index_init(&index, data.data, data.len, 20), 0);
	assert_int_equal(git_index_next(&index, &entry), 1);
	assert_int_equal(git_index_next(&index, &entry), 1);
	assert_string_equal(entry.path, "a.py");
	(void)snprintf(path, sizeof(path), "%s/a.py", f->work);
	assert_int_equal(lstat(path, &st), 0);
	assert_true(git_index_entry_matches(&entry, &st, true));
	st.st_ctim.tv_nsec ^= 1;
	assert_false(git_index_entry_matches(&entry, &st, true));
	assert_true(git_index_entry_matches(&entry, &st, false));
	st.st_mode ^= 0100;
	assert_false(git_index_entry_matches(&entry, &st, false));
	st.st_mode ^= 0100;
	st.st_size++;
	assert_false(git_index_entry_matches(&entry, &st, false));
	git_index_release(&index);
}

/* Reads from a buffer of exact size, so that a sanitizer sees any overrun. */
static int list_exact(const struct str *data, size_t len)
{
	CLEANUP(str_release) struct str out = STR_INIT;
	struct str copy = { .data = malloc(len ? len : 1), .len = len };
	int r;

	assert_non_null(copy.data);
	memcpy(copy.data, data->data, len);
	r = list(&copy, len, &out);
	free(copy.data);
	return r;
}

static void truncated_index_is_refused_at_every_length(void **state)
{
	const struct fixture *f = *state;

	for (int version = 2; version <= 4; version += 2) {
		CLEANUP(str_release) struct str data = STR_INIT;

		sh(f, "git update-index --index-version %d", version);
		data = read_index(f);
		for (size_t len = 0; len < data.len; len++)
			assert_true(list_exact(&data, len) <= 0);
		/* Without its last entry's end nothing can be whole. */
		for (size_t len = 0; len < 200; len++)
			assert_int_equal(list_exact(&data, len), -EBADMSG);
	}
}

static void flipped_bits_do_no_harm(void **state)
{
	const struct fixture *f = *state;
	CLEANUP(str_release) struct str data = STR_INIT;

	sh(f, "git update-index --index-version 4");
	data = read_index(f);
	for (size_t i = 0; i < data.len * 8; i++) {
		data.data[i / 8] ^= (char)(1 << i % 8);
		(void)list_exact(&data, data.len);
		data.data[i / 8] ^= (char)(1 << i % 8);
	}
}

static void other_files_are_no_index(void **state)
{
	static const char *const bad[] = {
		"DIRC\0\0\0\1\0\0\0\0",
		"DIRC\0\0\0\5\0\0\0\0",
		"CRID\0\0\0\2\0\0\0\0",
		"DIRC\0\0\0\2\0\0\0\1",
	};
	char data[32] = { 0 };
	struct str text = { .data = data, .len = sizeof(data) };

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		memcpy(data, bad[i], 12);
		assert_int_equal(list_exact(&text, sizeof(data)), -EBADMSG);
	}
	memcpy(data, "DIRC\0\0\0\2\0\0\0\0", 12);
	assert_int_equal(list_exact(&text, sizeof(data)), 0);
}

static void split_index_is_not_taken_for_a_whole_one(void **state)
{
	const struct fixture *f = *state;
	CLEANUP(str_release) struct str data = STR_INIT;

	sh(f, "git update-index --split-index");
	data = read_index(f);
	/* Its entries may lack their names, which then stand elsewhere. */
	assert_int_not_equal(list_exact(&data, data.len), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		INDEX_TEST(all_versions_are_read),
		INDEX_TEST(flags_are_told),
		INDEX_TEST(entry_matches_its_file_until_that_changes),
		INDEX_TEST(truncated_index_is_refused_at_every_length),
		INDEX_TEST(flipped_bits_do_no_harm),
		cmocka_unit_test(other_files_are_no_index),
		INDEX_TEST(split_index_is_not_taken_for_a_whole_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
