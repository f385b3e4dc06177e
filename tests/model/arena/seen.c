#include "seen.h"

#include <errno.h>
#include <stdlib.h>

enum { FIRST_PLACES = 1 << 16 };

static int make(struct seen *s, size_t n_places)
{
	s->keys = calloc(n_places, sizeof(*s->keys));
	s->prices = malloc(n_places);
	s->mask = n_places - 1;
	s->count = 0;
	if (s->keys && s->prices)
		return 0;
	seen_release(s);
	return -ENOMEM;
}

int seen_init(struct seen *s)
{
	return make(s, FIRST_PLACES);
}

void seen_release(struct seen *s)
{
	free(s->keys);
	free(s->prices);
	*s = (struct seen){ 0 };
}

/* The place of the key, or the empty one where it belongs.  Keys are hashes. */
static size_t find(const struct seen *s, uint64_t key)
{
	size_t i = key & s->mask;

	while (s->keys[i] && s->keys[i] != key)
		i = (i + 1) & s->mask;
	return i;
}

static int grow(struct seen *s)
{
	struct seen larger;
	int r = make(&larger, 2 * (s->mask + 1));

	if (r < 0)
		return r;
	for (size_t i = 0; i <= s->mask; i++) {
		size_t to;

		if (!s->keys[i])
			continue;
		to = find(&larger, s->keys[i]);
		larger.keys[to] = s->keys[i];
		larger.prices[to] = s->prices[i];
	}
	larger.count = s->count;
	seen_release(s);
	*s = larger;
	return 0;
}

int seen_add(struct seen *s, uint64_t key, uint8_t price)
{
	size_t i;

	if (4 * s->count > 3 * s->mask && grow(s) < 0)
		return -ENOMEM;
	key = key ? key : 1;
	i = find(s, key);
	if (s->keys[i] && s->prices[i] <= price)
		return 0;
	s->count += !s->keys[i];
	s->keys[i] = key;
	s->prices[i] = price;
	return 1;
}
