/* test_membership.c - places: taken, kept, taken over, left. */
#include "host.h"

#include <string.h>

static void ranks_are_dealt_in_order_and_epochs_grow(void **state)
{
	struct host *h = *state;
	const Coordinator__WorkerConfig *a = join(h, 1, "a");
	const Coordinator__WorkerConfig *b = join(h, 2, "b");

	assert_int_equal(a->rank, 0);
	assert_int_equal(b->rank, 1);
	assert_int_equal(b->world_size, 2);
	assert_true(b->world_epoch > a->world_epoch);
	assert_int_equal(a->incarnation, 1);
	assert_true(a->session && a->session != b->session);
	assert_string_equal(a->assigned_id, "a");
	assert_int_equal(a->heartbeat_interval_ms, 5000);
}

static void earlier_workers_learn_of_the_larger_world(void **state)
{
	struct host *h = *state;

	join(h, 1, "a");
	assert_int_equal(beat(h, 1, "a")->world_size, 1);
	join(h, 2, "b");
	assert_int_equal(beat(h, 1, "a")->world_size, 2);
}

static void a_second_live_one_is_refused(void **state)
{
	struct host *h = *state;
	uint64_t call;

	join(h, 1, "a");
	pass_ms(h, 1200);
	call = ask_register(h, 2, "a", 0);
	expect_says(expect(h, call, COORD_ALREADY_EXISTS),
		    "last contact 1200 ms ago");
	call = ask_register(h, 2, "a", 12345);
	expect(h, call, COORD_FAILED_PRECONDITION);
}

static void who_did_not_hear_its_place_is_told_again(void **state)
{
	struct host *h = *state;
	const Coordinator__WorkerConfig *a = join(h, 1, "a"), *again;
	size_t n = h->n_records;

	again = join(h, 1, "a");
	assert_int_equal(again->session, a->session);
	assert_int_equal(again->incarnation, 1);
	assert_int_equal(again->rank, 0);
	assert_int_equal(h->n_records, n);
	/* Another's session is not its own, on whichever connection. */
	expect(h, ask_register(h, 1, "a", 12345), COORD_FAILED_PRECONDITION);
	/* Without a connection nothing is known of who asks. */
	expect(h, ask_register(h, 0, "a", 0), COORD_ALREADY_EXISTS);
}

static void after_a_restart_the_holder_comes_first(void **state)
{
	struct host *h = *state;
	const Coordinator__WorkerConfig *a = join(h, 1, "a");

	join(h, 2, "b");
	host_restart(h);
	pass_ms(h, 4000);
	expect_says(expect(h, ask_register(h, 3, "a", 0), COORD_ALREADY_EXISTS),
		    "free in 6000 ms");
	expect(h, ask_register(h, 4, "a", a->session), COORD_OK);
	pass_ms(h, 5999);
	expect(h, ask_register(h, 3, "b", 0), COORD_ALREADY_EXISTS);
	pass_ms(h, 1);
	assert_int_equal(join(h, 3, "b")->incarnation, 2);
}

static void after_a_restart_a_dead_holder_does_not(void **state)
{
	struct host *h = *state;

	join(h, 1, "a");
	gone(h, 1);
	pass_ms(h, 10000);
	host_restart(h);
	assert_int_equal(join(h, 2, "a")->incarnation, 2);
}

static void the_same_process_comes_back_to_its_place(void **state)
{
	struct host *h = *state;
	const Coordinator__WorkerConfig *a = join(h, 1, "a"), *again;
	uint64_t call;

	join(h, 2, "b");
	gone(h, 1);
	call = ask_register(h, 3, "a", a->session);
	again = MESSAGE(expect(h, call, COORD_OK), Coordinator__WorkerConfig);
	assert_int_equal(again->rank, 0);
	assert_int_equal(again->incarnation, 1);
	assert_true(again->session == a->session);
	assert_int_equal(again->world_epoch, 2);
}

static void a_successor_takes_the_place_of_who_is_gone(void **state)
{
	struct host *h = *state;
	const Coordinator__WorkerConfig *a = join(h, 1, "a"), *b;
	uint64_t call;

	join(h, 2, "b");
	gone(h, 1);
	b = join(h, 3, "a");
	assert_int_equal(b->rank, 0);
	assert_int_equal(b->incarnation, 2);
	assert_true(b->session != a->session);
	assert_int_equal(b->world_size, 2);
	call = ask_heartbeat(h, 1, "a", a->session);
	expect_says(expect(h, call, COORD_FAILED_PRECONDITION),
		    "incarnation 2");
	expect(h, ask_heartbeat(h, 3, "a", b->session), COORD_OK);
}

static void a_predecessor_cannot_arrive_for_its_successor(void **state)
{
	struct host *h = *state;
	const Coordinator__WorkerConfig *a = join(h, 1, "a"), *b;
	Coordinator__BarrierRequest m = COORDINATOR__BARRIER_REQUEST__INIT;

	pass_ms(h, 20000); /* silent, its connection is open */
	b = join(h, 2, "a");
	m.worker_id = "a";
	m.barrier_id = "x";
	m.session = a->session;
	expect(h, ask(h, 3, "WaitBarrier", &m), COORD_FAILED_PRECONDITION);
	expect(h, ask_barrier(h, 1, "a", "x", 0), COORD_FAILED_PRECONDITION);
	expect(h, ask_heartbeat(h, 1, "a", 0), COORD_FAILED_PRECONDITION);
	expect(h, ask_deregister(h, 1, "a"), COORD_FAILED_PRECONDITION);
	m.session = b->session;
	expect(h, ask(h, 2, "WaitBarrier", &m), COORD_OK);
	expect(h, ask_barrier(h, 3, "a", "x", 0), COORD_OK);
}

/* Asleep while another came, and awake when that one is suspect or dead. */
static void a_predecessor_does_not_get_the_place_back(void **state)
{
	struct host *h = *state;
	const Coordinator__WorkerConfig *a = join(h, 1, "a"), *b;

	gone(h, 1);
	b = join(h, 2, "a");
	gone(h, 2);
	for (int dead = 0; dead < 2; dead++) {
		expect_says(expect(h, ask_register(h, 3, "a", a->session),
				   COORD_FAILED_PRECONDITION),
			    "incarnation 2");
		expect(h, ask_register(h, 4, "a", b->session), COORD_OK);
		gone(h, 4);
		pass_ms(h, 10000);
	}
	pass_ms(h, 60000);
	assert_null(worker(h, "a"));
	expect(h, ask_register(h, 3, "a", a->session), COORD_OK);
}

static void who_did_not_hear_of_its_new_place_comes_again(void **state)
{
	struct host *h = *state;
	const Coordinator__WorkerConfig *a = join(h, 1, "a"), *again;

	expect(h, ask_deregister(h, 1, "a"), COORD_OK);
	for (uint64_t conn = 2; conn < 4; conn++) {
		again = MESSAGE(expect(h, ask_register(h, conn, "a", a->session),
				       COORD_OK),
				Coordinator__WorkerConfig);
		assert_true(again->session == a->session);
		assert_int_equal(again->incarnation, 1);
		gone(h, conn);
	}
}

static void one_connection_may_be_of_many_processes(void **state)
{
	struct host *h = *state;

	join(h, 1, "a");
	pass_ms(h, 20000);
	assert_int_equal(join(h, 1, "a")->incarnation, 2);
	beat(h, 1, "a");
}

static void unknown_workers_are_not_found(void **state)
{
	struct host *h = *state;

	expect(h, ask_heartbeat(h, 1, "a", 0), COORD_NOT_FOUND);
	join(h, 1, "a");
	expect(h, ask_heartbeat(h, 1, "b", 0), COORD_NOT_FOUND);
	expect(h, ask_deregister(h, 1, "b"), COORD_NOT_FOUND);
}

static void who_leaves_makes_room_for_the_highest_rank(void **state)
{
	struct host *h = *state;
	const Coordinator__WorkerConfig *left;

	join(h, 1, "a");
	join(h, 2, "b");
	join(h, 3, "c");
	join(h, 4, "d");
	left = MESSAGE(expect(h, ask_deregister(h, 2, "b"), COORD_OK),
		       Coordinator__WorkerConfig);
	assert_int_equal(left->rank, 1);
	assert_int_equal(left->world_size, 3);
	assert_int_equal(beat(h, 4, "d")->rank, 1);
	assert_int_equal(beat(h, 3, "c")->rank, 2);
	assert_int_equal(beat(h, 1, "a")->rank, 0);
	assert_int_equal(join(h, 2, "b")->rank, 3);
	assert_int_equal(worker(h, "b")->incarnation, 1);
}

static void a_full_job_takes_no_more(void **state)
{
	struct host *h = *state;
	Roar__JobSettings s = ROAR__JOB_SETTINGS__INIT;

	s.max_workers = 2;
	configure(h, &s);
	join(h, 1, "a");
	join(h, 2, "b");
	expect_says(expect(h, ask_register(h, 3, "c", 0),
			   COORD_RESOURCE_EXHAUSTED),
		    "max_workers");
	expect(h, ask_deregister(h, 1, "a"), COORD_OK);
	join(h, 3, "c");
}

static void a_full_server_takes_no_more(void **state)
{
	struct coord_limits limits = { .max_workers = 1 };
	struct host *h = host_new(&limits);

	(void)state;
	join(h, 1, "a");
	expect(h, ask_register(h, 3, "c", 0), COORD_RESOURCE_EXHAUSTED);
	host_check_replay(h);
	host_free(h);
}

static void bad_ids_are_named_not_repeated(void **state)
{
	struct host *h = *state;
	static char huge[10 << 20];
	const struct reply *r;

	memset(huge, 'x', sizeof(huge) - 1);
	r = expect(h, ask_register(h, 1, huge, 0), COORD_INVALID_ARGUMENT);
	expect_says(r, "10485759 bytes");
	assert_true(strlen(r->sentence) < 200);
	r = expect(h, ask_register(h, 1, "", 0), COORD_INVALID_ARGUMENT);
	expect_says(r, "empty");
	r = expect(h, ask_register(h, 1, "a/b", 0), COORD_INVALID_ARGUMENT);
	expect_says(r, "0x2f at position 1");
	expect(h, ask_register(h, 1, "a b", 0), COORD_INVALID_ARGUMENT);
	expect(h, ask_register(h, 1, "\xc3\xa4", 0), COORD_INVALID_ARGUMENT);
}

static void metadata_is_bounded_and_comes_back_as_config(void **state)
{
	struct host *h = *state;
	Coordinator__WorkerInfo__MetadataEntry entry =
		COORDINATOR__WORKER_INFO__METADATA_ENTRY__INIT;
	Coordinator__WorkerInfo__MetadataEntry *many[65];
	Coordinator__WorkerInfo m = COORDINATOR__WORKER_INFO__INIT;
	const Coordinator__WorkerConfig *config;

	for (size_t i = 0; i < 65; i++)
		many[i] = &entry;
	entry.key = "zone";
	entry.value = "b";
	m.worker_id = "a";
	m.metadata = many;
	m.n_metadata = 65;
	expect(h, ask(h, 1, "RegisterWorker", &m), COORD_INVALID_ARGUMENT);
	m.n_metadata = 1;
	config = MESSAGE(expect(h, ask(h, 1, "RegisterWorker", &m), COORD_OK),
			 Coordinator__WorkerConfig);
	assert_int_equal(config->n_config, 1);
	assert_string_equal(config->config[0]->value, "b");
	assert_string_equal(worker(h, "a")->metadata[0]->key, "zone");
}

static void what_heartbeats_say_is_listed(void **state)
{
	struct host *h = *state;
	Coordinator__HeartbeatRequest m = COORDINATOR__HEARTBEAT_REQUEST__INIT;
	Coordinator__WorkerStatus status = COORDINATOR__WORKER_STATUS__INIT;
	Coordinator__ResourceUsage usage = COORDINATOR__RESOURCE_USAGE__INIT;
	Coordinator__GpuUsage gpu = COORDINATOR__GPU_USAGE__INIT;
	Coordinator__GpuUsage *gpus[] = { &gpu };
	const Roar__WorkerView *view;

	join(h, 1, "a");
	status.state = COORDINATOR__WORKER_STATUS__STATE__TRAINING;
	status.current_step = 17;
	status.current_task = "forward";
	gpu.memory_used_bytes = 42;
	usage.gpu_usage = gpus;
	usage.n_gpu_usage = 1;
	m.worker_id = "a";
	m.status = &status;
	m.resources = &usage;
	for (int i = 0; i < 3; i++)
		expect(h, ask(h, 1, "Heartbeat", &m), COORD_OK);
	view = worker(h, "a");
	assert_int_equal(view->status->current_step, 17);
	assert_string_equal(view->status->current_task, "forward");
	assert_int_equal(view->resources->gpu_usage[0]->memory_used_bytes, 42);
}

static void unknown_fields_end_with_their_heartbeat(void **state)
{
	struct host *h = *state;
	uint8_t byte = 1;
	ProtobufCMessageUnknownField field = { .tag = 77,
					       .len = 1,
					       .data = &byte };
	Coordinator__HeartbeatRequest m = COORDINATOR__HEARTBEAT_REQUEST__INIT;
	Coordinator__ResourceUsage usage = COORDINATOR__RESOURCE_USAGE__INIT;
	Coordinator__GpuUsage gpu = COORDINATOR__GPU_USAGE__INIT;
	Coordinator__GpuUsage *gpus[] = { &gpu };
	const Roar__WorkerView *view;

	join(h, 1, "a");
	gpu.base.unknown_fields = usage.base.unknown_fields = &field;
	gpu.base.n_unknown_fields = usage.base.n_unknown_fields = 1;
	usage.gpu_usage = gpus;
	usage.n_gpu_usage = 1;
	m.worker_id = "a";
	m.resources = &usage;
	expect(h, ask(h, 1, "Heartbeat", &m), COORD_OK);
	view = worker(h, "a");
	assert_int_equal(view->resources->base.n_unknown_fields, 0);
	assert_int_equal(view->resources->gpu_usage[0]->base.n_unknown_fields,
			 0);
}

static void a_stream_of_heartbeats_ends_for_who_is_unknown(void **state)
{
	struct host *h = *state;
	Coordinator__HeartbeatRequest m = COORDINATOR__HEARTBEAT_REQUEST__INIT;
	uint64_t call;

	join(h, 1, "a");
	m.worker_id = "a";
	call = ask(h, 1, "StreamHeartbeats", &m);
	expect(h, call, COORD_MORE);
	coord_finish(h->c, h->now, call);
	assert_int_equal(reply_at(h, call, 1)->status, COORD_OK);
	assert_null(reply_at(h, call, 1)->message);
	m.worker_id = "b";
	call = ask(h, 1, "StreamHeartbeats", &m);
	expect(h, call, COORD_NOT_FOUND);
}

static void time_to_end_has_bounds(void **state)
{
	struct host *h = *state;
	Roar__StopRequest m = ROAR__STOP_REQUEST__INIT;

	m.grace_ms = -1;
	expect(h, ask(h, 1, "Stop", &m), COORD_INVALID_ARGUMENT);
	m.grace_ms = INT64_MAX;
	expect(h, ask(h, 1, "Stop", &m), COORD_INVALID_ARGUMENT);
	m.grace_ms = 86400000;
	expect(h, ask(h, 1, "Stop", &m), COORD_OK);
}

static void a_token_is_good_for_its_job_alone(void **state)
{
	struct host *h = *state;
	Coordinator__HeartbeatRequest m = COORDINATOR__HEARTBEAT_REQUEST__INIT;
	Roar__StopRequest stop = ROAR__STOP_REQUEST__INIT;
	Roar__ListJobsRequest list = ROAR__LIST_JOBS_REQUEST__INIT;
	const struct reply *known, *unknown;
	const Roar__ListJobsReply *jobs;

	join(h, 1, "a");
	h->who.job = "mine";
	h->who.admin = false;
	join(h, 2, "b");
	m.worker_id = "a";
	m.job_id = "default";
	known = expect(h, ask(h, 2, "Heartbeat", &m), COORD_PERMISSION_DENIED);
	m.job_id = "nowhere";
	unknown = expect(h, ask(h, 2, "Heartbeat", &m),
			 COORD_PERMISSION_DENIED);
	assert_string_equal(known->sentence, unknown->sentence);
	m.worker_id = "b";
	m.job_id = "mine";
	expect(h, ask(h, 2, "Heartbeat", &m), COORD_OK);
	expect(h, ask(h, 2, "Stop", &stop), COORD_PERMISSION_DENIED);
	jobs = MESSAGE(expect(h, ask(h, 2, "ListJobs", &list), COORD_OK),
		       Roar__ListJobsReply);
	assert_int_equal(jobs->n_jobs, 1);
	assert_string_equal(jobs->jobs[0]->job_id, "mine");
}

static void one_job_of_several_cannot_take_everything(void **state)
{
	struct coord_limits limits = { .max_workers = 4,
				       .max_waiting = 4,
				       .max_key_bytes = 4 };
	struct host *h = host_new(&limits);
	Roar__KvGetRequest get = ROAR__KV_GET_REQUEST__INIT;
	Roar__KvSetRequest set = ROAR__KV_SET_REQUEST__INIT;
	Roar__StatusRequest status = ROAR__STATUS_REQUEST__INIT;
	const Roar__StatusReply *m;
	static const char *const jobs[] = { "a", "b", "c", "d", "e" };

	(void)state;
	h->who.job = "mine";
	join(h, 1, "a");
	join(h, 1, "b");
	join(h, 1, "c");
	expect(h, ask_register(h, 1, "d", 0), COORD_RESOURCE_EXHAUSTED);
	get.key = "k";
	get.wait = true;
	for (int i = 0; i < 3; i++)
		expect_waiting(h, ask(h, 1, "KvGet", &get));
	expect(h, ask(h, 1, "KvGet", &get), COORD_RESOURCE_EXHAUSTED);
	h->who.job = "other";
	join(h, 2, "a");
	/* It is full now, of whom does not concern this job. */
	expect_says(expect(h, ask_register(h, 2, "b", 0),
			   COORD_RESOURCE_EXHAUSTED),
		    "(job 'other' has 1)");
	expect_waiting(h, ask(h, 2, "KvGet", &get));
	m = MESSAGE(expect(h, ask(h, 2, "GetStatus", &status), COORD_OK),
		    Roar__StatusReply);
	assert_int_equal(m->n_jobs, 1);
	assert_int_equal(m->n_workers, 1);
	set.key = "1234";
	for (int i = 0; i < 5; i++) {
		h->who.job = jobs[i];
		expect(h, ask(h, 2, "KvSet", &set),
		       i < 4 ? COORD_OK : COORD_RESOURCE_EXHAUSTED);
	}
	host_check_replay(h);
	host_free(h);
}

static void what_cannot_be_recorded_changes_nothing(void **state)
{
	struct host *h = *state;

	join(h, 1, "a");
	h->record_error = -28; /* ENOSPC */
	expect_says(expect(h, ask_register(h, 2, "b", 0),
			   COORD_RESOURCE_EXHAUSTED),
		    "disk is full");
	expect(h, ask_deregister(h, 1, "a"), COORD_RESOURCE_EXHAUSTED);
	h->record_error = -5; /* EIO */
	expect(h, ask_register(h, 2, "b", 0), COORD_UNAVAILABLE);
	h->record_error = 0;
	assert_int_equal(beat(h, 1, "a")->world_size, 1);
	assert_int_equal(join(h, 2, "b")->rank, 1);
}

static void an_empty_job_gives_way_when_room_is_needed(void **state)
{
	struct coord_limits limits = { .max_jobs = 2 };
	struct host *h = host_new(&limits);
	struct coord_counts counts;

	(void)state;
	h->who.job = "one";
	join(h, 1, "a");
	h->who.job = "two";
	join(h, 2, "a");
	h->who.job = "three";
	expect(h, ask_register(h, 3, "a", 0), COORD_RESOURCE_EXHAUSTED);
	h->who.job = "two";
	expect(h, ask_deregister(h, 2, "a"), COORD_OK);
	h->who.job = "three";
	join(h, 3, "a");
	coord_count(h->c, &counts);
	assert_int_equal(counts.n_jobs, 2);
	host_check_replay(h);
	host_free(h);
}

static void set_key(struct host *h, const char *job)
{
	Roar__KvSetRequest m = ROAR__KV_SET_REQUEST__INIT;

	m.job_id = (char *)job;
	m.key = "k";
	m.value.data = (uint8_t *)"value";
	m.value.len = 5;
	expect(h, ask(h, 1, "KvSet", &m), COORD_OK);
}

static uint64_t ask_forget(struct host *h, const char *job)
{
	Roar__ForgetRequest m = ROAR__FORGET_REQUEST__INIT;

	m.job_id = (char *)job;
	return ask(h, 1, "Forget", &m);
}

static void has_jobs(struct host *h, const char *first, const char *second)
{
	Roar__ListJobsRequest m = ROAR__LIST_JOBS_REQUEST__INIT;
	const Roar__ListJobsReply *r = MESSAGE(
		expect(h, ask(h, 1, "ListJobs", &m), COORD_OK),
		Roar__ListJobsReply);

	assert_int_equal(r->n_jobs, 2);
	assert_string_equal(r->jobs[0]->job_id, first);
	assert_string_equal(r->jobs[1]->job_id, second);
}

/* The longest unused first. */
static void settings_alone_keep_no_job(void **state)
{
	struct coord_limits limits = { .max_jobs = 2 };
	struct host *h = host_new(&limits);
	Roar__JobSettings settings = ROAR__JOB_SETTINGS__INIT;

	(void)state;
	settings.min_workers = 7;
	settings.job_id = "one";
	configure(h, &settings);
	pass_ms(h, 10);
	settings.job_id = "two";
	configure(h, &settings);
	pass_ms(h, 10);
	settings.job_id = "one";
	configure(h, &settings);
	pass_ms(h, 10);
	set_key(h, "three");
	has_jobs(h, "one", "three");
	host_check_replay(h);
	host_free(h);
}

static void a_job_that_nobody_is_in_can_be_forgotten(void **state)
{
	struct coord_limits limits = { .max_jobs = 2 };
	struct host *h = host_new(&limits);
	Roar__KvSetRequest more = ROAR__KV_SET_REQUEST__INIT;
	struct coord_counts counts;

	(void)state;
	set_key(h, "one");
	set_key(h, "two");
	more.job_id = "three";
	more.key = "k";
	expect_says(expect(h, ask(h, 1, "KvSet", &more),
			   COORD_RESOURCE_EXHAUSTED),
		    "'roar coordinator forget --job NAME'");
	expect(h, ask_forget(h, "three"), COORD_NOT_FOUND);
	expect(h, ask_forget(h, "one"), COORD_OK);
	set_key(h, "three");
	has_jobs(h, "two", "three");
	coord_count(h->c, &counts);
	assert_int_equal(counts.key_bytes, 12);
	host_check_replay(h);
	host_free(h);
}

static void a_job_that_somebody_is_in_cannot_be_forgotten(void **state)
{
	struct host *h = *state;
	Roar__KvGetRequest get = ROAR__KV_GET_REQUEST__INIT;
	uint64_t call;

	join(h, 1, "a");
	expect_says(expect(h, ask_forget(h, ""), COORD_FAILED_PRECONDITION),
		    "1 place(s)");
	expect(h, ask_deregister(h, 1, "a"), COORD_OK);
	get.key = "k";
	get.wait = true;
	call = ask(h, 2, "KvGet", &get);
	expect(h, ask_forget(h, ""), COORD_FAILED_PRECONDITION);
	coord_cancel(h->c, h->now, call);
	expect(h, ask_forget(h, ""), COORD_OK);
	expect(h, ask_forget(h, ""), COORD_NOT_FOUND);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, host_setup, host_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(ranks_are_dealt_in_order_and_epochs_grow),
		TEST(earlier_workers_learn_of_the_larger_world),
		TEST(a_second_live_one_is_refused),
		TEST(who_did_not_hear_its_place_is_told_again),
		TEST(after_a_restart_the_holder_comes_first),
		TEST(after_a_restart_a_dead_holder_does_not),
		TEST(the_same_process_comes_back_to_its_place),
		TEST(a_successor_takes_the_place_of_who_is_gone),
		TEST(a_predecessor_cannot_arrive_for_its_successor),
		TEST(a_predecessor_does_not_get_the_place_back),
		TEST(who_did_not_hear_of_its_new_place_comes_again),
		TEST(one_connection_may_be_of_many_processes),
		TEST(unknown_workers_are_not_found),
		TEST(who_leaves_makes_room_for_the_highest_rank),
		TEST(a_full_job_takes_no_more),
		cmocka_unit_test(a_full_server_takes_no_more),
		TEST(bad_ids_are_named_not_repeated),
		TEST(metadata_is_bounded_and_comes_back_as_config),
		TEST(what_heartbeats_say_is_listed),
		TEST(unknown_fields_end_with_their_heartbeat),
		TEST(a_stream_of_heartbeats_ends_for_who_is_unknown),
		TEST(time_to_end_has_bounds),
		TEST(a_token_is_good_for_its_job_alone),
		cmocka_unit_test(one_job_of_several_cannot_take_everything),
		TEST(what_cannot_be_recorded_changes_nothing),
		cmocka_unit_test(an_empty_job_gives_way_when_room_is_needed),
		cmocka_unit_test(settings_alone_keep_no_job),
		cmocka_unit_test(a_job_that_nobody_is_in_can_be_forgotten),
		TEST(a_job_that_somebody_is_in_cannot_be_forgotten),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
