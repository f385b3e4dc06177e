/* fuzz_ckpt_plan.c - a load of all that a manifest says it has.
 *
 * The manifest is anybody's.  For one that is accepted, a plan for all small tensors must
 * stay within the files, read each leaf once and write each wanted byte once; the notes of
 * failed saves are parsed on the way. */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "ckpt/ckpt_failure.h"
#include "ckpt/ckpt_manifest.h"
#include "ckpt/ckpt_plan.h"

enum { SMALL = 1 << 16, FILES_MAX = 64, BUFFER = 1 << 20 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void require(bool promise)
{
	if (!promise)
		abort();
}

/* Plans a tensor into `to`.  Returns its bytes, 0: it is too large for this test. */
static size_t plan_tensor(struct ckpt_plan *p, const struct ckpt_tensor *t,
			  char *to)
{
	static const uint64_t zero[CKPT_MAX_DIMS];
	struct ckpt_box want = { t->n_dims, zero, t->shape };
	uint64_t bytes = 0;

	require(ckpt_dtype_size(t->dtype, t->shape, t->n_dims, &bytes) == 0);
	if (bytes == 0 || bytes > SMALL)
		return 0;
	for (size_t i = 0; i < t->n_parts; i++) {
		const struct ckpt_part *part = &t->parts[i];
		struct ckpt_box box = { t->n_dims, part->offset, part->shape };

		require(ckpt_plan_add(p, part->file, part->at, &box, &want,
				      ckpt_dtype_bytes(t->dtype), to) == 0);
	}
	return bytes;
}

static void check_steps(const struct ckpt_plan *p)
{
	for (size_t i = 0; i < p->n_steps; i++) {
		const struct ckpt_step *s = &p->steps[i];
		const struct ckpt_plan_file *f = &p->files[s->file];

		require(s->first_leaf * f->leaf_bytes + ckpt_step_bytes(p, s) <=
			f->size_bytes);
		require(!i || p->steps[i - 1].file < s->file ||
			p->steps[i - 1].first_leaf + p->steps[i - 1].n_leaves <=
				s->first_leaf);
	}
}

/* Files are all ones: each wanted byte becomes 1, and no other. */
static void execute(const struct ckpt_plan *p, char *to, size_t len)
{
	static char ones[BUFFER];

	memset(ones, 1, sizeof(ones));
	for (size_t i = 0; i < p->n_steps; i++) {
		const struct ckpt_step *s = &p->steps[i];
		uint64_t from = s->first_leaf * p->files[s->file].leaf_bytes;
		uint64_t end = from + ckpt_step_bytes(p, s);

		for (; from < end; from += BUFFER)
			ckpt_plan_copy(p, s->file, from, ones,
				       end - from < BUFFER ? end - from :
							     BUFFER);
	}
	for (size_t i = 0; i < len; i++)
		require(to[i] == 1);
	require(to[len] == 0);
}

static void load_all(const struct ckpt_manifest *m)
{
	struct ckpt_plan_file files[FILES_MAX];
	size_t len = 0;
	char *to = calloc(1, BUFFER + 1);
	struct ckpt_plan p;

	require(to && m->n_files <= FILES_MAX);
	for (size_t i = 0; i < m->n_files; i++)
		files[i] = (struct ckpt_plan_file){ m->files[i].size_bytes,
						    m->files[i].leaf_bytes,
						    false };
	ckpt_plan_init(&p, files, m->n_files);
	for (size_t i = 0; i < m->n_tensors && len + SMALL < BUFFER; i++)
		len += plan_tensor(&p, &m->tensors[i], to + len);
	require(p.bytes_wanted == len);
	require(ckpt_plan_finish(&p, 0, NULL, NULL) == 0);
	check_steps(&p);
	if (p.bytes_read < 64 << 20)
		execute(&p, to, len);
	ckpt_plan_release(&p);
	free(to);
}

/* A bit for each leaf is memory that the size in a manifest asks for. */
static bool is_moderate(const struct ckpt_manifest *m)
{
	for (size_t i = 0; i < m->n_files; i++)
		if (m->files[i].size_bytes / m->files[i].leaf_bytes > 1 << 24)
			return false;
	return m->n_files <= FILES_MAX;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct str sentence = STR_INIT;
	struct ckpt_manifest m;

	(void)ckpt_failure_parse((const char *)data, len, &sentence);
	str_release(&sentence);
	if (ckpt_manifest_read(&m, (const char *)data, len, false, "x", NULL) <
	    0)
		return 0;
	if (is_moderate(&m))
		load_all(&m);
	ckpt_manifest_release(&m);
	return 0;
}
