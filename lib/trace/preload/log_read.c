/* log_read.c - see log_read.h */
#include "trace/preload/log_read.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

enum {
	FIXED = offsetof(struct log_record, paths),
	CELLS_MAX = (FIXED + 2 * (LOG_PATH_MAX + 1)) / LOG_CELL + 1,
};

void log_reader_init(struct log_reader *r, struct log_header *header,
		     uint32_t n_cells, uint64_t key)
{
	assert(header && n_cells && (n_cells & (n_cells - 1)) == 0);
	*r = (struct log_reader){
		.header = header,
		.ring = (char *)header + LOG_RING_AT,
		.n_cells = n_cells,
		.key = key,
	};
}

static char *cell_at(const struct log_reader *r, uint64_t cell)
{
	return r->ring + (cell & (r->n_cells - 1)) * LOG_CELL;
}

static _Atomic uint64_t *word_at(const struct log_reader *r, uint64_t cell)
{
	return &((struct log_record *)cell_at(r, cell))->commit;
}

static uint64_t committed(const struct log_reader *r, uint64_t cell)
{
	struct log_header own = { .key = r->key };

	return log_commit(&own, cell);
}

static uint64_t head_of(const struct log_reader *r)
{
	return atomic_load_explicit(&r->header->head, memory_order_acquire);
}

/* Frees the cells.  Their words belong to this round and are invalid in the next. */
static void consume(struct log_reader *r, uint64_t n)
{
	r->tail += n;
	atomic_store_explicit(&r->header->tail, r->tail, memory_order_release);
}

/* The record's words as they are now, from memory that others write to. */
static void copy(void *to, const char *from, size_t len)
{
	memcpy(to, from, len);
	/* The compiler must not replace the copy by a second read. */
	__asm__ volatile("" : : "r"(to) : "memory");
}

static bool is_text(const char *path, size_t len)
{
	return !memchr(path, '\0', len);
}

/* Checks the copied head and copies the strings; false when invalid. */
static bool take_strings(const struct log_record *rec, const char *at,
			 uint64_t n, struct log_view *v)
{
	size_t room = n * LOG_CELL - FIXED;

	if (rec->path_len > LOG_PATH_MAX || rec->path2_len > LOG_PATH_MAX ||
	    (size_t)rec->path_len + rec->path2_len + 2 > room)
		return false;
	v->path_len = rec->path_len;
	v->path2_len = rec->path2_len;
	copy(v->path, at + FIXED, v->path_len);
	copy(v->path2, at + FIXED + v->path_len + 1, v->path2_len);
	v->path[v->path_len] = '\0';
	v->path2[v->path2_len] = '\0';
	return is_text(v->path, v->path_len);
}

static bool take(const struct log_record *rec, const char *at, uint64_t n,
		 struct log_view *v)
{
	if (rec->kind <= LOG_PAD || rec->kind >= LOG_KIND_END ||
	    rec->call >= LOG_CALL_END)
		return false;
	v->kind = rec->kind;
	v->call = rec->call;
	v->n_cells = (uint16_t)n;
	v->process = rec->process;
	v->tid = rec->tid;
	v->time_ns = rec->time_ns;
	v->flags = rec->flags;
	v->dirfd = rec->dirfd;
	v->dirfd2 = rec->dirfd2;
	v->value = rec->value;
	v->other = rec->other;
	return take_strings(rec, at, n, v);
}

/* May a record at the tail have `n` cells? */
static bool is_possible(const struct log_reader *r, uint64_t n, uint64_t taken,
			bool padding)
{
	uint64_t to_end = r->n_cells - (r->tail & (r->n_cells - 1));

	if (n == 0 || n > taken || n > to_end)
		return false;
	return padding ? n == to_end : n <= CELLS_MAX;
}

int log_read(struct log_reader *r, struct log_view *ret)
{
	/* Without the flexible part: a fixed number of bytes. */
	struct log_record rec;
	uint64_t taken, n;
	const char *at;
	int result;

	for (;;) {
		taken = head_of(r) - r->tail;
		if (taken == 0)
			return 0;
		if (taken > r->n_cells)
			return -EPROTO;
		if (atomic_load_explicit(word_at(r, r->tail),
					 memory_order_acquire) !=
		    committed(r, r->tail))
			return 0;
		at = cell_at(r, r->tail);
		copy(&rec, at, FIXED);
		n = rec.n_cells;
		if (!is_possible(r, n, taken, rec.kind == LOG_PAD))
			return -EPROTO;
		if (rec.kind != LOG_PAD)
			break;
		consume(r, n);
	}
	ret->cell = r->tail;
	result = take(&rec, at, n, ret) ? 1 : -EBADMSG;
	consume(r, n);
	return result;
}

bool log_is_stuck(const struct log_reader *r)
{
	return !log_is_empty(r) && atomic_load_explicit(word_at(r, r->tail),
							memory_order_acquire) !=
					   committed(r, r->tail);
}

/* A producer that finds a skipped word writes its record again.  The mark is valid in
 * this round only, so it need not be removed. */
static void skip_one(struct log_reader *r)
{
	struct log_header own = { .key = r->key };
	_Atomic uint64_t *word = word_at(r, r->tail);
	uint64_t found = atomic_load_explicit(word, memory_order_relaxed);

	if (found != committed(r, r->tail))
		(void)atomic_compare_exchange_strong(
			word, &found, log_skipped(&own, r->tail));
}

void log_skip(struct log_reader *r)
{
	uint64_t head = head_of(r);

	if (head - r->tail > r->n_cells)
		return; /* log_read() will report it */
	while (r->tail != head) {
		if (atomic_load_explicit(word_at(r, r->tail),
					 memory_order_acquire) ==
		    committed(r, r->tail))
			break;
		skip_one(r);
		/* It may have been committed in this very moment. */
		if (atomic_load_explicit(word_at(r, r->tail),
					 memory_order_acquire) ==
		    committed(r, r->tail))
			break;
		r->tail++;
	}
	atomic_store_explicit(&r->header->tail, r->tail, memory_order_release);
}

bool log_has_result(const struct log_reader *r, pid_t tid)
{
	struct log_reader at = *r;
	uint64_t head = head_of(r);

	if (head - r->tail > r->n_cells)
		return false;
	while (at.tail != head) {
		struct log_record rec;

		if (atomic_load_explicit(word_at(&at, at.tail),
					 memory_order_acquire) !=
		    committed(&at, at.tail)) {
			at.tail++;
			continue;
		}
		copy(&rec, cell_at(&at, at.tail), FIXED);
		if (!is_possible(&at, rec.n_cells, head - at.tail,
				 rec.kind == LOG_PAD))
			return false;
		if (rec.kind == LOG_RESULT_ASKED && rec.tid == tid)
			return true;
		at.tail += rec.n_cells;
	}
	return false;
}
