/* coordinator.c - `roar coordinator`: what a coordinator does, from outside. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/macros.h"
#include "commands.h"
#include "coordinator/coordinator_verbs.h"

static const struct option_spec options[] = {
	{ .name = "address",
	  .letter = 'a',
	  .arg = "ADDRESS",
	  .help = "address of the coordinator: HOST:PORT or unix:PATH" },
	{ .name = "job", .letter = 'j', .arg = "JOB", .help = "name of the job" },
	{ .name = "all", .help = "send, drain: address all workers of the job" },
	{ .name = "json", .help = "print JSON" },
	{ .name = "watch", .letter = 'w', .help = "repeat until interrupted" },
	{ .name = "interval",
	  .arg = "SECONDS",
	  .help = "interval of --watch (default 1)" },
	{ .name = "grace",
	  .arg = "SECONDS",
	  .help = "stop: how long calls in progress may take (default 1)" },
	{ .name = "ttl",
	  .arg = "SECONDS",
	  .help = "set: the key expires after this time" },
	{ .name = "yes", .letter = 'y', .help = "forget: do not ask" },
	{ .name = "token-file",
	  .arg = "FILE",
	  .help = "read the token from the first line of this file" },
	{ .name = "tls-ca",
	  .arg = "FILE",
	  .help = "connect by TLS, with these CA certificates" },
	{ .name = "tls-name",
	  .arg = "NAME",
	  .help = "name in the server's certificate" },
	{ 0 },
};

#define WHERE "address token-file tls-ca tls-name"
#define LOOK WHERE " json watch interval"

static const struct verb_spec verbs[] = {
	{ "status", "", "show the server and its jobs", LOOK },
	{ "workers", "", "list the workers of a job by rank", LOOK " job" },
	{ "barriers", "",
	  "show which workers are missing at barriers, and for how "
	  "long",
	  LOOK " job" },
	{ "kv", "[PREFIX]", "list the keys of a job and their values",
	  LOOK " job" },
	{ "get", "KEY", "print the value of a key, byte for byte",
	  WHERE " job" },
	{ "set", "KEY VALUE", "set the value of a key", WHERE " job ttl" },
	{ "delete", "KEY", "remove a key", WHERE " job" },
	{ "send", "COMMAND [WORKER]...",
	  "send a command to workers with their next heartbeat",
	  WHERE " job json all" },
	{ "drain", "[WORKER]...", "ask workers to finish and leave",
	  WHERE " job json all" },
	{ "forget", "", "delete a job without workers, with all its data",
	  WHERE " job yes" },
	{ "stop", "", "shut the server down; its state is kept",
	  WHERE " grace" },
	{ 0 },
};

static const struct example examples[] = {
	{ "roar coordinator", "is the server up, and what does it do" },
	{ "roar coordinator workers --job big --watch", NULL },
	{ "roar coordinator barriers", "which workers are missing at barriers" },
	{ "roar coordinator send checkpoint --all", NULL },
	{ "roar coordinator drain node-7", NULL },
	{ 0 },
};

int coordinator_seconds_ms(const struct args *args, const char *option,
			   int standard)
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

static const struct action {
	const char *name;
	int (*run)(const struct args *args, struct coordinator *c);
	int workers_at; /* the operand where their names begin; 0: takes none */
} actions[] = {
	{ "status", coordinator_verb_status, 0 },
	{ "workers", coordinator_verb_workers, 0 },
	{ "barriers", coordinator_verb_barriers, 0 },
	{ "kv", coordinator_verb_kv, 0 },
	{ "get", coordinator_verb_get, 0 },
	{ "set", coordinator_verb_set, 0 },
	{ "delete", coordinator_verb_delete, 0 },
	{ "send", coordinator_verb_send, 2 },
	{ "drain", coordinator_verb_drain, 1 },
	{ "forget", coordinator_verb_forget, 0 },
	{ "stop", coordinator_verb_stop, 0 },
};

static const struct action *find_action(const char *verb)
{
	for (size_t i = 0; i < ARRAY_SIZE(actions); i++)
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
		return cli_usage(args->command, "unknown action '%s'", verb);
	if (check_workers(args, a))
		return EXIT_USAGE;
	if (coordinator_open(args, &c, &err) < 0)
		return cli_fail("%s", err.text);
	return a->run(args, &c);
}

const struct command cmd_coordinator = {
	.name = "coordinator",
	.group = GROUP_DATA,
	.summary = "query and control a running coordinator",
	.synopsis = "[VERB] [OPTION]...",
	.about =
#include "coordinator.txt.inc"
		,
	.options = options,
	.verbs = verbs,
	.examples = examples,
	.exit_status =
		"0 on success, 1 when the coordinator cannot be reached or "
		"refuses, the key does not exist, or not all workers were "
		"reached, 2 on wrong usage.",
	.see_also = "roar-coordinator(8), the server",
	.max_operands = 0,
	.run = run,
};
