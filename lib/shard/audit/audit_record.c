/* audit_record.c - see audit_record.h */
#include "shard/audit/audit_record.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/byte_order.h"
#include "base/str.h"
#include "hash/digest/crc64nvme.h"

enum {
	SEGMENT_FIXED = 44, /* bytes before the name */
	INDEX_LEN = 4, /* bytes before positions */
};

const char audit_magic[AUDIT_MAGIC_LEN] = { 'R', 'O', 'A', 'R',
					    'A', 'U', 'D', '1' };

static void put32(struct str *out, uint32_t value)
{
	value = htole32(value);
	str_add(out, &value, sizeof(value));
}

static void put64(struct str *out, uint64_t value)
{
	value = htole64(value);
	str_add(out, &value, sizeof(value));
}

bool audit_segment_is_valid(const struct audit_segment *s)
{
	size_t len = strlen(s->dataset);

	return len && len <= AUDIT_NAME_MAX && s->world && s->rank < s->world &&
	       s->total && s->total <= SHARD_POSITION_END &&
	       (!s->base || !s->base->n ||
		s->base->items[s->base->n - 1].end <= s->total);
}

/* ---- writing ---- */

/* The length of the body is known when it is there. */
static size_t begin(struct str *out, enum audit_kind kind)
{
	size_t start = out->len;

	put32(out, 0);
	put32(out, kind);
	return start;
}

static void finish(struct str *out, size_t start, uint64_t *chain)
{
	if (str_error(out) < 0)
		return;
	le32_put(out->data + start, (uint32_t)(out->len - start - AUDIT_HEAD));
	*chain = crc64nvme(*chain, out->data + start, out->len - start);
	put64(out, *chain);
}

void audit_put_segment(struct str *out, uint64_t *chain,
		       const struct audit_segment *s)
{
	static const struct interval_set nothing;
	size_t start = begin(out, AUDIT_SEGMENT);

	put64(out, s->world_epoch);
	put32(out, s->rank);
	put32(out, s->world);
	put64(out, s->seed);
	put64(out, s->epoch);
	put64(out, s->total);
	put32(out, (uint32_t)strlen(s->dataset));
	str_adds(out, s->dataset);
	interval_set_encode(s->base ? s->base : &nothing, out);
	finish(out, start, chain);
}

void audit_put_positions(struct str *out, uint64_t *chain, enum audit_kind kind,
			 uint32_t index, const struct interval_set *positions)
{
	size_t start = begin(out, kind);

	put32(out, index);
	interval_set_encode(positions, out);
	finish(out, start, chain);
}

/* ---- reading ---- */

void audit_record_release(struct audit_record *record)
{
	interval_set_release(&record->ranges);
	free(record->name);
	*record = (struct audit_record){ 0 };
}

static int get_name(struct audit_record *record, const uint8_t *name,
		    uint32_t len)
{
	if (memchr(name, 0, len))
		return -EBADMSG;
	record->name = strndup((const char *)name, len);
	if (!record->name)
		return -ENOMEM;
	record->segment.dataset = record->name;
	return 0;
}

static int get_segment(struct audit_record *record, const uint8_t *body,
		       size_t len)
{
	uint32_t name_len;
	int r;

	if (len < SEGMENT_FIXED)
		return -EBADMSG;
	name_len = le32_get(body + 40);
	if (name_len > AUDIT_NAME_MAX || name_len > len - SEGMENT_FIXED)
		return -EBADMSG;
	record->segment = (struct audit_segment){
		.world_epoch = le64_get(body),
		.rank = le32_get(body + 8),
		.world = le32_get(body + 12),
		.seed = le64_get(body + 16),
		.epoch = le64_get(body + 24),
		.total = le64_get(body + 32),
		.base = &record->ranges,
	};
	r = get_name(record, body + SEGMENT_FIXED, name_len);
	if (r == 0)
		r = interval_set_decode(&record->ranges,
					body + SEGMENT_FIXED + name_len,
					len - SEGMENT_FIXED - name_len);
	if (r == 0 && !audit_segment_is_valid(&record->segment))
		r = -EBADMSG;
	return r;
}

static int get_positions(struct audit_record *record, const uint8_t *body,
			 size_t len)
{
	if (len < INDEX_LEN)
		return -EBADMSG;
	record->index = le32_get(body);
	return interval_set_decode(&record->ranges, body + INDEX_LEN,
				   len - INDEX_LEN);
}

int audit_get(struct audit_record *record, uint32_t kind, const uint8_t *body,
	      size_t len)
{
	int r = -EBADMSG;

	record->kind = kind;
	if (kind == AUDIT_SEGMENT)
		r = get_segment(record, body, len);
	else if (kind >= AUDIT_CONSUMED && kind <= AUDIT_PADDED)
		r = get_positions(record, body, len);
	if (r < 0)
		audit_record_release(record);
	return r;
}
