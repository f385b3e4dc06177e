/* engine_large.c - how the engine reads large files; see large_file.h */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

#include "hash/jobs/engine_internal.h"
#include "hash/jobs/large_file.h"

struct reading {
	struct engine_worker *worker;
	unsigned n_threads;
	size_t memory;
};

static unsigned n_threads(const struct large_file *l)
{
	const struct reading *r = l->ctx;

	return r->n_threads;
}

static bool is_wanted(const struct large_file *l)
{
	const struct reading *r = l->ctx;

	return engine_goes_on(r->worker->engine);
}

static void plan(const struct large_file *l, struct file_reader_options *o)
{
	const struct reading *r = l->ctx;

	o->memory = r->memory;
	o->may_map = r->worker->engine->options->may_map && !o->in_order;
	o->buffer = r->worker->leaf;
	o->buffer_len = FILE_READER_LEAF;
}

int large_hash(struct engine_worker *w, struct engine_file *file,
	       unsigned threads, size_t memory)
{
	static const struct large_file_owner owner = {
		.n_threads = n_threads,
		.is_wanted = is_wanted,
		.plan = plan,
	};
	struct stamp looked_at = file->hash.stamp;
	struct reading reading = { w, threads, memory };
	_Atomic uint64_t offset = 0;
	struct large_file l = { .owner = &owner,
				.ctx = &reading,
				.pass = file_pass_local(),
				.want = w->engine->options->want,
				.offset = &offset,
				.n_bytes = &w->engine->bytes_read };
	int r;

	if (!l.pass)
		return -ENOMEM;
	if (!w->leaf)
		w->leaf = aligned_alloc(FILE_READER_LEAF, FILE_READER_LEAF);
	l.pass->dirfd = AT_FDCWD;
	l.pass->path = file->path;
	l.pass->stamp = looked_at;
	l.pass->taken_ns = file->hash.taken_ns;
	r = large_file_hash(&l, &file->hash);
	return r < 0 ? r : engine_check_file(file, &looked_at);
}
