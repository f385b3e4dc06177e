/* A client against a coordinator that loses connections, is gone, or says odd things. */
#include "fixture.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

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

	fake_set(&x->fake, garbage, "SSH-2.0-OpenSSH_9.2p1\r\n");
	assert_int_equal(roar_coord_join(&o, &c), -ENOTCONN);
	assert_non_null(strstr(roar_coord_error(), "is not a coordinator"));
	fake_set(&x->fake, garbage, "HTTP/1.1 400 Bad Request\r\n\r\n");
	assert_int_equal(roar_coord_join(&o, &c), -ENOTCONN);
	assert_non_null(strstr(roar_coord_error(), "(tls_ca)"));
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

/* ---- keys and other calls ---- */

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
	assert_non_null(strstr(roar_coord_error(),
			       "may or may not have been executed"));
	assert_int_equal(roar_coord_heartbeat(x->c, 10000), 0);
	assert_int_equal(fake_get(&x->fake, n_sums), 1);
}

static void a_take_whose_answer_is_lost_is_the_same_request(void **state)
{
	struct fixture *x = *state;
	struct roar_coord_lending from = { .dataset_id = "d" };
	struct roar_coord_lease lease;

	assert_int_equal(roar_coord_take_lease(x->c, &from, &lease), 0);
	assert_int_equal(fake_get(&x->fake, take_request), 1);
	assert_true(fake_get(&x->fake, take_session) != 0);
	fake_set(&x->fake, drops_take, true);
	assert_int_equal(roar_coord_take_lease(x->c, &from, &lease), 0);
	assert_int_equal(fake_get(&x->fake, n_takes), 3);
	assert_int_equal(fake_get(&x->fake, take_request), 2);
}

static void parts_of_a_checkpoint_are_told_by_rank(void **state)
{
	struct fixture *x = *state;
	struct roar_coord_save save = { .step = 5,
					.save_id = "9f3ac2d1",
					.timeout_ms = 10000 };
	uint8_t digest[ROAR_COORD_DIGEST] = { 1, 2, 3 };
	struct roar_coord_commit commit;

	assert_int_equal(roar_coord_commit_part(x->c, &save, digest, &commit),
			 0);
	assert_false(commit.committed);
	assert_int_equal(commit.n_parts, 2);
	assert_int_equal(commit.parts[1].rank, 1);
	assert_memory_equal(commit.parts[1].digest, digest, sizeof(digest));
	assert_int_equal(commit.world_epoch, 9);
	roar_coord_commit_release(&commit);
	assert_int_equal(roar_coord_commit_manifest(x->c, &save, digest), 0);
	assert_int_equal(roar_coord_commit_failed(x->c, &save,
						  "the disk is full"),
			 -ECONNABORTED);
	assert_string_equal(roar_coord_error(), "the disk is full");
}

/* The second connection is to another leader, with a token of its own. */
static void a_save_goes_on_with_the_next_leader(void **state)
{
	struct fixture *x = *state;
	struct roar_coord_save save = { .save_id = "s", .timeout_ms = 10000 };
	uint8_t digest[ROAR_COORD_DIGEST] = { 0 };

	assert_int_equal(roar_coord_commit_manifest(x->c, &save, digest), 0);
	fake_set(&x->fake, drops_commit, true);
	fake_set(&x->fake, token, 8);
	save.timeout_ms = -1;
	assert_int_equal(roar_coord_commit_manifest(x->c, &save, digest), 0);
	assert_int_equal(roar_coord_fencing_token(x->c), 8);
	assert_true(fake_get(&x->fake, n_commits) >= 3);
	fake_set(&x->fake, token, 9); /* nobody tells the client */
	assert_int_equal(roar_coord_commit_manifest(x->c, &save, digest),
			 -ESTALE);
}

static void a_value_whose_answer_is_lost_is_the_same_request(void **state)
{
	struct fixture *x = *state;

	fake_set(&x->fake, drops_set, true);
	assert_int_equal(roar_coord_set(x->c, "k", "v", 1, 0), 0);
	assert_int_equal(fake_get(&x->fake, n_sets), 2);
	assert_true(fake_get(&x->fake, set_request) != 0);
	assert_int_equal(fake_get(&x->fake, set_before),
			 fake_get(&x->fake, set_request));
	assert_int_equal(roar_coord_set(x->c, "k", "v", 1, 0), 0);
	assert_true(fake_get(&x->fake, set_before) !=
		    fake_get(&x->fake, set_request));
}

/* Also what was packed elsewhere; but who numbers it has his way. */
static void packed_requests_are_numbered(void **state)
{
	struct fixture *x = *state;
	const char mine[] = { 0x79, 7, 0, 0, 0, 0, 0, 0, 0 };
	void *reply = NULL;
	size_t len = 0;

	assert_int_equal(roar_coord_call(x->c, "/roar.Control/KvSet", "", 0,
					 10000, &reply, &len),
			 0);
	free(reply);
	assert_true(fake_get(&x->fake, set_request) != 0);
	assert_int_equal(roar_coord_call(x->c, "/roar.Control/KvSet", mine,
					 sizeof(mine), 10000, &reply, &len),
			 0);
	free(reply);
	assert_int_equal(fake_get(&x->fake, set_request), 7);
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
		enum coord_method_number number;
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
	assert_int_equal(coord_n_methods, METHOD_COMMIT_CHECKPOINT);
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

/* Nothing else is due for an observer: its wait ends by the failure or not at all. */
static void check_failed_request_is_repeated(struct fixture *x, unsigned flags)
{
	struct roar_coord_options o = { .address = x->fake.address,
					.flags = ROAR_COORD_OBSERVER | flags };
	struct roar_coord *c = NULL;
	void *reply = NULL;
	size_t len = 0;

	assert_int_equal(roar_coord_join(&o, &c), 0);
	assert_int_equal(roar_coord_set(c, "k", "v", 1, 0), 0);
	assert_int_equal(client_enter(c), 0);
	c->link.frames.no_memory = true; /* for the next request */
	client_leave(c);
	assert_int_equal(roar_coord_call(c, "/roar.Control/KvSet", "", 0, 10000,
					 &reply, &len),
			 0);
	free(reply);
	roar_coord_free(c);
}

static void a_request_that_ends_the_connection_is_sent_by_the_next(void **state)
{
	check_failed_request_is_repeated(*state, 0);
	check_failed_request_is_repeated(*state, ROAR_COORD_NO_THREAD);
}

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
		WITH(a_wait_for_a_key_outlives_the_connection),
		WITH(keys_are_set_added_compared_and_deleted),
		WITH(a_sum_whose_answer_is_lost_is_not_made_twice),
		WITH(a_take_whose_answer_is_lost_is_the_same_request),
		WITH(parts_of_a_checkpoint_are_told_by_rank),
		WITH(a_save_goes_on_with_the_next_leader),
		WITH(a_value_whose_answer_is_lost_is_the_same_request),
		WITH(packed_requests_are_numbered),
		WITH(any_method_can_be_called),
		cmocka_unit_test(
			the_numbers_of_methods_are_those_of_the_protocol),
		WITH(a_server_that_goes_away_is_left_and_found_again),
		WITH(a_request_that_ends_the_connection_is_sent_by_the_next),
		WITH(freeing_ends_what_waits),
		WITH(a_forked_child_has_no_client_and_no_socket_of_it),
		WITH(descriptors_are_close_on_exec),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
