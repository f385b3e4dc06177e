/* test_b3.c - the tree driver against published vectors and BLAKE3's own hasher,
 * with every instruction set that this CPU has. */
#include <blake3.h>
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "b3_isa.h"
#include "blake3_vectors.h"
#include "guard.h"
#include "hash/blake3/b3.h"
#include "hash/digest/digest.h"

enum {
	CHUNK = 1024,
	LONGEST = 70000, /* of the lengths that are all tried */
	NEAR = 70, /* bytes from the end of a chunk */
	STRIDE = 31, /* between the others */
	INPUT = 3 << 20,
	N_THREADS = 4,
};

static uint8_t *input; /* INPUT bytes without a pattern */
static uint8_t vectors_input[VECTOR_MAX]; /* that of the published digests */

static uint32_t random_next(uint32_t *seed)
{
	*seed = *seed * 1664525 + 1013904223;
	return *seed >> 8;
}

static void official(const void *data, size_t len, uint8_t *digest)
{
	blake3_hasher hasher;

	blake3_hasher_init(&hasher);
	blake3_hasher_update(&hasher, data, len);
	blake3_hasher_finalize(&hasher, digest, BLAKE3_LEN);
}

/* The digest of the first `len` bytes of the input, computed once: the first
 * instruction set, which is the fastest, does the work for the others. */
static const uint8_t *expected(size_t len)
{
	static uint8_t digests[LONGEST + 1][BLAKE3_LEN];
	static bool known[LONGEST + 1];

	if (!known[len])
		official(input, len, digests[len]);
	known[len] = true;
	return digests[len];
}

static void assert_digest(const uint8_t *digest, const char *hex)
{
	char got[2 * BLAKE3_LEN + 1];

	digest_hex(got, digest, BLAKE3_LEN);
	assert_string_equal(got, hex);
}

/* Those near the end of a chunk and some others.  A forced instruction set
 * tries fewer beyond its number of lanes: the plain C among them is slow under a
 * sanitizer. */
static bool is_tried(size_t len, bool forced)
{
	size_t rest = len % CHUNK;

	if (forced && len > 18 * CHUNK)
		return len % (9 * STRIDE) == 0;
	return rest <= NEAR || rest >= CHUNK - NEAR || len % STRIDE == 0;
}

/* Every test begins with this: its state is the name of an instruction set. */
static void use_isa(void **state)
{
	const char *name = *state;

	if (!isa_force(name)) {
		print_message("this CPU has no %s\n", name);
		skip();
	}
}

/* Threads are the first to call anything, so that they race for the probe. */
struct crew {
	struct b3_shape shape;
	uint8_t *values;
	uint64_t next; /* leaf */
	pthread_mutex_t lock;
};

static void *fill_leaves(void *arg)
{
	struct crew *c = arg;

	for (;;) {
		uint64_t i;

		pthread_mutex_lock(&c->lock);
		i = c->next++;
		pthread_mutex_unlock(&c->lock);
		if (i >= b3_shape_n_leaves(&c->shape))
			return NULL;
		if (b3_leaf(&c->shape, i, input + i * c->shape.leaf_bytes,
			    b3_shape_leaf_len(&c->shape, i),
			    c->values + i * BLAKE3_LEN) < 0)
			return c;
	}
}

static void threads_share_the_leaves_of_a_message(void **state)
{
	struct crew c = { .shape = { INPUT - 77, 1 << 16 },
			  .lock = PTHREAD_MUTEX_INITIALIZER };
	uint8_t digest[BLAKE3_LEN], other[BLAKE3_LEN];
	pthread_t threads[N_THREADS];

	use_isa(state);
	c.values = calloc(b3_shape_n_leaves(&c.shape), BLAKE3_LEN);
	for (int i = 0; i < N_THREADS; i++)
		assert_int_equal(
			pthread_create(&threads[i], NULL, fill_leaves, &c), 0);
	for (int i = 0; i < N_THREADS; i++) {
		void *failed;

		pthread_join(threads[i], &failed);
		assert_null(failed);
	}
	b3_root(&c.shape, c.values, digest);
	official(input, INPUT - 77, other);
	assert_memory_equal(digest, other, BLAKE3_LEN);
	free(c.values);
}

static void digests_are_the_published_ones(void **state)
{
	uint8_t digest[BLAKE3_LEN];

	use_isa(state);
	for (int i = 0; i < N_VECTORS; i++) {
		b3_hash(vectors_input, blake3_vectors[i].len, digest);
		assert_digest(digest, blake3_vectors[i].hex);
	}
	b3_hash(NULL, 0, digest);
	assert_digest(digest, blake3_vectors[0].hex);
}

static void a_batch_has_the_published_digests(void **state)
{
	struct b3_message messages[N_VECTORS];

	use_isa(state);
	for (int i = 0; i < N_VECTORS; i++)
		messages[i] = (struct b3_message){
			.data = i ? vectors_input : NULL,
			.len = blake3_vectors[i].len,
		};
	b3_hash_batch(messages, N_VECTORS);
	for (int i = 0; i < N_VECTORS; i++)
		assert_digest(messages[i].digest, blake3_vectors[i].hex);
}

static void every_length_agrees_with_the_official_hasher(void **state)
{
	bool forced = strcmp(*state, "native") != 0;
	uint8_t digest[BLAKE3_LEN];

	use_isa(state);
	for (size_t len = 0; len <= LONGEST; len++) {
		if (!is_tried(len, forced))
			continue;
		b3_hash(input, len, digest);
		assert_memory_equal(digest, expected(len), BLAKE3_LEN);
	}
}

static void long_messages_agree_with_the_official_hasher(void **state)
{
	static const size_t lens[] = { 131072,	  262143, 262144,  262145,
				       263168,	  263169, 524288,  524289,
				       786432,	  786433, 1048576, 1048577,
				       INPUT - 1, INPUT };
	uint8_t digest[BLAKE3_LEN], other[BLAKE3_LEN];

	use_isa(state);
	for (size_t i = 0; i < sizeof(lens) / sizeof(*lens); i++) {
		b3_hash(input, lens[i], digest);
		official(input, lens[i], other);
		assert_memory_equal(digest, other, BLAKE3_LEN);
	}
}

/* All messages end where the guard begins. */
static void check_at_guard(const struct guard *g, size_t len)
{
	struct b3_message messages[] = {
		{ .data = guard_tail(g, len), .len = len },
		{ .data = guard_tail(g, len / 2), .len = len / 2 },
		{ .data = guard_tail(g, len % CHUNK), .len = len % CHUNK },
	};
	struct b3_shape shape = { len, 4 * CHUNK };
	uint64_t last = b3_shape_n_leaves(&shape) - 1;
	size_t last_len = b3_shape_leaf_len(&shape, last);
	uint8_t digest[BLAKE3_LEN];

	b3_hash_batch(messages, 3);
	for (int i = 0; i < 3; i++) {
		b3_hash(messages[i].data, messages[i].len, digest);
		assert_memory_equal(messages[i].digest, digest, BLAKE3_LEN);
	}
	assert_int_equal(b3_leaf(&shape, last, guard_tail(g, last_len),
				 last_len, digest),
			 0);
}

static void nothing_behind_the_end_is_read(void **state)
{
	struct guard g;

	use_isa(state);
	g = guard_map(LONGEST);
	for (size_t len = 0; len <= LONGEST; len += len < 2 * CHUNK ? 1 : 127)
		check_at_guard(&g, len);
	guard_unmap(&g);
}

/* Lengths as files have them: many small ones, some at the end of a chunk, a few
 * too long to be worth a lane. */
static size_t random_len(uint32_t *seed)
{
	size_t chunks = random_next(seed) % 18;

	switch (random_next(seed) % 8) {
	case 0:
		return 0;
	case 1:
		return random_next(seed) % 65;
	case 2:
	case 3:
		return chunks * CHUNK;
	case 4:
		return chunks * CHUNK + random_next(seed) % 3;
	case 5:
		return random_next(seed) % LONGEST;
	default:
		return random_next(seed) % (5 * CHUNK);
	}
}

static void a_batch_of_any_mix_agrees_with_one_by_one(void **state)
{
	static struct b3_message messages[100];
	uint32_t seed = 7;

	use_isa(state);
	for (int round = 0; round < 20; round++) {
		size_t n = random_next(&seed) % 101;

		for (size_t i = 0; i < n; i++) {
			messages[i].len = random_len(&seed);
			messages[i].data = input + random_next(&seed) % CHUNK;
		}
		b3_hash_batch(messages, n);
		for (size_t i = 0; i < n; i++) {
			uint8_t digest[BLAKE3_LEN];

			official(messages[i].data, messages[i].len, digest);
			assert_memory_equal(messages[i].digest, digest,
					    BLAKE3_LEN);
		}
	}
}

static void sixteen_equal_files_agree_at_every_size(void **state)
{
	struct b3_message messages[16];

	use_isa(state);
	for (size_t len = 0; len <= 20 * CHUNK; len += CHUNK / 2) {
		for (int i = 0; i < 16; i++)
			messages[i] = (struct b3_message){
				.data = input + i * len,
				.len = len,
			};
		b3_hash_batch(messages, 16);
		for (int i = 0; i < 16; i++) {
			uint8_t digest[BLAKE3_LEN];

			official(messages[i].data, len, digest);
			assert_memory_equal(messages[i].digest, digest,
					    BLAKE3_LEN);
		}
	}
}

/* The digest by leaves, taken in a random order. */
static void hash_shuffled(const struct b3_shape *shape, uint32_t *seed,
			  uint8_t *digest)
{
	uint64_t n = b3_shape_n_leaves(shape);
	uint8_t *values = malloc(n * BLAKE3_LEN);
	uint64_t *order = calloc(n, sizeof(*order));

	for (uint64_t i = 0; i < n; i++) {
		uint64_t k = random_next(seed) % (i + 1);

		order[i] = order[k];
		order[k] = i;
	}
	for (uint64_t i = 0; i < n; i++)
		assert_int_equal(b3_leaf(shape, order[i],
					 input + order[i] * shape->leaf_bytes,
					 b3_shape_leaf_len(shape, order[i]),
					 values + order[i] * BLAKE3_LEN),
				 0);
	b3_root(shape, values, digest);
	free(order);
	free(values);
}

static void leaves_in_any_order_make_the_same_root(void **state)
{
	uint32_t seed = 11;

	use_isa(state);
	for (int round = 0; round < 300; round++) {
		struct b3_shape shape = {
			.size_bytes = random_len(&seed),
			.leaf_bytes = CHUNK << random_next(&seed) % 8,
		};
		uint8_t digest[BLAKE3_LEN];

		hash_shuffled(&shape, &seed, digest);
		assert_memory_equal(digest, expected(shape.size_bytes),
				    BLAKE3_LEN);
	}
}

static void a_thousand_leaves_make_the_same_root(void **state)
{
	static const size_t n_leaves[] = { 127, 128, 129,  255,	 256,
					   257, 511, 512,  513,	 768,
					   769, 999, 1024, 1025, 2049 };
	uint32_t seed = 13;

	use_isa(state);
	for (size_t i = 0; i < sizeof(n_leaves) / sizeof(*n_leaves); i++) {
		struct b3_shape shape = { n_leaves[i] * CHUNK - 3, CHUNK };
		uint8_t digest[BLAKE3_LEN], other[BLAKE3_LEN];

		hash_shuffled(&shape, &seed, digest);
		official(input, shape.size_bytes, other);
		assert_memory_equal(digest, other, BLAKE3_LEN);
	}
}

static void the_only_leaf_of_a_message_is_its_digest(void **state)
{
	static const size_t lens[] = { 0, 1, 64, 1023, 1024, 1025, 4096 };

	use_isa(state);
	for (size_t i = 0; i < sizeof(lens) / sizeof(*lens); i++) {
		struct b3_shape shape = { lens[i], 4096 };
		uint8_t value[BLAKE3_LEN], digest[BLAKE3_LEN];

		assert_int_equal(b3_shape_n_leaves(&shape), 1);
		assert_int_equal(b3_leaf(&shape, 0, input, lens[i], value), 0);
		assert_memory_equal(value, expected(lens[i]), BLAKE3_LEN);
		b3_root(&shape, value, digest);
		assert_memory_equal(digest, expected(lens[i]), BLAKE3_LEN);
	}
}

/* Chunk numbers beyond 32 bits.  The two implementations that run this test,
 * BLAKE3's own and the one in plain C, know nothing of each other. */
static void a_leaf_far_into_a_message_has_a_known_value(void **state)
{
	struct b3_shape shape = { B3_SIZE_MAX, 1 << 14 };
	uint64_t last = b3_shape_n_leaves(&shape) - 1;
	uint8_t value[BLAKE3_LEN];

	use_isa(state);
	assert_int_equal(b3_leaf(&shape, UINT64_C(0x123456789a), vectors_input,
				 shape.leaf_bytes, value),
			 0);
	assert_digest(value, "3b9a8faa79d1e525927c296eb21e421a"
			     "e221eacc8dfd327ff659e35ef5ff3531");
	assert_int_equal(b3_leaf(&shape, last, vectors_input, shape.leaf_bytes,
				 value),
			 0);
	assert_digest(value, "79fd3f20240e58550fd654655beec2f1"
			     "0e47d05cf2a7c4725b482383fa728e0a");
}

static void what_is_no_leaf_is_refused(void **state)
{
	struct b3_shape shape = { 5000, 2048 };
	uint8_t value[BLAKE3_LEN] = { 42 };

	use_isa(state);
	assert_int_equal(b3_leaf(&shape, 0, input, 2047, value), -EINVAL);
	assert_int_equal(b3_leaf(&shape, 2, input, 2048, value), -EINVAL);
	assert_int_equal(b3_leaf(&shape, 3, input, 0, value), -EINVAL);
	assert_int_equal(value[0], 42);
	assert_int_equal(b3_leaf(&shape, 2, input, 904, value), 0);
}

static void shapes_know_their_bounds(void **state)
{
	static const struct {
		struct b3_shape shape;
		bool valid;
	} cases[] = {
		{ { 0, B3_LEAF_MIN }, true },
		{ { B3_SIZE_MAX, B3_LEAF_MIN }, true },
		{ { B3_SIZE_MAX, B3_LEAF_MAX }, true },
		{ { B3_SIZE_MAX + 1, B3_LEAF_DEFAULT }, false },
		{ { UINT64_MAX, B3_LEAF_DEFAULT }, false },
		{ { 1, 0 }, false },
		{ { 1, B3_LEAF_MIN / 2 }, false },
		{ { 1, B3_LEAF_MIN + 1 }, false },
		{ { 1, 3 * B3_LEAF_MIN }, false },
		{ { 1, 2U * B3_LEAF_MAX }, false },
	};
	struct b3_shape largest = { B3_SIZE_MAX, B3_LEAF_MIN };

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		assert_int_equal(b3_shape_is_valid(&cases[i].shape),
				 cases[i].valid);
	assert_true(b3_shape_n_leaves(&largest) == UINT64_C(1) << 53);
	assert_int_equal(b3_shape_leaf_len(&largest, (UINT64_C(1) << 53) - 1),
			 1024);
}

#define PROOF(fn)       \
	{               \
#fn, fn \
	}

static const struct {
	const char *name;
	void (*run)(void **state);
} proofs[] = {
	PROOF(threads_share_the_leaves_of_a_message),
	PROOF(digests_are_the_published_ones),
	PROOF(a_batch_has_the_published_digests),
	PROOF(every_length_agrees_with_the_official_hasher),
	PROOF(long_messages_agree_with_the_official_hasher),
	PROOF(nothing_behind_the_end_is_read),
	PROOF(a_batch_of_any_mix_agrees_with_one_by_one),
	PROOF(sixteen_equal_files_agree_at_every_size),
	PROOF(leaves_in_any_order_make_the_same_root),
	PROOF(a_thousand_leaves_make_the_same_root),
	PROOF(the_only_leaf_of_a_message_is_its_digest),
	PROOF(a_leaf_far_into_a_message_has_a_known_value),
	PROOF(what_is_no_leaf_is_refused),
	PROOF(shapes_know_their_bounds),
};

enum { N_PROOFS = sizeof(proofs) / sizeof(*proofs), MAX_ISAS = 6 };

static struct CMUnitTest tests[MAX_ISAS * N_PROOFS];

/* Every proof for every instruction set, named for both. */
static size_t list_tests(void)
{
	static char names[MAX_ISAS * N_PROOFS][100];
	size_t n = 0;

	for (size_t i = 0; i < n_isas; i++)
		for (size_t k = 0; k < N_PROOFS; k++, n++) {
			snprintf(names[n], sizeof(names[n]), "%s: %s",
				 isa_names[i], proofs[k].name);
			tests[n] = (struct CMUnitTest){
				.name = names[n],
				.test_func = proofs[k].run,
				.initial_state = (void *)isa_names[i],
			};
		}
	return n;
}

static int make_input(void **state)
{
	uint32_t seed = 1;

	(void)state;
	input = malloc(INPUT);
	if (!input)
		return -1;
	for (size_t i = 0; i < INPUT; i++)
		input[i] = (uint8_t)random_next(&seed);
	vector_input(vectors_input, VECTOR_MAX);
	return 0;
}

static int free_input(void **state)
{
	(void)state;
	free(input);
	return 0;
}

int main(void)
{
	return _cmocka_run_group_tests("b3", tests, list_tests(), make_input,
				       free_input);
}
