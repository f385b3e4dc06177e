/* b3_kernel.c - compression by the code of the official release, which picks the
 * widest instructions that the CPU has; see b3_internal.h */
#include <blake3_impl.h>
#include <pthread.h>

#include "hash/blake3/b3.h"
#include "hash/blake3/b3_internal.h"

_Static_assert(MAX_SIMD_DEGREE <= B3_LANES, "a batch would not fill the lanes");

static void look(void)
{
	(void)blake3_simd_degree();
}

void b3_probe(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	(void)pthread_once(&once, look);
}

void b3_compress(uint32_t state[8], const uint8_t block[B3_BLOCK], uint8_t len,
		 uint64_t counter, uint8_t flags)
{
	blake3_compress_in_place(state, block, len, counter, flags);
}

void b3_many(const uint8_t *const *inputs, size_t n, const struct b3_pass *pass,
	     uint8_t *values)
{
	blake3_hash_many(inputs, n, pass->n_blocks, b3_iv, pass->counter,
			 pass->counts, pass->flags, pass->first, pass->last,
			 values);
}
