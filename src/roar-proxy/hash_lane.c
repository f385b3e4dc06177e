/* hash_lane.c - a ring of pieces, see hash_lane.h */
#include "hash_lane.h"

#include <stdlib.h>

int hash_lane_init(struct hash_lane *l, struct loop *loop)
{
	*l = (struct hash_lane){ 0 };
	return side_thread_new(loop, HASH_LANE_PIECES, &l->side);
}

void hash_lane_release(struct hash_lane *l)
{
	side_thread_free(l->side);
	for (size_t i = 0; i < HASH_LANE_PIECES; i++)
		free(l->pieces[i].buffer);
	*l = (struct hash_lane){ 0 };
}

static void hash(struct side_job *j)
{
	struct hash_piece *p = (struct hash_piece *)j;

	multihash_update(p->hash, p->data, p->len);
}

char *hash_lane_buffer(struct hash_lane *l)
{
	struct hash_piece *p = &l->pieces[l->next];

	if (p->is_used && !side_job_is_run(&p->job))
		return NULL;
	if (!p->buffer)
		p->buffer = malloc(HTTP_READ_LEN);
	return p->buffer;
}

void hash_lane_add(struct hash_lane *l, struct multihash *m, char *buffer,
		   const char *data, size_t len)
{
	struct hash_piece *p = &l->pieces[l->next];

	*p = (struct hash_piece){ .job = { .run = hash },
				  .hash = m,
				  .buffer = buffer,
				  .data = data,
				  .len = len };
	p->is_used = side_thread_add(l->side, &p->job);
	if (p->is_used)
		l->next = (l->next + 1) % HASH_LANE_PIECES;
	else
		hash(&p->job); /* there is no thread, so nothing is before it */
}

void hash_lane_finish(struct hash_lane *l)
{
	side_thread_finish(l->side);
}
