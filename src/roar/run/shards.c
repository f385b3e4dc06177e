/* shards.c - see shards.h */
#include "run/shards.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "event/note.h"
#include "lineage/redact.h"
#include "project/project.h"
#include "run/run.h"
#include "store/store.h"

struct recording {
	const struct run *run;
	struct store *store;
	struct roar_error *err;
};

static int add_row(const struct recording *rec, int32_t pid,
		   const struct note_shard *shard)
{
	CLEANUP(str_release) struct str dataset = STR_INIT;
	struct store_shard row = {
		.pid = pid,
		.rank = shard->rank,
		.epoch = shard->epoch,
		.n_samples = shard->n_samples,
		.path = shard->path,
	};

	redact_text(rec->run->redact, shard->dataset, strlen(shard->dataset),
		    &dataset);
	if (str_error(&dataset) < 0)
		return error_set(rec->err, -ENOMEM, "out of memory");
	row.dataset = str_cstr(&dataset);
	return store_shard_add(rec->store, rec->run->job.id, &row, rec->err);
}

static int add_note(void *ctx, struct note *note)
{
	struct note_shard shard;
	char *rest = note->payload;
	int r = 0;

	while (r == 0 && note_shard_next(&rest, &shard))
		r = add_row(ctx, note->pid, &shard);
	return r;
}

int shards_record(struct run *run, struct store *store, struct roar_error *err)
{
	struct recording rec = { run, store, err };

	return note_read_all(run->project->dirfd, run_birth_uid(run),
			     NOTE_SHARDS, add_note, &rec);
}
