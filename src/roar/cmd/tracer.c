/* tracer.c - `roar tracer`: which tracers work here, and which is taken. */
#include <errno.h>
#include <string.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/quote.h"
#include "commands.h"
#include "project/config_file.h"
#include "project/project.h"
#include "trace/probe.h"
#include "tracer/tracer_check.h"
#include "tracer/tracer_enable.h"
#include "ui/view.h"

static const struct option_spec options[] = {
	{ .name = "command",
	  .arg = "CMD",
	  .help = "check: run this shell command" },
	{ .name = "json", .help = "print JSON (status, check)" },
	{ .name = "pin",
	  .help = "enable: keep the programs in the kernel, for root only" },
	{ .name = "yes", .letter = 'y', .help = "enable, disable: do not ask" },
	{ 0 },
};

static const struct verb_spec verbs[] = {
	{ "status", "",
	  "show which tracers work here, and which one a run uses", "json" },
	{ "use", "NAME", "set the default of the project", NULL },
	{ "set-default", "NAME", "the same as use", NULL },
	{ "check", "[NAME]", "run a tiny command under a tracer",
	  "command json" },
	{ "enable", "NAME", "set up eBPF for ordinary users", "pin yes" },
	{ "disable", "NAME", "undo that", "yes" },
	{ 0 },
};

static const struct example examples[] = {
	{ "roar tracer", "the table of tracers" },
	{ "roar tracer use ptrace", NULL },
	{ "roar tracer check hybrid", "exit status 1: it does not work here" },
	{ "roar tracer enable ebpf", "show the steps and ask" },
	{ 0 },
};

/* ---- the default ---- */

/* Outside of a project there is none: "auto". */
struct setting {
	struct project project;
	bool has_project;
	const char *name;
	bool fallback;
};

static void setting_open(struct setting *s)
{
	*s = (struct setting){ .project = { .dirfd = -1 }, .name = "auto" };
	s->fallback = true;
	s->has_project = project_open(0, &s->project, NULL, NULL) == 0;
	if (!s->has_project)
		return;
	s->name = s->project.config.tracer;
	s->fallback = s->project.config.tracer_fallback;
}

static void setting_release(struct setting *s)
{
	if (s->has_project)
		project_release(&s->project);
}

/* What a run takes first. */
static const struct tracer_ops *choice(const char *name, bool fallback)
{
	const struct tracer_ops *list[PROBE_MAX];

	return probe_candidates(name, fallback, list) ? list[0] : NULL;
}

/* ---- status ---- */

static const char *const state_words[] = {
	[PROBE_READY] = "ready",
	[PROBE_SLOW] = "slow start",
	[PROBE_REFUSED] = "not ready",
};

static const enum color state_colors[] = {
	[PROBE_READY] = COLOR_GREEN,
	[PROBE_SLOW] = COLOR_YELLOW,
	[PROBE_REFUSED] = COLOR_RED,
};

static void add_row(struct str *out, const struct term *term,
		    const struct tracer_ops *ops, bool chosen)
{
	struct probe p;

	probe_tracer(ops, &p);
	str_addf(out, "%c %-9s", chosen ? '*' : ' ', ops->name);
	term_add(out, term, state_colors[p.state], state_words[p.state]);
	str_pad(out, ' ', 12 - strlen(state_words[p.state]));
	str_addf(out, "%s\n", p.cost);
	str_addf(out, "             %s\n", ops->summary);
	if (p.why[0])
		str_addf(out, "             %s\n", p.why);
}

static int status_text(const struct setting *s)
{
	CLEANUP(str_release) struct str out = STR_INIT;
	struct term term = term_of(1);
	const struct tracer_ops *now = choice(s->name, s->fallback);

	term_add(&out, &term, COLOR_BOLD, "  TRACER   STATE       COST");
	str_addc(&out, '\n');
	for (size_t i = 0; probe_backend(i); i++)
		add_row(&out, &term, probe_backend(i), probe_backend(i) == now);
	str_addf(&out, "\nDefault: %s", s->name);
	if (!s->has_project)
		str_adds(&out, " (no project here)");
	str_addf(&out, "; a run uses %s%s.\n", now ? now->name : "none",
		 s->fallback ? " or, if it is refused, another one" :
			       ", or fails");
	return cli_print(&out);
}

static void json_tracer(struct json *j, const struct tracer_ops *ops)
{
	struct probe p;

	probe_tracer(ops, &p);
	json_put_object(j);
	view_json_text(j, "name", ops->name);
	view_json_text(j, "summary", ops->summary);
	view_json_bool(j, "ready", p.state != PROBE_REFUSED);
	view_json_bool(j, "slow_start", p.state == PROBE_SLOW);
	view_json_text(j, "note", p.why[0] ? p.why : NULL);
	view_json_text(j, "cost", p.cost);
	json_end(j);
}

static int status_json(const struct setting *s)
{
	CLEANUP(str_release) struct str out = STR_INIT;
	struct json j = json_writer(&out, true);
	const struct tracer_ops *now = choice(s->name, s->fallback);
	const struct tracer_ops *automatic = choice("auto", true);

	json_put_object(&j);
	view_json_text(&j, "default", s->name);
	view_json_bool(&j, "fallback", s->fallback);
	view_json_text(&j, "choice", now ? now->name : NULL);
	view_json_text(&j, "auto", automatic ? automatic->name : NULL);
	json_put_key(&j, "tracers");
	json_put_array(&j);
	for (size_t i = 0; probe_backend(i); i++)
		json_tracer(&j, probe_backend(i));
	json_end(&j);
	json_end(&j);
	str_addc(&out, '\n');
	return cli_print(&out);
}

/* ---- use ---- */

static int unknown_name(const struct args *args, const char *name)
{
	CLEANUP(str_release) struct str shown = STR_INIT;

	quote_printable_cut(&shown, name, 100);
	return cli_usage(
		args->command,
		"unknown tracer '%s': use auto, ebpf, hybrid, preload or "
		"ptrace",
		str_cstr(&shown));
}

static int use(const struct args *args, const struct setting *s,
	       const char *name)
{
	CLEANUP(str_release) struct str value = STR_INIT;
	CLEANUP(str_release) struct str out = STR_INIT;
	const struct tracer_ops *ops = tracer_find(name);
	struct roar_error err = { "out of memory" };
	struct probe p = { .state = PROBE_READY };

	if (!ops)
		return unknown_name(args, name);
	if (!s->has_project)
		return cli_fail(
			"no roar project here or above to set a default in: run "
			"'roar init'");
	str_addf(&value, "\"%s\"", name);
	if (str_error(&value) < 0 ||
	    config_file_set(s->project.dir, "tracer.default", value.data,
			    &err) < 0)
		return cli_fail("%s", err.text);
	str_addf(&out, "The default tracer is %s.\n", name);
	if (strcmp(name, "auto") != 0)
		probe_tracer(ops, &p);
	if (p.state == PROBE_REFUSED)
		str_addf(&out, "It is not ready: %s.\n", p.why);
	return cli_print(&out);
}

/* ---- check ---- */

static void check_text(struct str *out, const struct tracer_check *c)
{
	if (!c->works) {
		str_addf(out, "%s does not work here: ", c->ops->name);
		quote_printable(out, c->why, strlen(c->why));
		str_addc(out, '\n');
		return;
	}
	str_addf(out, "%s works: ", c->ops->name);
	format_count(out, c->n_events, "event");
	str_adds(out, " of ");
	format_count(out, c->n_processes, "process");
	str_adds(out, ", attached in ");
	clock_format_duration(out, c->attach_ns);
	str_adds(out, ", total ");
	clock_format_duration(out, c->total_ns);
	str_addc(out, '\n');
}

static void check_json(struct str *out, const struct tracer_check *c)
{
	struct json j = json_writer(out, true);

	json_put_object(&j);
	view_json_text(&j, "tracer", c->ops->name);
	view_json_bool(&j, "ready", c->works);
	view_json_text(&j, "reason", c->works ? NULL : c->why);
	view_json_int(&j, "events", (int64_t)c->n_events);
	view_json_int(&j, "processes", (int64_t)c->n_processes);
	view_json_seconds(&j, "attach_s", c->attach_ns);
	view_json_seconds(&j, "total_s", c->total_ns);
	view_json_int(&j, "wait_status", c->status);
	json_end(&j);
	str_addc(out, '\n');
}

static int check(const struct args *args, const struct setting *s,
		 const char *name)
{
	CLEANUP(str_release) struct str out = STR_INIT;
	const struct tracer_ops *ops;
	struct tracer_check c;
	int r;

	/* What an earlier run was refused is found out anew. */
	probe_forget();
	ops = choice(name ? name : s->name, false);
	if (!ops)
		return unknown_name(args, name ? name : s->name);
	tracer_check(ops, args_get(args, "command"), &c);
	if (args_has(args, "json"))
		check_json(&out, &c);
	else
		check_text(&out, &c);
	r = cli_print(&out);
	return r ? r : !c.works;
}

/* ---- the command ---- */

static int enable(const struct args *args, const char *verb, const char *name)
{
	if (strcmp(name, "ebpf") != 0)
		return tracer_find(name) ?
			       cli_fail(
				       "'%s' cannot be enabled or disabled: only ebpf can",
				       name) :
			       unknown_name(args, name);
	probe_forget();
	return strcmp(verb, "enable") == 0 ? tracer_enable(args) :
					     tracer_disable(args);
}

static int run(const struct args *args)
{
	CLEANUP(setting_release) struct setting s;
	const char *verb = args->n_operands ? args->operands[0] : "status";
	const char *name = args->n_operands > 1 ? args->operands[1] : NULL;

	setting_open(&s);
	if (strcmp(verb, "check") == 0)
		return check(args, &s, name);
	if (strcmp(verb, "use") == 0 || strcmp(verb, "set-default") == 0)
		return use(args, &s, name);
	if (strcmp(verb, "enable") == 0 || strcmp(verb, "disable") == 0)
		return enable(args, verb, name);
	return args_has(args, "json") ? status_json(&s) : status_text(&s);
}

const struct command cmd_tracer = {
	.name = "tracer",
	.group = GROUP_SETUP,
	.summary = "show, check and set up the tracers",
	.synopsis = "[status | use NAME | check [NAME] | enable ebpf | "
		    "disable ebpf] [OPTION]...",
	.about =
#include "tracer.txt.inc"
		,
	.options = options,
	.verbs = verbs,
	.examples = examples,
	.exit_status = "0 on success, 1 when the checked tracer does not work "
		       "or a step failed, 2 on wrong usage.",
	.operand = OPERAND_NONE,
	.max_operands = 0,
	.run = run,
};
