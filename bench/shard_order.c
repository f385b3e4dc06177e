/* shard_order.c - what the order of samples costs.
 *
 *	shard_order SAMPLES ROUNDS
 *
 * Begins epochs, asks for samples in turn, here and there, and in blocks of shards, mixes
 * datasets, and resumes in the middle.  Prints a line of JSON for each round.  Times are
 * of the CPU: nothing here waits, and others may be busy. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/str.h"
#include "shard/order/mixture.h"
#include "shard/order/order.h"
#include "shard/order/position.h"
#include "shard/order/splitmix.h"

enum {
	N_STARTS = 1000,
	N_LOOKS = 100000, /* samples that are asked for one by one */
	BATCH = 1024,
	N_BATCHES = 200,
	SHARD_SIZE = 10000,
	WINDOW = 32,
	WORLD = 512,
	RANK_BATCH = 64,
};

static uint64_t samples[BATCH];
static volatile uint64_t sink; /* so that all is done */

__attribute__((noreturn)) static void die(const char *what)
{
	(void)fprintf(stderr, "shard_order: %s\n", what);
	exit(1);
}

static double now_ns(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static struct order make(struct order_spec spec)
{
	struct order o;

	spec.dataset = "corpus";
	if (order_init(&o, &spec, NULL) < 0)
		die("an order cannot be made");
	return o;
}

static double start_ns(uint64_t n)
{
	double start = now_ns();

	for (uint64_t epoch = 0; epoch < N_STARTS; epoch++) {
		struct order o = make(
			(struct order_spec){ .n_samples = n, .epoch = epoch });

		sink = order_at(&o, 0);
	}
	return (now_ns() - start) / N_STARTS;
}

static double at_random_ns(const struct order *o)
{
	uint64_t position = 0;
	double start = now_ns();

	/* The next position follows from the sample, so that nothing overlaps. */
	for (int i = 0; i < N_LOOKS; i++)
		position = order_at(o, position);
	sink = position;
	return (now_ns() - start) / N_LOOKS;
}

static double back_ns(const struct order *o)
{
	uint64_t sample = 1;
	double start = now_ns();

	for (int i = 0; i < N_LOOKS; i++)
		sample = order_position(o, sample);
	sink = sample;
	return (now_ns() - start) / N_LOOKS;
}

static double in_turn_ns(const struct order *o)
{
	double start = now_ns();

	for (uint64_t i = 0; i < N_BATCHES; i++) {
		order_fill(o, i * BATCH, BATCH, samples);
		sink = samples[i];
	}
	return (now_ns() - start) / N_BATCHES / BATCH;
}

/* Eight datasets of one size. */
static double mixed_ns(uint64_t n)
{
	static struct mix_place places[BATCH];
	struct mix_part parts[8];
	struct mixture *m;
	double start;

	for (uint64_t i = 0; i < 8; i++)
		parts[i] = (struct mix_part){
			{ .dataset = "part", .seed = i, .n_samples = n },
			1 + i * i
		};
	if (mixture_new(parts, 8, 1, &m, NULL) < 0)
		die("a mix cannot be made");
	start = now_ns();
	for (uint64_t i = 0; i < N_BATCHES; i++)
		if (mixture_fill(m, i * BATCH, BATCH, places) < 0)
			die("a mix has no such places");
	start = now_ns() - start;
	mixture_free(m);
	return start / N_BATCHES / BATCH;
}

/* From one integer to the first batch of a rank. */
static double resume_ns(uint64_t n)
{
	struct position_spec spec = { .total = n,
				      .world = WORLD,
				      .rank = WORLD / 2,
				      .batch = RANK_BATCH };
	uint64_t positions[RANK_BATCH];
	double start = now_ns();

	for (uint64_t i = 0; i < N_STARTS; i++) {
		struct order o = make(
			(struct order_spec){ .n_samples = n, .epoch = i });
		struct interval_set before = { 0 };
		struct position p;

		if (interval_set_add(&before, 0, n / 2 + i, NULL) < 0 ||
		    position_init(&p, &spec, &before, NULL) < 0)
			die("a position cannot be made");
		for (size_t k = position_take(&p, 0, positions, NULL); k-- > 0;)
			sink = order_at(&o, positions[k]);
		position_release(&p);
		interval_set_release(&before);
	}
	return (now_ns() - start) / N_STARTS;
}

int main(int argc, char **argv)
{
	uint64_t n = argc == 3 ? strtoull(argv[1], NULL, 10) : 0;
	int rounds = argc == 3 ? atoi(argv[2]) : 0;
	struct order all, blocks;

	if (n < N_BATCHES * BATCH || rounds < 1)
		die("give a number of samples, 204,800 or more, and of rounds");
	all = make((struct order_spec){ .n_samples = n });
	blocks = make((struct order_spec){ .n_samples = n,
					   .shard_size = SHARD_SIZE,
					   .window = WINDOW });
	for (; rounds; rounds--) {
		printf("{\"start_ns\": %.1f, \"in_turn_ns\": %.2f, "
		       "\"random_ns\": %.2f, \"back_ns\": %.2f, ",
		       start_ns(n), in_turn_ns(&all), at_random_ns(&all),
		       back_ns(&all));
		printf("\"blocks_in_turn_ns\": %.2f, \"blocks_random_ns\": %.2f, "
		       "\"mixed_ns\": %.2f, \"resume_ns\": %.1f, "
		       "\"order_bytes\": %zu}\n",
		       in_turn_ns(&blocks), at_random_ns(&blocks), mixed_ns(n),
		       resume_ns(n), sizeof(struct order));
	}
	return 0;
}
