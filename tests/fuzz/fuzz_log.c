/* fuzz_log.c - a process of the run writes what it likes into the shared log.
 *
 * The input is laid over a small ring: first the head, then the cells.  Commit
 * words cannot be guessed, so a cell whose first byte is odd gets a true one.  The
 * reader must come to an end, stay inside of the ring and return only what its
 * header promises. */
#include <assert.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "trace/preload/log_read.h"

enum { CELLS = 256, KEY = 99 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void lay_out(struct log_header *h, const uint8_t *data, size_t len)
{
	char *ring = (char *)h + LOG_RING_AT;
	size_t room = (size_t)CELLS * LOG_CELL;

	if (len > room)
		len = room;
	memcpy(ring, data, len);
	for (uint64_t i = 0; i < CELLS; i++) {
		struct log_record *r = (void *)(ring + i * LOG_CELL);

		if (ring[i * LOG_CELL] & 1)
			atomic_store(&r->commit, log_commit(h, i));
	}
}

static void check(const struct log_view *v)
{
	assert(v->kind > LOG_PAD && v->kind < LOG_KIND_END);
	assert(v->call < LOG_CALL_END);
	assert(v->path_len <= LOG_PATH_MAX && v->path2_len <= LOG_PATH_MAX);
	assert(strlen(v->path) == v->path_len);
	assert(v->path2[v->path2_len] == '\0');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static struct log_view view;
	struct log_reader reader;
	struct log_header *h;
	uint64_t head;
	int r;

	if (len < sizeof(head))
		return 0;
	/* To its exact size: a step beyond is found by the sanitizer. */
	h = malloc(LOG_RING_AT + (size_t)CELLS * LOG_CELL);
	assert(h);
	memset(h, 0, LOG_RING_AT + (size_t)CELLS * LOG_CELL);
	h->key = KEY;
	memcpy(&head, data, sizeof(head));
	/* Mostly possible ones: others end at once. */
	if (head >> 63 == 0)
		head %= CELLS + 2;
	lay_out(h, data + sizeof(head), len - sizeof(head));
	log_reader_init(&reader, h, CELLS, KEY);
	atomic_store(&h->head, head);
	for (int steps = 0; steps < 4 * CELLS; steps++) {
		r = log_read(&reader, &view);
		if (r == 1)
			check(&view);
		else if (r == 0 && log_is_stuck(&reader))
			log_skip(&reader);
		else if (r == 0 || r == -EPROTO)
			break;
	}
	assert(r == -EPROTO || log_is_empty(&reader));
	free(h);
	return 0;
}
