/* test_process_rank.c - ranks by the variables of launchers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/str.h"
#include "capture/process_environment.h"
#include "capture/process_rank.h"
#include "lineage/redact.h"

/* "RANK LOCAL_RANK WORLD_SIZE LAUNCHER GROUP" of a process with these variables, which
 * blanks separate. */
static void check(const char *variables, const char *expected)
{
	static char *none[] = { NULL };
	CLEANUP(redact_freep) struct redact *redact = NULL;
	CLEANUP(process_environments_freep)
	struct process_environments *set = NULL;
	CLEANUP(str_release) struct str out = STR_INIT;
	struct process_rank rank;
	char block[512];
	size_t len = strlen(variables) + 1;

	assert_true(len <= sizeof(block));
	memcpy(block, variables, len);
	for (size_t i = 0; i < len; i++)
		if (block[i] == ' ')
			block[i] = '\0';
	assert_int_equal(redact_new(none, NULL, 0, &redact), 0);
	assert_int_equal(process_environments_new(redact, &set), 0);
	process_environments_add(set, 7, "/bin/x", block, len);
	if (process_rank_find(set, 7, &rank))
		str_addf(&out, "%d %d %d %s %s", (int)rank.rank,
			 (int)rank.local_rank, (int)rank.world_size,
			 rank.launcher, rank.group);
	assert_string_equal(str_cstr(&out), expected);
	assert_false(process_rank_find(set, 8, &rank));
}

static void each_launcher_is_recognised(void **state)
{
	(void)state;
	check("RANK=3 LOCAL_RANK=1 WORLD_SIZE=8 TORCHELASTIC_RUN_ID=run-1",
	      "3 1 8 torchrun run-1");
	check("OMPI_COMM_WORLD_RANK=2 OMPI_COMM_WORLD_LOCAL_RANK=0 "
	      "OMPI_COMM_WORLD_SIZE=4 PMIX_RANK=2 PMIX_NAMESPACE=77",
	      "2 0 4 mpirun 77");
	check("PMI_RANK=0 PMI_SIZE=2 MPI_LOCALRANKID=0", "0 0 2 mpirun ");
	check("SLURM_PROCID=5 SLURM_LOCALID=1 SLURM_NTASKS=8 SLURM_JOB_ID=99",
	      "5 1 8 srun 99");
	check("PMIX_RANK=1 PMIX_NAMESPACE=ns", "1 -1 -1 mpirun ns");
	check("RAY_JOB_ID=0100", "-1 -1 -1 ray 0100");
	check("RAY_JOB_ID=0100 RANK=1 WORLD_SIZE=2", "1 -1 2 ray 0100");
	check("RANK=1 WORLD_SIZE=2", "1 -1 2 env ");
	check("HOME=/", "");
}

static void the_innermost_launcher_counts(void **state)
{
	(void)state;
	check("SLURM_PROCID=1 SLURM_NTASKS=2 SLURM_JOB_ID=9 RANK=7 "
	      "WORLD_SIZE=16 LOCAL_RANK=7 TORCHELASTIC_RUN_ID=none",
	      "7 7 16 torchrun 9");
	/* torchrun itself, started by srun. */
	check("SLURM_PROCID=1 SLURM_NTASKS=2 SLURM_JOB_ID=9 "
	      "TORCHELASTIC_RUN_ID=x",
	      "1 -1 2 srun 9");
}

static void what_is_not_a_rank_is_ignored(void **state)
{
	(void)state;
	check("RANK=x WORLD_SIZE=2", "");
	check("RANK=-1 WORLD_SIZE=2", "");
	check("RANK=2 WORLD_SIZE=2", "");
	check("RANK=99999999999 WORLD_SIZE=2", "");
	check("RANK= WORLD_SIZE=2", "");
	check("RANK=1 WORLD_SIZE=0", "1 -1 -1 env ");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_launcher_is_recognised),
		cmocka_unit_test(the_innermost_launcher_counts),
		cmocka_unit_test(what_is_not_a_rank_is_ignored),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
