/* plan_json.c - the plan as JSON; man/reproduce.txt describes it */
#include <string.h>

#include "base/json.h"
#include "hash/digest/digest.h"
#include "reproduce/reproduce.h"
#include "ui/view.h"

/* "" as null. */
static void put_text(struct json *j, const char *key, const char *text)
{
	view_json_text(j, key, text && *text ? text : NULL);
}

static void put_target(struct reproduce *p, struct json *j)
{
	const struct target *t = &p->target;

	json_put_key(j, "target");
	json_put_object(j);
	view_json_text(j, "word", p->word);
	view_json_digests(j, "digests",
			  t->kind == TARGET_ARTIFACT ? &t->artifact.digests :
						       &(struct digests){ 0 });
	view_json_job_ref(p->view, j, "made_by", p->job);
	json_end(j);
}

static void put_code(struct json *j, const struct recipe_code *code)
{
	json_put_object(j);
	view_json_text(j, "root", code->root);
	put_text(j, "commit", code->commit);
	put_text(j, "snapshot", code->snapshot);
	put_text(j, "remote", code->remote);
	put_text(j, "found_in", code->found_in);
	put_text(j, "place", code->place);
	json_end(j);
}

static void put_argv(struct json *j, char *const *argv)
{
	json_put_key(j, "argv");
	if (!argv) {
		json_put_null(j);
		return;
	}
	json_put_array(j);
	for (size_t i = 0; argv[i]; i++)
		json_put_string(j, argv[i]);
	json_end(j);
}

static void put_step(struct reproduce *p, struct json *j,
		     const struct recipe_step *step)
{
	const struct interpreter *python = requirements_python(&step->needs);

	json_put_object(j);
	view_json_text(j, "job_uid", step->job->uid);
	view_json_text(j, "step_ref", view_step_ref(p->view, step->job));
	view_json_text(j, "kind", step->job->kind);
	view_json_text(j, "command", step->command);
	put_argv(j, step->argv);
	view_json_text(j, "cwd", step->job->cwd);
	put_text(j, "place", step->place);
	put_text(j, "tree", step->code ? step->code->tree : NULL);
	put_text(j, "python", python ? python->version : NULL);
	json_put_key(j, "after");
	json_put_array(j);
	for (size_t i = 0; i < step->n_after; i++)
		json_put_string(j, p->recipe.steps[step->after[i]].job->uid);
	json_end(j);
	json_end(j);
}

static void put_input(struct reproduce *p, struct json *j,
		      const struct recipe_input *input)
{
	json_put_object(j);
	view_json_text(j, "path", input->row->path);
	view_json_digests(j, "digests", &input->row->digests);
	view_json_int(j, "size_bytes", (int64_t)input->row->stamp.size);
	put_text(j, "place", input->place);
	view_json_text(j, "source", recipe_source_word(input->source));
	put_text(j, "from", input->from);
	put_text(j, "reason", input->why);
	view_json_job_ref(p->view, j, "used_by",
			  p->recipe.steps[input->step].job);
	json_end(j);
}

static void put_package(struct json *j, const struct requirement *r)
{
	json_put_object(j);
	view_json_text(j, "manager", r->manager);
	view_json_text(j, "name", r->name);
	put_text(j, "version", r->version);
	put_text(j, "arch", r->arch);
	put_text(j, "location", r->location);
	view_json_bool(j, "editable", r->editable);
	view_json_bool(j, "of_system", r->of_system);
	json_end(j);
}

static void put_notes(struct reproduce *p, struct json *j)
{
	json_put_key(j, "notes");
	json_put_array(j);
	for (size_t i = 0; i < p->n_notes; i++) {
		json_put_object(j);
		view_json_text(j, "text", p->notes[i].text);
		view_json_bool(j, "stops", p->notes[i].stops);
		json_end(j);
	}
	json_end(j);
}

void plan_json(struct reproduce *p)
{
	struct json j = json_writer(&p->view->out, true);
	const struct recipe *r = &p->recipe;

	json_put_object(&j);
	put_target(p, &j);
	put_text(&j, "base", r->roots.base);
	json_put_key(&j, "code");
	json_put_array(&j);
	for (size_t i = 0; i < r->n_codes; i++)
		put_code(&j, r->codes[i]);
	json_end(&j);
	json_put_key(&j, "steps");
	json_put_array(&j);
	for (size_t i = 0; i < r->n_steps; i++)
		put_step(p, &j, &r->steps[i]);
	json_end(&j);
	json_put_key(&j, "inputs");
	json_put_array(&j);
	for (size_t i = 0; i < r->n_inputs; i++)
		put_input(p, &j, &r->inputs[i]);
	json_end(&j);
	json_put_key(&j, "packages");
	json_put_array(&j);
	for (size_t i = 0; i < r->needs.n; i++)
		put_package(&j, &r->needs.all[i]);
	json_end(&j);
	put_notes(p, &j);
	json_end(&j);
	str_addc(&p->view->out, '\n');
}
