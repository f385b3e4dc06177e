/* run.h - one observed execution, from the command line to the record.
 *
 *	options.c            the user's options, the command's environment
 *	front.c              the process that the shell sees: signals, exit code
 *	run_proxy.c          the S3 proxy, if one was asked for
 *	intake.c             takes the tracer's events: journal, fold, early hashing
 *	close_watch.c        notices when written files are closed
 *	streams.c            standard streams that were passed on to a program
 *	core_dump.c          finds the core dump of a crashed process
 *	contents.c           which content was hashed when, and if that is still valid
 *	input_clone.c        keeps a large input that is about to change
 *	bytecode.c           after the end: the sources of compiled modules
 *	classify.c           the final state of each file, its role
 *	writer_digests.c     digests that the processes reported of files they wrote
 *	unchanged_outputs.c  files that were written with the same content
 *	verdict.c            how completely the run was observed
 *	shards.c             shards that its processes reported
 *	collections.c        directories that it read or wrote as a whole
 *	checkpoints.c        checkpoints that its processes reported
 *	objects.c            objects of an S3 store, by the log of the proxy
 *	situation.c          the machine, the environment, the packages
 *	edges.c              which process used which file, ranks
 *	record.c             writes the facts to the store, in one transaction
 *	kept_content.c       puts content into .roar/objects
 *	run_log.c            a line in .roar/roar.log
 *	report.c             prints the report on stderr; report_objects.c a part of it
 *
 * cmd/run.c has the sequence of these steps; recover.c enters it at run_classify() with
 * the events of a journal.  A run lives in one process.  Everything happens on one
 * thread, except the hasher's threads, the git query and the questions about GPU memory. */
#ifndef ROAR_RUN_RUN_H
#define ROAR_RUN_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/pool.h"
#include "base/str.h"
#include "event/event.h"
#include "git/git.h"
#include "hash/file/stability.h"
#include "lineage/filter.h"
#include "lineage/fold.h"
#include "lineage/tag.h"
#include "run/environments.h"
#include "run/group.h"
#include "run/input_clone.h"
#include "run/kept_content.h"
#include "run/links.h"
#include "store/store.h"
#include "trace/probe.h"
#include "trace/sums.h"
#include "trace/tracer.h"

struct close_watch;
struct created_names;
struct digest_cache;
struct front;
struct gpu_memory;
struct hasher;
struct journal;
struct object_fold;
struct process_environments;
struct project;
struct redact;
struct run_checkpoint;
struct situation;
struct run_collection;

/* Tags that the run adds to its outputs, or blocks. */
struct run_tags {
	struct tag *list; /* in a pool */
	size_t n;
};

/* What the user asked for. */
struct run_options {
	struct run_group group; /* the larger job that it is a part of */
	const char *kind; /* "run" or "build" */
	const char *name; /* "" when none */
	int64_t rerun_of; /* id of the job that is run again; 0 none */
	struct run_tags tags;
	const struct tracer_ops *tracers[PROBE_MAX]; /* to try, in this order */
	size_t n_tracers;
	bool tracer_named; /* by the user: report it when it is refused */
	const struct tracer_ops *tracer; /* the one in use, or to be tried */
	bool fallback; /* run unobserved rather than not at all */
	bool quiet;
	int verbose; /* 1: files, 2: filtered files too */
	digest_set want;
	char *const *envp; /* of the command; NULL: ours */
	unsigned keep; /* enum config_keep */
	bool proxy; /* put the S3 proxy between the command and its store */
	const char *proxy_upstream; /* --proxy-upstream; NULL: not given */
};

/* What is known before the command starts.  The journal has it as its description, so
 * that a recovery can record the job.  Strings live in the run's pool. */
struct run_meta {
	char uid[9];
	const char *kind;
	const char *name;
	char *const *argv; /* redacted */
	const char *cwd;
	const char *tracer;
	const char *host;
	const char *user;
	const char *environment; /* names of variables that roar set */
	struct run_tags tags;
	struct run_group group;
	int64_t rerun_of;
	int64_t started_ns;
	/* The result of git_state_basics(); NULL: unknown. */
	const char *git_root;
	const char *git_commit;
	const char *git_branch;
	const char *git_remote;
};

/* Bits of lineage_file.seen that only the run uses.  They are not recorded: in a record
 * this bit is LINEAGE_FRESH, which the fold never sets. */
enum {
	RUN_CACHE = 1 << 14, /* a compiled form of an input, see bytecode.h */
	RUN_BITS = RUN_CACHE,
};

/* The final state of one file, set by classify.c. */
struct run_file {
	struct lineage_file *file;
	uint8_t roles; /* enum lineage_role */
	uint8_t filter; /* enum filter_id */
	uint8_t after_ftype; /* enum event_ftype after the run */
	bool in_asked : 1; /* hashing the input began after the end */
	bool out_asked : 1; /* hashing the output began after the end */
	bool out_true : 1; /* the early digest is that of the content after the
			    * end */
	bool changed : 1; /* a process outside of the run wrote to the input */
	bool foreign : 1; /* another process may have written to the output
			   * after roar was killed */
	bool prior : 1; /* the output is content from before the run, moved */
	bool fresh : 1; /* the output is the run's own, name and content */
	uint32_t size_kib; /* after the run, for the progress */
	const struct sum *sum; /* of the file after the run; may be NULL */
};

/* Must the content of the file that was read, or written, be known? */
static inline bool run_file_needs_input(const struct run_file *e)
{
	return !e->filter && (e->roles & LINEAGE_INPUT) &&
	       e->file->ftype == EVENT_FTYPE_REGULAR;
}

static inline bool run_file_needs_output(const struct run_file *e)
{
	return !e->filter && (e->roles & LINEAGE_OUTPUT) && !e->foreign &&
	       e->after_ftype == EVENT_FTYPE_REGULAR;
}

struct run {
	struct project *project;
	struct front *front; /* the process the shell sees; NULL when recovered */
	struct run_options options;
	struct run_meta meta;
	struct pool pool;
	struct redact *redact;
	struct filter_options filters;
	struct environments environments; /* for the filters */
	struct links links; /* likewise */
	struct fold *fold;
	struct process_environments *process_environments;
	struct journal *journal; /* NULL when it could not be made */
	char journal_name[32]; /* in the project's directory */
	bool journal_full; /* it could not grow: later events are not in it */
	struct hasher *hasher;
	struct close_watch *close_watch; /* NULL until a file is written */
	struct digest_cache *cache; /* opened with the first task; may be NULL */
	bool cache_tried;
	struct str scratch; /* redacted command line of a process */
	struct event *scratch_event;
	struct created_names *created_names; /* NULL without a git query */
	uint32_t n_early; /* tasks handed out while the command ran */
	uint32_t n_extras; /* kept with contents */
	uint32_t n_held; /* large inputs kept open */
	struct input_cloner cloner;
	uint64_t kept_bytes; /* of inputs that were removed while we read them */
	uint32_t n_writing; /* opens for writing minus closes, roughly */
	uint32_t n_idle_ticks; /* ticks since anything was opened or closed */

	/* New names of renamed directories: the files below them moved as well. */
	const char **moved_dirs;
	size_t n_moved_dirs, cap_moved_dirs;

	struct tracer_result result;
	struct sums sums; /* bytes, where the tracer counts them */
	struct git_facts git;
	int64_t duration_ns; /* of the command */
	int64_t attach_ns; /* until the command was started; 0: unknown */

	/* classify.c */
	struct run_file *files; /* the files with a role, in the order of their
				 * first event */
	size_t n_files, cap_files;
	int64_t n_inputs, n_outputs, n_filtered;
	struct object_fold *objects; /* NULL: no proxy */
	struct run_collection *collections;
	size_t n_collections, cap_collections;
	struct run_checkpoint *checkpoints; /* in the order of the commits */
	size_t n_checkpoints, cap_checkpoints;
	struct gpu_memory *gpu_memory; /* NULL until a GPU is used */
	struct situation *situation; /* NULL: not known */
	int64_t n_requests; /* that the proxy saw; -1: there is none */
	struct store_job job; /* as recorded */
	struct stability stability; /* for entries of the digest cache */
	unsigned n_small_outputs; /* small outputs considered for the cache */
	struct kept_content kept; /* for the report */
	bool interrupted;
	bool recovered; /* from a journal: nothing is reported */
	int64_t alive_ns; /* when recovered: roar was alive at least until then */

	/* time split, nanoseconds */
	int64_t looked_ns; /* when classify.c began to stat the files */
	int64_t classify_ns, hash_ns, situation_ns, record_ns, total_start_ns;
};

/* Prepares everything that does not need the command: pool, redactor, fold,
 * hasher, filters.  0 or a negative errno. */
int run_init(struct run *run, struct project *project,
	     const struct run_options *options);
void run_release(struct run *run);

/* The uid that the files of the run beside its journal are named by: that of its birth,
 * whatever uid the record got. */
const char *run_birth_uid(const struct run *run);

/* meta.c: fills in run->meta for this command, with secrets redacted.  0 or a negative
 * errno.  run_meta_new_uid() replaces a uid that is taken. */
int run_meta_fill(struct run *run, char *const argv[]);
void run_meta_new_uid(struct run_meta *meta);

/* Adds the git facts that are known when the run starts. */
void run_meta_note_git(struct run *run, struct git_state *look);

/* The description as bytes, and back (strings go to the pool). */
void run_meta_encode(const struct run_meta *meta, struct str *out);
int run_meta_decode(struct pool *pool, const void *data, size_t len,
		    struct run_meta *ret);

/* intake.c: the callbacks of struct tracer_job, on the tracer's thread; ctx is the
 * run. */
void intake_event(void *ctx, const struct event *ev);
void intake_before_change(void *ctx, const char *path, size_t len,
			  const struct stamp *stamp);
void intake_before_unmount(void *ctx, const char *path, size_t len);
unsigned intake_tick(void *ctx);

/* For recovery.  The event with its command line redacted, valid until the next call;
 * and the part of intake_event() that remembers renamed directories. */
const struct event *intake_redacted(struct run *run, const struct event *ev);
void intake_moved_dir(struct run *run, const struct event *ev);

/* classify.c: stats every file, decides its roles, hashes what is missing, and adds the
 * gaps.  0 or -ENOMEM. */
int run_classify(struct run *run);

/* record.c: the record is one transaction.  record_begin() starts it and gives the job
 * its step, in run->job; -EEXIST when the uid is taken.  record_commit() writes all rows.
 * Both roll back when they fail. */
int record_begin(struct run *run, struct store *store, struct roar_error *err);
int record_commit(struct run *run, struct store *store, struct roar_error *err);

/* report.c: prints the report when the command has ended.
 *
 * Where stderr is an output of the run (2>log), the report becomes a part of its
 * content.  Then the run is reported between record_begin() and record_commit() by
 * report_into_output(), which prints and hashes that file once more; if that fails, it
 * adds a gap. */
void report_print(const struct run *run);
bool report_is_output(const struct run *run);
void report_into_output(struct run *run);

#endif
