/* sample_block.c - see sample_block.h */
#include "reader/sample_block.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum {
	KEPT = 8, /* blocks kept for reuse */
	KEPT_BYTES = 8 << 20, /* of all of them */
	GAP = 8 * 1024, /* shorter gaps between samples are read, not skipped */
	ALIGN = 64,
	LOOK_AHEAD = 8, /* consecutive samples checked at once */
};

struct reader_block {
	atomic_uint refs; /* any thread may drop one */
	struct buffers *home; /* NULL: the memory is not reused */
	uint8_t *data;
	size_t cap; /* bytes allocated */
	uint64_t len; /* bytes used */
	size_t n; /* samples requested */
	size_t n_good; /* of these, samples that were read */
	int error; /* of the first sample after those */
	struct roar_error *why; /* its message; NULL: none, or out of memory */
	struct reader_sample sample; /* the one described last */
	struct reader_part *parts; /* its parts */
	size_t cap_parts;
	struct block_entry entries[];
};

/* ---- blocks to reuse ---- */

struct buffers {
	atomic_uint refs; /* the stream, and each block from here */
	pthread_mutex_t lock; /* protects the fields below; innermost */
	struct reader_block *kept[KEPT];
	size_t n;
	size_t bytes; /* of these blocks */
};

static void block_free(struct reader_block *b)
{
	free(b->data);
	free(b->parts);
	free(b->why);
	free(b);
}

int buffers_new(struct buffers **ret)
{
	struct buffers *b = calloc(1, sizeof(*b));

	if (!b)
		return -ENOMEM;
	atomic_init(&b->refs, 1);
	(void)pthread_mutex_init(&b->lock, NULL); /* never fails on Linux */
	*ret = b;
	return 0;
}

void buffers_drop(struct buffers *b)
{
	if (!b || atomic_fetch_sub(&b->refs, 1) != 1)
		return;
	for (size_t i = 0; i < b->n; i++)
		block_free(b->kept[i]);
	(void)pthread_mutex_destroy(&b->lock);
	free(b);
}

/* The one that was kept last: its memory is still in the CPU's cache. */
static struct reader_block *take_kept(struct buffers *home)
{
	struct reader_block *found = NULL;

	(void)pthread_mutex_lock(&home->lock);
	if (home->n) {
		found = home->kept[--home->n];
		home->bytes -= found->cap;
	}
	(void)pthread_mutex_unlock(&home->lock);
	return found;
}

static bool keep(struct buffers *home, struct reader_block *b)
{
	bool kept;

	(void)pthread_mutex_lock(&home->lock);
	kept = home->n < KEPT && b->cap <= KEPT_BYTES - home->bytes;
	if (kept) {
		home->kept[home->n++] = b;
		home->bytes += b->cap;
	}
	(void)pthread_mutex_unlock(&home->lock);
	return kept;
}

/* ---- one block ---- */

struct reader_block *reader_block_hold(struct reader_block *b)
{
	assert(atomic_load(&b->refs) > 0);
	atomic_fetch_add(&b->refs, 1);
	return b;
}

void reader_block_drop(struct reader_block *b)
{
	struct buffers *home;

	if (!b || atomic_fetch_sub(&b->refs, 1) != 1)
		return;
	home = b->home;
	if (!home || !keep(home, b))
		block_free(b);
	buffers_drop(home);
}

size_t block_count(const struct reader_block *b)
{
	return b->n;
}

/* An empty block for `n` samples, of memory that was used before if there is some. */
static struct reader_block *block_new(struct buffers *home, size_t n)
{
	struct reader_block *b = home ? take_kept(home) : NULL;
	size_t room = home ? BLOCK_ENTRIES : n;

	if (!b)
		b = calloc(1, sizeof(*b) + room * sizeof(b->entries[0]));
	if (!b)
		return NULL;
	free(b->why);
	b->why = NULL;
	b->error = 0;
	b->len = 0;
	b->n = n;
	b->n_good = n;
	b->home = home;
	if (home)
		atomic_fetch_add(&home->refs, 1);
	atomic_init(&b->refs, 1);
	return b;
}

/* Room for its bytes.  What is too large for others is as large as it must be. */
static int make_room(struct reader_block *b)
{
	size_t room = b->len <= BLOCK_BYTES ? BLOCK_BYTES : (size_t)b->len;

	if (room <= b->cap)
		return 0;
	free(b->data);
	room = (room + ALIGN - 1) / ALIGN * ALIGN;
	b->data = aligned_alloc(ALIGN, room);
	b->cap = b->data ? room : 0;
	return b->data ? 0 : -ENOMEM;
}

/* ---- which samples ---- */

/* The k-th sample of a plan, and where its bytes are. */
struct wanted {
	const struct reader *reader;
	uint64_t number;
	struct span span;
};

static struct wanted wanted_of(const struct reader_plan *plan, uint64_t k)
{
	struct wanted w = {
		.reader = plan->readers[plan->which ? plan->which[k] : 0],
		.number = plan->numbers ? plan->numbers[k] : plan->first + k,
	};

	w.span = w.reader->ops->span(w.reader, w.number);
	return w;
}

static struct wanted wanted_again(const struct block_entry *e)
{
	return (struct wanted){ e->reader, e->number,
				e->reader->ops->span(e->reader, e->number) };
}

static uint64_t end_of(const struct wanted *w)
{
	return w->span.offset + w->span.len;
}

/* Are both read at once?  Only where one comes soon behind the other. */
static bool joins(const struct wanted *a, const struct wanted *b)
{
	return a->reader == b->reader && a->span.file == b->span.file &&
	       b->span.offset >= end_of(a) && b->span.offset - end_of(a) <= GAP;
}

/* Where the bytes of `next` go, behind those of `last` at `at`. */
static uint64_t place(const struct wanted *last, uint64_t at,
		      const struct wanted *next)
{
	if (joins(last, next))
		return at + (next->span.offset - last->span.offset);
	return (at + last->span.len + ALIGN - 1) / ALIGN * ALIGN;
}

/* A sample that is too large takes no memory: it is refused. */
static uint64_t bytes_of(const struct wanted *w)
{
	bool refused = w->span.len > w->reader->options.max_sample;

	return refused ? 0 : w->span.len;
}

size_t block_choose(const struct reader_plan *plan, uint64_t k,
		    uint64_t *ret_bytes)
{
	struct wanted last;
	uint64_t at = 0;
	size_t n = 1;

	if (k >= plan->n)
		return 0;
	last = wanted_of(plan, k);
	for (; n < BLOCK_ENTRIES && n < plan->n - k; n++) {
		struct wanted next = wanted_of(plan, k + n);
		uint64_t to = place(&last, at, &next);

		if (last.span.len > BLOCK_BYTES ||
		    next.span.len > BLOCK_BYTES ||
		    to + next.span.len > BLOCK_BYTES)
			break;
		at = to;
		last = next;
	}
	*ret_bytes = at + bytes_of(&last);
	return n;
}

bool block_is_direct(const struct reader_plan *plan, uint64_t k,
		     const struct reader **ret_reader, uint64_t *ret_number)
{
	struct wanted w;

	if (k >= plan->n)
		return false;
	w = wanted_of(plan, k);
	*ret_reader = w.reader;
	*ret_number = w.number;
	return bytes_of(&w) >= BLOCK_DIRECT && !w.reader->ops->check;
}

uint64_t block_cached_to(const struct reader_plan *plan, uint64_t k)
{
	uint64_t n = plan->numbers ? 1 : LOOK_AHEAD;

	if (n > plan->n - k)
		n = plan->n - k;
	if (block_is_cached(plan, k, n))
		return k + n;
	return n > 1 && block_is_cached(plan, k, 1) ? k + 1 : k;
}

/* The kernel reads ahead in large pieces, so the end tells enough of the rest. */
bool block_is_cached(const struct reader_plan *plan, uint64_t k, size_t n)
{
	struct wanted last = wanted_of(plan, k + n - 1);
	const struct source *source = &last.reader->source;

	return source_is_open(source) &&
	       source_is_cached(source, last.span.len ? end_of(&last) - 1 :
							last.span.offset);
}

/* ---- reading ---- */

static void fail(struct reader_block *b, size_t at, int error,
		 const struct roar_error *why)
{
	b->n_good = at;
	b->error = error;
	b->why = malloc(sizeof(*b->why));
	if (b->why)
		*b->why = *why;
}

static void lay_out(const struct reader_plan *plan, uint64_t k,
		    struct reader_block *b)
{
	struct roar_error why;
	struct wanted last;
	uint64_t at = 0;

	for (size_t i = 0; i < b->n_good; i++) {
		struct wanted w = wanted_of(plan, k + i);
		int error = reader_check_size(w.reader, w.number, w.span.len,
					      &why);

		if (error < 0) {
			fail(b, i, error, &why);
			return;
		}
		if (i)
			at = place(&last, at, &w);
		b->entries[i] = (struct block_entry){ w.reader, w.number, at };
		b->len = at + w.span.len;
		last = w;
	}
}

/* Reads the samples from the i-th on that are read at once.  How many they are. */
static size_t load_run(struct reader_block *b, size_t i)
{
	struct wanted last = wanted_again(&b->entries[i]);
	const struct reader *r = last.reader;
	struct roar_error why = { "" };
	struct span run = last.span;
	size_t n = 1;
	int error;

	for (; i + n < b->n_good; n++) {
		struct wanted next = wanted_again(&b->entries[i + n]);

		if (!joins(&last, &next))
			break;
		run.len = end_of(&next) - run.offset;
		last = next;
	}
	error = r->ops->load(r, &run, b->data + b->entries[i].at, &why);
	if (error < 0)
		fail(b, i, error, &why);
	return n;
}

int block_read(struct buffers *home, const struct reader_plan *plan, uint64_t k,
	       size_t n, struct reader_block **ret)
{
	CLEANUP(reader_block_dropp) struct reader_block *b = NULL;

	b = block_new(home, n);
	if (!b)
		return -ENOMEM;
	lay_out(plan, k, b);
	if (make_room(b) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < b->n_good;)
		i += load_run(b, i);
	*ret = TAKE_PTR(b);
	return 0;
}

static int make_parts(struct reader_block *b, size_t n)
{
	struct reader_part *grown;

	if (n <= b->cap_parts)
		return 0;
	grown = realloc(b->parts, n * sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	b->parts = grown;
	b->cap_parts = n;
	return 0;
}

const struct reader *block_reader(const struct reader_block *b, size_t i)
{
	assert(i < b->n);
	return b->entries[i].reader;
}

int block_describe(struct reader_block *b, size_t i,
		   const struct reader_sample **ret, struct roar_error *err)
{
	const struct block_entry *e = &b->entries[i];
	const struct reader *r = e->reader;
	size_t n;
	int error;

	if (i >= b->n_good)
		return error_set(err, b->error, "%s",
				 b->why ? b->why->text : "out of memory");
	n = reader_n_parts(r, e->number);
	if (make_parts(b, n) < 0)
		return error_set(err, -ENOMEM, "out of memory");
	b->sample = (struct reader_sample){ .number = e->number,
					    .key = "",
					    .parts = b->parts,
					    .n_parts = n };
	error = reader_describe(r, b->data + e->at, &b->sample, b->parts, err);
	if (error == 0)
		*ret = &b->sample;
	return error;
}
