/* written.c - see written.h */
#include "trace/hybrid/written.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "base/map.h"

enum { SLOTS_MIN = 256 };

void written_release(struct written *w)
{
	free(w->slots);
	*w = (struct written){ 0 };
}

static uint64_t mark_of(const void *data, size_t len)
{
	return map_hash(data, len) | 1; /* never the empty slot */
}

uint64_t written_name(const char *path, size_t len)
{
	return mark_of(path, len);
}

uint64_t written_file(dev_t dev, ino_t ino)
{
	uint64_t key[2] = { dev, ino };

	return mark_of(key, sizeof(key));
}

/* The slot of `mark`, or the empty one where it belongs.  The lowest bit is set in
 * all marks. */
static size_t find(const struct written *w, uint64_t mark)
{
	size_t i = (size_t)(mark >> 1) & (w->n_slots - 1);

	while (w->slots[i] && w->slots[i] != mark)
		i = (i + 1) & (w->n_slots - 1);
	return i;
}

static int grow(struct written *w)
{
	struct written bigger = {
		.n_slots = w->n_slots ? 2 * w->n_slots : SLOTS_MIN,
		.count = w->count,
	};

	bigger.slots = calloc(bigger.n_slots, sizeof(*bigger.slots));
	if (!bigger.slots)
		return -ENOMEM;
	for (size_t i = 0; i < w->n_slots; i++)
		if (w->slots[i])
			bigger.slots[find(&bigger, w->slots[i])] = w->slots[i];
	free(w->slots);
	*w = bigger;
	return 0;
}

int written_add(struct written *w, uint64_t mark)
{
	size_t i;

	assert(mark & 1);
	if (4 * (w->count + 1) > 3 * w->n_slots && grow(w) < 0)
		return -ENOMEM;
	i = find(w, mark);
	w->count += !w->slots[i];
	w->slots[i] = mark;
	return 0;
}

bool written_has(const struct written *w, uint64_t mark)
{
	return w->count && w->slots[find(w, mark)];
}

/* Linear probing: entries after the gap move up if they may. */
void written_remove(struct written *w, uint64_t mark)
{
	size_t mask = w->n_slots - 1;
	size_t gap, i;

	if (!written_has(w, mark))
		return;
	gap = find(w, mark);
	for (i = (gap + 1) & mask; w->slots[i]; i = (i + 1) & mask) {
		size_t home = (size_t)(w->slots[i] >> 1) & mask;

		if (((i - home) & mask) < ((i - gap) & mask))
			continue;
		w->slots[gap] = w->slots[i];
		gap = i;
	}
	w->slots[gap] = 0;
	w->count--;
}
