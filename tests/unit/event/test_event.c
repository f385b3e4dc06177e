/* test_event.c - the record that all tracers write.
 *
 * event_check() is the gate for every byte that comes from a journal or from
 * another process, so most of this file tries to get something past it.  Each
 * record under test ends at the end of its own allocation: a read behind it
 * is found by the address sanitizer. */
#include "event/event.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "base/cleanup.h"

/* A sound OPEN record of `path` and `path2`, malloc()ed to its exact size. */
static struct event *record(const char *path, const char *path2)
{
	size_t len = strlen(path);
	size_t len2 = strlen(path2);
	struct event *ev = malloc(event_size(len, len2));

	assert_non_null(ev);
	memset(ev, 0xee, event_size(len, len2));
	*ev = (struct event){ .kind = EVENT_OPEN,
			      .ftype = EVENT_FTYPE_REGULAR,
			      .flags = EVENT_READ,
			      .pid = 42 };
	event_set_paths(ev, path, len, path2, len2);
	return ev;
}

static int64_t check(const struct event *ev)
{
	return event_check(ev, ev->size);
}

static void sizes_are_multiples_of_eight(void **state)
{
	(void)state;
	assert_int_equal(event_size(0, 0), EVENT_SIZE_MIN);
	for (size_t len = 0; len < 100; len++) {
		uint32_t size = event_size(len, 3);

		assert_int_equal(size % 8, 0);
		assert_in_range(size, EVENT_HEADER + len + 3 + 2,
				EVENT_HEADER + len + 3 + 2 + 7);
	}
	assert_int_equal(event_size(EVENT_PATH_MAX, EVENT_PATH_MAX),
			 EVENT_SIZE_MAX);
}

static void both_paths_come_back(void **state)
{
	static const char *const names[] = { "", "/", "/a/b", "/a/long/name" };

	(void)state;
	for (size_t i = 0; i < 16; i++) {
		const char *path = names[i / 4];
		const char *path2 = names[i % 4];
		CLEANUP(freep) struct event *ev = record(path, path2);

		assert_int_equal(check(ev), ev->size);
		assert_string_equal(event_path(ev), path);
		assert_string_equal(event_path2(ev), path2);
		assert_int_equal(ev->path_len, strlen(path));
		assert_int_equal(ev->path2_len, strlen(path2));
	}
}

/* A journal is compared and copied as bytes; no old memory may shine through. */
static void padding_is_zero(void **state)
{
	CLEANUP(freep) struct event *ev = record("/abc", "");
	const char *end = (const char *)ev + ev->size;
	const char *p = event_path2(ev);

	(void)state;
	while (p < end)
		assert_int_equal(*p++, 0);
}

static void set_paths_copies_only_the_given_length(void **state)
{
	CLEANUP(freep) struct event *ev = malloc(event_size(4, 2));

	(void)state;
	*ev = (struct event){ .kind = EVENT_RENAME };
	event_set_paths(ev, "/abcdef", 4, "/xyz", 2);
	assert_string_equal(event_path(ev), "/abc");
	assert_string_equal(event_path2(ev), "/x");
	assert_int_equal(check(ev), ev->size);
}

static void the_longest_paths_are_accepted(void **state)
{
	CLEANUP(freep) char *path = calloc(1, EVENT_PATH_MAX + 1);

	(void)state;
	memset(path, 'x', EVENT_PATH_MAX);
	CLEANUP(freep) struct event *ev = record(path, path);

	assert_int_equal(check(ev), EVENT_SIZE_MAX);
}

/* A record that is cut anywhere reads as the end of the data. */
static void a_torn_record_is_the_end(void **state)
{
	CLEANUP(freep) struct event *ev = record("/some/file", "/other");

	(void)state;
	for (size_t len = 0; len < ev->size; len++) {
		CLEANUP(freep) void *part = malloc(len ? len : 1);

		memcpy(part, ev, len);
		assert_int_equal(event_check(part, len), 0);
	}
}

static void zeros_are_the_end(void **state)
{
	static const uint64_t zeros[32];

	(void)state;
	assert_int_equal(event_check(zeros, sizeof(zeros)), 0);
	assert_int_equal(event_check(zeros, 0), 0);
	assert_int_equal(event_check(zeros, 3), 0);
}

static void a_record_without_its_size_is_the_end(void **state)
{
	CLEANUP(freep) struct event *ev = record("/file", "");
	size_t len = ev->size;

	(void)state;
	ev->size = 0;
	assert_int_equal(event_check(ev, len), 0);
}

static void impossible_sizes_are_refused(void **state)
{
	static const uint32_t sizes[] = {
		1,
		8,
		EVENT_HEADER,
		EVENT_SIZE_MIN - 1,
		81,
		EVENT_SIZE_MAX + 1,
		EVENT_SIZE_MAX + 8,
		0x80000000,
		UINT32_MAX,
		UINT32_MAX - 7,
	};
	CLEANUP(freep) struct event *ev = record("/file", "");

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		size_t len = event_size(5, 0);

		ev->size = sizes[i];
		assert_int_equal(event_check(ev, len), -EBADMSG);
	}
}

static void unknown_kinds_and_types_are_refused(void **state)
{
	CLEANUP(freep) struct event *ev = record("/file", "");
	int64_t sound = ev->size;

	(void)state;
	for (int kind = 0; kind < 256; kind++) {
		bool known = kind > 0 && kind < EVENT_KIND_END;

		ev->kind = (uint8_t)kind;
		assert_true(check(ev) == (known ? sound : -EBADMSG));
	}
	ev->kind = EVENT_OPEN;
	for (int type = 0; type < 256; type++) {
		bool known = type < EVENT_FTYPE_END;

		ev->ftype = (uint8_t)type;
		assert_true(check(ev) == (known ? sound : -EBADMSG));
	}
}

/* Lengths that contradict the size, also those whose sum wraps around. */
static void lengths_that_do_not_fit_are_refused(void **state)
{
	static const uint32_t lens[][2] = {
		{ 14, 0 },
		{ 0, 14 },
		{ 5, 9 },
		{ UINT32_MAX, 5 },
		{ 5, UINT32_MAX },
		{ UINT32_MAX, 1 },
		{ UINT32_MAX, 7 },
		{ 1u << 31, 1u << 31 },
		{ EVENT_PATH_MAX + 1, 0 },
	};
	CLEANUP(freep) struct event *ev = record("/file", "");

	(void)state;
	for (size_t i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
		ev->path_len = lens[i][0];
		ev->path2_len = lens[i][1];
		assert_int_equal(check(ev), -EBADMSG);
	}
}

static void strings_must_end_where_their_length_says(void **state)
{
	CLEANUP(freep) struct event *ev = record("/file", "/dir");

	(void)state;
	ev->paths[2] = '\0'; /* ends early */
	assert_int_equal(check(ev), -EBADMSG);
	ev->paths[2] = 'i';
	assert_int_equal(check(ev), ev->size);
	ev->paths[5] = 'x'; /* no NUL behind the first */
	assert_int_equal(check(ev), -EBADMSG);
	ev->paths[5] = '\0';
	ev->paths[10] = 'x'; /* no NUL behind the second */
	assert_int_equal(check(ev), -EBADMSG);
}

static void random_bytes_never_lead_outside(void **state)
{
	uint32_t rng = 2463534242;

	(void)state;
	for (int i = 0; i < 20000; i++) {
		size_t len = (rng >> 7) % 256;
		CLEANUP(freep) unsigned char *bytes = malloc(len ? len : 1);

		for (size_t k = 0; k < len; k++) {
			rng = rng * 1664525 + 1013904223;
			bytes[k] = (unsigned char)(rng >> 24);
		}
		/* A size that could be true gets past the first test. */
		if (len >= 4 && i % 2)
			memcpy(bytes, &(uint32_t){ (uint32_t)len & ~7u }, 4);
		rng = rng * 1664525 + 1013904223;
		assert_true(event_check(bytes, len) <= (int64_t)len);
	}
}

static void modes_map_to_types(void **state)
{
	(void)state;
	assert_int_equal(event_ftype_of(S_IFREG | 0644), EVENT_FTYPE_REGULAR);
	assert_int_equal(event_ftype_of(S_IFDIR), EVENT_FTYPE_DIRECTORY);
	assert_int_equal(event_ftype_of(S_IFLNK), EVENT_FTYPE_SYMLINK);
	assert_int_equal(event_ftype_of(S_IFIFO), EVENT_FTYPE_FIFO);
	assert_int_equal(event_ftype_of(S_IFSOCK), EVENT_FTYPE_SOCKET);
	assert_int_equal(event_ftype_of(S_IFCHR), EVENT_FTYPE_DEVICE);
	assert_int_equal(event_ftype_of(S_IFBLK), EVENT_FTYPE_DEVICE);
	assert_int_equal(event_ftype_of(0), EVENT_FTYPE_NONE);
}

static void every_kind_has_a_name_of_its_own(void **state)
{
	(void)state;
	for (unsigned a = 1; a < EVENT_KIND_END; a++) {
		assert_string_not_equal(event_kind_name(a), "?");
		for (unsigned b = 1; b < a; b++)
			assert_string_not_equal(event_kind_name(a),
						event_kind_name(b));
	}
	assert_string_equal(event_kind_name(EVENT_OPEN), "open");
	assert_string_equal(event_kind_name(0), "?");
	assert_string_equal(event_kind_name(EVENT_KIND_END), "?");
	assert_string_equal(event_kind_name(UINT32_MAX), "?");
}

static void every_gap_has_a_word_and_a_sentence(void **state)
{
	(void)state;
	for (unsigned a = EVENT_GAP_UNTRACED; a <= EVENT_GAP_NODE; a++) {
		assert_string_not_equal(event_gap_name(a), "unknown");
		assert_null(strchr(event_gap_name(a), ' '));
		assert_string_not_equal(event_gap_text(a), event_gap_text(0));
		for (unsigned b = 1; b < a; b++)
			assert_string_not_equal(event_gap_name(a),
						event_gap_name(b));
	}
	assert_string_equal(event_gap_name(0), "unknown");
	assert_string_equal(event_gap_name(9999), "unknown");
	assert_string_equal(event_gap_text(9999), event_gap_text(0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sizes_are_multiples_of_eight),
		cmocka_unit_test(both_paths_come_back),
		cmocka_unit_test(padding_is_zero),
		cmocka_unit_test(set_paths_copies_only_the_given_length),
		cmocka_unit_test(the_longest_paths_are_accepted),
		cmocka_unit_test(a_torn_record_is_the_end),
		cmocka_unit_test(zeros_are_the_end),
		cmocka_unit_test(a_record_without_its_size_is_the_end),
		cmocka_unit_test(impossible_sizes_are_refused),
		cmocka_unit_test(unknown_kinds_and_types_are_refused),
		cmocka_unit_test(lengths_that_do_not_fit_are_refused),
		cmocka_unit_test(strings_must_end_where_their_length_says),
		cmocka_unit_test(random_bytes_never_lead_outside),
		cmocka_unit_test(modes_map_to_types),
		cmocka_unit_test(every_kind_has_a_name_of_its_own),
		cmocka_unit_test(every_gap_has_a_word_and_a_sentence),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
