/* test_ckpt_reader.c - what was saved is loaded, bit for bit, or the damage is named */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "test.h"

#include "base/macros.h"
#include "blob/blob.h"
#include "ckpt/ckpt_manifest_file.h"
#include "ckpt/ckpt_reader.h"
#include "made_checkpoint.h"

struct place {
	char base[64], replica[64];
	struct blob_store *store, *other;
};

static int make_place(void **state)
{
	struct place *p = calloc(1, sizeof(*p));

	(void)strcpy(p->base, "/tmp/test-ckpt.XXXXXX");
	(void)strcpy(p->replica, "/tmp/test-ckpt.XXXXXX");
	if (!mkdtemp(p->base) || !mkdtemp(p->replica))
		return -1;
	*state = p;
	return blob_open(p->base, false, 1, &p->store, NULL) < 0 ||
	       blob_open(p->replica, false, 1, &p->other, NULL) < 0;
}

static int remove_place(void **state)
{
	struct place *p = *state;
	char command[256];

	blob_close(p->store);
	blob_close(p->other);
	(void)snprintf(command, sizeof(command), "rm -rf '%s' '%s'", p->base,
		       p->replica);
	free(p);
	return system(command);
}

static uint32_t seed = 1;

static uint32_t below(uint32_t n)
{
	seed = seed * 1664525 + 1013904223;
	return (uint32_t)((uint64_t)seed * n >> 32);
}

static void step_file(const struct place *p, char ret[256], const char *name)
{
	(void)snprintf(ret, 256, "%s/step-000000000001/%s", p->base, name);
}

static void flip(const char *path, long at, unsigned char bits)
{
	CLEANUP(fclosep) FILE *f = fopen(path, "r+e");
	int c;

	assert_non_null(f);
	assert_int_equal(fseek(f, at, SEEK_SET), 0);
	c = fgetc(f);
	assert_true(c != EOF);
	assert_int_equal(fseek(f, at, SEEK_SET), 0);
	assert_true(fputc(c ^ bits, f) != EOF);
}

static void open_reader(struct blob_store *store, uint64_t step,
			const struct ckpt_reader_options *options,
			struct ckpt_reader **ret)
{
	struct roar_error err = { 0 };
	int r = ckpt_reader_open(store, step, options, ret, &err);

	assert_string_equal(err.text, "");
	assert_int_equal(r, 0);
}

/* Loads the rows that rank `rank` of `world` has of each tensor and compares them. */
static int load_rank(struct ckpt_reader *reader, const struct made_state *s,
		     unsigned rank, unsigned world, unsigned misalign,
		     struct roar_error *err)
{
	struct ckpt_want wants[MADE_TENSORS];
	uint64_t offset[MADE_TENSORS][3] = { { 0 } }, shape[MADE_TENSORS][3];
	char *memory[MADE_TENSORS];
	int r;

	for (int i = 0; i < MADE_TENSORS; i++) {
		const struct made_tensor *t = &made_tensors[i];
		uint64_t row = t->n_bytes / t->shape[0];

		memcpy(shape[i], t->shape, sizeof(shape[i]));
		offset[i][0] = t->shape[0] * rank / world;
		shape[i][0] = t->shape[0] * (rank + 1) / world - offset[i][0];
		memory[i] = aligned_alloc(4096, (t->n_bytes + 8192) & ~4095ul);
		assert_non_null(memory[i]);
		wants[i] = (struct ckpt_want){
			.tensor = t->name,
			.offset = offset[i],
			.shape = shape[i],
			.n_dims = t->n_dims,
			.to = memory[i] + misalign,
			.to_bytes = shape[i][0] * row,
		};
	}
	r = ckpt_reader_load(reader, wants, MADE_TENSORS, err);
	for (int i = 0; i < MADE_TENSORS; i++) {
		uint64_t row = made_tensors[i].n_bytes /
			       made_tensors[i].shape[0];

		if (r == 0)
			assert_memory_equal(wants[i].to,
					    s->bytes[i] + offset[i][0] * row,
					    wants[i].to_bytes);
		free(memory[i]);
	}
	return r;
}

static void a_state_is_loaded_by_any_number_of_ranks(void **state)
{
	struct place *p = *state;
	struct made_state s;

	made_state_init(&s, 7);
	for (unsigned from = 1; from <= 5; from++) {
		made_checkpoint_write(p->base, &s,
				      &(struct made_options){ .step = from,
							      .world = from });
		for (unsigned to = 1; to <= 7; to++)
			for (unsigned rank = 0; rank < to; rank++) {
				const struct ckpt_reader_options o = {
					.n_threads = 1 + rank,
					.page_cache = to % 2,
				};
				CLEANUP(ckpt_reader_closep)
				struct ckpt_reader *reader = NULL;

				open_reader(p->store, from, &o, &reader);
				assert_int_equal(load_rank(reader, &s, rank, to,
							   to == 3 ? 5 : 0,
							   NULL),
						 0);
			}
	}
	made_state_release(&s);
}

/* A box of every tensor with random corners. */
static void random_slices_are_exact(void **state)
{
	struct place *p = *state;
	CLEANUP(ckpt_reader_closep) struct ckpt_reader *reader = NULL;
	struct made_state s;

	made_state_init(&s, 8);
	made_checkpoint_write(p->base, &s,
			      &(struct made_options){ .step = 1, .world = 3 });
	open_reader(p->store, 1, NULL, &reader);
	for (int n = 0; n < 200; n++) {
		const struct made_tensor *t = &made_tensors[n % MADE_TENSORS];
		size_t element = ckpt_dtype_bytes((enum ckpt_dtype)t->dtype);
		uint64_t offset[3] = { 0 }, shape[3] = { 1, 1, 1 }, at = 0;
		CLEANUP(freep) char *to = malloc(t->n_bytes + 1);
		struct ckpt_want want = { .tensor = t->name,
					  .offset = offset,
					  .shape = shape,
					  .n_dims = t->n_dims,
					  .to = to,
					  .to_bytes = element };

		for (unsigned d = 0; d < t->n_dims; d++) {
			offset[d] = below((uint32_t)t->shape[d]);
			shape[d] = 1 +
				   below((uint32_t)(t->shape[d] - offset[d]));
			want.to_bytes *= shape[d];
		}
		assert_int_equal(ckpt_reader_load(reader, &want, 1, NULL), 0);
		for (uint64_t i = 0; i < shape[0]; i++)
			for (uint64_t j = 0; j < shape[1]; j++)
				for (uint64_t k = 0; k < shape[2]; k++) {
					uint64_t index = offset[0] + i;

					if (t->n_dims > 1)
						index = index * t->shape[1] +
							offset[1] + j;
					if (t->n_dims > 2)
						index = index * t->shape[2] +
							offset[2] + k;
					assert_memory_equal(
						to + element * at++,
						s.bytes[n % MADE_TENSORS] +
							element * index,
						element);
				}
	}
	made_state_release(&s);
}

static void a_slice_reads_only_its_leaves(void **state)
{
	struct place *p = *state;
	CLEANUP(ckpt_reader_closep) struct ckpt_reader *reader = NULL;
	uint64_t offset[] = { 5000 }, shape[] = { 10 };
	struct ckpt_want want = { .tensor = "bytes",
				  .offset = offset,
				  .shape = shape,
				  .n_dims = 1,
				  .to_bytes = 10 };
	struct made_state s;
	char to[10];

	want.to = to;
	made_state_init(&s, 9);
	made_checkpoint_write(p->base, &s,
			      &(struct made_options){ .step = 1, .world = 1 });
	open_reader(p->store, 1, NULL, &reader);
	assert_int_equal(ckpt_reader_load(reader, &want, 1, NULL), 0);
	assert_memory_equal(to, s.bytes[3] + 5000, 10);
	assert_true(ckpt_reader_bytes_read(reader) <= 2 * MADE_LEAF);
	made_state_release(&s);
}

/* Any bytes of a rank's file, by the calling thread. */
static void bytes_of_a_file_are_exact(void **state)
{
	struct place *p = *state;
	CLEANUP(ckpt_reader_closep) struct ckpt_reader *reader = NULL;
	struct ckpt_want want = { .tensor = "bytes", .to_bytes = 20001 };
	CLEANUP(freep) char *whole = NULL, *to = NULL;
	struct roar_error err = { 0 };
	struct made_state s;
	uint64_t size;

	made_state_init(&s, 9);
	made_checkpoint_write(p->base, &s,
			      &(struct made_options){ .step = 1, .world = 1 });
	open_reader(p->store, 1, NULL, &reader);
	assert_int_equal(ckpt_reader_prepare(reader, &err), 0);
	size = ckpt_reader_manifest(reader)->files[0].size_bytes;
	whole = malloc(size);
	to = malloc(size);
	assert_int_equal(ckpt_reader_read(reader, 0, 0, whole, size, &err), 0);
	assert_memory_equal(whole + size - 20001, s.bytes[3], 20001);
	for (int i = 0; i < 100; i++) {
		uint64_t from = below((uint32_t)size);
		uint64_t len = below((uint32_t)(size - from) + 1);

		assert_int_equal(
			ckpt_reader_read(reader, 0, from, to, len, &err), 0);
		assert_memory_equal(to, whole + from, len);
	}
	assert_int_equal(ckpt_reader_read(reader, 0, 1, to, size, &err),
			 -EINVAL);
	assert_int_equal(ckpt_reader_read(reader, 1, 0, to, 1, &err), -EINVAL);
	want.to = to;
	assert_int_equal(ckpt_reader_fetch(reader, &want, 1, &err), 0);
	assert_memory_equal(to, s.bytes[3], 20001);
	made_state_release(&s);
}

static void a_tensor_in_one_place_can_be_mapped(void **state)
{
	struct place *p = *state;
	CLEANUP(ckpt_reader_closep) struct ckpt_reader *one = NULL, *two = NULL;
	struct roar_error err = { 0 };
	const void *bytes = NULL;
	size_t len = 0;
	struct made_state s;
	char path[256];

	made_state_init(&s, 9);
	made_checkpoint_write(p->base, &s,
			      &(struct made_options){ .step = 1, .world = 1 });
	made_checkpoint_write(p->base, &s,
			      &(struct made_options){ .step = 2, .world = 2 });
	open_reader(p->store, 1, NULL, &one);
	for (int i = 0; i < MADE_TENSORS; i++) {
		assert_int_equal(ckpt_reader_map(one, made_tensors[i].name,
						 &bytes, &len, &err),
				 0);
		assert_int_equal(len, made_tensors[i].n_bytes);
		assert_memory_equal(bytes, s.bytes[i], len);
	}
	assert_int_equal(ckpt_reader_map(one, "x", &bytes, &len, &err),
			 -ENOENT);
	open_reader(p->store, 2, NULL, &two);
	assert_int_equal(ckpt_reader_map(two, "bytes", &bytes, &len, &err),
			 -ENOTSUP);
	step_file(p, path, "data-00000-of-00001-00000001.safetensors");
	flip(path, 10000, 1);
	assert_int_equal(ckpt_reader_map(one, "optim.m", &bytes, &len, &err),
			 -EBADMSG);
	made_state_release(&s);
}

static void what_is_not_there_is_named(void **state)
{
	struct place *p = *state;
	CLEANUP(ckpt_reader_closep) struct ckpt_reader *reader = NULL;
	uint64_t big[] = { 100, 34 }, one[] = { 1 }, zero[] = { 0, 0 };
	char to[100];
	const struct {
		struct ckpt_want want;
		int r;
		const char *words;
	} cases[] = {
		{ { .tensor = "model.v" }, -ENOENT, "no tensor 'model.v'" },
		{ { .tensor = "model.w", .to = to, .to_bytes = 5 },
		  -EINVAL,
		  "13200 bytes, but its destination 5" },
		{ { .tensor = "model.w",
		    .offset = zero,
		    .shape = big,
		    .n_dims = 2 },
		  -EINVAL,
		  "dimension 1" },
		{ { .tensor = "model.w",
		    .offset = zero,
		    .shape = one,
		    .n_dims = 1 },
		  -EINVAL,
		  "has 2 dimensions, not 1" },
		{ { .tensor = "model.w", .shape = zero, .n_dims = 2 },
		  -EINVAL,
		  "lacks its offset" },
		{ { .tensor = "model.w", .offset = zero, .n_dims = 2 },
		  -EINVAL,
		  "lacks its offset or its shape" },
	};
	struct made_state s;
	struct roar_error err = { 0 };

	made_state_init(&s, 1);
	made_checkpoint_write(p->base, &s,
			      &(struct made_options){ .step = 5, .world = 2 });
	assert_int_equal(ckpt_reader_open(p->store, 6, NULL, &reader, &err),
			 -ENOENT);
	assert_non_null(strstr(err.text, "no checkpoint of step 6"));
	open_reader(p->store, 5, NULL, &reader);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_int_equal(ckpt_reader_load(reader, &cases[i].want, 1,
						  &err),
				 cases[i].r);
		assert_non_null(strstr(err.text, cases[i].words));
	}
	made_state_release(&s);
}

/* ---- deltas ---- */

/* Changes a few bytes here and there. */
static void train(struct made_state *s)
{
	for (int i = 0; i < 6; i++) {
		int t = (int)below(MADE_TENSORS);

		s->bytes[t][below((uint32_t)made_tensors[t].n_bytes)] ^=
			(unsigned char)(1 + below(255));
	}
}

/* Steps 1 to `n`, each a delta of the one before.  states[] has what each holds. */
static void write_chain(const char *base, struct made_state *states,
			unsigned world, int n)
{
	for (int i = 0; i < n; i++) {
		made_state_init(&states[i], 5);
		for (int k = 0; i && k < MADE_TENSORS; k++)
			memcpy(states[i].bytes[k], states[i - 1].bytes[k],
			       made_tensors[k].n_bytes);
		if (i % 4) /* now and then nothing changes */
			train(&states[i]);
		made_checkpoint_write(
			base, &states[i],
			&(struct made_options){
				.step = (uint64_t)i + 1,
				.world = world,
				.parent = (uint64_t)i,
				.parent_state = i ? &states[i - 1] : NULL });
	}
}

static void a_chain_of_deltas_loads_at_every_step(void **state)
{
	struct place *p = *state;
	struct made_state states[12];

	write_chain(p->base, states, 2, 12);
	for (unsigned i = 0; i < 12; i++) {
		CLEANUP(ckpt_reader_closep) struct ckpt_reader *reader = NULL;

		open_reader(p->store, i + 1, NULL, &reader);
		for (unsigned rank = 0; rank < 3; rank++)
			assert_int_equal(load_rank(reader, &states[i], rank, 3,
						   0, NULL),
					 0);
		assert_int_equal(ckpt_reader_scan(reader, NULL, NULL, NULL), 0);
		made_state_release(&states[i]);
	}
}

/* ---- damage ---- */

struct seen {
	size_t n;
	char source[128];
	uint64_t offset;
	int error;
	bool repaired;
};

static void note_damage(void *ctx, const struct ckpt_damage *d)
{
	struct seen *seen = ctx;

	seen->n++;
	(void)snprintf(seen->source, sizeof(seen->source), "%s", d->source);
	seen->offset = d->source_offset;
	seen->error = d->error;
	seen->repaired = d->repair != NULL;
}

/* Opens and verifies everything: what a flipped byte must not survive. */
static bool is_whole(struct blob_store *store, struct seen *seen)
{
	const struct ckpt_reader_options o = { .damage = note_damage,
					       .ctx = seen };
	CLEANUP(ckpt_reader_closep) struct ckpt_reader *reader = NULL;

	*seen = (struct seen){ 0 };
	return ckpt_reader_open(store, 1, &o, &reader, NULL) == 0 &&
	       ckpt_reader_scan(reader, NULL, NULL, NULL) == 0;
}

static void every_flipped_byte_is_detected(void **state)
{
	static const char *const names[] = {
		"data-00000-of-00002-00000001.safetensors",
		"data-00001-of-00002-00000001.tree", "manifest.json"
	};
	struct place *p = *state;
	struct made_state s;
	struct seen seen;

	made_state_init(&s, 3);
	made_checkpoint_write(p->base, &s,
			      &(struct made_options){ .step = 1, .world = 2 });
	assert_true(is_whole(p->store, &seen));
	for (int i = 0; i < 300; i++) {
		unsigned char bits = (unsigned char)(1 + below(255));
		char path[256];
		struct stat st;
		long at;

		step_file(p, path, names[i % 3]);
		assert_int_equal(stat(path, &st), 0);
		at = (long)below((uint32_t)st.st_size);
		flip(path, at, bits);
		if (is_whole(p->store, &seen))
			fail_msg("%s: byte %ld ^ %d was not noticed", path, at,
				 bits);
		if (i % 3 == 0) {
			assert_int_equal(seen.n, 1);
			assert_int_equal(seen.error, -EBADMSG);
			assert_int_equal(seen.offset,
					 at / MADE_LEAF * MADE_LEAF);
			assert_non_null(strstr(seen.source, names[0]));
		}
		flip(path, at, bits);
	}
	assert_true(is_whole(p->store, &seen));
	made_state_release(&s);
}

/* Its header and what is after a short leaf too. */
static void every_flipped_byte_of_a_delta_is_detected(void **state)
{
	struct place *p = *state;
	struct made_state s, zero;
	struct seen seen;
	struct stat st;
	char path[256];

	made_state_init(&s, 3);
	made_state_init(&zero, 4);
	made_checkpoint_write(p->base, &zero,
			      &(struct made_options){ .step = 2, .world = 1 });
	made_checkpoint_write(p->base, &s,
			      &(struct made_options){ .step = 1,
						      .world = 1,
						      .parent = 2,
						      .parent_state = &zero });
	assert_true(is_whole(p->store, &seen));
	step_file(p, path, "data-00000-of-00001-00000001.safetensors");
	assert_int_equal(stat(path, &st), 0);
	for (int i = 0; i < 100; i++) {
		long at = (long)below((uint32_t)st.st_size);

		if (i % 3 == 0)
			at = (long)below(4096);
		if (i % 3 == 1)
			at = st.st_size - 1 - (long)below(4096);
		flip(path, at, 1);
		if (is_whole(p->store, &seen))
			fail_msg("byte %ld was not noticed", at);
		flip(path, at, 1);
	}
	assert_int_equal(truncate(path, st.st_size + 1), 0);
	assert_false(is_whole(p->store, &seen));
	made_state_release(&s);
	made_state_release(&zero);
}

static void a_load_names_file_tensor_and_offset(void **state)
{
	struct place *p = *state;
	CLEANUP(ckpt_reader_closep) struct ckpt_reader *reader = NULL;
	struct roar_error err = { 0 };
	struct made_state s;
	char path[256];

	made_state_init(&s, 3);
	made_checkpoint_write(p->base, &s,
			      &(struct made_options){ .step = 1, .world = 1 });
	step_file(p, path, "data-00000-of-00001-00000001.safetensors");
	flip(path, 4096 + 40 * 20 * 7 * 8 + 6000, 1);
	open_reader(p->store, 1, NULL, &reader);
	assert_int_equal(load_rank(reader, &s, 0, 1, 0, &err), -EBADMSG);
	assert_non_null(strstr(err.text, "data-00000-of-00001-00000001"));
	assert_non_null(strstr(err.text, "at offset 53248"));
	assert_non_null(strstr(err.text, "model.w"));
	made_state_release(&s);
}

static void files_that_are_short_or_gone_are_damage(void **state)
{
	struct place *p = *state;
	struct made_state s;
	struct seen seen;
	struct stat st;
	char path[256];

	made_state_init(&s, 3);
	made_checkpoint_write(p->base, &s,
			      &(struct made_options){ .step = 1, .world = 2 });
	step_file(p, path, "data-00000-of-00002-00000001.safetensors");
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(truncate(path, st.st_size - 1), 0);
	assert_false(is_whole(p->store, &seen));
	assert_int_equal(seen.n, 1);
	assert_int_equal(seen.error, -ENODATA);
	assert_int_equal(unlink(path), 0);
	assert_false(is_whole(p->store, &seen));
	assert_int_equal(seen.error, -ENOENT);
	assert_int_equal(seen.n, (st.st_size - 1) / MADE_LEAF + 1);
	step_file(p, path, "data-00001-of-00002-00000001.tree");
	assert_int_equal(truncate(path, 100), 0);
	assert_false(is_whole(p->store, &seen));
	step_file(p, path, "manifest.json");
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(truncate(path, st.st_size / 2), 0);
	assert_false(is_whole(p->store, &seen));
	made_state_release(&s);
}

/* A link in the place of a file, or of the directory, leads elsewhere. */
static void links_are_not_followed(void **state)
{
	struct place *p = *state;
	struct made_state s;
	struct seen seen;
	char path[256], away[300];

	made_state_init(&s, 3);
	made_checkpoint_write(p->base, &s,
			      &(struct made_options){ .step = 1, .world = 1 });
	step_file(p, path, "data-00000-of-00001-00000001.safetensors");
	(void)snprintf(away, sizeof(away), "%s/moved", p->replica);
	assert_int_equal(rename(path, away), 0);
	assert_int_equal(symlink(away, path), 0);
	assert_false(is_whole(p->store, &seen));
	assert_int_equal(seen.error, -ELOOP);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(rename(away, path), 0);
	assert_true(is_whole(p->store, &seen));
	(void)snprintf(path, sizeof(path), "%s/step-000000000001", p->base);
	assert_int_equal(rename(path, away), 0);
	assert_int_equal(symlink(away, path), 0);
	assert_false(is_whole(p->store, &seen));
	made_state_release(&s);
}

/* A manifest whose seal is right, and whose path is not. */
static void a_path_that_leads_out_is_refused(void **state)
{
	struct place *p = *state;
	CLEANUP(str_release) struct str text = STR_INIT, bad = STR_INIT;
	CLEANUP(ckpt_reader_closep) struct ckpt_reader *reader = NULL;
	struct roar_error err = { 0 };
	struct made_state s;
	const char *found;

	made_state_init(&s, 3);
	made_checkpoint_write(p->base, &s,
			      &(struct made_options){ .step = 1, .world = 1 });
	assert_int_equal(blob_get(p->store, "step-000000000001/manifest.json",
				  1 << 20, &text, NULL),
			 0);
	found = strstr(text.data, "\"step-000000000001/data");
	assert_non_null(found);
	str_add(&bad, text.data, (size_t)(found - text.data));
	str_adds(&bad, "\"step-000000000001/../data");
	found += strlen("\"step-000000000001/data");
	str_add(&bad, found,
		text.len - CKPT_SEAL_LEN - (size_t)(found - text.data));
	str_adds(&bad, "}\n");
	ckpt_seal_add(&bad);
	assert_int_equal(blob_put(p->store, "step-000000000001/manifest.json",
				  NULL, bad.data, bad.len, 0, NULL),
			 0);
	assert_int_equal(ckpt_reader_open(p->store, 1, NULL, &reader, &err),
			 -EBADMSG);
	assert_non_null(strstr(err.text, "path is not"));
	made_state_release(&s);
}

/* A newer format is named as such, with any seal. */
static void a_newer_format_is_refused_as_such(void **state)
{
	static const char newer[] = "{\"roar_checkpoint\":2,\"x\":1}\n";
	struct place *p = *state;
	CLEANUP(ckpt_reader_closep) struct ckpt_reader *reader = NULL;
	struct roar_error err = { 0 };

	assert_int_equal(blob_put(p->store, "step-000000000001/manifest.json",
				  NULL, newer, strlen(newer), 0, NULL),
			 0);
	assert_int_equal(ckpt_reader_open(p->store, 1, NULL, &reader, &err),
			 -ENOTSUP);
	assert_non_null(strstr(err.text, "newer roar"));
}

/* ---- repair ---- */

static void a_replica_repairs_leaves_and_trees(void **state)
{
	struct place *p = *state;
	struct seen seen = { 0 };
	const struct ckpt_reader_options o = { .replicas = &p->other,
					       .n_replicas = 1,
					       .damage = note_damage,
					       .ctx = &seen };
	CLEANUP(ckpt_reader_closep) struct ckpt_reader *reader = NULL;
	struct roar_error err = { 0 };
	struct made_state s;
	char path[256];

	made_state_init(&s, 3);
	made_checkpoint_write(p->base, &s,
			      &(struct made_options){ .step = 1, .world = 2 });
	made_checkpoint_write(p->replica, &s,
			      &(struct made_options){ .step = 1,
						      .world = 2,
						      .save = "abcdef01" });
	step_file(p, path, "data-00000-of-00002-00000001.safetensors");
	flip(path, 10000, 1);
	flip(path, 20000, 1);
	step_file(p, path, "data-00001-of-00002-00000001.safetensors");
	assert_int_equal(unlink(path), 0);
	step_file(p, path, "data-00001-of-00002-00000001.tree");
	flip(path, 70, 1);
	open_reader(p->store, 1, &o, &reader);
	assert_int_equal(load_rank(reader, &s, 0, 1, 0, &err), 0);
	assert_true(seen.n > 3);
	assert_true(seen.repaired);

	/* A replica of another state has nothing to offer. */
	ckpt_reader_close(TAKE_PTR(reader));
	s.bytes[2][5000] ^= 1;
	made_checkpoint_write(p->replica, &s,
			      &(struct made_options){ .step = 1, .world = 2 });
	s.bytes[2][5000] ^= 1;
	open_reader(p->store, 1, &o, &reader);
	assert_int_equal(load_rank(reader, &s, 0, 1, 0, &err), -EBADMSG);
	made_state_release(&s);
}

/* Step 2 has a copy of its own of everything, so the parent can help. */
static void the_parent_repairs_what_did_not_change(void **state)
{
	struct place *p = *state;
	struct seen seen = { 0 };
	const struct ckpt_reader_options o = { .damage = note_damage,
					       .ctx = &seen };
	CLEANUP(ckpt_reader_closep) struct ckpt_reader *reader = NULL;
	struct made_state s, zero;
	char path[256];

	made_state_init(&s, 3);
	made_state_init(&zero, 99);
	made_checkpoint_write(p->base, &s,
			      &(struct made_options){ .step = 2, .world = 1 });
	made_checkpoint_write(p->base, &s,
			      &(struct made_options){ .step = 1,
						      .world = 1,
						      .parent = 2,
						      .parent_state = &zero });
	step_file(p, path, "data-00000-of-00001-00000001.safetensors");
	flip(path, 4096 + 4096 + 5, 1);
	open_reader(p->store, 1, &o, &reader);
	assert_int_equal(load_rank(reader, &s, 0, 1, 0, NULL), 0);
	assert_int_equal(seen.n, 1);
	assert_true(seen.repaired);
	made_state_release(&s);
	made_state_release(&zero);
}

static bool cancel(void *ctx, uint64_t done, uint64_t total)
{
	(void)ctx;
	return done <= total;
}

static int never(void *ctx, uint32_t file, uint64_t offset, const void *bytes,
		 size_t len)
{
	(void)ctx;
	(void)file;
	(void)offset;
	(void)bytes;
	(void)len;
	return -ENOSPC;
}

static void a_scan_ends_with_the_error_of_its_receiver(void **state)
{
	struct place *p = *state;
	const struct ckpt_reader_options o = { .look = cancel };
	CLEANUP(ckpt_reader_closep) struct ckpt_reader *reader = NULL;
	struct roar_error err = { 0 };
	struct made_state s;

	made_state_init(&s, 3);
	made_checkpoint_write(p->base, &s,
			      &(struct made_options){ .step = 1, .world = 1 });
	open_reader(p->store, 1, NULL, &reader);
	assert_int_equal(ckpt_reader_scan(reader, never, NULL, &err), -ENOSPC);
	ckpt_reader_close(TAKE_PTR(reader));
	open_reader(p->store, 1, &o, &reader);
	(void)ckpt_reader_scan(reader, NULL, NULL, &err);
	made_state_release(&s);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, make_place, remove_place)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_state_is_loaded_by_any_number_of_ranks),
		TEST(random_slices_are_exact),
		TEST(a_slice_reads_only_its_leaves),
		TEST(bytes_of_a_file_are_exact),
		TEST(a_tensor_in_one_place_can_be_mapped),
		TEST(what_is_not_there_is_named),
		TEST(a_chain_of_deltas_loads_at_every_step),
		TEST(every_flipped_byte_is_detected),
		TEST(every_flipped_byte_of_a_delta_is_detected),
		TEST(a_load_names_file_tensor_and_offset),
		TEST(files_that_are_short_or_gone_are_damage),
		TEST(links_are_not_followed),
		TEST(a_path_that_leads_out_is_refused),
		TEST(a_newer_format_is_refused_as_such),
		TEST(a_replica_repairs_leaves_and_trees),
		TEST(the_parent_repairs_what_did_not_change),
		TEST(a_scan_ends_with_the_error_of_its_receiver),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
