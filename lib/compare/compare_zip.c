/* compare_zip.c - the directory of a zip archive, and npz files
 *
 * The end of the file has the place of the directory:
 *
 *	"PK\5\6"  4 disk numbers  u16 n  u16 n  u32 bytes  u32 offset  u16 comment
 *
 * or, where 0xffff or 0xffffffff stand there, a locator "PK\6\7" just before it has the
 * place of a 64-bit record "PK\6\6".  Entries of the directory are "PK\1\2", 42 bytes, the
 * name, extra fields and a comment; extra field 1 has the sizes that do not fit in 32
 * bits.  A local header "PK\3\4" of 30 bytes, name and extra fields stands before the
 * bytes of each file. */
#include <errno.h>
#include <string.h>

#include "base/byte_order.h"
#include "base/cleanup.h"
#include "base/map.h"
#include "base/pool.h"
#include "compare/compare_internal.h"

enum {
	END = 22,
	END_SEARCH = END + 65535, /* with the longest comment */
	LOCATOR = 20,
	END64 = 56,
	ENTRY = 46,
	LOCAL = 30,
	DIRECTORY_MAX = 16 << 20,
	MEMBERS_MAX = 100000,
};

struct directory {
	uint64_t at, bytes, n;
};

static int read_end64(int fd, uint64_t end_at, struct directory *d)
{
	uint8_t locator[LOCATOR], end[END64];
	int r = end_at < LOCATOR ?
			-EBADMSG :
			compare_read_at(fd, end_at - LOCATOR, locator, LOCATOR);

	if (r < 0 || memcmp(locator, "PK\6\7", 4) != 0)
		return r < 0 ? r : -EBADMSG;
	if (le64_get(locator + 8) > end_at)
		return -EBADMSG;
	r = compare_read_at(fd, le64_get(locator + 8), end, END64);
	if (r < 0 || memcmp(end, "PK\6\6", 4) != 0)
		return r < 0 ? r : -EBADMSG;
	*d = (struct directory){ .n = le64_get(end + 32),
				 .bytes = le64_get(end + 40),
				 .at = le64_get(end + 48) };
	return 0;
}

static int take_end(int fd, uint64_t at, const uint8_t *end,
		    struct directory *d)
{
	*d = (struct directory){ .n = le16_get(end + 10),
				 .bytes = le32_get(end + 12),
				 .at = le32_get(end + 16) };
	if (d->n == UINT16_MAX || d->bytes == UINT32_MAX || d->at == UINT32_MAX)
		return read_end64(fd, at, d);
	return 0;
}

static int find_directory(int fd, uint64_t file_bytes, struct directory *d)
{
	size_t len = file_bytes < END_SEARCH ? (size_t)file_bytes : END_SEARCH;
	CLEANUP(freep) uint8_t *tail = malloc(END_SEARCH);

	if (!tail)
		return -ENOMEM;
	if (len < END)
		return -EBADMSG;
	int r = compare_read_at(fd, file_bytes - len, tail, len);

	if (r < 0)
		return r;
	for (size_t i = len - END + 1; i-- > 0;)
		if (memcmp(tail + i, "PK\5\6", 4) == 0 &&
		    le16_get(tail + i + 20) == len - END - i)
			return take_end(fd, file_bytes - len + i, tail + i, d);
	return -EBADMSG;
}

/* The sizes in extra field 1 are those whose 32 bits are all set, in this order. */
static int take_extra(struct zip_member *m, const uint8_t *p, size_t len)
{
	uint64_t *const fields[] = { &m->size, &m->packed, &m->at };

	for (size_t n; len >= 4; p += n, len -= n) {
		n = 4 + (size_t)le16_get(p + 2);
		if (n > len)
			return -EBADMSG;
		if (le16_get(p) != 1)
			continue;
		size_t at = 4;

		for (size_t i = 0; i < 3; i++) {
			if (*fields[i] != UINT32_MAX)
				continue;
			if (at + 8 > n)
				return -EBADMSG;
			*fields[i] = le64_get(p + at);
			at += 8;
		}
	}
	return 0;
}

/* One entry of the directory; returns its length. */
static ssize_t take_entry(const uint8_t *p, size_t len, struct pool *pool,
			  struct zip_member *m)
{
	if (len < ENTRY || memcmp(p, "PK\1\2", 4) != 0)
		return -EBADMSG;
	size_t name = le16_get(p + 28), extra = le16_get(p + 30);
	size_t total = ENTRY + name + extra + le16_get(p + 32);

	if (total > len || memchr(p + ENTRY, 0, name))
		return -EBADMSG;
	if (le16_get(p + 8) & 1) /* encrypted */
		return -ENOTSUP;
	*m = (struct zip_member){ .name = pool_dup(pool, p + ENTRY, name),
				  .method = le16_get(p + 10),
				  .packed = le32_get(p + 20),
				  .size = le32_get(p + 24),
				  .at = le32_get(p + 42) };
	if (!m->name)
		return -ENOMEM;
	int r = take_extra(m, p + ENTRY + name, extra);

	return r < 0 ? r : (ssize_t)total;
}

static int read_directory(int fd, const struct directory *d, struct pool *pool,
			  struct zip_member **ret)
{
	CLEANUP(freep) uint8_t *bytes = malloc(d->bytes + 1);
	struct zip_member *members = pool_alloc(pool,
						(d->n + 1) * sizeof(*members));
	size_t at = 0;

	if (!bytes || !members)
		return -ENOMEM;
	int r = compare_read_at(fd, d->at, bytes, d->bytes);

	for (size_t i = 0; r == 0 && i < d->n; i++) {
		ssize_t n = take_entry(bytes + at, d->bytes - at, pool,
				       &members[i]);

		if (n < 0)
			return (int)n;
		at += (size_t)n;
	}
	*ret = members;
	return r;
}

int zip_list(int fd, uint64_t file_bytes, struct pool *pool,
	     struct zip_member **ret, size_t *ret_n, struct roar_error *why)
{
	struct directory d = { 0 };
	int r = find_directory(fd, file_bytes, &d);

	if (r == 0 && (d.bytes > DIRECTORY_MAX || d.n > MEMBERS_MAX))
		r = -ENOTSUP;
	if (r == 0 && (d.at > file_bytes || d.bytes > file_bytes - d.at))
		r = -EBADMSG;
	if (r == 0)
		r = read_directory(fd, &d, pool, ret);
	if (r == -EBADMSG || r == -ENOTSUP)
		return error_set(why, r, "the directory of the zip archive %s",
				 r == -EBADMSG ? "is not valid" :
						 "is not supported");
	*ret_n = d.n;
	return r;
}

int zip_open_member(int fd, uint64_t file_bytes, const struct zip_member *m,
		    struct compare_source *ret, struct roar_error *why)
{
	uint8_t local[LOCAL];
	int r = m->at > file_bytes ? -EBADMSG :
				     compare_read_at(fd, m->at, local, LOCAL);

	if (r == 0 && memcmp(local, "PK\3\4", 4) != 0)
		r = -EBADMSG;
	if (r < 0)
		return error_set(why, r,
				 "'%.150s' of the zip archive is not "
				 "where its directory says",
				 m->name);
	uint64_t at = m->at + LOCAL + le16_get(local + 26) +
		      le16_get(local + 28);

	if (at > file_bytes || m->packed > file_bytes - at)
		return error_set(why, -EBADMSG,
				 "'%.150s' of the zip archive is truncated",
				 m->name);
	if (m->method != 0 && m->method != 8)
		return error_set(why, -ENOTSUP,
				 "'%.150s' of the zip archive is compressed in "
				 "an unknown way",
				 m->name);
	return source_open(ret, m->method ? SOURCE_DEFLATE : SOURCE_PLAIN, fd,
			   at, m->packed);
}

static int compare_members(struct comparison *c, const struct zip_member *a,
			   const struct zip_member *b)
{
	CLEANUP(source_close) struct compare_source in_a = { .fd = -1 };
	CLEANUP(source_close) struct compare_source in_b = { .fd = -1 };
	int r = zip_open_member(c->file[0].fd, c->size[0], a, &in_a, c->why);

	if (r == 0)
		r = zip_open_member(c->file[1].fd, c->size[1], b, &in_b,
				    c->why);
	return r < 0 ? r :
		       compare_npy_sources(c, a->name, &in_a, a->size, &in_b,
					   b->size);
}

struct archive {
	struct zip_member *members;
	size_t n;
	struct map by_name;
};

static int read_archive(struct comparison *c, int side, struct pool *pool,
			struct archive *a)
{
	int r = zip_list(c->file[side].fd, c->size[side], pool, &a->members,
			 &a->n, c->why);

	for (size_t i = 0; r == 0 && i < a->n; i++) {
		const char *name = a->members[i].name;

		if (map_get(&a->by_name, name, strlen(name)))
			return error_set(c->why, -EBADMSG,
					 "the zip archive has '%.150s' twice",
					 name);
		r = map_set(&a->by_name, name, strlen(name), &a->members[i]);
	}
	return r;
}

static bool has_all(struct comparison *c, const struct archive *a,
		    const struct archive *other, const char *which)
{
	for (size_t i = 0; i < a->n; i++)
		if (!map_get(&other->by_name, a->members[i].name,
			     strlen(a->members[i].name))) {
			tally_unlike(c, "array '%.150s' is only in the %s",
				     a->members[i].name, which);
			return false;
		}
	return true;
}

static int compare_archives(struct comparison *c, struct archive *a,
			    struct archive *b, struct pool *pool)
{
	int r = read_archive(c, 0, pool, a);

	if (r == 0)
		r = read_archive(c, 1, pool, b);
	if (r < 0 || !has_all(c, a, b, "first file") ||
	    !has_all(c, b, a, "second file"))
		return r;
	for (size_t i = 0;
	     r == 0 && i < a->n && c->result->verdict != COMPARE_UNLIKE; i++) {
		const char *name = a->members[i].name;

		r = compare_members(c, &a->members[i],
				    map_get(&b->by_name, name, strlen(name)));
	}
	return r;
}

int compare_npz(struct comparison *c)
{
	CLEANUP(pool_release) struct pool pool = POOL_INIT;
	struct archive a = { .by_name = MAP_INIT }, b = { .by_name = MAP_INIT };
	int r = compare_archives(c, &a, &b, &pool);

	map_release(&a.by_name);
	map_release(&b.by_name);
	return r;
}
