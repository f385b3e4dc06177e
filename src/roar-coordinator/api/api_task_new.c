/* api_task_new.c - POST /api/tasks: a job that is to begin.
 *
 *	{"name": "big", "type": "training", "dataset_id": "pile", "worker_count": 8, "config": {}}
 *
 * Nothing here can start a process, so the task waits for its workers: meetings are not
 * released before `worker_count` of them are there.  What was sent is kept whole as the job's key
 * "task", where workers find type, dataset and config.  That key also says that the task was made:
 * the same request once more is answered as the first, another one is refused. */
#include "api/api.h"

#include <stdio.h>

#include "base/id.h"
#include "base/json_read.h"

enum { MAX_WORKER_COUNT = 10000 }; /* as a job may have */

static const char task_key[] = "task";

struct plan {
	struct str name;
	int64_t worker_count; /* 0: not given */
};

/* Returns why it is none; NULL: it is good. */
static const char *read_plan(const struct http_request *request, struct plan *p)
{
	struct json_value v;
	int r = json_member(request->body, request->body_len, "name", &v);

	if (r < 0)
		return "the body must be a JSON object: name, type, dataset_id, "
		       "worker_count, config";
	if (r == 0 || json_read_string(&v, &p->name) < 0 ||
	    !id_is_valid(str_cstr(&p->name), p->name.len))
		return "name must be 1 to 128 characters of A-Z, a-z, 0-9, '_', "
		       "'.' and '-': it is the name of the job";
	r = json_member(request->body, request->body_len, "worker_count", &v);
	if (r == 1 &&
	    (json_read_int(&v, &p->worker_count) < 0 || p->worker_count < 0 ||
	     p->worker_count > MAX_WORKER_COUNT))
		return "worker_count must be a number from 0 to 10000";
	return NULL;
}

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
		 const struct http_request *request, const struct plan *p,
		 struct look *l)
{
	Roar__KvCompareSetRequest m = ROAR__KV_COMPARE_SET_REQUEST__INIT;

	m.job_id = p->name.data;
	m.key = (char *)task_key;
	m.value.data = (uint8_t *)request->body;
	m.value.len = request->body_len;
	answer_look(s, scope, api_method("/roar.Control/KvCompareSet"), &m.base,
		    l);
}

static void take_nothing(struct look *l, const ProtobufCMessage *message)
{
	(void)l;
	(void)message;
}

static void configure(struct server *s, const struct scope *scope,
		      const struct plan *p, struct look *l)
{
	Roar__JobSettings m = ROAR__JOB_SETTINGS__INIT;

	m.job_id = p->name.data;
	m.start_workers = (int32_t)p->worker_count;
	answer_look(s, scope, api_method("/roar.Control/Configure"), &m.base,
		    l);
}

/* ---- the request ---- */

static void make(struct server *s, const struct scope *scope,
		 const struct http_request *request, const struct plan *p,
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
	api_add_string(&j, "task_id", str_cstr(&p->name));
	api_add_string(&j, "status", "pending");
	json_end(&j);
	str_addc(&reply->body, '\n');
}

void api_task_new(struct server *s, const struct scope *scope,
		  const struct http_request *request, struct http_reply *reply)
{
	struct plan p = { .name = STR_INIT };
	const char *fault = read_plan(request, &p);

	if (fault)
		api_error(reply, 400, fault);
	else if (scope->job && strcmp(scope->job, str_cstr(&p.name)) != 0)
		api_error(reply, 403, access_sentence(ACCESS_DENIED));
	else if (is_running(s, str_cstr(&p.name)))
		api_error(reply, 409,
			  "the job of that name has workers "
			  "already: choose another name");
	else
		make(s, scope, request, &p, reply);
	str_release(&p.name);
}
