/* unchanged_outputs.c - see unchanged_outputs.h */
#include "run/unchanged_outputs.h"

#include <string.h>

#include "hash/digest/digest_cache.h"
#include "run/contents.h"
#include "run/run.h"

static bool may_be_unchanged(const struct run_file *e)
{
	unsigned placed = LINEAGE_CREATED | LINEAGE_RENAMED_TO |
			  LINEAGE_LINKED_TO | LINEAGE_REMOVED;

	return !e->filter && !e->foreign && (e->roles & LINEAGE_OUTPUT) &&
	       e->after_ftype == EVENT_FTYPE_REGULAR &&
	       stamp_exists(&e->file->first) && !(e->file->seen & placed);
}

static bool has_digest(const struct content *c)
{
	return c && !c->pending && c->result == 0;
}

/* What the file was before the run wrote to it. */
static bool prior_digest(struct run *run, const struct run_file *e,
			 struct digests *ret)
{
	const struct lineage_file *f = e->file;
	const struct content *c = contents_find(f, CONTENT_INPUT);

	if (e->roles & LINEAGE_INPUT) {
		if (has_digest(c))
			contents_get(c, ret);
		return has_digest(c);
	}
	return !(f->seen & LINEAGE_TRUNCATED) && run->cache &&
	       !stamp_is_racy(&f->first, f->first_ns) &&
	       digest_cache_get(run->cache, &f->first, DIGEST_SET_BLAKE3, ret);
}

static bool is_unchanged(struct run *run, const struct run_file *e)
{
	const struct content *now = contents_find(e->file, CONTENT_OUTPUT);
	struct digests was;

	return may_be_unchanged(e) && has_digest(now) &&
	       prior_digest(run, e, &was) &&
	       memcmp(was.blake3, now->blake3, sizeof(now->blake3)) == 0;
}

void unchanged_outputs_drop(struct run *run)
{
	for (size_t i = 0; i < run->n_files; i++) {
		struct run_file *e = &run->files[i];

		if (!is_unchanged(run, e))
			continue;
		run->n_outputs--;
		e->roles &= (uint8_t) ~(LINEAGE_OUTPUT | LINEAGE_INTERMEDIATE);
		if (!(e->roles & LINEAGE_INPUT))
			e->roles |= LINEAGE_TOUCHED;
	}
}
