/* A client against a coordinator that loses connections, is gone, or says odd things. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <roar/coord.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
/* after the four it needs */
#include <cmocka.h>

#include "coord/client/client.h"
#include "fake.h"

struct fixture {
	struct fake fake;
	struct roar_coord *c;
};

static struct roar_coord *join(struct fake *f, uint32_t flags)
{
	struct roar_coord_options o = { .address = f->address,
					.worker_id = "w-1",
					.job = "j",
					.token = "secret",
					.flags = flags };
	struct roar_coord *c = NULL;
	int r = roar_coord_join(&o, &c);

	if (r < 0)
		fail_msg("join: %d %s", r, roar_coord_error());
	return c;
}

static int setup(void **state)
{
	struct fixture *x = calloc(1, sizeof(*x));

	fake_start(&x->fake);
	x->c = join(&x->fake, 0);
	*state = x;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *x = *state;

	roar_coord_free(x->c);
	fake_stop(&x->fake);
	free(x);
	return 0;
}

/* ---- a call in a thread ---- */

struct work {
	pthread_t thread;
	struct roar_coord *c;
	const char *id;
	uint64_t generation;
	int64_t timeout_ms;
	int result;
	char error[1024], absent[256];
	struct roar_coord_meeting m;
};

static void *meet_body(void *arg)
{
	struct work *w = arg;

	w->result = roar_coord_barrier(w->c, w->id, w->generation,
				       w->timeout_ms, &w->m);
	(void)snprintf(w->error, sizeof(w->error), "%s", roar_coord_error());
	(void)snprintf(w->absent, sizeof(w->absent), "%s", roar_coord_absent());
	return NULL;
}

static void begin(struct work *w, struct roar_coord *c, const char *id,
		  int64_t timeout_ms)
{
	*w = (struct work){ .c = c, .id = id, .timeout_ms = timeout_ms };
	assert_int_equal(pthread_create(&w->thread, NULL, meet_body, w), 0);
}

static int end(struct work *w)
{
	assert_int_equal(pthread_join(w->thread, NULL), 0);
	roar_coord_meeting_release(&w->m);
	return w->result;
}

/* ---- joining ---- */

static void joining_tells_the_world_and_says_token_and_job(void **state)
{
	struct fixture *x = *state;
	struct roar_coord_world w;

	roar_coord_world(x->c, &w);
	assert_int_equal(w.rank, 1);
	assert_int_equal(w.size, 2);
	assert_int_equal(w.epoch, 1);
	assert_int_equal(w.incarnation, 1);
	assert_int_equal(w.heartbeat_interval_ms, 20);
	assert_true(w.connected);
	assert_string_equal(x->fake.hello, "secret j");
}

static void nobody_listening_is_enotconn_and_names_the_remedy(void **state)
{
	struct fixture *x = *state;
	struct roar_coord_options o = { .worker_id = "w",
					.connect_timeout_ms = 150 };
	struct roar_coord *c = NULL;

	fake_halt(&x->fake);
	o.address = x->fake.address;
	assert_int_equal(roar_coord_join(&o, &c), -ENOTCONN);
	assert_non_null(strstr(roar_coord_error(), x->fake.address));
	assert_non_null(strstr(roar_coord_error(), "is roar-coordinator"));
	assert_null(c);
}

static void the_second_address_is_tried_when_the_first_is_dead(void **state)
{
	struct fixture *x = *state;
	char address[128];
	struct roar_coord_options o = { .worker_id = "w", .address = address };
	struct roar_coord *c = NULL;

	(void)snprintf(address, sizeof(address), "unix:/nonexistent/socket,%s",
		       x->fake.address);
	assert_int_equal(roar_coord_join(&o, &c), 0);
	roar_coord_free(c);
}

static void refusals_of_a_place_have_their_errno(void **state)
{
	static const struct {
		uint32_t status;
		int error;
	} table[] = { { 6, -EEXIST },
		      { 16, -EACCES },
		      { 7, -EACCES },
		      { 8, -EAGAIN },
		      { 3, -EINVAL } };
	struct fixture *x = *state;
	struct roar_coord_options o = { .worker_id = "w",
					.address = x->fake.address };
	struct roar_coord *c = NULL;

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		fake_set(&x->fake, register_status, table[i].status);
		assert_int_equal(roar_coord_join(&o, &c), table[i].error);
		assert_string_equal(roar_coord_error(),
				    "the place is not to be had");
	}
}

static void what_cannot_be_is_refused_before_anything_is_sent(void **state)
{
	static const struct roar_coord_options wrong[] = {
		{ .worker_id = "w" },
		{ .worker_id = "w", .address = "host:99999" },
		{ .worker_id = "w", .address = "ftp://host:1" },
		{ .worker_id = "w", .address = "unix:" },
		{ .worker_id = "w", .address = "a:1,,b:1" },
		{ .worker_id = "w", .address = "::1:80" },
		{ .address = "127.0.0.1:1" },
		{ .address = "127.0.0.1:1", .worker_id = "" },
		{ .address = "127.0.0.1:1", .worker_id = "a b" },
		{ .address = "127.0.0.1:1", .worker_id = "a", .job = "/" },
	};
	struct roar_coord *c = NULL;

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		assert_int_equal(roar_coord_join(&wrong[i], &c), -EINVAL);
		assert_true(strlen(roar_coord_error()) > 10);
	}
}

static void what_is_no_coordinator_is_told_apart(void **state)
{
	struct fixture *x = *state;
	struct roar_coord_options o = { .worker_id = "w",
					.address = x->fake.address,
					.connect_timeout_ms = 150 };
	struct roar_coord *c = NULL;

	fake_set(&x->fake, garbage, true);
	assert_int_equal(roar_coord_join(&o, &c), -ENOTCONN);
	assert_non_null(strstr(roar_coord_error(), "is no coordinator"));
}

static void an_observer_takes_no_place(void **state)
{
	struct fixture *x = *state;
	struct roar_coord_options o = { .address = x->fake.address,
					.flags = ROAR_COORD_OBSERVER };
	unsigned before = fake_get(&x->fake, n_registered);
	struct roar_coord *c = NULL;
	struct roar_coord_world w;

	assert_int_equal(roar_coord_join(&o, &c), 0);
	roar_coord_world(c, &w);
	assert_int_equal(w.rank, -1);
	assert_int_equal(roar_coord_set(c, "k", "v", 1, 0), 0);
	assert_int_equal(roar_coord_barrier(c, "b", 0, 10, NULL), -EINVAL);
	assert_int_equal(fake_get(&x->fake, n_registered), before);
	assert_int_equal(roar_coord_leave(c), 0);
	assert_int_equal(fake_get(&x->fake, n_left), 0);
}

static void leaving_gives_the_place_up(void **state)
{
	struct fixture *x = *state;

	assert_int_equal(roar_coord_leave(join(&x->fake, 0)), 0);
	assert_int_equal(fake_get(&x->fake, n_left), 1);
}

/* ---- heartbeats ---- */

static void heartbeats_go_on_while_a_barrier_waits(void **state)
{
	struct fixture *x = *state;
	struct work w;
	unsigned before;

	begin(&w, x->c, "b", 30000);
	fake_await(&x->fake, n_meets, 1);
	before = fake_get(&x->fake, n_beats);
	fake_await(&x->fake, n_beats, before + 3);
	fake_release(&x->fake, 0);
	assert_int_equal(end(&w), 0);
}

static void a_heartbeat_by_hand_says_the_progress(void **state)
{
	struct fixture *x = *state;

	assert_int_equal(roar_coord_progress(x->c, 4, 123, 1, "t"), 0);
	assert_int_equal(roar_coord_heartbeat(x->c, 10000), 0);
	assert_int_equal(fake_get(&x->fake, step), 123);
	assert_int_equal(roar_coord_progress(x->c, 8, 0, 0, NULL), -EINVAL);
}

static void a_task_that_would_be_refused_is_not_sent(void **state)
{
	struct fixture *x = *state;
	char task[258];

	memset(task, 'x', sizeof(task));
	task[257] = '\0';
	assert_int_equal(roar_coord_progress(x->c, 4, 1, 1, task), -EINVAL);
	assert_non_null(strstr(roar_coord_error(), "257 bytes"));
	task[256] = '\0';
	assert_int_equal(roar_coord_progress(x->c, 4, 1, 1, task), 0);
	assert_int_equal(roar_coord_progress(x->c, 4, 1, 1, "one\ntwo"),
			 -EINVAL);
	assert_non_null(strstr(roar_coord_error(), "line ends"));
	assert_int_equal(roar_coord_progress(x->c, 4, 1, 1, "\xff"), -EINVAL);
	assert_int_equal(roar_coord_heartbeat(x->c, 10000), 0);
}

static void a_refused_heartbeat_is_seen(void **state)
{
	struct fixture *x = *state;
	struct roar_coord_world w;
	int r = -EINVAL;

	fake_set(&x->fake, refuses_beats, 3);
	assert_int_equal(roar_coord_heartbeat(x->c, 10000), -EINVAL);
	assert_string_equal(roar_coord_error(), "this worker is not known");
	roar_coord_world(x->c, &w);
	assert_false(w.connected);
	fake_set(&x->fake, refuses_beats, 14); /* it stops: for now */
	for (int i = 0; i < 1000 && r == -EINVAL; i++)
		r = roar_coord_heartbeat(x->c, 50);
	assert_int_equal(r, -EAGAIN);
	fake_set(&x->fake, refuses_beats, 0);
	assert_int_equal(roar_coord_heartbeat(x->c, 10000), 0);
	roar_coord_world(x->c, &w);
	assert_true(w.connected);
}

static void a_withdrawn_token_ends_the_client(void **state)
{
	struct fixture *x = *state;
	struct roar_coord_world w;

	fake_set(&x->fake, refuses_beats, 16);
	assert_int_equal(roar_coord_heartbeat(x->c, 10000), -EACCES);
	roar_coord_world(x->c, &w);
	assert_false(w.connected);
	assert_int_equal(roar_coord_set(x->c, "k", "v", 1, 0), -EACCES);
	assert_int_equal(roar_coord_set_token(x->c, "late"), -EACCES);
}

static void a_new_token_is_said_at_once_and_what_waits_goes_on(void **state)
{
	struct fixture *x = *state;
	struct work w;

	begin(&w, x->c, "b", 30000);
	fake_await(&x->fake, n_meets, 1);
	assert_int_equal(roar_coord_set_token(x->c, "newer"), 0);
	assert_int_equal(roar_coord_heartbeat(x->c, 10000), 0);
	assert_string_equal(x->fake.hello, "newer j");
	fake_refuse(&x->fake, 16, "the token was withdrawn", NULL);
	fake_await(&x->fake, n_meets, 2);
	fake_release(&x->fake, 0);
	assert_int_equal(end(&w), 0);
	assert_int_equal(fake_get(&x->fake, n_connections), 1);

	begin(&w, x->c, "b", 30000);
	fake_await(&x->fake, n_meets, 3);
	fake_refuse(&x->fake, 16, "the token was withdrawn", NULL);
	assert_int_equal(end(&w), -EACCES);
	fake_drop(&x->fake);
	fake_await(&x->fake, n_registered, 2);
	assert_string_equal(x->fake.hello, "newer j");
}

static void commands_come_with_heartbeats_once(void **state)
{
	struct fixture *x = *state;
	char text[32];

	assert_int_equal(roar_coord_command(x->c, 0, text, sizeof(text)), 0);
	assert_string_equal(text, "");
	fake_set(&x->fake, command, "checkpoint");
	assert_int_equal(roar_coord_command(x->c, 10000, text, 4), -ENOBUFS);
	assert_int_equal(roar_coord_command(x->c, 10000, text, sizeof(text)),
			 0);
	assert_string_equal(text, "checkpoint");
	assert_int_equal(roar_coord_command(x->c, 0, text, sizeof(text)), 0);
	assert_string_equal(text, "");
}

static void an_unknown_worker_registers_again(void **state)
{
	struct fixture *x = *state;

	fake_set(&x->fake, beat_status, 5);
	fake_await(&x->fake, n_registered, 2);
	assert_int_equal(roar_coord_heartbeat(x->c, 10000), 0);
	assert_int_equal(fake_get(&x->fake, n_connections), 1);
}

static void a_successor_ends_the_client_for_good(void **state)
{
	struct fixture *x = *state;
	struct work w;

	begin(&w, x->c, "b", 30000);
	fake_await(&x->fake, n_meets, 1);
	fake_set(&x->fake, beat_status, 9);
	assert_int_equal(end(&w), -ESTALE);
	assert_string_equal(w.error, "this worker is not known");
	assert_int_equal(roar_coord_set(x->c, "k", "v", 1, 0), -ESTALE);
}

static void a_silent_coordinator_is_left(void **state)
{
	struct fixture *x = *state;

	fake_set(x->c, silence_ms, 20);
	fake_set(&x->fake, mute, true);
	fake_await(&x->fake, n_connections, 2);
}

/* ---- the world ---- */

static void a_change_of_the_world_is_told_at_once(void **state)
{
	struct fixture *x = *state;
	struct roar_coord_world w;

	assert_int_equal(roar_coord_wait_world(x->c, 1, 1, &w), -ETIMEDOUT);
	fake_await(&x->fake, n_watches, 1);
	fake_change_world(&x->fake, 9);
	assert_int_equal(roar_coord_wait_world(x->c, 1, 10000, &w), 0);
	assert_int_equal(w.epoch, 9);
}

static void the_watch_is_opened_again_after_a_lost_connection(void **state)
{
	struct fixture *x = *state;
	struct roar_coord_world w;

	assert_int_equal(roar_coord_wait_world(x->c, 1, 1, &w), -ETIMEDOUT);
	fake_await(&x->fake, n_watches, 1);
	fake_drop(&x->fake);
	fake_await(&x->fake, n_watches, 2);
}

/* ---- meetings ---- */

static void an_empty_group_is_not_everybody(void **state)
{
	struct fixture *x = *state;
	const char *none[] = { NULL };
	struct roar_coord_meet m = { .id = "b", .group = none };

	assert_int_equal(roar_coord_meet(x->c, &m, NULL), -EINVAL);
	assert_non_null(strstr(roar_coord_error(), "names nobody"));
}

static void a_barrier_tells_who_was_late(void **state)
{
	struct fixture *x = *state;
	struct work w;

	begin(&w, x->c, "b", 30000);
	fake_await(&x->fake, n_meets, 1);
	fake_release(&x->fake, 0);
	assert_int_equal(pthread_join(w.thread, NULL), 0);
	assert_int_equal(w.result, 0);
	assert_int_equal(w.m.participants, 2);
	assert_int_equal(w.m.arrival_order, 1);
	assert_string_equal(w.m.late, "other=7");
	assert_int_equal(w.m.n_values, 1);
	assert_string_equal(w.m.values[0].data, "hi");
	roar_coord_meeting_release(&w.m);
	assert_true(fake_get(&x->fake, timeout_ms) > 20000);
}

static void generations_are_counted_from_the_coordinators_answer(void **state)
{
	struct fixture *x = *state;
	struct work w;

	begin(&w, x->c, "b", -1);
	fake_await(&x->fake, n_meets, 1);
	assert_int_equal(fake_get(&x->fake, generation), 0);
	assert_int_equal(fake_get(&x->fake, timeout_ms), 0);
	fake_release(&x->fake, 57);
	assert_int_equal(end(&w), 0);

	begin(&w, x->c, "b", -1);
	fake_await(&x->fake, n_meets, 2);
	assert_int_equal(fake_get(&x->fake, generation), 58);
	fake_refuse(&x->fake, 10, "w-2 died", "w-2");
	assert_int_equal(end(&w), -ECONNABORTED);

	begin(&w, x->c, "b", -1); /* what failed is tried again as the same */
	fake_await(&x->fake, n_meets, 3);
	assert_int_equal(fake_get(&x->fake, generation), 58);
	fake_refuse(&x->fake, 9, "that is over", NULL);
	assert_int_equal(end(&w), -ESTALE);

	begin(&w, x->c, "b", -1); /* we had lost count: ask */
	fake_await(&x->fake, n_meets, 4);
	assert_int_equal(fake_get(&x->fake, generation), 0);
	fake_release(&x->fake, 0);
	assert_int_equal(end(&w), 0);
}

static void a_failed_barrier_names_the_absent(void **state)
{
	struct fixture *x = *state;
	struct work w;

	begin(&w, x->c, "b", 30000);
	fake_await(&x->fake, n_meets, 1);
	fake_refuse(&x->fake, 4, "2 have not come", "w-7,w-9");
	assert_int_equal(end(&w), -ETIMEDOUT);
	assert_string_equal(w.error, "2 have not come");
	assert_string_equal(w.absent, "w-7,w-9");
	assert_string_equal(roar_coord_absent(), ""); /* of this thread */
}

static void an_arrival_is_sent_again_with_its_generation(void **state)
{
	struct fixture *x = *state;
	struct work w;

	begin(&w, x->c, "b", 30000);
	fake_await(&x->fake, n_meets, 1);
	fake_release(&x->fake, 4);
	assert_int_equal(end(&w), 0);
	begin(&w, x->c, "b", 30000);
	fake_await(&x->fake, n_meets, 2);
	fake_drop(&x->fake);
	fake_await(&x->fake, n_meets, 3);
	assert_int_equal(fake_get(&x->fake, generation), 5);
	assert_int_equal(fake_get(&x->fake, session), 77);
	fake_release(&x->fake, 0);
	assert_int_equal(end(&w), 0);
}

static void a_first_arrival_says_that_its_answer_may_be_lost(void **state)
{
	struct fixture *x = *state;
	struct work w;

	begin(&w, x->c, "b", 30000);
	fake_await(&x->fake, n_meets, 1);
	assert_false(fake_get(&x->fake, again));
	fake_drop(&x->fake);
	fake_await(&x->fake, n_meets, 2);
	assert_true(fake_get(&x->fake, again));
	assert_int_equal(fake_get(&x->fake, generation), 0);
	fake_release(&x->fake, 3);
	assert_int_equal(end(&w), 0);
	begin(&w, x->c, "b", 30000); /* from now on there is a number */
	fake_await(&x->fake, n_meets, 3);
	fake_drop(&x->fake);
	fake_await(&x->fake, n_meets, 4);
	assert_false(fake_get(&x->fake, again));
	assert_int_equal(fake_get(&x->fake, generation), 4);
	fake_release(&x->fake, 0);
	assert_int_equal(end(&w), 0);
}

static void
a_barrier_outlives_a_coordinator_that_is_gone_for_a_while(void **state)
{
	struct fixture *x = *state;
	struct roar_coord_world world;
	struct work w;

	begin(&w, x->c, "b", 30000);
	fake_await(&x->fake, n_meets, 1);
	fake_halt(&x->fake);
	for (int i = 0; i < 5000; i++) {
		roar_coord_world(x->c, &world);
		if (!world.connected)
			break;
		usleep(1000);
	}
	assert_false(world.connected);
	fake_restart(&x->fake);
	fake_await(&x->fake, n_meets, 2);
	fake_release(&x->fake, 0);
	assert_int_equal(end(&w), 0);
}

static void a_server_that_stops_is_asked_again(void **state)
{
	struct fixture *x = *state;
	struct work w;

	begin(&w, x->c, "b", 30000);
	fake_await(&x->fake, n_meets, 1);
	fake_refuse(&x->fake, 14, "stopping", NULL);
	fake_await(&x->fake, n_meets, 2);
	fake_release(&x->fake, 0);
	assert_int_equal(end(&w), 0);
	fake_set(&x->fake, key_status, 14);
	assert_int_equal(roar_coord_set(x->c, "k", "v", 1, 0), 0);
}

static void without_a_connection_the_deadline_is_enotconn(void **state)
{
	struct fixture *x = *state;

	fake_halt(&x->fake);
	assert_int_equal(roar_coord_barrier(x->c, "b", 0, 50, NULL), -ENOTCONN);
	assert_true(strlen(roar_coord_error()) > 10);
}

static void two_threads_in_one_meeting_are_told(void **state)
{
	struct fixture *x = *state;
	struct work w;

	begin(&w, x->c, "b", 30000);
	fake_await(&x->fake, n_meets, 1);
	assert_int_equal(roar_coord_barrier(x->c, "b", 0, 50, NULL), -EBUSY);
	fake_release(&x->fake, 0);
	assert_int_equal(end(&w), 0);
}

static void many_threads_wait_at_once(void **state)
{
	enum { N = 32 };
	struct fixture *x = *state;
	struct work w[N];
	char ids[N][8];

	for (int i = 0; i < N; i++) {
		(void)snprintf(ids[i], sizeof(ids[i]), "b%d", i);
		begin(&w[i], x->c, ids[i], 30000);
	}
	fake_await(&x->fake, n_meets, N);
	fake_release(&x->fake, 0);
	for (int i = 0; i < N; i++)
		assert_int_equal(end(&w[i]), 0);
}

/* ---- who waits reads ---- */

/* A thread of ours that is not among those, or 0; those are listed where `n` is 0. */
static pid_t other_task(pid_t *known, size_t *n)
{
	DIR *d = opendir("/proc/self/task");
	bool list = *n == 0;
	pid_t found = 0;
	struct dirent *e;

	while ((e = readdir(d))) {
		pid_t tid = atoi(e->d_name);
		bool is_known = tid == 0;

		for (size_t i = 0; !list && i < *n; i++)
			is_known |= known[i] == tid;
		if (list && tid && *n < 16)
			known[(*n)++] = tid;
		else if (!is_known)
			found = tid;
	}
	closedir(d);
	return list ? 0 : found;
}

/* How often the thread has gone to sleep. */
static unsigned long n_sleeps(pid_t tid)
{
	char path[64], line[128];
	unsigned long n = 0;
	FILE *f;

	(void)snprintf(path, sizeof(path), "/proc/self/task/%d/status", tid);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f))
		(void)sscanf(line, "voluntary_ctxt_switches: %lu", &n);
	if (f)
		(void)fclose(f);
	return n;
}

static void await_reader(struct roar_coord *c)
{
	bool reads = false;

	for (int i = 0; !reads && i < 10000; i++) {
		pthread_mutex_lock(&c->lock);
		reads = c->driver_sleeps;
		pthread_mutex_unlock(&c->lock);
		if (!reads)
			usleep(1000);
	}
	assert_true(reads);
}

static void a_release_does_not_wake_the_thread_of_the_client(void **state)
{
	enum { N = 20 };
	struct fixture *x = *state;
	struct roar_coord *c;
	pid_t known[16], tid;
	size_t n_known = 0;
	unsigned long before;

	fake_set(&x->fake, interval_ms, 60000);
	(void)other_task(known, &n_known);
	c = join(&x->fake, 0);
	tid = other_task(known, &n_known);
	assert_int_not_equal(tid, 0);
	before = n_sleeps(tid);
	for (unsigned i = 0; i < N; i++) {
		struct work w;

		begin(&w, c, "b", 30000);
		fake_await(&x->fake, n_meets, i + 1);
		await_reader(c);
		fake_release(&x->fake, 0);
		assert_int_equal(end(&w), 0);
	}
	assert_true(n_sleeps(tid) - before < N / 2);
	roar_coord_free(c);
}

static void *get_body(void *arg);

static void who_reads_for_all_goes_on_waiting_when_another_is_told(void **state)
{
	struct fixture *x = *state;
	struct work reads = { .c = x->c, .timeout_ms = 30000 };
	struct work other;

	assert_int_equal(pthread_create(&reads.thread, NULL, get_body, &reads),
			 0);
	fake_await(&x->fake, n_gets, 1);
	begin(&other, x->c, "b", 30000);
	fake_await(&x->fake, n_meets, 1);
	fake_release(&x->fake, 0);
	assert_int_equal(end(&other), 0);
	fake_answer_keys(&x->fake, "value");
	assert_int_equal(end(&reads), 0);
	assert_string_equal(reads.error, "value");
}

static void others_wait_on_when_the_one_who_read_is_done(void **state)
{
	struct fixture *x = *state;
	struct work reads, other = { .c = x->c, .timeout_ms = 30000 };

	begin(&reads, x->c, "b", 30000);
	fake_await(&x->fake, n_meets, 1);
	assert_int_equal(pthread_create(&other.thread, NULL, get_body, &other),
			 0);
	fake_await(&x->fake, n_gets, 1);
	fake_release(&x->fake, 0);
	assert_int_equal(end(&reads), 0);
	fake_answer_keys(&x->fake, "value");
	assert_int_equal(end(&other), 0);
	assert_string_equal(other.error, "value");
}

/* ---- keys and other calls ---- */

static void *get_body(void *arg)
{
	struct work *w = arg;
	void *value = NULL;
	size_t len = 0;

	w->result = roar_coord_get(w->c, "k", w->timeout_ms, &value, &len,
				   NULL);
	(void)snprintf(w->error, sizeof(w->error), "%s",
		       value ? (char *)value : "");
	free(value);
	return NULL;
}

static void a_wait_for_a_key_outlives_the_connection(void **state)
{
	struct fixture *x = *state;
	struct work w = { .c = x->c, .timeout_ms = 30000 };

	assert_int_equal(pthread_create(&w.thread, NULL, get_body, &w), 0);
	fake_await(&x->fake, n_gets, 1);
	fake_drop(&x->fake);
	fake_await(&x->fake, n_gets, 2);
	fake_answer_keys(&x->fake, "value");
	assert_int_equal(end(&w), 0);
	assert_string_equal(w.error, "value");
}

static void keys_are_set_added_compared_and_deleted(void **state)
{
	struct fixture *x = *state;
	int64_t sum = 0;

	assert_int_equal(roar_coord_set(x->c, "k", "v", 1, 0), 0);
	assert_int_equal(roar_coord_add(x->c, "k", 2, &sum), 0);
	assert_int_equal(sum, 42);
	assert_int_equal(roar_coord_compare_set(x->c, "k", 1, "w", 1, 0), 1);
	assert_int_equal(roar_coord_delete(x->c, "k"), 0);
}

static void a_sum_whose_answer_is_lost_is_not_made_twice(void **state)
{
	struct fixture *x = *state;
	int64_t sum = 0;

	fake_set(&x->fake, drops_sums, true);
	assert_int_equal(roar_coord_add(x->c, "k", 2, &sum), -ENOTCONN);
	assert_non_null(strstr(roar_coord_error(), "may have been done"));
	assert_int_equal(roar_coord_heartbeat(x->c, 10000), 0);
	assert_int_equal(fake_get(&x->fake, n_sums), 1);
}

static void any_method_can_be_called(void **state)
{
	struct fixture *x = *state;
	void *reply = NULL;
	size_t len = 0;

	assert_int_equal(roar_coord_call(x->c, "/roar.Control/KvSet", "", 0,
					 10000, &reply, &len),
			 0);
	assert_true(len > 0);
	free(reply);
	assert_int_equal(
		roar_coord_call(x->c, "16", "", 0, 10000, &reply, &len), 0);
	free(reply);
	assert_int_equal(roar_coord_call(x->c, "/roar.Control/ListJobs", "", 0,
					 10000, &reply, &len),
			 -EOPNOTSUPP);
	assert_int_equal(roar_coord_call(x->c, "/no/such", "", 0, 10000, &reply,
					 &len),
			 -EINVAL);
	assert_int_equal(roar_coord_call(x->c, "/roar.Control/Watch", "", 0,
					 10000, &reply, &len),
			 -EINVAL);
}

static void the_numbers_of_methods_are_those_of_the_protocol(void **state)
{
	static const struct {
		enum client_method_number number;
		const char *path;
	} some[] = {
		{ METHOD_REGISTER_WORKER,
		  "/coordinator.Coordinator/RegisterWorker" },
		{ METHOD_HEARTBEAT, "/coordinator.Coordinator/Heartbeat" },
		{ METHOD_MEET, "/roar.Control/Meet" },
		{ METHOD_WATCH, "/roar.Control/Watch" },
		{ METHOD_KV_COMPARE_SET, "/roar.Control/KvCompareSet" },
		{ METHOD_LIST_BARRIERS, "/roar.Control/ListBarriers" },
		{ METHOD_STOP, "/roar.Control/Stop" },
		{ METHOD_FORGET, "/roar.Control/Forget" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(some) / sizeof(*some); i++)
		assert_string_equal(coord_method_by_number(some[i].number)->path,
				    some[i].path);
	assert_int_equal(coord_n_methods, METHOD_END_ - 1);
}

static void a_server_that_goes_away_is_left_and_found_again(void **state)
{
	struct fixture *x = *state;

	fake_set(&x->fake, goes_away, true);
	assert_int_equal(roar_coord_heartbeat(x->c, 10000), 0);
	fake_set(&x->fake, goes_away, false);
	fake_drop(&x->fake);
	fake_await(&x->fake, n_registered, 2);
	assert_int_equal(roar_coord_set(x->c, "k", "v", 1, 0), 0);
}

/* ---- ends ---- */

static void freeing_ends_what_waits(void **state)
{
	struct fixture *x = *state;
	struct roar_coord *c = join(&x->fake, 0);
	struct work w;

	begin(&w, c, "b", -1);
	fake_await(&x->fake, n_meets, 1);
	roar_coord_free(c);
	assert_int_equal(end(&w), -ECANCELED);
}

static int count_sockets(void)
{
	DIR *d = opendir("/proc/self/fd");
	struct dirent *e;
	char target[64];
	int n = 0;

	while ((e = readdir(d))) {
		ssize_t len = readlinkat(dirfd(d), e->d_name, target,
					 sizeof(target) - 1);

		n += len > 7 && memcmp(target, "socket:", 7) == 0;
	}
	closedir(d);
	return n;
}

/* The fake's own sockets are the child's too: only the client's may be missing there. */
static void a_forked_child_has_no_client_and_no_socket_of_it(void **state)
{
	struct fixture *x = *state;
	int before = count_sockets();
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		int ok = roar_coord_set(x->c, "k", "v", 1, 0) == -ECHILD &&
			 roar_coord_barrier(x->c, "b", 0, 1, NULL) == -ECHILD &&
			 count_sockets() == before - 1;

		roar_coord_free(x->c);
		_exit(ok ? 0 : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	assert_int_equal(roar_coord_set(x->c, "k", "v", 1, 0), 0);
}

static void descriptors_are_close_on_exec(void **state)
{
	DIR *d = opendir("/proc/self/fd");
	struct dirent *e;

	(void)state;
	while ((e = readdir(d))) {
		char target[64] = "";
		int fd = atoi(e->d_name);

		(void)!readlinkat(dirfd(d), e->d_name, target,
				  sizeof(target) - 1);
		if (strstr(target, "eventpoll"))
			assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	}
	closedir(d);
}

/* ---- event loops ---- */

struct told {
	int n, error;
	uint64_t generation;
};

static void done(void *data, int error, const struct roar_coord_meeting *m)
{
	struct told *t = data;

	t->n++;
	t->error = error;
	t->generation = m ? m->generation : 0;
}

static void turn_until(struct roar_coord *c, const struct told *t)
{
	struct pollfd p = { .fd = roar_coord_fd(c), .events = POLLIN };
	int64_t ms;

	for (int i = 0; i < 10000 && !t->n; i++) {
		assert_int_equal(roar_coord_turn(c, &ms), 0);
		if (!t->n)
			(void)poll(&p, 1, ms < 0 || ms > 10 ? 10 : (int)ms);
	}
}

static void without_a_thread_turns_do_everything(void **state)
{
	struct fixture *x = *state;
	struct roar_coord *c = join(&x->fake, ROAR_COORD_NO_THREAD);
	struct roar_coord_meet m = { .id = "b", .timeout_ms = -1 };
	struct told t = { 0 };
	struct told none = { 0 };
	unsigned beats = fake_get(&x->fake, n_beats);

	assert_int_equal(roar_coord_set(c, "k", "v", 1, 0), 0);
	assert_int_equal(roar_coord_begin_meet(c, &m, NULL, 0, done, &t), 0);
	assert_int_equal(roar_coord_begin_meet(c, &m, NULL, 0, done, &none),
			 -EBUSY);
	fake_await(&x->fake, n_meets, 1);
	fake_release(&x->fake, 3);
	turn_until(c, &t);
	assert_int_equal(t.n, 1);
	assert_int_equal(t.error, 0);
	assert_int_equal(t.generation, 3);
	for (int i = 0; i < 2000 && fake_get(&x->fake, n_beats) < beats + 2;
	     i++) {
		int64_t ms;

		assert_int_equal(roar_coord_turn(c, &ms), 0);
		usleep(1000);
	}
	assert_true(fake_get(&x->fake, n_beats) >= beats + 2);
	assert_int_equal(roar_coord_begin_meet(c, &m, "v", 1, done, &none), 0);
	roar_coord_free(c); /* while it waits: nothing is told, nothing leaks */
	assert_int_equal(none.n, 0);
}

static void a_begun_meeting_outlives_the_connection(void **state)
{
	struct fixture *x = *state;
	struct roar_coord *c = join(&x->fake, ROAR_COORD_NO_THREAD);
	struct roar_coord_meet m = { .id = "b",
				     .generation = 6,
				     .timeout_ms = 30000 };
	struct told t = { 0 };
	int64_t ms;

	assert_int_equal(roar_coord_begin_meet(c, &m, NULL, 0, done, &t), 0);
	fake_await(&x->fake, n_meets, 1);
	fake_drop(&x->fake);
	for (int i = 0; i < 5000 && fake_get(&x->fake, n_meets) < 2; i++) {
		assert_int_equal(roar_coord_turn(c, &ms), 0);
		usleep(1000);
	}
	assert_int_equal(fake_get(&x->fake, generation), 6);
	fake_release(&x->fake, 0);
	turn_until(c, &t);
	assert_int_equal(t.error, 0);
	assert_int_equal(roar_coord_leave(c), 0);
}

#define WITH(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH(joining_tells_the_world_and_says_token_and_job),
		WITH(nobody_listening_is_enotconn_and_names_the_remedy),
		WITH(the_second_address_is_tried_when_the_first_is_dead),
		WITH(refusals_of_a_place_have_their_errno),
		cmocka_unit_test(
			what_cannot_be_is_refused_before_anything_is_sent),
		WITH(what_is_no_coordinator_is_told_apart),
		WITH(an_observer_takes_no_place),
		WITH(leaving_gives_the_place_up),
		WITH(heartbeats_go_on_while_a_barrier_waits),
		WITH(a_heartbeat_by_hand_says_the_progress),
		WITH(a_task_that_would_be_refused_is_not_sent),
		WITH(a_refused_heartbeat_is_seen),
		WITH(a_withdrawn_token_ends_the_client),
		WITH(a_new_token_is_said_at_once_and_what_waits_goes_on),
		WITH(commands_come_with_heartbeats_once),
		WITH(an_unknown_worker_registers_again),
		WITH(a_successor_ends_the_client_for_good),
		WITH(a_silent_coordinator_is_left),
		WITH(a_change_of_the_world_is_told_at_once),
		WITH(the_watch_is_opened_again_after_a_lost_connection),
		WITH(an_empty_group_is_not_everybody),
		WITH(a_barrier_tells_who_was_late),
		WITH(generations_are_counted_from_the_coordinators_answer),
		WITH(a_failed_barrier_names_the_absent),
		WITH(an_arrival_is_sent_again_with_its_generation),
		WITH(a_first_arrival_says_that_its_answer_may_be_lost),
		WITH(a_barrier_outlives_a_coordinator_that_is_gone_for_a_while),
		WITH(a_server_that_stops_is_asked_again),
		WITH(without_a_connection_the_deadline_is_enotconn),
		WITH(two_threads_in_one_meeting_are_told),
		WITH(many_threads_wait_at_once),
		WITH(a_release_does_not_wake_the_thread_of_the_client),
		WITH(who_reads_for_all_goes_on_waiting_when_another_is_told),
		WITH(others_wait_on_when_the_one_who_read_is_done),
		WITH(a_wait_for_a_key_outlives_the_connection),
		WITH(keys_are_set_added_compared_and_deleted),
		WITH(a_sum_whose_answer_is_lost_is_not_made_twice),
		WITH(any_method_can_be_called),
		cmocka_unit_test(
			the_numbers_of_methods_are_those_of_the_protocol),
		WITH(a_server_that_goes_away_is_left_and_found_again),
		WITH(freeing_ends_what_waits),
		WITH(a_forked_child_has_no_client_and_no_socket_of_it),
		WITH(descriptors_are_close_on_exec),
		WITH(without_a_thread_turns_do_everything),
		WITH(a_begun_meeting_outlives_the_connection),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
