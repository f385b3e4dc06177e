/* coordinator_look.c - the verbs that look, once or again and again. */
#include <errno.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/str.h"
#include "coordinator/coordinator_show.h"
#include "coordinator/coordinator_verbs.h"
#include "ui/live.h"

enum {
	INTERVAL_MS = 1000, /* between two looks */
	WATCH_MS = 500, /* for an answer while --watch looks */
};

struct look {
	struct coordinator coordinator;
	const char *prefix; /* of kv */
	bool json;
	bool pretty; /* JSON in many lines */
	bool stays; /* a coordinator that is gone for a while is waited for */
	int (*make)(struct look *l, struct str *out, struct roar_error *err);
};

static int make_status(struct look *l, struct str *out, struct roar_error *err)
{
	Roar__StatusRequest status = ROAR__STATUS_REQUEST__INIT;
	Roar__ListJobsRequest list = ROAR__LIST_JOBS_REQUEST__INIT;
	struct term term = term_of(STDOUT_FILENO);
	struct json j = json_writer(out, l->pretty);
	Roar__StatusReply *s = NULL;
	Roar__ListJobsReply *jobs = NULL;
	int r;

	r = coordinator_ask(&l->coordinator, METHOD_GET_STATUS, &status.base,
			    &roar__status_reply__descriptor, &s, err);
	if (r == 0)
		r = coordinator_ask(&l->coordinator, METHOD_LIST_JOBS,
				    &list.base,
				    &roar__list_jobs_reply__descriptor, &jobs,
				    err);
	if (r == 0 && l->json)
		coordinator_json_status(&j, l->coordinator.address, s, jobs);
	else if (r == 0)
		coordinator_text_status(out, &term, l->coordinator.address, s,
					jobs);
	roar__status_reply__free_unpacked(s, NULL);
	roar__list_jobs_reply__free_unpacked(jobs, NULL);
	return r;
}

static int make_workers(struct look *l, struct str *out, struct roar_error *err)
{
	CLEANUP(coordinator_workers_release)
	struct coordinator_workers w = { 0 };
	struct term term = term_of(STDOUT_FILENO);
	struct json j = json_writer(out, l->pretty);
	int r = coordinator_list_workers(&l->coordinator, &w, err);

	if (r == 0 && l->json)
		coordinator_json_workers(&j, &w);
	else if (r == 0)
		coordinator_text_workers(out, &term, &w);
	return r;
}

static int make_barriers(struct look *l, struct str *out,
			 struct roar_error *err)
{
	Roar__ListBarriersRequest m = ROAR__LIST_BARRIERS_REQUEST__INIT;
	struct term term = term_of(STDOUT_FILENO);
	struct json j = json_writer(out, l->pretty);
	Roar__ListBarriersReply *b = NULL;
	int r;

	m.job_id = l->coordinator.job;
	r = coordinator_ask(&l->coordinator, METHOD_LIST_BARRIERS, &m.base,
			    &roar__list_barriers_reply__descriptor, &b, err);
	if (r == 0 && l->json)
		coordinator_json_barriers(&j, b);
	else if (r == 0)
		coordinator_text_barriers(out, &term, b);
	roar__list_barriers_reply__free_unpacked(b, NULL);
	return r;
}

static int make_kv(struct look *l, struct str *out, struct roar_error *err)
{
	CLEANUP(coordinator_keys_release) struct coordinator_keys k = { 0 };
	struct term term = term_of(STDOUT_FILENO);
	struct json j = json_writer(out, l->pretty);
	int r = coordinator_list_keys(&l->coordinator, l->prefix, &k, err);

	if (r == 0 && l->json)
		coordinator_json_keys(&j, &k);
	else if (r == 0)
		coordinator_text_keys(out, &term, &k);
	return r;
}

/* A view that stays shows that the coordinator is gone, and goes on when it is back. */
static int make(void *data, struct str *out)
{
	struct look *l = data;
	struct roar_error err = { 0 };
	int r = l->make(l, out, &err);

	if (r == 0) {
		if (l->json)
			str_addc(out, '\n');
		return str_error(out);
	}
	str_clear(out);
	if (!l->stays || (r != -ENOTCONN && r != -ETIMEDOUT && r != -EAGAIN)) {
		(void)cli_fail("%s", err.text);
		return r;
	}
	if (l->json)
		return 0;
	str_addf(out, "%s\n", err.text);
	return 0;
}

static int look(const struct args *args, struct coordinator *c,
		int (*what)(struct look *, struct str *, struct roar_error *))
{
	CLEANUP(str_release) struct str out = STR_INIT;
	bool watch = args_has(args, "watch");
	struct look l = {
		.coordinator = *c,
		.prefix = args->n_operands > 1 ? args->operands[1] : "",
		.json = args_has(args, "json"),
		.pretty = !watch,
		.stays = watch,
		.make = what,
	};
	int interval = coordinator_seconds_ms(args, "interval", INTERVAL_MS);

	if (interval < 0)
		return EXIT_USAGE;
	/* Keys are not looked at meanwhile. */
	if (watch)
		l.coordinator.patience_ms = WATCH_MS;
	if (watch)
		return live_run(make, &l, interval, !l.json);
	return make(&l, &out) < 0 ? 1 : cli_print(&out);
}

int coordinator_verb_status(const struct args *args, struct coordinator *c)
{
	return look(args, c, make_status);
}

int coordinator_verb_workers(const struct args *args, struct coordinator *c)
{
	return look(args, c, make_workers);
}

int coordinator_verb_barriers(const struct args *args, struct coordinator *c)
{
	return look(args, c, make_barriers);
}

int coordinator_verb_kv(const struct args *args, struct coordinator *c)
{
	return look(args, c, make_kv);
}
