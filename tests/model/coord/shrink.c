/* shrink.c - a failing plan made small
 *
 * Delta debugging: leaves out halves of what is left, then quarters, down to single
 * items, as long as the run still fails, in whatever way. */
#include <stdlib.h>
#include <string.h>

#include "sim.h"

static bool still_fails(const struct plan *p, const bool *kept)
{
	struct sim *s = malloc(sizeof(*s));
	bool fails = !sim_run(s, p, kept, false);

	free(s);
	return fails;
}

/* Tries without the items that are number `from` to `to` of those left. */
static bool try_without(const struct plan *p, bool *kept, size_t from,
			size_t to)
{
	bool *less = malloc(p->n_items);
	size_t n = 0;
	bool fails;

	memcpy(less, kept, p->n_items);
	for (size_t i = 0; i < p->n_items; i++)
		if (kept[i]) {
			less[i] = n < from || n >= to;
			n++;
		}
	fails = still_fails(p, less);
	if (fails)
		memcpy(kept, less, p->n_items);
	free(less);
	return fails;
}

static size_t count(const struct plan *p, const bool *kept)
{
	size_t n = 0;

	for (size_t i = 0; i < p->n_items; i++)
		n += kept[i];
	return n;
}

void shrink(const struct plan *p, bool *kept)
{
	size_t n = count(p, kept);

	for (size_t chunk = (n + 1) / 2; chunk;) {
		bool any = false;

		for (size_t at = 0; at < n;) {
			if (try_without(p, kept, at, at + chunk)) {
				n = count(p, kept);
				any = true;
			} else {
				at += chunk;
			}
		}
		if (!any)
			chunk = chunk == 1 ? 0 : (chunk + 1) / 2;
	}
}
