/* test_hash_lane.c - pieces that a second thread hashes, in buffers that change hands. */
#include "test.h"

#include <stdlib.h>
#include <string.h>

#include "hash/blake3/b3.h"
#include "hash_lane.h"

enum { N_PIECES = 50, PIECE = 40000, LEN = N_PIECES * PIECE };

static uint8_t content[LEN];

static void two_messages_by_turns_have_their_digests(void **state)
{
	struct loop *loop;
	struct hash_lane lane;
	struct multihash hashes[2];
	uint8_t expected[BLAKE3_LEN];
	char *input = malloc(HTTP_READ_LEN);
	unsigned n_aside = 0;

	(void)state;
	for (size_t i = 0; i < LEN; i++)
		content[i] = (uint8_t)(i * 31 + i / 977);
	b3_hash(content, LEN, expected);
	assert_int_equal(loop_new(&loop), 0);
	assert_int_equal(hash_lane_init(&lane, loop), 0);
	for (int m = 0; m < 2; m++) {
		multihash_init(&hashes[m]);
		assert_int_equal(
			multihash_start(&hashes[m], DIGEST_SET_BLAKE3, 0), 0);
	}
	for (size_t i = 0; i < 2 * (size_t)N_PIECES; i++) {
		struct multihash *m = &hashes[i % 2];
		char *other = hash_lane_buffer(&lane);

		memcpy(input + 7, content + i / 2 * PIECE, PIECE);
		if (other) {
			assert_ptr_not_equal(other, input);
			hash_lane_add(&lane, m, input, input + 7, PIECE);
			input = other;
			n_aside++;
		} else {
			hash_lane_finish(&lane);
			multihash_update(m, input + 7, PIECE);
		}
		/* What is read next must not reach what is being hashed. */
		memset(input, 0xff, HTTP_READ_LEN);
	}
	assert_true(n_aside >= HASH_LANE_PIECES);
	hash_lane_finish(&lane);
	for (int m = 0; m < 2; m++) {
		struct digests d;

		assert_int_equal(multihash_final(&hashes[m], &d), 0);
		assert_memory_equal(d.blake3, expected, BLAKE3_LEN);
		multihash_release(&hashes[m]);
	}
	hash_lane_release(&lane);
	loop_free(loop);
	free(input);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(two_messages_by_turns_have_their_digests),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
