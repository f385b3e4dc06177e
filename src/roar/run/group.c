/* group.c - see group.h */
#include "run/group.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "base/macros.h"
#include "base/number.h"
#include "base/quote.h"
#include "cli/cli.h"
#include "run/options.h"
#include "run/run.h"
#include "store/store_group.h"

int run_group_parse_node(const char *text, struct run_group *ret)
{
	uint64_t node;
	uint64_t n;

	if (number_take(&text, INT32_MAX, &node) < 0 || *text++ != '/' ||
	    number_take(&text, INT32_MAX, &n) < 0 || *text || node >= n)
		return -EINVAL;
	ret->node = (int64_t)node;
	ret->n_nodes = (int64_t)n;
	return 0;
}

static bool is_id(const char *text)
{
	size_t len = strlen(text);

	return len > 0 && len <= STORE_GROUP_MAX &&
	       quote_is_printable(text, len);
}

/* Only inside of srun is the node that of this command. */
static void find_slurm_node(char *const *envp, struct run_group *ret)
{
	static const char *const counts[] = { "SLURM_STEP_NUM_NODES",
					      "SLURM_JOB_NUM_NODES",
					      "SLURM_NNODES" };
	const char *node = run_environment_get(envp, "SLURM_NODEID");
	int64_t i = -1;
	int64_t n = -1;

	if (!run_environment_get(envp, "SLURM_STEP_ID") || !node ||
	    number_parse(node, 0, INT32_MAX, &i) < 0)
		return;
	for (size_t k = 0; k < ARRAY_SIZE(counts) && n < 0; k++) {
		const char *text = run_environment_get(envp, counts[k]);

		if (text)
			(void)number_parse(text, 1, INT32_MAX, &n); /* or -1 */
	}
	if (n > i) {
		ret->node = i;
		ret->n_nodes = n;
	}
}

static void find_group(char *const *envp, struct run_group *ret)
{
	static const char *const names[] = { "TORCHELASTIC_RUN_ID",
					     "SLURM_JOB_ID", "RAY_JOB_ID" };

	for (size_t i = 0; i < ARRAY_SIZE(names) && !ret->id[0]; i++) {
		const char *id = run_environment_get(envp, names[i]);

		/* torchrun without a rendezvous has the id "none". */
		if (id && is_id(id) && strcmp(id, "none") != 0)
			ret->id = id;
	}
	if (ret->id[0])
		find_slurm_node(envp, ret);
}

int run_group_parse(const struct args *args, char *const *envp,
		    struct run_group *ret)
{
	const char *id = args_get(args, "group");
	const char *node = args_get(args, "node");
	struct run_group group = { .id = "", .node = -1, .n_nodes = -1 };

	if (id && !is_id(id))
		return cli_usage(args->command,
				 "the id of a group is 1 to %d bytes of "
				 "printable text",
				 STORE_GROUP_MAX);
	if (envp)
		find_group(envp, &group);
	if (id)
		group.id = id;
	if (node && run_group_parse_node(node, &group) < 0)
		return cli_usage(args->command,
				 "'%.60s' is not a node: use I/N, with I from 0 "
				 "and N the number of nodes",
				 node);
	if (node && !group.id[0])
		return cli_usage(args->command,
				 "--node requires --group, because nothing in "
				 "the environment names the job");
	*ret = group;
	return 0;
}

int run_group_record(struct run *run, struct store *store,
		     struct roar_error *err)
{
	const struct run_group *g = &run->meta.group;
	struct store_group group = { g->id, g->node, g->n_nodes };

	return g->id[0] ? store_group_add(store, run->job.id, &group, err) : 0;
}
