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

/* And so does one about a digest. */
static void check_digest(const struct note_digest *d)
{
	CLEANUP(str_release) struct str line = STR_INIT;
	struct note_digest again;
	char *rest;

	note_digest_add(&line, d);
	assert(str_error(&line) == 0);
	rest = line.data;
	assert(note_digest_next(&rest, &again) && !*rest);
	assert(stamp_equal(&again.stamp, &d->stamp) &&
	       again.tick_ns == d->tick_ns);
	assert(memcmp(again.blake3, d->blake3, sizeof(d->blake3)) == 0);
	assert(strcmp(again.path, d->path) == 0);
}

static void check_checkpoint(const struct note_checkpoint *c)
{
	CLEANUP(str_release) struct str line = STR_INIT;
	struct note_checkpoint again;
	char *rest;

	note_checkpoint_add(&line, c);
	assert(str_error(&line) == 0);
	rest = line.data;
	assert(note_checkpoint_read(&rest, &again) && !*rest);
	assert(again.step == c->step && again.world_size == c->world_size &&
	       again.committed_ns == c->committed_ns &&
	       again.n_shards == c->n_shards &&
	       again.n_samples == c->n_samples);
	assert(strcmp(again.dir, c->dir) == 0);
	assert(strcmp(again.parent, c->parent) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	CLEANUP(str_release) struct str text = STR_INIT;
	struct note_checkpoint checkpoint;
	struct note_digest digest;
	struct note_shard shard;
	char *rest;

	str_add(&text, data, len);
	assert(text.data || !len);
	rest = note_payload(&text, NOTE_SHARDS);
	while (rest && note_shard_next(&rest, &shard))
		check_line(&shard);
	rest = note_payload(&text, NOTE_DIGESTS);
	while (rest && note_digest_next(&rest, &digest))
		check_digest(&digest);
	rest = note_payload(&text, NOTE_CHECKPOINTS);
	if (rest && note_checkpoint_read(&rest, &checkpoint)) {
		check_checkpoint(&checkpoint);
		while (note_shard_next(&rest, &shard))
			check_line(&shard);
	}
	return 0;
}
