/* test_enclosure.c - nothing leaves the directory. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "hash/file/file_hash.h"
#include "reproduce/enclosure.h"

struct scene {
	char outside[64];
	char dir[80];
	int dirfd;
};

static int make(void **state)
{
	struct scene *s = calloc(1, sizeof(*s));

	assert_non_null(s);
	strcpy(s->outside, "/tmp/enclosure-XXXXXX");
	assert_non_null(mkdtemp(s->outside));
	(void)snprintf(s->dir, sizeof(s->dir), "%s/dir", s->outside);
	assert_int_equal(mkdir(s->dir, 0755), 0);
	s->dirfd = open(s->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(s->dirfd >= 0);
	*state = s;
	return 0;
}

static int discard(void **state)
{
	struct scene *s = *state;
	char command[128];

	(void)close(s->dirfd);
	(void)snprintf(command, sizeof(command), "rm -rf %s", s->outside);
	assert_int_equal(system(command), 0); /* NOLINT */
	free(s);
	return 0;
}

/* Copies "content" from a file outside to the place. */
static int copy(struct scene *s, const char *place, const char *promised)
{
	CLEANUP(closep) int parent = open(s->outside, O_RDONLY | O_CLOEXEC);
	CLEANUP(closep) int from = -1;
	struct digests d = { 0 };

	assert_int_equal(fd_replace_file(parent, "source", "content", 7, 0644),
			 0);
	from = openat(parent, "source", O_RDONLY | O_CLOEXEC);
	assert_true(from >= 0);
	assert_int_equal(digest_buffer(promised, strlen(promised),
				       DIGEST_SET_BLAKE3, &d),
			 0);
	return enclosure_copy(s->dirfd, place, from, 0640, d.blake3);
}

static bool exists_outside(struct scene *s, const char *name)
{
	char path[160];

	(void)snprintf(path, sizeof(path), "%s/%s", s->outside, name);
	return access(path, F_OK) == 0;
}

static void a_copy_is_verified_and_replaces_a_file(void **state)
{
	struct scene *s = *state;
	struct digests d, expected = { 0 };
	struct stat st;
	bool is_link;

	assert_int_equal(copy(s, "a/b/c", "content"), 0);
	assert_int_equal(copy(s, "a/b/c", "content"), 0);
	assert_int_equal(copy(s, "a/b/c", "other"), -ESTALE);
	assert_int_equal(
		digest_buffer("content", 7, DIGEST_SET_BLAKE3, &expected), 0);
	assert_int_equal(enclosure_hash(s->dirfd, "a/b/c", &d, &is_link), 0);
	assert_false(is_link);
	assert_memory_equal(d.blake3, expected.blake3, BLAKE3_LEN);
	assert_int_equal(fstatat(s->dirfd, "a/b/c", &st, 0), 0);
	assert_int_equal(st.st_mode & 0777, 0640);
	assert_int_equal(enclosure_remove(s->dirfd, "a/b/c"), 0);
	assert_int_equal(enclosure_remove(s->dirfd, "a/b/c"), 0);
	assert_int_equal(enclosure_remove(s->dirfd, "none/c"), 0);
	assert_int_equal(enclosure_hash(s->dirfd, "a/b/c", &d, NULL), -ENOENT);
}

static void names_that_lead_out_are_refused(void **state)
{
	const char *const bad[] = { "../x", "a/../../x", "/tmp/x", "",	  "..",
				    "a//x", "a/./x",	 ".",	   "a/.." };
	struct scene *s = *state;

	assert_int_equal(mkdirat(s->dirfd, "a", 0755), 0);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(copy(s, bad[i], "content"), -EINVAL);
		assert_int_equal(enclosure_remove(s->dirfd, bad[i]), -EINVAL);
		assert_int_equal(enclosure_open_file(s->dirfd, bad[i]),
				 -EINVAL);
	}
	assert_false(exists_outside(s, "x"));
}

static void links_are_not_followed(void **state)
{
	struct scene *s = *state;
	struct digests d, expected = { 0 };
	struct stat st;
	bool is_link;

	assert_int_equal(symlinkat("..", s->dirfd, "out"), 0);
	assert_int_equal(symlinkat("../victim", s->dirfd, "file"), 0);
	assert_int_equal(copy(s, "victim", "content"), 0);
	assert_int_equal(copy(s, "out/x", "content"), -ELOOP);
	assert_int_equal(enclosure_make_parents(s->dirfd, "out/y/x"), -ELOOP);
	assert_int_equal(enclosure_remove(s->dirfd, "out/source"), -ELOOP);
	assert_int_equal(enclosure_open_file(s->dirfd, "file"), -ELOOP);
	/* A link is hashed as its text, and replaced, not written through. */
	assert_int_equal(
		digest_buffer("../victim", 9, DIGEST_SET_BLAKE3, &expected), 0);
	assert_int_equal(enclosure_hash(s->dirfd, "file", &d, &is_link), 0);
	assert_true(is_link);
	assert_memory_equal(d.blake3, expected.blake3, BLAKE3_LEN);
	assert_int_equal(copy(s, "file", "content"), 0);
	assert_int_equal(fstatat(s->dirfd, "file", &st, AT_SYMLINK_NOFOLLOW),
			 0);
	assert_true(S_ISREG(st.st_mode));
	assert_false(exists_outside(s, "victim"));
	assert_false(exists_outside(s, "x"));
	assert_true(exists_outside(s, "source"));
}

static void what_is_no_file_is_not_opened(void **state)
{
	struct scene *s = *state;

	assert_int_equal(mkfifoat(s->dirfd, "pipe", 0644), 0);
	assert_int_equal(enclosure_open_file(s->dirfd, "pipe"), -EINVAL);
	assert_int_equal(mkdirat(s->dirfd, "dir", 0755), 0);
	assert_int_equal(enclosure_open_file(s->dirfd, "dir"), -EINVAL);
}

#define SCENE_TEST(f) cmocka_unit_test_setup_teardown(f, make, discard)

int main(void)
{
	const struct CMUnitTest tests[] = {
		SCENE_TEST(a_copy_is_verified_and_replaces_a_file),
		SCENE_TEST(names_that_lead_out_are_refused),
		SCENE_TEST(links_are_not_followed),
		SCENE_TEST(what_is_no_file_is_not_opened),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
