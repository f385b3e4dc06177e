/* checkpoints.c - see checkpoints.h */
#include "run/checkpoints.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/map.h"
#include "base/path.h"
#include "base/str.h"
#include "base/vec.h"
#include "ckpt/ckpt_name.h"
#include "event/note.h"
#include "lineage/redact.h"
#include "project/project.h"
#include "run/collections.h"
#include "run/run.h"

struct run_checkpoint {
	int32_t pid;
	struct note_checkpoint note; /* its names are in the run's pool */
	struct note_shard *shards;
	size_t n_shards, cap_shards;
	bool has_tree; /* the directory is an artifact: */
	uint8_t tree[BLAKE3_LEN];
	uint64_t tree_bytes;
};

/* ---- which notes count ---- */

static bool is_url(const char *dir)
{
	return strstr(dir, "://") != NULL;
}

/* A file that the run wrote and that is still there; NULL: there is none. */
static const struct lineage_file *find_output(const struct run *run,
					      const char *dir, const char *name)
{
	CLEANUP(str_release) struct str path = STR_INIT;
	const struct lineage_file *f;

	str_addf(&path, "%s/%s", dir, name);
	f = str_error(&path) < 0 ? NULL : fold_find(run->fold, path.data);
	return f && f->own ? f : NULL;
}

static bool is_credible(const struct run *run, const struct note_checkpoint *c)
{
	uint64_t step;

	if (!ckpt_name_parse_step(path_basename(c->dir), &step) ||
	    step != (uint64_t)c->step || c->world_size < 1 ||
	    c->world_size > CKPT_MAX_WORLD ||
	    (*c->parent && !ckpt_name_parse_step(c->parent, &step)))
		return false;
	return is_url(c->dir) ||
	       (c->dir[0] == '/' && find_output(run, c->dir, CKPT_MANIFEST));
}

/* The directory is an artifact if the run wrote all of it. */
static void take_tree(const struct run *run, struct run_checkpoint *c)
{
	const struct run_collection *dir = collections_written(run,
							       c->note.dir);

	c->has_tree = dir;
	if (!dir)
		return;
	memcpy(c->tree, dir->tree, BLAKE3_LEN);
	c->tree_bytes = dir->size;
}

/* ---- reading ---- */

static int keep_shards(struct run *run, struct run_checkpoint *c, char *rest)
{
	struct note_shard shard;

	while (note_shard_next(&rest, &shard)) {
		struct note_shard *slot = VEC_PUSH(c->shards, c->n_shards,
						   c->cap_shards);

		if (!slot)
			return -ENOMEM;
		*slot = shard;
		slot->dataset = pool_strdup(&run->pool, shard.dataset);
		slot->path = pool_strdup(&run->pool, shard.path);
		if (!slot->dataset || !slot->path)
			return -ENOMEM;
	}
	return 0;
}

static int add_note(void *ctx, struct note *note)
{
	struct run *run = ctx;
	struct note_checkpoint c;
	struct run_checkpoint *slot;
	char *rest = note->payload;

	if (!note_checkpoint_read(&rest, &c) || !is_credible(run, &c))
		return 0;
	slot = VEC_PUSH(run->checkpoints, run->n_checkpoints,
			run->cap_checkpoints);
	if (!slot)
		return -ENOMEM;
	*slot = (struct run_checkpoint){ .pid = note->pid, .note = c };
	slot->note.dir = pool_strdup(&run->pool, c.dir);
	slot->note.parent = pool_strdup(&run->pool, c.parent);
	if (!slot->note.dir || !slot->note.parent)
		return -ENOMEM;
	return keep_shards(run, slot, rest);
}

static int by_commit(const void *a, const void *b)
{
	const struct run_checkpoint *x = a;
	const struct run_checkpoint *y = b;

	if (x->note.committed_ns != y->note.committed_ns)
		return x->note.committed_ns < y->note.committed_ns ? -1 : 1;
	return strcmp(x->note.dir, y->note.dir);
}

/* A step that was saved, removed and saved again is one directory. */
static bool is_last_of_dir(const struct run *run, size_t i)
{
	for (size_t k = i + 1; k < run->n_checkpoints; k++)
		if (strcmp(run->checkpoints[i].note.dir,
			   run->checkpoints[k].note.dir) == 0)
			return false;
	return true;
}

int checkpoints_read(struct run *run)
{
	int r = note_read_all(run->project->dirfd, run_birth_uid(run),
			      NOTE_CHECKPOINTS, add_note, run);

	if (r < 0 || !run->n_checkpoints)
		return r;
	qsort(run->checkpoints, run->n_checkpoints, sizeof(*run->checkpoints),
	      by_commit);
	for (size_t i = 0; i < run->n_checkpoints; i++)
		if (!is_url(run->checkpoints[i].note.dir) &&
		    is_last_of_dir(run, i))
			take_tree(run, &run->checkpoints[i]);
	return 0;
}

void checkpoints_release(struct run *run)
{
	for (size_t i = 0; i < run->n_checkpoints; i++)
		free(run->checkpoints[i].shards);
	free(run->checkpoints);
}

/* ---- recording ---- */

int64_t checkpoints_count_outputs(const struct run *run)
{
	int64_t n = 0;

	for (size_t i = 0; i < run->n_checkpoints; i++)
		n += run->checkpoints[i].has_tree;
	return n;
}

struct recording {
	struct run *run;
	struct store *store;
	struct map counts; /* line of a shard with 0 samples -> int64_t */
	struct roar_error *err;
};

/* Has the count changed since the checkpoint before?  -ENOMEM. */
static int is_news(struct recording *rec, const struct note_shard *shard)
{
	CLEANUP(str_release) struct str line = STR_INIT;
	struct note_shard key = *shard;
	int64_t *count;

	key.n_samples = 0;
	note_shard_add(&line, &key);
	if (str_error(&line) < 0)
		return -ENOMEM;
	count = map_get(&rec->counts, line.data, line.len);
	if (!count) {
		const char *copy = pool_dup(&rec->run->pool, line.data,
					    line.len);

		count = pool_alloc(&rec->run->pool, sizeof(*count));
		if (!copy || !count ||
		    map_set(&rec->counts, copy, line.len, count) < 0)
			return -ENOMEM;
		*count = -1;
	}
	if (*count >= shard->n_samples)
		return 0;
	*count = shard->n_samples;
	return 1;
}

static int add_shard(struct recording *rec, int64_t checkpoint,
		     const struct note_shard *shard)
{
	CLEANUP(str_release) struct str dataset = STR_INIT;
	struct store_shard row = {
		.rank = shard->rank,
		.epoch = shard->epoch,
		.n_samples = shard->n_samples,
		.path = shard->path,
	};
	int r = is_news(rec, shard);

	if (r == 0)
		return 0;
	redact_text(rec->run->redact, shard->dataset, strlen(shard->dataset),
		    &dataset);
	if (r < 0 || str_error(&dataset) < 0)
		return error_set(rec->err, -ENOMEM, "out of memory");
	row.dataset = str_cstr(&dataset);
	return store_checkpoint_shard_add(rec->store, rec->run->job.id,
					  checkpoint, &row, rec->err);
}

static int add_tree(struct recording *rec, const struct run_checkpoint *c)
{
	struct store_file row = {
		.job_id = rec->run->job.id,
		.path = c->note.dir,
		.role = LINEAGE_OUTPUT,
		.ftype = EVENT_FTYPE_DIRECTORY,
		.stamp = { .size = c->tree_bytes },
		.writer = c->pid,
		.bytes_read = -1,
		.bytes_written = -1,
		.origin = "",
		.digests = { .have = DIGEST_SET_BLAKE3 },
	};

	memcpy(row.digests.blake3, c->tree, BLAKE3_LEN);
	return store_file_add(rec->store, &row, rec->err);
}

static int add_checkpoint(struct recording *rec, int64_t n,
			  const struct run_checkpoint *c)
{
	struct store_checkpoint row = {
		.n = n,
		.pid = c->pid,
		.step = c->note.step,
		.world_size = c->note.world_size,
		.committed_ns = c->note.committed_ns,
		.n_shards = c->note.n_shards,
		.n_samples = c->note.n_samples,
		.parent = c->note.parent,
		.path = c->note.dir,
	};
	int r;

	memcpy(row.manifest, c->note.manifest, BLAKE3_LEN);
	r = store_checkpoint_add(rec->store, rec->run->job.id, &row, rec->err);
	for (size_t i = 0; r == 0 && i < c->n_shards; i++)
		r = add_shard(rec, n, &c->shards[i]);
	return r == 0 && c->has_tree ? add_tree(rec, c) : r;
}

int checkpoints_record(struct run *run, struct store *store,
		       struct roar_error *err)
{
	struct recording rec = { .run = run, .store = store, .err = err };
	int r = 0;

	for (size_t i = 0; r == 0 && i < run->n_checkpoints; i++)
		r = add_checkpoint(&rec, (int64_t)i + 1, &run->checkpoints[i]);
	map_release(&rec.counts);
	return r;
}
