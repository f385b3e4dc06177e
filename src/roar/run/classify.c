/* classify.c - the final state of each file
 *
 * The fold has what was done to names; only the file system has their current state.
 * Every name is examined once and gets its roles (fold.h).  Files with a role and
 * without a valid digest are hashed, in batches so that memory does not grow with the
 * number of files. */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <malloc.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/vec.h"
#include "cli/progress.h"
#include "hash/jobs/hasher.h"
#include "run/bytecode.h"
#include "run/checkpoints.h"
#include "run/collections.h"
#include "run/contents.h"
#include "run/directory_moves.h"
#include "run/objects.h"
#include "run/run.h"
#include "run/unchanged_outputs.h"
#include "run/verdict.h"
#include "run/writer_digests.h"

enum {
	BATCH = 4096, /* hash tasks at a time */
	MANY = 100000, /* files for which memory is looked after */
};

/* Time stamps of files come from a clock that ticks. */
enum { CLOCK_SLACK_NS = 10000000 };

/* ---- roles ---- */

/* A name that the run took away may lead elsewhere by now (`mv data v1; ln -s v1
 * data`).  What is there has a name of its own. */
static bool leads_elsewhere(const struct lineage_file *f)
{
	struct open_how how = {
		.flags = O_PATH | O_NOFOLLOW | O_CLOEXEC,
		.resolve = RESOLVE_NO_SYMLINKS,
	};
	CLEANUP(closep) int fd = -1;

	if (!(f->seen & (LINEAGE_MOVED_AWAY | LINEAGE_REMOVED)))
		return false;
	fd = (int)syscall(SYS_openat2, AT_FDCWD, f->path, &how, sizeof(how));
	return fd < 0 && errno == ELOOP;
}

static void look(const struct run *run, const struct lineage_file *f,
		 struct stamp *ret_stamp, uint8_t *ret_ftype)
{
	struct stat st;

	*ret_stamp = (struct stamp){ 0 };
	*ret_ftype = EVENT_FTYPE_NONE;
	if (fold_sight(run->fold, f) != FOLD_SHOWN || lstat(f->path, &st) < 0 ||
	    leads_elsewhere(f))
		return;
	*ret_stamp = stamp_of(&st);
	*ret_ftype = (uint8_t)event_ftype_of(st.st_mode);
}

/* Another process wrote to an input while the run used it: it is unknown which content
 * was read. */
static bool changed_under_run(const struct lineage_file *f, unsigned roles,
			      const struct stamp *after)
{
	return f->ftype == EVENT_FTYPE_REGULAR && (roles & LINEAGE_INPUT) &&
	       !(roles & LINEAGE_OUTPUT) && stamp_same_file(&f->first, after) &&
	       (f->first.size != after->size ||
		f->first.mtime_ns != after->mtime_ns);
}

/* Roar was killed: after its last sign of life any process may have written.  Only the
 * time of the last status change cannot be set. */
static bool is_foreign(const struct run *run, unsigned roles,
		       const struct stamp *after)
{
	return run->recovered && (roles & LINEAGE_OUTPUT) &&
	       after->ctime_ns > run->alive_ns;
}

static uint32_t kib(uint64_t bytes)
{
	uint64_t n = (bytes + 1023) / 1024;

	return n < UINT32_MAX ? (uint32_t)n : UINT32_MAX;
}

/* Could a process of the run have been writing to the file when its digest was taken?
 * Through another name of it that would not have been noticed. */
static bool had_writers(const struct lineage_file *f, const struct content *c)
{
	return !c->final ||
	       (f->seen & (LINEAGE_LINKED_FROM | LINEAGE_LINKED_TO));
}

/* Is the digest that was taken early the one of the content that is there `now`?  Not
 * when it was taken while the file could still change in the same tick. */
static bool is_true(const struct run *run, const struct lineage_file *f,
		    const struct content *c, const struct stamp *now)
{
	int64_t taken_ns = contents_taken_ns(run, c);

	if (c->result < 0 || c->mark != stamp_mark(now))
		return false;
	return had_writers(f, c) ? !stamp_is_racy(now, taken_ns) :
				   !stamp_is_of_tick(now, taken_ns);
}

/* The stat that gave a file its roles also shows whether its early digest is valid.  A
 * file that the hasher has not begun by now counts as submitted after the end. */
static void check_early(struct run *run, struct run_file *e,
			const struct stamp *after)
{
	struct content *c = contents_find(e->file, CONTENT_OUTPUT);

	if (!c || !run_file_needs_output(e))
		return;
	contents_try_collect(run, c);
	if (c->pending)
		e->out_asked = contents_is_unbegun(c);
	else
		e->out_true = is_true(run, e->file, c, after);
}

/* It is gone with a mount, and yet its name has a file that is not older than the run
 * and that the run never touched: was it written below the mount, by a directory that
 * was opened before? */
static bool was_below_mount(const struct run *run, const struct lineage_file *f)
{
	struct stat st;

	return fold_sight(run->fold, f) == FOLD_UNMOUNTED &&
	       !fold_find(run->fold, f->path) && lstat(f->path, &st) == 0 &&
	       stamp_of(&st).ctime_ns >= run->meta.started_ns - CLOCK_SLACK_NS;
}

static int add_file(struct run *run, struct lineage_file *f)
{
	struct run_file entry = { .file = f };
	struct run_file *slot;
	struct stamp after;
	bool written;

	look(run, f, &after, &entry.after_ftype);
	entry.roles = (uint8_t)lineage_roles(f, &after);
	entry.changed = changed_under_run(f, entry.roles, &after);
	entry.foreign = is_foreign(run, entry.roles, &after);
	entry.size_kib = kib(after.size);
	entry.prior = (entry.roles & LINEAGE_OUTPUT) &&
		      lineage_is_prior(f, &after);
	entry.fresh = (entry.roles & LINEAGE_OUTPUT) &&
		      lineage_is_fresh(f, &after);
	if (!entry.roles)
		return 0;
	/* The file exists, but its content cannot be identified. */
	if ((entry.roles & LINEAGE_TEMPORARY) &&
	    fold_sight(run->fold, f) == FOLD_COVERED)
		fold_add_gap(run->fold, EVENT_GAP_UNREADABLE, f->path);
	if ((entry.roles & LINEAGE_TEMPORARY) && was_below_mount(run, f))
		fold_add_gap(run->fold, EVENT_GAP_NAMESPACE, f->path);
	written = entry.roles &
		  (LINEAGE_OUTPUT | LINEAGE_TEMPORARY | LINEAGE_TOUCHED);
	entry.filter = (uint8_t)filter_match(&run->filters, f->path, written);
	if (!entry.filter && (f->seen & RUN_CACHE) &&
	    !run->filters.off[FILTER_PACKAGES])
		entry.filter = FILTER_PACKAGES;
	if (entry.after_ftype == EVENT_FTYPE_REGULAR)
		entry.sum = sums_find(&run->sums, after.dev, after.ino,
				      INT64_MAX);
	check_early(run, &entry, &after);
	slot = VEC_PUSH(run->files, run->n_files, run->cap_files);
	if (!slot)
		return -ENOMEM;
	*slot = entry;
	if (entry.filter) {
		run->n_filtered++;
		return 0;
	}
	run->n_inputs += (entry.roles & LINEAGE_INPUT) != 0;
	run->n_outputs += (entry.roles & LINEAGE_OUTPUT) != 0;
	return 0;
}

/* ---- digests ---- */

/* Digests are requested twice: for files that the hasher has not begun, while those
 * that were begun are finished; then for files whose early digest turns out to be
 * invalid. */
struct hashing {
	struct run *run;
	struct progress progress;
	size_t from; /* first file of the batch */
	unsigned n; /* tasks in it */
	/* Outputs that have changed although no process of the run could write to them
	 * any more, with their former state. */
	struct suspect {
		struct run_file *entry;
		struct content early;
	} * suspects;
	size_t n_suspects, cap_suspects;
};

/* Is the file that the run found under its name still there? */
static bool is_at_home(const struct lineage_file *f)
{
	struct stamp now;
	struct stat st;

	if (!(f->seen & LINEAGE_MOVED_AWAY))
		return true;
	if (stat(f->path, &st) < 0)
		return false;
	now = stamp_of(&st);
	return stamp_same_file(&now, &f->first);
}

/* An input that moved is read where it is now. */
static const char *where_is(const struct run *run, const struct lineage_file *f)
{
	struct lineage_file *const *files;
	size_t n;

	if (is_at_home(f))
		return f->path;
	files = fold_files(run->fold, &n);
	for (size_t i = 0; i < n; i++)
		if (files[i]->origin == f)
			return files[i]->path;
	return f->path;
}

static void ask_input(struct hashing *h, struct run_file *e)
{
	e->in_asked = true;
	if (contents_submit(h->run, e->file, CONTENT_INPUT,
			    where_is(h->run, e->file), -1, e->file->first.size))
		h->n++;
}

static void ask_output(struct hashing *h, struct run_file *e)
{
	e->out_asked = true;
	if (contents_submit(h->run, e->file, CONTENT_OUTPUT, e->file->path, -1,
			    (uint64_t)e->size_kib * 1024))
		h->n++;
}

/* The first round: nothing was requested yet. */
static void ask_unasked(struct hashing *h, struct run_file *e)
{
	if (run_file_needs_input(e) && !contents_find(e->file, CONTENT_INPUT))
		ask_input(h, e);
	if (run_file_needs_output(e) && !contents_find(e->file, CONTENT_OUTPUT))
		ask_output(h, e);
}

/* A digest that was being computed when its file was examined. */
static bool is_still_true(const struct run *run, const struct run_file *e,
			  const struct content *c)
{
	struct stamp now;
	uint8_t ftype;

	if (e->out_true)
		return true;
	look(run, e->file, &now, &ftype);
	return is_true(run, e->file, c, &now);
}

static void suspect(struct hashing *h, struct run_file *e,
		    const struct content *c)
{
	struct suspect *s = VEC_PUSH(h->suspects, h->n_suspects,
				     h->cap_suspects);

	if (s)
		*s = (struct suspect){ e, *c };
	else
		fold_add_gap(h->run->fold, EVENT_GAP_MEMORY, "");
}

/* The second: what there is does not hold. */
static void ask_untrue(struct hashing *h, struct run_file *e)
{
	struct content *c = contents_find(e->file, CONTENT_INPUT);

	if (run_file_needs_input(e) && !e->in_asked &&
	    !contents_is_of_first(c, e->file) &&
	    !contents_recall(h->run, e->file))
		ask_input(h, e);
	c = contents_find(e->file, CONTENT_OUTPUT);
	if (!run_file_needs_output(e) || e->out_asked ||
	    is_still_true(h->run, e, c))
		return;
	if (c->final && c->result == 0)
		suspect(h, e, c);
	ask_output(h, e);
}

/* Waits for the batch of files up to `to` and frees its tasks. */
static void finish_batch(struct hashing *h, size_t to)
{
	struct run *run = h->run;

	hasher_drain(run->hasher, progress_show, &h->progress);
	for (size_t i = h->from; i < to; i++)
		for (struct content *c = run->files[i].file->user; c;
		     c = c->next)
			contents_collect(run, c);
	h->from = to;
	h->n = 0;
}

static void ask_all(struct hashing *h,
		    void (*ask)(struct hashing *h, struct run_file *e))
{
	struct run *run = h->run;

	h->from = 0;
	for (size_t i = 0; i < run->n_files; i++) {
		ask(h, &run->files[i]);
		if (h->n >= BATCH)
			finish_batch(h, i + 1);
	}
	finish_batch(h, run->n_files);
}

/* What the first round will read, for the bar. */
static void plan(struct hashing *h)
{
	for (size_t i = 0; i < h->run->n_files; i++) {
		const struct run_file *e = &h->run->files[i];

		if (run_file_needs_input(e) &&
		    !contents_find(e->file, CONTENT_INPUT))
			progress_plan(&h->progress, e->file->first.size);
		if (run_file_needs_output(e) &&
		    !contents_find(e->file, CONTENT_OUTPUT))
			progress_plan(&h->progress,
				      (uint64_t)e->size_kib * 1024);
	}
}

/* What the run wrote is its output, whatever others made of it. */
static void judge_suspects(struct hashing *h)
{
	for (size_t i = 0; i < h->n_suspects; i++) {
		const struct suspect *s = &h->suspects[i];
		struct content *c = contents_find(s->entry->file,
						  CONTENT_OUTPUT);
		struct content *next = c->next;

		if (c->pending || c->result < 0 ||
		    memcmp(c->blake3, s->early.blake3, sizeof(c->blake3)) == 0)
			continue;
		*c = s->early;
		c->next = next;
		fold_add_gap(h->run->fold, EVENT_GAP_CHANGED,
			     s->entry->file->path);
	}
}

static void hash_missing(struct run *run)
{
	struct hashing h = {
		.run = run,
		.progress = progress_start(!run->options.quiet, run->hasher),
	};

	plan(&h);
	ask_all(&h, ask_unasked);
	ask_all(&h, ask_untrue);
	progress_end(&h.progress);
	judge_suspects(&h);
	free(h.suspects);
}

/* ---- all of it ---- */

int run_classify(struct run *run)
{
	int64_t start = clock_mono_ns();
	struct lineage_file *const *files;
	size_t n;

	assert(!run->n_files);
	run->looked_ns = clock_now_tick_ns();
	environments_forget(&run->environments);
	links_forget(&run->links);
	directory_moves_follow(run);
	bytecode_follow(run);
	files = fold_files(run->fold, &n);
	for (size_t i = 0; i < n; i++) {
		int r = add_file(run, files[i]);

		if (r < 0)
			return r;
	}
	run->classify_ns = clock_mono_ns() - start;
	writer_digests_take(run);
	hash_missing(run);
	verdict_judge(run);
	unchanged_outputs_drop(run);
	if (objects_read(run) < 0 || collections_read(run) < 0 ||
	    checkpoints_read(run) < 0)
		return -ENOMEM;
	/* The tasks of many files leave holes that the record could not use. */
	if (run->n_files > MANY)
		(void)malloc_trim(0);
	run->hash_ns = clock_mono_ns() - start - run->classify_ns;
	return 0;
}
