/* fuzz_leaf_tree.c - a leaf tree as somebody stored it.
 *
 * A digest that fits cannot be guessed, so the target takes the one that the
 * values join to: then everything well-formed must be accepted and stored again
 * byte by byte.  A changed value must be refused. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "hash/blake3/leaf_tree.h"

enum { LEAF_AT = 12, SIZE_AT = 16, VALUES_AT = 24 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void require(int promise)
{
	if (!promise)
		abort();
}

/* What the header says, read in another way than leaf_tree.c does it; false: it is
 * none, or not of so many bytes. */
static bool shape_of(const uint8_t *bytes, size_t len, struct b3_shape *ret)
{
	*ret = (struct b3_shape){ 0 };
	if (len < VALUES_AT || memcmp(bytes, "roar-b3\0\1\0\0", LEAF_AT) != 0)
		return false;
	for (int i = 0; i < 4; i++)
		ret->leaf_bytes |= (uint32_t)bytes[LEAF_AT + i] << 8 * i;
	for (int i = 0; i < 8; i++)
		ret->size_bytes |= (uint64_t)bytes[SIZE_AT + i] << 8 * i;
	return b3_shape_is_valid(ret) &&
	       len % BLAKE3_LEN == VALUES_AT % BLAKE3_LEN &&
	       b3_shape_n_leaves(ret) == (len - VALUES_AT) / BLAKE3_LEN;
}

static void check_loaded(const struct leaf_tree *u, const uint8_t *bytes,
			 size_t len)
{
	uint8_t *again = malloc(len);

	require(again && leaf_tree_stored_len(u) == len);
	leaf_tree_store(u, again);
	require(memcmp(again, bytes, len) == 0);
	require(!leaf_tree_check(u, u->n_leaves, bytes, len));
	(void)leaf_tree_check(u, u->n_leaves - 1, bytes, len);
	free(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	uint8_t digest[BLAKE3_LEN] = { 0 };
	uint8_t *bytes = malloc(len ? len : 1);
	struct b3_shape shape;
	bool well_formed;
	struct leaf_tree u;
	int r;

	require(bytes != NULL);
	if (len)
		memcpy(bytes, data, len);
	well_formed = shape_of(bytes, len, &shape);
	if (well_formed)
		b3_root(&shape, bytes + VALUES_AT, digest);
	r = leaf_tree_load(bytes, len, digest, &u);
	require(r == (well_formed ? 0 : -EINVAL));
	if (r == 0) {
		check_loaded(&u, bytes, len);
		leaf_tree_release(&u);
		bytes[VALUES_AT + len % (len - VALUES_AT)] ^= 1;
		require(leaf_tree_load(bytes, len, digest, &u) == -EBADMSG);
	}
	free(bytes);
	return 0;
}
