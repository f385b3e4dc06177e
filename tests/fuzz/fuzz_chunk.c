/* fuzz_chunk.c - values that stand where the coordinator's log should be, in etcd.
 *
 * A checksum that fits cannot be guessed, so it is made here: the input is a list of chunks,
 * each a byte for its length and what follows its checksum; a byte of 255 leaves the checksum
 * wrong.  Whatever comes, no more is given than came; and the records, put into chunks again,
 * are the same. */
#include <endian.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "etcd/chunk.h"
#include "hash/digest/crc64nvme.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void require(bool promise)
{
	if (!promise)
		abort();
}

struct records {
	struct chunk_queue again; /* the same, as we would write them */
	struct str bytes; /* of all, one behind the other */
	uint64_t n;
};

static int take(void *to, const void *record, size_t len)
{
	struct records *r = to;

	require(len > 0);
	str_add(&r->bytes, record, len);
	require(chunk_add(&r->again, record, len, ++r->n) == 0);
	return 0;
}

static int compare(void *to, const void *record, size_t len)
{
	struct str *left = to;

	require(len <= left->len && memcmp(left->data, record, len) == 0);
	left->data += len;
	left->len -= len;
	return 0;
}

static int read_one(struct chunk_reader *r, const uint8_t *data, size_t len,
		    bool good, struct records *to)
{
	uint8_t chunk[8 + 256];
	uint64_t crc = htole64(crc64nvme(0, data, len) + !good);

	memcpy(chunk, &crc, sizeof(crc));
	if (len)
		memcpy(chunk + sizeof(crc), data, len);
	return chunk_read(r, chunk, sizeof(crc) + len, take, to);
}

static void read_again(struct records *r)
{
	struct chunk_reader reader = { 0 };
	struct str left = r->bytes;
	const struct chunk *c;

	for (; (c = chunk_first(&r->again)); chunk_drop_first(&r->again))
		require(chunk_read(&reader, c->bytes.data, c->bytes.len,
				   compare, &left) == 0);
	require(left.len == 0);
	chunk_reader_release(&reader);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct chunk_reader reader = { 0 };
	struct records r = { 0 };
	size_t came = len;

	while (len > 0) {
		bool good = data[0] != 255;
		size_t n = data[0] < len - 1 ? data[0] : len - 1;
		int e = read_one(&reader, data + 1, n, good, &r);

		require(e == 0 || e == -EBADMSG);
		require(good || e == -EBADMSG);
		if (e < 0)
			break;
		data += 1 + n;
		len -= 1 + n;
	}
	require(r.bytes.len <= came);
	read_again(&r);
	chunk_reader_release(&reader);
	chunk_queue_release(&r.again);
	str_release(&r.bytes);
	return 0;
}
