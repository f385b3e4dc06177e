/* writer_digests.c - see writer_digests.h */
#include "run/writer_digests.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/map.h"
#include "base/pool.h"
#include "event/note.h"
#include "project/project.h"
#include "run/contents.h"
#include "run/run.h"
#include "run/verdict.h"

enum {
	/* A smaller file is hashed in less time than a note is looked for. */
	LARGE_BYTES = 1024 * 1024,
};

/* Times of events are those at which the tracer noticed them, which on a busy machine is
 * late: a process that was started while its parent wrote may seem to be younger than the
 * report, or an open younger than a fork after it.  Where that is possible, roar hashes the
 * file itself. */
#define NOTICED_LATE_NS (5 * INT64_C(1000000000))

/* The newest report of a path. */
struct report {
	int32_t pid;
	struct note_digest digest;
};

struct reports {
	struct pool pool;
	struct map by_path;
};

static void reports_release(struct reports *r)
{
	map_release(&r->by_path);
	pool_release(&r->pool);
}

static bool may_take(const struct run *run)
{
	return !(run->options.want & ~(digest_set)DIGEST_SET_BLAKE3) &&
	       verdict_is_complete(run);
}

bool writer_digests_are_due(const struct run *run,
			    const struct lineage_file *file,
			    uint64_t size_bytes)
{
	char name[64];

	if (size_bytes < LARGE_BYTES || !may_take(run) ||
	    !lineage_wrote_alone(file, file->writer))
		return false;
	(void)snprintf(name, sizeof(name), "runs/%.*s." NOTE_DIGESTS "-%d",
		       NOTE_UID_LEN, run_birth_uid(run), (int)file->writer);
	return faccessat(run->project->dirfd, name, F_OK, 0) == 0;
}

/* ---- the notes ---- */

static int add_report(struct reports *all, int32_t pid,
		      const struct note_digest *d)
{
	size_t len = strlen(d->path);
	struct report *r = map_get(&all->by_path, d->path, len);
	const char *path = r ? r->digest.path :
			       pool_dup(&all->pool, d->path, len);

	if (r && r->digest.tick_ns > d->tick_ns)
		return 0;
	if (!r)
		r = pool_alloc(&all->pool, sizeof(*r));
	if (!r || !path)
		return -ENOMEM;
	*r = (struct report){ pid, *d };
	r->digest.path = path;
	return map_set(&all->by_path, path, len, r);
}

static int add_note(void *ctx, struct note *note)
{
	struct note_digest d;
	char *rest = note->payload;
	int r = 0;

	while (r == 0 && note_digest_next(&rest, &d))
		r = add_report(ctx, note->pid, &d);
	return r;
}

/* ---- which are believed ---- */

/* Did the process start another one while it may have had the file open?  That one
 * inherited the descriptor, and its writes are not told apart. */
static bool forked_meanwhile(const struct run *run, const struct report *r,
			     int64_t from_ns)
{
	int64_t to_ns = r->digest.stamp.ctime_ns + NOTICED_LATE_NS;
	size_t n;
	const struct lineage_process *p = fold_processes(run->fold, &n);

	for (size_t i = 0; i < n; i++)
		if (p[i].parent == r->pid && p[i].start_ns <= to_ns &&
		    p[i].start_ns >= from_ns - NOTICED_LATE_NS)
			return true;
	return false;
}

static bool is_as_reported(const struct lineage_file *f,
			   const struct note_digest *d)
{
	struct stamp now;
	struct stat st;

	if (lstat(f->path, &st) < 0 || !S_ISREG(st.st_mode) || st.st_nlink != 1)
		return false;
	now = stamp_of(&st);
	return stamp_equal(&now, &d->stamp) &&
	       !stamp_is_of_tick(&now, d->tick_ns);
}

static bool is_believed(const struct run *run, const struct run_file *e,
			const struct report *r)
{
	const struct lineage_file *f = e->file;

	return run_file_needs_output(e) && !(e->roles & LINEAGE_INPUT) &&
	       lineage_wrote_alone(f, r->pid) &&
	       fold_sight(run->fold, f) == FOLD_SHOWN &&
	       is_as_reported(f, &r->digest) &&
	       !forked_meanwhile(run, r, f->first_ns);
}

void writer_digests_take(struct run *run)
{
	CLEANUP(reports_release) struct reports all = { 0 };

	if (run->recovered || !may_take(run) ||
	    note_read_all(run->project->dirfd, run_birth_uid(run), NOTE_DIGESTS,
			  add_note, &all) < 0 ||
	    !all.by_path.count)
		return;
	for (size_t i = 0; i < run->n_files; i++) {
		struct run_file *e = &run->files[i];
		const struct report *r = map_get(&all.by_path, e->file->path,
						 e->file->path_len);

		if (r && !e->out_true && is_believed(run, e, r) &&
		    contents_take_reported(run, e->file, &r->digest.stamp,
					   r->digest.tick_ns, r->digest.blake3))
			e->out_true = true;
	}
}
