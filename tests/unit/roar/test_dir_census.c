/* test_dir_census.c - which directories a run used as a whole. */
#include <errno.h>
#include <ftw.h>
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

#include "base/macros.h"
#include "run/dir_census.h"
#include "store/store_collection.h"

struct scene {
	char root[64];
	const char *place;
	struct dir_census *census;
	char said[4096];
};

static int setup(void **state)
{
	struct scene *s = calloc(1, sizeof(*s));

	*state = s;
	(void)strcpy(s->root, "/tmp/test-census.XXXXXX");
	if (!mkdtemp(s->root))
		return -1;
	s->place = s->root;
	return dir_census_new(&s->place, 1, &s->census);
}

static int remove_entry(const char *path, const struct stat *st, int type,
			struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

static int teardown(void **state)
{
	struct scene *s = *state;

	dir_census_free(s->census);
	(void)nftw(s->root, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
	free(s);
	return 0;
}

/* A file with the directories above it. */
static const char *make(struct scene *s, const char *name)
{
	static char path[512];
	FILE *f;

	(void)snprintf(path, sizeof(path), "%s/%s", s->root, name);
	for (char *slash = path + strlen(s->root) + 1;
	     (slash = strchr(slash, '/')); slash++) {
		*slash = '\0';
		assert_true(mkdir(path, 0755) == 0 || errno == EEXIST);
		*slash = '/';
	}
	f = fopen(path, "w");
	assert_non_null(f);
	(void)fclose(f);
	return path;
}

/* A file that is there, and that the run used. */
static void use(struct scene *s, const char *name, enum dir_side side)
{
	const char *path = make(s, name);

	assert_int_equal(dir_census_add(s->census, path, strlen(path), side),
			 0);
}

static void use_all(struct scene *s, const char *const *names, size_t n,
		    enum dir_side side)
{
	for (size_t i = 0; i < n; i++)
		use(s, names[i], side);
}

/* "read out directory 3; " for each directory. */
static void expect(struct scene *s, const char *expected)
{
	static const char *const sides[] = { "read", "written" };
	const struct dir_whole *found;
	size_t len = 0;
	size_t n;

	assert_int_equal(dir_census_take(s->census, &found, &n), 0);
	s->said[0] = '\0';
	for (size_t i = 0; i < n && len < sizeof(s->said); i++)
		len += (size_t)snprintf(s->said + len, sizeof(s->said) - len,
					"%s %s %s %llu; ", sides[found[i].side],
					found[i].path + strlen(s->root) + 1,
					collection_kind_name(found[i].kind),
					(unsigned long long)found[i].n_files);
	assert_string_equal(s->said, expected);
}

#define USE(s, side, ...)                                \
	use_all(s, (const char *const[]){ __VA_ARGS__ }, \
		ARRAY_SIZE(((const char *const[]){ __VA_ARGS__ })), side)

static void a_directory_is_whole_with_all_its_files(void **state)
{
	struct scene *s = *state;

	USE(s, DIR_WRITTEN, "out/a", "out/b", "out/deep/er/c");
	USE(s, DIR_READ, "in/x", "in/y", "in/z");
	expect(s, "read in directory 3; written out directory 3; ");
}

static void one_unknown_file_is_enough_to_make_it_none(void **state)
{
	struct scene *s = *state;

	USE(s, DIR_WRITTEN, "out/a", "out/b", "top/sub/a", "top/sub/b",
	    "top/c");
	(void)make(s, "out/stranger");
	(void)make(s, "top/other/stranger");
	expect(s, "written top/sub directory 2; ");
}

static void reading_one_part_and_writing_the_other_is_neither(void **state)
{
	struct scene *s = *state;

	USE(s, DIR_WRITTEN, "out/a");
	USE(s, DIR_READ, "out/b");
	expect(s, "");
}

static void a_file_that_is_gone_does_not_stand_for_another(void **state)
{
	struct scene *s = *state;
	char path[512];

	USE(s, DIR_READ, "in/x", "in/y");
	(void)snprintf(path, sizeof(path), "%s", make(s, "in/y"));
	assert_int_equal(unlink(path), 0);
	(void)make(s, "in/z");
	expect(s, "");
}

static void a_place_and_what_is_above_it_is_never_whole(void **state)
{
	struct scene *s = *state;

	USE(s, DIR_WRITTEN, "a", "b");
	expect(s, "");
}

static void one_file_is_no_set_and_empty_directories_do_not_count(void **state)
{
	struct scene *s = *state;
	char path[128];

	USE(s, DIR_WRITTEN, "single/a", "out/a", "out/b");
	(void)snprintf(path, sizeof(path), "%s/out/empty", s->root);
	assert_int_equal(mkdir(path, 0755), 0);
	expect(s, "written out directory 2; ");
}

static void special_files_are_not_part_of_a_set(void **state)
{
	struct scene *s = *state;
	char path[128];

	USE(s, DIR_WRITTEN, "out/a", "out/b");
	(void)snprintf(path, sizeof(path), "%s/out/fifo", s->root);
	assert_int_equal(mkfifo(path, 0600), 0);
	expect(s, "");
}

static void layouts_are_recognised_by_their_names(void **state)
{
	struct scene *s = *state;

	USE(s, DIR_READ, "wds/0.tar", "wds/1.tar.gz", "wds/sizes.json");
	USE(s, DIR_READ, "pq/k=1/a.parquet", "pq/k=2/b.parquet", "pq/_SUCCESS");
	USE(s, DIR_READ, "z/.zgroup", "z/x/.zarray", "z/x/0.0");
	USE(s, DIR_READ, "l.lance/_versions/1.manifest",
	    "l.lance/data/0.lance");
	USE(s, DIR_READ, "robot/meta/info.json",
	    "robot/data/chunk-000/episode_0.parquet");
	USE(s, DIR_READ, "step-000000000001/manifest.json",
	    "step-000000000001/data-0.safetensors");
	USE(s, DIR_READ, "one/0.tar", "one/readme");
	expect(s, "read l.lance lance 2; read one directory 2; "
		  "read pq parquet 3; read robot lerobot 2; "
		  "read step-000000000001 checkpoint 2; "
		  "read wds webdataset 3; read z zarr 3; ");
}

static void a_layout_is_reported_inside_of_a_plain_directory(void **state)
{
	struct scene *s = *state;

	USE(s, DIR_WRITTEN, "run/log", "run/step-000000000001/manifest.json",
	    "run/step-000000000001/data", "run/set/0.tar", "run/set/1.tar",
	    "run/plain/a", "run/plain/b");
	expect(s, "written run directory 7; written run/set webdataset 2; "
		  "written run/step-000000000001 checkpoint 2; ");
}

static void plain_directories_are_reported_up_to_a_number(void **state)
{
	struct scene *s = *state;
	const struct dir_whole *found;
	char name[64];
	size_t n;

	for (int i = 0; i < DIR_CENSUS_PLAIN_MAX + 10; i++) {
		(void)snprintf(name, sizeof(name), "top/%d/a", i);
		use(s, name, DIR_READ);
		(void)snprintf(name, sizeof(name), "top/%d/b", i);
		use(s, name, DIR_READ);
	}
	(void)make(s, "top/unread");
	assert_int_equal(dir_census_take(s->census, &found, &n), 0);
	assert_int_equal(n, DIR_CENSUS_PLAIN_MAX);
}

#define SCENE_TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		SCENE_TEST(a_directory_is_whole_with_all_its_files),
		SCENE_TEST(one_unknown_file_is_enough_to_make_it_none),
		SCENE_TEST(reading_one_part_and_writing_the_other_is_neither),
		SCENE_TEST(a_file_that_is_gone_does_not_stand_for_another),
		SCENE_TEST(a_place_and_what_is_above_it_is_never_whole),
		SCENE_TEST(
			one_file_is_no_set_and_empty_directories_do_not_count),
		SCENE_TEST(special_files_are_not_part_of_a_set),
		SCENE_TEST(layouts_are_recognised_by_their_names),
		SCENE_TEST(a_layout_is_reported_inside_of_a_plain_directory),
		SCENE_TEST(plain_directories_are_reported_up_to_a_number),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
