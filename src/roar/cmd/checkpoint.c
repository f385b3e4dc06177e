/* checkpoint.c - `roar checkpoint`: what is saved, whether it is whole, and copies of it. */
#include <string.h>

#include "base/macros.h"
#include "checkpoint/checkpoint_verbs.h"
#include "commands.h"

static const struct option_spec options[] = {
	{ .name = "step",
	  .letter = 's',
	  .arg = "N",
	  .max = 999999999999,
	  .help = "the checkpoint of this step (default: the latest)" },
	{ .name = "all", .help = "verify: every checkpoint of the directory" },
	{ .name = "replica",
	  .arg = "BASE",
	  .flags = OPTION_REPEAT,
	  .help = "a directory of copies, from which damaged bytes are taken" },
	{ .name = "threads",
	  .arg = "N",
	  .min = 1,
	  .max = 256,
	  .help = "reader threads (default 8)" },
	{ .name = "tensors", .help = "show: list every tensor" },
	{ .name = "torch",
	  .help = "export: say how to write a torch file, which needs Python" },
	{ .name = "keep-last",
	  .arg = "N",
	  .min = 1,
	  .max = 1000000,
	  .help = "gc: keep the newest N checkpoints" },
	{ .name = "keep-every",
	  .arg = "K",
	  .min = 1,
	  .max = 999999999999,
	  .help = "gc: keep checkpoints whose step is a multiple of K" },
	{ .name = "keep-best",
	  .arg = "METRIC",
	  .help = "gc: keep the checkpoint with the lowest METRIC; with "
		  "METRIC:max, the highest" },
	{ .name = "dry-run",
	  .letter = 'n',
	  .help = "gc: print what would be removed, and remove nothing" },
	{ .name = "json", .help = "print JSON" },
	{ 0 },
};

static const struct verb_spec verbs[] = {
	{ "ls", "BASE", "list checkpoints, failed saves and leftovers", "json" },
	{ "show", "CHECKPOINT", "show what a checkpoint has",
	  "step tensors json" },
	{ "verify", "CHECKPOINT",
	  "read everything and compare it with the hash trees",
	  "step all replica threads json" },
	{ "diff", "CHECKPOINT CHECKPOINT",
	  "list the tensors that differ between two checkpoints", "json" },
	{ "reshard", "N CHECKPOINT BASE",
	  "write a copy that N ranks have written",
	  "step replica threads json" },
	{ "gc", "BASE", "remove leftovers and checkpoints that no rule keeps",
	  "keep-last keep-every keep-best dry-run json" },
	{ "cp", "CHECKPOINT BASE", "copy a checkpoint, verified",
	  "step replica threads json" },
	{ "export", "CHECKPOINT FILE", "write one safetensors file",
	  "step replica threads torch" },
	{ 0 },
};

static const struct example examples[] = {
	{ "roar checkpoint ls runs/a", NULL },
	{ "roar checkpoint verify runs/a --all", NULL },
	{ "roar checkpoint show runs/a/step-000000000100 --tensors", NULL },
	{ "roar checkpoint diff runs/a/step-000000000100 "
	  "runs/a/step-000000000200",
	  "what 100 steps of training changed" },
	{ "roar checkpoint gc runs/a --keep-last 3 --keep-every 1000 -n", NULL },
	{ "roar checkpoint reshard 3 runs/a runs/three",
	  "the latest checkpoint, for readers that need a file per rank" },
	{ "roar checkpoint export runs/a model.safetensors", NULL },
	{ 0 },
};

static const struct {
	const char *name;
	int (*run)(const struct args *args);
} table[] = {
	{ "ls", checkpoint_ls },	   { "show", checkpoint_show },
	{ "verify", checkpoint_verify },   { "diff", checkpoint_diff },
	{ "reshard", checkpoint_reshard }, { "gc", checkpoint_gc },
	{ "cp", checkpoint_cp },	   { "export", checkpoint_export },
};

/* The parser has checked the verb and the number of its operands. */
static int run(const struct args *args)
{
	for (size_t i = 0; args->n_operands && i < ARRAY_SIZE(table); i++)
		if (!strcmp(args->operands[0], table[i].name))
			return table[i].run(args);
	return cli_usage(args->command, "say what to do, such as 'ls BASE'");
}

const struct command cmd_checkpoint = {
	.name = "checkpoint",
	.group = GROUP_FILES,
	.summary = "list, verify, compare, copy and remove checkpoints",
	.synopsis = "VERB [OPTION]... [ARG]...",
	.about =
#include "checkpoint.txt.inc"
		,
	.exit_status =
		"0 on success. 1 when something is damaged (verify), differs "
		"(diff) or cannot be read or written, 2 on wrong usage.",
	.options = options,
	.verbs = verbs,
	.examples = examples,
	.operand = OPERAND_FILE,
	.max_operands = 0,
	.run = run,
};
