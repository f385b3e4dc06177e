/* test_wal_faults.c - system calls of the log that fail, do half, or are the last
 *
 * The calls that change a disk are wrapped and counted.  The n-th may fail, or kill the
 * process; what was acknowledged before must be there afterwards, for every n. */
#include "wal_helpers.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <sys/wait.h>

enum fault { NONE, FAIL, DIE };

/* What is to happen; the writer asks as well. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
	enum fault fault;
	const char *call; /* only this one; NULL: any */
	int error;
	int calls_left; /* before the fault */
	bool halves; /* pwrite() does only a part */
	bool holds; /* the thread of a snapshot waits in fsync() */
} plan;
static pthread_cond_t let_go = PTHREAD_COND_INITIALIZER;
static pthread_t main_thread;

static void arm(enum fault what, const char *call, int error, int after)
{
	(void)pthread_mutex_lock(&lock);
	plan.fault = what;
	plan.call = call;
	plan.error = error;
	plan.calls_left = after;
	(void)pthread_mutex_unlock(&lock);
}

/* The error of the n-th such call and of all later ones, or 0. */
static int hit(const char *call)
{
	int error = 0;

	(void)pthread_mutex_lock(&lock);
	if (plan.fault != NONE &&
	    (!plan.call || strcmp(call, plan.call) == 0) &&
	    --plan.calls_left < 0) {
		if (plan.fault == DIE)
			(void)syscall(SYS_exit_group, 7); /* at once */
		error = plan.error;
	}
	(void)pthread_mutex_unlock(&lock);
	return error;
}

/* Only a snapshot is synced by fsync() in a thread of its own. */
static void hold_snapshot(const char *call)
{
	if (strcmp(call, "fsync") != 0 ||
	    pthread_equal(pthread_self(), main_thread))
		return;
	(void)pthread_mutex_lock(&lock);
	while (plan.holds)
		(void)pthread_cond_wait(&let_go, &lock);
	(void)pthread_mutex_unlock(&lock);
}

static void set_holds(bool holds)
{
	(void)pthread_mutex_lock(&lock);
	plan.holds = holds;
	(void)pthread_cond_broadcast(&let_go);
	(void)pthread_mutex_unlock(&lock);
}

static bool is_half(void)
{
	bool half;

	(void)pthread_mutex_lock(&lock);
	half = plan.halves;
	(void)pthread_mutex_unlock(&lock);
	return half;
}

#define WRAP(type, name, params, args)             \
	type __real_##name params;                 \
	type __wrap_##name params;                 \
	type __wrap_##name params                  \
	{                                          \
		int error;                         \
		hold_snapshot(#name);              \
		error = hit(#name);                \
		if (!error)                        \
			return __real_##name args; \
		errno = error;                     \
		return -1;                         \
	}

WRAP(int, fdatasync, (int fd), (fd))
WRAP(int, fsync, (int fd), (fd))
WRAP(int, fallocate64, (int fd, int mode, off_t at, off_t len),
     (fd, mode, at, len))
WRAP(int, ftruncate64, (int fd, off_t len), (fd, len))
WRAP(int, renameat, (int a, const char *from, int b, const char *to),
     (a, from, b, to))
WRAP(int, unlinkat, (int dir, const char *name, int flags), (dir, name, flags))

ssize_t __real_pwrite64(int fd, const void *data, size_t len, off_t at);
ssize_t __wrap_pwrite64(int fd, const void *data, size_t len, off_t at);
ssize_t __wrap_pwrite64(int fd, const void *data, size_t len, off_t at)
{
	int error = hit("pwrite64");

	if (!error)
		return __real_pwrite64(fd, data,
				       is_half() ? (len + 1) / 2 : len, at);
	/* What a full or dying disk does: a part, then the error. */
	(void)__real_pwrite64(fd, data, len / 2, at);
	errno = error;
	return -1;
}

static int disarm(void **state)
{
	arm(NONE, NULL, 0, 0);
	plan.halves = false;
	return scene_remove(state);
}

#define FAULT(f) cmocka_unit_test_setup_teardown(f, scene_make, disarm)

/* Waits until it is on disk, or until that has failed. */
static int settle(struct wal *w, uint64_t seq)
{
	int e = 0;

	wal_commit(w);
	while (wal_durable(w) < seq && e == 0) {
		e = wal_acknowledge(w);
		(void)usleep(50);
	}
	return e;
}

static void short_writes_are_continued(void **state)
{
	struct scene *s = *state;
	struct wal *w;

	plan.halves = true;
	w = open_seeing(s, "");
	WRITE(w, "one", "two and some more");
	SNAPSHOT(s, w, "state");
	WRITE(w, "three");
	wal_close(w);
	wal_close(open_seeing(s, "state\nthree\n"));
}

static void nothing_is_promised_after(struct scene *s, const char *call)
{
	struct wal *w = open_seeing(s, "");
	uint64_t seq;

	WRITE(w, "one");
	arm(FAIL, call, EIO, 0);
	assert_int_equal(wal_append(w, "two", 3, &seq), 0);
	assert_int_equal(settle(w, seq), -EIO);
	assert_int_equal(wal_durable(w), 1);
	arm(NONE, NULL, 0, 0); /* the disk seems well again: too late */
	assert_int_equal(wal_append(w, "three", 5, &seq), -EIO);
	assert_true(snapshot(s, w, (const char *[]){ "x", NULL }) < 0);
	assert_int_equal(wal_acknowledge(w), -EIO);
	wal_close(w);
	assert_int_equal(scene_open(s, &w), 0);
	assert_memory_equal(s->seen.data, "one\n", 4);
	wal_close(w);
}

static void a_failed_sync_ends_all_promises(void **state)
{
	nothing_is_promised_after(*state, "fdatasync");
}

static void a_failed_write_ends_all_promises(void **state)
{
	nothing_is_promised_after(*state, "pwrite64");
}

static void without_room_a_record_is_refused_and_the_next_may_come(void **state)
{
	struct scene *s = *state;
	struct wal *w = open_seeing(s, "");
	CLEANUP(freep) char *large = calloc(1, 3 << 20);
	uint64_t seq;

	WRITE(w, "one");
	arm(FAIL, "fallocate64", ENOSPC, 0);
	assert_int_equal(wal_append(w, large, 3 << 20, &seq), -ENOSPC);
	WRITE(w, "two"); /* for that there is room */
	arm(NONE, NULL, 0, 0);
	assert_int_equal(wal_append(w, large, 3 << 20, &seq), 0);
	assert_int_equal(seq, 3);
	wal_close(w);
	assert_int_equal(scene_open(s, &w), 0);
	assert_int_equal(s->n_seen, 3);
	wal_close(w);
}

static void zeros_do_where_nothing_can_be_allocated(void **state)
{
	struct scene *s = *state;
	struct wal *w;

	arm(FAIL, "fallocate64", EOPNOTSUPP, 0);
	w = open_seeing(s, "");
	WRITE(w, "one");
	wal_close(w);
	wal_close(open_seeing(s, "one\n"));
}

static void a_full_disk_does_not_keep_the_log_from_opening(void **state)
{
	struct scene *s = *state;
	struct wal *w = open_seeing(s, "");
	uint64_t seq;

	WRITE(w, "one");
	wal_close(w);
	arm(FAIL, "fallocate64", ENOSPC, 0);
	w = open_seeing(s, "one\n");
	assert_int_equal(wal_append(w, "two", 3, &seq), -ENOSPC);
	wal_close(w);
}

static int begin_snapshot(struct scene *s, struct wal *w)
{
	static const char *const texts[] = { "ONE", NULL };

	return wal_snapshot(w, walk_texts, (void *)texts, &s->err);
}

static void the_log_goes_on_while_a_snapshot_is_written(void **state)
{
	struct scene *s = *state;
	struct wal *w = open_seeing(s, "");

	WRITE(w, "one");
	set_holds(true);
	assert_int_equal(begin_snapshot(s, w), 0);
	WRITE(w, "two", "three");
	assert_int_equal(wal_snapshot_done(w, false, &s->err), 0);
	assert_int_equal(begin_snapshot(s, w), -EBUSY);
	assert_true(is_there(s, LOG_1)); /* it is still needed */
	assert_true(is_there(s, "log-0000000000000002"));
	assert_false(is_there(s, "snapshot-0000000000000002"));
	set_holds(false);
	assert_int_equal(wal_snapshot_done(w, true, &s->err), 1);
	assert_int_equal(wal_snapshot_done(w, true, &s->err), 0);
	assert_false(is_there(s, LOG_1));
	WRITE(w, "four");
	wal_close(w);
	wal_close(open_seeing(s, "ONE\ntwo\nthree\nfour\n"));
}

static void to_close_is_to_wait_for_a_snapshot(void **state)
{
	struct scene *s = *state;
	struct wal *w = open_seeing(s, "");

	WRITE(w, "one");
	assert_int_equal(begin_snapshot(s, w), 0);
	wal_close(w);
	assert_true(is_there(s, "snapshot-0000000000000002"));
	wal_close(open_seeing(s, "ONE\n"));
}

/* Both logs are the state, and the next snapshot stands for both. */
static void a_snapshot_that_cannot_be_synced_leaves_the_logs(void **state)
{
	struct scene *s = *state;
	struct wal *w = open_seeing(s, "");

	WRITE(w, "one");
	set_holds(true);
	assert_int_equal(begin_snapshot(s, w), 0);
	arm(FAIL, "fsync", EIO, 0);
	set_holds(false);
	assert_int_equal(wal_snapshot_done(w, true, &s->err), -EIO);
	arm(NONE, NULL, 0, 0);
	assert_false(is_there(s, "snapshot-0000000000000002.new"));
	wal_close(w);
	w = open_seeing(s, "one\n");
	SNAPSHOT(s, w, "ONE"); /* though no record has come since */
	WRITE(w, "two");
	wal_close(w);
	assert_false(is_there(s, LOG_1));
	wal_close(open_seeing(s, "ONE\ntwo\n"));
}

static void a_snapshot_that_failed_is_wanted_again(void **state)
{
	struct scene *s = *state;
	CLEANUP(freep) char *mega = calloc(1, 1 << 20);
	struct wal *w = open_seeing(s, "");
	uint64_t seq;

	for (int i = 0; i < 16; i++)
		assert_int_equal(wal_append(w, mega, 1 << 20, &seq), 0);
	set_holds(true);
	assert_int_equal(begin_snapshot(s, w), 0);
	assert_false(wal_wants_snapshot(w)); /* one is under way */
	arm(FAIL, "fsync", ENOSPC, 0);
	set_holds(false);
	assert_int_equal(wal_snapshot_done(w, true, &s->err), -ENOSPC);
	arm(NONE, NULL, 0, 0);
	assert_false(wal_wants_snapshot(w)); /* not so soon */
	for (int i = 0; i < 16; i++)
		assert_int_equal(wal_append(w, mega, 1 << 20, &seq), 0);
	assert_true(wal_wants_snapshot(w));
	wal_close(w);
	assert_int_equal(scene_open(s, &w), 0);
	assert_int_equal(s->n_seen, 32);
	assert_true(wal_wants_snapshot(w));
	wal_close(w);
}

/* A server's life: records, a snapshot, records, closed and opened again.  It tells what
 * was acknowledged: the last line of the file "told" (plain write(), not counted). */
static void tell(int fd, int acknowledged)
{
	char text[16];
	int len = snprintf(text, sizeof(text), "%d\n", acknowledged);

	if (write(fd, text, (size_t)len) != len)
		_exit(98);
}

static int count(void *data, const void *payload, size_t len)
{
	(void)payload;
	(void)len;
	++*(int *)data;
	return 0;
}

static int walk_all(void *data,
		    int (*each)(void *to, const void *payload, size_t len),
		    void *to)
{
	int e = 0;

	for (int i = 1; e == 0 && i <= *(int *)data; i++) {
		char text[16];
		int len = snprintf(text, sizeof(text), "%d", i);

		e = each(to, text, (size_t)len);
	}
	return e;
}

static void add_some(struct wal *w, int *n, int told)
{
	for (int i = 0; i < 4; i++) {
		char text[16];
		int len = snprintf(text, sizeof(text), "%d", *n + 1);
		uint64_t seq;

		if (wal_append(w, text, (size_t)len, &seq) < 0)
			continue;
		++*n;
		if (i % 2 && settle(w, seq) == 0)
			tell(told, *n);
	}
}

static void live(struct scene *s, int told)
{
	for (int round = 0; round < 2; round++) {
		struct wal *w;
		int n = 0;

		if (wal_open(s->dir, count, &n, &w, NULL) < 0)
			continue;
		add_some(w, &n, told);
		(void)wal_snapshot(w, walk_all, &n, NULL);
		/* Records after it, and beside it. */
		(void)wal_snapshot_done(w, round == 0, NULL);
		add_some(w, &n, told);
		wal_close(w);
	}
}

static int last_told(struct scene *s)
{
	CLEANUP(str_release) struct str text = STR_INIT;
	int n = 0;

	load(s, "told", &text);
	for (const char *p = str_cstr(&text); p && *p;
	     p = strchr(p, '\n') ? strchr(p, '\n') + 1 : NULL)
		n = (int)strtol(p, NULL, 10);
	return n;
}

/* All numbers from 1 on, at least as many as were acknowledged. */
static void check_life(struct scene *s, const char *what, int after)
{
	CLEANUP(str_release) struct str expected = STR_INIT;
	struct wal *w;

	if (scene_open(s, &w) < 0)
		fail_msg("%s, %d: %s", what, after, s->err.text);
	for (size_t i = 1; i <= s->n_seen; i++)
		str_addf(&expected, "%zu\n", i);
	if (strcmp(str_cstr(&s->seen), str_cstr(&expected)) != 0 ||
	    s->n_seen < (size_t)last_told(s))
		fail_msg("%s, %d: %d were acknowledged, there are\n%s", what,
			 after, last_told(s), str_cstr(&s->seen));
	wal_close(w);
}

/* Whether the life ended before the fault. */
static bool live_until(struct scene *s, enum fault what, const char *call,
		       int error, int after)
{
	CLEANUP(closep)
	int told = open(in_scene(s, "told"), O_WRONLY | O_APPEND | O_CLOEXEC);
	bool over;

	arm(what, call, error, after);
	live(s, told);
	over = plan.calls_left > 0;
	arm(NONE, NULL, 0, 0);
	return over;
}

/* The same in a process that may die of it. */
static bool live_and_die(struct scene *s, int after)
{
	int status;
	pid_t child = fork();

	if (child == 0)
		_exit(live_until(s, DIE, NULL, 0, after));
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status) &&
		    (WEXITSTATUS(status) < 2 || WEXITSTATUS(status) == 7));
	return WEXITSTATUS(status) == 1;
}

static bool try_life(struct scene *s, enum fault what, const char *call,
		     int error, int after)
{
	bool over;

	store(s, "told", "", 0);
	over = what == DIE ? live_and_die(s, after) :
			     live_until(s, what, call, error, after);
	check_life(s, call ? call : "any", after);
	return over;
}

static void every_fault(enum fault what, const char *call, int error)
{
	bool over = false;

	for (int after = 0; !over; after++) {
		void *state;

		assert_int_equal(scene_make(&state), 0);
		over = try_life(state, what, call, error, after);
		assert_int_equal(scene_remove(&state), 0);
		assert_true(after < 200);
	}
}

static void death_at_any_call_loses_nothing(void **state)
{
	(void)state;
	every_fault(DIE, NULL, 0);
}

static void failure_of_any_call_loses_nothing(void **state)
{
	static const struct {
		const char *call;
		int error;
	} faults[] = {
		{ "fallocate64", ENOSPC }, { "fdatasync", EIO },
		{ "fsync", EIO },	   { "ftruncate64", EIO },
		{ "pwrite64", EIO },	   { "pwrite64", ENOSPC },
		{ "renameat", ENOSPC },	   { "unlinkat", EIO },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
		every_fault(FAIL, faults[i].call, faults[i].error);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		FAULT(short_writes_are_continued),
		FAULT(a_failed_sync_ends_all_promises),
		FAULT(a_failed_write_ends_all_promises),
		FAULT(without_room_a_record_is_refused_and_the_next_may_come),
		FAULT(zeros_do_where_nothing_can_be_allocated),
		FAULT(a_full_disk_does_not_keep_the_log_from_opening),
		FAULT(the_log_goes_on_while_a_snapshot_is_written),
		FAULT(to_close_is_to_wait_for_a_snapshot),
		FAULT(a_snapshot_that_failed_is_wanted_again),
		FAULT(a_snapshot_that_cannot_be_synced_leaves_the_logs),
		cmocka_unit_test(death_at_any_call_loses_nothing),
		cmocka_unit_test(failure_of_any_call_loses_nothing),
	};

	main_thread = pthread_self();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
