/* export_makefile.c - the jobs as rules of GNU make.
 *
 *	out/model.pt out/log.txt &: train.py data.csv
 *		cd /project && python train.py
 *
 * A job with several outputs is one grouped rule (&:, make 4.3).  A job without outputs is
 * a phony target.  Commands are recorded in the quoting of bash.  A rule cannot depend on
 * its own target, so a file that its job updates in place is only a target; and make has
 * no way to write some names. */
#include "export/export.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "base/quote.h"
#include "base/str.h"
#include "export/export_set.h"
#include "store/store.h"

/* No quoting of make covers these in a name; "%" makes a pattern of a rule.  "all" and
 * "job-1" are names of ours. */
static bool is_possible(const struct export_entity *e)
{
	return !e->is_object && strcmp(e->name, "all") != 0 &&
	       strncmp(e->name, "job-", 4) != 0 &&
	       !strpbrk(e->name, "\n\r\t\\;=|%*?[]~\"'&") && e->name[0] != '-';
}

static void add_name(struct str *out, const char *name)
{
	for (const char *c = name; *c; c++) {
		if (*c == '$')
			str_addc(out, '$');
		else if (*c == ' ' || *c == '#' || *c == ':')
			str_addc(out, '\\');
		str_addc(out, *c);
	}
}

static void add_comment(struct str *out, const char *what, const char *name)
{
	str_addf(out, "# %s: ", what);
	quote_printable(out, name, strlen(name));
	str_addc(out, '\n');
}

static bool has(const uint32_t *list, size_t n, const struct export_set *set,
		const char *path)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(set->entities[list[i]].path, path) == 0)
			return true;
	return false;
}

static size_t count_targets(const struct export_set *set,
			    const struct export_job *job)
{
	size_t n = 0;

	for (size_t i = 0; i < job->n_outputs; i++)
		n += is_possible(&set->entities[job->outputs[i]]);
	return n;
}

static void add_notes(const struct export_set *set,
		      const struct export_job *job, struct str *out)
{
	for (size_t i = 0; i < job->n_outputs; i++) {
		const struct export_entity *e = &set->entities[job->outputs[i]];

		if (!is_possible(e))
			add_comment(out, "an output that make cannot name",
				    e->path);
	}
	for (size_t i = 0; i < job->n_inputs; i++) {
		const struct export_entity *e = &set->entities[job->inputs[i]];

		if (!is_possible(e))
			add_comment(out, "an input that make cannot name",
				    e->path);
		else if (has(job->outputs, job->n_outputs, set, e->path))
			add_comment(out, "updated in place", e->path);
	}
}

static void add_targets(const struct export_set *set, size_t i, struct str *out)
{
	const struct export_job *job = &set->jobs[i];
	size_t n = count_targets(set, job);

	for (size_t k = 0; k < job->n_outputs; k++) {
		const struct export_entity *e = &set->entities[job->outputs[k]];

		if (!is_possible(e))
			continue;
		add_name(out, e->name);
		str_addc(out, ' ');
	}
	if (!n)
		str_addf(out, "job-%zu", i + 1);
	str_adds(out, n > 1 ? "&:" : ":");
}

/* Does the job read what the other one made, by a name that is a target? */
static bool shares_name(const struct export_set *set,
			const struct export_job *job,
			const struct export_job *maker)
{
	for (size_t i = 0; i < job->n_inputs; i++) {
		const struct export_entity *e = &set->entities[job->inputs[i]];

		if (is_possible(e) &&
		    has(maker->outputs, maker->n_outputs, set, e->path) &&
		    !has(job->outputs, job->n_outputs, set, e->path))
			return true;
	}
	return false;
}

/* One target of job `i`, which is none of the job that reads it. */
static void add_any_target(const struct export_set *set,
			   const struct export_job *reader, size_t i,
			   struct str *out)
{
	const struct export_job *job = &set->jobs[i];

	if (!count_targets(set, job))
		str_addf(out, " job-%zu", i + 1);
	for (size_t k = 0; k < job->n_outputs; k++) {
		const struct export_entity *e = &set->entities[job->outputs[k]];

		if (!is_possible(e) ||
		    has(reader->outputs, reader->n_outputs, set, e->path))
			continue;
		str_addc(out, ' ');
		add_name(out, e->name);
		return;
	}
}

static void add_prerequisites(const struct export_set *set, size_t i,
			      struct str *out)
{
	const struct export_job *job = &set->jobs[i];

	for (size_t k = 0; k < job->n_inputs; k++) {
		const struct export_entity *e = &set->entities[job->inputs[k]];

		if (!is_possible(e) ||
		    has(job->outputs, job->n_outputs, set, e->path))
			continue;
		str_addc(out, ' ');
		add_name(out, e->name);
	}
	/* What files cannot say: content that came from another path or by a name that
	 * make cannot have. */
	for (size_t k = 0; k < job->n_deps; k++)
		if (!shares_name(set, job, &set->jobs[job->deps[k]]))
			add_any_target(set, job, job->deps[k], out);
}

static void add_recipe(const struct export_set *set, size_t i, struct str *out)
{
	CLEANUP(str_release) struct str line = STR_INIT;
	const struct store_job *job = set->jobs[i].job;

	if (strcmp(job->cwd, set->root) != 0) {
		str_adds(&line, "cd ");
		quote_shell(&line, path_is_under(job->cwd, set->root) ?
					   path_relative(job->cwd, set->root) :
					   job->cwd);
		str_adds(&line, " && ");
	}
	str_adds(&line, job->command);
	str_addc(out, '\t');
	for (const char *c = str_cstr(&line); *c; c++) {
		if (*c == '$')
			str_addc(out, '$');
		str_addc(out, *c);
		if (*c == '\n') /* an imported command */
			str_addc(out, '\t');
	}
	str_addc(out, '\n');
	out->failed |= line.failed;
}

static void add_goals(const struct export_set *set, struct str *out)
{
	str_adds(out, "all:");
	for (size_t i = 0; i < set->n_entities; i++) {
		const struct export_entity *e = &set->entities[i];

		if (e->maker == EXPORT_NONE || e->n_users || !is_possible(e))
			continue;
		str_addc(out, ' ');
		add_name(out, e->name);
	}
	for (size_t i = 0; i < set->n_jobs; i++)
		if (!count_targets(set, &set->jobs[i]))
			str_addf(out, " job-%zu", i + 1);
	str_addc(out, '\n');
}

int export_makefile(const struct export_set *set, struct str *out,
		    struct roar_error *err)
{
	str_adds(out, "# The recorded pipeline, for GNU make 4.3 or later.\n"
		      "SHELL := /bin/bash\n.PHONY: all");
	for (size_t i = 0; i < set->n_jobs; i++)
		if (!count_targets(set, &set->jobs[i]))
			str_addf(out, " job-%zu", i + 1);
	str_adds(out, "\n\n");
	add_goals(set, out);
	for (size_t i = 0; i < set->n_jobs; i++) {
		str_addf(out, "\n# %s\n", set->jobs[i].ref);
		add_notes(set, &set->jobs[i], out);
		add_targets(set, i, out);
		add_prerequisites(set, i, out);
		str_addc(out, '\n');
		add_recipe(set, i, out);
	}
	return str_error(out) < 0 ? error_set(err, -ENOMEM, "out of memory") :
				    0;
}
