/* checkpoint_ls.c - `roar checkpoint ls` */
#include <inttypes.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/quote.h"
#include "base/str.h"
#include "checkpoint/checkpoint_place.h"
#include "checkpoint/checkpoint_verbs.h"
#include "cli/cli.h"
#include "ui/table.h"
#include "ui/view.h"

/* ---- text ---- */

static void cell_text(struct table *t, const char *text)
{
	quote_printable_cut(&t->cells, text && *text ? text : "-", 200);
	table_cell(t);
}

static void cell_tags(struct table *t, const struct ckpt_entry *e)
{
	for (size_t i = 0; i < e->n_tags; i++) {
		str_adds(&t->cells, i ? "," : "");
		quote_printable_cut(&t->cells, e->tags[i], 40);
	}
	if (!e->n_tags)
		str_addc(&t->cells, '-');
	table_cell(t);
}

static void cell_metrics(struct table *t, const struct ckpt_entry *e)
{
	for (size_t i = 0; i < e->n_metrics && i < 4; i++) {
		str_adds(&t->cells, i ? " " : "");
		quote_printable_cut(&t->cells, e->metrics[i].name, 40);
		str_addf(&t->cells, "=%.6g", e->metrics[i].value);
	}
	if (!e->n_metrics)
		str_addc(&t->cells, '-');
	table_cell(t);
}

static void add_row(struct table *t, const struct ckpt_entry *e)
{
	uint64_t parent;

	str_addf(&t->cells, "%" PRIu64, e->step);
	table_cell(t);
	cell_text(t, e->created);
	table_number(t, e->world_size);
	table_size(t, e->size_bytes);
	table_size(t, e->stored_bytes);
	if (e->parent && ckpt_name_parse_step(e->parent, &parent))
		str_addf(&t->cells, "%" PRIu64, parent);
	else
		str_addc(&t->cells, '-');
	table_cell(t);
	cell_tags(t, e);
	cell_metrics(t, e);
	table_row(t);
}

static void add_table(struct str *out, const struct ckpt_listing *l,
		      const struct term *term)
{
	static const char *const head[] = { "STEP", "CREATED", "RANKS",
					    "SIZE", "STORED",  "PARENT",
					    "TAGS", "METRICS", NULL };
	CLEANUP(table_release) struct table t = TABLE_INIT;
	size_t n = 0;

	table_head(&t, head);
	for (size_t i = 0; i < l->n_entries; i++)
		if (l->entries[i].is_committed && !l->entries[i].problem) {
			add_row(&t, &l->entries[i]);
			n++;
		}
	if (n)
		table_print(&t, out, term, 0);
	else
		str_adds(out, "There is no checkpoint.\n");
}

static void add_failures(struct str *out, const struct term *term,
			 const struct ckpt_entry *e)
{
	for (size_t i = 0; i < e->n_failures; i++) {
		term_add(out, term, COLOR_RED, "failed");
		str_addf(out, "  step %" PRIu64 ", save %s: ", e->step,
			 e->failures[i].save);
		quote_printable_cut(out, e->failures[i].sentence, 1000);
		str_addc(out, '\n');
	}
}

static void add_remarks(struct str *out, const struct term *term,
			const struct ckpt_entry *e)
{
	if (e->problem) {
		term_add(out, term, COLOR_RED, "damaged");
		str_addf(out, "  step %" PRIu64 ": ", e->step);
		quote_printable_cut(out, e->problem, 1000);
		str_addc(out, '\n');
	}
	add_failures(out, term, e);
	if (e->is_writing)
		str_addf(out, "writing  step %" PRIu64 ": a save goes on\n",
			 e->step);
	if (e->n_leftovers) {
		str_addf(out, "leftovers  step %" PRIu64 ": ", e->step);
		format_count(out, e->n_leftovers, "file");
		str_adds(out, ", ");
		format_size(out, e->leftover_bytes);
		str_adds(out, "; 'roar checkpoint gc' removes them\n");
	}
}

static int print_text(const struct ckpt_listing *l)
{
	CLEANUP(str_release) struct str out = STR_INIT;
	struct term term = term_of(1);

	add_table(&out, l, &term);
	for (size_t i = 0; i < l->n_entries; i++)
		add_remarks(&out, &term, &l->entries[i]);
	return cli_print(&out);
}

/* ---- JSON ---- */

static void json_lists(struct json *j, const struct ckpt_entry *e)
{
	json_put_key(j, "tags");
	json_put_array(j);
	for (size_t i = 0; i < e->n_tags; i++)
		json_put_string(j, e->tags[i]);
	json_end(j);
	json_put_key(j, "metrics");
	json_put_object(j);
	for (size_t i = 0; i < e->n_metrics; i++) {
		json_put_key(j, e->metrics[i].name);
		json_put_double(j, e->metrics[i].value);
	}
	json_end(j);
}

static void json_checkpoint(struct json *j, const struct ckpt_entry *e)
{
	json_put_object(j);
	view_json_int(j, "step", (int64_t)e->step);
	view_json_text(j, "name", e->name);
	if (e->problem) {
		view_json_text(j, "error", e->problem);
	} else {
		view_json_int(j, "epoch", (int64_t)e->epoch);
		view_json_text(j, "save", e->save);
		view_json_text(j, "created", e->created);
		view_json_int(j, "size", (int64_t)e->size_bytes);
		view_json_int(j, "stored", (int64_t)e->stored_bytes);
		view_json_int(j, "world_size", e->world_size);
		view_json_int(j, "tensors", (int64_t)e->n_tensors);
		view_json_text(j, "parent", e->parent);
		view_json_text(j, "job", e->job);
		json_lists(j, e);
	}
	json_end(j);
}

static void json_failures(struct json *j, const struct ckpt_listing *l)
{
	json_put_key(j, "failed");
	json_put_array(j);
	for (size_t i = 0; i < l->n_entries; i++)
		for (size_t k = 0; k < l->entries[i].n_failures; k++) {
			const struct ckpt_failure *f = &l->entries[i].failures[k];

			json_put_object(j);
			view_json_int(j, "step", (int64_t)l->entries[i].step);
			view_json_text(j, "save", f->save);
			view_json_text(j, "error", f->sentence);
			json_end(j);
		}
	json_end(j);
}

static void json_leftovers(struct json *j, const struct ckpt_listing *l)
{
	json_put_key(j, "leftovers");
	json_put_array(j);
	for (size_t i = 0; i < l->n_entries; i++) {
		const struct ckpt_entry *e = &l->entries[i];

		if (!e->n_leftovers && !e->is_writing)
			continue;
		json_put_object(j);
		view_json_int(j, "step", (int64_t)e->step);
		view_json_int(j, "files", (int64_t)e->n_leftovers);
		view_json_int(j, "bytes", (int64_t)e->leftover_bytes);
		view_json_bool(j, "writing", e->is_writing);
		json_end(j);
	}
	json_end(j);
}

static int print_json(const struct ckpt_listing *l, const char *base)
{
	CLEANUP(str_release) struct str out = STR_INIT;
	struct json j = json_writer(&out, true);

	json_put_object(&j);
	view_json_text(&j, "base", base);
	json_put_key(&j, "checkpoints");
	json_put_array(&j);
	for (size_t i = 0; i < l->n_entries; i++)
		if (l->entries[i].is_committed)
			json_checkpoint(&j, &l->entries[i]);
	json_end(&j);
	json_failures(&j, l);
	json_leftovers(&j, l);
	json_end(&j);
	str_addc(&out, '\n');
	return cli_print(&out);
}

/* ---- */

int checkpoint_ls(const struct args *args)
{
	CLEANUP(checkpoint_place_release)
	struct checkpoint_place p = CHECKPOINT_PLACE_INIT;
	CLEANUP(ckpt_listing_release)
	struct ckpt_listing l = CKPT_LISTING_INIT;
	struct roar_error err = { 0 };
	int status = checkpoint_place_base(&p, args, args->operands[1], false);
	int r;

	if (status)
		return status;
	r = ckpt_listing_read(&l, p.store, CKPT_LIST_MANIFESTS, &err);
	if (r < 0)
		return checkpoint_fail(r, &err);
	return args_has(args, "json") ? print_json(&l, blob_url(p.store)) :
					print_text(&l);
}
