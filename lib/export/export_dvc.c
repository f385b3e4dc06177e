/* export_dvc.c - the jobs as stages of DVC.
 *
 *	stages:
 *	  step-2:
 *	    cmd: "python train.py"
 *	    deps:
 *	    - "data.csv"
 *	    outs:
 *	    - "model.pt"
 *
 * Text is in the double quotes of JSON, which YAML reads alike.  DVC identifies content by
 * MD5; the lock has a file only if its MD5 is known.  A stage may not depend on its own
 * output, and two stages may not have the same one: then the first stage keeps it. */
#include "export/export.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/map.h"
#include "base/path.h"
#include "base/quote.h"
#include "base/str.h"
#include "base/utf8.h"
#include "export/export_set.h"
#include "query/query.h"
#include "store/store.h"

struct stages {
	const struct export_set *set;
	struct str *out;
	struct map owners; /* path -> job that has it as an output */
	bool is_lock;
};

/* dvc.yaml has "${name}" for a parameter; dvc.lock has the text itself. */
static void add_text(const struct stages *s, const char *text)
{
	CLEANUP(str_release) struct str escaped = STR_INIT;
	struct json j = json_writer(s->out, false);

	for (; *text; text++) {
		if (!s->is_lock && text[0] == '$' && text[1] == '{')
			str_addc(&escaped, '\\');
		str_addc(&escaped, *text);
	}
	json_put_string(&j, str_cstr(&escaped));
	s->out->failed |= escaped.failed;
}

static const char *wdir_of(const struct stages *s, const struct store_job *job)
{
	return path_is_under(job->cwd, s->set->root) ?
		       path_relative(job->cwd, s->set->root) :
		       job->cwd;
}

/* Paths of a stage count from its working directory; ours from the top. */
static void add_command(const struct stages *s, const struct export_job *job)
{
	CLEANUP(str_release) struct str line = STR_INIT;
	const char *dir = wdir_of(s, job->job);

	if (strcmp(dir, ".") != 0) {
		str_adds(&line, "cd ");
		quote_shell(&line, dir);
		str_adds(&line, " && ");
	}
	str_adds(&line, job->job->command);
	s->out->failed |= line.failed;
	str_adds(s->out, "    cmd: ");
	add_text(s, str_cstr(&line));
	str_addc(s->out, '\n');
}

static bool is_possible(const struct stages *s, const struct export_entity *e)
{
	return utf8_is_valid(e->name) &&
	       (!s->is_lock || e->digests.have & (1 << DIGEST_MD5));
}

static bool is_output(const struct stages *s, const struct export_job *job,
		      const struct export_entity *e)
{
	return !e->is_object &&
	       map_get(&s->owners, e->path, strlen(e->path)) == job;
}

static void add_file(const struct stages *s, const struct export_entity *e)
{
	char hex[33];

	if (!s->is_lock) {
		str_adds(s->out, "    - ");
		add_text(s, e->name);
		str_addc(s->out, '\n');
		return;
	}
	digest_hex(hex, e->digests.md5, sizeof(e->digests.md5));
	str_adds(s->out, "    - path: ");
	add_text(s, e->name);
	str_addf(s->out, "\n      hash: md5\n      md5: %s\n      size: %lld\n",
		 hex, (long long)e->size);
}

static void add_deps(const struct stages *s, const struct export_job *job)
{
	bool is_first = true;

	for (size_t i = 0; i < job->n_inputs; i++) {
		const struct export_entity *e = &s->set->entities[job->inputs[i]];

		if (!is_possible(s, e) || is_output(s, job, e))
			continue;
		str_adds(s->out, is_first ? "    deps:\n" : "");
		is_first = false;
		add_file(s, e);
	}
}

static void add_outs(const struct stages *s, const struct export_job *job)
{
	bool is_first = true;

	for (size_t i = 0; i < job->n_outputs; i++) {
		const struct export_entity
			*e = &s->set->entities[job->outputs[i]];

		if (!is_possible(s, e) || !is_output(s, job, e))
			continue;
		str_adds(s->out, is_first ? "    outs:\n" : "");
		is_first = false;
		add_file(s, e);
	}
}

static int find_owners(struct stages *s)
{
	int r = 0;

	for (size_t i = 0; i < s->set->n_jobs; i++) {
		const struct export_job *job = &s->set->jobs[i];

		for (size_t k = 0; r == 0 && k < job->n_outputs; k++) {
			const char *path = s->set->entities[job->outputs[k]].path;

			if (!map_get(&s->owners, path, strlen(path)))
				r = map_set(&s->owners, path, strlen(path),
					    (void *)job);
		}
	}
	return r;
}

/* Names of DVC have no punctuation but "-" and "_": "@B1.2" is build-1-2. */
static void add_name(struct str *out, const struct export_job *job)
{
	bool is_build = job->job->kind[0] == 'b';

	str_adds(out, is_build ? "build-" : "step-");
	for (const char *c = job->ref + (is_build ? 2 : 1); *c; c++)
		str_addc(out, *c == '.' ? '-' : *c);
}

static int write_stages(const struct export_set *set, bool is_lock,
			struct str *out, struct roar_error *err)
{
	struct stages s = { .set = set, .out = out, .is_lock = is_lock };
	int r = find_owners(&s);

	if (is_lock)
		str_adds(out, "schema: '2.0'\n");
	str_adds(out, set->n_jobs ? "stages:\n" : "stages: {}\n");
	for (size_t i = 0; r == 0 && i < set->n_jobs; i++) {
		const struct export_job *job = &set->jobs[i];

		str_adds(out, "  ");
		add_name(out, job);
		str_adds(out, ":\n");
		add_command(&s, job);
		add_deps(&s, job);
		add_outs(&s, job);
	}
	map_release(&s.owners);
	if (r == 0)
		r = str_error(out);
	return r < 0 ? error_set(err, r, "out of memory") : 0;
}

int export_dvc_yaml(const struct export_set *set, struct str *out,
		    struct roar_error *err)
{
	return write_stages(set, false, out, err);
}

int export_dvc_lock(const struct export_set *set, struct str *out,
		    struct roar_error *err)
{
	return write_stages(set, true, out, err);
}
