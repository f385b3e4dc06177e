/* worker_command.c - words to workers: "checkpoint", "stop", "reload", "drain".
 *
 * A command waits at its worker until it is told, in the reply to a heartbeat or to
 * a watch, once.  It is recorded that it waits, and recorded that it was told before the
 * telling leaves: after a crash a command may be lost on its way, but is never told
 * twice. */
#include "coord/members/members.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/vec.h"

enum {
	MAX_COMMANDS = 64, /* waiting, per worker */
	MAX_COMMAND = 256,
};

/* ---- records ---- */

/* Copies for all of them and room in all queues, before anything changes.  A worker is
 * named once: its queue needs room for one. */
static int prepare(struct job *job, const Roar__Record__Command *m,
		   char **copies)
{
	for (size_t i = 0; i < m->n_worker_ids; i++) {
		struct worker *w = worker_find(job, m->worker_ids[i]);

		if (!w || w->n_commands >= MAX_COMMANDS)
			return -EBADMSG;
		copies[i] = strdup(m->command);
		if (!copies[i] ||
		    vec_reserve(&w->commands, &w->cap_commands,
				w->n_commands + 1, sizeof(*w->commands)) < 0)
			return -ENOMEM;
	}
	return 0;
}

int change_command(struct coord *c, const Record *record)
{
	const Roar__Record__Command *m = record->command;
	struct job *job = job_find(c, m->job_id);
	CLEANUP(freep) char **copies = NULL;
	int r;

	if (!job || !m->n_worker_ids || !*m->command)
		return -EBADMSG;
	copies = calloc(m->n_worker_ids, sizeof(*copies));
	if (!copies)
		return -ENOMEM;
	r = prepare(job, m, copies);
	if (r == 0)
		r = record_append(c, record);
	for (size_t i = 0; i < m->n_worker_ids; i++) {
		struct worker *w = r < 0 ? NULL :
					   worker_find(job, m->worker_ids[i]);

		if (w && w->n_commands < w->cap_commands)
			w->commands[w->n_commands++] = copies[i];
		else
			free(copies[i]);
	}
	return r;
}

int change_commands_told(struct coord *c, const Record *record)
{
	const Roar__Record__CommandsTold *m = record->commands_told;
	struct job *job = job_find(c, m->job_id);
	struct worker *w = job ? worker_find(job, m->worker_id) : NULL;
	size_t n = (size_t)m->n;
	int r;

	if (!w || m->n <= 0 || n > w->n_commands)
		return -EBADMSG;
	r = record_append(c, record);
	if (r < 0)
		return r;
	for (size_t i = 0; i < n; i++)
		free(w->commands[i]);
	w->n_commands -= n;
	memmove(w->commands, w->commands + n,
		w->n_commands * sizeof(*w->commands));
	return 0;
}

int change_drain(struct coord *c, const Record *record)
{
	const Roar__Record__Drain *m = record->drain;
	struct job *job = job_find(c, m->job_id);
	int r;

	if (!job || !m->n_worker_ids)
		return -EBADMSG;
	for (size_t i = 0; i < m->n_worker_ids; i++)
		if (!worker_find(job, m->worker_ids[i]))
			return -EBADMSG;
	r = record_append(c, record);
	if (r < 0)
		return r;
	for (size_t i = 0; i < m->n_worker_ids; i++)
		worker_find(job, m->worker_ids[i])->draining = true;
	return 0;
}

/* ---- telling ---- */

static int record_told(const struct worker *w)
{
	Roar__Record__CommandsTold m = ROAR__RECORD__COMMANDS_TOLD__INIT;
	Record record = ROAR__RECORD__RECORD__INIT;

	m.job_id = w->job->id;
	m.worker_id = w->info->worker_id;
	m.n = (int32_t)w->n_commands;
	record.what_case = ROAR__RECORD__RECORD__WHAT_COMMANDS_TOLD;
	record.commands_told = &m;
	return change_make(w->job->c, &record);
}

int commands_take(struct worker *w, char ***ret, size_t *ret_n)
{
	size_t n = w->n_commands;
	char **taken = malloc(n * sizeof(*taken));
	int r = 0;

	if (!taken)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		taken[i] = strdup(w->commands[i]);
		if (!taken[i])
			r = -ENOMEM;
	}
	if (r == 0)
		r = record_told(w);
	if (r < 0) {
		commands_free(taken, n);
		return r;
	}
	*ret = taken;
	*ret_n = n;
	return 0;
}

void commands_free(char **commands, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(commands[i]);
	free(commands);
}

/* Where it cannot be recorded, they wait for the next heartbeat. */
void commands_answer(const struct request *q, struct worker *w,
		     Coordinator__HeartbeatResponse *reply)
{
	char **commands = NULL;
	size_t n = 0;

	if (commands_take(w, &commands, &n) == 0) {
		reply->pending_commands = commands;
		reply->n_pending_commands = n;
	}
	request_reply(q, reply);
	commands_free(commands, n);
}

/* ---- requests ---- */

/* Adds a worker that is not there yet. */
static int add_target(struct map *seen, const struct worker *w, char **all,
		      size_t *n)
{
	char *id = w->info->worker_id;

	if (map_get(seen, id, strlen(id)))
		return 0;
	if (map_set(seen, id, strlen(id), id) < 0)
		return -ENOMEM;
	all[(*n)++] = id;
	return 0;
}

/* Whom a request is for: those it names, each once, or all; *ret is to be freed.  Fails
 * after a refusal. */
static int targets(const struct request *q, const struct job *job,
		   char *const *ids, size_t n_ids, char ***ret, size_t *ret_n)
{
	size_t most = n_ids ? n_ids : job->n_workers, n = 0;
	CLEANUP(freep) char **all = calloc(most + 1, sizeof(*all));
	CLEANUP(map_release) struct map seen = MAP_INIT;
	int r = all ? 0 : -ENOMEM;

	for (size_t i = 0; i < most && r == 0; i++) {
		struct worker *w = n_ids ? request_worker(q, job, ids[i]) :
					   job->by_rank[i];

		if (!w)
			return -ENOENT;
		r = add_target(&seen, w, all, &n);
	}
	if (r < 0) {
		request_refuse_change(q, r);
		return r;
	}
	*ret = TAKE_PTR(all);
	*ret_n = n;
	return 0;
}

/* One worker that does not fetch its commands does not keep them from the others: those
 * with room come first then, in their order, and *ret_n is their number.  Fails after
 * a refusal when there is none. */
static int with_room(const struct request *q, const struct job *job, char **ids,
		     size_t n, size_t *ret_n)
{
	CLEANUP(freep) char **full = calloc(n + 1, sizeof(*full));
	size_t n_room = 0, n_full = 0;

	if (!full) {
		request_refuse_change(q, -ENOMEM);
		return -ENOMEM;
	}
	for (size_t i = 0; i < n; i++) {
		if (worker_find(job, ids[i])->n_commands < MAX_COMMANDS)
			ids[n_room++] = ids[i];
		else
			full[n_full++] = ids[i];
	}
	if (n_full)
		memcpy(ids + n_room, full, n_full * sizeof(*full));
	*ret_n = n_room;
	if (n_room || !n_full)
		return 0;
	request_refuse(
		q, COORD_RESOURCE_EXHAUSTED,
		"worker '%s' has not fetched %d commands; no more are kept for it",
		ids[0], MAX_COMMANDS);
	return -EAGAIN;
}

static int record_command(const struct request *q, struct job *job, char **ids,
			  size_t n, const char *command)
{
	Roar__Record__Command m = ROAR__RECORD__COMMAND__INIT;
	Record record = ROAR__RECORD__RECORD__INIT;
	int r;

	m.job_id = job->id;
	m.command = (char *)command;
	m.worker_ids = ids;
	m.n_worker_ids = n;
	record.what_case = ROAR__RECORD__RECORD__WHAT_COMMAND;
	record.command = &m;
	r = change_make(q->c, &record);
	if (r < 0)
		request_refuse_change(q, r);
	return r;
}

static void push_all(struct job *job, char **ids, size_t n)
{
	for (size_t i = 0; i < n; i++)
		commands_push(worker_find(job, ids[i]));
}

static int check_command(const struct request *q, const char *command)
{
	if (!*command) {
		request_refuse(
			q, COORD_INVALID_ARGUMENT,
			"the command is empty; send \"checkpoint\", \"stop\", \"reload\" or one that the workers know");
		return -EINVAL;
	}
	return request_check_text(q, "the command", command, MAX_COMMAND);
}

void method_send_command(const struct request *q, const void *message)
{
	const Roar__CommandRequest *m = message;
	Roar__CommandReply reply = ROAR__COMMAND_REPLY__INIT;
	struct job *job = request_job(q, m->job_id);
	CLEANUP(freep) char **ids = NULL;
	size_t all, n;

	if (!job || check_command(q, m->command) < 0 ||
	    targets(q, job, m->worker_ids, m->n_worker_ids, &ids, &all) < 0 ||
	    with_room(q, job, ids, all, &n) < 0)
		return;
	if (n && record_command(q, job, ids, n, m->command) < 0)
		return;
	push_all(job, ids, n);
	reply.n_workers = (int32_t)n;
	reply.full = ids + n;
	reply.n_full = all - n;
	request_reply(q, &reply);
}

static int record_drain(const struct request *q, struct job *job, char **ids,
			size_t n)
{
	Roar__Record__Drain m = ROAR__RECORD__DRAIN__INIT;
	Record record = ROAR__RECORD__RECORD__INIT;
	int r;

	m.job_id = job->id;
	m.worker_ids = ids;
	m.n_worker_ids = n;
	record.what_case = ROAR__RECORD__RECORD__WHAT_DRAIN;
	record.drain = &m;
	r = change_make(q->c, &record);
	if (r < 0)
		request_refuse_change(q, r);
	return r;
}

/* Two records: should the second fail, the caller is told and asks again, and the first
 * changes nothing more. */
void method_drain(const struct request *q, const void *message)
{
	const Roar__DrainRequest *m = message;
	Roar__DrainReply reply = ROAR__DRAIN_REPLY__INIT;
	struct job *job = request_job(q, m->job_id);
	CLEANUP(freep) char **ids = NULL;
	size_t all, n;

	if (!job ||
	    targets(q, job, m->worker_ids, m->n_worker_ids, &ids, &all) < 0 ||
	    with_room(q, job, ids, all, &n) < 0)
		return;
	if (n && (record_drain(q, job, ids, n) < 0 ||
		  record_command(q, job, ids, n, "drain") < 0))
		return;
	for (size_t i = 0; i < n; i++)
		world_changed(job, ids[i]);
	push_all(job, ids, n);
	reply.n_workers = (int32_t)n;
	reply.full = ids + n;
	reply.n_full = all - n;
	request_reply(q, &reply);
}
