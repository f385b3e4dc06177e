/* checkpoint_show.c - `roar checkpoint show` */
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

static uint64_t tensor_bytes(const struct ckpt_tensor *t)
{
	uint64_t bytes = 0;

	(void)ckpt_dtype_size(t->dtype, t->shape, t->n_dims, &bytes);
	return bytes;
}

/* ---- text ---- */

static void add_fact(struct str *out, const char *label, const char *value)
{
	str_addf(out, "%-11s", label);
	quote_printable_cut(out, value, 1000);
	str_addc(out, '\n');
}

static void add_facts(struct str *out, const struct ckpt_manifest *m)
{
	uint64_t size = 0, stored = 0;

	for (size_t i = 0; i < m->n_files; i++) {
		size += m->files[i].size_bytes;
		stored += m->files[i].data_bytes;
	}
	str_addf(out, "step       %" PRIu64 "\n", m->step);
	str_addf(out, "epoch      %" PRIu64 "\n", m->epoch);
	add_fact(out, "created", m->created);
	add_fact(out, "save", m->save);
	str_addf(out, "ranks      %" PRIu32 "\n", m->world_size);
	if (m->world_epoch || m->fencing_token)
		str_addf(out,
			 "world      epoch %" PRIu64 ", fencing token %" PRIu64
			 "\n",
			 m->world_epoch, m->fencing_token);
	if (m->job)
		add_fact(out, "job", m->job);
	if (m->parent)
		add_fact(out, "parent", m->parent);
	str_adds(out, "size       ");
	format_size(out, size);
	str_adds(out, ", stored ");
	format_size(out, stored);
	str_addf(out, "\ntensors    %zu\n", m->n_tensors);
	for (size_t i = 0; i < m->n_tags; i++)
		add_fact(out, "tag", m->tags[i]);
	for (size_t i = 0; i < m->n_metrics; i++) {
		str_adds(out, "metric     ");
		quote_printable_cut(out, m->metrics[i].name, 200);
		str_addf(out, " = %g\n", m->metrics[i].value);
	}
	if (m->data_position)
		add_fact(out, "position", m->data_position);
}

static void add_files(struct str *out, const struct ckpt_manifest *m,
		      const struct term *term)
{
	static const char *const head[] = { "RANK",    "SIZE",	 "STORED",
					    "EXTENTS", "BLAKE3", NULL };
	CLEANUP(table_release) struct table t = TABLE_INIT;

	table_head(&t, head);
	for (size_t i = 0; i < m->n_files; i++) {
		const struct ckpt_file *f = &m->files[i];

		table_number(&t, f->rank);
		table_size(&t, f->size_bytes);
		table_size(&t, f->data_bytes);
		table_number(&t, f->n_extents);
		for (int k = 0; k < 6; k++)
			str_addf(&t.cells, "%02x", f->blake3[k]);
		table_cell(&t);
		table_row(&t);
	}
	str_addc(out, '\n');
	table_print(&t, out, term, 0);
}

static void add_tensors(struct str *out, const struct ckpt_manifest *m,
			const struct term *term)
{
	static const char *const head[] = { "TENSOR", "TYPE",  "SHAPE",
					    "SIZE",   "PARTS", NULL };
	CLEANUP(table_release) struct table t = TABLE_INIT;

	table_head(&t, head);
	for (size_t i = 0; i < m->n_tensors; i++) {
		const struct ckpt_tensor *tensor = &m->tensors[i];

		quote_printable_cut(&t.cells, tensor->name, 500);
		table_cell(&t);
		table_text(&t, ckpt_dtype_name(tensor->dtype));
		for (unsigned d = 0; d < tensor->n_dims; d++)
			str_addf(&t.cells, "%s%" PRIu64, d ? "x" : "",
				 tensor->shape[d]);
		if (!tensor->n_dims)
			str_adds(&t.cells, "scalar");
		table_cell(&t);
		table_size(&t, tensor_bytes(tensor));
		table_number(&t, tensor->n_parts);
		table_row(&t);
	}
	str_addc(out, '\n');
	table_print(&t, out, term, 0);
}

static int print_text(const struct ckpt_manifest *m, bool tensors)
{
	CLEANUP(str_release) struct str out = STR_INIT;
	struct term term = term_of(1);

	add_facts(&out, m);
	add_files(&out, m, &term);
	if (tensors)
		add_tensors(&out, m, &term);
	return cli_print(&out);
}

/* The manifest is JSON already. */
static int print_json(const struct checkpoint_place *p)
{
	CLEANUP(str_release) struct str out = STR_INIT;
	struct roar_error err = { 0 };
	char path[CKPT_NAME_SIZE];
	int r;

	ckpt_name_path(path, p->step,
		       &(struct ckpt_name){ .kind = CKPT_NAME_MANIFEST });
	r = blob_get(p->store, path, CKPT_MANIFEST_MAX, &out, &err);
	return r < 0 ? checkpoint_fail(r, &err) : cli_print(&out);
}

int checkpoint_show(const struct args *args)
{
	CLEANUP(checkpoint_place_release)
	struct checkpoint_place p = CHECKPOINT_PLACE_INIT;
	CLEANUP(ckpt_reader_closep) struct ckpt_reader *reader = NULL;
	int status = checkpoint_place_find(&p, args, args->operands[1]);

	if (!status)
		status = checkpoint_place_open(&p, "", &reader);
	if (status)
		return status;
	if (args_has(args, "json"))
		return print_json(&p);
	return print_text(ckpt_reader_manifest(reader),
			  args_has(args, "tensors"));
}
