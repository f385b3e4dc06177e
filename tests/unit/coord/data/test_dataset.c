/* test_dataset.c - datasets and checkpoints of a job. */
#include "host.h"

#include <stdio.h>
#include <string.h>

static uint64_t ask_dataset(struct host *h, int64_t samples, int64_t shard)
{
	Coordinator__DatasetInfo m = COORDINATOR__DATASET_INFO__INIT;

	m.dataset_id = "d";
	m.path = "/data/d";
	m.total_samples = samples;
	m.shard_size = shard;
	return ask(h, 1, "RegisterDataset", &m);
}

static const Coordinator__DatasetAck *ack(struct host *h, uint64_t call)
{
	return MESSAGE(expect(h, call, COORD_OK), Coordinator__DatasetAck);
}

static void shards_are_counted_upwards(void **state)
{
	struct host *h = *state;

	assert_int_equal(ack(h, ask_dataset(h, 1001, 100))->total_shards, 11);
	assert_int_equal(ack(h, ask_dataset(h, 1001, 100))->total_shards, 11);
	expect_says(expect(h, ask_dataset(h, 1000, 100), COORD_ALREADY_EXISTS),
		    "1001 samples");
}

static uint64_t ask_with(struct host *h, const char *path, const char *format,
			 const char *const *words, size_t n)
{
	Coordinator__DatasetInfo m = COORDINATOR__DATASET_INFO__INIT;
	Coordinator__DatasetInfo__MetadataEntry entries[2], *ptrs[2];

	for (size_t i = 0; i < n; i++) {
		coordinator__dataset_info__metadata_entry__init(&entries[i]);
		entries[i].key = (char *)words[2 * i];
		entries[i].value = (char *)words[2 * i + 1];
		ptrs[i] = &entries[i];
	}
	m.dataset_id = "d";
	m.path = (char *)path;
	m.format = (char *)format;
	m.total_samples = 10;
	m.shard_size = 1;
	m.metadata = ptrs;
	m.n_metadata = n;
	return ask(h, 1, "RegisterDataset", &m);
}

static void the_field_that_is_another_is_named(void **state)
{
	static const char *const words[] = { "a", "1", "b", "2" };
	static const char *const turned[] = { "b", "2", "a", "1" };
	static const char *const other[] = { "a", "1", "b", "3" };
	struct host *h = *state;

	ack(h, ask_with(h, "/d", "tar", words, 2));
	ack(h, ask_with(h, "/d", "tar", words, 2));
	ack(h, ask_with(h, "/d", "tar", turned, 2));
	host_restart(h);
	expect_says(expect(h, ask_with(h, "/e", "tar", words, 2),
			   COORD_ALREADY_EXISTS),
		    "with another path");
	expect_says(expect(h, ask_with(h, "/d", "raw", words, 2),
			   COORD_ALREADY_EXISTS),
		    "with another format");
	expect_says(expect(h, ask_with(h, "/d", "tar", other, 2),
			   COORD_ALREADY_EXISTS),
		    "with another metadata");
	expect(h, ask_with(h, "/d", "tar", words, 1), COORD_ALREADY_EXISTS);
}

static const Roar__ListDatasetsReply *datasets(struct host *h, const char *id,
					       int32_t first, int32_t limit)
{
	Roar__ListDatasetsRequest m = ROAR__LIST_DATASETS_REQUEST__INIT;

	m.dataset_id = (char *)id;
	m.first = first;
	m.limit = limit;
	return MESSAGE(expect(h, ask(h, 0, "ListDatasets", &m), COORD_OK),
		       Roar__ListDatasetsReply);
}

static void datasets_are_listed_as_they_were_registered(void **state)
{
	struct host *h = *state;
	Coordinator__DatasetInfo m = COORDINATOR__DATASET_INFO__INIT;
	Roar__ListDatasetsRequest bad = ROAR__LIST_DATASETS_REQUEST__INIT;
	const Roar__ListDatasetsReply *found;
	char id[8];

	m.dataset_id = id;
	m.shard_size = 1;
	for (int i = 0; i < 5; i++) {
		snprintf(id, sizeof(id), "d-%d", 9 - i);
		expect(h, ask(h, 1, "RegisterDataset", &m), COORD_OK);
	}
	host_restart(h);
	found = datasets(h, "", 0, 3);
	assert_int_equal(found->n_datasets, 3);
	assert_string_equal(found->datasets[0]->dataset_id, "d-9");
	assert_int_equal(found->next, 3);
	found = datasets(h, "", found->next, 3);
	assert_int_equal(found->n_datasets, 2);
	assert_int_equal(found->next, 0);
	assert_int_equal(datasets(h, "", INT32_MAX, 0)->n_datasets, 0);
	assert_int_equal(datasets(h, "d-7", 0, 0)->n_datasets, 1);
	bad.dataset_id = "x";
	expect(h, ask(h, 0, "ListDatasets", &bad), COORD_NOT_FOUND);
	bad.dataset_id = "";
	bad.first = -1;
	expect(h, ask(h, 0, "ListDatasets", &bad), COORD_INVALID_ARGUMENT);
}

static void counts_that_make_no_sense_are_refused(void **state)
{
	struct host *h = *state;

	expect(h, ask_dataset(h, 100, 0), COORD_INVALID_ARGUMENT);
	expect(h, ask_dataset(h, 100, -1), COORD_INVALID_ARGUMENT);
	expect(h, ask_dataset(h, -1, 1), COORD_INVALID_ARGUMENT);
	assert_int_equal(
		ack(h, ask_dataset(h, INT64_MAX, INT64_MAX))->total_shards, 1);
}

static void more_shards_than_fit_are_refused(void **state)
{
	struct host *h = *state;

	expect_says(expect(h, ask_dataset(h, INT64_MAX, 1),
			   COORD_RESOURCE_EXHAUSTED),
		    "take a larger shard_size");
	expect(h, ask_dataset(h, (1 << 25) + 1, 1), COORD_RESOURCE_EXHAUSTED);
}

/* ---- checkpoints ---- */

static uint64_t ask_saved(struct host *h, const char *id, int64_t step)
{
	Coordinator__CheckpointInfo m = COORDINATOR__CHECKPOINT_INFO__INIT;
	char name[64];

	snprintf(name, sizeof(name), "%s-%lld", id, (long long)step);
	m.worker_id = (char *)id;
	m.checkpoint_id = name;
	m.step = step;
	m.epoch = step / 10;
	m.storage_path = "/ckpt";
	m.type = COORDINATOR__CHECKPOINT_TYPE__INCREMENTAL;
	return ask(h, 1, "NotifyCheckpoint", &m);
}

static int64_t saved(struct host *h, const char *id, int64_t step)
{
	return MESSAGE(expect(h, ask_saved(h, id, step), COORD_OK),
		       Coordinator__CheckpointAck)
		->global_step;
}

static const Coordinator__RecoveryResponse *latest(struct host *h,
						   const char *id)
{
	Coordinator__RecoveryRequest m = COORDINATOR__RECOVERY_REQUEST__INIT;

	m.worker_id = (char *)id;
	return MESSAGE(expect(h, ask(h, 1, "GetLatestCheckpoint", &m), COORD_OK),
		       Coordinator__RecoveryResponse);
}

static void a_step_counts_when_all_have_saved_it(void **state)
{
	struct host *h = *state;
	const Coordinator__RecoveryResponse *m;

	assert_false(latest(h, "a")->has_checkpoint);
	join(h, 1, "a");
	join(h, 2, "b");
	assert_int_equal(saved(h, "a", 100), 0);
	assert_int_equal(saved(h, "a", 100), 0);
	assert_false(latest(h, "a")->has_checkpoint);
	assert_int_equal(saved(h, "b", 100), 100);
	assert_int_equal(saved(h, "b", 200), 100);
	host_restart(h);
	m = latest(h, "b");
	assert_true(m->has_checkpoint);
	assert_int_equal(m->resume_step, 100);
	assert_int_equal(m->resume_epoch, 10);
	assert_string_equal(m->latest_checkpoint->checkpoint_id, "b-100");
	assert_int_equal(m->latest_checkpoint->type,
			 COORDINATOR__CHECKPOINT_TYPE__INCREMENTAL);
	assert_string_equal(latest(h, "new")->latest_checkpoint->checkpoint_id,
			    "a-100");
}

static uint64_t ask_shard(struct host *h, uint64_t conn, const char *id)
{
	Coordinator__ShardRequest m = COORDINATOR__SHARD_REQUEST__INIT;

	m.worker_id = (char *)id;
	m.dataset_id = "d";
	return ask(h, conn, "GetDataShard", &m);
}

static void who_recovers_is_told_its_shards(void **state)
{
	struct host *h = *state;
	const Coordinator__RecoveryResponse *m;

	expect(h, ask_dataset(h, 95, 10), COORD_OK);
	join(h, 1, "a");
	join(h, 2, "b");
	/* Nobody has asked: nothing was dealt, and is not for this. */
	assert_int_equal(latest(h, "a")->n_shard_assignments, 0);
	expect(h, ask_shard(h, 2, "b"), COORD_OK);
	m = latest(h, "a");
	assert_false(m->has_checkpoint);
	assert_int_equal(m->n_shard_assignments, 5);
	assert_int_equal(m->shard_assignments[4]->shard_id, 4);
	assert_int_equal(m->shard_assignments[4]->end_index, 50);
	assert_string_equal(m->shard_assignments[0]->file_paths[0], "/data/d");
	assert_int_equal(latest(h, "b")->n_shard_assignments, 0); /* not b */
	assert_int_equal(latest(h, "new")->n_shard_assignments, 0);
	expect(h, ask_deregister(h, 2, "b"), COORD_OK);
	host_restart(h);
	assert_int_equal(latest(h, "a")->n_shard_assignments, 10);
}

static void shards_of_a_recovery_are_bounded(void **state)
{
	struct host *h = *state;

	expect(h, ask_dataset(h, 1 << 20, 1), COORD_OK);
	join(h, 1, "a");
	expect(h, ask_shard(h, 1, "a"), COORD_OK);
	assert_int_equal(latest(h, "a")->n_shard_assignments, 1000);
}

static void parts_of_two_worlds_do_not_make_one(void **state)
{
	struct host *h = *state;

	join(h, 1, "a");
	join(h, 2, "b");
	saved(h, "a", 100);
	expect(h, ask_deregister(h, 2, "b"), COORD_OK);
	join(h, 3, "c");
	join(h, 4, "d");
	assert_int_equal(saved(h, "c", 100), 0);
	assert_int_equal(saved(h, "d", 100), 0);
	assert_int_equal(saved(h, "a", 100), 100);
	/* A complete one stays complete. */
	expect(h, ask_deregister(h, 4, "d"), COORD_OK);
	assert_int_equal(saved(h, "a", 100), 100);
}

static void a_world_is_more_than_its_size(void **state)
{
	struct host *h = *state;

	join(h, 1, "a");
	join(h, 2, "b");
	assert_int_equal(saved(h, "a", 10), 0);
	expect(h, ask_deregister(h, 1, "a"), COORD_OK);
	join(h, 3, "c");
	assert_int_equal(saved(h, "b", 10), 0); /* c has not */
	host_restore(h);
	assert_int_equal(saved(h, "c", 10), 10);
}

/* All begin again from an earlier step then. */
static void a_part_from_before_a_failure_does_not_count(void **state)
{
	struct host *h = *state;

	join(h, 1, "a");
	join(h, 2, "b");
	assert_int_equal(saved(h, "a", 10), 0);
	gone(h, 2);
	join(h, 3, "b");
	assert_int_equal(saved(h, "b", 10), 0);
	assert_int_equal(saved(h, "a", 10), 10);
	/* The same process, back, is no other. */
	assert_int_equal(saved(h, "a", 20), 10);
	gone(h, 3);
	pass_ms(h, 10000);
	beat(h, 4, "b");
	assert_int_equal(saved(h, "b", 20), 20);
}

static void old_steps_are_forgotten_but_not_the_one_to_resume(void **state)
{
	struct host *h = *state;

	join(h, 1, "a");
	join(h, 2, "b");
	saved(h, "a", 1);
	saved(h, "b", 1);
	for (int64_t step = 2; step < 200; step++)
		assert_int_equal(saved(h, "a", step), 1);
	assert_int_equal(latest(h, "a")->resume_step, 1);
	assert_int_equal(saved(h, "b", 199), 199);
	assert_int_equal(saved(h, "a", 200), 199);
	assert_int_equal(latest(h, "b")->resume_step, 199);
}

static void checkpoints_are_checked(void **state)
{
	struct host *h = *state;
	Coordinator__CheckpointInfo m = COORDINATOR__CHECKPOINT_INFO__INIT;

	join(h, 1, "a");
	expect(h, ask_saved(h, "x", 1), COORD_NOT_FOUND);
	expect(h, ask_saved(h, "a", -1), COORD_INVALID_ARGUMENT);
	m.worker_id = "a";
	expect(h, ask(h, 1, "NotifyCheckpoint", &m), COORD_INVALID_ARGUMENT);
	m.checkpoint_id = "c";
	m.size_bytes = -1;
	expect(h, ask(h, 1, "NotifyCheckpoint", &m), COORD_INVALID_ARGUMENT);
	m.size_bytes = 0;
	m.storage_path = "\xff";
	expect(h, ask(h, 1, "NotifyCheckpoint", &m), COORD_INVALID_ARGUMENT);
	m.storage_path = "";
	m.type = 4;
	expect(h, ask(h, 1, "NotifyCheckpoint", &m), COORD_INVALID_ARGUMENT);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, host_setup, host_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(shards_are_counted_upwards),
		TEST(the_field_that_is_another_is_named),
		TEST(datasets_are_listed_as_they_were_registered),
		TEST(who_recovers_is_told_its_shards),
		TEST(shards_of_a_recovery_are_bounded),
		TEST(counts_that_make_no_sense_are_refused),
		TEST(more_shards_than_fit_are_refused),
		TEST(a_step_counts_when_all_have_saved_it),
		TEST(parts_of_two_worlds_do_not_make_one),
		TEST(a_world_is_more_than_its_size),
		TEST(a_part_from_before_a_failure_does_not_count),
		TEST(old_steps_are_forgotten_but_not_the_one_to_resume),
		TEST(checkpoints_are_checked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
