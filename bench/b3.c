/* b3.c - what the tree driver makes of one core, beside BLAKE3's own hasher.
 *
 * Prints one JSON object: GB/s of one thread for messages of 1 KiB to 64 MiB and
 * for a leaf of 1 MiB, and microseconds per file of 4 KiB, 16 of them side by
 * side and one by one.  Medians; the variants take turns, so that a busy moment
 * hits them alike. */
#include <blake3.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "hash/blake3/b3.h"

enum {
	N_SAMPLES = 21,
	SAMPLE_BYTES = 4 << 20, /* hashed per sample, or one message */
	LARGEST = 64 << 20,
	N_FILES = 16,
	FILE_LEN = 4096,
	N_BATCHES = 64, /* per sample */
};

static uint8_t *input;
static uint8_t digest[BLAKE3_LEN];

/* Of the CPU, not of the clock on the wall: nothing here waits, and others may
 * be busy. */
static double now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *samples)
{
	qsort(samples, N_SAMPLES, sizeof(*samples), by_value);
	return samples[N_SAMPLES / 2];
}

static void by_tree(size_t len)
{
	b3_hash(input, len, digest);
}

static void by_hasher(size_t len)
{
	blake3_hasher hasher;

	blake3_hasher_init(&hasher);
	blake3_hasher_update(&hasher, input, len);
	blake3_hasher_finalize(&hasher, digest, sizeof(digest));
}

static void by_leaf(size_t len)
{
	struct b3_shape shape = { .size_bytes = 2 * (uint64_t)len,
				  .leaf_bytes = (uint32_t)len };

	(void)b3_leaf(&shape, 1, input, len, digest);
}

static void by_batch(size_t len)
{
	struct b3_message messages[N_FILES];

	for (size_t i = 0; i < N_FILES; i++)
		messages[i] = (struct b3_message){ .data = input + i * len,
						   .len = len };
	b3_hash_batch(messages, N_FILES);
}

static void one_by_one(size_t len)
{
	for (size_t i = 0; i < N_FILES; i++)
		b3_hash(input + i * len, len, digest);
}

/* Microseconds of one call of each of two ways. */
static void compare(void (*const ways[2])(size_t), size_t len, int n_calls,
		    double ret_us[2])
{
	double samples[2][N_SAMPLES];

	for (int i = 0; i < N_SAMPLES; i++)
		for (int way = 0; way < 2; way++) {
			double start = now_us();

			for (int k = 0; k < n_calls; k++)
				ways[way](len);
			samples[way][i] = (now_us() - start) / n_calls;
		}
	ret_us[0] = median(samples[0]);
	ret_us[1] = median(samples[1]);
}

static void print_speed(size_t len)
{
	static void (*const ways[2])(size_t) = { by_tree, by_hasher };
	int n_calls = len < SAMPLE_BYTES ? (int)(SAMPLE_BYTES / len) : 1;
	double us[2];

	compare(ways, len, n_calls, us);
	printf("  {\"bytes\": %zu, \"b3_hash_gb_s\": %.2f, "
	       "\"blake3_hasher_gb_s\": %.2f}%s\n",
	       len, (double)len / us[0] / 1e3, (double)len / us[1] / 1e3,
	       len < LARGEST ? "," : "");
}

static void print_leaf(void)
{
	static void (*const ways[2])(size_t) = { by_leaf, by_tree };
	double us[2];

	compare(ways, B3_LEAF_DEFAULT, 4, us);
	printf(" \"leaf_of_1_mib_gb_s\": %.2f,\n",
	       B3_LEAF_DEFAULT / us[0] / 1e3);
}

static void print_files(void)
{
	static void (*const ways[2])(size_t) = { by_batch, one_by_one };
	double us[2];

	compare(ways, FILE_LEN, N_BATCHES, us);
	printf(" \"files_of_4_kib\": {\"batch_us\": %.3f, "
	       "\"one_by_one_us\": %.3f}}\n",
	       us[0] / N_FILES, us[1] / N_FILES);
}

int main(void)
{
	input = malloc(LARGEST);
	if (!input)
		return 1;
	for (size_t i = 0; i < LARGEST; i++)
		input[i] = (uint8_t)(i * 2654435761U >> 24);
	b3_probe();
	printf("{\"messages\": [\n");
	for (size_t len = 1024; len <= LARGEST; len *= 4)
		print_speed(len);
	printf(" ],\n");
	print_leaf();
	print_files();
	free(input);
	return 0;
}
