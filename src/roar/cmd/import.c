/* import.c - `roar import`: records of other machines and other programs. */
#include "base/quote.h"
#include "commands.h"
#include "exchange/import_file.h"
#include "ui/view.h"

static void add_result(struct view *v, const char *path,
		       const struct import_result *result)
{
	str_adds(&v->out, "Imported ");
	format_count(&v->out, result->n_jobs, "job");
	str_adds(&v->out, " from ");
	quote_printable_cut(&v->out, path, 200);
	if (result->n_known)
		str_addf(&v->out, " (%zu known already)", result->n_known);
	str_adds(&v->out, ".\n");
}

static int run(const struct args *args)
{
	CLEANUP(view_close) struct view v = VIEW_INIT;
	struct roar_error err = { 0 };
	int r;

	r = view_open(&v, 0);
	if (r)
		return r;
	for (int i = 0; r == 0 && i < args->n_operands; i++) {
		struct import_result result = { 0 };

		r = import_file(&v, args->operands[i], args_get(args, "format"),
				&result, &err);
		if (r == 0)
			add_result(&v, args->operands[i], &result);
	}
	if (r == 0)
		return view_print(&v);
	(void)view_print(&v); /* what was imported before */
	return view_fail(r, &err);
}

static const struct option_spec options[] = {
	{ .name = "format",
	  .letter = 'f',
	  .arg = "FORMAT",
	  .values = IMPORT_FORMATS,
	  .help = "the format of the files (default: the content tells)" },
	{ 0 },
};

static const struct example examples[] = {
	{ "roar import session.jsonl", "what roar export wrote elsewhere" },
	{ "roar import dvc.lock", "the stages of DVC" },
	{ "ssh node2 roar export | roar import -", NULL },
	{ 0 },
};

const struct command cmd_import = {
	.name = "import",
	.group = GROUP_INSPECT,
	.summary = "add the records of other machines",
	.synopsis = "[OPTION]... FILE...",
	.about =
#include "import.txt.inc"
		,
	.options = options,
	.examples = examples,
	.operand = OPERAND_FILE,
	.min_operands = 1,
	.max_operands = -1,
	.run = run,
};
