/* fuzz_compare.c - typed comparison of two files.
 *
 * The first byte of the input chooses the type, the next two are the length of the first
 * file.  Only equal bytes are identical, a file is identical to itself, and exchanging the
 * files keeps the verdict. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/fd.h"
#include "compare/compare.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void require(int promise)
{
	if (!promise)
		abort();
}

static int hold(const uint8_t *data, size_t len)
{
	int fd = memfd_create("x", MFD_CLOEXEC);

	require(fd >= 0 && fd_write_all(fd, data, len) == 0);
	return fd;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static const char *const names[] = { "x.safetensors", "x.npy",	"x.npz",
					     "x.json",	      "x.csv",	"x.tsv",
					     "x.png",	      "x.jsonl" };
	const struct compare_options o = { .rtol = 1e-3, .atol = 1e-6 };

	if (len < 3)
		return 0;
	size_t n = data[1] | (size_t)data[2] << 8;
	const char *name = names[data[0] % 8];

	data += 3;
	len -= 3;
	n = n < len ? n : len;
	struct compare_file a = { hold(data, n), name };
	struct compare_file b = { hold(data + n, len - n), name };
	struct compare_result r, reverse;

	require(compare_files(&a, &b, &o, &r, NULL) == 0);
	require(compare_files(&b, &a, &o, &reverse, NULL) == 0);
	require(r.verdict == reverse.verdict);
	require((r.verdict == COMPARE_IDENTICAL) ==
		(n == len - n && memcmp(data, data + n, n) == 0));
	require(compare_files(&a, &a, &o, &r, NULL) == 0);
	require(r.verdict == COMPARE_IDENTICAL);
	close(a.fd);
	close(b.fd);
	return 0;
}
