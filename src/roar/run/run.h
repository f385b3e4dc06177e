/* run.h - one observed execution, from the command line to the record.
 *
 *	front.c    the process the shell sees: signals, exit code
 *	observe.c  takes the tracer's events: journal, fold, early hashing
 *	watch.c    notices when written files are closed
 *	hashes.c   which content was hashed when, and whether that still holds
 *	settle.c   after the end: what became of each file, its role
 *	record.c   the facts into the store, in one transaction
 *	report.c   what the user reads on stderr
 *
 * cmd_run.c tells the story; recover.c enters it at "settle" with the events of
 * a journal.  A run lives in one process; everything but the hasher's threads
 * and the git look happens on one thread. */
#ifndef ROAR_RUN_RUN_H
#define ROAR_RUN_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/pool.h"
#include "base/str.h"
#include "event/event.h"
#include "git/git.h"
#include "lineage/filter.h"
#include "lineage/fold.h"
#include "store/store.h"
#include "trace/tracer.h"

struct front;
struct hasher;
struct journal;
struct made;
struct project;
struct redact;
struct watch;

/* What the user asked for. */
struct run_options {
	const char *kind; /* "run" or "build" */
	const char *name; /* "" when none */
	const struct tracer_ops *tracer;
	bool fallback; /* run unobserved rather than not at all */
	bool quiet;
	int verbose; /* 1: files, 2: filtered files too */
	digest_set want;
	char *const *envp; /* of the command; NULL: ours */
};

/* What is known before the command starts; it is the description in the journal,
 * so that a recovery can record the job.  Strings live in the run's pool. */
struct run_meta {
	char uid[9];
	const char *kind;
	const char *name;
	char *const *argv; /* redacted */
	const char *cwd;
	const char *tracer;
	const char *host;
	const char *user;
	int64_t started_ns;
};

/* A bit of lineage_file.seen beside those of enum lineage_seen: opened for reading
 * and writing, so that it may be mapped. */
enum { RUN_MAPPABLE = 1 << 15 };

/* What became of one file, decided in settle.c. */
struct run_file {
	struct lineage_file *file;
	uint8_t roles; /* enum lineage_role */
	uint8_t filter; /* enum filter_id */
	uint8_t after_ftype; /* enum event_ftype after the run */
	bool hashed; /* an early digest of the output is still true */
	bool changed; /* somebody else wrote to the input meanwhile */
};

struct run {
	struct project *project;
	struct run_options options;
	struct run_meta meta;
	struct pool pool;
	struct redact *redact;
	struct filter_options filters;
	struct fold *fold;
	struct journal *journal; /* NULL when it could not be made */
	struct hasher *hasher;
	struct watch *watch; /* NULL until something is written */
	struct store *cache; /* the hasher's own connection; NULL until used */
	bool cache_failed;
	struct str scratch; /* redacted command line of a process */
	struct event *scratch_event;
	struct made *made; /* for the look at git; NULL without one */
	uint32_t n_early; /* tasks handed out while the command ran */
	uint32_t n_extras; /* kept with outcomes */
	uint32_t n_held; /* large inputs kept open */
	uint32_t n_writing; /* opens for writing less closes, roughly */
	uint32_t n_idle_ticks; /* ticks since anything was opened or closed */

	/* Directories that were renamed: what they hold moved along. */
	struct moved_dir {
		const char *from;
		const char *to;
	} * moved;
	size_t n_moved, cap_moved;

	struct tracer_result result;
	struct git_facts git;
	int64_t duration_ns; /* of the command */

	/* settle.c */
	struct run_file *files; /* the ones with a role, in order of sight */
	size_t n_files, cap_files;
	int64_t n_inputs, n_outputs, n_filtered;
	struct store_job job; /* as recorded */
	bool interrupted;

	/* time split, nanoseconds */
	int64_t settle_ns, hash_ns, record_ns, total_start_ns;
};

/* Prepares everything that does not need the command: pool, redactor, fold,
 * hasher, filters.  0 or a negative errno. */
int run_init(struct run *run, struct project *project,
	     const struct run_options *options);
void run_release(struct run *run);

/* meta.c: the description as bytes, and back (strings go to the pool). */
void run_meta_encode(const struct run_meta *meta, struct str *out);
int run_meta_decode(struct pool *pool, const void *data, size_t len,
		    struct run_meta *ret);

/* observe.c: the tracer's callbacks, ctx is the run. */
void observe_event(void *ctx, const struct event *ev);
void observe_moved_dir(struct run *run, const struct event *ev);
void observe_before_change(void *ctx, const char *path, size_t len,
			   const struct stamp *stamp);
unsigned observe_tick(void *ctx);

/* settle.c: stats every file, decides its roles, hashes what is missing. */
int settle(struct run *run);

/* record.c: writes the job; its step and counts are then in run->job. */
int record(struct run *run, struct store *store, struct roar_error *err);

/* report.c */
void report(const struct run *run);
void report_timing(const struct run *run);

/* The exit code roar ends with: the command's, or 128 + signal. */
int run_exit_code(const struct run *run);

#endif
