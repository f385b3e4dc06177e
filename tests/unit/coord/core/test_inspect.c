/* test_inspect.c - what is shown of a coordinator, without asking it. */
#include "coord/inspect.h"

#include <string.h>

#include "host.h"

static struct {
	int n;
	int64_t min, max, total, moved, last_moved, last_minimum;
	char jobs[64];
} datasets;

static void take_dataset(void *data, const struct coord_dataset_look *d)
{
	(void)data;
	datasets.n++;
	datasets.min = d->min_shards;
	datasets.max = d->max_shards;
	datasets.total = d->total_shards;
	datasets.moved = d->moved_shards;
	datasets.last_moved = d->last_moved;
	datasets.last_minimum = d->last_minimum;
	strncat(datasets.jobs, d->job,
		sizeof(datasets.jobs) - strlen(datasets.jobs) - 1);
}

static void look_at_datasets(struct host *h, const char *job)
{
	memset(&datasets, 0, sizeof(datasets));
	coord_each_dataset(h->c, job, take_dataset, NULL);
}

static void add_dataset(struct host *h, const char *job, int64_t samples)
{
	Coordinator__DatasetInfo m = COORDINATOR__DATASET_INFO__INIT;

	m.dataset_id = "d";
	m.total_samples = samples;
	m.shard_size = 1;
	m.job_id = (char *)job;
	expect(h, ask(h, 1, "RegisterDataset", &m), COORD_OK);
}

/* The first who asks makes the coordinator deal. */
static void ask_for_shards(struct host *h, uint64_t conn, const char *id)
{
	Roar__ListShardsRequest m = ROAR__LIST_SHARDS_REQUEST__INIT;

	m.worker_id = (char *)id;
	m.dataset_id = "d";
	expect(h, ask(h, conn, "ListShards", &m), COORD_OK);
}

static void a_dataset_says_how_even_its_shards_are(void **state)
{
	struct host *h = *state;

	add_dataset(h, "", 11);
	look_at_datasets(h, NULL);
	assert_int_equal(datasets.n, 1);
	assert_int_equal(datasets.total, 11);
	for (int i = 0; i < 4; i++)
		join(h, (uint64_t)i + 1, (char[]){ (char)('a' + i), '\0' });
	look_at_datasets(h, NULL);
	assert_int_equal(datasets.max, 0); /* nobody has asked, or has any */
	assert_int_equal(coord_shards_of(h->c, "default", 0), 0);
	ask_for_shards(h, 1, "a");
	look_at_datasets(h, NULL);
	assert_int_equal(datasets.min, 2);
	assert_int_equal(datasets.max, 3);
}

static void shards_of_all_workers_are_all_shards(void **state)
{
	struct host *h = *state;
	int64_t sum = 0;

	add_dataset(h, "", 1001);
	for (int i = 0; i < 7; i++)
		join(h, (uint64_t)i + 1, (char[]){ (char)('a' + i), '\0' });
	ask_for_shards(h, 1, "a");
	for (int32_t rank = 0; rank < 7; rank++)
		sum += coord_shards_of(h->c, "default", rank);
	assert_int_equal(sum, 1001);
	assert_int_equal(coord_shards_of(h->c, "default", 7), 0);
	assert_int_equal(coord_shards_of(h->c, "nobody", 0), 0);
}

static void what_was_dealt_is_shown_as_it_is(void **state)
{
	struct host *h = *state;

	add_dataset(h, "", 10);
	join(h, 1, "a");
	join(h, 2, "b");
	ask_for_shards(h, 1, "a");
	expect(h, ask_deregister(h, 1, "a"), COORD_OK);
	join(h, 3, "c");
	look_at_datasets(h, NULL);
	assert_int_equal(datasets.min, 5);
	assert_int_equal(datasets.max, 5);
	assert_int_equal(datasets.moved, 10); /* to b, then to c */
	assert_int_equal(datasets.last_moved, 5);
	assert_int_equal(datasets.last_minimum, 5);
	assert_int_equal(coord_shards_of(h->c, "default", 1), 5);
}

static void one_job_shows_nothing_of_others(void **state)
{
	struct host *h = *state;

	add_dataset(h, "one", 1);
	add_dataset(h, "two", 2);
	look_at_datasets(h, NULL);
	assert_string_equal(datasets.jobs, "onetwo");
	look_at_datasets(h, "two");
	assert_string_equal(datasets.jobs, "two");
	look_at_datasets(h, "three");
	assert_int_equal(datasets.n, 0);
}

/* ---- checkpoints ---- */

static struct coord_step_look steps[8];
static size_t n_steps;

static void take_step(void *data, const struct coord_step_look *s)
{
	(void)data;
	steps[n_steps++] = *s;
}

static void save(struct host *h, const char *id, int64_t step, int64_t size)
{
	Coordinator__CheckpointInfo m = COORDINATOR__CHECKPOINT_INFO__INIT;

	m.worker_id = (char *)id;
	m.checkpoint_id = "c";
	m.step = step;
	m.size_bytes = size;
	m.timestamp_ms = 1000 * step;
	expect(h, ask(h, 1, "NotifyCheckpoint", &m), COORD_OK);
}

static void steps_come_newest_first_with_their_parts(void **state)
{
	struct host *h = *state;

	n_steps = 0;
	join(h, 1, "a");
	join(h, 2, "b");
	save(h, "a", 5, 10);
	save(h, "b", 5, INT64_MAX);
	save(h, "a", 9, 7);
	coord_each_step(h->c, NULL, take_step, NULL);
	assert_int_equal(n_steps, 2);
	assert_int_equal(steps[0].step, 9);
	assert_false(steps[0].complete);
	assert_int_equal(steps[0].size_bytes, 7);
	assert_int_equal(steps[0].saved_ms, 9000);
	assert_true(steps[1].complete);
	assert_int_equal(steps[1].n_parts, 2);
	assert_int_equal(steps[1].size_bytes, INT64_MAX); /* not less */
	assert_string_equal(coord_step_part(&steps[1], 1)->worker_id, "b");
}

/* ---- workers and barriers ---- */

struct seen {
	char ids[64];
	int64_t age_ms;
	int32_t arrived, expected;
	size_t n_missing;
};

static void take_worker(void *data, const Roar__WorkerView *w)
{
	struct seen *seen = data;

	strcat(seen->ids, w->worker_id);
	seen->age_ms = w->heartbeat_age_ms;
}

static void take_barrier(void *data, const char *job,
			 const Roar__BarrierView *b)
{
	struct seen *seen = data;

	strcat(seen->ids, job);
	seen->age_ms = b->age_ms;
	seen->arrived = b->arrived;
	seen->expected = b->expected;
	seen->n_missing = b->n_missing;
}

static void workers_come_by_rank_in_parts(void **state)
{
	struct host *h = *state;
	struct seen seen = { 0 };

	for (int i = 0; i < 5; i++)
		join(h, (uint64_t)i + 1, (char[]){ (char)('a' + i), '\0' });
	pass_ms(h, 100);
	assert_int_equal(coord_each_worker(h->c, h->now, "default", 1, 2,
					   take_worker, &seen),
			 2);
	assert_string_equal(seen.ids, "bc");
	assert_int_equal(seen.age_ms, 100);
	assert_int_equal(coord_each_worker(h->c, h->now, "default", 5, 2,
					   take_worker, &seen),
			 0);
	assert_int_equal(coord_each_worker(h->c, h->now, "nobody", 0, 2,
					   take_worker, &seen),
			 0);
}

static void a_barrier_says_how_many_are_missing(void **state)
{
	struct host *h = *state;
	struct seen seen = { 0 };

	join(h, 1, "a");
	join(h, 2, "b");
	expect_waiting(h, ask_barrier(h, 1, "a", "x", 1));
	pass_ms(h, 30);
	coord_each_barrier(h->c, h->now, NULL, take_barrier, &seen);
	assert_string_equal(seen.ids, "default");
	assert_int_equal(seen.age_ms, 30);
	assert_int_equal(seen.arrived, 1);
	assert_int_equal(seen.expected, 2);
	assert_int_equal(seen.n_missing, 1);
}

static void count_job(void *data, const Roar__JobStatus *status)
{
	(void)status;
	++*(int *)data;
}

static void jobs_are_walked(void **state)
{
	struct host *h = *state;
	int n = 0;

	add_dataset(h, "one", 1);
	add_dataset(h, "two", 1);
	coord_each_job(h->c, NULL, count_job, &n);
	assert_int_equal(n, 2);
	coord_each_job(h->c, "one", count_job, &n);
	assert_int_equal(n, 3);
	coord_each_job(h->c, "three", count_job, &n);
	assert_int_equal(n, 3);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, host_setup, host_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_dataset_says_how_even_its_shards_are),
		TEST(shards_of_all_workers_are_all_shards),
		TEST(what_was_dealt_is_shown_as_it_is),
		TEST(one_job_shows_nothing_of_others),
		TEST(steps_come_newest_first_with_their_parts),
		TEST(workers_come_by_rank_in_parts),
		TEST(a_barrier_says_how_many_are_missing),
		TEST(jobs_are_walked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
