/* shards.c - `roar shards`: how shards are dealt out, and what became of them. */
#include <string.h>

#include "commands.h"
#include "shards/shards_audit.h"
#include "shards/shards_plan.h"

static const struct option_spec options[] = {
	{ .name = "workers",
	  .letter = 'w',
	  .arg = "N",
	  .help = "plan: number of workers at the start" },
	{ .name = "shards",
	  .letter = 's',
	  .arg = "N",
	  .help = "plan: number of shards of the dataset" },
	{ .name = "join",
	  .arg = "N",
	  .help = "plan: number of workers that join then" },
	{ .name = "leave",
	  .arg = "WORKERS",
	  .help = "plan: workers that leave then, numbered from 0, separated "
		  "by commas" },
	{ .name = "mode",
	  .arg = "MODE",
	  .values = "table|rendezvous|jump|ring",
	  .help = "plan: how shards are assigned (default table)" },
	{ .name = "compare", .help = "plan: compare all modes" },
	{ .name = "weights",
	  .arg = "NUMBERS",
	  .help = "plan: weights of the workers, separated by commas; 1 for "
		  "the others" },
	{ .name = "sizes",
	  .arg = "FILE",
	  .help = "plan: balance bytes; the file has the size of each shard, "
		  "one per line" },
	{ .name = "homes",
	  .arg = "FILE",
	  .help = "plan: the file has the location of each shard, one per "
		  "line" },
	{ .name = "at",
	  .arg = "NAMES",
	  .help = "plan: locations of the workers, separated by commas, "
		  "repeated as needed" },
	{ .name = "unfinished",
	  .help = "audit: epochs may be unfinished; only duplicates are an "
		  "error" },
	{ .name = "json", .help = "print JSON" },
	{ 0 },
};

static const struct verb_spec verbs[] = {
	{ "plan", "", "show which shards move when workers join and leave",
	  "workers shards join leave mode compare weights sizes homes at json" },
	{ "audit", "FILE...",
	  "prove that every sample was consumed exactly once",
	  "unfinished json" },
	{ 0 },
};

static const struct example examples[] = {
	{ "roar shards plan --workers 100 --shards 10000 --join 1", NULL },
	{ "roar shards plan -w 100 -s 10000 --leave 7 --compare",
	  "a table compared with hashing" },
	{ "roar shards plan -w 8 --sizes sizes.txt --leave 0,1", NULL },
	{ "roar shards plan -w 4 --homes homes.txt --at rack-1,rack-2 --join 1",
	  NULL },
	{ "roar shards audit run/rank-*.audit",
	  "the files that all ranks of a training run wrote" },
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
	.summary = "plan how shards are assigned, audit what was consumed",
	.synopsis = "plan [OPTION]... | audit FILE...",
	.about =
#include "shards.txt.inc"
		,
	.exit_status =
		"0 on success; for audit: every sample was consumed exactly "
		"once. 1 if not, or when a file cannot be read, 2 on wrong "
		"usage.",
	.options = options,
	.verbs = verbs,
	.examples = examples,
	.operand = OPERAND_NONE,
	.max_operands = 0,
	.run = run,
};
