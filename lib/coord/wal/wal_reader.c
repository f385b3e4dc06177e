/* wal_reader.c - see wal_reader.h */
#include "coord/wal/wal_reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/vec.h"
#include "coord/wal/wal.h"

enum { PIECE = 1 << 20 };

static int fill(struct wal_reader *r, uint64_t at, size_t need)
{
	uint64_t left = r->size - at;
	size_t want = need > PIECE ? need : PIECE;

	if (want > left)
		want = left;
	if (vec_reserve(&r->window, &r->cap, want, 1) < 0)
		return -ENOMEM;
	r->window_at = at;
	r->len = 0;
	while (r->len < want) {
		ssize_t n = pread(r->fd, r->window + r->len, want - r->len,
				  (off_t)(at + r->len));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EIO; /* it became shorter */
		r->len += (size_t)n;
	}
	return 0;
}

/* The `need` bytes at `at`: 1, 0 when the file has not so many, or an error. */
static int look(struct wal_reader *r, uint64_t at, size_t need,
		const unsigned char **ret)
{
	int fits;

	if (at > r->size || need > r->size - at)
		return 0;
	fits = at >= r->window_at && at - r->window_at <= r->len &&
	       need <= r->len - (at - r->window_at);
	if (!fits) {
		int e = fill(r, at, need);

		if (e < 0)
			return e;
	}
	*ret = r->window + (at - r->window_at);
	return 1;
}

int wal_reader_open(struct wal_reader *r, int fd, enum wal_kind kind,
		    uint64_t number)
{
	const unsigned char *header;
	struct stat st;
	int e = fd_stat(fd, &st);

	if (e < 0)
		return e;
	*r = (struct wal_reader){ .fd = fd,
				  .kind = kind,
				  .number = number,
				  .size = (uint64_t)st.st_size,
				  .seq = kind == WAL_LOG ? number : 1 };
	e = look(r, 0, WAL_HEADER, &header);
	if (e > 0)
		e = wal_header_get(header, kind, number, &r->salt);
	if (e == 0)
		e = -EBADMSG;
	if (e < 0) {
		wal_reader_release(r);
		return e;
	}
	r->at = WAL_HEADER;
	return 0;
}

void wal_reader_release(struct wal_reader *r)
{
	free(r->window);
	r->window = NULL;
	r->cap = r->len = 0;
}

/* Whether so long a record can stand there. */
static bool fits(const struct wal_reader *r, uint64_t at,
		 const struct wal_head *head)
{
	return head->len && head->len <= WAL_MAX_RECORD &&
	       head->len <= r->size - at - WAL_HEAD;
}

/* Whether such a record was written after the one that is missing was on disk: its
 * write begins behind that.  Records take some bytes, so the distance says how many
 * can lie between. */
static bool is_of_later_write(const struct wal_reader *r, uint64_t at,
			      const struct wal_head *head)
{
	return head->seq > r->seq &&
	       head->seq - r->seq <= (at - r->at) / WAL_MIN_SIZE &&
	       head->mark < head->seq - r->seq;
}

/* The head at `at`: 1, 0 when the file is too short for one, or an error. */
static int head_at(struct wal_reader *r, uint64_t at, struct wal_head *ret)
{
	const unsigned char *bytes;
	int e = look(r, at, WAL_HEAD, &bytes);

	if (e > 0)
		wal_head_get(bytes, ret);
	return e;
}

/* 1 when the record with that head, which fits, checks out; 0, or an error. */
static int check_at(struct wal_reader *r, uint64_t at,
		    const struct wal_head *head, const unsigned char **ret)
{
	int e = look(r, at, WAL_HEAD + (size_t)head->len, ret);

	return e > 0 ? wal_record_is_whole(*ret, r->salt, head) : e;
}

/* Is there a record behind the end that says that the end is none?  Heads that are not
 * ours can make us compute checksums in vain; who has put in that many has
 * damaged the file. */
static int look_behind(struct wal_reader *r)
{
	uint64_t patience = 8 * r->size + WAL_MAX_RECORD;

	for (uint64_t at = r->at + WAL_MIN_SIZE; at < r->size; at += 8) {
		const unsigned char *record;
		struct wal_head head;
		int e = head_at(r, at, &head);

		if (e <= 0)
			return e;
		if (!fits(r, at, &head) || !is_of_later_write(r, at, &head))
			continue;
		e = check_at(r, at, &head, &record);
		if (e < 0)
			return e;
		if (e > 0 || head.len > patience) {
			r->proof = at;
			return -EBADMSG;
		}
		patience -= head.len;
	}
	return 0;
}

/* A snapshot is whole or none: its last record is the only end it has. */
static int end_of_snapshot(const unsigned char *record,
			   const struct wal_head *head)
{
	uint64_t count = 0;

	for (int i = 7; head->len == 8 && i >= 0; i--)
		count = count << 8 | record[WAL_HEAD + i];
	return head->mark == 1 && head->seq == count + 1 ? 0 : -EBADMSG;
}

int wal_reader_next(struct wal_reader *r, const void **ret_payload,
		    size_t *ret_len)
{
	const unsigned char *record;
	struct wal_head head;
	int e = head_at(r, r->at, &head);

	if (e > 0)
		e = fits(r, r->at, &head) && head.seq == r->seq ?
			    check_at(r, r->at, &head, &record) :
			    0;
	if (e < 0)
		return e;
	if (e == 0)
		return r->kind == WAL_LOG ? look_behind(r) : -EBADMSG;
	if (r->kind == WAL_SNAPSHOT && head.mark)
		return end_of_snapshot(record, &head);
	r->at += wal_record_size(head.len);
	r->seq++;
	*ret_payload = record + WAL_HEAD;
	*ret_len = head.len;
	return 1;
}
