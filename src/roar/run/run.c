/* run.c - what a run needs before its command exists */
#include "run/run.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/path.h"
#include "capture/gpu_memory.h"
#include "capture/process_environment.h"
#include "event/journal.h"
#include "hash/digest/digest_cache.h"
#include "hash/file/leaf_tree_store.h"
#include "hash/jobs/hasher.h"
#include "lineage/object_fold.h"
#include "lineage/redact.h"
#include "project/owner.h"
#include "project/project.h"
#include "run/checkpoints.h"
#include "run/close_watch.h"
#include "run/collections.h"
#include "run/created_names.h"
#include "run/situation.h"

extern char **environ;

/* Called by the hasher, on any thread.  Files that changed since the run began, mostly
 * its outputs, cannot be in the cache. */
static bool ask_cache(void *ctx, const struct stamp *stamp, digest_set want,
		      struct digests *ret)
{
	struct run *run = ctx;

	return run->cache && stamp->ctime_ns < run->meta.started_ns &&
	       digest_cache_get(run->cache, stamp, want, ret);
}

/* Likewise.  Keeps a hash tree so that `roar verify` can name what is damaged; if that
 * fails, there is none. */
static void keep_tree(void *ctx, const struct leaf_tree *u)
{
	const struct run *run = ctx;
	bool acted = owner_act(run->project->dirfd);

	(void)leaf_tree_store_put(run->project->dirfd, u);
	owner_act_as_self(acted);
}

static void set_filters(struct run *run)
{
	const struct config *c = &run->project->config;

	memcpy(run->filters.off, c->filter_off, sizeof(run->filters.off));
	run->filters.project = run->project->root;
	run->filters.home = getenv("HOME");
	run->filters.tmpdir = getenv("TMPDIR");
	run->filters.patterns = c->ignore_paths;
	run->filters.n_patterns = c->n_ignore_paths;
	run->filters.is_environment = environments_has;
	run->filters.ctx = &run->environments;
	run->filters.is_linked = links_have;
	run->filters.links_ctx = &run->links;
	run->links = (struct links){
		.root = run->project->root,
		.cwd = &run->meta.cwd,
		.tmpdir = run->filters.tmpdir,
	};
}

int run_init(struct run *run, struct project *project,
	     const struct run_options *options)
{
	struct hasher_options hashing = {
		.want = options->want | DIGEST_SET_BLAKE3,
		.lookup = ask_cache,
		.keep = keep_tree,
		.keep_from_bytes = LEAF_TREE_FILE_MIN,
		.ctx = run,
	};
	int r;

	*run = (struct run){ .project = project,
			     .options = *options,
			     .n_requests = -1 };
	set_filters(run);
	run->scratch_event = calloc(1, EVENT_SIZE_MAX);
	if (!run->scratch_event)
		return -ENOMEM;
	r = config_redact_new(&project->config,
			      options->envp ? options->envp : environ,
			      &run->redact);
	if (r == 0)
		r = fold_new(&run->fold);
	if (r == 0)
		r = process_environments_new(run->redact,
					     &run->process_environments);
	if (r == 0)
		r = hasher_new(&hashing, &run->hasher);
	return r;
}

const char *run_birth_uid(const struct run *run)
{
	return run->journal_name[0] ? path_basename(run->journal_name) :
				      run->meta.uid;
}

void run_release(struct run *run)
{
	object_fold_free(run->objects);
	checkpoints_release(run);
	collections_release(run);
	hasher_free(run->hasher);
	digest_cache_close(run->cache);
	journal_close(run->journal);
	close_watch_free(run->close_watch);
	created_names_free(run->created_names);
	fold_free(run->fold);
	process_environments_free(run->process_environments);
	gpu_memory_end(run->gpu_memory, NULL);
	situation_free(run->situation);
	redact_free(run->redact);
	git_facts_release(&run->git);
	sums_release(&run->sums);
	free(run->scratch_event);
	free(run->files);
	free(run->moved_dirs);
	environments_forget(&run->environments);
	links_forget(&run->links);
	str_release(&run->scratch);
	pool_release(&run->pool);
}
