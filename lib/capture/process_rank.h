/* process_rank.h - the place of a process in a distributed job, by its environment.
 *
 * torchrun, mpirun, srun and Ray tell each process its rank by variables.  The children
 * of a process inherit them: a worker of a data loader has the rank of its trainer. */
#ifndef ROAR_CAPTURE_PROCESS_RANK_H
#define ROAR_CAPTURE_PROCESS_RANK_H

#include <stdbool.h>
#include <stdint.h>

struct process_environments;

struct process_rank {
	int64_t rank, local_rank, world_size; /* -1: not known */
	const char *launcher; /* "torchrun", "mpirun", "srun", "ray"; "env": RANK
			       * and WORLD_SIZE of another launcher */
	const char *group; /* id of the distributed job; "" */
};

/* The rank of the latest process with that pid; the texts live as long as the set.  False
 * when it has none.  A value that is not a rank of that world is ignored. */
bool process_rank_find(const struct process_environments *set, int32_t pid,
		       struct process_rank *ret);

#endif
