/* fuzz_ckpt_header.c - the header of a safetensors file.
 *
 * The input is the whole file.  What is accepted covers its data, each byte once. */
#include <stdint.h>
#include <stdlib.h>

#include "ckpt/ckpt_header.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void require(int promise)
{
	if (!promise)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct ckpt_header h;
	size_t header_len;
	uint64_t end;

	if (len < 8 || ckpt_header_len(data, len, &header_len) < 0)
		return 0;
	require(header_len <= len);
	if (ckpt_header_read(&h, data, header_len, len, "x", NULL) < 0)
		return 0;
	end = h.data_at;
	for (size_t i = 0; i < h.n_items; i++) {
		require(h.items[i].at == end);
		end += h.items[i].n_bytes;
	}
	require(end == len);
	ckpt_header_release(&h);
	return 0;
}
