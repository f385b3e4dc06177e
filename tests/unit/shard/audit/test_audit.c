/* test_audit.c - files of ranks, and what they prove. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "alloc_fail.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/str.h"
#include "draw.h"
#include "shard/audit/audit.h"
#include "shard/audit/audit_check.h"
#include "shard/order/position.h"

#define SET CLEANUP(interval_set_release) struct interval_set

DEFINE_CLEANUP(struct audit_check *, audit_check_free)

enum { RANKS = 16 };

static char folder[] = "/tmp/roar-test-audit-XXXXXX";

static int enter(void **state)
{
	(void)state;
	return !mkdtemp(folder) || chdir(folder) < 0;
}

static const char *name_of(uint64_t rank)
{
	static char name[32];

	(void)snprintf(name, sizeof(name), "rank-%d", (int)rank);
	return name;
}

static int clear(void **state)
{
	(void)state;
	for (int i = 0; i < RANKS; i++)
		(void)unlink(name_of((uint64_t)i));
	return 0;
}

static int leave(void **state)
{
	(void)clear(state);
	return chdir("/") < 0 || rmdir(folder) < 0;
}

/* ---- writing ---- */

static struct audit *open_rank(uint64_t rank)
{
	struct roar_error err = { 0 };
	struct audit *a = NULL;

	if (audit_open(name_of(rank), &a, &err) < 0)
		fail_msg("%s", err.text);
	return a;
}

static uint32_t begin(struct audit *a, uint64_t world_epoch, uint32_t rank,
		      uint32_t world, uint64_t total,
		      const struct interval_set *base)
{
	struct audit_segment segment = { .dataset = "corpus",
					 .seed = 42,
					 .epoch = 3,
					 .total = total,
					 .world_epoch = world_epoch,
					 .rank = rank,
					 .world = world,
					 .base = base };
	uint32_t index = 99;

	assert_int_equal(audit_begin(a, &segment, &index), 0);
	return index;
}

/* One rank of one world, and what it took, in a file of its own. */
static void write_rank(uint64_t world_epoch, uint32_t rank, uint32_t world,
		       uint64_t first, uint64_t end)
{
	struct audit *a = open_rank(rank);
	uint32_t index = begin(a, world_epoch, rank, world, 100, NULL);

	assert_int_equal(audit_consumed(a, index, first, end), 0);
	assert_int_equal(audit_close(a), 0);
}

/* A second world of one rank, which takes the rest of the epoch. */
static void go_on_alone(const struct interval_set *base, uint64_t first)
{
	struct audit *a = open_rank(0);
	uint32_t index = begin(a, 2, 0, 1, 100, base);

	assert_int_equal(audit_consumed(a, index, first, 100), 0);
	assert_int_equal(audit_close(a), 0);
}

/* ---- checking ---- */

/* The one epoch that the files of `n` ranks tell of. */
static struct audit_check *check(uint64_t n, const struct audit_epoch **ret)
{
	struct roar_error err = { 0 };
	struct audit_check *c;

	assert_int_equal(audit_check_new(&c), 0);
	for (uint64_t i = 0; i < n; i++)
		if (audit_check_add(c, name_of(i), &err) < 0)
			fail_msg("%s", err.text);
	assert_int_equal(audit_check_finish(c), 0);
	for (uint64_t i = 0; i < n; i++)
		assert_null(audit_check_failure(c, i));
	assert_int_equal(audit_check_n(c), 1);
	*ret = audit_check_epoch(c, 0);
	return c;
}

static void assert_problem(const struct audit_epoch *e, const char *sentence)
{
	for (size_t i = 0; i < e->n_problems && i < AUDIT_MAX_PROBLEMS; i++)
		if (strcmp(e->problems[i], sentence) == 0)
			return;
	fail_msg("nobody says '%s' but '%s'", sentence,
		 e->n_problems ? e->problems[0] : "");
}

static void ranks_that_share_an_epoch_prove_it(void **state)
{
	const struct audit_epoch *e;
	CLEANUP(audit_check_freep) struct audit_check *c = NULL;

	(void)state;
	write_rank(1, 0, 2, 0, 60);
	write_rank(1, 1, 2, 60, 100);
	c = check(2, &e);
	assert_true(audit_epoch_is_exact(e, false));
	assert_string_equal(e->dataset, "corpus");
	assert_int_equal(e->seed, 42);
	assert_int_equal(e->epoch, 3);
	assert_int_equal(e->consumed.count, 100);
	assert_int_equal(e->n_worlds, 1);
}

static void a_gap_is_named_unless_the_epoch_goes_on(void **state)
{
	const struct audit_epoch *e;
	CLEANUP(audit_check_freep) struct audit_check *c = NULL;

	(void)state;
	write_rank(1, 0, 2, 0, 50);
	write_rank(1, 1, 2, 51, 100);
	c = check(2, &e);
	assert_false(audit_epoch_is_exact(e, false));
	assert_true(audit_epoch_is_exact(e, true));
	assert_int_equal(e->gaps.count, 1);
	assert_int_equal(e->gaps.items[0].first, 50);
}

static void a_position_of_two_ranks_is_named_with_both(void **state)
{
	const struct audit_epoch *e;
	CLEANUP(audit_check_freep) struct audit_check *c = NULL;

	(void)state;
	write_rank(7, 0, 2, 0, 60);
	write_rank(7, 1, 2, 50, 100);
	c = check(2, &e);
	assert_false(audit_epoch_is_exact(e, true));
	assert_int_equal(e->twice.count, 10);
	assert_problem(e, "positions 50-59: consumed by rank 0 and by rank 1 "
			  "in world epoch 7");
}

static void what_a_rank_consumes_twice_is_written_twice(void **state)
{
	const struct audit_epoch *e;
	CLEANUP(audit_check_freep) struct audit_check *c = NULL;
	struct audit *a = open_rank(0);
	uint32_t index = begin(a, 1, 0, 1, 100, NULL);

	(void)state;
	assert_int_equal(audit_consumed(a, index, 0, 100), 0);
	assert_int_equal(audit_consumed(a, index, 7, 8), 0);
	assert_int_equal(audit_close(a), 0);
	c = check(1, &e);
	assert_problem(e, "position 7: consumed twice by rank 0 in world "
			  "epoch 1");
	assert_int_equal(e->twice.count, 1);
}

static void a_missing_file_is_named(void **state)
{
	const struct audit_epoch *e;
	CLEANUP(audit_check_freep) struct audit_check *c = NULL;

	(void)state;
	write_rank(1, 0, 4, 0, 100);
	c = check(1, &e);
	assert_false(audit_epoch_is_exact(e, true));
	assert_problem(e, "there are no files of ranks 1 to 3 in world epoch "
			  "1");
}

/* ---- restarts ---- */

/* World 1 comes to 60 and dies, its checkpoint had 40: 20 are consumed again, which is
 * right. */
static void what_a_crash_lost_is_redone_and_counts_once(void **state)
{
	const struct audit_epoch *e;
	CLEANUP(audit_check_freep) struct audit_check *c = NULL;
	SET base = { 0 };
	struct audit *a;
	uint32_t index;

	(void)state;
	write_rank(1, 0, 1, 0, 60);
	assert_int_equal(interval_set_add(&base, 0, 40, NULL), 0);
	a = open_rank(0);
	index = begin(a, 2, 0, 1, 100, &base);
	assert_int_equal(index, 1);
	assert_int_equal(audit_consumed(a, index, 40, 100), 0);
	assert_int_equal(audit_close(a), 0);
	c = check(1, &e);
	assert_true(audit_epoch_is_exact(e, false));
	assert_int_equal(e->redone, 20);
	assert_int_equal(e->n_worlds, 2);
}

/* Of world 1 only what world 2 began from was ever in a checkpoint: a rank that died
 * before its first batch, and positions that came twice behind it, are gone. */
static void what_no_checkpoint_had_is_no_problem(void **state)
{
	const struct audit_epoch *e;
	CLEANUP(audit_check_freep) struct audit_check *c = NULL;

	(void)state;
	write_rank(1, 0, 3, 0, 60);
	write_rank(1, 1, 3, 50, 70);
	go_on_alone(NULL, 0);
	c = check(2, &e);
	assert_true(audit_epoch_is_exact(e, false));
	assert_int_equal(e->redone, 70);
}

/* But when it began from some of it, all ranks had their part in it. */
static void what_a_checkpoint_had_is_looked_at(void **state)
{
	const struct audit_epoch *e;
	CLEANUP(audit_check_freep) struct audit_check *c = NULL;
	SET base = { 0 };

	(void)state;
	write_rank(1, 0, 3, 0, 60);
	write_rank(1, 1, 3, 50, 70);
	assert_int_equal(interval_set_add(&base, 0, 55, NULL), 0);
	go_on_alone(&base, 55);
	c = check(2, &e);
	assert_problem(e, "there is no file of rank 2 in world epoch 1");
	assert_problem(e, "positions 50-54: consumed by rank 0 and by rank 1 "
			  "in world epoch 1");
	assert_int_equal(e->n_problems, 2);
}

static void a_base_must_be_proved_and_respected(void **state)
{
	const struct audit_epoch *e;
	CLEANUP(audit_check_freep) struct audit_check *c = NULL;
	SET base = { 0 };

	(void)state;
	write_rank(1, 0, 1, 0, 30);
	assert_int_equal(interval_set_add(&base, 0, 40, NULL), 0);
	go_on_alone(&base, 38);
	c = check(1, &e);
	assert_int_equal(e->unproven.count, 10);
	assert_problem(e, "positions 30-39: consumed before world epoch 2 "
			  "began, but no file names the rank");
	assert_problem(e, "positions 38-39: consumed by rank 0 in world epoch "
			  "2 although they were consumed before");
}

static void ranks_of_a_world_must_begin_alike(void **state)
{
	const struct audit_epoch *e;
	CLEANUP(audit_check_freep) struct audit_check *c = NULL;
	SET base = { 0 };
	struct audit *a;

	(void)state;
	write_rank(1, 0, 2, 0, 50);
	assert_int_equal(interval_set_add(&base, 0, 1, NULL), 0);
	a = open_rank(1);
	(void)begin(a, 1, 1, 3, 100, &base);
	assert_int_equal(audit_close(a), 0);
	c = check(2, &e);
	assert_problem(e, "rank 0 and rank 1 begin world epoch 1 from "
			  "different positions");
	assert_problem(e, "rank 1 counts 3 ranks in world epoch 1, rank 0 "
			  "counts 2");
}

static void what_is_dropped_on_purpose_is_no_gap(void **state)
{
	const struct audit_epoch *e;
	CLEANUP(audit_check_freep) struct audit_check *c = NULL;
	SET rest = { 0 };
	struct audit *a = open_rank(0);
	uint32_t index = begin(a, 1, 0, 1, 100, NULL);

	(void)state;
	assert_int_equal(audit_consumed(a, index, 0, 96), 0);
	assert_int_equal(interval_set_add(&rest, 96, 100, NULL), 0);
	assert_int_equal(audit_dropped(a, index, &rest), 0);
	interval_set_clear(&rest);
	assert_int_equal(interval_set_add(&rest, 0, 2, NULL), 0);
	assert_int_equal(audit_padded(a, index, &rest), 0);
	assert_int_equal(interval_set_add(&rest, 100, 101, NULL), 0);
	assert_int_equal(audit_padded(a, index, &rest), -EINVAL);
	assert_int_equal(audit_close(a), 0);
	c = check(1, &e);
	assert_true(audit_epoch_is_exact(e, false));
	assert_int_equal(e->dropped.count, 4);
	assert_int_equal(e->padded.count, 2);
}

/* One world of the random story: its ranks write what they take for some steps, some
 * of which no checkpoint will know. */
static void live(uint64_t world_epoch, struct position_spec spec,
		 const struct interval_set *base, uint64_t steps)
{
	for (spec.rank = 0; spec.rank < spec.world; spec.rank++) {
		CLEANUP(position_release) struct position p = { 0 };
		struct audit *a = open_rank(spec.rank);
		uint32_t index = begin(a, world_epoch, (uint32_t)spec.rank,
				       (uint32_t)spec.world, spec.total, base);

		assert_int_equal(position_init(&p, &spec, base, NULL), 0);
		for (uint64_t step = 0; step < steps; step++) {
			SET own = { 0 };

			assert_int_equal(position_ranges(&p, step, &own), 0);
			for (size_t i = 0; i < own.n; i++)
				assert_int_equal(
					audit_consumed(a, index,
						       own.items[i].first,
						       own.items[i].end),
					0);
		}
		assert_int_equal(audit_close(a), 0);
	}
}

/* Worlds of random sizes live for a random time and go back to a random checkpoint. */
static void elastic_restarts_are_proved_exact(void **state)
{
	uint64_t seed = 1;

	for (int round = 0; round < 3; round++) {
		const struct audit_epoch *e;
		CLEANUP(audit_check_freep) struct audit_check *c = NULL;
		uint64_t total = 50 + draw_below(&seed, 500);
		SET base = { 0 };

		for (uint64_t w = 1; base.count < total; w++) {
			struct position_spec spec = {
				.total = total,
				.world = 1 + draw_below(&seed, RANKS),
				.batch = 1 + draw_below(&seed, 4)
			};
			CLEANUP(position_release) struct position p = { 0 };
			SET next = { 0 };
			uint64_t steps, saved;

			assert_int_equal(position_init(&p, &spec, &base, NULL),
					 0);
			steps = w < 6 ? draw_below(&seed,
						   position_n_steps(&p)) :
					position_n_steps(&p);
			saved = w < 6 ? draw_below(&seed, steps + 1) : steps;
			live(w, spec, &base, steps);
			assert_int_equal(position_consumed(&p, saved, &next),
					 0);
			interval_set_clear(&base);
			assert_int_equal(interval_set_union(&base, &next), 0);
		}
		for (uint64_t i = 0; i < RANKS; i++)
			assert_int_equal(audit_close(open_rank(i)), 0);
		c = check(RANKS, &e);
		assert_true(audit_epoch_is_exact(e, false));
		assert_int_equal(e->consumed.count, total);
		(void)clear(state);
	}
}

/* ---- files as they are found ---- */

static void read_all(struct str *out)
{
	str_clear(out);
	assert_int_equal(fd_read_file(AT_FDCWD, name_of(0), 1 << 20, out), 0);
}

static void put(const void *data, size_t len)
{
	CLEANUP(closep)
	int fd = open(name_of(0), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC,
		      0600);

	assert_true(fd >= 0);
	assert_int_equal(fd_write_all(fd, data, len), 0);
}

/* Cut off anywhere, a file is read up to its last whole record and written on from
 * there. */
static void a_file_that_was_cut_off_is_gone_on_with(void **state)
{
	CLEANUP(str_release) struct str whole = STR_INIT;
	size_t first_len;

	(void)state;
	write_rank(1, 0, 1, 0, 30);
	read_all(&whole);
	first_len = whole.len;
	write_rank(1, 0, 1, 30, 100);
	read_all(&whole);
	for (size_t len = 0; len < whole.len; len += 3) {
		const struct audit_epoch *e;
		CLEANUP(audit_check_freep) struct audit_check *c = NULL;

		put(whole.data, len);
		write_rank(1, 0, 1, len < first_len ? 0 : 30, 100);
		c = check(1, &e);
		assert_int_equal(e->consumed.count, 100);
		assert_true(audit_epoch_is_exact(e, false));
		assert_int_equal(audit_check_n_cut(c), 0);
	}
}

static void a_file_that_ends_in_zeros_was_cut_off(void **state)
{
	CLEANUP(str_release) struct str bytes = STR_INIT;
	const struct audit_epoch *e;
	CLEANUP(audit_check_freep) struct audit_check *c = NULL;

	(void)state;
	write_rank(1, 0, 1, 0, 100);
	read_all(&bytes);
	str_pad(&bytes, 0, 5000);
	put(bytes.data, bytes.len);
	c = check(1, &e);
	assert_true(audit_epoch_is_exact(e, false));
	assert_int_equal(audit_check_n_cut(c), 1);
	assert_int_equal(audit_close(open_rank(0)), 0);
	str_clear(&bytes);
	read_all(&bytes);
	assert_true(bytes.len < 5000);
}

/* What is changed is found, or cuts the file off: it never proves what was not. */
static void a_flipped_bit_never_goes_unseen(void **state)
{
	CLEANUP(str_release) struct str bytes = STR_INIT;

	(void)state;
	write_rank(1, 0, 1, 0, 100);
	read_all(&bytes);
	for (size_t bit = 0; bit < 8 * bytes.len; bit++) {
		CLEANUP(audit_check_freep) struct audit_check *c = NULL;
		struct roar_error err = { 0 };
		const char *failure;

		bytes.data[bit / 8] ^= (char)(1 << bit % 8);
		put(bytes.data, bytes.len);
		bytes.data[bit / 8] ^= (char)(1 << bit % 8);
		assert_int_equal(audit_check_new(&c), 0);
		(void)audit_check_add(c, name_of(0), &err);
		assert_int_equal(audit_check_finish(c), 0);
		failure = audit_check_failure(c, 0);
		failure = failure ? failure : err.text;
		assert_true(*failure || audit_check_n_cut(c));
		assert_true(!*failure || strstr(failure, "audit file"));
		assert_true(
			!audit_check_n(c) ||
			!audit_epoch_is_exact(audit_check_epoch(c, 0), false));
	}
}

static void a_damaged_or_foreign_file_is_not_written_to(void **state)
{
	CLEANUP(str_release) struct str bytes = STR_INIT;
	struct roar_error err = { 0 };
	struct audit *a;

	(void)state;
	write_rank(1, 0, 1, 0, 100);
	read_all(&bytes);
	bytes.data[20] ^= 1;
	put(bytes.data, bytes.len);
	assert_int_equal(audit_open(name_of(0), &a, &err), -EBADMSG);
	assert_non_null(strstr(err.text, "'rank-0' is a damaged audit file"));
	put("important", 9);
	assert_int_equal(audit_open(name_of(0), &a, &err), -EBADMSG);
	assert_non_null(strstr(err.text, "'rank-0' is not an audit file"));
	str_clear(&bytes);
	read_all(&bytes);
	assert_int_equal(bytes.len, 9);
	assert_int_equal(audit_open("no/such/folder", &a, &err), -ENOENT);
}

static void a_file_has_one_writer(void **state)
{
	struct audit *a = open_rank(0);
	struct roar_error err = { 0 };
	struct audit *b;

	(void)state;
	assert_int_equal(audit_open(name_of(0), &b, &err), -EBUSY);
	assert_non_null(strstr(err.text, "file of its own"));
	assert_int_equal(audit_close(a), 0);
	assert_int_equal(audit_close(open_rank(0)), 0);
}

static void numbers_that_cannot_be_are_refused(void **state)
{
	static const struct audit_segment bad[] = {
		{ .dataset = "", .total = 1, .world = 1 },
		{ .dataset = "d", .total = 0, .world = 1 },
		{ .dataset = "d", .total = 1, .world = 0 },
		{ .dataset = "d", .total = 1, .world = 1, .rank = 1 },
		{ .dataset = "d", .total = UINT64_C(1) << 63, .world = 1 },
	};
	struct audit *a = open_rank(0);
	uint32_t index;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_int_equal(audit_begin(a, &bad[i], &index), -EINVAL);
	index = begin(a, 1, 0, 1, 10, NULL);
	assert_int_equal(audit_consumed(a, index + 1, 0, 1), -EINVAL);
	assert_int_equal(audit_consumed(a, index, 0, 11), -EINVAL);
	assert_int_equal(audit_consumed(a, index, 5, 4), -EINVAL);
	assert_int_equal(audit_close(a), 0);
}

/* Many small pieces stay bounded in memory and are all there in the end. */
static void scattered_positions_are_written_as_they_come(void **state)
{
	const struct audit_epoch *e;
	CLEANUP(audit_check_freep) struct audit_check *c = NULL;
	enum { N = 3 * AUDIT_PENDING_MAX };
	struct audit *a = open_rank(0);
	uint32_t index = begin(a, 1, 0, 1, 2 * N, NULL);

	(void)state;
	for (uint64_t i = 0; i < N; i++)
		assert_int_equal(audit_consumed(a, index, 2 * i, 2 * i + 1), 0);
	for (uint64_t i = 0; i < N; i++)
		assert_int_equal(audit_consumed(a, index, 2 * i + 1, 2 * i + 2),
				 0);
	assert_int_equal(audit_flush(a, true), 0);
	c = check(1, &e);
	assert_true(audit_epoch_is_exact(e, false));
	assert_int_equal(audit_close(a), 0);
}

/* ---- what fails ---- */

static void limit_files(rlim_t most)
{
	struct rlimit limit;

	assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
	limit.rlim_cur = most;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

/* A record that fits in part goes, and is written again when there is room. */
static void a_full_disk_loses_nothing(void **state)
{
	const struct audit_epoch *e;
	CLEANUP(audit_check_freep) struct audit_check *c = NULL;
	struct audit *a = open_rank(0);
	uint32_t index = begin(a, 1, 0, 1, 100, NULL);
	struct stat st;

	(void)state;
	assert_int_equal(stat(name_of(0), &st), 0);
	assert_true(signal(SIGXFSZ, SIG_IGN) != SIG_ERR);
	limit_files((rlim_t)st.st_size + 10);
	assert_int_equal(audit_consumed(a, index, 0, 100), 0);
	for (int i = 0; i < 3; i++)
		assert_int_equal(audit_flush(a, false), -EFBIG);
	limit_files(RLIM_INFINITY);
	assert_int_equal(audit_close(a), 0);
	assert_true(signal(SIGXFSZ, SIG_DFL) != SIG_ERR);
	c = check(1, &e);
	assert_true(audit_epoch_is_exact(e, false));
	assert_int_equal(audit_check_n_cut(c), 0);
}

static int write_with(int n)
{
	static const struct audit_segment segment = { .dataset = "corpus",
						      .seed = 42,
						      .epoch = 3,
						      .total = 100,
						      .world = 1 };
	struct audit *a = NULL;
	uint32_t index;
	int closed;
	int r;

	alloc_fail_after(n);
	r = audit_open(name_of(0), &a, NULL);
	if (r == 0)
		r = audit_begin(a, &segment, &index);
	if (r == 0)
		r = audit_consumed(a, index, 0, 100);
	closed = audit_close(a);
	alloc_fail_never();
	return r < 0 ? r : closed;
}

static int check_with(int n)
{
	CLEANUP(audit_check_freep) struct audit_check *c = NULL;
	int r;

	alloc_fail_after(n);
	r = audit_check_new(&c);
	for (uint64_t i = 0; i < 2 && r == 0; i++)
		r = audit_check_add(c, name_of(i), NULL);
	if (r == 0)
		r = audit_check_finish(c);
	alloc_fail_never();
	return r;
}

static void a_lack_of_memory_is_told(void **state)
{
	int n, r;

	(void)state;
	for (n = 0; (r = write_with(n)) < 0; n++) {
		assert_int_equal(r, -ENOMEM);
		(void)clear(state);
	}
	assert_in_range(n, 3, 50);
	(void)clear(state);
	write_rank(1, 0, 2, 0, 60);
	write_rank(1, 1, 2, 50, 100);
	for (n = 0; (r = check_with(n)) < 0; n++)
		assert_int_equal(r, -ENOMEM);
	assert_in_range(n, 10, 200);
}

/* Each rank alone has more ranges than a set can have; together they are one. */
static void ranks_of_any_number_of_steps_are_checked(void **state)
{
	enum { STEPS = INTERVAL_SET_MAX + 10000, WORLD = 2 };
	const struct audit_epoch *e;
	CLEANUP(audit_check_freep) struct audit_check *c = NULL;

	(void)state;
	for (uint32_t rank = 0; rank < WORLD; rank++) {
		struct audit *a = open_rank(rank);
		uint32_t index = begin(a, 1, rank, WORLD,
				       WORLD * (uint64_t)STEPS, NULL);

		for (uint64_t step = 0; step < STEPS; step++) {
			uint64_t at = step * WORLD + rank;

			assert_int_equal(audit_consumed(a, index, at, at + 1),
					 0);
		}
		assert_int_equal(audit_close(a), 0);
	}
	c = check(WORLD, &e);
	assert_true(audit_epoch_is_exact(e, false));
	assert_int_equal(e->consumed.n, 1);
}

#define TEST(f) cmocka_unit_test_teardown(f, clear)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(ranks_that_share_an_epoch_prove_it),
		TEST(a_gap_is_named_unless_the_epoch_goes_on),
		TEST(a_position_of_two_ranks_is_named_with_both),
		TEST(what_a_rank_consumes_twice_is_written_twice),
		TEST(a_missing_file_is_named),
		TEST(what_a_crash_lost_is_redone_and_counts_once),
		TEST(what_no_checkpoint_had_is_no_problem),
		TEST(what_a_checkpoint_had_is_looked_at),
		TEST(a_base_must_be_proved_and_respected),
		TEST(ranks_of_a_world_must_begin_alike),
		TEST(what_is_dropped_on_purpose_is_no_gap),
		TEST(elastic_restarts_are_proved_exact),
		TEST(a_file_that_was_cut_off_is_gone_on_with),
		TEST(a_file_that_ends_in_zeros_was_cut_off),
		TEST(a_flipped_bit_never_goes_unseen),
		TEST(a_damaged_or_foreign_file_is_not_written_to),
		TEST(a_file_has_one_writer),
		TEST(numbers_that_cannot_be_are_refused),
		TEST(scattered_positions_are_written_as_they_come),
		TEST(a_full_disk_loses_nothing),
		TEST(a_lack_of_memory_is_told),
		TEST(ranks_of_any_number_of_steps_are_checked),
	};

	return cmocka_run_group_tests(tests, enter, leave);
}
