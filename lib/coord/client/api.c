/* api.c - roar/coord.h: the world, commands, any call, event loops. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/utf8.h"
#include "coord/client/client.h"
#include "coord/coord_limits.h"
#include "coordinator.pb-c.h"

/* ---- the world ---- */

static void tell_world(const struct roar_coord *c, struct roar_coord_world *ret)
{
	*ret = c->world;
	ret->connected = client_is_up(c) && !c->refused;
}

/* Somebody wants to know of changes: from now on they are told at once. */
static void begin_watching(struct roar_coord *c)
{
	if (c->watching)
		return;
	c->watching = true;
	c->due_ms = 0;
	client_wake(c);
}

API void roar_coord_world(struct roar_coord *c, struct roar_coord_world *ret)
{
	*ret = (struct roar_coord_world){ .rank = -1 };
	if (client_enter(c) < 0)
		return;
	begin_watching(c);
	tell_world(c, ret);
	client_leave(c);
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

/* One that the coordinator refuses would be refused with every heartbeat from then on. */
static int check_task(const char *task)
{
	size_t len = strlen(task);

	if (len > COORD_TASK_MAX)
		return sentence_fail(-EINVAL,
				     "the task is %zu bytes long: heartbeats "
				     "carry %d at most",
				     len, COORD_TASK_MAX);
	if (!utf8_is_printable(task))
		return sentence_fail(-EINVAL,
				     "the task must be UTF-8 text without "
				     "control characters: remove line ends");
	return 0;
}

API int roar_coord_progress(struct roar_coord *c, int state, int64_t step,
			    int64_t epoch, const char *task)
{
	bool named = task && *task;
	char *copied;
	int r;

	if (state < 0 || state > COORDINATOR__WORKER_STATUS__STATE__ERROR)
		return sentence_fail(-EINVAL,
				     "%d is not a worker state: use 0 to %d",
				     state,
				     COORDINATOR__WORKER_STATUS__STATE__ERROR);
	r = named ? check_task(task) : 0;
	if (r < 0)
		return r;
	copied = named ? strdup(task) : NULL;
	if (named && !copied)
		return sentence_fail(-ENOMEM, "out of memory");
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
	if (c->n_beats >= want && !c->refused)
		r = 0;
	else if (c->dead)
		r = sentence_fail(c->dead, "%s", c->dead_text);
	else if (c->refused)
		r = sentence_fail(c->refused, "%s", c->refusal);
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
		r = sentence_fail(-ENOMEM, "out of memory");
	}
	client_leave(c);
	return r;
}

API uint64_t roar_coord_fencing_token(struct roar_coord *c)
{
	uint64_t token;

	if (client_enter(c) < 0)
		return 0;
	token = c->fencing_token;
	client_leave(c);
	return token;
}

API int roar_coord_set_token(struct roar_coord *c, const char *token)
{
	char *copied = strdup(token ? token : "");
	int r;

	if (!copied)
		return sentence_fail(-ENOMEM, "out of memory");
	r = client_enter(c);
	if (r < 0) {
		free(copied);
		return r;
	}
	free(c->token);
	c->token = copied;
	client_session_renew(c);
	client_link_flush(c);
	r = c->dead ? sentence_fail(c->dead, "%s", c->dead_text) : 0;
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
		return sentence_fail(-ENOMEM, "out of memory");
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
				  "this client has a thread of its own: make "
				  "one with ROAR_COORD_NO_THREAD") :
		    loop_poll_fd(c->loop);
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
	struct loop_events events;
	int64_t now;
	int r = client_enter(c);

	if (r < 0)
		return r;
	if (c->has_thread) {
		client_leave(c);
		return sentence_fail(-EINVAL,
				     "this client has a thread of its own");
	}
	(void)loop_wait(c->loop, 0, &events);
	c->due_ms = client_turn(c, &events);
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
