/* store_edge.h - which process of a job read and wrote which file, and which rank it had.
 *
 * Most files have one reader and one writer, which their rows name by pid (struct
 * store_file).  Only the other edges have rows: further processes, and the first ones
 * too if a pid belonged to several processes of the job.  store_edges() puts the two
 * together.  Records of roar before schema 8 have the first ones only. */
#ifndef ROAR_STORE_STORE_EDGE_H
#define ROAR_STORE_STORE_EDGE_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct pool;
struct store;

struct store_edge {
	int64_t process; /* its number, from 1, in store_processes() */
	int64_t file; /* its number in the job */
	int64_t event; /* as read_order and write_order of files */
	uint8_t kind; /* enum lineage_edge_kind */
};

/* Adds rows, numbered from `first`, inside a transaction.  A few microseconds for each. */
int store_edges_add(struct store *s, int64_t job_id, int64_t first,
		    const struct store_edge *edges, size_t n,
		    struct roar_error *err);

/* All edges of the job, by process and event.  Filtered files have none, unless the run
 * made them. */
int store_edges(struct store *s, struct pool *pool, int64_t job_id,
		struct store_edge **ret, size_t *ret_n, struct roar_error *err);

/* Only the edges that have rows, as store_edges_add() takes them. */
int store_edge_rows(struct store *s, struct pool *pool, int64_t job_id,
		    struct store_edge **ret, size_t *ret_n,
		    struct roar_error *err);

/* The place of a process in a distributed job. */
struct store_rank {
	int64_t process; /* its number in store_processes() */
	int64_t rank, local_rank, world_size; /* negative: not known */
	const char *launcher; /* "torchrun", "mpirun", "srun", "ray", ... */
	const char *group; /* id of the distributed job; "" */
};
int store_rank_add(struct store *s, int64_t job_id,
		   const struct store_rank *rank, struct roar_error *err);

/* By process. */
int store_ranks(struct store *s, struct pool *pool, int64_t job_id,
		struct store_rank **ret, size_t *ret_n, struct roar_error *err);

#endif
