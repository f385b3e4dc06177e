/* sums.c - see sums.h */
#include "trace/sums.h"

#include <stddef.h>

enum { KEY_LEN = 2 * sizeof(uint64_t) };

_Static_assert(offsetof(struct sum, ino) == sizeof(uint64_t),
	       "a key is the start of the struct");

void sums_release(struct sums *s)
{
	map_release(&s->files);
	pool_release(&s->pool);
}

static struct sum *latest(const struct sums *s, uint64_t dev, uint64_t ino)
{
	const uint64_t key[2] = { dev, ino };

	return map_get(&s->files, key, KEY_LEN);
}

static struct sum *allocate(struct sums *s, uint64_t dev, uint64_t ino)
{
	struct sum *sum = pool_zalloc(&s->pool, sizeof(*sum));

	if (!sum) {
		s->n_lost++;
		return NULL;
	}
	sum->dev = dev;
	sum->ino = ino;
	return sum;
}

/* Makes it the current file of its numbers. */
static void put(struct sums *s, struct sum *sum)
{
	if (map_set(&s->files, sum, KEY_LEN, sum) < 0)
		s->n_lost++;
}

void sums_create(struct sums *s, uint64_t dev, uint64_t ino,
		 uint32_t generation, int64_t time_ns)
{
	struct sum *sum = allocate(s, dev, ino);

	if (!sum)
		return;
	sum->generation = generation;
	sum->since_ns = time_ns;
	sum->older = latest(s, dev, ino);
	put(s, sum);
}

/* A file whose open was not reported: it existed before the known ones. */
static struct sum *add_oldest(struct sums *s, struct sum *newest, uint64_t dev,
			      uint64_t ino, uint32_t generation)
{
	struct sum *sum = allocate(s, dev, ino);

	if (!sum)
		return NULL;
	sum->generation = generation;
	if (!newest) {
		put(s, sum);
		return sum;
	}
	while (newest->older)
		newest = newest->older;
	newest->older = sum;
	return sum;
}

void sums_add(struct sums *s, uint64_t dev, uint64_t ino, uint32_t generation,
	      uint64_t bytes_read, uint64_t bytes_written)
{
	struct sum *newest = latest(s, dev, ino);
	struct sum *sum = newest;

	while (sum && sum->generation != generation)
		sum = sum->older;
	if (!sum)
		sum = add_oldest(s, newest, dev, ino, generation);
	if (!sum)
		return;
	sum->bytes_read += bytes_read;
	sum->bytes_written += bytes_written;
}

void sums_alias(struct sums *s, uint64_t dev, uint64_t ino, uint64_t as_dev,
		uint64_t as_ino)
{
	const uint64_t key[2] = { as_dev, as_ino };
	struct sum *sum = latest(s, dev, ino);
	const void *kept;

	if (!sum || latest(s, as_dev, as_ino) == sum)
		return;
	kept = pool_dup(&s->pool, key, KEY_LEN);
	if (!kept || map_set(&s->files, kept, KEY_LEN, sum) < 0)
		s->n_lost++;
}

const struct sum *sums_find(const struct sums *s, uint64_t dev, uint64_t ino,
			    int64_t time_ns)
{
	const struct sum *sum = latest(s, dev, ino);

	while (sum && sum->since_ns > time_ns)
		sum = sum->older;
	return sum;
}
