/* recover.c - see recover.h */
#include "project/recover.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "event/journal.h"
#include "event/note.h"
#include "project/project.h"
#include "run/objects.h"
#include "run/run.h"
#include "run/situation.h"
#include "store/store.h"
#include "trace/hybrid/hybrid.h"

enum { STATUS_KILLED = 9 }; /* wait status of a process ended by SIGKILL */

static bool ends_with(const char *name, const char *end)
{
	size_t n = strlen(name);
	size_t len = strlen(end);

	return n > len && strcmp(name + n - len, end) == 0;
}

/* What programs had told and the killed tracer had not read. */
static void add_told(void *ctx, const struct event *ev)
{
	struct fold_change change;
	struct run *run = ctx;

	(void)fold_add(run->fold, intake_redacted(run, ev), &change);
	intake_moved_dir(run, ev);
}

/* Folds the events and finds out how the command ended, if it did. */
static void replay(struct run *run, struct journal_reader *reader)
{
	const struct event *ev;
	int64_t last_ns = run->meta.started_ns;
	int32_t root = 0;

	run->result.status = STATUS_KILLED;
	run->interrupted = true;
	while ((ev = journal_next(reader))) {
		struct fold_change change;

		if (ev->kind == EVENT_FORK && (ev->flags & EVENT_ROOT))
			root = ev->pid;
		if (ev->kind == EVENT_EXIT && ev->pid == root) {
			run->result.status = ev->aux;
			run->interrupted = false;
		}
		if (ev->time_ns > last_ns)
			last_ns = ev->time_ns;
		(void)fold_add(run->fold, ev, &change);
		intake_moved_dir(run, ev);
	}
	if (run->interrupted)
		(void)hybrid_recover(run->meta.uid, root, add_told, run);
	run->alive_ns = journal_alive_ns(reader);
	if (run->alive_ns < last_ns)
		run->alive_ns = last_ns;
	if (run->interrupted)
		last_ns = run->alive_ns;
	run->duration_ns = last_ns - run->meta.started_ns;
}

/* What was known of git when the run began. */
static void recall_git(struct run *run)
{
	const struct run_meta *m = &run->meta;
	struct git_facts *git = &run->git;

	if (!m->git_root)
		return;
	git->root = strdup(m->git_root);
	git->commit = m->git_commit ? strdup(m->git_commit) : NULL;
	git->branch = m->git_branch ? strdup(m->git_branch) : NULL;
	git->remote = m->git_remote ? strdup(m->git_remote) : NULL;
	git->dirty = TRI_UNKNOWN;
	git->note = strdup(
		"roar was killed before it had read the state of the work "
		"tree");
}

/* `ret_uid` is the run's, as far as that could be read. */
static int record_journal(struct project *project, struct store *store,
			  struct journal_reader *reader, char ret_uid[9],
			  struct roar_error *err)
{
	struct run_options options = { .kind = "run", .quiet = true };
	CLEANUP(run_release) struct run run = { 0 };
	const void *meta;
	size_t len;
	int r;

	options.want = project->config.hash_run;
	options.keep = project->config.objects_keep;
	meta = journal_meta(reader, &len);
	r = run_init(&run, project, &options);
	if (r == 0)
		r = run_meta_decode(&run.pool, meta, len, &run.meta);
	if (r < 0)
		return r;
	memcpy(ret_uid, run.meta.uid, sizeof(run.meta.uid));
	run.recovered = true;
	recall_git(&run);
	replay(&run, reader);
	fold_add_gap(run.fold,
		     run.interrupted ? EVENT_GAP_INTERRUPTED : EVENT_GAP_LATE,
		     "");
	r = run_classify(&run);
	situation_collect(&run);
	if (r == 0)
		r = record_begin(&run, store, err);
	if (r == 0)
		r = record_commit(&run, store, err);
	if (r == 0)
		kept_content_add(&run);
	return r;
}

/* One journal.  Returns 1 when a record was completed, 0 when there was nothing
 * to do, negative when it must stay for another time. */
static int recover_one(struct project *project, struct store *store, int dirfd,
		       const char *name, struct roar_error *err)
{
	CLEANUP(journal_reader_freep) struct journal_reader *reader = NULL;
	struct roar_error why = { 0 };
	char uid[9] = "";
	int r = journal_open(dirfd, name, &reader);

	if (r == -EBUSY || r == -ENOENT)
		return 0; /* its run is alive, or someone else was faster */
	if (r == 0)
		r = record_journal(project, store, reader, uid, &why);
	/* Recorded now, or before the journal could be removed, or nothing in it. */
	if (r == 0 || r == -EEXIST || r == -ENODATA) {
		(void)unlinkat(dirfd, name, 0);
		if (*uid) {
			hybrid_forget(uid);
			note_remove_all(project->dirfd, uid);
			objects_remove(project->dirfd, uid);
		}
		return r == 0;
	}
	/* Not ours to understand, so not ours to remove. */
	if (r == -EBADMSG)
		return 0;
	if (!*why.text)
		(void)error_set(&why, r, "'%s/runs/%s' cannot be completed: %s",
				project->dir, name, strerror(-r));
	return error_set(
		err, r, "%s%s", why.text,
		r == -EACCES ?
			": the run belongs to another user, often root; 'sudo roar "
			"status' completes it" :
			"");
}

int recover_runs(struct project *project, struct store *store,
		 struct roar_error *err)
{
	CLEANUP(closedirp) DIR *dir = NULL;
	struct dirent *entry;
	int failed = 0;
	int n = 0;
	int fd = openat(project->dirfd, "runs",
			O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);

	if (fd < 0 && errno == ENOENT)
		return 0;
	if (fd < 0)
		return error_set(err, -errno, "cannot open '%s/runs': %s",
				 project->dir, strerror(errno));
	dir = fdopendir(fd);
	if (!dir) {
		(void)close(fd);
		return error_set(err, -ENOMEM, "out of memory");
	}
	while ((entry = readdir(dir))) {
		int r;

		if (ends_with(entry->d_name, ".journal" JOURNAL_UNBORN))
			journal_remove_unborn(fd, entry->d_name);
		if (!ends_with(entry->d_name, ".journal"))
			continue;
		r = recover_one(project, store, fd, entry->d_name, err);
		if (r < 0)
			failed = r; /* it stays; the others need not */
		else
			n += r;
	}
	return failed ? failed : n;
}
