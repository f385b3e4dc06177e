/* test_watch.c - streams of changes, and commands to workers. */
#include "host.h"

#include <stdio.h>
#include <string.h>

static uint64_t ask_watch(struct host *h, uint64_t conn, const char *id,
			  const char *prefix, bool keys)
{
	Roar__WatchRequest m = ROAR__WATCH_REQUEST__INIT;

	m.worker_id = (char *)id;
	m.key_prefix = (char *)prefix;
	m.keys = keys;
	return ask(h, conn, "Watch", &m);
}

static const Roar__WatchEvent *event(struct host *h, uint64_t call, size_t i)
{
	const struct reply *r = reply_at(h, call, i);

	assert_non_null(r);
	assert_int_equal(r->status, COORD_MORE);
	return MESSAGE(r, Roar__WatchEvent);
}

static uint64_t ask_command(struct host *h, const char *command, char *id)
{
	Roar__CommandRequest m = ROAR__COMMAND_REQUEST__INIT;

	m.command = (char *)command;
	m.worker_ids = &id;
	m.n_worker_ids = id ? 1 : 0;
	return ask(h, 9, "SendCommand", &m);
}

/* ---- the world ---- */

static void a_watch_begins_with_the_world_as_it_is(void **state)
{
	struct host *h = *state;
	const Roar__WatchEvent *e;

	join(h, 1, "a");
	join(h, 2, "b");
	e = event(h, ask_watch(h, 2, "b", "", false), 0);
	assert_int_equal(e->kind, ROAR__WATCH_EVENT__KIND__WORLD);
	assert_int_equal(e->world_size, 2);
	assert_int_equal(e->world_epoch, 2);
	assert_int_equal(e->rank, 1);
	assert_true(e->ready);
	assert_int_equal(event(h, ask_watch(h, 3, "", "", false), 0)->rank, -1);
	expect(h, ask_watch(h, 3, "c", "", false), COORD_NOT_FOUND);
}

static void changes_are_told_with_whom_they_are_about(void **state)
{
	struct host *h = *state;
	const Roar__WatchEvent *e;
	uint64_t call;

	join(h, 1, "a");
	call = ask_watch(h, 1, "a", "", false);
	join(h, 2, "b");
	pass_ms(h, 0);
	e = event(h, call, 1);
	assert_int_equal(e->world_size, 2);
	assert_int_equal(e->n_changed, 1);
	assert_string_equal(e->changed[0]->worker_id, "b");
	assert_int_equal(e->changed[0]->state, ROAR__WORKER_VIEW__STATE__ALIVE);
	expect(h, ask_deregister(h, 2, "b"), COORD_OK);
	pass_ms(h, 100);
	e = event(h, call, 2);
	assert_int_equal(e->changed[0]->state, ROAR__WORKER_VIEW__STATE__GONE);
	assert_int_equal(e->world_size, 1);
	pass_ms(h, 31000);
	e = event(h, call, 3);
	assert_int_equal(e->changed[0]->state, ROAR__WORKER_VIEW__STATE__DEAD);
	assert_false(e->ready);
}

static void many_changes_are_told_together(void **state)
{
	struct host *h = *state;
	uint64_t call;
	char id[8];

	join(h, 1, "a");
	call = ask_watch(h, 1, "a", "", false);
	for (int i = 0; i < 200; i++) {
		snprintf(id, sizeof(id), "w%d", i);
		join(h, 2, id);
		pass_ms(h, 1);
	}
	pass_ms(h, 100);
	assert_in_range(n_replies(h, call), 4, 7);
	assert_int_equal(event(h, call, n_replies(h, call) - 1)->world_size,
			 201);
}

static void readiness_is_told(void **state)
{
	struct host *h = *state;
	Roar__JobSettings s = ROAR__JOB_SETTINGS__INIT;
	uint64_t call, epoch;

	join(h, 1, "a");
	call = ask_watch(h, 1, "a", "", false);
	epoch = event(h, call, 0)->world_epoch;
	s.min_workers = 2;
	configure(h, &s);
	pass_ms(h, 100);
	assert_false(event(h, call, 1)->ready);
	assert_true(event(h, call, 1)->world_epoch > epoch);
}

static void a_watch_ends_with_its_call(void **state)
{
	struct host *h = *state;
	struct coord_counts n;
	uint64_t cancelled, left, late;

	join(h, 1, "a");
	cancelled = ask_watch(h, 2, "a", "", false);
	left = ask_watch(h, 3, "", "", true);
	h->timeout_ms = 50;
	late = ask_watch(h, 4, "", "", false);
	coord_count(h->c, &n);
	assert_int_equal(n.n_watchers, 3);
	coord_cancel(h->c, h->now, cancelled);
	gone(h, 3);
	pass_ms(h, 50);
	assert_int_equal(reply_at(h, late, 1)->status, COORD_DEADLINE_EXCEEDED);
	join(h, 2, "b");
	pass_ms(h, 100);
	assert_int_equal(n_replies(h, cancelled), 1);
	assert_int_equal(n_replies(h, left), 1);
	coord_count(h->c, &n);
	assert_int_equal(n.n_watchers, 0);
}

static void watchers_are_bounded(void **state)
{
	struct coord_limits limits = { .max_watchers = 1 };
	struct host *h = host_new(&limits);

	(void)state;
	join(h, 1, "a");
	ask_watch(h, 1, "", "", false);
	expect(h, ask_watch(h, 1, "", "", false), COORD_RESOURCE_EXHAUSTED);
	host_free(h);
}

/* ---- keys ---- */

static void keys_are_told_to_who_asked_for_them(void **state)
{
	struct host *h = *state;
	Roar__KvSetRequest m = ROAR__KV_SET_REQUEST__INIT;
	Roar__KvDeleteRequest gone = ROAR__KV_DELETE_REQUEST__INIT;
	uint64_t none, some, all;

	join(h, 1, "a");
	none = ask_watch(h, 1, "", "", false);
	some = ask_watch(h, 1, "", "a/", false);
	all = ask_watch(h, 1, "", "", true);
	m.key = "b";
	expect(h, ask(h, 1, "KvSet", &m), COORD_OK);
	m.key = "a/x";
	m.ttl_ms = 1000;
	expect(h, ask(h, 1, "KvSet", &m), COORD_OK);
	gone.key = "b";
	expect(h, ask(h, 1, "KvDelete", &gone), COORD_OK);
	pass_ms(h, 1000);
	assert_int_equal(n_replies(h, none), 1);
	assert_int_equal(n_replies(h, some), 3);
	assert_string_equal(event(h, some, 1)->entry->key, "a/x");
	assert_false(event(h, some, 1)->deleted);
	assert_true(event(h, some, 2)->deleted);
	assert_int_equal(event(h, some, 2)->entry->version, 4);
	assert_int_equal(n_replies(h, all), 5);
	assert_int_equal(event(h, all, 1)->kind, ROAR__WATCH_EVENT__KIND__KEY);
}

/* ---- commands ---- */

static void a_command_is_told_once_in_a_heartbeat(void **state)
{
	struct host *h = *state;
	const Coordinator__HeartbeatResponse *m;

	join(h, 1, "a");
	join(h, 2, "b");
	expect(h, ask_command(h, "checkpoint", NULL), COORD_OK);
	expect(h, ask_command(h, "stop", "a"), COORD_OK);
	host_restart(h);
	m = beat(h, 1, "a");
	assert_int_equal(m->n_pending_commands, 2);
	assert_string_equal(m->pending_commands[0], "checkpoint");
	assert_string_equal(m->pending_commands[1], "stop");
	assert_int_equal(beat(h, 1, "a")->n_pending_commands, 0);
	host_restart(h);
	assert_int_equal(beat(h, 1, "a")->n_pending_commands, 0);
	assert_int_equal(beat(h, 2, "b")->n_pending_commands, 1);
}

static void a_watch_hears_commands_at_once(void **state)
{
	struct host *h = *state;
	uint64_t call;

	join(h, 1, "a");
	expect(h, ask_command(h, "reload", "a"), COORD_OK);
	call = ask_watch(h, 1, "a", "", false);
	assert_string_equal(event(h, call, 1)->command, "reload");
	expect(h, ask_command(h, "stop", "a"), COORD_OK);
	assert_string_equal(event(h, call, 2)->command, "stop");
	assert_int_equal(beat(h, 1, "a")->n_pending_commands, 0);
}

static void what_cannot_be_recorded_is_told_later(void **state)
{
	struct host *h = *state;

	join(h, 1, "a");
	expect(h, ask_command(h, "stop", "a"), COORD_OK);
	h->record_error = -28;
	assert_int_equal(beat(h, 1, "a")->n_pending_commands, 0);
	h->record_error = 0;
	assert_int_equal(beat(h, 1, "a")->n_pending_commands, 1);
}

static void commands_are_bounded(void **state)
{
	struct host *h = *state;
	char *twice[] = { "a", "a" };
	Roar__CommandRequest m = ROAR__COMMAND_REQUEST__INIT;

	join(h, 1, "a");
	expect(h, ask_command(h, "", "a"), COORD_INVALID_ARGUMENT);
	expect(h, ask_command(h, "a\nb", "a"), COORD_INVALID_ARGUMENT);
	expect(h, ask_command(h, "stop", "b"), COORD_NOT_FOUND);
	m.worker_ids = twice;
	m.n_worker_ids = 2;
	m.command = "x";
	for (int i = 0; i < 64; i++)
		assert_int_equal(MESSAGE(expect(h, ask(h, 9, "SendCommand", &m),
						COORD_OK),
					 Roar__CommandReply)
					 ->n_workers,
				 1);
	expect_says(expect(h, ask_command(h, "y", NULL),
			   COORD_RESOURCE_EXHAUSTED),
		    "worker 'a'");
	assert_int_equal(beat(h, 1, "a")->n_pending_commands, 64);
	expect(h, ask_command(h, "y", NULL), COORD_OK);
}

static void who_fetches_nothing_does_not_stand_between(void **state)
{
	struct host *h = *state;
	Roar__DrainRequest drain = ROAR__DRAIN_REQUEST__INIT;
	const Roar__CommandReply *m;
	const Roar__DrainReply *d;

	join(h, 1, "a");
	join(h, 2, "b");
	for (int i = 0; i < 64; i++)
		expect(h, ask_command(h, "x", "a"), COORD_OK);
	m = MESSAGE(expect(h, ask_command(h, "stop", NULL), COORD_OK),
		    Roar__CommandReply);
	assert_int_equal(m->n_workers, 1);
	assert_int_equal(m->n_full, 1);
	assert_string_equal(m->full[0], "a");
	d = MESSAGE(expect(h, ask(h, 9, "Drain", &drain), COORD_OK),
		    Roar__DrainReply);
	assert_int_equal(d->n_workers, 1);
	assert_string_equal(d->full[0], "a");
	assert_int_equal(beat(h, 2, "b")->n_pending_commands, 2);
	assert_int_equal(worker(h, "a")->state,
			 ROAR__WORKER_VIEW__STATE__ALIVE);
	assert_int_equal(worker(h, "b")->state,
			 ROAR__WORKER_VIEW__STATE__DRAINING);
	expect(h, ask_command(h, "stop", "a"), COORD_RESOURCE_EXHAUSTED);
}

static void who_is_drained_is_told_and_listed_so(void **state)
{
	struct host *h = *state;
	Roar__DrainRequest m = ROAR__DRAIN_REQUEST__INIT;
	char *ids[] = { "b" };

	join(h, 1, "a");
	join(h, 2, "b");
	m.worker_ids = ids;
	m.n_worker_ids = 1;
	assert_int_equal(MESSAGE(expect(h, ask(h, 9, "Drain", &m), COORD_OK),
				 Roar__DrainReply)
				 ->n_workers,
			 1);
	assert_int_equal(worker(h, "b")->state,
			 ROAR__WORKER_VIEW__STATE__DRAINING);
	assert_string_equal(beat(h, 2, "b")->pending_commands[0], "drain");
	host_restart(h);
	beat(h, 2, "b");
	assert_int_equal(worker(h, "b")->state,
			 ROAR__WORKER_VIEW__STATE__DRAINING);
	assert_int_equal(beat(h, 1, "a")->n_pending_commands, 0);
	/* Its successor was not asked; one that nobody was told of is. */
	gone(h, 2);
	join(h, 3, "b");
	assert_int_equal(worker(h, "b")->state,
			 ROAR__WORKER_VIEW__STATE__ALIVE);
	expect(h, ask(h, 9, "Drain", &m), COORD_OK);
	gone(h, 3);
	join(h, 4, "b");
	assert_int_equal(worker(h, "b")->state,
			 ROAR__WORKER_VIEW__STATE__DRAINING);
	assert_string_equal(beat(h, 4, "b")->pending_commands[0], "drain");
}

static void the_watch_of_a_predecessor_hears_no_commands(void **state)
{
	struct host *h = *state;
	uint64_t call;

	join(h, 1, "a");
	call = ask_watch(h, 1, "a", "", false);
	pass_ms(h, 20000);
	join(h, 2, "a");
	expect(h, ask_command(h, "stop", "a"), COORD_OK);
	for (size_t i = 0; i < n_replies(h, call); i++)
		assert_int_equal(event(h, call, i)->kind,
				 ROAR__WATCH_EVENT__KIND__WORLD);
	assert_int_equal(beat(h, 2, "a")->n_pending_commands, 1);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, host_setup, host_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_watch_begins_with_the_world_as_it_is),
		TEST(changes_are_told_with_whom_they_are_about),
		TEST(many_changes_are_told_together),
		TEST(readiness_is_told),
		TEST(a_watch_ends_with_its_call),
		cmocka_unit_test(watchers_are_bounded),
		TEST(keys_are_told_to_who_asked_for_them),
		TEST(a_command_is_told_once_in_a_heartbeat),
		TEST(a_watch_hears_commands_at_once),
		TEST(what_cannot_be_recorded_is_told_later),
		TEST(commands_are_bounded),
		TEST(who_fetches_nothing_does_not_stand_between),
		TEST(who_is_drained_is_told_and_listed_so),
		TEST(the_watch_of_a_predecessor_hears_no_commands),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
