/* settle.c - what became of each file
 *
 * The fold knows what was done to names; only the file system knows what is
 * there now.  Every name is looked at once, gets its roles (fold.h), and what
 * has a role and no valid digest yet is hashed, in batches so that memory does
 * not grow with the number of files. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/vec.h"
#include "hash/hasher.h"
#include "run/hashes.h"
#include "run/progress.h"
#include "run/run.h"

enum {
	BATCH = 4096, /* hash tasks at a time */
	MANY = 100000, /* files for which memory is looked after */
	WALK_MAX = 200000, /* names looked at below renamed directories */
	WALK_DEPTH = 64,
};

/* ---- what moved along with a renamed directory ---- */

DEFINE_CLEANUP(DIR *, closedir)

static void add_moved(struct run *run, const char *from, const char *to,
		      const struct stat *st)
{
	struct fold_change change;
	struct event *ev = run->scratch_event;

	*ev = (struct event){
		.kind = EVENT_RENAME,
		.ftype = EVENT_FTYPE_REGULAR,
		.pid = 0,
		.time_ns = clock_now_ns(),
		.before = stamp_of(st),
	};
	event_set_paths(ev, from, strlen(from), to, strlen(to));
	(void)fold_add(run->fold, ev, &change);
}

static void walk_moved(struct run *run, struct str *from, struct str *to,
		       int depth, unsigned *budget)
{
	CLEANUP(closedirp) DIR *dir = opendir(to->data);
	size_t from_len = from->len;
	size_t to_len = to->len;
	struct dirent *entry;

	if (dir && depth > WALK_DEPTH)
		*budget = 0;
	while (dir && *budget && (entry = readdir(dir))) {
		struct stat st;

		if (strcmp(entry->d_name, ".") == 0 ||
		    strcmp(entry->d_name, "..") == 0)
			continue;
		(*budget)--;
		str_addf(from, "/%s", entry->d_name);
		str_addf(to, "/%s", entry->d_name);
		if (to->failed || from->failed || to->len > EVENT_PATH_MAX ||
		    from->len > EVENT_PATH_MAX) {
			*budget = 0;
			return;
		}
		if (lstat(to->data, &st) == 0) {
			if (S_ISDIR(st.st_mode))
				walk_moved(run, from, to, depth + 1, budget);
			else if (S_ISREG(st.st_mode) &&
				 !fold_find(run->fold, to->data))
				add_moved(run, from->data, to->data, &st);
		}
		from->len = from_len;
		to->len = to_len;
	}
}

static void follow_moved_dirs(struct run *run)
{
	CLEANUP(str_release) struct str from = STR_INIT;
	CLEANUP(str_release) struct str to = STR_INIT;
	unsigned budget = WALK_MAX;

	for (size_t i = 0; i < run->n_moved; i++) {
		if (filter_match(&run->filters, run->moved[i].to, true) !=
		    FILTER_NONE)
			continue;
		str_clear(&from);
		str_clear(&to);
		str_adds(&from, run->moved[i].from);
		str_adds(&to, run->moved[i].to);
		walk_moved(run, &from, &to, 0, &budget);
	}
	if (!budget)
		fold_add_gap(run->fold, EVENT_GAP_PATH,
			     "too much below directories that were renamed");
}

/* ---- roles ---- */

static void look(const struct lineage_file *f, struct stamp *ret_stamp,
		 uint8_t *ret_ftype)
{
	struct stat st;

	*ret_stamp = (struct stamp){ 0 };
	*ret_ftype = EVENT_FTYPE_NONE;
	if (lstat(f->path, &st) < 0)
		return;
	*ret_stamp = stamp_of(&st);
	*ret_ftype = (uint8_t)event_ftype_of(st.st_mode);
}

/* Is the digest that was taken early the one of the content that is there?  Not
 * when it was taken while the file could still change in the same tick. */
static bool is_still_true(struct run *run, const struct lineage_file *f,
			  const struct stamp *after)
{
	struct outcome *o = hashes_find(f, OUTCOME_OUTPUT);

	if (!o)
		return false;
	hashes_collect(run, o);
	return o->result == 0 && o->mark == stamp_mark(after) &&
	       !stamp_is_racy(after, hashes_taken_ns(run, o));
}

/* Somebody else wrote to an input while the run had it: which content was read
 * cannot be told. */
static bool changed_under_run(const struct lineage_file *f, unsigned roles,
			      const struct stamp *after)
{
	return f->ftype == EVENT_FTYPE_REGULAR && (roles & LINEAGE_INPUT) &&
	       !(roles & LINEAGE_OUTPUT) && stamp_same_file(&f->first, after) &&
	       (f->first.size != after->size ||
		f->first.mtime_ns != after->mtime_ns);
}

static int add_file(struct run *run, struct lineage_file *f)
{
	struct run_file entry = { .file = f };
	struct run_file *slot;
	struct stamp after;
	bool written;

	look(f, &after, &entry.after_ftype);
	entry.roles = (uint8_t)lineage_roles(f, &after);
	entry.changed = changed_under_run(f, entry.roles, &after);
	entry.hashed = (entry.roles & LINEAGE_OUTPUT) &&
		       is_still_true(run, f, &after);
	if (!entry.roles)
		return 0;
	written = entry.roles &
		  (LINEAGE_OUTPUT | LINEAGE_TEMPORARY | LINEAGE_TOUCHED);
	entry.filter = (uint8_t)filter_match(&run->filters, f->path, written);
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

/* Is there a digest of what was read? */
static bool has_input_digest(struct run *run, const struct run_file *e)
{
	struct outcome *o = hashes_find(e->file, OUTCOME_INPUT);

	if (!o)
		return false;
	hashes_collect(run, o);
	return o->result == 0 && o->mark == stamp_mark(&e->file->first);
}

static bool needs_input(const struct run_file *e)
{
	return !e->filter && (e->roles & LINEAGE_INPUT) &&
	       e->file->ftype == EVENT_FTYPE_REGULAR;
}

static bool needs_output(const struct run_file *e)
{
	return !e->filter && (e->roles & LINEAGE_OUTPUT) &&
	       e->after_ftype == EVENT_FTYPE_REGULAR;
}

/* An input that the run did not change may share the output's pass, and an input
 * that moved is read where it is now. */
static const char *where_is(const struct run *run, const struct lineage_file *f)
{
	struct lineage_file *const *files;
	size_t n;

	if (access(f->path, F_OK) == 0 || !(f->seen & LINEAGE_MOVED_AWAY))
		return f->path;
	files = fold_files(run->fold, &n);
	for (size_t i = 0; i < n; i++)
		if (files[i]->origin == f)
			return files[i]->path;
	return f->path;
}

/* Waits for the batch of files [from, to) and frees its tasks. */
static void finish_batch(struct run *run, size_t from, size_t to,
			 struct progress *progress)
{
	hasher_drain(run->hasher, progress_show, progress);
	for (size_t i = from; i < to; i++)
		for (struct outcome *o = run->files[i].file->user; o;
		     o = o->next)
			hashes_collect(run, o);
}

static void hash_missing(struct run *run, struct progress *progress)
{
	size_t from = 0;
	unsigned n = 0;

	for (size_t i = 0; i < run->n_files; i++) {
		struct run_file *e = &run->files[i];

		if (needs_input(e) && !has_input_digest(run, e) &&
		    hashes_submit(run, e->file, OUTCOME_INPUT,
				  where_is(run, e->file), -1))
			n++;
		if (needs_output(e) && !e->hashed &&
		    hashes_submit(run, e->file, OUTCOME_OUTPUT, e->file->path,
				  -1))
			n++;
		if (n >= BATCH) {
			finish_batch(run, from, i + 1, progress);
			from = i + 1;
			n = 0;
		}
	}
	finish_batch(run, from, run->n_files, progress);
}

/* ---- the verdict ---- */

static void judge(struct run *run, struct run_file *e, enum outcome_side side)
{
	struct outcome *o = hashes_find(e->file, side);

	if (o)
		hashes_collect(run, o);
	if (!o || o->result < 0) {
		int r = o ? o->result : -ENOMEM;

		fold_add_gap(run->fold,
			     r == -EAGAIN ? EVENT_GAP_CHANGED :
					    EVENT_GAP_UNREADABLE,
			     e->file->path);
		return;
	}
	if (side == OUTCOME_INPUT && o->mark != stamp_mark(&e->file->first)) {
		o->result = -ESTALE;
		fold_add_gap(run->fold, EVENT_GAP_CHANGED, e->file->path);
	}
}

/* A temporary has a digest when it was closed long enough before it went. */
static void collect_early(struct run *run, const struct run_file *e)
{
	struct outcome *o = hashes_find(e->file, OUTCOME_OUTPUT);

	if (o)
		hashes_collect(run, o);
}

static void judge_all(struct run *run)
{
	for (size_t i = 0; i < run->n_files; i++) {
		struct run_file *e = &run->files[i];

		if (needs_input(e))
			judge(run, e, OUTCOME_INPUT);
		if (needs_output(e))
			judge(run, e, OUTCOME_OUTPUT);
		else
			collect_early(run, e);
		if (!e->filter &&
		    ((e->file->seen & LINEAGE_UNSTABLE) || e->changed))
			fold_add_gap(run->fold, EVENT_GAP_CHANGED,
				     e->file->path);
	}
}

int settle(struct run *run)
{
	struct progress progress = progress_start(!run->options.quiet);
	int64_t start = clock_mono_ns();
	struct lineage_file *const *files;
	size_t n;

	follow_moved_dirs(run);
	files = fold_files(run->fold, &n);
	for (size_t i = 0; i < n; i++) {
		int r = add_file(run, files[i]);

		if (r < 0)
			return r;
	}
	run->settle_ns = clock_mono_ns() - start;
	hash_missing(run, &progress);
	progress_end(&progress);
	judge_all(run);
	/* The tasks of many files leave holes that the record could not use. */
	if (run->n_files > MANY)
		(void)malloc_trim(0);
	run->hash_ns = clock_mono_ns() - start - run->settle_ns;
	return 0;
}
