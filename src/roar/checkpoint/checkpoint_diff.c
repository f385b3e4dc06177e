/* checkpoint_diff.c - `roar checkpoint diff`
 *
 * Tensors that are at the same place of files with the same BLAKE3 are equal.  Of the others
 * the elements are compared, a slice of rows at a time. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/quote.h"
#include "base/str.h"
#include "base/vec.h"
#include "checkpoint/checkpoint_place.h"
#include "checkpoint/checkpoint_verbs.h"
#include "cli/cli.h"
#include "ui/view.h"

enum { SLICE_BYTES = 64 << 20 };

enum change { ADDED, REMOVED, RESHAPED, CHANGED, N_CHANGES };

static const char *const words[] = { "added", "removed", "reshaped",
				     "changed" };

struct difference {
	enum change change;
	const char *tensor;
	uint64_t n_changed, n_elements; /* of CHANGED */
};

struct comparison {
	struct checkpoint_place places[2];
	struct ckpt_reader *readers[2];
	struct difference *items;
	size_t n, cap;
	size_t n_same;
	void *buffers[2];
	size_t buffer_bytes;
};

static void comparison_release(struct comparison *c)
{
	for (int i = 0; i < 2; i++) {
		ckpt_reader_close(c->readers[i]);
		checkpoint_place_release(&c->places[i]);
		free(c->buffers[i]);
	}
	free(c->items);
}

static int add(struct comparison *c, enum change change, const char *tensor,
	       uint64_t n_changed, uint64_t n_elements)
{
	struct difference *d = VEC_PUSH(c->items, c->n, c->cap);

	if (!d)
		return -ENOMEM;
	*d = (struct difference){ change, tensor, n_changed, n_elements };
	return 0;
}

/* ---- without reading ---- */

static bool has_same_form(const struct ckpt_tensor *a,
			  const struct ckpt_tensor *b)
{
	return a->dtype == b->dtype && a->n_dims == b->n_dims &&
	       !memcmp(a->shape, b->shape, a->n_dims * sizeof(*a->shape));
}

static bool is_same_part(const struct comparison *c,
			 const struct ckpt_tensor *t, const struct ckpt_part *a,
			 const struct ckpt_part *b)
{
	const struct ckpt_file *f = &ckpt_reader_manifest(c->readers[0])
					     ->files[a->file];
	const struct ckpt_file *g = &ckpt_reader_manifest(c->readers[1])
					     ->files[b->file];
	size_t len = t->n_dims * sizeof(*t->shape);

	return a->at == b->at && !memcmp(a->offset, b->offset, len) &&
	       !memcmp(a->shape, b->shape, len) &&
	       f->size_bytes == g->size_bytes &&
	       !memcmp(f->blake3, g->blake3, BLAKE3_LEN);
}

static bool is_same_place(const struct comparison *c,
			  const struct ckpt_tensor *a,
			  const struct ckpt_tensor *b)
{
	bool same = a->n_parts == b->n_parts;

	for (size_t i = 0; same && i < a->n_parts; i++)
		same = is_same_part(c, a, &a->parts[i], &b->parts[i]);
	return same;
}

/* ---- elements ---- */

static int make_buffers(struct comparison *c, size_t len)
{
	if (len <= c->buffer_bytes)
		return 0;
	for (int i = 0; i < 2; i++) {
		free(c->buffers[i]);
		c->buffers[i] = aligned_alloc(
			BLOB_ALIGN,
			(len + BLOB_ALIGN) & ~(size_t)(BLOB_ALIGN - 1));
	}
	c->buffer_bytes = c->buffers[0] && c->buffers[1] ? len : 0;
	return c->buffer_bytes ? 0 : -ENOMEM;
}

static uint64_t count_changed(const char *a, const char *b, size_t len,
			      size_t element)
{
	uint64_t n = 0;

	if (!memcmp(a, b, len))
		return 0;
	for (size_t i = 0; i < len; i += element)
		n += memcmp(a + i, b + i, element) != 0;
	return n;
}

static int load_both(struct comparison *c, const struct ckpt_want *want,
		     struct roar_error *err)
{
	int r = make_buffers(c, want->to_bytes);

	for (int i = 0; r == 0 && i < 2; i++) {
		struct ckpt_want w = *want;

		w.to = c->buffers[i];
		r = ckpt_reader_load(c->readers[i], &w, 1, err);
	}
	return r;
}

/* Slices of whole rows of the first dimension. */
static int compare_content(struct comparison *c, const struct ckpt_tensor *t,
			   uint64_t *ret_changed, struct roar_error *err)
{
	uint64_t offset[CKPT_MAX_DIMS] = { 0 }, shape[CKPT_MAX_DIMS] = { 1 };
	uint64_t n_rows = t->n_dims ? t->shape[0] : 1, bytes = 0, row_bytes;
	uint64_t at_once;
	int r = 0;

	(void)ckpt_dtype_size(t->dtype, t->shape, t->n_dims, &bytes);
	*ret_changed = 0;
	if (!bytes)
		return 0;
	row_bytes = bytes / n_rows;
	at_once = row_bytes < SLICE_BYTES ? SLICE_BYTES / row_bytes : 1;
	memcpy(shape, t->shape, t->n_dims * sizeof(*shape));
	for (uint64_t row = 0; r == 0 && row < n_rows; row += at_once) {
		uint64_t n = n_rows - row < at_once ? n_rows - row : at_once;
		struct ckpt_want want = { .tensor = t->name,
					  .offset = offset,
					  .shape = shape,
					  .n_dims = t->n_dims,
					  .to_bytes = n * row_bytes };

		offset[0] = row;
		shape[0] = n;
		r = load_both(c, &want, err);
		if (r == 0)
			*ret_changed += count_changed(
				c->buffers[0], c->buffers[1], n * row_bytes,
				ckpt_dtype_bytes(t->dtype));
	}
	return r;
}

static int compare_tensor(struct comparison *c, const struct ckpt_tensor *a,
			  struct roar_error *err)
{
	const struct ckpt_tensor *b = ckpt_manifest_tensor(
		ckpt_reader_manifest(c->readers[1]), a->name);
	uint64_t n_changed = 0, bytes = 0;
	int r;

	if (!b)
		return add(c, REMOVED, a->name, 0, 0);
	if (!has_same_form(a, b))
		return add(c, RESHAPED, a->name, 0, 0);
	if (is_same_place(c, a, b)) {
		c->n_same++;
		return 0;
	}
	r = compare_content(c, a, &n_changed, err);
	if (r < 0)
		return r;
	if (!n_changed) {
		c->n_same++;
		return 0;
	}
	(void)ckpt_dtype_size(a->dtype, a->shape, a->n_dims, &bytes);
	return add(c, CHANGED, a->name, n_changed,
		   bytes / ckpt_dtype_bytes(a->dtype));
}

static int compare(struct comparison *c, struct roar_error *err)
{
	const struct ckpt_manifest *a = ckpt_reader_manifest(c->readers[0]);
	const struct ckpt_manifest *b = ckpt_reader_manifest(c->readers[1]);
	int r = 0;

	for (size_t i = 0; r == 0 && i < a->n_tensors; i++)
		r = compare_tensor(c, &a->tensors[i], err);
	for (size_t i = 0; r == 0 && i < b->n_tensors; i++)
		if (!ckpt_manifest_tensor(a, b->tensors[i].name))
			r = add(c, ADDED, b->tensors[i].name, 0, 0);
	return r;
}

/* ---- output ---- */

static int print_text(const struct comparison *c)
{
	CLEANUP(str_release) struct str out = STR_INIT;

	for (size_t i = 0; i < c->n; i++) {
		const struct difference *d = &c->items[i];

		str_addf(&out, "%-9s ", words[d->change]);
		quote_printable_cut(&out, d->tensor, 500);
		if (d->change == CHANGED) {
			str_adds(&out, "  ");
			format_number(&out, d->n_changed);
			str_adds(&out, " of ");
			format_count(&out, d->n_elements, "element");
		}
		str_addc(&out, '\n');
	}
	format_count(&out, c->n_same, "tensor");
	str_adds(&out, " equal, ");
	format_number(&out, c->n);
	str_adds(&out, " different\n");
	return cli_print(&out);
}

static void json_list(struct json *j, const struct comparison *c,
		      enum change change)
{
	json_put_key(j, words[change]);
	json_put_array(j);
	for (size_t i = 0; i < c->n; i++) {
		const struct difference *d = &c->items[i];

		if (d->change != change)
			continue;
		if (change != CHANGED) {
			json_put_string(j, d->tensor);
			continue;
		}
		json_put_object(j);
		view_json_text(j, "tensor", d->tensor);
		view_json_int(j, "changed", (int64_t)d->n_changed);
		view_json_int(j, "elements", (int64_t)d->n_elements);
		json_end(j);
	}
	json_end(j);
}

static int print_json(const struct comparison *c)
{
	CLEANUP(str_release) struct str out = STR_INIT;
	struct json j = json_writer(&out, true);

	json_put_object(&j);
	view_json_int(&j, "same", (int64_t)c->n_same);
	for (int change = 0; change < N_CHANGES; change++)
		json_list(&j, c, (enum change)change);
	json_end(&j);
	str_addc(&out, '\n');
	return cli_print(&out);
}

int checkpoint_diff(const struct args *args)
{
	CLEANUP(comparison_release) struct comparison c = { 0 };
	struct roar_error err = { 0 };
	int status = 0;
	int r;

	for (int i = 0; !status && i < 2; i++) {
		status = checkpoint_place_find(&c.places[i], args,
					       args->operands[1 + i]);
		if (!status)
			status = checkpoint_place_open(
				&c.places[i], "comparing", &c.readers[i]);
	}
	if (status)
		return status;
	r = compare(&c, &err);
	progress_end(&c.places[0].progress);
	progress_end(&c.places[1].progress);
	if (r < 0)
		return checkpoint_fail(r, &err);
	status = args_has(args, "json") ? print_json(&c) : print_text(&c);
	return status ? status : c.n != 0;
}
