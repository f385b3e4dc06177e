/* checkpoint_io.c - times of saves and of what bounds them, in alternating passes.
 *
 *	checkpoint_io write URL MIB ROUNDS	durable save, and O_DIRECT writes of as much
 *	checkpoint_io load URL MIB ROUNDS	cold verified load, and O_DIRECT reads of as much
 *	checkpoint_io delta URL MIB ROUNDS	a second save with 1 % changed, and its bytes
 *	checkpoint_io header N ROUNDS		the header of N tensors
 *	checkpoint_io hash MIB ROUNDS		gather + leaf values in memory, and the latter alone
 *	checkpoint_io stall MIB ROUNDS		a snapshot, and memcpy() of as much
 *
 * Prints a JSON object per round: seconds by name.  The first round is for warming up. */
#include <fcntl.h>
#include <glob.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/cpus.h"
#include "ckpt/ckpt_save.h"
#include "ckpt/ckpt_snapshot.h"

enum { BLOCK = 4 << 20, QUEUE = 8, LEAF = 1 << 20, N_TENSORS = 64 };

static struct roar_checkpoint_tensor tensors[N_TENSORS];
static uint64_t shape[1];
static size_t total;
static char *state;

static void die(const char *what, const char *why)
{
	fprintf(stderr, "checkpoint_io: %s: %s\n", what, why);
	exit(1);
}

static double seconds_since(int64_t start)
{
	return (double)(clock_mono_ns() - start) / 1e9;
}

/* A state of tensors whose bytes no compressor would shrink. */
static void make_state(size_t mib)
{
	static char names[N_TENSORS][32];
	uint64_t x = 88172645463325252;

	total = mib << 20;
	shape[0] = total / N_TENSORS / 4;
	state = aligned_alloc(2 << 20, total + (2 << 20));
	if (!state)
		die("state", "no memory");
	for (size_t i = 0; i < total / 8; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		memcpy(state + 8 * i, &x, 8);
	}
	for (int i = 0; i < N_TENSORS; i++) {
		(void)snprintf(names[i], sizeof(names[i]), "layer.%d.weight",
			       i);
		tensors[i] = (struct roar_checkpoint_tensor){
			.name = names[i],
			.dtype = "F32",
			.n_dims = 1,
			.shape = shape,
			.data = state + (size_t)i * shape[0] * 4,
		};
	}
}

/* ---- durable ---- */

static struct {
	int fd;
	atomic_size_t next;
} floor_state;

static void *write_floor(void *arg)
{
	char *buffer = aligned_alloc(2 << 20, BLOCK);
	size_t at;

	if (!buffer)
		die("buffer", "no memory");
	memcpy(buffer, state, BLOCK);
	while ((at = atomic_fetch_add(&floor_state.next, BLOCK)) < total)
		if (pwrite(floor_state.fd, buffer, BLOCK, (off_t)at) != BLOCK)
			die("floor", "short write");
	free(buffer);
	return arg;
}

/* The same file without a checkpoint: reserved, written by as many threads, synced. */
static double time_floor(const char *dir)
{
	pthread_t threads[QUEUE];
	char path[4096];
	int64_t start;
	double took;

	(void)snprintf(path, sizeof(path), "%s/floor", dir);
	start = clock_mono_ns();
	floor_state.fd = open(path, O_WRONLY | O_CREAT | O_DIRECT | O_CLOEXEC,
			      0666);
	if (floor_state.fd < 0 ||
	    fallocate(floor_state.fd, 0, 0, (off_t)total) < 0)
		die(path, "cannot be written");
	atomic_store(&floor_state.next, 0);
	for (int i = 0; i < QUEUE; i++)
		(void)pthread_create(&threads[i], NULL, write_floor, NULL);
	for (int i = 0; i < QUEUE; i++)
		(void)pthread_join(threads[i], NULL);
	if (fsync(floor_state.fd) < 0)
		die(path, "fsync");
	took = seconds_since(start);
	(void)close(floor_state.fd);
	(void)unlink(path);
	return took;
}

static double time_save(const char *url, uint64_t step, const char *parent,
			uint64_t *ret_written)
{
	struct roar_checkpoint_save s = { .url = url,
					  .step = step,
					  .parent = parent,
					  .tensors = tensors,
					  .n_tensors = N_TENSORS };
	struct roar_checkpoint_result result = { .size_bytes = 0 };
	struct ckpt_progress progress = { 0 };
	struct roar_error err = { "" };
	int64_t start = clock_mono_ns();

	if (ckpt_save_run(&s, &progress, &result, &err) < 0)
		die("save", err.text);
	*ret_written = result.written_bytes;
	return seconds_since(start);
}

static void remove_step(const char *url, uint64_t step)
{
	char command[4200];

	(void)snprintf(command, sizeof(command), "rm -rf '%s/step-%012llu'",
		       url, (unsigned long long)step);
	if (system(command) != 0)
		die(command, "failed");
}

static void write_rounds(const char *url, int rounds)
{
	bool is_local = !strstr(url, "://");
	uint64_t written;

	for (int i = 0; i <= rounds; i++) {
		double save = time_save(url, (uint64_t)i, NULL, &written);
		double least = 0;

		if (is_local) {
			remove_step(url, (uint64_t)i);
			least = time_floor(url);
		}
		if (i)
			printf("{\"save\": %.6f, \"floor\": %.6f}\n", save,
			       least);
		(void)fflush(stdout);
	}
}

static void delta_rounds(const char *url, int rounds)
{
	uint64_t written;

	(void)time_save(url, 1000, NULL, &written);
	for (int i = 0; i <= rounds; i++) {
		char parent[32];
		double took;

		/* One hundredth of the bytes, in a row, elsewhere each time. */
		for (size_t k = 0; k < total / 100; k += 64)
			state[(total / 50 * (size_t)i + k) % total] ^= 1;
		(void)snprintf(parent, sizeof(parent), "step-%012d", 1000 + i);
		took = time_save(url, 1001 + (uint64_t)i, parent, &written);
		if (i)
			printf("{\"delta\": %.6f, \"written\": %.6f}\n", took,
			       (double)written / (double)total);
	}
	for (int i = 0; i <= rounds + 1; i++)
		remove_step(url, 1000 + (uint64_t)i);
}

/* ---- load ---- */

static void *read_floor(void *arg)
{
	char *buffer = aligned_alloc(2 << 20, BLOCK);
	size_t at;

	if (!buffer)
		die("buffer", "no memory");
	while ((at = atomic_fetch_add(&floor_state.next, BLOCK)) < total)
		if (pread(floor_state.fd, buffer, BLOCK, (off_t)at) != BLOCK)
			die("floor", "short read");
	free(buffer);
	return arg;
}

/* The checkpoint's own data file, past the page cache, by as many threads. */
static double time_read_floor(const char *pattern)
{
	pthread_t threads[QUEUE];
	int64_t start = clock_mono_ns();
	glob_t found;

	if (glob(pattern, 0, NULL, &found) != 0)
		die(pattern, "not found");
	floor_state.fd = open(found.gl_pathv[0],
			      O_RDONLY | O_DIRECT | O_CLOEXEC);
	if (floor_state.fd < 0)
		die(pattern, "cannot be read");
	atomic_store(&floor_state.next, 0);
	for (int i = 0; i < QUEUE; i++)
		(void)pthread_create(&threads[i], NULL, read_floor, NULL);
	for (int i = 0; i < QUEUE; i++)
		(void)pthread_join(threads[i], NULL);
	(void)close(floor_state.fd);
	globfree(&found);
	return seconds_since(start);
}

static double time_load(const char *url)
{
	struct roar_checkpoint_slice slices[N_TENSORS];
	struct roar_checkpoint *c = NULL;
	int64_t start = clock_mono_ns();
	int r = roar_checkpoint_open(url, ROAR_CHECKPOINT_LATEST, NULL, &c);

	memset(slices, 0, sizeof(slices));
	for (int i = 0; i < N_TENSORS; i++) {
		slices[i].tensor = tensors[i].name;
		slices[i].to = (void *)(uintptr_t)tensors[i].data;
		slices[i].to_bytes = shape[0] * 4;
	}
	if (r == 0)
		r = roar_checkpoint_load(c, slices, N_TENSORS);
	if (r < 0)
		die("load", roar_checkpoint_error());
	roar_checkpoint_close(c);
	return seconds_since(start);
}

static void load_rounds(const char *url, int rounds)
{
	bool is_local = !strstr(url, "://");
	char pattern[4096];
	uint64_t written;

	(void)time_save(url, 0, NULL, &written);
	(void)snprintf(pattern, sizeof(pattern), "%s/step-*/data-*.safetensors",
		       url);
	for (int i = 0; i <= rounds; i++) {
		double load = time_load(url);
		double least = is_local ? time_read_floor(pattern) : 0;

		if (i)
			printf("{\"load\": %.6f, \"floor\": %.6f}\n", load,
			       least);
		(void)fflush(stdout);
	}
	if (is_local)
		remove_step(url, 0);
}

/* ---- in memory ---- */

static void header_rounds(size_t n, int rounds)
{
	struct ckpt_item *items = calloc(n, sizeof(*items));
	char(*names)[64] = calloc(n, sizeof(*names));
	static const uint64_t dims[] = { 4096, 1024 };

	if (!items || !names)
		die("items", "no memory");
	for (size_t i = 0; i < n; i++) {
		(void)snprintf(names[i], sizeof(names[i]),
			       "model.layers.%zu.self_attn.%c_proj.weight",
			       i / 4, "qkvo"[i % 4]);
		items[i] = (struct ckpt_item){ .name = names[i],
					       .dtype = CKPT_BF16,
					       .n_dims = 2,
					       .shape = dims };
	}
	for (int i = 0; i <= rounds; i++) {
		int64_t start = clock_mono_ns();
		struct ckpt_layout l;

		if (ckpt_layout_init(&l, items, n, NULL) < 0)
			die("header", "failed");
		if (i)
			printf("{\"header\": %.9f}\n", seconds_since(start));
		ckpt_layout_release(&l);
	}
	free(items);
	free(names);
}

static struct {
	struct ckpt_gather gather;
	struct leaf_tree tree;
	bool gathers;
	atomic_size_t next;
} hashing;

static void *hash_blocks(void *arg)
{
	uint64_t size = hashing.tree.shape.size_bytes;
	char *buffer = aligned_alloc(2 << 20, BLOCK);
	uint64_t at;

	if (!buffer)
		die("buffer", "no memory");
	while ((at = atomic_fetch_add(&hashing.next, BLOCK)) < size) {
		size_t len = size - at < BLOCK ? (size_t)(size - at) : BLOCK;
		const char *from = state + (at + len <= total ? at : 0);

		if (hashing.gathers) {
			(void)ckpt_gather_copy(&hashing.gather, at, buffer,
					       len);
			from = buffer;
		}
		for (size_t k = 0; k < len; k += LEAF)
			(void)leaf_tree_fill(&hashing.tree, (at + k) / LEAF,
					     from + k,
					     len - k < LEAF ? len - k : LEAF);
	}
	free(buffer);
	return arg;
}

static double time_hash(bool gathers)
{
	pthread_t threads[64];
	unsigned n = cpus_allowed() < 64 ? cpus_allowed() : 64;
	uint8_t digest[32];
	int64_t start = clock_mono_ns();

	hashing.gathers = gathers;
	atomic_store(&hashing.next, 0);
	for (unsigned i = 0; i < n; i++)
		(void)pthread_create(&threads[i], NULL, hash_blocks, NULL);
	for (unsigned i = 0; i < n; i++)
		(void)pthread_join(threads[i], NULL);
	leaf_tree_root(&hashing.tree, digest);
	return seconds_since(start);
}

static void hash_rounds(int rounds)
{
	if (ckpt_gather_init(&hashing.gather, tensors, N_TENSORS, NULL) < 0 ||
	    leaf_tree_init(&hashing.tree, hashing.gather.layout.size_bytes,
			   LEAF) < 0)
		die("hash", "failed");
	for (int i = 0; i <= rounds; i++) {
		double with = time_hash(true), without = time_hash(false);

		if (i)
			printf("{\"serialised\": %.6f, \"hashed\": %.6f}\n",
			       with, without);
	}
}

static void stall_rounds(int rounds)
{
	struct roar_checkpoint_save s = { .url = "x",
					  .tensors = tensors,
					  .n_tensors = N_TENSORS };
	struct ckpt_snapshot snapshot = { .cap = 0 };
	char *copy = aligned_alloc(2 << 20, total + (2 << 20));

	if (!copy)
		die("copy", "no memory");
	for (int i = 0; i <= rounds; i++) {
		int64_t start = clock_mono_ns();
		double stall, plain;

		if (ckpt_snapshot_take(&snapshot, &s, NULL) < 0)
			die("snapshot", "failed");
		stall = seconds_since(start);
		start = clock_mono_ns();
		memcpy(copy, state, total);
		plain = seconds_since(start);
		if (i)
			printf("{\"stall\": %.6f, \"memcpy\": %.6f}\n", stall,
			       plain);
	}
	ckpt_snapshot_release(&snapshot);
	free(copy);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	bool has_url = strcmp(what, "write") == 0 ||
		       strcmp(what, "load") == 0 || strcmp(what, "delta") == 0;
	int first = has_url ? 3 : 2;
	size_t n;
	int rounds;

	if (argc != first + 2)
		die("usage", "checkpoint_io WHAT [URL] SIZE ROUNDS");
	n = strtoull(argv[first], NULL, 10);
	rounds = atoi(argv[first + 1]);
	if (strcmp(what, "header") != 0)
		make_state(n);
	if (strcmp(what, "write") == 0)
		write_rounds(argv[2], rounds);
	else if (strcmp(what, "load") == 0)
		load_rounds(argv[2], rounds);
	else if (strcmp(what, "delta") == 0)
		delta_rounds(argv[2], rounds);
	else if (strcmp(what, "header") == 0)
		header_rounds(n, rounds);
	else if (strcmp(what, "hash") == 0)
		hash_rounds(rounds);
	else if (strcmp(what, "stall") == 0)
		stall_rounds(rounds);
	else
		die("usage", "write, load, delta, header, hash or stall");
	return 0;
}
