/* test_wal.c - the log on disk: what was acknowledged is there, the rest is cut or named */
#include "wal_helpers.h"

#include <poll.h>
#include <sys/mount.h>

static void a_new_directory_replays_nothing(void **state)
{
	struct scene *s = *state;
	CLEANUP(wal_closep) struct wal *w = NULL;
	struct stat st;

	strcat(s->dir, "/made");
	w = open_seeing(s, "");
	assert_int_equal(wal_durable(w), 0);
	assert_int_equal(stat(s->dir, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0700);
	assert_int_equal(stat(in_scene(s, LOG_1), &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	wal_close(TAKE_PTR(w));
	assert_int_equal(unlink(in_scene(s, LOG_1)), 0);
	assert_int_equal(unlink(in_scene(s, "lock")), 0);
	assert_int_equal(rmdir(s->dir), 0);
	*strrchr(s->dir, '/') = '\0';
}

static void records_come_back_in_order(void **state)
{
	struct scene *s = *state;
	struct wal *w = open_seeing(s, "");

	assert_int_equal(append(w, "one"), 1);
	assert_int_equal(append(w, "twotwotwo"), 2);
	wal_close(w); /* waits for them */
	w = open_seeing(s, "one\ntwotwotwo\n");
	assert_int_equal(append(w, "three"), 3);
	wal_close(w);
	w = open_seeing(s, "one\ntwotwotwo\nthree\n");
	assert_int_equal(wal_durable(w), 3);
	wal_close(w);
}

static void the_event_tells_of_commits(void **state)
{
	struct scene *s = *state;
	CLEANUP(wal_closep) struct wal *w = open_seeing(s, "");
	struct pollfd p = { .fd = wal_event_fd(w), .events = POLLIN };
	struct wal_counts counts;
	uint64_t seq = append(w, "x");

	assert_int_equal(poll(&p, 1, 20), 0); /* nobody said to begin */
	assert_int_equal(wal_durable(w), 0);
	wal_commit(w);
	assert_int_equal(poll(&p, 1, 10000), 1);
	assert_int_equal(wal_durable(w), seq);
	assert_int_equal(wal_acknowledge(w), 0);
	assert_int_equal(poll(&p, 1, 0), 0);
	wal_count(w, &counts);
	assert_int_equal(counts.records, 1);
	assert_int_equal(counts.log_bytes, 32);
}

static void records_handed_in_together_are_one_commit(void **state)
{
	struct scene *s = *state;
	CLEANUP(wal_closep) struct wal *w = open_seeing(s, "");
	struct wal_counts counts;

	WRITE(w, "a", "b", "c", "d");
	SNAPSHOT(s, w, "abcd"); /* the writer is idle after that */
	wal_count(w, &counts);
	assert_int_equal(counts.commits, 1);
	assert_int_equal(counts.records, 4);
}

static void sizes_have_bounds(void **state)
{
	struct scene *s = *state;
	CLEANUP(wal_closep) struct wal *w = open_seeing(s, "");
	uint64_t seq = 77;

	assert_int_equal(wal_append(w, "", 0, &seq), -EMSGSIZE);
	assert_int_equal(wal_append(w, "", WAL_MAX_RECORD + 1, &seq),
			 -EMSGSIZE);
	assert_int_equal(seq, 77);
}

static int count_bytes(void *data, const void *payload, size_t len)
{
	*(size_t *)data += len;
	return payload ? 0 : -1;
}

static void records_of_any_size_come_back(void **state)
{
	struct scene *s = *state;
	CLEANUP(freep) char *large = calloc(1, 5 << 20);
	CLEANUP(wal_closep) struct wal *w = open_seeing(s, "");
	size_t total = 0;
	size_t again = 0;
	uint64_t seq;

	for (size_t len = 1; len <= 5 << 20; len = len * 3 + 1) {
		assert_int_equal(wal_append(w, large, len, &seq), 0);
		total += len;
	}
	wal_close(TAKE_PTR(w));
	assert_int_equal(wal_open(s->dir, count_bytes, &again, &w, &s->err), 0);
	assert_int_equal(again, total);
}

static void a_second_server_is_refused(void **state)
{
	struct scene *s = *state;
	CLEANUP(wal_closep) struct wal *w = open_seeing(s, "");
	struct wal *other = NULL;

	assert_int_equal(scene_open(s, &other), -EBUSY);
	assert_non_null(strstr(s->err.text, s->dir));
	assert_null(other);
	wal_close(TAKE_PTR(w));
	w = open_seeing(s, "");
}

static void other_files_are_left_alone(void **state)
{
	struct scene *s = *state;
	static const char *const strangers[] = {
		"notes.txt",
		"log-1",
		"log-000000000000000G",
		"snapshot-0000000000000000",
		"log-0000000000000001~",
		"LOG-0000000000000001",
	};
	CLEANUP(wal_closep) struct wal *w = NULL;

	for (size_t i = 0; i < 6; i++)
		store(s, strangers[i], "junk", 4);
	w = open_seeing(s, "");
	WRITE(w, "a");
	SNAPSHOT(s, w, "A");
	for (size_t i = 0; i < 6; i++)
		assert_true(is_there(s, strangers[i]));
}

static void unfinished_files_are_removed(void **state)
{
	struct scene *s = *state;
	CLEANUP(wal_closep) struct wal *w = NULL;

	store(s, "log-0000000000000009.new", "x", 1);
	store(s, "snapshot-0000000000000009.new", "x", 1);
	w = open_seeing(s, "");
	assert_false(is_there(s, "log-0000000000000009.new"));
	assert_false(is_there(s, "snapshot-0000000000000009.new"));
}

static void what_is_no_plain_file_is_refused(void **state)
{
	struct scene *s = *state;
	struct wal *w = NULL;

	assert_int_equal(mkfifo(in_scene(s, LOG_1), 0600), 0);
	assert_int_equal(scene_open(s, &w), -EBADMSG);
	assert_int_equal(unlink(in_scene(s, LOG_1)), 0);
	assert_int_equal(symlink("/etc/passwd", in_scene(s, LOG_1)), 0);
	assert_true(scene_open(s, &w) < 0);
	assert_non_null(strstr(s->err.text, LOG_1));
}

/* Three records in three writes, then the last one is cut off at every byte, with the
 * preallocated zeros behind it and without. */
static void a_torn_tail_is_cut_at_every_byte(void **state)
{
	struct scene *s = *state;
	CLEANUP(str_release) struct str file = STR_INIT;
	CLEANUP(freep) char *torn = NULL;
	struct wal *w = open_seeing(s, "");
	size_t last = FIRST + 2 * (HEAD + 8);
	size_t end = last + HEAD + 16;

	WRITE(w, "one");
	WRITE(w, "two");
	WRITE(w, "the last");
	wal_close(w);
	load(s, LOG_1, &file);
	torn = malloc(file.len);
	for (size_t cut = last; cut < last + HEAD + 8; cut++) {
		memcpy(torn, file.data, file.len);
		memset(torn + cut, 0, file.len - cut);
		store(s, LOG_1, torn, cut % 2 ? cut : file.len);
		w = open_seeing(s, "one\ntwo\n");
		assert_int_equal(append(w, "new"), 3);
		wal_close(w);
		wal_close(open_seeing(s, "one\ntwo\nnew\n"));
	}
	store(s, LOG_1, file.data, end); /* whole again */
	wal_close(open_seeing(s, "one\ntwo\nthe last\n"));
}

static void what_a_torn_write_left_is_not_found_later(void **state)
{
	struct scene *s = *state;
	CLEANUP(str_release) struct str file = STR_INIT;
	struct wal *w = open_seeing(s, "");

	WRITE(w, "one");
	WRITE(w, "two", "three"); /* one write, of which only the end arrived */
	wal_close(w);
	load(s, LOG_1, &file);
	memset(file.data + FIRST + HEAD + 8, 0, HEAD + 8);
	store(s, LOG_1, file.data, file.len);
	w = open_seeing(s, "one\n");
	WRITE(w, "TWO");
	wal_close(w);
	wal_close(open_seeing(s, "one\nTWO\n"));
}

/* Every bit of the log but those of the last write, and of the zeros that fill up. */
static void a_flipped_bit_is_told_with_file_and_place(void **state)
{
	struct scene *s = *state;
	CLEANUP(str_release) struct str file = STR_INIT;
	struct wal *w = open_seeing(s, "");
	char place[32];
	size_t bad = FIRST;

	WRITE(w, "one-....");
	WRITE(w, "two-....");
	WRITE(w, "three-..");
	wal_close(w);
	load(s, LOG_1, &file);
	for (size_t at = 0; at < FIRST + 2 * (HEAD + 8); at++) {
		file.data[at] = (char)(file.data[at] ^ 1 << at % 8);
		store(s, LOG_1, file.data, file.len);
		assert_int_equal(scene_open(s, &w), -EBADMSG);
		assert_non_null(strstr(s->err.text, LOG_1));
		if (at == FIRST + HEAD + 8)
			bad = at;
		(void)snprintf(place, sizeof(place), "at byte %zu:", bad);
		if (at >= FIRST)
			assert_non_null(strstr(s->err.text, place));
		file.data[at] = (char)(file.data[at] ^ 1 << at % 8);
	}
	store(s, LOG_1, file.data, file.len);
	wal_close(open_seeing(s, "one-....\ntwo-....\nthree-..\n"));
}

static void a_page_of_zeros_in_the_middle_is_damage(void **state)
{
	struct scene *s = *state;
	CLEANUP(str_release) struct str file = STR_INIT;
	struct wal *w = open_seeing(s, "");

	for (int i = 0; i < 300; i++)
		WRITE(w, "a record of some length, to fill pages");
	wal_close(w);
	load(s, LOG_1, &file);
	memset(file.data + 4096, 0, 4096);
	store(s, LOG_1, file.data, file.len);
	assert_int_equal(scene_open(s, &w), -EBADMSG);
	load(s, LOG_1, &file);
	assert_int_equal(file.data[8192 + 5000] != 0, 1); /* nothing was cut */
}

static void a_record_inside_a_value_is_none(void **state)
{
	struct scene *s = *state;
	CLEANUP(str_release) struct str file = STR_INIT;
	struct wal *w = open_seeing(s, "");
	char evil[HEAD + 8];

	/* A whole record with number 3 as another log would have it. */
	WRITE(w, "one");
	WRITE(w, "two");
	WRITE(w, "three");
	wal_close(w);
	load(s, LOG_1, &file);
	memcpy(evil, file.data + FIRST + 2 * (HEAD + 8), sizeof(evil));
	assert_int_equal(unlink(in_scene(s, LOG_1)), 0);

	w = open_seeing(s, "");
	str_clear(&file);
	str_addf(&file, "12345678901234567890123456789012"); /* distance */
	str_add(&file, evil, sizeof(evil));
	str_addf(&file, "tail");
	{
		uint64_t seq;

		assert_int_equal(wal_append(w, file.data, file.len, &seq), 0);
	}
	wal_close(w);
	load(s, LOG_1, &file);
	file.data[FIRST + HEAD] ^= 1; /* its record is torn */
	store(s, LOG_1, file.data, file.len);
	wal_close(open_seeing(s, ""));
}

static void a_snapshot_stands_for_the_records_before(void **state)
{
	struct scene *s = *state;
	struct wal *w = open_seeing(s, "");

	WRITE(w, "one", "two");
	(void)append(w, "three"); /* handed in, on its way */
	SNAPSHOT(s, w, "ONE", "TWO", "THREE");
	assert_false(is_there(s, LOG_1));
	assert_true(is_there(s, "snapshot-0000000000000004"));
	assert_true(is_there(s, "log-0000000000000004"));
	assert_int_equal(append(w, "four"), 4);
	wal_close(w);
	w = open_seeing(s, "ONE\nTWO\nTHREE\nfour\n");
	SNAPSHOT(s, w, "ALL");
	SNAPSHOT(s, w, "again"); /* nothing new: nothing done */
	wal_close(w);
	wal_close(open_seeing(s, "ALL\n"));
	assert_false(is_there(s, "snapshot-0000000000000004"));
}

static int walk_failing(void *data,
			int (*each)(void *to, const void *payload, size_t len),
			void *to)
{
	(void)each(to, "half", 4);
	return *(int *)data;
}

static void a_failed_snapshot_changes_nothing(void **state)
{
	struct scene *s = *state;
	struct wal *w = open_seeing(s, "");
	int why = -ENOMEM;

	WRITE(w, "one");
	assert_int_equal(wal_snapshot(w, walk_failing, &why, &s->err), -ENOMEM);
	WRITE(w, "two");
	wal_close(w);
	wal_close(open_seeing(s, "one\ntwo\n"));
	assert_false(is_there(s, "snapshot-0000000000000002.new"));
}

static void a_damaged_snapshot_is_told(void **state)
{
	struct scene *s = *state;
	const char *name = "snapshot-0000000000000002";
	CLEANUP(str_release) struct str file = STR_INIT;
	struct wal *w = open_seeing(s, "");

	WRITE(w, "one");
	SNAPSHOT(s, w, "payload1", "payload2");
	wal_close(w);
	load(s, name, &file);
	for (size_t at = 0; at < file.len; at++) {
		file.data[at] = (char)(file.data[at] ^ 0x10);
		store(s, name, file.data, file.len);
		assert_int_equal(scene_open(s, &w), -EBADMSG);
		assert_non_null(strstr(s->err.text, name));
		file.data[at] = (char)(file.data[at] ^ 0x10);
	}
	for (size_t len = 0; len < file.len; len++) {
		store(s, name, file.data, len);
		assert_int_equal(scene_open(s, &w), -EBADMSG);
	}
	store(s, name, file.data, file.len);
	wal_close(open_seeing(s, "payload1\npayload2\n"));
}

/* The machine died before the old files were removed; then the snapshot went bad. */
static void an_older_way_to_the_state_is_taken(void **state)
{
	struct scene *s = *state;
	CLEANUP(str_release) struct str old = STR_INIT;
	CLEANUP(str_release) struct str bad = STR_INIT;
	struct wal *w = open_seeing(s, "");

	WRITE(w, "one");
	wal_close(w);
	load(s, LOG_1, &old);
	w = open_seeing(s, "one\n");
	SNAPSHOT(s, w, "ONE");
	WRITE(w, "two");
	wal_close(w);
	store(s, LOG_1, old.data, old.len);
	wal_close(open_seeing(s, "ONE\ntwo\n"));
	assert_false(is_there(s, LOG_1));

	load(s, "snapshot-0000000000000002", &bad);
	bad.data[bad.len - 1] ^= 1;
	store(s, "snapshot-0000000000000002", bad.data, bad.len);
	store(s, LOG_1, old.data, old.len);
	wal_close(open_seeing(s, "one\ntwo\n"));
	assert_string_equal(s->err.text, "");
	store(s, LOG_1, old.data, FIRST); /* the record is not in it */
	assert_int_equal(scene_open(s, &w), -EBADMSG);
}

static void a_missing_log_is_told(void **state)
{
	struct scene *s = *state;
	struct wal *w = open_seeing(s, "");

	WRITE(w, "one");
	SNAPSHOT(s, w, "ONE");
	wal_close(w);
	assert_int_equal(
		rename(in_scene(s, "log-0000000000000002"), "/dev/null/x"), -1);
	assert_int_equal(unlink(in_scene(s, "log-0000000000000002")), 0);
	assert_int_equal(scene_open(s, &w), -EBADMSG);
	assert_non_null(strstr(s->err.text, "missing"));
	assert_int_equal(unlink(in_scene(s, "snapshot-0000000000000002")), 0);
	wal_close(open_seeing(s, ""));
}

static void logs_without_their_beginning_are_told(void **state)
{
	struct scene *s = *state;
	struct wal *w = open_seeing(s, "");

	WRITE(w, "one");
	SNAPSHOT(s, w, "ONE");
	wal_close(w);
	assert_int_equal(unlink(in_scene(s, "snapshot-0000000000000002")), 0);
	assert_int_equal(scene_open(s, &w), -EBADMSG);
	assert_non_null(strstr(s->err.text, s->dir));
}

static int refuse(void *data, const void *payload, size_t len)
{
	(void)data;
	(void)payload;
	(void)len;
	return -EBADMSG;
}

static void a_record_nobody_understands_is_told(void **state)
{
	struct scene *s = *state;
	struct wal *w = open_seeing(s, "");

	WRITE(w, "one");
	wal_close(w);
	assert_int_equal(wal_open(s->dir, refuse, NULL, &w, &s->err), -EBADMSG);
	assert_non_null(strstr(s->err.text, "record 1 of "));
	assert_non_null(strstr(s->err.text, "another version wrote it"));
}

static void a_snapshot_is_wanted_after_a_while(void **state)
{
	struct scene *s = *state;
	CLEANUP(wal_closep) struct wal *w = open_seeing(s, "");
	CLEANUP(freep) char *mega = calloc(1, 1 << 20);
	uint64_t seq;

	assert_false(wal_wants_snapshot(w));
	for (int i = 0; i < 16; i++)
		assert_int_equal(wal_append(w, mega, 1 << 20, &seq), 0);
	assert_true(wal_wants_snapshot(w));
	SNAPSHOT(s, w, "x");
	assert_false(wal_wants_snapshot(w));
}

/* A file system that is really full: nothing is accepted that has no room, and all goes
 * on when there is some again. */
static void a_full_disk_is_met_before_a_record_is_accepted(void **state)
{
	struct scene *s = *state;
	CLEANUP(freep) char *ballast = calloc(1, 6 << 20);
	char value[10000] = { 0 };
	struct wal *w = NULL;
	uint64_t last = 0;
	uint64_t seq;
	int e = 0;

	if (mount("none", s->dir, "tmpfs", 0, "size=8m") < 0)
		skip();
	w = open_seeing(s, "");
	store(s, "ballast", ballast, 6 << 20);
	while (e == 0) {
		e = wal_append(w, value, sizeof(value), &seq);
		last = e == 0 ? seq : last;
		wal_commit(w);
	}
	assert_int_equal(e, -ENOSPC);
	assert_true(last > 50);
	assert_int_equal(wal_acknowledge(w), 0);
	assert_int_equal(unlink(in_scene(s, "ballast")), 0);
	assert_int_equal(wal_append(w, value, sizeof(value), &seq), 0);
	assert_int_equal(seq, last + 1);
	wal_close(w);
	assert_int_equal(scene_open(s, &w), 0);
	assert_int_equal(s->n_seen, last + 1);
	wal_close(w);
	assert_int_equal(umount2(s->dir, MNT_DETACH), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		SCENE(a_new_directory_replays_nothing),
		SCENE(records_come_back_in_order),
		SCENE(the_event_tells_of_commits),
		SCENE(records_handed_in_together_are_one_commit),
		SCENE(sizes_have_bounds),
		SCENE(records_of_any_size_come_back),
		SCENE(a_second_server_is_refused),
		SCENE(other_files_are_left_alone),
		SCENE(unfinished_files_are_removed),
		SCENE(what_is_no_plain_file_is_refused),
		SCENE(a_torn_tail_is_cut_at_every_byte),
		SCENE(what_a_torn_write_left_is_not_found_later),
		SCENE(a_flipped_bit_is_told_with_file_and_place),
		SCENE(a_page_of_zeros_in_the_middle_is_damage),
		SCENE(a_record_inside_a_value_is_none),
		SCENE(a_snapshot_stands_for_the_records_before),
		SCENE(a_failed_snapshot_changes_nothing),
		SCENE(a_damaged_snapshot_is_told),
		SCENE(an_older_way_to_the_state_is_taken),
		SCENE(a_missing_log_is_told),
		SCENE(logs_without_their_beginning_are_told),
		SCENE(a_record_nobody_understands_is_told),
		SCENE(a_snapshot_is_wanted_after_a_while),
		SCENE(a_full_disk_is_met_before_a_record_is_accepted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
