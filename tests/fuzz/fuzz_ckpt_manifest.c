/* fuzz_ckpt_manifest.c - a manifest, or the part of one writer, as somebody stored it.
 *
 * What is accepted must agree with itself: it is written as a text that is read as the same
 * again, and its parts can be found where it says. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "ckpt/ckpt_manifest.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void require(int promise)
{
	if (!promise)
		abort();
}

static void check_promises(const struct ckpt_manifest *m)
{
	for (size_t i = 0; i < m->n_files; i++) {
		const struct ckpt_file *f = &m->files[i];
		const struct b3_shape shape = { f->size_bytes, f->leaf_bytes };
		uint64_t end = 0;

		for (size_t k = 0; k < f->n_extents; k++) {
			require(strstr(f->extents[k].path, "..") == NULL);
			require(f->extents[k].first_leaf == end);
			end += f->extents[k].n_leaves;
		}
		require(end == b3_shape_n_leaves(&shape));
	}
	for (size_t i = 0; i < m->n_tensors; i++) {
		const struct ckpt_tensor *t = &m->tensors[i];

		require(ckpt_manifest_tensor(m, t->name) == t);
		for (size_t k = 0; k < t->n_parts; k++)
			require(t->parts[k].at +
					ckpt_part_bytes(t, &t->parts[k]) <=
				m->files[t->parts[k].file].size_bytes);
	}
}

static void read_again(const struct ckpt_manifest *m, bool is_part)
{
	struct str text = STR_INIT, twice = STR_INIT;
	struct ckpt_manifest again;

	ckpt_manifest_write(m, &text);
	require(ckpt_manifest_read(&again, text.data, text.len, is_part, "x",
				   NULL) == 0);
	ckpt_manifest_write(&again, &twice);
	require(text.len == twice.len &&
		memcmp(text.data, twice.data, text.len) == 0);
	ckpt_manifest_release(&again);
	str_release(&text);
	str_release(&twice);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	for (int is_part = 0; is_part < 2; is_part++) {
		struct ckpt_manifest m;

		if (ckpt_manifest_read(&m, (const char *)data, len,
				       is_part != 0, "x", NULL) < 0)
			continue;
		check_promises(&m);
		read_again(&m, is_part != 0);
		ckpt_manifest_release(&m);
	}
	return 0;
}
