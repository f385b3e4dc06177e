/* tar_table.c - see tar_table.h
 *
 * As bytes: three numbers of 64 bits (samples, parts, bytes of names), then the three
 * arrays as they are in memory, the samples with the one that ends the last.  Both
 * structs have no gaps.  The index is for this machine, so nothing is swapped. */
#include "reader/tar_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "base/str.h"
#include "base/vec.h"
#include "reader/reader.h"

enum { KNOWN_BACK = 8 }; /* parts in which a name is looked for again */

_Static_assert(sizeof(struct tar_part) == 24, "no gaps");
_Static_assert(sizeof(struct tar_sample) == 16, "no gaps");

void tar_table_release(struct tar_table *t)
{
	free(t->samples);
	free(t->parts);
	free(t->names);
	*t = TAR_TABLE_INIT;
}

/* ---- adding ---- */

static int add_name(struct tar_table *t, const char *name, size_t len,
		    uint32_t *ret)
{
	*ret = (uint32_t)t->names_len;
	if (!len)
		return 0;
	if (t->names_len + len > UINT32_MAX)
		return -EOVERFLOW;
	if (vec_reserve(&t->names, &t->cap_names, t->names_len + len, 1) < 0)
		return -ENOMEM;
	memcpy(t->names + t->names_len, name, len);
	t->names_len += len;
	return 0;
}

static bool is_named(const struct tar_table *t, const struct tar_part *p,
		     const char *name, size_t len)
{
	return p->name_len == len && memcmp(t->names + p->name, name, len) == 0;
}

/* Samples have the same few names of parts: one that was met lately is not kept twice. */
static int add_part_name(struct tar_table *t, const char *name, size_t len,
			 uint32_t *ret)
{
	size_t back = t->n_parts < KNOWN_BACK ? t->n_parts : KNOWN_BACK;

	for (size_t i = 1; i <= back; i++) {
		const struct tar_part *p = &t->parts[t->n_parts - i];

		if (is_named(t, p, name, len)) {
			*ret = p->name;
			return 0;
		}
	}
	return add_name(t, name, len, ret);
}

static bool continues(const struct tar_table *t, const char *key, size_t len)
{
	const struct tar_sample *last;

	if (!t->n_samples)
		return false;
	last = &t->samples[t->n_samples - 1];
	return last->key_len == len &&
	       memcmp(t->names + last->key, key, len) == 0;
}

static int begin_sample(struct tar_table *t, const char *key, size_t len)
{
	struct tar_sample *s = VEC_PUSH(t->samples, t->n_samples,
					t->cap_samples);

	if (!s)
		return -ENOMEM;
	*s = (struct tar_sample){ .first = t->n_parts,
				  .key_len = (uint32_t)len };
	return add_name(t, key, len, &s->key);
}

static int check_new(const struct tar_table *t, const char *name, size_t len)
{
	size_t first = t->samples[t->n_samples - 1].first;

	if (t->n_parts - first >= READER_PARTS_MAX)
		return -E2BIG;
	for (size_t i = first; i < t->n_parts; i++)
		if (is_named(t, &t->parts[i], name, len))
			return -EEXIST;
	return 0;
}

static void lower(char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (text[i] >= 'A' && text[i] <= 'Z')
			text[i] = (char)(text[i] - 'A' + 'a');
}

static int add_part(struct tar_table *t, char *name, uint64_t offset,
		    uint64_t len)
{
	size_t name_len = strlen(name);
	struct tar_part part = { offset, len, 0, (uint32_t)name_len };
	struct tar_part *place;
	int r;

	lower(name, name_len);
	r = check_new(t, name, name_len);
	if (r == 0)
		r = add_part_name(t, name, name_len, &part.name);
	if (r < 0)
		return r;
	place = VEC_PUSH(t->parts, t->n_parts, t->cap_parts);
	if (!place)
		return -ENOMEM;
	*place = part;
	return 1;
}

/* "__meta__/..." is about the archive, not of it. */
static bool is_meta(const char *name)
{
	size_t len = strcspn(name, "/");

	return len >= 4 && memcmp(name, "__", 2) == 0 &&
	       memcmp(name + len - 2, "__", 2) == 0;
}

int tar_table_add(struct tar_table *t, const char *name, uint64_t offset,
		  uint64_t len)
{
	const char *last = path_basename(name);
	size_t key_len = (size_t)(last - name) + strcspn(last, ".");
	CLEANUP(freep) char *rest = NULL;
	int r = 0;

	if (last[0] == '.' || !name[key_len] || is_meta(name))
		return 0;
	rest = strdup(name + key_len + 1);
	if (!rest)
		return -ENOMEM;
	if (!continues(t, name, key_len))
		r = begin_sample(t, name, key_len);
	return r < 0 ? r : add_part(t, rest, offset, len);
}

void tar_table_cut(struct tar_table *t)
{
	if (t->n_samples)
		t->n_parts = (size_t)t->samples[--t->n_samples].first;
}

int tar_table_end(struct tar_table *t)
{
	if (vec_reserve(&t->samples, &t->cap_samples, t->n_samples + 1,
			sizeof(*t->samples)) < 0)
		return -ENOMEM;
	t->samples[t->n_samples] = (struct tar_sample){ .first = t->n_parts };
	return 0;
}

/* ---- as bytes ---- */

void tar_table_encode(const struct tar_table *t, struct str *out)
{
	uint64_t head[] = { t->n_samples, t->n_parts, t->names_len };

	str_add(out, head, sizeof(head));
	str_add(out, t->samples, (t->n_samples + 1) * sizeof(*t->samples));
	str_add(out, t->parts, t->n_parts * sizeof(*t->parts));
	str_add(out, t->names, t->names_len);
}

/* Copies `n` elements out of what is left. */
static int take(const char **p, const char *end, uint64_t n, size_t size,
		void *ret)
{
	char *copy;

	if (n > (uint64_t)(end - *p) / size)
		return -EBADMSG;
	copy = malloc((size_t)n * size + 1);
	if (!copy)
		return -ENOMEM;
	memcpy(copy, *p, (size_t)n * size);
	*p += n * size;
	*(char **)ret = copy;
	return 0;
}

static bool is_within(uint64_t at, uint64_t len, uint64_t end)
{
	return at <= end && len <= end - at;
}

static bool parts_are_right(const struct tar_table *t, uint64_t size)
{
	uint64_t end = 0;

	for (size_t i = 0; i < t->n_parts; i++) {
		const struct tar_part *p = &t->parts[i];

		if (p->offset < end || !is_within(p->offset, p->len, size) ||
		    !is_within(p->name, p->name_len, t->names_len))
			return false;
		end = p->offset + p->len;
	}
	return true;
}

static bool samples_are_right(const struct tar_table *t)
{
	const struct tar_sample *end = &t->samples[t->n_samples];

	if (t->samples[0].first != 0 || end->first != t->n_parts || end->key ||
	    end->key_len)
		return false;
	for (size_t i = 0; i < t->n_samples; i++) {
		const struct tar_sample *s = &t->samples[i];

		if (s[1].first <= s->first ||
		    s[1].first - s->first > READER_PARTS_MAX ||
		    !is_within(s->key, s->key_len, t->names_len))
			return false;
	}
	return true;
}

static int take_all(const char *p, const char *end, struct tar_table *t)
{
	uint64_t head[3];
	int r;

	if ((size_t)(end - p) < sizeof(head))
		return -EBADMSG;
	memcpy(head, p, sizeof(head));
	p += sizeof(head);
	if (head[0] == UINT64_MAX)
		return -EBADMSG;
	r = take(&p, end, head[0] + 1, sizeof(*t->samples), &t->samples);
	if (r == 0)
		r = take(&p, end, head[1], sizeof(*t->parts), &t->parts);
	if (r == 0)
		r = take(&p, end, head[2], 1, &t->names);
	t->n_samples = (size_t)head[0];
	t->n_parts = (size_t)head[1];
	t->names_len = (size_t)head[2];
	return r == 0 && p != end ? -EBADMSG : r;
}

int tar_table_decode(const void *data, size_t len, uint64_t size,
		     struct tar_table *ret)
{
	CLEANUP(tar_table_release) struct tar_table t = TAR_TABLE_INIT;
	const char *p = data;
	int r = take_all(p, p + len, &t);

	if (r < 0)
		return r;
	if (!parts_are_right(&t, size) || !samples_are_right(&t))
		return -EBADMSG;
	*ret = t;
	t = TAR_TABLE_INIT;
	return 0;
}
