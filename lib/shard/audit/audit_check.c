/* audit_check.c - see audit_check.h */
#include "shard/audit/audit_check.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/vec.h"
#include "shard/audit/audit_check_internal.h"

int audit_check_new(struct audit_check **ret)
{
	*ret = calloc(1, sizeof(**ret));
	return *ret ? 0 : -ENOMEM;
}

void audit_check_free(struct audit_check *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < c->n_sources; i++)
		audit_source_release(&c->sources[i]);
	for (size_t i = 0; i < c->n; i++)
		epoch_release(&c->epochs[i]);
	free(c->sources);
	free(c->epochs);
	free(c);
}

int audit_check_add(struct audit_check *c, const char *path,
		    struct roar_error *err)
{
	struct source *s = VEC_PUSH(c->sources, c->n_sources, c->cap_sources);
	int r;

	if (!s)
		return error_set(err, -ENOMEM, "out of memory");
	r = audit_source_init(s, path, err);
	if (r < 0) {
		audit_source_release(s);
		c->n_sources--;
	}
	return r;
}

/* ---- conclusions ---- */

static int by_name(const void *a, const void *b)
{
	const struct audit_epoch *x = &((const struct epoch *)a)->seen;
	const struct audit_epoch *y = &((const struct epoch *)b)->seen;
	int order = strcmp(x->dataset, y->dataset);

	if (order)
		return order;
	if (x->seed != y->seed)
		return x->seed < y->seed ? -1 : 1;
	return x->epoch < y->epoch ? -1 : x->epoch > y->epoch;
}

/* Places know epochs by their index, so they are sorted when all is read. */
int audit_check_finish(struct audit_check *c)
{
	bool suspects = false;
	int r = audit_sources_read(c, tally_record);

	for (size_t i = 0; i < c->n && r >= 0; i++) {
		r = epoch_judge(&c->epochs[i]);
		suspects |= r > 0;
	}
	if (r >= 0 && suspects)
		r = audit_sources_read(c, tally_suspects);
	for (size_t i = 0; i < c->n && r >= 0; i++)
		r = epoch_name(&c->epochs[i]);
	if (r < 0)
		return r;
	if (c->n)
		qsort(c->epochs, c->n, sizeof(*c->epochs), by_name);
	return 0;
}

/* ---- what is asked ---- */

const char *audit_check_failure(const struct audit_check *c, size_t i)
{
	return i < c->n_sources ? c->sources[i].failure : NULL;
}

size_t audit_check_n_cut(const struct audit_check *c)
{
	size_t n = 0;

	for (size_t i = 0; i < c->n_sources; i++)
		n += c->sources[i].reader.cut;
	return n;
}

size_t audit_check_n(const struct audit_check *c)
{
	return c->n;
}

const struct audit_epoch *audit_check_epoch(const struct audit_check *c,
					    size_t i)
{
	return &c->epochs[i].seen;
}

/* Gaps are no fault of what is not finished. */
bool audit_epoch_is_exact(const struct audit_epoch *e, bool unfinished)
{
	return e->n_problems == 0 && (unfinished || !e->gaps.n);
}
