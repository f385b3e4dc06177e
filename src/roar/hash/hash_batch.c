/* hash_batch.c - see hash_batch.h
 *
 * Answers are large and names are many, so only a window of the names is worked on at
 * a time.  It is large enough that the moment in which threads wait for the last file
 * of a window does not show. */
#include "hash/hash_batch.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cli/progress.h"
#include "hash/hash_stream.h"
#include "hash/jobs/engine.h"

enum {
	WINDOW = 8192, /* files */
	PRINTED = 512, /* of them at a time: memory that is used again is not new */
	LOOK_MS = 5, /* so that little is left to print when all are hashed */
	BAR_MS = 100, /* the same where a bar would flicker */
};

struct window {
	const struct hash_batch *batch;
	struct progress progress;
	struct hash_name *names; /* of this window */
	struct engine_file *files; /* one for each */
	struct dir_listings listings;
	size_t n;
	size_t next; /* to be handed out */
	uint64_t n_before; /* files of earlier windows */
	uint64_t bytes_before;
	uint64_t bytes_now;
	int status; /* what flush() returned */
};

/* ---- handing out ---- */

static void hand_out_one(struct window *w)
{
	struct engine_file *file = &w->files[w->next];
	struct hash_name *name = &w->names[w->next++];
	struct hash_result result = {
		.digests = &file->hash.digests,
		.size_bytes = file->hash.stamp.size,
		.denied = file->denied,
	};

	name->error = file->result;
	w->batch->done(w->batch->ctx, name, &result);
}

static void flush(struct window *w)
{
	if (w->status)
		return;
	progress_end(&w->progress);
	w->status = w->batch->flush(w->batch->ctx);
}

static void hand_out(struct window *w)
{
	size_t flushed = w->next;

	while (w->next < w->n && atomic_load(&w->files[w->next].done)) {
		hand_out_one(w);
		if (w->next - flushed < PRINTED)
			continue;
		flush(w);
		flushed = w->next;
	}
	if (w->next != flushed)
		flush(w);
}

static bool look_around(void *ctx, const struct engine_progress *p)
{
	struct window *w = ctx;
	uint64_t n_bytes = w->bytes_before + p->bytes_read;
	struct hasher_progress sum = {
		.n_done = w->n_before + p->n_done,
		.bytes_done = n_bytes,
		.bytes_read = n_bytes,
	};

	w->bytes_now = p->bytes_read;
	hand_out(w);
	progress_show(&w->progress, &sum);
	return w->status != 0;
}

/* ---- one window ---- */

/* What the engine does not read is done before it starts: names that are known to
 * fail, and standard input. */
static void prepare(struct window *w, size_t i)
{
	struct engine_file *file = &w->files[i];
	const struct hash_name *name = &w->names[i];

	*file = (struct engine_file){ .result = name->error };
	if (name->error < 0)
		return;
	if (hash_name_is_stdin(name))
		file->result = hash_stream(STDIN_FILENO, w->batch->want,
					   &file->hash.digests,
					   &file->hash.stamp.size);
	else
		file->path = name->path;
}

static int run_window(struct window *w)
{
	struct engine_options options = {
		.may_map = true,
		.want = w->batch->want,
		.n_threads = w->batch->n_threads,
		.cache = w->batch->cache,
		.audit = w->batch->audit,
		.own_tables = true,
		.listings = &w->listings,
		.look = look_around,
		.look_ms = w->progress.enabled ? BAR_MS : LOOK_MS,
		.ctx = w,
	};
	int r;

	w->next = 0;
	for (size_t i = 0; i < w->n; i++)
		prepare(w, i);
	r = engine_run(w->files, w->n, &options);
	if (r < 0)
		return r;
	hand_out(w);
	w->n_before += w->n;
	w->bytes_before += w->bytes_now;
	return 0;
}

/* ---- the batch ---- */

/* The bar has to know the sizes beforehand. */
static void plan(struct progress *progress, struct hash_names *names)
{
	for (size_t i = 0; i < names->n; i++) {
		struct hash_name *name = &names->all[i];
		struct stat st;

		if (name->error < 0 || hash_name_is_stdin(name))
			continue;
		if (stat(name->path, &st) == 0 && S_ISREG(st.st_mode))
			name->size_bytes = (uint64_t)st.st_size;
		progress_plan(progress, name->size_bytes);
	}
}

int hash_batch_run(const struct hash_batch *batch, struct hash_names *names)
{
	CLEANUP(freep) struct engine_file *files = NULL;
	size_t size = names->n < WINDOW ? names->n : WINDOW;
	struct window w = { .batch = batch };
	int r = 0;

	files = calloc(size + 1, sizeof(*files));
	if (!files)
		return -ENOMEM;
	w.files = files;
	dir_listings_init(&w.listings, names->n);
	w.progress = progress_start(batch->progress, NULL);
	if (w.progress.enabled)
		plan(&w.progress, names);
	for (size_t at = 0; at < names->n && !w.status && r == 0; at += w.n) {
		w.names = names->all + at;
		w.n = names->n - at < size ? names->n - at : size;
		r = run_window(&w);
	}
	progress_end(&w.progress);
	dir_listings_release(&w.listings);
	return r < 0 ? r : w.status;
}
