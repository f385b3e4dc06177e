/* piece.c - see piece.h
 *
 * Pieces may come to several threads, in any order: each has its place in the memory of
 * the message, and the one that fills the last gap has it.  A message that its producer
 * gave up is dropped when a later one of the same producer says so; where that went to
 * another consumer, it is dropped when there are too many of them. */
#include "arena/piece.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "arena/arena.h"

/* More than any consumer has threads that each hold a piece of another one. */
enum { PARTIALS_MAX = 256, EVERY = 0 };

static void partial_free(struct partial *p)
{
	free(p->memory);
	free(p);
}

static void forget(struct roar_arena *a, uint32_t producer, uint64_t message)
{
	for (struct partial **at = &a->partials; *at;) {
		struct partial *p = *at;

		if ((producer == ROAR_ARENA_ANY || p->producer == producer) &&
		    (message == EVERY || p->message == message)) {
			*at = p->next;
			partial_free(p);
		} else {
			at = &p->next;
		}
	}
}

void piece_release(struct roar_arena *a)
{
	forget(a, ROAR_ARENA_ANY, EVERY);
}

void piece_forget(struct roar_arena *a, uint32_t producer)
{
	(void)pthread_mutex_lock(&a->piece_lock);
	forget(a, producer, EVERY);
	(void)pthread_mutex_unlock(&a->piece_lock);
}

/* The newest is the first in the list: cuts it off after so many. */
static void forget_oldest(struct roar_arena *a)
{
	struct partial **at = &a->partials;

	for (int i = 0; *at && i < PARTIALS_MAX - 1; i++)
		at = &(*at)->next;
	while (*at) {
		struct partial *p = *at;

		*at = p->next;
		partial_free(p);
	}
}

static struct partial *begin(struct roar_arena *a, uint32_t producer,
			     uint64_t message, const struct arena_piece *head)
{
	struct partial *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->memory = head->total_bytes > SIZE_MAX / 2 ?
			    NULL :
			    aligned_alloc(ROAR_ARENA_ALIGN, head->total_bytes);
	if (!p->memory) {
		free(p);
		return NULL;
	}
	p->message = message;
	p->producer = producer;
	p->head = *head;
	p->next = a->partials;
	a->partials = p;
	return p;
}

static struct partial *find(struct roar_arena *a, uint32_t producer,
			    uint64_t message, const struct arena_piece *head)
{
	struct partial *p = a->partials;

	while (p && (p->message != message || p->producer != producer))
		p = p->next;
	if (p)
		return p;
	if (head->given_up)
		forget(a, producer, head->given_up);
	forget_oldest(a);
	return begin(a, producer, message, head);
}

static bool is_sane(const struct arena_piece *head,
		    const struct roar_arena_unit *u)
{
	return u->n_buffers == 1 && head->total_bytes &&
	       head->total_bytes % ROAR_ARENA_ALIGN == 0 &&
	       head->offset <= head->total_bytes &&
	       u->buffers[0].len <= head->total_bytes - head->offset;
}

/* ---- a whole message ---- */

/* The stream has come whole; its lengths must fit into it. */
static int open_message(struct partial *p, struct held_unit *h)
{
	const uint64_t *lens = (const uint64_t *)p->memory;
	uint64_t at = 0;

	if (p->head.n_buffers > p->head.total_bytes / sizeof(*lens) ||
	    arena_add_aligned(&at, p->head.n_buffers * sizeof(*lens)))
		return -EBADMSG;
	h->unit.envelope = p->memory + at;
	h->unit.envelope_len = p->head.envelope_len;
	if (arena_add_aligned(&at, p->head.envelope_len) ||
	    at > p->head.total_bytes ||
	    held_unit_buffers(h, p->head.n_buffers) < 0)
		return -EBADMSG;
	for (uint64_t i = 0; i < p->head.n_buffers; i++) {
		h->unit.buffers[i].data = p->memory + at;
		h->unit.buffers[i].len = lens[i];
		if (arena_add_aligned(&at, lens[i]) || at > p->head.total_bytes)
			return -EBADMSG;
	}
	return 0;
}

static int finish(struct roar_arena *a, struct partial *p,
		  struct held_unit **ret)
{
	struct held_unit *h = calloc(1, sizeof(*h));
	int r;

	if (!h)
		return failure(-ENOMEM, "out of memory");
	h->unit.arena = a;
	h->unit.index = UINT32_MAX;
	h->unit.producer = p->producer;
	r = open_message(p, h);
	if (r < 0) {
		held_unit_forget(h);
		free(h);
		return failure(
			r,
			"a message that came in pieces is damaged and was dropped");
	}
	h->memory = p->memory;
	p->memory = NULL;
	*ret = h;
	return 1;
}

static void unlink_partial(struct roar_arena *a, struct partial *p)
{
	struct partial **at = &a->partials;

	while (*at != p)
		at = &(*at)->next;
	*at = p->next;
}

static int add(struct roar_arena *a, struct held_unit *piece,
	       const struct arena_piece *head, struct held_unit **ret)
{
	const struct roar_arena_unit *u = &piece->unit;
	uint64_t message = piece->message;
	struct partial *p;
	int r;

	p = find(a, u->producer, message, head);
	if (!p)
		return failure(
			-ENOMEM,
			"out of memory for a message of %llu bytes that came in pieces",
			(unsigned long long)head->total_bytes);
	if (p->head.total_bytes != head->total_bytes)
		return failure(
			-EBADMSG,
			"a piece of a message is damaged and was dropped");
	roar_arena_copy(p->memory + head->offset, u->buffers[0].data,
			u->buffers[0].len, u->buffers[0].len);
	p->have_bytes += u->buffers[0].len;
	if (p->have_bytes < p->head.total_bytes)
		return 0;
	unlink_partial(a, p);
	r = finish(a, p, ret);
	if (r == 1) {
		(*ret)->unit.tag = u->tag;
		(*ret)->unit.sequence = u->sequence;
	}
	partial_free(p);
	return r;
}

int piece_join(struct roar_arena *a, struct held_unit *piece,
	       struct held_unit **ret)
{
	struct arena_piece head;
	int r;

	if (piece->unit.envelope_len != sizeof(head))
		r = -EBADMSG;
	else {
		memcpy(&head, piece->unit.envelope, sizeof(head));
		r = is_sane(&head, &piece->unit) ? 0 : -EBADMSG;
	}
	if (r < 0) {
		r = failure(r,
			    "a piece of a message is damaged and was dropped");
	} else {
		(void)pthread_mutex_lock(&a->piece_lock);
		r = add(a, piece, &head, ret);
		(void)pthread_mutex_unlock(&a->piece_lock);
	}
	if (r == 1) {
		atomic_store(&(*ret)->refs, 1);
		atomic_fetch_add(&a->refs, 1);
	}
	roar_arena_release(&piece->unit);
	return r;
}
