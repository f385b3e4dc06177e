/* cmd_coordinator.c - `roar coordinator`: what a coordinator does, from outside. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/str.h"
#include "commands.h"
#include "confirm.h"
#include "coordinator_ask.h"
#include "coordinator_show.h"
#include "live.h"

enum { INTERVAL_MS = 1000, WATCH_MS = 500, NAMES_SAID = 8 };

static const struct option_spec options[] = {
	{ .name = "address",
	  .letter = 'a',
	  .arg = "ADDRESS",
	  .help = "where it listens: HOST:PORT or unix:PATH" },
	{ .name = "job", .letter = 'j', .arg = "JOB", .help = "which job" },
	{ .name = "all", .help = "send, drain: all workers of the job" },
	{ .name = "json", .help = "print JSON" },
	{ .name = "watch", .letter = 'w', .help = "show it again and again" },
	{ .name = "interval",
	  .arg = "SECONDS",
	  .help = "how often --watch looks (1)" },
	{ .name = "grace",
	  .arg = "SECONDS",
	  .help = "how long stop lets calls go on (1)" },
	{ .name = "ttl",
	  .arg = "SECONDS",
	  .help = "set: when the key shall be gone" },
	{ .name = "yes", .letter = 'y', .help = "forget without asking first" },
	{ .name = "token-file",
	  .arg = "FILE",
	  .help = "a file whose first line is the token" },
	{ .name = "tls-ca",
	  .arg = "FILE",
	  .help = "connect with TLS and believe these certificates" },
	{ .name = "tls-name",
	  .arg = "NAME",
	  .help = "the server's name in its certificate" },
	{ 0 },
};

#define WHERE "address token-file tls-ca tls-name"
#define LOOK WHERE " json watch interval"

static const struct verb_spec verbs[] = {
	{ "status", "", "the server and its jobs", LOOK },
	{ "workers", "", "the workers of a job, by rank", LOOK " job" },
	{ "barriers", "", "who is waited for, and for how long", LOOK " job" },
	{ "kv", "[PREFIX]", "the keys of a job and their values", LOOK " job" },
	{ "get", "KEY", "the value of a key, byte for byte", WHERE " job" },
	{ "set", "KEY VALUE", "give a key a value", WHERE " job ttl" },
	{ "delete", "KEY", "remove a key", WHERE " job" },
	{ "send", "COMMAND [WORKER]...",
	  "tell workers something with their next heartbeat",
	  WHERE " job json all" },
	{ "drain", "[WORKER]...", "ask workers to finish and leave",
	  WHERE " job json all" },
	{ "forget", "", "end a job that nobody is in, with its keys",
	  WHERE " job yes" },
	{ "stop", "", "end the server; its state is kept", WHERE " grace" },
	{ 0 },
};

static const struct example examples[] = {
	{ "roar coordinator", "is it there, and what does it do" },
	{ "roar coordinator workers --job big --watch", NULL },
	{ "roar coordinator barriers", "who holds everybody up" },
	{ "roar coordinator send checkpoint --all", NULL },
	{ "roar coordinator drain node-7", NULL },
	{ 0 },
};

/* ---- looking: status, workers, barriers, kv ---- */

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

/* Seconds as ms; -EINVAL, which was said, for what is none. */
static int seconds_ms(const struct args *args, const char *option, int standard)
{
	const char *word = args_get(args, option);
	char *end;
	double s;

	if (!word)
		return standard;
	s = strtod(word, &end);
	if (!*end && s >= 0.05 && s <= 86400)
		return (int)(s * 1000);
	(void)cli_usage(args->command,
			"--%s takes seconds from 0.05 to 86400, not '%.100s'",
			option, word);
	return -EINVAL;
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
	int interval = seconds_ms(args, "interval", INTERVAL_MS);

	if (interval < 0)
		return EXIT_USAGE;
	/* Keys are not looked at meanwhile. */
	if (watch)
		l.coordinator.patience_ms = WATCH_MS;
	if (watch)
		return live_run(make, &l, interval, !l.json);
	return make(&l, &out) < 0 ? 1 : cli_print(&out);
}

static int run_status(const struct args *args, struct coordinator *c)
{
	return look(args, c, make_status);
}

static int run_workers(const struct args *args, struct coordinator *c)
{
	return look(args, c, make_workers);
}

static int run_barriers(const struct args *args, struct coordinator *c)
{
	return look(args, c, make_barriers);
}

static int run_kv(const struct args *args, struct coordinator *c)
{
	return look(args, c, make_kv);
}

/* ---- acting ---- */

/* A question whose answer is that it was done; *ret, where wanted, is the reply. */
static int act(struct coordinator *c, enum client_method_number method,
	       const ProtobufCMessage *request,
	       const ProtobufCMessageDescriptor *type, void *ret)
{
	struct roar_error err = { 0 };
	ProtobufCMessage *reply = NULL;

	if (coordinator_ask(c, method, request, type, &reply, &err) < 0)
		return cli_fail("%s", err.text);
	if (ret)
		*(ProtobufCMessage **)ret = reply;
	else
		protobuf_c_message_free_unpacked(reply, NULL);
	return 0;
}

struct told {
	int32_t n;
	char *const *full; /* who were not */
	size_t n_full;
};

static int run_get(const struct args *args, struct coordinator *c)
{
	CLEANUP(str_release) struct str out = STR_INIT;
	Roar__KvGetRequest m = ROAR__KV_GET_REQUEST__INIT;
	Roar__KvReply *reply = NULL;
	int r;

	m.job_id = c->job;
	m.key = args->operands[1];
	r = act(c, METHOD_KV_GET, &m.base, &roar__kv_reply__descriptor, &reply);
	if (r)
		return r;
	if (!reply->entry || !reply->entry->version)
		r = cli_fail("there is no key '%.200s': 'roar coordinator kv' "
			     "lists those that are",
			     m.key);
	else
		str_add(&out, reply->entry->value.data,
			reply->entry->value.len);
	roar__kv_reply__free_unpacked(reply, NULL);
	return r ? r : cli_print(&out);
}

static int run_set(const struct args *args, struct coordinator *c)
{
	Roar__KvSetRequest m = ROAR__KV_SET_REQUEST__INIT;
	int ttl = seconds_ms(args, "ttl", 0);

	if (ttl < 0)
		return EXIT_USAGE;
	m.job_id = c->job;
	m.key = args->operands[1];
	m.value.data = (uint8_t *)args->operands[2];
	m.value.len = strlen(args->operands[2]);
	m.ttl_ms = ttl;
	return act(c, METHOD_KV_SET, &m.base, &roar__kv_reply__descriptor,
		   NULL);
}

static int run_delete(const struct args *args, struct coordinator *c)
{
	Roar__KvDeleteRequest m = ROAR__KV_DELETE_REQUEST__INIT;
	Roar__KvReply *reply = NULL;
	int r;

	m.job_id = c->job;
	m.key = args->operands[1];
	r = act(c, METHOD_KV_DELETE, &m.base, &roar__kv_reply__descriptor,
		&reply);
	if (r)
		return r;
	if (!reply->done)
		r = cli_fail("there is no key '%.200s'", m.key);
	roar__kv_reply__free_unpacked(reply, NULL);
	return r;
}

/* Those who fetch nothing were not told. */
static int fail_full(char *const *full, size_t n)
{
	CLEANUP(str_release) struct str out = STR_INIT;

	for (size_t i = 0; i < n && i < NAMES_SAID; i++)
		str_addf(&out, "%s'%s'", i ? ", " : "", full[i]);
	if (n > NAMES_SAID)
		str_addf(&out, " and %zu more", n - NAMES_SAID);
	return cli_fail("%s: not told, too many commands wait for them already",
			str_error(&out) < 0 ? "some" : str_cstr(&out));
}

static int say_told(const struct args *args, const struct told *told,
		    const char *what)
{
	CLEANUP(str_release) struct str out = STR_INIT;
	struct json j = json_writer(&out, true);
	int r;

	if (args_has(args, "json")) {
		json_object(&j);
		json_key(&j, "workers");
		json_int(&j, told->n);
		json_key(&j, "full");
		json_array(&j);
		for (size_t i = 0; i < told->n_full; i++)
			json_string(&j, told->full[i]);
		json_end(&j);
		json_end(&j);
		str_addc(&out, '\n');
	} else {
		format_count(&out, (uint64_t)told->n, "worker");
		str_addf(&out, " %s.\n", what);
	}
	r = cli_print(&out);
	return r || !told->n_full ? r : fail_full(told->full, told->n_full);
}

static int run_send(const struct args *args, struct coordinator *c)
{
	Roar__CommandRequest m = ROAR__COMMAND_REQUEST__INIT;
	Roar__CommandReply *reply = NULL;
	struct told told;
	int r;

	m.job_id = c->job;
	m.command = args->operands[1];
	m.n_worker_ids = (size_t)args->n_operands - 2;
	m.worker_ids = args->operands + 2;
	if (act(c, METHOD_SEND_COMMAND, &m.base,
		&roar__command_reply__descriptor, &reply))
		return 1;
	told = (struct told){ reply->n_workers, reply->full, reply->n_full };
	r = say_told(args, &told, "will be told with the next heartbeat");
	roar__command_reply__free_unpacked(reply, NULL);
	return r;
}

static int run_drain(const struct args *args, struct coordinator *c)
{
	Roar__DrainRequest m = ROAR__DRAIN_REQUEST__INIT;
	Roar__DrainReply *reply = NULL;
	struct told told;
	int r;

	m.job_id = c->job;
	m.n_worker_ids = (size_t)args->n_operands - 1;
	m.worker_ids = args->operands + 1;
	if (act(c, METHOD_DRAIN, &m.base, &roar__drain_reply__descriptor,
		&reply))
		return 1;
	told = (struct told){ reply->n_workers, reply->full, reply->n_full };
	r = say_told(args, &told, "will be asked to finish and leave");
	roar__drain_reply__free_unpacked(reply, NULL);
	return r;
}

/* A job is named, so that nobody forgets another than was meant. */
static int run_forget(const struct args *args, struct coordinator *c)
{
	CLEANUP(str_release) struct str deed = STR_INIT;
	Roar__ForgetRequest m = ROAR__FORGET_REQUEST__INIT;
	int r;

	if (!*c->job)
		return cli_usage(args->command,
				 "forget needs --job and the job's name");
	str_addf(&deed,
		 "forget ends job '%.128s' with its keys, datasets and "
		 "checkpoints",
		 c->job);
	r = confirm(args, str_cstr(&deed),
		    "Forget the job with its keys, datasets and checkpoints?");
	if (r)
		return r;
	m.job_id = c->job;
	return act(c, METHOD_FORGET, &m.base, &roar__forget_reply__descriptor,
		   NULL);
}

static int run_stop(const struct args *args, struct coordinator *c)
{
	Roar__StopRequest m = ROAR__STOP_REQUEST__INIT;
	int grace = seconds_ms(args, "grace", INTERVAL_MS);

	if (grace < 0)
		return EXIT_USAGE;
	m.grace_ms = grace;
	return act(c, METHOD_STOP, &m.base, &roar__stop_reply__descriptor,
		   NULL);
}

/* ---- the command ---- */

static const struct action {
	const char *name;
	int (*run)(const struct args *args, struct coordinator *c);
	int workers_at; /* the operand where their names begin; 0: takes none */
} actions[] = {
	{ "status", run_status, 0 },	 { "workers", run_workers, 0 },
	{ "barriers", run_barriers, 0 }, { "kv", run_kv, 0 },
	{ "get", run_get, 0 },		 { "set", run_set, 0 },
	{ "delete", run_delete, 0 },	 { "send", run_send, 2 },
	{ "drain", run_drain, 1 },	 { "forget", run_forget, 0 },
	{ "stop", run_stop, 0 },
};

static const struct action *find_action(const char *verb)
{
	for (size_t i = 0; i < sizeof(actions) / sizeof(*actions); i++)
		if (strcmp(actions[i].name, verb) == 0)
			return &actions[i];
	return NULL;
}

/* Everybody only when it is said: a name that was forgotten must not stop a job. */
static int check_workers(const struct args *args, const struct action *a)
{
	bool all = args_has(args, "all");

	if (!a->workers_at || all == (args->n_operands == a->workers_at))
		return 0;
	return cli_usage(args->command,
			 all ? "%s takes names of workers or --all, not both" :
			       "%s needs the names of workers, or --all for "
			       "all workers of the job",
			 a->name);
}

static int run(const struct args *args)
{
	const char *verb = args->n_operands ? args->operands[0] : "status";
	const struct action *a = find_action(verb);
	CLEANUP(coordinator_close) struct coordinator c = { 0 };
	struct roar_error err = { 0 };

	if (!a)
		return cli_usage(args->command, "there is no '%s'", verb);
	if (check_workers(args, a))
		return EXIT_USAGE;
	if (coordinator_open(args, &c, &err) < 0)
		return cli_fail("%s", err.text);
	return a->run(args, &c);
}

const struct command cmd_coordinator = {
	.name = "coordinator",
	.group = GROUP_DATA,
	.summary = "see and steer the workers of a training job",
	.synopsis = "[VERB] [OPTION]...",
	.about =
		"A coordinator (roar-coordinator) knows the workers of training "
		"jobs: who is there, with which rank, who is dead, and who waits "
		"for whom at a barrier. This command asks one, or tells it "
		"something. Without a verb it shows the status.\n\n"
		"The coordinator is at 127.0.0.1:50051, unless --address or the "
		"environment variable ROAR_COORDINATOR says otherwise; several "
		"places, separated by commas, are tried in turn. A job is named "
		"by --job or ROAR_COORDINATOR_JOB; without one it is that of the "
		"token, or 'default'. A token comes from --token-file or from "
		"ROAR_COORDINATOR_TOKEN.\n\n"
		"status shows the server and for each job its PLACES (workers "
		"that are there or whose place is held), those ALIVE, how many "
		"are NEEDED to begin, the EPOCH of its world, which grows with "
		"every change of members or ranks, BARRIERS that somebody waits "
		"at, and KEYS. workers has a line for each place: when it was "
		"last HEARD of, what it is DOING, and which LIFE of it this is "
		"(2 after its first restart). barriers shows which USE of a "
		"barrier is being waited for and who is MISSING.\n\n"
		"--watch shows status, workers, barriers or kv again and again: "
		"on a terminal in place, until q or Ctrl-C; elsewhere one below "
		"the other, and with --json one line each.\n\n"
		"send tells a command to workers, once, with "
		"their next heartbeat: 'checkpoint', 'stop', 'reload', or whatever "
		"they understand. drain asks them to finish what they do "
		"and leave. Both take names of workers, or --all for all of the "
		"job. forget ends a job that has no workers and that nobody "
		"waits for: what it had is gone. stop ends the server after a while that lets calls "
		"end; workers connect again when it is back and go on.\n\n"
		"--json prints an object. status: address, version, uptime_ms, "
		"stopping, workers, connections, requests, log_records, "
		"log_bytes, jobs (job, world_epoch, places, alive, ready, barriers, "
		"keys and the settings). workers: world_epoch, workers (worker, "
		"rank, state, reason, incarnation, heartbeat_age_ms, "
		"registered_ms, host, port, gpus, memory_bytes, doing, task, "
		"epoch, step, metadata). barriers: barriers (barrier, generation, "
		"kind, arrived, expected, age_ms, missing). kv: keys (key, value, "
		"version, expires_in_ms). send and drain: workers, their number, and full, those that "
		"were not told because too many commands wait for them already.",
	.options = options,
	.verbs = verbs,
	.examples = examples,
	.exit_status =
		"0 on success, 1 when the coordinator cannot be reached "
		"or refuses, there is no such key, or not all workers were told, "
		"2 on wrong usage.",
	.operand = OPERAND_NONE,
	.max_operands = 0,
	.run = run,
};
