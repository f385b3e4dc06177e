/* checkpoint_copy.c - `roar checkpoint cp` and `reshard`
 *
 * A copy is a save whose tensors are read from the checkpoint, block by block, while the
 * writer asks for them.  So it has the writer's durability and the reader's verification,
 * and needs little memory.  The ranks of the copy are written one after the other. */
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <roar/checkpoint.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/number.h"
#include "base/str.h"
#include "base/vec.h"
#include "checkpoint/checkpoint_place.h"
#include "checkpoint/checkpoint_verbs.h"
#include "ckpt/ckpt_save.h"
#include "cli/cli.h"
#include "hash/jobs/hasher.h"
#include "ui/view.h"

enum { LOOK_NS = 100000000 };

struct leaf_id {
	uint32_t file;
	uint64_t offset;
};

struct copy {
	struct checkpoint_place place;
	struct ckpt_reader *reader;
	const char *destination;
	uint32_t world; /* of the copy */
	bool is_reshard;
	uint64_t total_bytes;
	struct leaf_id *damaged; /* each once */
	size_t n_damaged, cap_damaged;
	pthread_mutex_t lock; /* of the three below: writer threads fill */
	uint64_t done_bytes;
	int64_t looked_ns;
	struct roar_error err; /* of the first fill that failed */
};

/* Where the bytes of a part of the copy are. */
struct source {
	struct copy *copy;
	const struct ckpt_tensor *tensor;
	const struct ckpt_part *part; /* of a plain copy */
	uint64_t first; /* of a reshard: its first element in the tensor */
	uint64_t offset[CKPT_MAX_DIMS], shape[CKPT_MAX_DIMS];
};

static void copy_release(struct copy *c)
{
	ckpt_reader_close(c->reader);
	checkpoint_place_release(&c->place);
	free(c->damaged);
	(void)pthread_mutex_destroy(&c->lock);
}

/* Two tensors may need the same leaf, which is then read twice. */
static void count_damage(void *ctx, const struct ckpt_damage *d)
{
	struct copy *c = ctx;
	struct leaf_id *id;

	for (size_t i = 0; i < c->n_damaged; i++)
		if (c->damaged[i].file == d->file &&
		    c->damaged[i].offset == d->offset)
			return;
	id = VEC_PUSH(c->damaged, c->n_damaged, c->cap_damaged);
	if (id)
		*id = (struct leaf_id){ d->file, d->offset };
}

/* ---- a range of elements as boxes ---- */

enum { MAX_BOXES = 2 * CKPT_MAX_DIMS + 1 };

struct boxes {
	const struct ckpt_tensor *tensor;
	size_t element_bytes;
	char *to; /* of the next box */
	uint64_t index[CKPT_MAX_DIMS]; /* of the dimensions that are fixed */
	uint64_t offset[MAX_BOXES][CKPT_MAX_DIMS];
	uint64_t shape[MAX_BOXES][CKPT_MAX_DIMS];
	struct ckpt_want wants[MAX_BOXES];
	size_t n;
};

/* `n` indexes of dimension `d` from `first` on; dimensions before it are fixed, those
 * after it whole. */
static void add_box(struct boxes *b, unsigned d, uint64_t first, uint64_t n)
{
	const struct ckpt_tensor *t = b->tensor;
	uint64_t *offset = b->offset[b->n], *shape = b->shape[b->n];
	size_t bytes = b->element_bytes;

	for (unsigned k = 0; k < t->n_dims; k++) {
		offset[k] = k < d ? b->index[k] : k == d ? first : 0;
		shape[k] = k < d ? 1 : k == d ? n : t->shape[k];
		bytes *= shape[k];
	}
	b->wants[b->n++] = (struct ckpt_want){ .tensor = t->name,
					       .offset = offset,
					       .shape = shape,
					       .n_dims = t->n_dims,
					       .to = b->to,
					       .to_bytes = bytes };
	b->to += bytes;
}

/* Splits `n` elements from `first` on, of the dimensions from `d` on: the rest of a row,
 * whole rows, the begin of a row. */
static void add_range(struct boxes *b, unsigned d, uint64_t first, uint64_t n)
{
	const struct ckpt_tensor *t = b->tensor;
	uint64_t inner = 1, head;

	if (d >= t->n_dims) {
		add_box(b, d, 0, 1); /* a scalar */
		return;
	}
	for (unsigned k = d + 1; k < t->n_dims; k++)
		inner *= t->shape[k];
	b->index[d] = first / inner;
	head = first % inner ? inner - first % inner : 0;
	if (head > n)
		head = n;
	if (head) {
		add_range(b, d + 1, first % inner, head);
		b->index[d]++;
	}
	n -= head;
	if (n >= inner) {
		add_box(b, d, b->index[d], n / inner);
		b->index[d] += n / inner;
	}
	if (n % inner)
		add_range(b, d + 1, 0, n % inner);
}

/* ---- the writer asks ---- */

static void show_progress(struct copy *c, size_t len)
{
	int64_t now = clock_mono_ns();

	(void)pthread_mutex_lock(&c->lock);
	c->done_bytes += len;
	if (now - c->looked_ns >= LOOK_NS) {
		c->looked_ns = now;
		progress_show(&c->place.progress,
			      &(struct hasher_progress){
				      .bytes_done = c->done_bytes,
				      .bytes_submitted = c->total_bytes,
				      .bytes_read = c->done_bytes });
	}
	(void)pthread_mutex_unlock(&c->lock);
}

static int fill_reshard(const struct source *s, uint64_t offset, void *to,
			size_t len, struct roar_error *err)
{
	size_t element = ckpt_dtype_bytes(s->tensor->dtype);
	CLEANUP(freep) struct boxes *b = calloc(1, sizeof(*b));

	if (!b)
		return -ENOMEM;
	if (offset % element || len % element)
		return -EINVAL; /* the layout aligns tensors to elements */
	b->tensor = s->tensor;
	b->element_bytes = element;
	b->to = to;
	add_range(b, 0, s->first + offset / element, len / element);
	return ckpt_reader_fetch(s->copy->reader, b->wants, b->n, err);
}

static int fill(void *ctx, uint64_t offset, void *to, size_t len)
{
	struct source *s = ctx;
	struct copy *c = s->copy;
	struct roar_error err = { 0 };
	int r = s->part ?
			ckpt_reader_read(c->reader, s->part->file,
					 s->part->at + offset, to, len, &err) :
			fill_reshard(s, offset, to, len, &err);

	if (r == 0) {
		show_progress(c, len);
		return 0;
	}
	(void)pthread_mutex_lock(&c->lock);
	if (!c->err.text[0])
		c->err = err;
	(void)pthread_mutex_unlock(&c->lock);
	return r;
}

/* ---- the tensors of a rank ---- */

struct rank {
	struct roar_checkpoint_tensor *tensors;
	size_t n, cap;
	struct source **sources;
	size_t n_sources, cap_sources;
};

static void rank_release(struct rank *k)
{
	for (size_t i = 0; i < k->n_sources; i++)
		free(k->sources[i]);
	free(k->sources);
	free(k->tensors);
}

static bool is_whole(const struct ckpt_tensor *t, const uint64_t *shape)
{
	return !memcmp(shape, t->shape, t->n_dims * sizeof(*shape));
}

static int add_tensor(struct rank *k, struct copy *c,
		      const struct ckpt_tensor *t, const struct ckpt_part *part,
		      uint64_t first_row, uint64_t n_rows)
{
	struct source **place = VEC_PUSH(k->sources, k->n_sources,
					 k->cap_sources);
	struct source *s = place ? calloc(1, sizeof(*s)) : NULL;
	struct roar_checkpoint_tensor *tensor = s ? VEC_PUSH(k->tensors, k->n,
							     k->cap) :
						    NULL;
	size_t len = t->n_dims * sizeof(*t->shape);

	if (place)
		*place = s;
	if (!tensor)
		return -ENOMEM;
	*s = (struct source){ .copy = c, .tensor = t, .part = part };
	memcpy(s->shape, part ? part->shape : t->shape, len);
	if (part)
		memcpy(s->offset, part->offset, len);
	if (!part && t->n_dims) {
		s->offset[0] = first_row;
		s->shape[0] = n_rows;
		s->first = first_row;
		for (unsigned d = 1; d < t->n_dims; d++)
			s->first *= t->shape[d];
	}
	*tensor = (struct roar_checkpoint_tensor){
		.name = t->name,
		.dtype = ckpt_dtype_name(t->dtype),
		.n_dims = t->n_dims,
		.shape = t->shape,
		.part_offset = is_whole(t, s->shape) ? NULL : s->offset,
		.part_shape = is_whole(t, s->shape) ? NULL : s->shape,
		.fill = fill,
		.ctx = s,
	};
	return 0;
}

/* What this rank of the source has.  An empty tensor may have no part: rank 0 keeps it. */
static int choose_parts(struct rank *k, struct copy *c, uint32_t rank)
{
	const struct ckpt_manifest *m = ckpt_reader_manifest(c->reader);
	int r = 0;

	for (size_t i = 0; r == 0 && i < m->n_tensors; i++) {
		const struct ckpt_tensor *t = &m->tensors[i];

		for (size_t p = 0; r == 0 && p < t->n_parts; p++)
			if (t->parts[p].file == rank)
				r = add_tensor(k, c, t, &t->parts[p], 0, 0);
		if (!t->n_parts && rank == 0)
			r = add_tensor(k, c, t, NULL, 0,
				       t->n_dims ? t->shape[0] : 1);
	}
	return r;
}

/* Rows of the first dimension.  Scalars and empty tensors go to one rank each. */
static int choose_rows(struct rank *k, struct copy *c, uint32_t rank)
{
	const struct ckpt_manifest *m = ckpt_reader_manifest(c->reader);
	int r = 0;

	for (size_t i = 0; r == 0 && i < m->n_tensors; i++) {
		const struct ckpt_tensor *t = &m->tensors[i];
		uint64_t n = t->n_dims ? t->shape[0] : 0, bytes = 0;
		uint64_t share = n / c->world, rest = n % c->world;
		uint64_t first = rank * share + (rank < rest ? rank : rest);
		uint64_t rows = share + (rank < rest);

		(void)ckpt_dtype_size(t->dtype, t->shape, t->n_dims, &bytes);
		if (!n || !bytes) {
			if (i % c->world == rank)
				r = add_tensor(k, c, t, NULL, 0, n);
		} else if (rows) {
			r = add_tensor(k, c, t, NULL, first, rows);
		}
	}
	return r;
}

/* ---- the save ---- */

static int write_rank(struct copy *c, const char *save_id, uint32_t rank,
		      struct ckpt_pending **ret, struct roar_error *err)
{
	const struct ckpt_manifest *m = ckpt_reader_manifest(c->reader);
	CLEANUP(rank_release) struct rank k = { 0 };
	struct ckpt_progress progress = { 0 };
	struct roar_checkpoint_save save = {
		.url = c->destination,
		.step = m->step,
		.epoch = m->epoch,
		.state = m->state,
		.data_position = m->data_position,
		.rng = m->rng,
		.metrics = (const struct roar_checkpoint_metric *)m->metrics,
		.n_metrics = m->n_metrics,
		.tags = m->tags,
		.n_tags = m->n_tags,
		.job = m->job,
		.world_epoch = m->world_epoch,
		.fencing_token = m->fencing_token,
		.rank = rank,
		.world_size = c->world,
		.save_id = save_id,
	};
	int r = c->is_reshard ? choose_rows(&k, c, rank) :
				choose_parts(&k, c, rank);

	if (r < 0)
		return error_set(err, r, "out of memory");
	save.tensors = k.tensors;
	save.n_tensors = k.n;
	r = ckpt_save_write(&save, &progress, ret, err);
	if (r < 0 && c->err.text[0]) /* the cause, not that a fill failed */
		*err = c->err;
	return r;
}

static int copy_all(struct copy *c, struct roar_error *err)
{
	CLEANUP(freep)
	struct ckpt_pending **parts = calloc(c->world,
					     sizeof(struct ckpt_pending *));
	char save_id[CKPT_SAVE_ID_LEN + 1];
	uint32_t n = 0;
	int r = parts ? ckpt_name_new_save_id(save_id) : -ENOMEM;

	if (r < 0)
		return r;
	for (; r == 0 && n < c->world; n += r == 0)
		r = write_rank(c, save_id, n, &parts[n], err);
	if (r == 0)
		r = ckpt_save_commit(parts[0], NULL, NULL, err);
	for (uint32_t i = n; i-- > 0;) {
		if (r < 0)
			ckpt_save_abort(parts[i]);
		ckpt_save_free(parts[i]);
	}
	return r;
}

/* ---- output ---- */

static int print_result(const struct copy *c, bool is_json, int64_t took_ns)
{
	CLEANUP(str_release) struct str out = STR_INIT;
	struct json j = json_writer(&out, true);
	char name[CKPT_NAME_SIZE];

	ckpt_name_step(name, c->place.step);
	if (is_json) {
		json_put_object(&j);
		view_json_text(&j, "name", name);
		view_json_text(&j, "base", c->destination);
		view_json_int(&j, "world_size", c->world);
		view_json_int(&j, "bytes", (int64_t)c->total_bytes);
		view_json_int(&j, "repaired", (int64_t)c->n_damaged);
		view_json_seconds(&j, "seconds", took_ns);
		json_end(&j);
		str_addc(&out, '\n');
		return cli_print(&out);
	}
	str_addf(&out, "%s: ", name);
	format_size(&out, c->total_bytes);
	str_adds(&out, " for ");
	format_count(&out, c->world, "rank");
	str_adds(&out, " in ");
	clock_format_duration(&out, took_ns);
	if (c->n_damaged) {
		str_adds(&out, "; ");
		format_count(&out, c->n_damaged, "damaged place");
		str_adds(&out, " repaired");
	}
	str_addc(&out, '\n');
	return cli_print(&out);
}

static int run_copy(struct copy *c, const struct args *args, const char *from)
{
	int64_t start_ns = clock_mono_ns();
	const struct ckpt_manifest *m;
	struct roar_error err = { 0 };
	int status, r;

	status = checkpoint_place_is_base(args, c->destination);
	if (!status)
		status = checkpoint_place_find(&c->place, args, from);
	c->place.damage = count_damage;
	c->place.ctx = c;
	if (!status)
		status = checkpoint_place_open(&c->place, "copying",
					       &c->reader);
	if (status)
		return status;
	m = ckpt_reader_manifest(c->reader);
	for (size_t i = 0; i < m->n_files; i++)
		c->total_bytes += m->files[i].size_bytes;
	if (!c->is_reshard)
		c->world = m->world_size;
	r = ckpt_reader_prepare(c->reader, &err);
	if (r == 0)
		r = copy_all(c, &err);
	progress_end(&c->place.progress);
	if (r < 0)
		return checkpoint_fail(r, &err);
	return print_result(c, args_has(args, "json"),
			    clock_mono_ns() - start_ns);
}

int checkpoint_cp(const struct args *args)
{
	CLEANUP(copy_release)
	struct copy c = { .destination = args->operands[2],
			  .lock = PTHREAD_MUTEX_INITIALIZER };

	return run_copy(&c, args, args->operands[1]);
}

int checkpoint_reshard(const struct args *args)
{
	CLEANUP(copy_release)
	struct copy c = { .destination = args->operands[3],
			  .is_reshard = true,
			  .lock = PTHREAD_MUTEX_INITIALIZER };
	int64_t n = 0;

	if (number_parse(args->operands[1], 1, CKPT_MAX_WORLD, &n) < 0)
		return cli_usage(args->command,
				 "'%.100s' is not a number of ranks from 1 to "
				 "%d",
				 args->operands[1], CKPT_MAX_WORLD);
	c.world = (uint32_t)n;
	return run_copy(&c, args, args->operands[2]);
}
