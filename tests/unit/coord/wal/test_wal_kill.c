/* test_wal_kill.c - SIGKILL at any moment of a server that appends
 *
 * A child writes numbered records, in writes of random size, with snapshots in between, and
 * tells through a pipe what was acknowledged.  It is killed after a random time.  What it
 * told must be there afterwards, in order, and nothing that was never handed in.
 * WAL_KILL_ROUNDS sets how many rounds there are. */
#include "wal_helpers.h"

#include <signal.h>
#include <sys/wait.h>
#include <time.h>

enum { LIVES = 30 }; /* in one directory: then it has many records */

static uint64_t seed = 1;

static unsigned pick(unsigned n)
{
	seed = seed * 6364136223846793005 + 1442695040888963407;
	return (unsigned)(seed >> 33) % n;
}

/* What is counted on, from one life to the next. */
struct numbers {
	uint64_t last; /* replayed or handed in */
	bool is_wrong;
};

static int follow(void *data, const void *payload, size_t len)
{
	struct numbers *n = data;
	uint64_t value;

	if (len < sizeof(value)) {
		n->is_wrong = true;
		return 0;
	}
	memcpy(&value, payload, sizeof(value));
	n->is_wrong |= value != n->last + 1;
	for (size_t i = sizeof(value); i < len; i++)
		n->is_wrong |= ((const char *)payload)[i] != (char)value;
	n->last = value;
	return 0;
}

static int walk_numbers(void *data,
			int (*each)(void *to, const void *payload, size_t len),
			void *to)
{
	const struct numbers *n = data;
	int e = 0;

	for (uint64_t i = 1; e == 0 && i <= n->last; i++)
		e = each(to, &i, sizeof(i));
	return e;
}

static void add(struct wal *w, struct numbers *n)
{
	char bytes[400];
	uint64_t seq;

	n->last++;
	memset(bytes, (char)n->last, sizeof(bytes));
	memcpy(bytes, &n->last, 8);
	if (wal_append(w, bytes, 8 + pick(390), &seq) < 0)
		_exit(97);
}

/* Often while the one before is under way. */
static void take_snapshot(struct wal *w, struct numbers *n)
{
	int e = wal_snapshot(w, walk_numbers, n, NULL);

	if (e < 0 && e != -EBUSY)
		_exit(94);
}

/* Sequence numbers are the numbers, so what is durable is what may be told. */
static void serve(struct scene *s, int told)
{
	struct numbers n = { 0 };
	struct wal *w;
	uint64_t before;

	if (wal_open(s->dir, follow, &n, &w, NULL) < 0)
		_exit(96);
	before = wal_durable(w);
	for (;;) {
		uint64_t durable;

		for (unsigned i = pick(5); i--;)
			add(w, &n);
		wal_commit(w);
		durable = wal_durable(w);
		if (durable != before &&
		    write(told, &durable, sizeof(durable)) != sizeof(durable))
			_exit(95);
		before = durable;
		if (pick(40) == 0)
			take_snapshot(w, &n);
		if (wal_snapshot_done(w, false, NULL) < 0)
			_exit(93);
	}
}

static uint64_t last_told(int fd, uint64_t last)
{
	uint64_t value;

	while (read(fd, &value, sizeof(value)) == sizeof(value))
		last = value;
	return last;
}

/* One life; what it acknowledged at last. */
static uint64_t one_life(struct scene *s)
{
	const struct timespec t = { .tv_nsec = pick(6000) * 1000L };
	int status;
	int ends[2];
	pid_t child;
	uint64_t first = 0;

	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	assert_true(fcntl(ends[1], F_SETPIPE_SZ, 1 << 20) > 0);
	child = fork();
	if (child == 0)
		serve(s, ends[1]);
	(void)close(ends[1]);
	/* Mostly while it serves, sometimes while it begins. */
	if (pick(6))
		assert_int_equal(read(ends[0], &first, sizeof(first)),
				 sizeof(first));
	(void)nanosleep(&t, NULL);
	assert_int_equal(kill(child, SIGKILL), 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	first = last_told(ends[0], first);
	(void)close(ends[0]);
	return first;
}

/* Some lives in one directory. */
static void live_on(struct scene *s, long rounds)
{
	uint64_t told = 0;

	for (long i = 0; i < rounds; i++) {
		struct numbers n = { 0 };
		uint64_t now = one_life(s);
		struct wal *w;

		told = now > told ? now : told;
		if (wal_open(s->dir, follow, &n, &w, &s->err) < 0)
			fail_msg("round %ld: %s", i, s->err.text);
		if (n.is_wrong || n.last < told)
			fail_msg("round %ld: told %llu, found %llu%s", i,
				 (unsigned long long)told,
				 (unsigned long long)n.last,
				 n.is_wrong ? ", out of order" : "");
		told = n.last;
		wal_close(w);
	}
	assert_true(told > 0);
}

static void what_was_acknowledged_survives_kill(void **state)
{
	const char *text = getenv("WAL_KILL_ROUNDS");
	long rounds = text ? strtol(text, NULL, 10) : 60;

	(void)state;
	for (; rounds > 0; rounds -= LIVES) {
		void *scene;

		assert_int_equal(scene_make(&scene), 0);
		live_on(scene, LIVES);
		assert_int_equal(scene_remove(&scene), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_acknowledged_survives_kill),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
