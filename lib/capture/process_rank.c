/* process_rank.c - see process_rank.h */
#include "capture/process_rank.h"

#include <string.h>

#include "base/macros.h"
#include "base/number.h"
#include "capture/process_environment.h"

/* The first one whose `mark` is set counts: torchrun may run below srun, and srun may start
 * mpirun.  Below Ray, trainers have the variables of torchrun. */
static const struct launcher {
	const char *name;
	const char *mark;
	const char *rank, *local_rank, *world_size;
	const char *group[3];
} launchers[] = {
	{ "torchrun",
	  "TORCHELASTIC_RUN_ID",
	  "RANK",
	  "LOCAL_RANK",
	  "WORLD_SIZE",
	  { "TORCHELASTIC_RUN_ID", "SLURM_JOB_ID" } },
	{ "mpirun",
	  "OMPI_COMM_WORLD_RANK",
	  "OMPI_COMM_WORLD_RANK",
	  "OMPI_COMM_WORLD_LOCAL_RANK",
	  "OMPI_COMM_WORLD_SIZE",
	  { "SLURM_JOB_ID", "OMPI_MCA_ess_base_jobid", "PMIX_NAMESPACE" } },
	{ "mpirun",
	  "PMI_RANK",
	  "PMI_RANK",
	  "MPI_LOCALRANKID",
	  "PMI_SIZE",
	  { "SLURM_JOB_ID", "PMI_JOBID" } },
	{ "ray",
	  "RAY_JOB_ID",
	  "RANK",
	  "LOCAL_RANK",
	  "WORLD_SIZE",
	  { "RAY_JOB_ID" } },
	{ "env",
	  "WORLD_SIZE",
	  "RANK",
	  "LOCAL_RANK",
	  "WORLD_SIZE",
	  { "SLURM_JOB_ID" } },
	{ "srun",
	  "SLURM_PROCID",
	  "SLURM_PROCID",
	  "SLURM_LOCALID",
	  "SLURM_NTASKS",
	  { "SLURM_JOB_ID" } },
	{ "mpirun", "PMIX_RANK", "PMIX_RANK", NULL, NULL, { "PMIX_NAMESPACE" } },
};

static int64_t number(const struct process_environments *set, int32_t pid,
		      const char *name, int64_t min)
{
	const char *text = name ? process_environments_get(set, pid, name) :
				  NULL;
	int64_t n;

	if (!text || number_parse(text, min, INT32_MAX, &n) < 0)
		return -1;
	return n;
}

/* torchrun without a rendezvous has the id "none". */
static const char *group(const struct process_environments *set, int32_t pid,
			 const struct launcher *l)
{
	for (size_t i = 0; i < ARRAY_SIZE(l->group) && l->group[i]; i++) {
		const char *id = process_environments_get(set, pid,
							  l->group[i]);

		if (id && *id && strcmp(id, "none") != 0)
			return id;
	}
	return "";
}

bool process_rank_find(const struct process_environments *set, int32_t pid,
		       struct process_rank *ret)
{
	for (size_t i = 0; i < ARRAY_SIZE(launchers); i++) {
		const struct launcher *l = &launchers[i];
		struct process_rank p = { .launcher = l->name };

		if (!process_environments_get(set, pid, l->mark))
			continue;
		p.rank = number(set, pid, l->rank, 0);
		p.local_rank = number(set, pid, l->local_rank, 0);
		p.world_size = number(set, pid, l->world_size, 1);
		if (p.world_size >= 0 && p.rank >= p.world_size)
			continue;
		/* torchrun itself has no rank; a worker of Ray may get it later. */
		if (p.rank < 0 && strcmp(l->name, "ray") != 0)
			continue;
		p.group = group(set, pid, l);
		*ret = p;
		return true;
	}
	return false;
}
