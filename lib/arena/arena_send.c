/* arena_send.c - copying in and committing in one call, in pieces if it must be
 *
 * What has no room in the whole arena goes as a stream of bytes, cut into units: the
 * lengths of the buffers, the envelope, the buffers, each padded to 64 bytes, so that the
 * receiver's memory is laid out as it comes.  Each piece has a struct arena_piece as its
 * envelope.  A handle sends one such message at a time. */
#include <errno.h>
#include <string.h>
#include <time.h>

#include "arena/arena.h"
#include "arena/piece.h"
#include "base/cleanup.h"
#include "base/clock.h"

enum { FEW = 16, PIECE_MAX = 64 << 20 };

#define SLICE_NS 50000000LL /* how long nobody asks the caller */

/* ---- in one unit ---- */

static void copy_in(const struct roar_arena_unit *u, const void *envelope,
		    const struct roar_arena_buffer *buffers)
{
	size_t whole = u->envelope_len;

	for (size_t i = 0; i < u->n_buffers; i++)
		whole += buffers[i].len;
	roar_arena_copy(u->envelope, envelope, u->envelope_len, whole);
	for (size_t i = 0; i < u->n_buffers; i++)
		roar_arena_copy(u->buffers[i].data, buffers[i].data,
				buffers[i].len, whole);
}

static int send_whole(struct roar_arena *a, const void *envelope,
		      size_t envelope_len,
		      const struct roar_arena_buffer *buffers, size_t n_buffers,
		      uint64_t tag, long long timeout_ns)
{
	struct roar_arena_part few[FEW];
	CLEANUP(freep) struct roar_arena_part *many = NULL;
	struct roar_arena_part *parts = few;
	struct roar_arena_unit *u = NULL;
	int r;

	if (n_buffers > FEW) {
		parts = many = calloc(n_buffers, sizeof(*many));
		if (!many)
			return failure(-ENOMEM, "out of memory");
	}
	for (size_t i = 0; i < n_buffers; i++)
		parts[i] = (struct roar_arena_part){ .len = buffers[i].len };
	r = roar_arena_reserve(a, parts, n_buffers, envelope_len, timeout_ns,
			       &u);
	if (r < 0)
		return r;
	copy_in(u, envelope, buffers);
	r = roar_arena_commit(u, tag);
	if (r < 0)
		roar_arena_release(u);
	return r;
}

/* ---- in pieces ---- */

struct stream {
	const struct roar_arena_buffer *buffers;
	size_t n_buffers;
	const void *envelope;
	size_t envelope_len;
	struct arena_piece piece; /* of the next one */
};

/* The i-th thing in the stream: lengths, envelope, buffers. */
static struct roar_arena_buffer thing(const struct stream *s, size_t i)
{
	if (i == 0)
		return (struct roar_arena_buffer){ NULL, s->n_buffers * 8 };
	if (i == 1)
		return (struct roar_arena_buffer){ (void *)s->envelope,
						   s->envelope_len };
	return s->buffers[i - 2];
}

static int measure(struct stream *s)
{
	uint64_t total = 0;

	for (size_t i = 0; i < s->n_buffers + 2; i++)
		if (arena_add_aligned(&total, thing(s, i).len))
			return failure(
				-EMSGSIZE,
				"the total size of the buffers of a unit does not fit 64 bits");
	s->piece = (struct arena_piece){ .total_bytes = total,
					 .envelope_len = s->envelope_len,
					 .n_buffers = s->n_buffers };
	return 0;
}

/* Bytes [skip, skip + len) of a thing; what is beyond its end is padding. */
static void copy_thing(const struct stream *s, size_t i, uint64_t skip,
		       unsigned char *to, uint64_t len)
{
	struct roar_arena_buffer b = thing(s, i);
	uint64_t n = skip >= b.len	? 0 :
		     b.len - skip < len ? b.len - skip :
					  len;

	if (i)
		roar_arena_copy(to, (const unsigned char *)b.data + skip, n, n);
	/* Pieces begin at multiples of 64: no length is cut in two. */
	for (uint64_t k = 0; i == 0 && k < n; k += 8)
		memcpy(to + k, &(uint64_t){ s->buffers[(skip + k) / 8].len },
		       8);
	memset(to + n, 0, len - n);
}

static void copy_stream(const struct stream *s, unsigned char *to, uint64_t len)
{
	uint64_t from = s->piece.offset;
	uint64_t at = 0;

	for (size_t i = 0; i < s->n_buffers + 2 && len; i++) {
		uint64_t end = at;
		uint64_t n;

		(void)arena_add_aligned(&end, thing(s, i).len);
		n = end > from ? end - from : 0;
		n = n < len ? n : len;
		if (n)
			copy_thing(s, i, from - at, to, n);
		to += n;
		from += n;
		len -= n;
		at = end;
	}
}

/* A quarter of the room, so that both sides can work at once. */
static uint64_t piece_bytes(const struct roar_arena *a)
{
	const struct arena_geometry *g = &a->map.g;
	uint64_t room = geometry_unit_room(g, a->share);
	uint64_t bytes = g->segment_bytes ? room : room / 4;
	/* The inline room has a table and an envelope in it as well. */
	uint64_t least = g->inline_bytes > 3 * ROAR_ARENA_ALIGN ?
				 g->inline_bytes - 2 * ROAR_ARENA_ALIGN :
				 ROAR_ARENA_ALIGN;

	bytes = bytes > PIECE_MAX ? PIECE_MAX : bytes;
	bytes = bytes & ~(uint64_t)(ROAR_ARENA_ALIGN - 1);
	return bytes > least ? bytes : least;
}

/* How long the caller waits.  It waits in slices, after each of which it is asked. */
struct patience {
	int64_t deadline_ns; /* INT64_MAX: none */
	int (*ask)(void *arg); /* may be NULL */
	void *arg;
};

static long long slice(const struct patience *p)
{
	int64_t left = p->deadline_ns - clock_mono_ns();

	return left < 1 ? 1 : left < SLICE_NS ? left : SLICE_NS;
}

/* After a slice that ended with `r`: 0 to go on. */
static int go_on(const struct patience *p, int r)
{
	int end = 0;

	if (r != -ETIMEDOUT || clock_mono_ns() >= p->deadline_ns)
		return r;
	if (p->ask)
		end = p->ask(p->arg);
	if (end < 0)
		return failure(end, "the sender was told to stop");
	return 0;
}

/* A handle sends one message in pieces at a time. */
static int take_turn(struct roar_arena *a, const struct patience *p)
{
	int r = 0;

	(void)pthread_mutex_lock(&a->send_lock);
	while (r == 0 && a->sending) {
		int64_t end = clock_mono_ns() + slice(p);
		struct timespec t = { end / 1000000000, end % 1000000000 };

		if (pthread_cond_timedwait(&a->send_turn, &a->send_lock, &t) ==
		    0)
			continue;
		(void)pthread_mutex_unlock(&a->send_lock);
		r = go_on(
			p,
			failure(-ETIMEDOUT,
				"another thread sends a message larger than the arena and did not finish within the timeout"));
		(void)pthread_mutex_lock(&a->send_lock);
	}
	if (r == 0)
		a->sending = true;
	(void)pthread_mutex_unlock(&a->send_lock);
	return r;
}

static void give_turn(struct roar_arena *a)
{
	(void)pthread_mutex_lock(&a->send_lock);
	a->sending = false;
	(void)pthread_cond_signal(&a->send_turn);
	(void)pthread_mutex_unlock(&a->send_lock);
}

static int reserve_piece(struct roar_arena *a, size_t len,
			 const struct piece_of *of, const struct patience *p,
			 struct roar_arena_unit **ret)
{
	const struct roar_arena_part part = { .len = len };
	int r;

	do {
		r = arena_reserve(a, &part, 1, sizeof(struct arena_piece), of,
				  slice(p), ret);
		if (r == 0)
			return 0;
		r = go_on(p, r);
	} while (r == 0);
	return r;
}

static int send_piece(struct roar_arena *a, struct stream *s,
		      struct piece_of *of, uint64_t tag,
		      const struct patience *p)
{
	uint64_t rest = s->piece.total_bytes - s->piece.offset;
	uint64_t size = piece_bytes(a);
	uint64_t len = rest < size ? rest : size;
	struct roar_arena_unit *u = NULL;
	int r;

	of->first = s->piece.offset == 0;
	r = reserve_piece(a, len, of, p, &u);
	if (r < 0)
		return r;
	memcpy(u->envelope, &s->piece, sizeof(s->piece));
	copy_stream(s, u->buffers[0].data, len);
	s->piece.offset += len;
	r = roar_arena_commit(u, tag);
	if (r < 0)
		roar_arena_release(u);
	return r;
}

static int send_pieces(struct roar_arena *a, struct stream *s, uint64_t tag,
		       const struct patience *p)
{
	struct piece_of of = { 0 };
	int r = measure(s);

	if (r == 0)
		r = take_turn(a, p);
	if (r < 0)
		return r;
	of.message = shared_add(&a->map.header->messages, 1) + 1;
	of.sequence = atomic_fetch_add(&a->sequence, 1);
	s->piece.given_up = a->given_up;
	while (r == 0 && s->piece.offset < s->piece.total_bytes)
		r = send_piece(a, s, &of, tag, p);
	if (r < 0 && s->piece.offset)
		a->given_up = of.message;
	give_turn(a);
	if (r == 0)
		shared_count(&arena_counts(a)->in_pieces, 1);
	return r;
}

API int roar_arena_send_asking(struct roar_arena *a, const void *envelope,
			       size_t envelope_len,
			       const struct roar_arena_buffer *buffers,
			       size_t n_buffers, uint64_t tag,
			       long long timeout_ns, int (*ask)(void *arg),
			       void *arg)
{
	struct stream s = { .buffers = buffers,
			    .n_buffers = n_buffers,
			    .envelope = envelope,
			    .envelope_len = envelope_len };
	struct patience p = { .deadline_ns = arena_deadline_ns(timeout_ns),
			      .ask = ask,
			      .arg = arg };
	int r;

	do
		r = send_whole(a, envelope, envelope_len, buffers, n_buffers,
			       tag, ask && timeout_ns ? slice(&p) : timeout_ns);
	while (r == -ETIMEDOUT && (r = go_on(&p, r)) == 0);
	return r == -EMSGSIZE && timeout_ns ? send_pieces(a, &s, tag, &p) : r;
}

API int roar_arena_send(struct roar_arena *a, const void *envelope,
			size_t envelope_len,
			const struct roar_arena_buffer *buffers,
			size_t n_buffers, uint64_t tag, long long timeout_ns)
{
	return roar_arena_send_asking(a, envelope, envelope_len, buffers,
				      n_buffers, tag, timeout_ns, NULL, NULL);
}
