/* shards.c - `roar shards`: how shards are dealt out, and what became of them. */
#include <string.h>

#include "commands.h"
#include "shards/shards_audit.h"
#include "shards/shards_plan.h"

static const struct option_spec options[] = {
	{ .name = "workers",
	  .letter = 'w',
	  .arg = "N",
	  .help = "plan: how many there are at first" },
	{ .name = "shards",
	  .letter = 's',
	  .arg = "N",
	  .help = "plan: how many shards the dataset has" },
	{ .name = "join", .arg = "N", .help = "plan: how many come then" },
	{ .name = "leave",
	  .arg = "WORKERS",
	  .help = "plan: who leaves then, numbers from 0 on with commas" },
	{ .name = "mode",
	  .arg = "MODE",
	  .values = "table|rendezvous|jump|ring",
	  .help = "plan: how shards find their worker (table)" },
	{ .name = "compare", .help = "plan: all modes beside each other" },
	{ .name = "weights",
	  .arg = "NUMBERS",
	  .help = "plan: what each worker can do, with commas; the rest 1" },
	{ .name = "sizes",
	  .arg = "FILE",
	  .help = "plan: balance bytes; a line for each shard says how many" },
	{ .name = "homes",
	  .arg = "FILE",
	  .help = "plan: a line for each shard names where it is at home" },
	{ .name = "at",
	  .arg = "NAMES",
	  .help = "plan: where each worker is, with commas, over and over" },
	{ .name = "unfinished",
	  .help = "audit: epochs may still go on; nothing twice is enough" },
	{ .name = "json", .help = "print JSON" },
	{ 0 },
};

static const struct verb_spec verbs[] = {
	{ "plan", "", "what moves when workers come and go, and what has to",
	  "workers shards join leave mode compare weights sizes homes at json" },
	{ "audit", "FILE...", "prove that every sample came exactly once",
	  "unfinished json" },
	{ 0 },
};

static const struct example examples[] = {
	{ "roar shards plan --workers 100 --shards 10000 --join 1", NULL },
	{ "roar shards plan -w 100 -s 10000 --leave 7 --compare",
	  "a table beside what hashes make of it" },
	{ "roar shards plan -w 8 --sizes sizes.txt --leave 0,1", NULL },
	{ "roar shards plan -w 4 --homes homes.txt --at rack-1,rack-2 --join 1",
	  NULL },
	{ "roar shards audit run/rank-*.audit",
	  "the files that all ranks of a training wrote" },
	{ 0 },
};

static int run(const struct args *args)
{
	if (args->n_operands && strcmp(args->operands[0], "audit") == 0)
		return shards_audit(args);
	return shards_plan(args);
}

const struct command cmd_shards = {
	.name = "shards",
	.group = GROUP_DATA,
	.summary = "see how shards are dealt out, prove what was consumed",
	.synopsis = "plan [OPTION]... | audit FILE...",
	.about =
#include "shards.txt.inc"
		,
	.exit_status = "0 on success; audit: when every sample came exactly once. "
		       "1 when not, or when a file cannot be read, 2 on wrong "
		       "usage.",
	.options = options,
	.verbs = verbs,
	.examples = examples,
	.operand = OPERAND_NONE,
	.max_operands = 0,
	.run = run,
};
