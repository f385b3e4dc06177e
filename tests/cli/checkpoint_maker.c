/* checkpoint_maker.c - saves a checkpoint; knows nothing of roar but the library.
 *
 *	checkpoint_maker BASE STEP WORLD SEED [PARENT [OFFSET]...]
 *
 * Byte i of tensor k is (i % 251 + 13 * k + SEED) % 256; the bytes of model.w at the
 * OFFSETs are inverted.  PARENT is "step-…", or "" for none. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <roar/checkpoint.h>

enum { TENSORS = 4, WORLD_MAX = 16 };

static const struct {
	const char *name, *dtype;
	uint32_t n_dims;
	uint64_t shape[2];
	size_t row_bytes;
} kinds[TENSORS] = {
	{ "model.w", "F32", 2, { 600, 1000 }, 4000 },
	{ "model.b", "BF16", 1, { 1001 }, 2 },
	{ "optim.m", "F64", 2, { 400, 500 }, 4000 },
	{ "count", "I64", 0, { 1 }, 8 },
};

static unsigned char *make_bytes(int k, size_t len, int seed)
{
	unsigned char *bytes = malloc(len);

	for (size_t i = 0; bytes && i < len; i++)
		bytes[i] = (unsigned char)(i % 251 + 13u * (unsigned)k +
					   (unsigned)seed);
	return bytes;
}

static int fail(const char *what)
{
	(void)fprintf(stderr, "%s: %s\n", what, roar_checkpoint_error());
	return 1;
}

/* The rows of a rank; the scalar is rank 0's. */
static size_t cut(struct roar_checkpoint_tensor *t, uint64_t dims[TENSORS][4],
		  unsigned char *const *bytes, uint32_t rank, uint32_t world)
{
	size_t n = 0;

	for (int k = 0; k < TENSORS; k++) {
		uint64_t first = kinds[k].shape[0] * rank / world;

		if (!kinds[k].n_dims && rank)
			continue;
		dims[k][0] = first;
		dims[k][1] = 0;
		dims[k][2] = kinds[k].shape[0] * (rank + 1) / world - first;
		dims[k][3] = kinds[k].shape[1];
		t[n++] = (struct roar_checkpoint_tensor){
			.name = kinds[k].name,
			.dtype = kinds[k].dtype,
			.n_dims = kinds[k].n_dims,
			.shape = kinds[k].shape,
			.part_offset = world > 1 && kinds[k].n_dims ? dims[k] :
								      NULL,
			.part_shape = world > 1 && kinds[k].n_dims ?
					      dims[k] + 2 :
					      NULL,
			.data = bytes[k] + first * kinds[k].row_bytes,
		};
	}
	return n;
}

int main(int argc, char **argv)
{
	struct roar_checkpoint_part *parts[WORLD_MAX] = { NULL };
	struct roar_checkpoint_metric loss = { "loss", 0 };
	unsigned char *bytes[TENSORS];
	char save_id[9];
	uint32_t world;

	if (argc < 5)
		return 2;
	world = (uint32_t)atoi(argv[3]);
	loss.value = atof(argv[4]) / 4;
	for (int k = 0; k < TENSORS; k++)
		bytes[k] = make_bytes(k, kinds[k].shape[0] * kinds[k].row_bytes,
				      atoi(argv[4]));
	for (int i = 6; i < argc; i++)
		bytes[0][atol(argv[i])] ^= 0xff;
	if (world < 1 || world > WORLD_MAX || roar_checkpoint_save_id(save_id))
		return 2;
	for (uint32_t rank = 0; rank < world; rank++) {
		struct roar_checkpoint_tensor tensors[TENSORS];
		uint64_t dims[TENSORS][4];
		struct roar_checkpoint_save save = {
			.url = argv[1],
			.step = strtoull(argv[2], NULL, 10),
			.tensors = tensors,
			.state = "{\"lr\": 0.5}",
			.metrics = &loss,
			.n_metrics = 1,
			.parent = argc > 5 && argv[5][0] ? argv[5] : NULL,
			.rank = rank,
			.world_size = world,
			.save_id = save_id,
		};

		save.n_tensors = cut(tensors, dims, bytes, rank, world);
		if (roar_checkpoint_write_part(&save, &parts[rank], NULL) < 0)
			return fail("write_part");
	}
	if (roar_checkpoint_commit(parts[0], NULL, NULL) < 0)
		return fail("commit");
	for (uint32_t rank = 0; rank < world; rank++)
		roar_checkpoint_part_free(parts[rank]);
	for (int k = 0; k < TENSORS; k++)
		free(bytes[k]);
	return 0;
}
