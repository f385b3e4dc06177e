/* key.c - a state as a number.
 *
 * A step changes a word or two, so the hash of the memory is kept as a sum over its lines and
 * mended where a line differs from what it was when last looked at. */
#include "hash_mix.h"
#include "world.h"

#include <assert.h>
#include <string.h>

enum { LINE = 64, CHUNK = 1024, MAX_BYTES = 64 << 10 };

static char last[MAX_BYTES];
static uint64_t line_hashes[MAX_BYTES / LINE];
static uint64_t sum;

static uint64_t hash_line(const char *line, size_t i)
{
	uint64_t hash = i + 1;

	for (size_t at = 0; at < LINE; at += sizeof(uint64_t)) {
		uint64_t word;

		memcpy(&word, line + at, sizeof(word));
		hash = hash_mix(hash + at, word);
	}
	return hash;
}

static void mend_line(const char *line, size_t i)
{
	uint64_t hash;

	if (!memcmp(line, last + i * LINE, LINE))
		return;
	hash = hash_line(line, i);
	sum += hash - line_hashes[i];
	line_hashes[i] = hash;
	memcpy(last + i * LINE, line, LINE);
}

/* Cases share this; what another one has left differs, and is mended. */
static uint64_t hash_memory(const char *memory, size_t size)
{
	assert(size % LINE == 0 && size <= MAX_BYTES);
	for (size_t at = 0; at < size; at += CHUNK) {
		size_t n = size - at < CHUNK ? size - at : CHUNK;

		if (!memcmp(memory + at, last + at, n))
			continue;
		for (size_t i = at / LINE; i < (at + n) / LINE; i++)
			mend_line(memory + i * LINE, i);
	}
	return sum;
}

/* Who ran last matters only to the price of what follows. */
uint64_t world_key(const struct world *w)
{
	bool bounded = w->preemptions != EXPLORE_UNBOUNDED;
	uint64_t key = hash_memory(w->c->memory, w->c->size);
	unsigned late = w->n_timeouts < w->c->timeouts ? w->n_timeouts :
							 w->c->timeouts;

	key = hash_mix(key, w->n_deaths << 8 | late);
	key = hash_mix(key, bounded ? (uint64_t)(w->current + 1) : 0);
	for (unsigned i = 0; i < w->n_tasks; i++) {
		const struct task *t = &w->tasks[i];
		uint64_t sleep = t->state == TASK_ASLEEP ? t->deaths : 0;

		key = hash_mix(key, t->history);
		key = hash_mix(key, t->state | sleep << 8 |
					    (uint64_t)t->timed_out << 16);
	}
	return key;
}
