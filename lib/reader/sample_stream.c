/* sample_stream.c - samples in a known order, read ahead
 *
 * The plan is divided into blocks, which free threads load in its order:
 *
 *	  head               tail
 *	   |                  |
 *	...[ready][loading][ready]...          blocks by number, in a ring
 *	   next to be         next to
 *	   returned           load
 *
 * A thread loads the block at the tail while there is room for it.  The caller waits for
 * the block at the head; if no thread has started to load it, the caller loads it itself,
 * so that a machine without a free CPU is no slower than without threads.  Threads are
 * started at the first block that is not in the page cache: cached blocks are read faster
 * than a thread is woken. */
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#include "base/thread.h"
#include "reader/sample_block.h"

enum {
	SLOTS = 64,
	EXPECTED_MAX = 256, /* samples announced ahead */
};

struct slot {
	struct reader_block *block; /* NULL: loading */
	uint64_t bytes; /* approximate size */
	int error; /* -ENOMEM: there is no block */
};

struct reader_stream {
	struct reader_plan plan;
	/* Copies of its arrays; NULL where it has none. */
	const struct reader **readers;
	uint64_t *numbers;
	uint32_t *which;
	struct buffers *buffers;
	pid_t pid; /* of the process that started the threads */

	/* The current block; used by the caller only: */
	struct reader_block *current;
	size_t i; /* its next sample */
	int error; /* a failure, which ends the stream */

	/* Protects the fields up to `slots`; innermost.  Not held while a block is read. */
	pthread_mutex_t lock;
	pthread_cond_t ready; /* a block was loaded */
	pthread_cond_t room; /* a block was returned, or the end */
	atomic_bool stop; /* is also read without the lock */
	uint64_t planned; /* samples of the plan in blocks that were started */
	uint64_t expected; /* those before were announced; only of objects */
	uint64_t expected_bytes; /* of them, not started yet */
	uint64_t cached_to; /* those before are in the page cache */
	uint64_t head, tail; /* numbers of blocks, see above */
	uint64_t bytes; /* in blocks between them */
	struct slot slots[SLOTS];

	/* The threads, if there are any; used by the caller only. */
	bool started;
	size_t n_threads;
	pthread_t threads[READER_THREADS_MAX];
};

/* ---- loading; the lock is held at the beginning and at the end ---- */

static bool has_room(const struct reader_stream *s)
{
	return s->tail - s->head < SLOTS && s->bytes < s->plan.prefetch;
}

static const struct reader *reader_of(const struct reader_stream *s, uint64_t k)
{
	return s->plan.readers[s->plan.which ? s->plan.which[k] : 0];
}

static uint64_t number_of(const struct reader_stream *s, uint64_t k)
{
	return s->plan.numbers ? s->plan.numbers[k] : s->plan.first + k;
}

static uint64_t bytes_of(const struct reader_stream *s, uint64_t k)
{
	const struct reader *r = reader_of(s, k);

	return r->ops->span(r, number_of(s, k)).len;
}

static void expect(struct reader_stream *s, uint64_t k)
{
	reader_expect(reader_of(s, k), number_of(s, k));
	s->expected = k + 1;
}

/* Objects are asked for the `n` samples that were taken up just now, and for those behind them,
 * as many as may be read ahead.  None of it is waited for. */
static void expect_more(struct reader_stream *s, size_t n)
{
	for (uint64_t k = s->planned - n; k < s->planned; k++)
		if (k < s->expected)
			s->expected_bytes -= bytes_of(s, k);
		else
			expect(s, k);
	while (s->expected < s->plan.n &&
	       s->expected - s->planned < EXPECTED_MAX &&
	       s->expected_bytes < s->plan.prefetch) {
		s->expected_bytes += bytes_of(s, s->expected);
		expect(s, s->expected);
	}
}

/* Takes up the next block and loads it.  False at the end of the plan. */
static bool load_next(struct reader_stream *s)
{
	struct slot *slot = &s->slots[s->tail % SLOTS];
	struct reader_block *block = NULL;
	uint64_t k = s->planned;
	size_t n;
	int error;

	*slot = (struct slot){ 0 };
	n = block_choose(&s->plan, k, &slot->bytes);
	if (!n)
		return false;
	s->planned += n;
	s->bytes += slot->bytes;
	s->tail++;
	if (reader_of(s, k)->source.ops)
		expect_more(s, n);

	(void)pthread_mutex_unlock(&s->lock);
	error = block_read(s->buffers, &s->plan, k, n, &block);
	(void)pthread_mutex_lock(&s->lock);

	slot->block = block;
	slot->error = error;
	(void)pthread_cond_signal(&s->ready);
	return true;
}

/* ---- threads ---- */

static _Thread_local const struct reader_stream *of_thread;

static bool is_stopping(void)
{
	return atomic_load(&of_thread->stop);
}

static void *read_ahead(void *arg)
{
	struct reader_stream *s = arg;
	bool more = true;

	of_thread = s;
	source_set_interrupt(is_stopping);
	(void)pthread_mutex_lock(&s->lock);
	while (more && !s->stop) {
		if (has_room(s))
			more = load_next(s);
		else
			(void)pthread_cond_wait(&s->room, &s->lock);
	}
	(void)pthread_mutex_unlock(&s->lock);
	return NULL;
}

/* Fewer threads than asked for are no failure. */
static void start_threads(struct reader_stream *s)
{
	size_t n = s->plan.n_threads;

	s->started = true;
	if (n > READER_THREADS_MAX)
		n = READER_THREADS_MAX;
	while (s->n_threads < n && thread_start(&s->threads[s->n_threads], NULL,
						read_ahead, s) == 0)
		s->n_threads++;
}

/* Starts them when they are worth it; the lock is held. */
static void consider_threads(struct reader_stream *s)
{
	uint64_t bytes;
	size_t n;

	if (s->started)
		return;
	n = block_choose(&s->plan, s->planned, &bytes);
	if (n &&
	    (s->plan.always_ahead || !block_is_cached(&s->plan, s->planned, n)))
		start_threads(s);
}

/* ---- handing out ---- */

static bool is_loaded(const struct slot *slot)
{
	return slot->block || slot->error;
}

/* Waits for a block for a while; -EINTR when the caller should not wait any more. */
static int wait_ready(struct reader_stream *s)
{
	struct timespec until;
	bool is_interrupted;

	(void)clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_nsec += SOURCE_ASK_MS * 1000000L;
	until.tv_sec += until.tv_nsec / 1000000000L;
	until.tv_nsec %= 1000000000L;
	if (pthread_cond_clockwait(&s->ready, &s->lock, CLOCK_MONOTONIC,
				   &until) != ETIMEDOUT)
		return 0;
	(void)pthread_mutex_unlock(&s->lock);
	is_interrupted = source_is_interrupted();
	(void)pthread_mutex_lock(&s->lock);
	return is_interrupted ? -EINTR : 0;
}

/* The block at the head; NULL with 0 at the end of the plan. */
static int take_block(struct reader_stream *s, struct reader_block **ret)
{
	struct slot *slot = &s->slots[s->head % SLOTS];
	int error = 0;

	*ret = NULL;
	(void)pthread_mutex_lock(&s->lock);
	consider_threads(s);
	if (s->head == s->tail && !load_next(s)) {
		(void)pthread_mutex_unlock(&s->lock);
		return 0;
	}
	while (error == 0 && !is_loaded(slot))
		error = wait_ready(s);
	if (error < 0) {
		(void)pthread_mutex_unlock(&s->lock);
		return error;
	}
	*ret = slot->block;
	error = slot->error;
	s->bytes -= slot->bytes;
	s->head++;
	(void)pthread_cond_signal(&s->room);
	(void)pthread_mutex_unlock(&s->lock);
	return error;
}

static int check_process(const struct reader_stream *s, struct roar_error *err)
{
	if (s->pid == getpid())
		return 0;
	return error_set(err, -EPERM,
			 "a stream of samples was begun by another process; "
			 "begin one in this process");
}

/* All blocks were handed out: have the files been themselves all the time? */
static int check_end(const struct reader_stream *s, struct roar_error *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < s->plan.n_readers; i++) {
		const struct source *source = &s->plan.readers[i]->source;

		if (source_is_open(source))
			r = source_check(source, err);
	}
	return r;
}

/* On to the next block: 1, 0 when there is none. */
static int step(struct reader_stream *s, struct roar_error *err)
{
	int error = check_process(s, err);

	if (error < 0)
		return error;
	if (s->error)
		return error_set(err, s->error,
				 "this stream of samples has failed before; "
				 "begin a new one");
	reader_block_drop(s->current);
	s->current = NULL;
	s->i = 0;
	error = take_block(s, &s->current);
	if (error < 0)
		return error_set(err, error, "%s",
				 error == -EINTR ? "interrupted" :
						   "out of memory");
	return s->current ? 1 : check_end(s, err);
}

int reader_stream_next(struct reader_stream *s,
		       const struct reader_sample **ret_sample,
		       struct roar_error *err)
{
	int r = reader_stream_is_ready(s) ? 1 : step(s, err);

	if (r > 0)
		r = block_describe(s->current, s->i++, ret_sample, err);
	else if (r == 0)
		return 0;
	if (r < 0)
		s->error = r;
	return r < 0 ? r : 1;
}

static bool is_cached(struct reader_stream *s)
{
	if (s->planned >= s->cached_to)
		s->cached_to = block_cached_to(&s->plan, s->planned);
	return s->planned < s->cached_to;
}

bool reader_stream_offer(struct reader_stream *s,
			 const struct reader **ret_reader, uint64_t *ret_number)
{
	/* While there are no threads, nobody else looks at what is planned. */
	if (s->started || s->plan.always_ahead || s->error ||
	    reader_stream_is_ready(s) || check_process(s, NULL) < 0 ||
	    !block_is_direct(&s->plan, s->planned, ret_reader, ret_number) ||
	    !is_cached(s))
		return false;
	if (s->planned < s->expected)
		s->expected_bytes -= bytes_of(s, s->planned);
	s->planned++;
	return true;
}

bool reader_stream_is_ready(const struct reader_stream *s)
{
	return s->current && !s->error && s->i < block_count(s->current);
}

struct reader_block *reader_stream_block(const struct reader_stream *s)
{
	return s->current;
}

const struct reader *reader_stream_reader(const struct reader_stream *s)
{
	return block_reader(s->current, s->i - 1);
}

/* ---- beginning and end ---- */

static int say_none(const struct reader *r, uint64_t number,
		    struct roar_error *err)
{
	return error_set(err, -ERANGE,
			 "'%s' has %" PRIu64 " samples, numbered from 0: there "
			 "is no number %" PRIu64,
			 r->path, r->count, number);
}

static int check_plan(const struct reader_plan *p, struct roar_error *err)
{
	const struct reader *r = p->n_readers ? p->readers[0] : NULL;

	if (!r || (p->which && !p->numbers))
		return error_set(err, -EINVAL, "no sample is named");
	if (!p->numbers)
		return p->n <= r->count && p->first <= r->count - p->n ?
			       0 :
			       say_none(r, p->first + p->n - 1, err);
	for (uint64_t i = 0; i < p->n; i++) {
		if (p->which && p->which[i] >= p->n_readers)
			return error_set(err, -ERANGE,
					 "there are %zu shards, numbered from "
					 "0: there is no number %" PRIu32,
					 p->n_readers, p->which[i]);
		r = p->readers[p->which ? p->which[i] : 0];
		if (p->numbers[i] >= r->count)
			return say_none(r, p->numbers[i], err);
	}
	return 0;
}

/* A copy of an array; NULL only without memory. */
static void *copy(const void *array, uint64_t n, size_t size)
{
	void *to = reallocarray(NULL, (size_t)n + 1, size);

	if (to && n)
		memcpy(to, array, (size_t)n * size);
	return to;
}

static int copy_plan(struct reader_stream *s, const struct reader_plan *p)
{
	s->plan = *p;
	if (!s->plan.prefetch)
		s->plan.prefetch = READER_PREFETCH;
	s->readers = copy(p->readers, p->n_readers, sizeof(*s->readers));
	if (p->numbers)
		s->numbers = copy(p->numbers, p->n, sizeof(*s->numbers));
	if (p->which)
		s->which = copy(p->which, p->n, sizeof(*s->which));
	s->plan.readers = s->readers;
	s->plan.numbers = s->numbers;
	s->plan.which = s->which;
	return s->readers && !p->numbers == !s->numbers &&
			       !p->which == !s->which ?
		       0 :
		       -ENOMEM;
}

int reader_stream_open(const struct reader_plan *plan,
		       struct reader_stream **ret_stream,
		       struct roar_error *err)
{
	CLEANUP(reader_stream_closep) struct reader_stream *s = NULL;
	int error = check_plan(plan, err);

	if (error < 0)
		return error;
	s = calloc(1, sizeof(*s));
	if (!s)
		return error_set(err, -ENOMEM, "out of memory");
	s->pid = getpid();
	(void)pthread_mutex_init(&s->lock, NULL); /* never fail on Linux */
	(void)pthread_cond_init(&s->ready, NULL);
	(void)pthread_cond_init(&s->room, NULL);
	if (buffers_new(&s->buffers) < 0 || copy_plan(s, plan) < 0)
		return error_set(err, -ENOMEM, "out of memory");
	*ret_stream = TAKE_PTR(s);
	return 0;
}

static void end_threads(struct reader_stream *s)
{
	/* After fork() there are none, and the lock may be held by one of them. */
	if (s->pid != getpid())
		return;
	(void)pthread_mutex_lock(&s->lock);
	s->stop = true;
	(void)pthread_cond_broadcast(&s->room);
	(void)pthread_mutex_unlock(&s->lock);
	for (size_t i = 0; i < s->n_threads; i++)
		(void)pthread_join(s->threads[i], NULL);
}

void reader_stream_close(struct reader_stream *s)
{
	if (!s)
		return;
	end_threads(s);
	for (; s->head != s->tail; s->head++)
		reader_block_drop(s->slots[s->head % SLOTS].block);
	reader_block_drop(s->current);
	buffers_drop(s->buffers);
	free(s->readers);
	free(s->numbers);
	free(s->which);
	free(s);
}
