/* coordinator_act.c - the verbs that change something, and those about one key. */
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/str.h"
#include "coordinator/coordinator_verbs.h"
#include "ui/confirm.h"

enum {
	GRACE_MS = 1000, /* that calls have to end */
	NAMES_SAID = 8,
};

/* A question whose answer is that it was done; *ret, where wanted, is the reply. */
static int act(struct coordinator *c, enum coord_method_number method,
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

int coordinator_verb_get(const struct args *args, struct coordinator *c)
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
		r = cli_fail(
			"key '%.200s' does not exist: 'roar coordinator kv' lists "
			"the keys",
			m.key);
	else
		str_add(&out, reply->entry->value.data,
			reply->entry->value.len);
	roar__kv_reply__free_unpacked(reply, NULL);
	return r ? r : cli_print(&out);
}

int coordinator_verb_set(const struct args *args, struct coordinator *c)
{
	Roar__KvSetRequest m = ROAR__KV_SET_REQUEST__INIT;
	int ttl = coordinator_seconds_ms(args, "ttl", 0);

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

int coordinator_verb_delete(const struct args *args, struct coordinator *c)
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
		r = cli_fail("key '%.200s' does not exist", m.key);
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
	return cli_fail(
		"%s: not reached, too many commands wait for them already",
		str_error(&out) < 0 ? "some" : str_cstr(&out));
}

static int say_told(const struct args *args, const struct told *told,
		    const char *what)
{
	CLEANUP(str_release) struct str out = STR_INIT;
	struct json j = json_writer(&out, true);
	int r;

	if (args_has(args, "json")) {
		json_put_object(&j);
		json_put_key(&j, "workers");
		json_put_int(&j, told->n);
		json_put_key(&j, "full");
		json_put_array(&j);
		for (size_t i = 0; i < told->n_full; i++)
			json_put_string(&j, told->full[i]);
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

int coordinator_verb_send(const struct args *args, struct coordinator *c)
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
	r = say_told(args, &told,
		     "will get the command with the next heartbeat");
	roar__command_reply__free_unpacked(reply, NULL);
	return r;
}

int coordinator_verb_drain(const struct args *args, struct coordinator *c)
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
int coordinator_verb_forget(const struct args *args, struct coordinator *c)
{
	CLEANUP(str_release) struct str deed = STR_INIT;
	Roar__ForgetRequest m = ROAR__FORGET_REQUEST__INIT;
	int r;

	if (!*c->job)
		return cli_usage(args->command, "forget requires --job JOB");
	str_addf(&deed,
		 "forget deletes job '%.128s' with its keys, datasets and "
		 "checkpoints",
		 c->job);
	r = confirm(args, str_cstr(&deed),
		    "Delete the job with its keys, datasets and checkpoints?");
	if (r)
		return r;
	m.job_id = c->job;
	return act(c, METHOD_FORGET, &m.base, &roar__forget_reply__descriptor,
		   NULL);
}

int coordinator_verb_stop(const struct args *args, struct coordinator *c)
{
	Roar__StopRequest m = ROAR__STOP_REQUEST__INIT;
	int grace = coordinator_seconds_ms(args, "grace", GRACE_MS);

	if (grace < 0)
		return EXIT_USAGE;
	m.grace_ms = grace;
	return act(c, METHOD_STOP, &m.base, &roar__stop_reply__descriptor,
		   NULL);
}
