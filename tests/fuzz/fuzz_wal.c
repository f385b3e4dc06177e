/* fuzz_wal.c - the coordinator's log as a crash, or a disk, left it.
 *
 * A checksum that fits cannot be guessed, so the input is a script that makes a log of good
 * and bad pieces; its last byte says whether the bytes are taken as they are instead.  What
 * the reader must say is known by then: the good records up to the first bad one; damage
 * when a record of a later write stands behind that, else a tail that can be cut.  After
 * the cut the log must be whole.
 *
 * The salt comes from the whole input: with one that never changes, the fuzzer soon puts
 * records into payloads, as an enemy would who knew it. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/str.h"
#include "coord/wal/wal_reader.h"
#include "hash/digest/crc64nvme.h"

enum { MAX_FILE = 1 << 16 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void require(int promise)
{
	if (!promise)
		abort();
}

struct made {
	struct str bytes;
	uint64_t salt;
	uint64_t seq; /* of the next record */
	uint32_t mark; /* how many of this write came before it */
	uint64_t n_good; /* records before the first bad piece */
	uint64_t good_end; /* where they end */
	uint64_t bad_seq; /* the number of the first that is not there; 0: none */
	int is_damaged; /* a record of a later write stands behind it */
};

static void add_record(struct made *m, const uint8_t *payload, size_t len)
{
	size_t size = wal_record_size(len);

	require(str_reserve(&m->bytes, size) == 0);
	wal_record_put((unsigned char *)m->bytes.data + m->bytes.len, m->salt,
		       m->mark, m->seq, payload, len);
	m->bytes.len += size;
	if (!m->bad_seq) {
		m->n_good++;
		m->good_end = m->bytes.len;
	} else if (m->seq - m->mark > m->bad_seq) {
		m->is_damaged = 1;
	}
	m->seq++;
	m->mark++;
}

/* A record of which something is wrong. */
static void add_bad(struct made *m, const uint8_t *payload, size_t len,
		    unsigned where)
{
	size_t at = m->bytes.len;
	int was_damaged = m->is_damaged;

	if (!m->bad_seq)
		m->bad_seq = m->seq;
	add_record(m, payload, len);
	m->is_damaged = was_damaged; /* it says nothing */
	m->bytes.data[at + where % (WAL_HEAD + len)] ^= 1;
}

/* Each step: an operation, a length, payload. */
static void make(struct made *m, const uint8_t *data, size_t len)
{
	while (len > 2 && m->bytes.len < MAX_FILE) {
		unsigned what = data[0] % 4;
		size_t n = 1 + data[1] % 60;

		data += 2;
		len -= 2;
		n = n > len ? len : n;
		if (what == 3)
			m->mark = 0; /* a new write begins */
		if (what == 2)
			add_bad(m, data, n, data[0]);
		else
			add_record(m, data, n);
		data += n;
		len -= n;
	}
}

static int read_to_end(struct wal_reader *r, uint64_t *ret_n)
{
	const void *payload;
	size_t len;
	int e;

	*ret_n = 0;
	while ((e = wal_reader_next(r, &payload, &len)) > 0) {
		require(len > 0 && payload != NULL);
		++*ret_n;
	}
	return e;
}

/* What was read once is read again after the cut, and that is all. */
static void check_cut(int fd, enum wal_kind kind, uint64_t end, uint64_t n)
{
	struct wal_reader r;
	uint64_t again;

	require(ftruncate(fd, (off_t)end) == 0);
	require(wal_reader_open(&r, fd, kind, 1) == 0);
	require(read_to_end(&r, &again) == 0 && again == n && r.at == end);
	wal_reader_release(&r);
}

static void read_made(int fd, struct made *m)
{
	struct wal_reader r;
	uint64_t n;
	int e;

	require(wal_reader_open(&r, fd, WAL_LOG, 1) == 0);
	e = read_to_end(&r, &n);
	require(n == m->n_good && r.at == m->good_end);
	require(e == (m->is_damaged ? -EBADMSG : 0));
	wal_reader_release(&r);
	if (e == 0)
		check_cut(fd, WAL_LOG, m->good_end, n);
}

static void read_raw(int fd)
{
	for (enum wal_kind kind = WAL_LOG; kind <= WAL_SNAPSHOT; kind++) {
		struct wal_reader r;
		uint64_t n;
		int e = wal_reader_open(&r, fd, kind, 1);

		require(e == 0 || e == -EBADMSG);
		if (e < 0)
			continue;
		e = read_to_end(&r, &n);
		require(e == 0 || e == -EBADMSG);
		wal_reader_release(&r);
		if (e == 0 && kind == WAL_LOG)
			check_cut(fd, kind, r.at, n);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static int fd = -1;
	struct made m = { .salt = crc64nvme(1, data, len),
			  .seq = 1,
			  .good_end = WAL_HEADER };
	int is_raw = len && data[len - 1] == 'R';

	if (fd < 0)
		fd = memfd_create("log", MFD_CLOEXEC);
	require(fd >= 0 && ftruncate(fd, 0) == 0);
	require(str_reserve(&m.bytes, WAL_HEADER) == 0);
	wal_header_put((unsigned char *)m.bytes.data, WAL_LOG, 1, m.salt);
	m.bytes.len = WAL_HEADER;
	if (is_raw) {
		str_clear(&m.bytes);
		str_add(&m.bytes, data, len - 1);
	} else if (len) {
		make(&m, data, len - 1);
	}
	require(pwrite(fd, m.bytes.data ? m.bytes.data : "", m.bytes.len, 0) ==
		(ssize_t)m.bytes.len);
	if (is_raw)
		read_raw(fd);
	else
		read_made(fd, &m);
	str_release(&m.bytes);
	return 0;
}
