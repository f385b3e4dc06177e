/* ckpt_manifest_merge.c - one manifest from the parts of all writers */
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "ckpt/ckpt_manifest.h"

/* A tensor that gathers the parts of its writers. */
struct gathering {
	struct ckpt_tensor *tensor;
	size_t n_parts; /* of all writers */
};

static int check_part(const struct ckpt_manifest *first,
		      const struct ckpt_manifest *part,
		      const struct ckpt_manifest **by_rank, size_t n,
		      struct roar_error *err)
{
	uint32_t rank = part->files[0].rank;

	if (strcmp(part->save, first->save) != 0 || part->step != first->step ||
	    part->world_size != first->world_size || part->world_size != n)
		return error_set(err, -EBADMSG,
				 "rank %u wrote for save %s of step %llu with "
				 "%u writers, rank %u for save %s of step %llu "
				 "with %zu",
				 rank, part->save,
				 (unsigned long long)part->step,
				 part->world_size, first->files[0].rank,
				 first->save, (unsigned long long)first->step,
				 n);
	if (part->world_epoch != first->world_epoch)
		return error_set(err, -EBADMSG,
				 "rank %u wrote in world epoch %llu, rank %u "
				 "in %llu",
				 rank, (unsigned long long)part->world_epoch,
				 first->files[0].rank,
				 (unsigned long long)first->world_epoch);
	if (by_rank[rank])
		return error_set(err, -EBADMSG, "rank %u is there twice", rank);
	by_rank[rank] = part;
	return 0;
}

static int agree(const struct ckpt_tensor *a, const struct ckpt_tensor *b,
		 uint32_t rank, struct roar_error *err)
{
	if (a->dtype == b->dtype && a->n_dims == b->n_dims &&
	    memcmp(a->shape, b->shape, a->n_dims * sizeof(*a->shape)) == 0)
		return 0;
	return error_set(err, -EBADMSG,
			 "tensor '%.200s' of rank %u has another type or shape "
			 "than that of a lower rank",
			 b->name, rank);
}

/* Counts the parts of each tensor, so that their memory can be taken at once. */
static int count_parts(struct ckpt_manifest *m, struct map *names,
		       const struct ckpt_manifest *part, uint32_t rank,
		       struct roar_error *err)
{
	for (size_t i = 0; i < part->n_tensors; i++) {
		const struct ckpt_tensor *from = &part->tensors[i];
		size_t len = strlen(from->name);
		struct gathering *g = map_get(names, from->name, len);
		int r = g ? agree(g->tensor, from, rank, err) : 0;

		if (r < 0)
			return r;
		if (!g) {
			g = pool_zalloc(&m->pool, sizeof(*g));
			if (!g || map_set(names, from->name, len, g) < 0)
				return -ENOMEM;
			g->tensor = &m->tensors[m->n_tensors++];
			*g->tensor = *from;
			g->tensor->n_parts = 0;
			g->tensor->parts = NULL;
		}
		g->n_parts += from->n_parts;
	}
	return 0;
}

static int move_parts(struct ckpt_manifest *m, const struct map *names,
		      const struct ckpt_manifest *part, uint32_t rank)
{
	for (size_t i = 0; i < part->n_tensors; i++) {
		const struct ckpt_tensor *from = &part->tensors[i];
		struct gathering *g = map_get(names, from->name,
					      strlen(from->name));
		struct ckpt_tensor *to = g->tensor;

		if (!to->parts)
			to->parts = pool_zalloc(&m->pool,
						(g->n_parts + 1) *
							sizeof(*to->parts));
		if (!to->parts)
			return -ENOMEM;
		for (size_t k = 0; k < from->n_parts; k++) {
			struct ckpt_part *p = &to->parts[to->n_parts++];

			*p = from->parts[k];
			p->file = rank;
		}
	}
	return 0;
}

static int merge_tensors(struct ckpt_manifest *m,
			 const struct ckpt_manifest *const *by_rank, size_t n,
			 struct roar_error *err)
{
	CLEANUP(map_release) struct map names = MAP_INIT;
	size_t most = 0;
	int r = 0;

	for (size_t i = 0; i < n; i++)
		most += by_rank[i]->n_tensors;
	m->tensors = pool_zalloc(&m->pool, (most + 1) * sizeof(*m->tensors));
	if (!m->tensors)
		return -ENOMEM;
	for (size_t i = 0; r == 0 && i < n; i++)
		r = count_parts(m, &names, by_rank[i], (uint32_t)i, err);
	for (size_t i = 0; r == 0 && i < n; i++)
		r = move_parts(m, &names, by_rank[i], (uint32_t)i);
	return r;
}

static int merge_files(struct ckpt_manifest *m,
		       const struct ckpt_manifest *const *by_rank, size_t n)
{
	m->files = pool_zalloc(&m->pool, n * sizeof(*m->files));
	if (!m->files)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		m->files[i] = by_rank[i]->files[0];
	m->n_files = n;
	return 0;
}

static int merge(struct ckpt_manifest *m, const struct ckpt_manifest *parts,
		 size_t n, struct roar_error *err)
{
	const struct ckpt_manifest **by_rank = pool_zalloc(
		&m->pool, n * sizeof(*by_rank));
	int r = by_rank ? 0 : -ENOMEM;

	for (size_t i = 0; r == 0 && i < n; i++)
		r = check_part(&parts[0], &parts[i], by_rank, n, err);
	if (r == 0)
		r = merge_files(m, by_rank, n);
	if (r == 0)
		r = merge_tensors(m, by_rank, n, err);
	if (r < 0)
		return r;
	m->epoch = by_rank[0]->epoch;
	m->created = by_rank[0]->created;
	m->fencing_token = by_rank[0]->fencing_token;
	m->job = by_rank[0]->job;
	m->parent = by_rank[0]->parent;
	m->metrics = by_rank[0]->metrics;
	m->n_metrics = by_rank[0]->n_metrics;
	m->tags = by_rank[0]->tags;
	m->n_tags = by_rank[0]->n_tags;
	m->state = by_rank[0]->state;
	m->data_position = by_rank[0]->data_position;
	m->rng = by_rank[0]->rng;
	return 0;
}

int ckpt_manifest_merge(struct ckpt_manifest *m,
			const struct ckpt_manifest *parts, size_t n,
			struct roar_error *err)
{
	char path[CKPT_NAME_SIZE];
	int r;

	*m = CKPT_MANIFEST_INIT;
	if (n == 0)
		return error_set(err, -EBADMSG, "no writer has stored a part");
	m->step = parts[0].step;
	m->world_size = parts[0].world_size;
	m->world_epoch = parts[0].world_epoch;
	memcpy(m->save, parts[0].save, sizeof(m->save));
	r = merge(m, parts, n, err);
	if (r == 0) {
		ckpt_name_path(
			path, m->step,
			&(struct ckpt_name){ .kind = CKPT_NAME_MANIFEST });
		r = ckpt_manifest_check(m, path, err);
	}
	if (r == 0)
		r = ckpt_manifest_index(m);
	if (r < 0)
		ckpt_manifest_release(m);
	return r;
}
