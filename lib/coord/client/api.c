/* api.c - roar/coord.h: joining and leaving, the world, commands, any call. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "coord/client/client.h"
#include "coordinator.pb-c.h"

enum {
	JOIN_MS = 10000,
	LEAVE_MS = 5000,
	ID_MAX = 128,
	METADATA_MAX = 1024, /* pairs; the coordinator takes fewer */
};

/* ---- making ---- */

static void free_words(char **words)
{
	for (size_t i = 0; words && words[i]; i++)
		free(words[i]);
	free(words);
}

static void release(struct roar_coord *c)
{
	/* In a child, those who wait are its parent's. */
	if (!c->forked)
		client_calls_end(c, -ECANCELED, NULL);
	while (c->ended_first) {
		struct client_call *call = c->ended_first;

		c->ended_first = call->next;
		client_call_release(call);
		free(call);
	}
	client_session_release(c);
	client_link_release(&c->link);
	client_meet_forget(c);
	client_addresses_release(&c->addresses);
	free_words(c->metadata);
	free(c->job);
	free(c->worker_id);
	free(c->token);
	free(c->hostname);
	free(c->tls_ca);
	free(c->tls_name);
	free(c->task);
	free(c);
}

API void roar_coord_free(struct roar_coord *c)
{
	if (!c)
		return;
	if (getpid() != c->pid) {
		/* A child by fork() has a whole copy; one by other means may not. */
		if (c->forked)
			release(c);
		return;
	}
	client_list_remove(c);
	client_stop(c);
	release(c);
}

static bool is_id(const char *id)
{
	size_t n = strspn(id, "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
			      "abcdefghijklmnopqrstuvwxyz0123456789_.-");

	return n && n <= ID_MAX && !id[n];
}

static int check(const struct roar_coord_options *o)
{
	bool observer = o->flags & ROAR_COORD_OBSERVER;

	if (!o->address || !*o->address)
		return sentence_fail(-EINVAL,
				     "no address of a coordinator was given: "
				     "HOST:PORT or unix:PATH");
	if (!observer && (!o->worker_id || !is_id(o->worker_id)))
		return sentence_fail(-EINVAL,
				     "a worker's id has 1 to %d characters of "
				     "A-Z, a-z, 0-9, '_', '.' and '-'",
				     ID_MAX);
	if (o->job && *o->job && !is_id(o->job))
		return sentence_fail(-EINVAL,
				     "a job's name has 1 to %d characters of "
				     "A-Z, a-z, 0-9, '_', '.' and '-'",
				     ID_MAX);
	return 0;
}

/* NULL and "" are the same; false without memory. */
static bool copy(char **to, const char *from)
{
	if (!from || !*from)
		return true;
	*to = strdup(from);
	return *to != NULL;
}

static int copy_metadata(struct roar_coord *c, const char *const *metadata)
{
	size_t n = 0;

	while (metadata && metadata[n] && metadata[n + 1])
		n += 2;
	if (n / 2 > METADATA_MAX)
		return sentence_fail(
			-EINVAL, "%zu entries of metadata are too many", n / 2);
	c->metadata = calloc(n + 1, sizeof(*c->metadata));
	for (size_t i = 0; c->metadata && i < n; i++) {
		c->metadata[i] = strdup(metadata[i]);
		if (!c->metadata[i])
			return -ENOMEM;
	}
	return c->metadata ? 0 : -ENOMEM;
}

static int copy_options(struct roar_coord *c,
			const struct roar_coord_options *o)
{
	struct roar_error err = { 0 };
	char hostname[256] = "";
	int r;

	(void)gethostname(hostname, sizeof(hostname) - 1);
	c->port = o->port;
	c->gpu_count = o->gpu_count;
	c->memory_bytes = o->memory_bytes;
	c->observer = o->flags & ROAR_COORD_OBSERVER;
	c->has_thread = !(o->flags & ROAR_COORD_NO_THREAD);
	if (!copy(&c->job, o->job) || !copy(&c->worker_id, o->worker_id) ||
	    !copy(&c->token, o->token) || !copy(&c->tls_ca, o->tls_ca) ||
	    !copy(&c->tls_name, o->tls_name) ||
	    !copy(&c->hostname, o->hostname ? o->hostname : hostname))
		return -ENOMEM;
	r = client_addresses_parse(o->address, &c->addresses, &err);
	if (r == -EINVAL)
		sentence_say("%s", err.text);
	return r < 0 ? r : copy_metadata(c, o->metadata);
}

int client_make(const struct roar_coord_options *o, struct roar_coord **ret)
{
	struct roar_coord *c;
	int r;

	r = check(o);
	if (r < 0)
		return r;
	c = calloc(1, sizeof(*c));
	if (!c)
		return -ENOMEM;
	c->pid = getpid();
	c->link.fd = -1;
	c->epoll = -1;
	c->wake = -1;
	c->nudge = -1;
	if (getrandom(&c->random, sizeof(c->random), GRND_NONBLOCK) !=
		    sizeof(c->random) ||
	    !c->random)
		c->random = (uint64_t)client_now_ms() << 20 | (uint64_t)c->pid;
	(void)pthread_mutex_init(&c->lock, NULL);
	client_session_init(c);
	r = client_cond_init(&c->changed);
	if (r == 0)
		r = client_cond_init(&c->left);
	if (r == 0)
		r = copy_options(c, o);
	if (r < 0) {
		release(c);
		return r;
	}
	client_list_add(c);
	*ret = c;
	return 0;
}

/* ---- joining ---- */

/* A negative time: each address is tried once. */
static int await_place(struct roar_coord *c, int64_t timeout_ms)
{
	int64_t deadline = client_deadline_ms(timeout_ms > 0 ? timeout_ms :
							       JOIN_MS);
	int r = client_enter(c);

	if (r < 0)
		return r;
	while (!client_is_up(c) && !c->dead && client_now_ms() < deadline &&
	       (timeout_ms >= 0 || !c->link.n_failed))
		client_wait(c, &c->changed, deadline);
	if (c->dead)
		r = sentence_fail(c->dead, "%s", c->dead_text);
	else if (!client_is_up(c))
		r = sentence_fail(-ENOTCONN, "%s",
				  c->link.failure[0] ?
					  c->link.failure :
					  "the coordinator did not answer in "
					  "time");
	client_leave(c);
	return r;
}

API int roar_coord_join(const struct roar_coord_options *options,
			struct roar_coord **ret)
{
	struct roar_coord *c = NULL;
	int r = client_make(options, &c);

	if (r == -ENOMEM)
		sentence_say("no memory for a client");
	if (r < 0)
		return r;
	r = client_start(c);
	if (r < 0)
		sentence_say("cannot start a client: %s", strerror(-r));
	else
		r = await_place(c, options->connect_timeout_ms);
	if (r < 0) {
		roar_coord_free(c);
		return r;
	}
	*ret = c;
	return 0;
}

int client_give_place_up(struct roar_coord *c)
{
	Coordinator__WorkerInfo m = COORDINATOR__WORKER_INFO__INIT;
	int r;

	if (c->observer)
		return 0;
	m.worker_id = c->worker_id;
	m.job_id = (char *)(c->job ? c->job : "");
	m.session = c->session;
	r = client_call_run(c, METHOD_DEREGISTER_WORKER, &m.base, LEAVE_MS,
			    NULL, NULL);
	return r == -ENOENT ? 0 : r; /* asked again: it is done */
}

API int roar_coord_leave(struct roar_coord *c)
{
	int r = 0;

	if (!c)
		return 0;
	if (getpid() != c->pid)
		r = client_enter(c);
	else
		r = client_give_place_up(c);
	roar_coord_free(c);
	return r;
}

/* ---- the world ---- */

static void tell_world(const struct roar_coord *c, struct roar_coord_world *ret)
{
	*ret = c->world;
	ret->connected = client_is_up(c);
}

API void roar_coord_world(struct roar_coord *c, struct roar_coord_world *ret)
{
	*ret = (struct roar_coord_world){ .rank = -1 };
	if (client_enter(c) < 0)
		return;
	tell_world(c, ret);
	client_leave(c);
}

/* Somebody waits for changes: from now on they are told at once. */
static void begin_watching(struct roar_coord *c)
{
	if (c->watching)
		return;
	c->watching = true;
	c->due_ms = 0;
	client_wake(c);
}

API int roar_coord_wait_world(struct roar_coord *c, uint64_t epoch,
			      int64_t timeout_ms, struct roar_coord_world *ret)
{
	int64_t deadline = client_deadline_ms(timeout_ms);
	int r = client_enter(c);

	if (r < 0)
		return r;
	begin_watching(c);
	while (c->world.epoch == epoch && !c->dead && !c->stopping &&
	       client_now_ms() < deadline)
		client_wait(c, &c->changed, deadline);
	if (c->world.epoch != epoch)
		tell_world(c, ret);
	else if (c->dead)
		r = sentence_fail(c->dead, "%s", c->dead_text);
	else if (c->stopping)
		r = sentence_fail(-ECANCELED, "the client is being freed");
	else
		r = sentence_fail(-ETIMEDOUT, "the world has not changed");
	client_leave(c);
	return r;
}

API int roar_coord_progress(struct roar_coord *c, int state, int64_t step,
			    int64_t epoch, const char *task)
{
	char *copied = NULL;
	int r;

	if (state < 0 || state > COORDINATOR__WORKER_STATUS__STATE__ERROR)
		return sentence_fail(-EINVAL,
				     "%d is no state of a worker: 0 to %d are",
				     state,
				     COORDINATOR__WORKER_STATUS__STATE__ERROR);
	if (!copy(&copied, task))
		return sentence_fail(-ENOMEM, "no memory for a task's name");
	r = client_enter(c);
	if (r < 0) {
		free(copied);
		return r;
	}
	free(c->task);
	c->task = copied;
	c->state = state;
	c->step = step;
	c->epoch = epoch;
	client_leave(c);
	return 0;
}

API int roar_coord_heartbeat(struct roar_coord *c, int64_t timeout_ms)
{
	int64_t deadline = client_deadline_ms(timeout_ms);
	uint64_t want;
	int r = client_enter(c);

	if (r < 0)
		return r;
	if (c->observer) {
		client_leave(c);
		return sentence_fail(-EINVAL, "an observer has no heartbeat");
	}
	/* One that is on its way says what was so before. */
	want = c->n_beats + 1 + (c->beat.state == CALL_SENT);
	while (c->n_beats < want && !c->dead && !c->stopping &&
	       client_now_ms() < deadline) {
		c->beat_due_ms = 0;
		c->due_ms = 0;
		client_wake(c);
		client_wait(c, &c->changed, deadline);
	}
	if (c->n_beats >= want)
		r = 0;
	else if (c->dead)
		r = sentence_fail(c->dead, "%s", c->dead_text);
	else if (client_is_up(c))
		r = sentence_fail(-ETIMEDOUT,
				  "the heartbeat was not answered in time");
	else
		r = sentence_fail(-ENOTCONN, "%s", c->link.failure);
	client_leave(c);
	return r;
}

API int roar_coord_registration(struct roar_coord *c, void **ret,
				size_t *ret_len)
{
	int r = client_enter(c);
	char *bytes;

	if (r < 0)
		return r;
	bytes = malloc(c->registration.len + 1);
	if (bytes) {
		memcpy(bytes, str_cstr(&c->registration),
		       c->registration.len + 1);
		*ret = bytes;
		*ret_len = c->registration.len;
	} else {
		r = sentence_fail(-ENOMEM, "no memory for a registration");
	}
	client_leave(c);
	return r;
}

/* ---- commands ---- */

/* Into the buffer, and off the queue when it fits. */
static int take_command(struct roar_coord *c, char *buffer, size_t len)
{
	struct client_command *command = c->commands;
	size_t n = command ? strlen(command->text) : 0;

	if (n >= len)
		return sentence_fail(
			-ENOBUFS,
			"the next command has %zu bytes, the buffer "
			"%zu",
			n + 1, len);
	memcpy(buffer, command ? command->text : "", n + 1);
	if (!command)
		return 0;
	c->commands = command->next;
	if (!c->commands)
		c->last_command = &c->commands;
	c->n_commands--;
	free(command);
	return 0;
}

API int roar_coord_command(struct roar_coord *c, int64_t timeout_ms,
			   char *buffer, size_t len)
{
	int64_t deadline = client_deadline_ms(timeout_ms);
	int r = client_enter(c);

	if (r < 0)
		return r;
	if (timeout_ms)
		begin_watching(c);
	while (!c->commands && !c->dead && !c->stopping &&
	       client_now_ms() < deadline)
		client_wait(c, &c->changed, deadline);
	if (c->commands || (!c->dead && !c->stopping))
		r = take_command(c, buffer, len);
	else
		r = sentence_fail(c->dead ? c->dead : -ECANCELED, "%s",
				  c->dead ? c->dead_text :
					    "the client is being freed");
	client_leave(c);
	return r;
}

/* ---- any call ---- */

static int give_reply(struct client_call *call, void **ret_reply,
		      size_t *ret_len)
{
	size_t len = call->reply.len;
	char *bytes;

	str_adds(&call->reply, ""); /* there may have been no bytes at all */
	bytes = str_take(&call->reply);
	if (!bytes)
		return sentence_fail(-ENOMEM, "no memory for a reply");
	*ret_reply = bytes;
	*ret_len = len;
	return 0;
}

API int roar_coord_call(struct roar_coord *c, const char *path,
			const void *request, size_t len, int64_t timeout_ms,
			void **ret_reply, size_t *ret_len)
{
	CLEANUP(client_call_release) struct client_call call = { 0 };
	int r = client_enter(c);

	if (r < 0)
		return r;
	r = client_call_init_packed(&call, c, path, request, len, timeout_ms);
	if (r == 0) {
		client_call_begin(&call);
		(void)client_call_wait(&call, INT64_MAX);
		r = client_call_told(&call);
	}
	client_leave(c);
	return r < 0 ? r : give_reply(&call, ret_reply, ret_len);
}

/* ---- event loops ---- */

API int roar_coord_fd(struct roar_coord *c)
{
	int r = client_enter(c);

	if (r < 0)
		return r;
	r = c->has_thread ?
		    sentence_fail(-EINVAL,
				  "this client has a thread of its own: "
				  "ROAR_COORD_NO_THREAD has none") :
		    c->epoll;
	client_leave(c);
	return r;
}

static void tell_begun(struct client_call *call)
{
	struct roar_coord *c = call->c;
	struct roar_coord_meeting m = { 0 };
	roar_coord_done done = call->user_done;
	void *data = call->user_data;
	int r = client_enter(c);

	if (r == 0) {
		r = client_meet_end(call, &m);
		client_leave(c);
	}
	client_call_release(call);
	free(call);
	done(data, r, r == 0 ? &m : NULL);
	roar_coord_meeting_release(&m);
}

API int roar_coord_turn(struct roar_coord *c, int64_t *ret_ms)
{
	struct client_call *ended;
	int64_t now;
	int r = client_enter(c);

	if (r < 0)
		return r;
	if (c->has_thread) {
		client_leave(c);
		return sentence_fail(-EINVAL,
				     "this client has a thread of its own");
	}
	client_rest(c, 0); /* what woke us is seen */
	c->due_ms = client_turn(c);
	ended = c->ended_first;
	c->ended_first = NULL;
	c->ended_last = NULL;
	now = client_now_ms();
	*ret_ms = c->due_ms == INT64_MAX ? -1 :
		  c->due_ms > now	 ? c->due_ms - now :
					   0;
	r = c->dead ? sentence_fail(c->dead, "%s", c->dead_text) : 0;
	client_leave(c);
	while (ended) {
		struct client_call *next = ended->next;

		tell_begun(ended);
		ended = next;
	}
	return r;
}
