/* api_task_new.c - POST /api/tasks: a job that is to begin.
 *
 * Nothing here can start a process, so the task waits for its workers: meetings are not
 * released before `worker_count` of them are there.  What was sent is kept whole as the job's key
 * "task", where workers find type, dataset and config.  That key also says that the task was made:
 * the same request once more is answered as the first, another one is refused. */
#include "api/api.h"

#include "api/task_plan.h"

static const char task_key[] = "task";

/* ---- is there one already? ---- */

static void note_size(void *data, const Roar__JobStatus *m)
{
	*(int32_t *)data = m->world_size;
}

static bool is_running(const struct server *s, const char *job)
{
	int32_t size = 0;

	coord_each_job(s->coord, job, note_size, &size);
	return size > 0;
}

/* ---- what is kept ---- */

struct keeping {
	const struct http_request *request;
	bool is_good; /* it was kept, now or before */
};

static void take_kept(struct look *l, const ProtobufCMessage *message)
{
	const Roar__KvReply *m = (const Roar__KvReply *)message;
	struct keeping *k = l->data;

	k->is_good = m->done || (m->entry->value.len == k->request->body_len &&
				 memcmp(m->entry->value.data, k->request->body,
					k->request->body_len) == 0);
}

static void keep(struct server *s, const struct scope *scope,
		 const struct http_request *request, const struct task_plan *p,
		 struct look *l)
{
	Roar__KvCompareSetRequest m = ROAR__KV_COMPARE_SET_REQUEST__INIT;

	m.job_id = (char *)p->name;
	m.key = (char *)task_key;
	m.value.data = (uint8_t *)request->body;
	m.value.len = request->body_len;
	host_look(s, scope, api_method("/roar.Control/KvCompareSet"), &m.base,
		  l);
}

static void take_nothing(struct look *l, const ProtobufCMessage *message)
{
	(void)l;
	(void)message;
}

static void configure(struct server *s, const struct scope *scope,
		      const struct task_plan *p, struct look *l)
{
	Roar__JobSettings m = ROAR__JOB_SETTINGS__INIT;

	m.job_id = (char *)p->name;
	m.start_workers = p->worker_count;
	host_look(s, scope, api_method("/roar.Control/Configure"), &m.base, l);
}

/* ---- the request ---- */

static void make(struct server *s, const struct scope *scope,
		 const struct http_request *request, const struct task_plan *p,
		 struct http_reply *reply)
{
	struct keeping k = { .request = request };
	struct look l = { .reply = take_kept, .data = &k };
	struct json j;

	keep(s, scope, request, p, &l);
	if (l.status == COORD_OK && k.is_good) {
		l = (struct look){ .reply = take_nothing };
		configure(s, scope, p, &l);
	}
	if (!journal_is_durable(s))
		reply->wait_for = s->appended;
	loop_later(s->loop, &s->round_end);
	if (l.status != COORD_OK) {
		api_error(reply, 503, l.sentence);
		return;
	}
	if (!k.is_good) {
		api_error(reply, 409,
			  "a task of this name exists already, with "
			  "other values: choose another name");
		return;
	}
	reply->status = 201;
	j = json_writer(&reply->body, false);
	json_put_object(&j);
	api_add_string(&j, "task_id", p->name);
	api_add_string(&j, "status", "pending");
	json_end(&j);
	str_addc(&reply->body, '\n');
}

void api_task_new(struct server *s, const struct scope *scope,
		  const struct http_request *request, struct http_reply *reply)
{
	struct task_plan p;
	const char *fault = task_plan_read(request->body, request->body_len,
					   &p);

	if (fault)
		api_error(reply, 400, fault);
	else if (scope->job && strcmp(scope->job, p.name) != 0)
		api_error(reply, 403, access_sentence(ACCESS_DENIED));
	else if (is_running(s, p.name))
		api_error(reply, 409,
			  "the job of that name has workers "
			  "already: choose another name");
	else
		make(s, scope, request, &p, reply);
}
