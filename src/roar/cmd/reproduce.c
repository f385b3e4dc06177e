/* reproduce.c - `roar reproduce`: a result made again */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/macros.h"
#include "commands.h"
#include "compare/compare.h"
#include "reproduce/foreign_record.h"
#include "reproduce/reproduce.h"
#include "ui/view.h"

static int print_plan(struct reproduce *p)
{
	if (args_has(p->args, "json")) {
		plan_json(p);
	} else if (args_has(p->args, "list-requirements")) {
		plan_requirements_text(p);
	} else {
		plan_text(p);
	}
	return view_print(p->view);
}

/* Options that only mean something when the steps are run. */
static int check(const struct args *args)
{
	static const char *const of_run[] = {
		"into",	   "yes",    "trust", "package-sync",
		"sandbox", "wheels", "rtol",  "atol",
	};

	for (size_t i = 0; i < ARRAY_SIZE(of_run); i++)
		if (args_has(args, of_run[i]) && !args_has(args, "run"))
			return cli_usage(args->command,
					 "option '--%s' needs --run",
					 of_run[i]);
	return 0;
}

/* A tolerance; the other one is the usual. */
static int parse_tolerance(struct reproduce *p, const char *name,
			   double *tolerance)
{
	const char *text = args_get(p->args, name);
	char *end;

	if (!text)
		return 0;
	*tolerance = strtod(text, &end);
	p->tolerance = true;
	if (end == text || *end || !(*tolerance >= 0 && *tolerance < 1e300))
		return cli_usage(p->args->command,
				 "option '--%s' takes a number from 0 on, such "
				 "as 1e-5, not '%.60s'",
				 name, text);
	return 0;
}

/* The record of the project, or that of the file or URL that was named. */
static int open_record(struct reproduce *p, struct foreign_record *foreign)
{
	const struct args *args = p->args;

	if (!foreign_record_is(p->word)) {
		if (args->n_operands > 1)
			return cli_usage(args->command,
					 "'%.200s' is not a file or URL of an "
					 "exported record, so there can be no "
					 "second argument",
					 p->word);
		return view_open(p->view, STORE_READONLY);
	}
	p->foreign = true;
	p->word = args->operands[1];
	return foreign_record_open(foreign, args->operands[0], p->view);
}

static int run(const struct args *args)
{
	CLEANUP(foreign_record_remove) struct foreign_record foreign = { "" };
	CLEANUP(view_close) struct view v = VIEW_INIT;
	CLEANUP(reproduce_release)
	struct reproduce p = { .view = &v,
			       .args = args,
			       .word = args->operands[0],
			       .rtol = COMPARE_RTOL,
			       .atol = COMPARE_ATOL };
	struct roar_error err = { 0 };
	int r = check(args);

	if (r == 0)
		r = parse_tolerance(&p, "rtol", &p.rtol);
	if (r == 0)
		r = parse_tolerance(&p, "atol", &p.atol);
	if (r == 0)
		r = open_record(&p, &foreign);
	if (r)
		return r;
	r = plan_make(&p, &err);
	if (r == -EINVAL)
		return cli_usage(args->command, "%s", err.text);
	if (r < 0)
		return view_fail(r, &err);
	if (args_has(args, "script"))
		return script_print(&p);
	return args_has(args, "run") ? execution_run(&p) : print_plan(&p);
}

static const struct option_spec options[] = {
	{ .name = "run", .help = "make it again, and compare every output" },
	{ .name = "into",
	  .arg = "DIR",
	  .help = "the new directory (default: reproduce-JOB)" },
	{ .name = "yes",
	  .letter = 'y',
	  .help = "do not ask before running recorded commands" },
	{ .name = "trust",
	  .help = "do not ask before running commands of somebody else" },
	{ .name = "package-sync",
	  .help = "also install the recorded packages of the system" },
	{ .name = "wheels",
	  .arg = "DIR",
	  .help = "install Python packages from this directory only" },
	{ .name = "sandbox", .help = "run the steps without network" },
	{ .name = "rtol",
	  .arg = "NUMBER",
	  .help = "relative tolerance of equal values" },
	{ .name = "atol",
	  .arg = "NUMBER",
	  .help = "absolute tolerance of equal values" },
	{ .name = "script",
	  .help = "print the plan as a shell script that needs no roar" },
	{ .name = "list-requirements",
	  .help = "print all recorded packages and interpreters" },
	{ .name = "json", .help = "print JSON" },
	{ 0 },
};

static const struct example examples[] = {
	{ "roar reproduce model.pt", "the plan: what would be done" },
	{ "roar reproduce model.pt --run --into /tmp/again",
	  "make it again in a new directory, and compare" },
	{ "roar reproduce @3 --run -y --rtol 1e-4",
	  "accept numbers that differ a little" },
	{ "roar reproduce https://example.org/model.jsonl --run",
	  "what somebody else exported, after its commands were confirmed" },
	{ "roar reproduce model.pt --script > again.sh",
	  "the same for a machine without roar" },
	{ "roar reproduce 3f2a11c0 --list-requirements",
	  "all packages that went into a content" },
	{ 0 },
};

const struct command cmd_reproduce = {
	.name = "reproduce",
	.group = GROUP_INSPECT,
	.summary = "make a result again and prove that it is the same",
	.synopsis = "[OPTION]... REF|RECORD [REF]",
	.about =
#include "reproduce.txt.inc"
		,
	.options = options,
	.examples = examples,
	.exit_status =
		"0: the plan was printed, or every output is identical with "
		"the record, or it names none; 3: every output is identical, or equal within "
		"the tolerance; 4: an output is different or missing, or the "
		"record has no digest of it; 1: a step or its preparation "
		"failed; 2: wrong usage; 130: interrupted.",
	.operand = OPERAND_TARGET,
	.min_operands = 1,
	.max_operands = 2,
	.run = run,
};
