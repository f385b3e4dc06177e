/* tar.c - shards that are tar archives: WebDataset's */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "reader/index_file.h"
#include "reader/reader_internal.h"
#include "reader/tar_scan.h"
#include "reader/tar_table.h"

static int find_kept(struct reader *r, struct tar_table *t)
{
	CLEANUP(str_release) struct str body = STR_INIT;
	int found = index_file_load(r, &body);

	if (found == 0)
		found = tar_table_decode(body.data, body.len,
					 r->source.stamp.size, t);
	r->index_was_kept = found == 0;
	return found;
}

static int scan(struct reader *r, struct tar_table *t, struct roar_error *err)
{
	CLEANUP(str_release) struct str body = STR_INIT;
	int found = tar_scan(
		&r->source,
		r->options.beginning ? READER_BEGINNING : UINT64_MAX, t, err);

	r->is_cut = found > 0;
	if (found >= 0)
		found = source_check(&r->source, err);
	if (found < 0 || r->is_cut)
		return found;
	tar_table_encode(t, &body);
	if (str_error(&body) == 0)
		index_file_save(r, &body);
	return 0;
}

static int tar_open(struct reader *r, struct roar_error *err)
{
	struct tar_table *t = calloc(1, sizeof(*t));
	int found = 0;

	if (!t)
		return error_set(err, -ENOMEM, "out of memory");
	r->data = t;
	if (find_kept(r, t) < 0)
		found = scan(r, t, err);
	r->count = t->n_samples;
	return found;
}

static void tar_close(struct reader *r)
{
	if (r->data)
		tar_table_release(r->data);
	free(r->data);
}

/* From the first byte of its first part to the last of its last: members of a sample
 * follow each other, so little lies between. */
static struct span tar_span(const struct reader *r, uint64_t number)
{
	const struct tar_table *t = r->data;
	const struct tar_part *first = &t->parts[t->samples[number].first];
	const struct tar_part *last = &t->parts[t->samples[number + 1].first - 1];

	return (struct span){ .offset = first->offset,
			      .len = last->offset + last->len - first->offset };
}

static size_t tar_n_parts(const struct reader *r, uint64_t number)
{
	const struct tar_table *t = r->data;
	const struct tar_sample *s = &t->samples[number];

	return (size_t)(s[1].first - s->first);
}

static void tar_key(const struct reader *r, struct reader_sample *sample)
{
	const struct tar_table *t = r->data;
	const struct tar_sample *s = &t->samples[sample->number];

	sample->key = t->names + s->key;
	sample->key_len = s->key_len;
}

static uint64_t tar_part(const struct reader *r, uint64_t number, size_t i,
			 struct reader_part *ret)
{
	const struct tar_table *t = r->data;
	const struct tar_part *first = &t->parts[t->samples[number].first];
	const struct tar_part *part = first + i;

	*ret = (struct reader_part){ .name = t->names + part->name,
				     .name_len = part->name_len,
				     .len = (size_t)part->len };
	return part->offset - first->offset;
}

const struct reader_ops tar_ops = {
	.name = "tar",
	.open = tar_open,
	.close = tar_close,
	.span = tar_span,
	.n_parts = tar_n_parts,
	.load = reader_load,
	.key = tar_key,
	.part = tar_part,
};
