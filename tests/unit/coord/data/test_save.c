/* test_save.c - checkpoints that all ranks of one world commit, or none. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "coord/inspect.h"
#include "host.h"

enum { DIGEST = 32 };

/* The next requests: what differs from the usual. */
static struct {
	const char *save;
	uint64_t world_epoch, token;
	int64_t step;
	char digest; /* every byte of it */
} with;

static int setup(void **state)
{
	memset(&with, 0, sizeof(with));
	with.save = "9f3ac2d1";
	with.step = 100;
	return host_setup(state);
}

static uint64_t ask_commit(struct host *h, uint64_t conn, const char *id,
			   Roar__CommitRequest *m)
{
	Coordinator__CheckpointInfo info = COORDINATOR__CHECKPOINT_INFO__INIT;

	info.worker_id = (char *)id;
	info.checkpoint_id = (char *)with.save;
	info.step = with.step;
	info.epoch = 3;
	info.storage_path = "/ckpt/step-000000000100";
	info.size_bytes = 1000;
	m->info = &info;
	m->session = session_of(h, id);
	m->world_epoch = with.world_epoch;
	m->fencing_token = with.token;
	return ask(h, conn, "CommitCheckpoint", m);
}

static void fill(char digest[DIGEST], char usual, ProtobufCBinaryData *ret)
{
	memset(digest, with.digest ? with.digest : usual, DIGEST);
	ret->data = (uint8_t *)digest;
	ret->len = DIGEST;
}

static uint64_t part(struct host *h, uint64_t conn, const char *id)
{
	Roar__CommitRequest m = ROAR__COMMIT_REQUEST__INIT;
	char digest[DIGEST];

	fill(digest, *id, &m.part);
	return ask_commit(h, conn, id, &m);
}

static uint64_t manifest(struct host *h, uint64_t conn, const char *id)
{
	Roar__CommitRequest m = ROAR__COMMIT_REQUEST__INIT;
	char digest[DIGEST];

	fill(digest, 'm', &m.manifest);
	return ask_commit(h, conn, id, &m);
}

static uint64_t failure(struct host *h, uint64_t conn, const char *id,
			const char *why)
{
	Roar__CommitRequest m = ROAR__COMMIT_REQUEST__INIT;

	m.failure = (char *)why;
	return ask_commit(h, conn, id, &m);
}

static const Roar__CommitReply *told(struct host *h, uint64_t call)
{
	return MESSAGE(expect(h, call, COORD_OK), Roar__CommitReply);
}

static void is_committed(struct host *h, uint64_t call)
{
	const Roar__CommitReply *m = told(h, call);

	assert_true(m->committed);
	assert_int_equal(m->manifest.len, DIGEST);
	assert_int_equal(m->manifest.data[31], 'm');
}

static int64_t newest(struct host *h)
{
	Coordinator__RecoveryRequest m = COORDINATOR__RECOVERY_REQUEST__INIT;

	return MESSAGE(expect(h, ask(h, 0, "GetLatestCheckpoint", &m), COORD_OK),
		       Coordinator__RecoveryResponse)
		->resume_step;
}

static struct coord_step_look seen;

static void take(void *data, const struct coord_step_look *s)
{
	(void)data;
	if (!seen.job)
		seen = *s;
}

static const struct coord_step_look *look(struct host *h)
{
	seen.job = NULL;
	coord_each_step(h->c, NULL, take, NULL);
	return &seen;
}

static void join_all(struct host *h)
{
	join(h, 1, "a");
	join(h, 2, "b");
	join(h, 3, "c");
}

static void save_all(struct host *h)
{
	uint64_t b = part(h, 2, "b"), c = part(h, 3, "c");

	told(h, part(h, 1, "a"));
	is_committed(h, manifest(h, 1, "a"));
	is_committed(h, b);
	is_committed(h, c);
}

/* ---- as it should be ---- */

static void rank_0_writes_when_all_parts_are_there(void **state)
{
	struct host *h = *state;
	const Roar__CommitReply *m;
	uint64_t a, b, c;

	join_all(h);
	a = part(h, 1, "a");
	c = part(h, 3, "c");
	expect_waiting(h, a);
	b = part(h, 2, "b");
	m = told(h, a);
	assert_false(m->committed);
	assert_int_equal(m->n_parts, 3);
	assert_int_equal(m->world_epoch, 3);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(m->parts[i]->rank, i);
		assert_int_equal(m->parts[i]->worker_id[0], 'a' + i);
		assert_int_equal(m->parts[i]->digest.data[0], 'a' + i);
		assert_int_equal(m->parts[i]->size_bytes, 1000);
	}
	expect_waiting(h, b);
	assert_int_equal(newest(h), 0);
	is_committed(h, manifest(h, 1, "a"));
	is_committed(h, b);
	is_committed(h, c);
	assert_int_equal(newest(h), 100);
	assert_true(look(h)->complete);
	assert_int_equal(seen.manifest[0], 'm');
	assert_null(seen.trouble);
	assert_string_equal(seen.told_by, "a");
}

static void a_world_of_one_commits_alone(void **state)
{
	struct host *h = *state;

	join(h, 1, "a");
	assert_int_equal(told(h, part(h, 1, "a"))->n_parts, 1);
	is_committed(h, manifest(h, 1, "a"));
	is_committed(h, part(h, 1, "a")); /* asked again: the same answer */
	is_committed(h, manifest(h, 1, "a"));
}

static void a_recovering_worker_is_told_the_manifest(void **state)
{
	struct host *h = *state;
	Coordinator__RecoveryRequest q = COORDINATOR__RECOVERY_REQUEST__INIT;
	const Coordinator__RecoveryResponse *m;

	join_all(h);
	save_all(h);
	host_restore(h);
	q.worker_id = "b";
	m = MESSAGE(expect(h, ask(h, 0, "GetLatestCheckpoint", &q), COORD_OK),
		    Coordinator__RecoveryResponse);
	assert_true(m->has_checkpoint);
	assert_string_equal(m->latest_checkpoint->worker_id, "b");
	assert_string_equal(m->latest_checkpoint->checkpoint_id, "9f3ac2d1");
	assert_int_equal(m->manifest.len, DIGEST);
	assert_int_equal(m->manifest.data[0], 'm');
	assert_int_equal(m->world_epoch, 3);
	assert_int_equal(m->resume_epoch, 3);
}

/* Its client asks again for what it waits for, and so do the others. */
static void a_save_goes_on_after_a_restart(void **state)
{
	struct host *h = *state;
	uint64_t b;

	join_all(h);
	part(h, 2, "b");
	host_restart(h);
	part(h, 1, "a");
	host_restore(h);
	b = part(h, 2, "b");
	expect_waiting(h, part(h, 3, "c"));
	told(h, part(h, 1, "a"));
	host_restart(h);
	is_committed(h, manifest(h, 1, "a"));
	expect_waiting(h, b); /* of the coordinator before */
	is_committed(h, part(h, 2, "b"));
	is_committed(h, part(h, 3, "c"));
}

static void an_answer_that_was_lost_is_given_again(void **state)
{
	struct host *h = *state;

	join_all(h);
	part(h, 2, "b");
	part(h, 3, "c");
	told(h, part(h, 1, "a"));
	assert_int_equal(told(h, part(h, 1, "a"))->n_parts, 3);
}

/* ---- what is refused ---- */

static void a_stale_fencing_token_is_refused(void **state)
{
	struct host *h = *state;

	coord_set_fencing_token(h->c, 7);
	join(h, 1, "a");
	expect_says(expect(h, part(h, 1, "a"), COORD_FAILED_PRECONDITION),
		    "the fencing token 0 is stale, the leader's is 7");
	with.token = 7;
	told(h, part(h, 1, "a"));
	coord_set_fencing_token(h->c, 8);
	expect(h, manifest(h, 1, "a"), COORD_FAILED_PRECONDITION);
	assert_int_equal(newest(h), 0);
	with.token = 8; /* it has heard of the new leader: the save goes on */
	is_committed(h, manifest(h, 1, "a"));
}

static void another_world_is_refused(void **state)
{
	struct host *h = *state;

	join_all(h);
	with.world_epoch = 2;
	expect_says(expect(h, part(h, 1, "a"), COORD_ABORTED),
		    "began in epoch 2 of the world, which is in epoch 3 now");
	with.world_epoch = 3;
	expect_waiting(h, part(h, 1, "a"));
}

static void a_manifest_before_all_parts_is_refused(void **state)
{
	struct host *h = *state;
	const struct reply *r;

	join_all(h);
	expect(h, manifest(h, 1, "a"), COORD_FAILED_PRECONDITION);
	part(h, 1, "a");
	part(h, 2, "b");
	r = expect(h, manifest(h, 1, "a"), COORD_FAILED_PRECONDITION);
	expect_says(r, "2 of 3 parts were there; missing: 'c'");
	assert_int_equal(r->n_names, 1);
	assert_int_equal(newest(h), 0);
}

static void only_rank_0_commits(void **state)
{
	struct host *h = *state;

	join_all(h);
	part(h, 1, "a");
	part(h, 2, "b");
	part(h, 3, "c");
	expect_says(expect(h, manifest(h, 2, "b"), COORD_FAILED_PRECONDITION),
		    "rank 0");
}

static void two_saves_of_one_step_do_not_go_on_at_once(void **state)
{
	struct host *h = *state;

	join_all(h);
	part(h, 1, "a");
	with.save = "00000001";
	expect_says(expect(h, part(h, 2, "b"), COORD_FAILED_PRECONDITION),
		    "step 100 is being saved as '9f3ac2d1', with 1 of 3 parts");
	expect(h, failure(h, 2, "b", "no"), COORD_FAILED_PRECONDITION);
	expect(h, manifest(h, 1, "a"), COORD_FAILED_PRECONDITION);
	with.save = "9f3ac2d1";
	save_all(h);
	with.save = "00000001";
	expect_says(expect(h, part(h, 2, "b"), COORD_ALREADY_EXISTS),
		    "step 100 was already saved as '9f3ac2d1'");
}

static void a_commit_stays_as_it_is(void **state)
{
	struct host *h = *state;

	join_all(h);
	save_all(h);
	with.digest = 'x';
	expect_says(expect(h, manifest(h, 1, "a"), COORD_FAILED_PRECONDITION),
		    "with another manifest; that stays so");
	expect(h, failure(h, 1, "a", "no"), COORD_FAILED_PRECONDITION);
	assert_int_equal(newest(h), 100);
}

static void another_part_of_the_same_save_is_refused(void **state)
{
	struct host *h = *state;

	join_all(h);
	part(h, 2, "b");
	with.digest = 'x';
	expect(h, part(h, 2, "b"), COORD_FAILED_PRECONDITION);
}

static void saves_are_the_worker_s_own(void **state)
{
	struct host *h = *state;
	Roar__CommitRequest m = ROAR__COMMIT_REQUEST__INIT;
	Coordinator__CheckpointInfo info = COORDINATOR__CHECKPOINT_INFO__INIT;
	char digest[DIGEST] = { 0 };

	join_all(h);
	expect(h, ask(h, 1, "CommitCheckpoint", &m), COORD_INVALID_ARGUMENT);
	m.info = &info;
	info.worker_id = "a";
	expect(h, ask(h, 2, "CommitCheckpoint", &m), COORD_PERMISSION_DENIED);
	expect(h, ask(h, 1, "CommitCheckpoint", &m), COORD_INVALID_ARGUMENT);
	info.checkpoint_id = "s";
	expect_says(expect(h, ask(h, 1, "CommitCheckpoint", &m),
			   COORD_INVALID_ARGUMENT),
		    "give exactly one");
	m.part.data = (uint8_t *)digest;
	m.part.len = 31;
	expect_says(expect(h, ask(h, 1, "CommitCheckpoint", &m),
			   COORD_INVALID_ARGUMENT),
		    "has 31 bytes");
	m.part.len = DIGEST;
	expect_waiting(h, ask(h, 1, "CommitCheckpoint", &m));
}

static void both_ways_of_saving_do_not_mix(void **state)
{
	struct host *h = *state;
	Coordinator__CheckpointInfo m = COORDINATOR__CHECKPOINT_INFO__INIT;

	join_all(h);
	m.worker_id = "a";
	m.checkpoint_id = "n";
	m.step = 100;
	expect(h, ask(h, 1, "NotifyCheckpoint", &m), COORD_OK);
	expect(h, failure(h, 2, "b", "no"), COORD_FAILED_PRECONDITION);
	part(h, 2, "b"); /* takes its place: it was not complete */
	expect_says(expect(h, ask(h, 1, "NotifyCheckpoint", &m),
			   COORD_FAILED_PRECONDITION),
		    "saved by CommitCheckpoint");
	m.step = 200;
	expect(h, ask(h, 1, "NotifyCheckpoint", &m), COORD_OK);
	m.worker_id = "b";
	expect(h, ask(h, 1, "NotifyCheckpoint", &m), COORD_OK);
	m.worker_id = "c";
	expect(h, ask(h, 1, "NotifyCheckpoint", &m), COORD_OK);
	with.step = 200;
	expect(h, part(h, 2, "b"), COORD_ALREADY_EXISTS);
}

/* ---- failures ---- */

static void a_rank_that_cannot_save_ends_it_for_all(void **state)
{
	struct host *h = *state;
	struct coord_counts counts;
	uint64_t a;

	join_all(h);
	a = part(h, 1, "a");
	assert_false(told(h, failure(h, 2, "b", "the disk is full"))->committed);
	expect_says(
		expect(h, a, COORD_ABORTED),
		"step 100 was not saved as '9f3ac2d1': the disk is full (told by worker 'b'); 1 of 3 parts were there");
	host_restart(h);
	expect(h, part(h, 3, "c"), COORD_ABORTED);
	told(h, failure(h, 2, "b", "the disk is full"));
	host_restore(h);
	assert_string_equal(look(h)->trouble, "the disk is full");
	assert_string_equal(seen.told_by, "b");
	assert_false(seen.complete);
	coord_count(h->c, &counts);
	assert_int_equal(counts.n_saves_failed, 0); /* since the start */
	with.save = "00000001"; /* and once more */
	save_all(h);
	coord_count(h->c, &counts);
	assert_int_equal(counts.n_committed, 1);
}

static void who_fails_first_needs_no_part(void **state)
{
	struct host *h = *state;

	join_all(h);
	told(h, failure(h, 2, "b", "no"));
	host_restore(h);
	assert_int_equal(look(h)->n_parts, 0);
	expect(h, part(h, 1, "a"), COORD_ABORTED);
	assert_int_equal(newest(h), 0);
}

static void while_rank_0_writes_only_rank_0_can_fail(void **state)
{
	struct host *h = *state;
	uint64_t b;

	join_all(h);
	b = part(h, 2, "b");
	part(h, 3, "c");
	told(h, part(h, 1, "a"));
	expect(h, failure(h, 3, "c", "no"), COORD_FAILED_PRECONDITION);
	expect_waiting(h, b);
	told(h, failure(h, 1, "a", "the manifest is too large"));
	expect(h, b, COORD_ABORTED);
	expect(h, manifest(h, 1, "a"), COORD_ABORTED);
}

static void a_death_before_all_parts_ends_the_save(void **state)
{
	struct host *h = *state;
	struct coord_counts counts;
	uint64_t a;

	join_all(h);
	a = part(h, 1, "a");
	part(h, 2, "b");
	gone(h, 3);
	for (int i = 0; i < 3; i++) {
		pass_ms(h, 4000);
		beat(h, 1, "a");
		beat(h, 2, "b");
	}
	expect_says(
		expect(h, a, COORD_ABORTED),
		"the world changed before all parts were there; 2 of 3 parts were there; missing: 'c'");
	coord_count(h->c, &counts);
	assert_int_equal(counts.n_saves_failed, 1);
	expect(h, part(h, 1, "a"), COORD_ABORTED);
	with.save = "00000001";
	expect_says(expect(h, part(h, 1, "a"), COORD_ABORTED),
		    "worker 'c' (rank 2) is dead");
	assert_non_null(look(h)->trouble);
	join(h, 4, "c");
	with.save = "00000002"; /* in the place of the first */
	part(h, 4, "c");
	part(h, 2, "b");
	told(h, part(h, 1, "a"));
	is_committed(h, manifest(h, 1, "a"));
}

static void a_death_after_all_parts_does_not(void **state)
{
	struct host *h = *state;
	uint64_t b;

	join_all(h);
	b = part(h, 2, "b");
	part(h, 3, "c");
	told(h, part(h, 1, "a"));
	expect(h, ask_deregister(h, 3, "c"), COORD_OK);
	expect_waiting(h, b);
	is_committed(h, manifest(h, 1, "a"));
	is_committed(h, b);
	assert_int_equal(newest(h), 100);
}

static void the_outcome_is_unknown_when_rank_0_is_lost(void **state)
{
	struct host *h = *state;
	uint64_t b;

	join_all(h);
	b = part(h, 2, "b");
	part(h, 3, "c");
	told(h, part(h, 1, "a"));
	gone(h, 1);
	join(h, 4, "a"); /* a successor */
	expect_says(expect(h, b, COORD_DATA_LOSS), "remove nothing");
	expect(h, part(h, 2, "b"), COORD_DATA_LOSS);
	expect(h, manifest(h, 4, "a"), COORD_FAILED_PRECONDITION);
	assert_int_equal(newest(h), 0);
	with.save = "00000001"; /* the new world saves it anew */
	b = part(h, 2, "b");
	with.save = "9f3ac2d1"; /* of that one the manifest may exist still */
	expect(h, part(h, 3, "c"), COORD_DATA_LOSS);
	with.save = "00000001";
	told(h, failure(h, 3, "c", "no"));
	with.save = "00000002";
	told(h, failure(h, 3, "c", "no"));
	with.save = "9f3ac2d1";
	host_restore(h);
	with.world_epoch = 3;
	expect(h, part(h, 2, "b"), COORD_DATA_LOSS);
	expect(h, failure(h, 2, "b", "no"), COORD_DATA_LOSS);
	with.world_epoch = 0;
	with.save = "00000003";
	b = part(h, 2, "b");
	part(h, 3, "c");
	told(h, part(h, 4, "a"));
	is_committed(h, manifest(h, 4, "a"));
	is_committed(h, b);
	with.save = "9f3ac2d1";
	expect(h, manifest(h, 4, "a"), COORD_ALREADY_EXISTS);
}

static void a_deadline_names_who_is_missing(void **state)
{
	struct host *h = *state;
	const struct reply *r;
	uint64_t a;

	join_all(h);
	h->timeout_ms = 100;
	a = part(h, 1, "a");
	pass_ms(h, 200);
	r = expect(h, a, COORD_DEADLINE_EXCEEDED);
	expect_says(r, "1 of 3 parts were there; missing: 'b', 'c'");
	assert_int_equal(r->n_names, 2);
	h->timeout_ms = 0;
	part(h, 2, "b"); /* the part of "a" is there all the same */
	part(h, 3, "c");
	is_committed(h, manifest(h, 1, "a"));
}

static void a_full_disk_records_nothing(void **state)
{
	struct host *h = *state;

	join(h, 1, "a");
	h->record_error = -ENOSPC;
	expect(h, part(h, 1, "a"), COORD_RESOURCE_EXHAUSTED);
	h->record_error = 0;
	told(h, part(h, 1, "a"));
	h->record_error = -ENOSPC;
	expect(h, manifest(h, 1, "a"), COORD_RESOURCE_EXHAUSTED);
	expect(h, failure(h, 1, "a", "no"), COORD_RESOURCE_EXHAUSTED);
	assert_int_equal(newest(h), 0);
	h->record_error = 0;
	is_committed(h, manifest(h, 1, "a"));
}

static void a_step_that_is_forgotten_refuses_its_calls(void **state)
{
	struct host *h = *state;
	uint64_t first;

	join_all(h);
	first = part(h, 1, "a");
	for (with.step = 101; with.step < 170; with.step++)
		part(h, 1, "a");
	expect_says(expect(h, first, COORD_ABORTED), "newer steps");
}

#define REFUSED(h, message)                                                 \
	({                                                                  \
		Roar__Record__Record record_ = ROAR__RECORD__RECORD__INIT;  \
		record_.what_case = ROAR__RECORD__RECORD__WHAT_SAVE_END;    \
		record_.save_end = (message);                               \
		assert_int_equal(coord_replay((h)->c, &record_), -EBADMSG); \
	})

static void ends_that_make_no_sense_are_refused(void **state)
{
	struct host *h = *state;
	Roar__Record__SaveEnd m = ROAR__RECORD__SAVE_END__INIT;
	uint8_t digest[DIGEST] = { 0 };

	join_all(h);
	save_all(h);
	m.job_id = "none";
	m.save_id = "s";
	REFUSED(h, &m);
	m.job_id = "default";
	m.save_id = "";
	REFUSED(h, &m);
	m.save_id = "9f3ac2d1";
	m.step = 100;
	REFUSED(h, &m); /* has ended */
	m.save_id = "s";
	REFUSED(h, &m); /* is complete */
	m.step = 1;
	m.manifest.data = digest;
	m.manifest.len = DIGEST;
	REFUSED(h, &m); /* has no part */
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, host_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(rank_0_writes_when_all_parts_are_there),
		TEST(a_world_of_one_commits_alone),
		TEST(a_recovering_worker_is_told_the_manifest),
		TEST(a_save_goes_on_after_a_restart),
		TEST(an_answer_that_was_lost_is_given_again),
		TEST(a_stale_fencing_token_is_refused),
		TEST(another_world_is_refused),
		TEST(a_manifest_before_all_parts_is_refused),
		TEST(only_rank_0_commits),
		TEST(two_saves_of_one_step_do_not_go_on_at_once),
		TEST(a_commit_stays_as_it_is),
		TEST(another_part_of_the_same_save_is_refused),
		TEST(saves_are_the_worker_s_own),
		TEST(both_ways_of_saving_do_not_mix),
		TEST(a_rank_that_cannot_save_ends_it_for_all),
		TEST(who_fails_first_needs_no_part),
		TEST(while_rank_0_writes_only_rank_0_can_fail),
		TEST(a_death_before_all_parts_ends_the_save),
		TEST(a_death_after_all_parts_does_not),
		TEST(the_outcome_is_unknown_when_rank_0_is_lost),
		TEST(a_deadline_names_who_is_missing),
		TEST(a_full_disk_records_nothing),
		TEST(a_step_that_is_forgotten_refuses_its_calls),
		TEST(ends_that_make_no_sense_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
