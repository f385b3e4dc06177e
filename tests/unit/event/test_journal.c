/* test_journal.c - the events of a run in flight, safe against kill -9. */
#include "event/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "base/fd.h"
#include "event/event.h"

static char folder[] = "/tmp/roar-test-journal-XXXXXX";
static int dir = -1;

static int make_folder(void **state)
{
	(void)state;
	(void)strcpy(folder + sizeof(folder) - 7, "XXXXXX");
	if (!mkdtemp(folder))
		return -1;
	dir = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return dir < 0 ? -1 : 0;
}

static int remove_folder(void **state)
{
	(void)state;
	(void)unlinkat(dir, "j", 0);
	(void)close(dir);
	return rmdir(folder);
}

static struct journal *create(const char *meta)
{
	struct journal *j = NULL;

	assert_int_equal(journal_create(dir, "j", meta, strlen(meta), &j), 0);
	return j;
}

static struct journal_reader *reopen(void)
{
	struct journal_reader *r = NULL;

	assert_int_equal(journal_open(dir, "j", &r), 0);
	return r;
}

/* Appends an OPEN of "/file/<n>" by process n. */
static int append(struct journal *j, int n)
{
	_Alignas(8) char buffer[256];
	struct event *ev = (struct event *)buffer;
	char path[64];
	int len = snprintf(path, sizeof(path), "/file/%d", n);

	*ev = (struct event){ .kind = EVENT_OPEN, .pid = n };
	event_set_paths(ev, path, (size_t)len, "", 0);
	return journal_append(j, ev);
}

/* Reads to the end; fails unless the records are those of append(0..). */
static int count_records(struct journal_reader *r)
{
	const struct event *ev;
	int n = 0;

	while ((ev = journal_next(r))) {
		char path[64];

		(void)snprintf(path, sizeof(path), "/file/%d", n);
		assert_int_equal(ev->pid, n);
		assert_string_equal(event_path(ev), path);
		n++;
	}
	assert_null(journal_next(r));
	return n;
}

static void records_and_description_come_back(void **state)
{
	struct journal *j = create("what was run");
	size_t len = 0;
	const void *meta;

	(void)state;
	for (int i = 0; i < 10; i++)
		assert_int_equal(append(j, i), 0);
	journal_close(j);

	CLEANUP(journal_reader_freep) struct journal_reader *r = reopen();

	meta = journal_meta(r, &len);
	assert_int_equal(len, 12);
	assert_memory_equal(meta, "what was run", 12);
	assert_int_equal(count_records(r), 10);
}

static void an_empty_journal_has_no_records(void **state)
{
	size_t len = 99;

	(void)state;
	journal_close(create(""));

	CLEANUP(journal_reader_freep) struct journal_reader *r = reopen();

	(void)journal_meta(r, &len);
	assert_int_equal(len, 0);
	assert_int_equal(count_records(r), 0);
}

static void millions_of_bytes_pass_through_the_window(void **state)
{
	struct journal *j = create("long");

	(void)state;
	for (int i = 0; i < 60000; i++)
		assert_int_equal(append(j, i), 0);
	journal_close(j);

	CLEANUP(journal_reader_freep) struct journal_reader *r = reopen();

	assert_int_equal(count_records(r), 60000);
}

static void a_description_may_exceed_the_first_window(void **state)
{
	size_t size = 3 << 20;
	char *meta = malloc(size);
	struct journal *j = NULL;
	size_t len = 0;

	(void)state;
	memset(meta, 'm', size);
	assert_int_equal(journal_create(dir, "j", meta, size, &j), 0);
	assert_int_equal(append(j, 0), 0);
	journal_close(j);

	CLEANUP(journal_reader_freep) struct journal_reader *r = reopen();

	assert_memory_equal(journal_meta(r, &len), meta, size);
	assert_int_equal(len, size);
	assert_int_equal(count_records(r), 1);
	free(meta);
}

static void the_largest_records_fit(void **state)
{
	char *path = calloc(1, EVENT_PATH_MAX);
	struct event *ev = calloc(1, EVENT_SIZE_MAX);
	struct journal *j = create("");
	const struct event *back;
	int n = 0;

	(void)state;
	memset(path, 'p', EVENT_PATH_MAX);
	ev->kind = EVENT_RENAME;
	event_set_paths(ev, path, EVENT_PATH_MAX, path, EVENT_PATH_MAX);
	for (int i = 0; i < 20; i++)
		assert_int_equal(journal_append(j, ev), 0);
	journal_close(j);

	CLEANUP(journal_reader_freep) struct journal_reader *r = reopen();

	for (; (back = journal_next(r)); n++)
		assert_memory_equal(back, ev, EVENT_SIZE_MAX);
	assert_int_equal(n, 20);
	free(ev);
	free(path);
}

static void a_name_is_never_overwritten(void **state)
{
	struct journal *j = create("first");
	struct journal *second = NULL;

	(void)state;
	assert_int_equal(journal_create(dir, "j", "x", 1, &second), -EEXIST);
	assert_null(second);
	journal_close(j);
	assert_int_equal(journal_create(dir, "no/j", "x", 1, &second), -ENOENT);
}

static void only_its_owner_may_read_it(void **state)
{
	struct stat st;

	(void)state;
	journal_close(create("secret"));
	assert_int_equal(fstatat(dir, "j", &st, 0), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
}

static void a_journal_says_until_when_its_writer_lived(void **state)
{
	struct journal *j = create("meta");
	struct journal_reader *r;
	int64_t born_ns;

	(void)state;
	journal_close(j);
	r = reopen();
	born_ns = journal_alive_ns(r);
	journal_reader_free(r);
	(void)unlinkat(dir, "j", 0);
	j = create("meta");
	(void)usleep(50000);
	journal_touch(j);
	journal_close(j);
	r = reopen();
	assert_true(journal_alive_ns(r) >= born_ns + 40000000);
	journal_reader_free(r);
}

static void a_journal_is_live_until_it_is_closed(void **state)
{
	struct journal *j = create("");
	struct journal_reader *r = NULL;

	(void)state;
	assert_true(journal_is_live(dir, "j"));
	assert_int_equal(journal_open(dir, "j", &r), -EBUSY);
	journal_close(j);
	assert_false(journal_is_live(dir, "j"));
	assert_false(journal_is_live(dir, "none"));
}

static void two_recoveries_cannot_meet(void **state)
{
	struct journal_reader *second = NULL;

	(void)state;
	journal_close(create(""));

	CLEANUP(journal_reader_freep) struct journal_reader *r = reopen();

	assert_non_null(r);
	assert_int_equal(journal_open(dir, "j", &second), -EBUSY);
	assert_null(second);
}

/* A writer in a process of its own: it appends `n`, begins one more, and is
 * killed.  Nothing of it runs after that, as with kill -9. */
static void write_and_die(int n)
{
	pid_t pid = fork();
	int status;
	int error;

	assert_true(pid >= 0);
	if (pid == 0) {
		struct journal *j = create("killed");
		struct event *ev;

		for (int i = 0; i < n; i++)
			if (append(j, i) < 0)
				_exit(1);
		ev = journal_reserve(j, event_size(6, 0), &error);
		if (!ev)
			_exit(1);
		ev->kind = EVENT_OPEN;
		memcpy(ev->paths, "/half", 5);
		(void)raise(SIGKILL);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
}

static void what_was_stored_survives_kill_9(void **state)
{
	(void)state;
	write_and_die(3000);
	assert_false(journal_is_live(dir, "j"));

	CLEANUP(journal_reader_freep) struct journal_reader *r = reopen();

	assert_int_equal(count_records(r), 3000);
}

static void another_goes_on_where_a_writer_was_killed(void **state)
{
	struct journal *j = NULL;

	(void)state;
	assert_int_equal(journal_resume(dir, "j", &j), -ENOENT);
	write_and_die(3000);
	assert_int_equal(journal_resume(dir, "j", &j), 0);
	assert_true(journal_is_live(dir, "j"));
	for (int i = 3000; i < 6000; i++)
		assert_int_equal(append(j, i), 0);
	journal_close(j);

	CLEANUP(journal_reader_freep) struct journal_reader *r = reopen();

	assert_int_equal(count_records(r), 6000);
}

static void a_child_that_lives_on_does_not_hold_the_lock(void **state)
{
	struct journal *j = create("");
	pid_t child;

	(void)state;
	assert_int_equal(append(j, 0), 0);
	child = fork();
	if (child == 0) {
		(void)close_range(3, ~0U, 0);
		(void)pause();
		_exit(0);
	}
	journal_close(j);
	/* It closes what it has inherited in its own time. */
	for (int i = 0; i < 1000 && journal_is_live(dir, "j"); i++)
		(void)usleep(1000);
	assert_false(journal_is_live(dir, "j"));
	(void)kill(child, SIGKILL);
	(void)waitpid(child, NULL, 0);
}

/* Puts `len` bytes under the name and says what journal_open() thinks. */
static int open_bytes(const void *bytes, size_t len)
{
	CLEANUP(journal_reader_freep) struct journal_reader *r = NULL;
	int fd = openat(dir, "j", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC,
			0600);
	int result;

	assert_int_equal(fd_write_all(fd, bytes, len), 0);
	(void)close(fd);
	result = journal_open(dir, "j", &r);
	if (result == 0)
		while (journal_next(r))
			continue;
	return result;
}

static void what_is_no_journal_is_refused(void **state)
{
	char bytes[256] = "roarjrn1";
	struct journal_reader *r = NULL;
	uint32_t meta_len = 192;

	(void)state;
	assert_int_equal(journal_open(dir, "j", &r), -ENOENT);
	/* Torn, so there is nothing to lose; or somebody else's. */
	assert_int_equal(open_bytes("", 0), -ENODATA);
	assert_int_equal(open_bytes(bytes, 63), -ENODATA);
	assert_int_equal(open_bytes("systemd", 7), -EBADMSG);
	assert_int_equal(open_bytes(bytes, 64), 0);
	memcpy(bytes + 8, &meta_len, 4);
	assert_int_equal(open_bytes(bytes, 256), 0);
	for (meta_len = 193; meta_len; meta_len <<= 1) {
		memcpy(bytes + 8, &meta_len, 4);
		assert_int_equal(open_bytes(bytes, 256), -ENODATA);
	}
	meta_len = UINT32_MAX;
	memcpy(bytes + 8, &meta_len, 4);
	assert_int_equal(open_bytes(bytes, 256), -ENODATA);
	bytes[0] = 'R';
	assert_int_equal(open_bytes(bytes, 256), -EBADMSG);
}

/* Every prefix of a journal, as a crashed file system may leave it, reads as a
 * journal with fewer records. */
static void a_cut_file_ends_early(void **state)
{
	struct journal *j = create("cut me");
	int last = -1;

	(void)state;
	for (int i = 0; i < 5; i++)
		assert_int_equal(append(j, i), 0);
	journal_close(j);
	for (off_t size = 600; size >= 72; size--) {
		int fd = openat(dir, "j", O_WRONLY | O_CLOEXEC);
		int n;

		assert_int_equal(ftruncate(fd, size), 0);
		(void)close(fd);
		CLEANUP(journal_reader_freep)
		struct journal_reader *r = reopen();

		n = count_records(r);
		assert_true(last < 0 || (n <= last && n >= last - 1));
		last = n;
	}
	assert_int_equal(last, 0);
}

/* A run that ends without a record removes its journal while others look. */
static void a_journal_removed_meanwhile_is_not_there(void **state)
{
	struct journal *j = create("");
	struct journal_reader *r = NULL;
	char path[64];
	int fd = openat(dir, "j", O_RDWR | O_CLOEXEC);

	(void)state;
	assert_int_equal(unlinkat(dir, "j", 0), 0);
	journal_close(j);
	/* The descriptor is what a reader has that opened it in time. */
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	assert_int_equal(journal_open(AT_FDCWD, path, &r), -ENOENT);
	(void)close(fd);
}

static void what_a_killed_maker_left_is_removed(void **state)
{
	int fd = openat(dir, "j.new", O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	(void)state;
	assert_true(fd >= 0);
	(void)close(fd);
	journal_remove_unborn(dir, "j.new");
	assert_int_equal(faccessat(dir, "j.new", F_OK, 0), -1);
	/* Not that of one who lives. */
	journal_close(create(""));
	fd = openat(dir, "j", O_RDWR | O_CLOEXEC);
	assert_int_equal(fcntl(fd, F_OFD_SETLK,
			       &(struct flock){ .l_type = F_WRLCK }),
			 0);
	journal_remove_unborn(dir, "j");
	assert_int_equal(faccessat(dir, "j", F_OK, 0), 0);
	(void)close(fd);
}

/* Somebody has begun to remove a file of that name, and is slow. */
static void a_maker_does_not_wait_for_a_slow_remover(void **state)
{
	int fd = openat(dir, "j.new", O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	(void)state;
	assert_int_equal(fcntl(fd, F_OFD_SETLK,
			       &(struct flock){ .l_type = F_WRLCK }),
			 0);
	journal_close(create("x"));
	assert_int_equal(faccessat(dir, "j", F_OK, 0), 0);
	assert_int_equal(unlinkat(dir, "j.new", 0), 0);
	(void)close(fd);
}

/* One process makes journals while another takes them for dead ones. */
static void a_maker_whose_file_is_taken_away_starts_anew(void **state)
{
	pid_t pid = fork();
	int status;

	(void)state;
	if (pid == 0) {
		/* It must not outlive a test that fails. */
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			journal_remove_unborn(dir, "j.new");
	}
	for (int i = 0; i < 300; i++) {
		journal_close(create("x"));
		assert_int_equal(unlinkat(dir, "j", 0), 0);
	}
	(void)kill(pid, SIGKILL);
	(void)waitpid(pid, &status, 0);
}

static void a_journal_uses_what_a_limit_leaves(void **state)
{
	struct rlimit before;
	struct rlimit small;
	struct journal *j;

	(void)state;
	(void)signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	small = before;
	small.rlim_cur = 12288;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	j = create("");
	for (int i = 0; i < 60; i++)
		assert_int_equal(append(j, i), 0);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	journal_close(j);
}

static void a_journal_that_cannot_grow_says_so_for_ever(void **state)
{
	struct rlimit old;
	struct rlimit small;
	struct journal *j = create("");
	int n = 0;
	int r;

	(void)state;
	(void)signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
	small = (struct rlimit){ 256 * 1024, old.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	while ((r = append(j, n)) == 0 && n < 100000)
		n++;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
	assert_int_equal(r, -EFBIG);
	assert_int_equal(append(j, n), -EFBIG);
	journal_close(j);

	CLEANUP(journal_reader_freep) struct journal_reader *reader = reopen();

	assert_int_equal(count_records(reader), n);
}

#define test_in_folder(fn) \
	cmocka_unit_test_setup_teardown(fn, make_folder, remove_folder)

int main(void)
{
	const struct CMUnitTest tests[] = {
		test_in_folder(records_and_description_come_back),
		test_in_folder(an_empty_journal_has_no_records),
		test_in_folder(millions_of_bytes_pass_through_the_window),
		test_in_folder(a_description_may_exceed_the_first_window),
		test_in_folder(the_largest_records_fit),
		test_in_folder(a_name_is_never_overwritten),
		test_in_folder(only_its_owner_may_read_it),
		test_in_folder(a_journal_is_live_until_it_is_closed),
		test_in_folder(a_journal_says_until_when_its_writer_lived),
		test_in_folder(two_recoveries_cannot_meet),
		test_in_folder(what_was_stored_survives_kill_9),
		test_in_folder(another_goes_on_where_a_writer_was_killed),
		test_in_folder(a_child_that_lives_on_does_not_hold_the_lock),
		test_in_folder(what_is_no_journal_is_refused),
		test_in_folder(a_cut_file_ends_early),
		test_in_folder(a_journal_removed_meanwhile_is_not_there),
		test_in_folder(what_a_killed_maker_left_is_removed),
		test_in_folder(a_maker_does_not_wait_for_a_slow_remover),
		test_in_folder(a_maker_whose_file_is_taken_away_starts_anew),
		test_in_folder(a_journal_uses_what_a_limit_leaves),
		test_in_folder(a_journal_that_cannot_grow_says_so_for_ever),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
