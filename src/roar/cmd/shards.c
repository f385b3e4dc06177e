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
		"A dataset is cut into shards, and each worker of a job has some of "
		"them. The coordinator keeps a table: all have the same number, or "
		"one more, and when a worker comes or goes as few shards change "
		"hands as is possible at all.\n\n"
		"plan deals a table as the coordinator would, lets workers come "
		"(--join) and go (--leave), deals again, and prints the certificate: "
		"how many shards moved, the fewest that any way to the same "
		"balance moves, and the ratio of both, which is 1.00 for a table; "
		"then the most and the least that a worker has. Nobody is asked and "
		"nothing is changed.\n\n"
		"With --weights, each worker has its share by weight, rounded up or "
		"down. With --sizes, bytes are balanced in place of counts: the most and "
		"the least differ by the largest shard at most, and the minimum is a "
		"bound that no way can be below. The file has a number in each "
		"line, and as many lines as there are shards. With --homes and --at, "
		"counts are balanced, and of all ways to that, shards rather are "
		"where they are at home: HOME says how many.\n\n"
		"Other modes ask nobody who had what: rendezvous and jump hashing, and a "
		"ring with 150 points for each worker. Their balance is that of "
		"chance, as the most and the least say, and the minimum is the fewest "
		"moves that lead to the very counts that the hash made.\n\n"
		"--json prints an object with plans, one for each mode: mode, and "
		"before and after, each with version, hash, workers, shards, most, "
		"least, moved, minimum, ratio, and with --sizes moved_bytes, "
		"minimum_bytes, most_bytes and least_bytes, with --homes at_home.\n\n"
		"audit reads the files in which the ranks of a training note what they "
		"consumed (SampleOrder in Python, roar/shard.h in C), and tells for each "
		"epoch of each dataset whether every sample came exactly once, over any "
		"number of restarts with any number of ranks. What a crash lost and was "
		"consumed again counts once, because the files also say what each "
		"checkpoint had. Otherwise it names the positions that came twice or "
		"never, and the ranks. All files are needed: one that is missing is "
		"named. With --unfinished, what has not been consumed yet is "
		"no fault. Nobody is asked and nothing is changed.\n\n"
		"audit --json prints an object with exact, files, files_failed, files_cut "
		"(that a crash cut off; what is there counts) and epochs, each with dataset, "
		"seed, epoch, exact, total, consumed, worlds (changes of "
		"membership and one), redone, problems (sentences), and as lists of "
		"[first, end) gaps, dropped, padded, twice and unproven, up to 1,000 ranges "
		"each.",
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
