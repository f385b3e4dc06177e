/* fuzz_note.c - notes that processes of a run left */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "event/note.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

/* A line that we write about a shard says the same. */
static void check_line(const struct note_shard *shard)
{
	CLEANUP(str_release) struct str line = STR_INIT;
	struct note_shard again;
	char *rest;

	note_shard_add(&line, shard);
	assert(str_error(&line) == 0);
	rest = line.data;
	assert(note_shard_next(&rest, &again) && !*rest);
	assert(again.rank == shard->rank && again.epoch == shard->epoch &&
	       again.n_samples == shard->n_samples);
	assert(strcmp(again.dataset, shard->dataset) == 0);
	assert(strcmp(again.path, shard->path) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	CLEANUP(str_release) struct str text = STR_INIT;
	struct note_shard shard;
	char *rest;

	str_add(&text, data, len);
	assert(text.data || !len);
	rest = note_payload(&text, NOTE_SHARDS);
	while (rest && note_shard_next(&rest, &shard))
		check_line(&shard);
	return 0;
}
