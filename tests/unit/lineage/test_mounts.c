/* test_mounts.c - the same path, and another file */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "lineage/fold.h"

enum { DISK = 0x801, IMAGE = 0x700 };

/* One event; `ino` is that of the file before it, or 0. */
static void tell(struct fold *fold, enum event_kind kind, unsigned flags,
		 int32_t aux, struct stamp before, const char *path,
		 const char *path2)
{
	_Alignas(struct event) char buf[512];
	struct event *ev = (struct event *)buf;
	struct fold_change change;

	memset(ev, 0, sizeof(*ev));
	ev->kind = (uint8_t)kind;
	ev->flags = (uint16_t)flags;
	ev->aux = aux;
	ev->before = before;
	ev->ftype = before.ino ? EVENT_FTYPE_REGULAR : EVENT_FTYPE_NONE;
	event_set_paths(ev, path, strlen(path), path2, strlen(path2));
	assert_int_equal(fold_add(fold, ev, &change), 0);
}

static struct stamp file(uint64_t ino)
{
	return (struct stamp){ .dev = DISK, .ino = ino, .size = 1 };
}

static void create(struct fold *fold, const char *path)
{
	tell(fold, EVENT_OPEN, EVENT_WRITE | EVENT_CREATE, 0,
	     (struct stamp){ 0 }, path, "");
}

static void take(struct fold *fold, const char *path, uint64_t ino)
{
	tell(fold, EVENT_OPEN, EVENT_READ, 0, file(ino), path, "");
}

static void mounted(struct fold *fold, enum event_mount how, uint64_t dev,
		    const char *path, const char *path2)
{
	tell(fold, EVENT_MOUNT, 0, how, (struct stamp){ .dev = dev }, path,
	     path2);
}

static void unmounted(struct fold *fold, const char *path)
{
	tell(fold, EVENT_UNMOUNT, 0, 0, (struct stamp){ 0 }, path, "");
}

static int new_fold(void **state)
{
	return fold_new((struct fold **)state);
}

static int end_fold(void **state)
{
	fold_free(*state);
	return 0;
}

static void what_was_covered_is_seen_again(void **state)
{
	struct fold *fold = *state;
	struct lineage_file *below, *above;
	struct stamp none = { 0 };

	create(fold, "/d/a");
	below = fold_find(fold, "/d/a");
	mounted(fold, EVENT_MOUNT_NEW, 0, "/d", "");
	assert_null(fold_find(fold, "/d/a"));
	assert_int_equal(fold_sight(fold, below), FOLD_COVERED);
	create(fold, "/d/a");
	above = fold_find(fold, "/d/a");
	assert_ptr_not_equal(above, below);
	assert_int_equal(fold_sight(fold, above), FOLD_SHOWN);
	unmounted(fold, "/d");
	assert_ptr_equal(fold_find(fold, "/d/a"), below);
	assert_int_equal(fold_sight(fold, above), FOLD_UNMOUNTED);
	assert_int_equal(lineage_roles(above, &none), LINEAGE_TEMPORARY);
	/* A neighbour whose name only begins alike was never covered. */
	create(fold, "/dd");
	assert_non_null(fold_find(fold, "/dd"));
}

static void a_bind_mount_is_another_name(void **state)
{
	struct fold *fold = *state;
	size_t n;

	mounted(fold, EVENT_MOUNT_ALIAS, DISK, "/e", "/d");
	take(fold, "/e/in", 7);
	create(fold, "/e/out");
	mounted(fold, EVENT_MOUNT_ALIAS, DISK, "/f", "/e/sub");
	tell(fold, EVENT_RENAME, 0, 0, file(8), "/f/x", "/f/y");
	unmounted(fold, "/f");
	unmounted(fold, "/e");
	assert_true(fold_find(fold, "/d/in")->seen & LINEAGE_READ_PRIOR);
	assert_true(fold_find(fold, "/d/out")->own);
	assert_true(fold_find(fold, "/d/sub/y")->own);
	assert_null(fold_find(fold, "/e/out"));
	(void)fold_gaps(fold, &n);
	assert_int_equal(n, 0);
}

static void a_moved_mount_takes_its_names_along(void **state)
{
	struct fold *fold = *state;

	mounted(fold, EVENT_MOUNT_NEW, 0, "/d", "");
	create(fold, "/d/a");
	mounted(fold, EVENT_MOUNT_MOVED, 0, "/e", "/d");
	unmounted(fold, "/d");
	take(fold, "/e/a", 7);
	assert_true(fold_find(fold, "/e/a")->seen & LINEAGE_READ_OWN);
	assert_null(fold_find(fold, "/d/a"));
}

static void what_an_overlay_got_is_in_its_upper_directory(void **state)
{
	struct fold *fold = *state;

	mounted(fold, EVENT_MOUNT_OVERLAY, 0, "/m", "/upper");
	take(fold, "/m/in", 7);
	create(fold, "/m/out");
	unmounted(fold, "/m");
	assert_true(fold_find(fold, "/upper/out")->own);
	assert_null(fold_find(fold, "/upper/in"));
}

static void a_mount_from_before_the_run_takes_its_files_along(void **state)
{
	struct fold *fold = *state;
	struct lineage_file *f;

	create(fold, "/mnt/a");
	f = fold_find(fold, "/mnt/a");
	unmounted(fold, "/mnt");
	assert_int_equal(fold_sight(fold, f), FOLD_UNMOUNTED);
	assert_null(fold_find(fold, "/mnt/a"));
}

static void a_device_that_is_mounted_again_is_a_gap(void **state)
{
	struct fold *fold = *state;
	const struct lineage_gap *gaps;
	size_t n;

	for (int i = 0; i < 2; i++) {
		(void)fold_gaps(fold, &n);
		assert_int_equal(n, 0);
		mounted(fold, EVENT_MOUNT_NEW, IMAGE, "/mnt", "");
		create(fold, "/mnt/a");
		unmounted(fold, "/mnt");
	}
	gaps = fold_gaps(fold, &n);
	assert_int_equal(n, 1);
	assert_int_equal(gaps[0].code, EVENT_GAP_NAMESPACE);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, new_fold, end_fold)
	const struct CMUnitTest tests[] = {
		T(what_was_covered_is_seen_again),
		T(a_bind_mount_is_another_name),
		T(a_moved_mount_takes_its_names_along),
		T(what_an_overlay_got_is_in_its_upper_directory),
		T(a_mount_from_before_the_run_takes_its_files_along),
		T(a_device_that_is_mounted_again_is_a_gap),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
