/* reproduce.c - `roar reproduce`: a result made again */
#include <errno.h>

#include "base/cleanup.h"
#include "commands.h"
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

static int run(const struct args *args)
{
	CLEANUP(view_close) struct view v = VIEW_INIT;
	CLEANUP(reproduce_release)
	struct reproduce p = { .view = &v,
			       .args = args,
			       .word = args->operands[0] };
	struct roar_error err = { 0 };
	int r = view_open(&v, STORE_READONLY);

	if (r)
		return r;
	r = plan_make(&p, &err);
	if (r == -EINVAL)
		return cli_usage(args->command, "%s", err.text);
	if (r < 0)
		return view_fail(r, &err);
	return print_plan(&p);
}

static const struct option_spec options[] = {
	{ .name = "list-requirements",
	  .help = "print all recorded packages and interpreters" },
	{ .name = "json", .help = "print JSON" },
	{ 0 },
};

static const struct example examples[] = {
	{ "roar reproduce model.pt", "the plan: what would be done" },
	{ "roar reproduce 3f2a11c0 --list-requirements",
	  "all packages that went into a content" },
	{ 0 },
};

const struct command cmd_reproduce = {
	.name = "reproduce",
	.group = GROUP_INSPECT,
	.summary = "make a result again and prove that it is the same",
	.synopsis = "[OPTION]... REF",
	.about =
#include "reproduce.txt.inc"
		,
	.options = options,
	.examples = examples,
	.operand = OPERAND_TARGET,
	.min_operands = 1,
	.max_operands = 1,
	.run = run,
};
