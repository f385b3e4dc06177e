/* audit.c - the writer of audit files; see audit.h */
#include "shard/audit/audit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/str.h"
#include "base/vec.h"
#include "shard/audit/audit_reader.h"

struct audit {
	int fd;
	uint64_t chain; /* checksum of what is in the file */
	uint64_t offset; /* where the next record goes */
	uint64_t *totals; /* positions of each segment */
	size_t n_segments;
	size_t cap;
	uint32_t pending_index; /* the segment that `pending` is of */
	struct interval_set pending; /* consumed, and not written yet */
	bool failed; /* a write was lost: the file ends here */
};

static void audit_free(struct audit *a)
{
	closep(&a->fd);
	free(a->totals);
	interval_set_release(&a->pending);
	free(a);
}

DEFINE_CLEANUP(struct audit *, audit_free)

/* ---- opening ---- */

/* Reads what is there; what was cut off at the end goes. */
static int read_on(struct audit *a, struct audit_reader *reader)
{
	int r;

	do {
		CLEANUP(audit_record_release)
		struct audit_record record = { 0 };

		r = audit_reader_next(reader, &record);
	} while (r > 0);
	if (r < 0)
		return r;
	a->chain = reader->chain;
	a->offset = reader->offset;
	a->totals = TAKE_PTR(reader->totals);
	a->n_segments = reader->n_segments;
	a->cap = reader->cap;
	return 0;
}

static int find_end(struct audit *a, uint64_t *ret_offset)
{
	CLEANUP(audit_reader_release) struct audit_reader reader = { 0 };
	CLEANUP(fclosep) FILE *file = NULL;
	int fd = fcntl(a->fd, F_DUPFD_CLOEXEC, 0);
	int r;

	if (fd < 0)
		return -errno;
	file = fdopen(fd, "r");
	if (!file) {
		r = -errno;
		(void)close(fd);
		return r;
	}
	r = audit_reader_init(&reader, file);
	if (r == 0)
		r = read_on(a, &reader);
	*ret_offset = reader.offset;
	return r;
}

static int begin_file(struct audit *a)
{
	a->offset = AUDIT_MAGIC_LEN;
	if (lseek(a->fd, 0, SEEK_SET) < 0)
		return -errno;
	return fd_write_all(a->fd, audit_magic, AUDIT_MAGIC_LEN);
}

/* Behind the last whole record. */
static int go_to_end(struct audit *a)
{
	if (ftruncate(a->fd, (off_t)a->offset) < 0 ||
	    lseek(a->fd, (off_t)a->offset, SEEK_SET) < 0)
		return -errno;
	return 0;
}

static int open_at_end(struct audit *a, const char *path,
		       struct roar_error *err)
{
	uint64_t offset = 0;
	int r;

	if (flock(a->fd, LOCK_EX | LOCK_NB) < 0)
		return error_set(err, errno == EWOULDBLOCK ? -EBUSY : -errno,
				 "cannot write audit file '%.500s': %s", path,
				 errno == EWOULDBLOCK ?
					 "another process does, give each rank "
					 "a file of its own" :
					 strerror(errno));
	r = find_end(a, &offset);
	if (r == -ENODATA)
		r = begin_file(a);
	if (r == 0)
		r = go_to_end(a);
	if (r == -EBADMSG)
		return error_set(err, r,
				 "'%.500s' is %s: move it away, or name "
				 "another file",
				 path,
				 offset ? "a damaged audit file" :
					  "not an audit file");
	if (r < 0)
		return error_set(err, r, "cannot read audit file '%.500s': %s",
				 path, strerror(-r));
	return 0;
}

int audit_open(const char *path, struct audit **ret, struct roar_error *err)
{
	CLEANUP(audit_freep) struct audit *a = calloc(1, sizeof(*a));
	int r;

	if (!a)
		return error_set(err, -ENOMEM, "out of memory");
	a->fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
	if (a->fd < 0)
		return error_set(err, -errno,
				 "cannot open audit file '%.500s': %s", path,
				 strerror(errno));
	r = open_at_end(a, path, err);
	if (r == 0)
		*ret = TAKE_PTR(a);
	return r;
}

/* ---- writing ---- */

/* A record that is there in part is cut off, so that the next one can follow; when that
 * fails too, nothing may follow. */
static int write_record(struct audit *a, const struct str *bytes,
			uint64_t chain)
{
	int r = a->failed ? -EIO : str_error(bytes);

	if (r < 0)
		return r;
	r = fd_write_all(a->fd, bytes->data, bytes->len);
	if (r < 0) {
		a->failed = go_to_end(a) < 0;
		return r;
	}
	a->offset += bytes->len;
	a->chain = chain;
	return 0;
}

static int write_positions(struct audit *a, enum audit_kind kind,
			   uint32_t index, const struct interval_set *positions)
{
	CLEANUP(str_release) struct str bytes = STR_INIT;
	uint64_t chain = a->chain;

	audit_put_positions(&bytes, &chain, kind, index, positions);
	return write_record(a, &bytes, chain);
}

static int write_pending(struct audit *a)
{
	int r;

	if (!a->pending.n)
		return 0;
	r = write_positions(a, AUDIT_CONSUMED, a->pending_index, &a->pending);
	if (r == 0)
		interval_set_clear(&a->pending);
	return r;
}

int audit_flush(struct audit *a, bool sync)
{
	int r = write_pending(a);

	if (r == 0 && sync && fdatasync(a->fd) < 0)
		r = -errno;
	return r;
}

int audit_close(struct audit *a)
{
	int r;

	if (!a)
		return 0;
	r = audit_flush(a, true);
	audit_free(a);
	return r;
}

int audit_begin(struct audit *a, const struct audit_segment *segment,
		uint32_t *ret_index)
{
	CLEANUP(str_release) struct str bytes = STR_INIT;
	uint64_t chain;
	int r;

	if (!audit_segment_is_valid(segment))
		return -EINVAL;
	if (a->n_segments >= UINT32_MAX)
		return -ENOBUFS;
	r = write_pending(a);
	if (r == 0)
		r = vec_reserve(&a->totals, &a->cap, a->n_segments + 1,
				sizeof(*a->totals));
	if (r < 0)
		return r;
	chain = a->chain;
	audit_put_segment(&bytes, &chain, segment);
	r = write_record(a, &bytes, chain);
	if (r < 0)
		return r;
	*ret_index = (uint32_t)a->n_segments;
	a->totals[a->n_segments++] = segment->total;
	return 0;
}

/* What is pending is one set of one segment, in which nothing is twice. */
static bool fits(const struct audit *a, uint32_t index, uint64_t first,
		 uint64_t end)
{
	return a->pending_index == index && a->pending.n < AUDIT_PENDING_MAX &&
	       !interval_set_overlap(&a->pending, first, end);
}

int audit_consumed(struct audit *a, uint32_t index, uint64_t first,
		   uint64_t end)
{
	int r = 0;

	if (index >= a->n_segments || first > end || end > a->totals[index])
		return -EINVAL;
	if (!fits(a, index, first, end))
		r = write_pending(a);
	if (r < 0)
		return r;
	a->pending_index = index;
	return interval_set_add(&a->pending, first, end, NULL);
}

/* What is rare is written at once. */
static int note(struct audit *a, enum audit_kind kind, uint32_t index,
		const struct interval_set *positions)
{
	int r;

	if (index >= a->n_segments ||
	    (positions->n &&
	     positions->items[positions->n - 1].end > a->totals[index]))
		return -EINVAL;
	r = write_pending(a);
	if (r < 0 || !positions->n)
		return r;
	return write_positions(a, kind, index, positions);
}

int audit_dropped(struct audit *a, uint32_t index,
		  const struct interval_set *positions)
{
	return note(a, AUDIT_DROPPED, index, positions);
}

int audit_padded(struct audit *a, uint32_t index,
		 const struct interval_set *positions)
{
	return note(a, AUDIT_PADDED, index, positions);
}
