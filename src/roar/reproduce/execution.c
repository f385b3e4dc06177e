/* execution.c - --run: the plan is done
 *
 *	what speaks against it, and the confirmation
 *	the new directory: code, environments, a record of its own
 *	step by step: code, inputs, run, proof
 *	the verdict */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "base/quote.h"
#include "cli/cli.h"
#include "reproduce/child.h"
#include "reproduce/reproduce.h"
#include "reproduce/site.h"
#include "ui/confirm.h"
#include "ui/view.h"

/* ---- before ---- */

int execution_refuse(struct reproduce *p, enum sandbox sandbox)
{
	struct roar_error err = { 0 };
	const char *first = NULL;
	size_t n = 0;
	int r = plan_check_hidden(p, &err);

	if (r < 0)
		return view_fail(r, &err);

	for (size_t i = 0; i < p->n_notes; i++) {
		if (!p->notes[i].stops ||
		    (p->notes[i].outside && sandbox == SANDBOX_BUBBLEWRAP))
			continue;
		first = first ? first : p->notes[i].text;
		n++;
	}
	if (!n)
		return 0;
	if (n == 1)
		return cli_fail("%s", first);
	return cli_fail("%s; and %zu more reasons, which 'roar reproduce' "
			"without --run lists",
			first, n - 1);
}

static void say_notes(const struct reproduce *p)
{
	for (size_t i = 0; i < p->n_notes; i++)
		if (!p->notes[i].stops)
			site_say("note: %s", p->notes[i].text);
}

/* The commands as they will be run, every byte of them. */
static int add_commands(struct reproduce *p, const char *dir, struct str *out,
			struct roar_error *err)
{
	CLEANUP(site_release) struct site s = SITE_INIT;
	CLEANUP(str_release) struct str path = STR_INIT;
	int r;

	path_normalize(&path, p->view->project.cwd, dir);
	r = str_error(&path);
	if (r == 0)
		r = site_imagine(&s, p, path.data);
	if (r == 0)
		r = site_python_plan(&s);
	for (size_t i = 0; i < p->recipe.n_steps && r == 0; i++) {
		char **argv;

		r = site_step_argv(&s, i, &argv, err);
		if (r < 0)
			break;
		str_adds(out, "  ");
		quote_argv(out, argv);
		str_addc(out, '\n');
	}
	return r;
}

/* A package can run code when it is installed. */
static void add_packages(const struct requirements *needs, struct str *out)
{
	size_t n = 0;

	for (size_t i = 0; i < needs->n; i++) {
		const struct requirement *q = &needs->all[i];

		if (!requirement_is_pip(q) || !(q->installable || q->editable))
			continue;
		str_adds(out, n++ ? " " : "with packages of pip: ");
		quote_printable(out, q->name, strlen(q->name));
		if (!q->editable)
			str_addf(out, "==%s", q->version);
	}
	str_adds(out, n ? "\n" : "");
}

static int confirm_foreign(struct reproduce *p, const char *dir)
{
	const struct recipe *recipe = &p->recipe;
	CLEANUP(str_release) struct str text = STR_INIT;
	struct roar_error err = { 0 };
	int r;

	str_adds(&text, "These commands come from somebody else:\n");
	r = add_commands(p, dir, &text, &err);
	if (r < 0)
		return view_fail(r, &err);
	add_packages(&recipe->needs, &text);
	for (size_t i = 0; i < recipe->n_codes; i++) {
		str_adds(&text, "with the code of ");
		quote_printable(&text, recipe->codes[i]->remote,
				strlen(recipe->codes[i]->remote));
		str_addf(&text, " at %s\n", recipe->codes[i]->tree);
	}
	if (str_error(&text) < 0)
		return cli_fail("out of memory");
	(void)fwrite(text.data, 1, text.len, stderr);
	if (args_has(p->args, "trust"))
		return 0;
	if (!isatty(STDIN_FILENO))
		return cli_fail("%s runs commands of somebody else, and "
				"standard input is not a terminal to ask on: "
				"read them and add --trust",
				p->args->command->name);
	return confirm_ask("Run these commands of somebody else?") ?
		       0 :
		       cli_fail("nothing was run");
}

static int confirm_run(struct reproduce *p, const char *dir)
{
	CLEANUP(str_release) struct str question = STR_INIT;

	if (p->foreign)
		return confirm_foreign(p, dir);
	str_adds(&question, "Run ");
	format_count(&question, p->recipe.n_steps, "recorded command");
	str_adds(&question, " in ");
	quote_printable_cut(&question, dir, 200);
	str_addc(&question, '?');
	return confirm(p->args, "runs the recorded commands",
		       str_cstr(&question));
}

static const char *new_directory(struct reproduce *p)
{
	const char *into = args_get(p->args, "into");

	return into ? into :
		      pool_printf(&p->view->pool, "reproduce-%s", p->job->uid);
}

/* ---- the directory ---- */

static int make_project(struct site *s, struct roar_error *err)
{
	char *argv[] = { (char *)s->program, "init", "-n", NULL };

	return site_call(s, "the new project cannot be made", argv, err);
}

static int prepare(struct site *s, struct roar_error *err)
{
	int r = site_python_plan(s);

	/* What cannot be run is said before anything is. */
	for (size_t i = 0; i < s->p->recipe.n_steps && r == 0; i++) {
		char **argv;

		r = site_step_argv(s, i, &argv, err);
	}
	if (r == 0 && s->sandbox)
		site_say("the steps have no network (%s)",
			 s->sandbox == SANDBOX_BUBBLEWRAP ?
				 "bubblewrap" :
				 "a network namespace");
	if (r == 0 && s->p->recipe.n_codes) {
		site_say("restoring the code in %s", s->dir);
		r = site_code_fetch(s, err);
	}
	if (r == 0)
		r = make_project(s, err);
	if (r == 0)
		r = site_python_make(s, err);
	return r;
}

static int run_step(struct site *s, size_t step, struct roar_error *err)
{
	int r = site_code_switch(s, step, err);

	if (r == 0)
		r = site_inputs(s, step, err);
	if (r == 0)
		r = site_python_editable(s, step, err);
	if (r == 0)
		r = site_step_run(s, step, err);
	if (r == 0)
		r = site_proof_step(s, step, err);
	s->n_run += r == 0;
	return r;
}

static int run_all(struct site *s, struct roar_error *err)
{
	int r = prepare(s, err);

	for (size_t i = 0; i < s->p->recipe.n_steps && r == 0; i++)
		r = run_step(s, i, err);
	return r;
}

/* ---- after ---- */

/* What failed, what was not run, and where everything is. */
static int fail(struct site *s, int r, const struct roar_error *err)
{
	size_t n = s->p->recipe.n_steps;
	const char *why = err->text[0] ? err->text : strerror(-r);

	if (r == -EINTR)
		why = "interrupted";
	(void)cli_fail("%s; %zu of %zu steps have run, and '%s' is left as it "
		       "is",
		       why, s->n_run, n, s->dir);
	return r == -EINTR ? 130 : 1;
}

int execution_run(struct reproduce *p)
{
	CLEANUP(site_release) struct site s = SITE_INIT;
	const char *dir = new_directory(p);
	struct roar_error err = { 0 };
	int status;
	int r = dir ? child_catch_signals() : -ENOMEM;

	s.p = p;
	if (r == 0 && args_has(p->args, "sandbox"))
		r = site_sandbox_find(&s, &err);
	if (r < 0)
		return view_fail(r, &err);
	status = execution_refuse(p, s.sandbox);
	if (status == 0) {
		say_notes(p);
		status = confirm_run(p, dir);
	}
	if (status)
		return status;
	if (args_has(p->args, "package-sync"))
		r = site_system_sync(&s, &err);
	if (r == -ECANCELED)
		return 1;
	if (r == 0)
		r = site_open(&s, p, dir, &err);
	if (r < 0 && !s.dir)
		return r == -EINTR ? cli_fail("interrupted: nothing was run") :
				     view_fail(r, &err);
	if (r == 0)
		r = run_all(&s, &err);
	return r < 0 ? fail(&s, r, &err) : site_proof_print(&s);
}
