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
	int found = tar_scan(&r->source, t, err);

	if (found == 0)
		found = source_check(&r->source, err);
	if (found < 0)
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

static int tar_describe(const struct reader *r, uint64_t number,
			const uint8_t *data, struct reader_sample *sample,
			struct reader_part *parts, struct roar_error *err)
{
	const struct tar_table *t = r->data;
	const struct tar_sample *s = &t->samples[number];
	const struct tar_part *from = &t->parts[s->first];

	(void)err;
	sample->key = t->names + s->key;
	sample->key_len = s->key_len;
	for (size_t i = 0; i < sample->n_parts; i++)
		parts[i] = (struct reader_part){
			.name = t->names + from[i].name,
			.name_len = from[i].name_len,
			.data = data + (from[i].offset - from->offset),
			.len = (size_t)from[i].len,
		};
	return 0;
}

const struct reader_ops tar_ops = {
	.name = "tar",
	.open = tar_open,
	.close = tar_close,
	.span = tar_span,
	.n_parts = tar_n_parts,
	.load = reader_load,
	.describe = tar_describe,
};
