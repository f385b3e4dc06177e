/* rerun_restore.c - outputs from .roar/objects instead of running the command
 *
 *	find_source()	an earlier execution of the same command that ended well, whose
 *			record is complete, and of which all that it read is as it was:
 *			  inputs       by content; and no file that another execution
 *				       read, and this one did not, has come since,
 *				       nor a link in its directory or the project's
 *			  filtered     (system, packages): no change since it started
 *			  environment  the recorded variables, redacted alike
 *			and whose outputs are in place or kept
 *	put_outputs()	verified copies, or what is in place, verified
 *	record()	a job with the tracer "restore": the command did not run
 *
 * Whatever is not certain makes the command run.  What it takes from the clock, from the
 * network or at random is not seen; --no-restore is for such commands. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/map.h"
#include "base/path.h"
#include "capture/process_environment.h"
#include "commands.h"
#include "event/event.h"
#include "hash/file/file_hash.h"
#include "hash/user_cache.h"
#include "keep/keep.h"
#include "lineage/filter.h"
#include "lineage/fold.h"
#include "lineage/redact.h"
#include "query/job_facts.h"
#include "query/producer.h"
#include "query/variant.h"
#include "rerun/rerun_work.h"
#include "run/options.h"
#include "store/store.h"
#include "ui/view.h"

enum { TRIES = 32 }; /* earlier executions that are looked at */

struct restore {
	struct view *view;
	struct project project; /* with its configuration */
	const struct store_job *job; /* the step's latest execution */
	struct store_job source;
	struct store_file *files; /* of the source */
	size_t n_files;
	struct presence_look look;
	const struct store_job *jobs; /* executions looked at */
	size_t n_jobs; /* of which the paths are not known yet */
	struct map paths; /* that they have read */
};

/* ---- is everything as it was? ---- */

static bool has_changed_since(const char *path, int64_t time_ns)
{
	struct stat st;

	return stat(path, &st) < 0 || stamp_of(&st).ctime_ns >= time_ns;
}

/* Files that are not hashed.  A compiled module stands for its source, which Python
 * compiles again when it pleases. */
static bool is_filtered_same(const struct store_file *row, int64_t started_ns)
{
	static const char folder[] = "/__pycache__/";
	const char *cache = strstr(row->path, folder);
	CLEANUP(str_release) struct str source = STR_INIT;
	const char *name;

	if (row->filter == FILTER_ROAR || row->filter == FILTER_DEVICES ||
	    row->ftype == EVENT_FTYPE_DIRECTORY)
		return true;
	if (!cache)
		return !has_changed_since(row->path, started_ns);
	name = cache + strlen(folder);
	str_add(&source, row->path, (size_t)(cache - row->path) + 1);
	str_add(&source, name, strcspn(name, "."));
	str_adds(&source, ".py");
	return str_error(&source) == 0 &&
	       !has_changed_since(access(source.data, F_OK) == 0 ? source.data :
								   row->path,
				  started_ns);
}

static bool is_input_same(struct restore *r, const struct store_file *row)
{
	/* That it removed or renamed a file would not be repeated. */
	if (row->seen & (LINEAGE_REMOVED | LINEAGE_MOVED_AWAY))
		return false;
	if (row->filter)
		return is_filtered_same(row, r->source.started_ns);
	return row->artifact_id &&
	       presence_check(&r->look, row) == PRESENCE_PRESENT;
}

static bool is_output_kept(struct restore *r, const struct store_file *row)
{
	/* The files of a directory have rows of their own. */
	if (row->filter || row->ftype == EVENT_FTYPE_DIRECTORY)
		return true;
	if (!row->artifact_id || producer_is_moved(row))
		return false;
	if (presence_check(&r->look, row) == PRESENCE_PRESENT)
		return row->ftype == EVENT_FTYPE_REGULAR ||
		       row->ftype == EVENT_FTYPE_SYMLINK;
	return row->ftype == EVENT_FTYPE_REGULAR &&
	       keep_has(r->project.dirfd, row->digests.blake3, NULL);
}

static int add_paths(struct restore *r, const struct store_job *job)
{
	struct view *v = r->view;
	struct store_file *files;
	struct roar_error err = { 0 };
	size_t n = 0;
	int e = store_files(v->store, &v->pool, job->id, false, &files, &n,
			    &err);

	for (size_t i = 0; i < n && e == 0; i++)
		if (files[i].role == LINEAGE_INPUT)
			e = map_set(&r->paths, files[i].path,
				    strlen(files[i].path),
				    (char *)files[i].path);
	return e;
}

/* What all executions looked at have read, when it is first asked for. */
static int find_paths(struct restore *r)
{
	int e = 0;

	while (r->n_jobs && e == 0) {
		e = add_paths(r, &r->jobs[r->n_jobs - 1]);
		r->n_jobs -= e == 0;
	}
	return e;
}

/* Has a link in that directory been made since, and not by the source?  Files are recorded
 * by the names that links lead to, and this one may lead to others. */
static bool has_new_link(const struct restore *r, const struct map *own,
			 const char *dir)
{
	CLEANUP(str_release) struct str path = STR_INIT;
	CLEANUP(closedirp) DIR *d = opendir(dir);
	struct dirent *entry;
	struct stat st;

	while (d && (entry = readdir(d))) {
		if (fstatat(dirfd(d), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) <
			    0 ||
		    !S_ISLNK(st.st_mode) ||
		    stamp_of(&st).ctime_ns < r->source.started_ns)
			continue;
		str_clear(&path);
		str_addf(&path, "%s/%s", dir, entry->d_name);
		if (str_error(&path) < 0 || !map_get(own, path.data, path.len))
			return true;
	}
	return false;
}

/* A file that was not there then may be read now: settings that are looked for. */
static bool has_new_file(struct restore *r)
{
	CLEANUP(map_release) struct map own = MAP_INIT;
	const char *path;
	size_t pos = 0;

	if (find_paths(r) < 0)
		return true;
	for (size_t i = 0; i < r->n_files; i++)
		if (map_set(&own, r->files[i].path, strlen(r->files[i].path),
			    &r->files[i]) < 0)
			return true;
	while ((path = map_next(&r->paths, &pos)))
		if (!map_get(&own, path, strlen(path)) &&
		    access(path, F_OK) == 0 &&
		    has_changed_since(path, r->source.started_ns))
			return true;
	return has_new_link(r, &own, r->source.cwd) ||
	       has_new_link(r, &own, r->project.root);
}

static bool are_files_same(struct restore *r)
{
	size_t n_outputs = 0;

	for (size_t i = 0; i < r->n_files; i++) {
		const struct store_file *row = &r->files[i];

		if (row->role == LINEAGE_INPUT && !is_input_same(r, row))
			return false;
		if (row->role != LINEAGE_OUTPUT)
			continue;
		if (!is_output_kept(r, row))
			return false;
		n_outputs += !row->filter;
	}
	return n_outputs > 0 && !has_new_file(r);
}

/* ---- the environment ---- */

static bool counts(const char *name)
{
	return strncmp(name, "_=", 2) != 0 &&
	       !job_fact_is_incidental(JOB_DIFF_VARIABLE, name);
}

/* Are the recorded variables, each as it is now, all that count? */
static bool are_equal(const struct job_facts *then, char *const *now,
		      const struct process_environments *set)
{
	size_t n = 0;

	for (size_t i = 0; now[i]; i++)
		n += counts(now[i]);
	for (size_t i = 0; i < then->n; i++) {
		const struct job_fact *fact = &then->items[i];
		const char *value;

		if (!counts(fact->name))
			continue;
		value = process_environments_get(set, 1, fact->name);
		if (!n-- || !value || strcmp(value, fact->value) != 0)
			return false;
	}
	return n == 0;
}

static bool is_environment_same(struct restore *r)
{
	CLEANUP(process_environments_freep)
	struct process_environments *set = NULL;
	CLEANUP(job_facts_release)
	struct job_facts facts = { .pool = &r->view->pool };
	CLEANUP(redact_freep) struct redact *redact = NULL;
	CLEANUP(str_release) struct str block = STR_INIT;
	const struct config *config = &r->project.config;
	char **envp = run_environment(&r->view->pool, config);
	struct job_diff_side side = { .query = &r->view->query,
				      .job = &r->source };
	struct roar_error err = { 0 };

	if (job_facts_read(&facts, &side, JOB_DIFF_VARIABLE, &err) < 0)
		return false;
	if (facts.is_unknown)
		return false;
	for (size_t i = 0; envp[i]; i++)
		str_add(&block, envp[i], strlen(envp[i]) + 1);
	if (str_error(&block) < 0 ||
	    config_redact_new(config, envp, &redact) < 0 ||
	    process_environments_new(redact, &set) < 0)
		return false;
	process_environments_add(set, 1, "", block.data, block.len);
	return are_equal(&facts, envp, set);
}

/* ---- the execution to take them from ---- */

static bool is_source(struct restore *r, const struct store_job *job,
		      struct roar_error *err)
{
	struct view *v = r->view;

	/* What was restored has no record of the environment. */
	if (job->exit_code || job->status != STORE_DONE || !job->complete ||
	    variant_is_restored(job) || !job->n_outputs ||
	    memcmp(job->command_id, r->job->command_id,
		   sizeof(job->command_id)) != 0)
		return false;
	r->source = *job;
	return store_files(v->store, &v->pool, job->id, true, &r->files,
			   &r->n_files, err) == 0 &&
	       are_files_same(r) && is_environment_same(r);
}

static bool find_source(struct restore *r, struct roar_error *err)
{
	struct view *v = r->view;
	struct store_job_query query = {
		.session_id = r->job->session_id,
		.kind = r->job->kind,
		.step = r->job->step,
		.limit = TRIES,
	};
	struct store_job *jobs;
	size_t n;

	if (store_jobs(v->store, &v->pool, &query, &jobs, &n, err) < 0)
		return false;
	r->jobs = jobs;
	r->n_jobs = n;
	while (n-- > 0)
		if (is_source(r, &jobs[n], err))
			return true;
	return false;
}

/* ---- the files ---- */

static mode_t mode_for(const char *path)
{
	mode_t mask = umask(0);
	struct stat st;

	(void)umask(mask);
	return stat(path, &st) == 0 ? st.st_mode & 07777 : 0666 & ~mask;
}

static int make_folder(const char *path)
{
	CLEANUP(str_release) struct str dir = STR_INIT;

	str_add(&dir, path, (size_t)(path_basename(path) - path));
	if (str_error(&dir) < 0)
		return -ENOMEM;
	for (size_t i = 1; i < dir.len; i++) {
		if (dir.data[i] != '/')
			continue;
		dir.data[i] = '\0';
		if (mkdir(dir.data, 0777) < 0 && errno != EEXIST)
			return -errno;
		dir.data[i] = '/';
	}
	return 0;
}

/* Puts the content of the row at its path, verified; the row gets its stamp. */
static int put_output(struct restore *r, struct store_file *row)
{
	struct file_hash hash;
	struct stat st;
	int e;

	if (row->ftype !=
	    EVENT_FTYPE_REGULAR) /* a link, whose text was compared */
		return 0;
	if (presence_check(&r->look, row) == PRESENCE_PRESENT) {
		e = file_hash(AT_FDCWD, row->path, DIGEST_SET_BLAKE3, NULL,
			      NULL, &hash);
		if (e == 0 && !memcmp(hash.digests.blake3, row->digests.blake3,
				      BLAKE3_LEN)) {
			row->stamp = hash.stamp;
			return 0;
		}
	}
	e = make_folder(row->path);
	if (e == 0)
		e = keep_restore(r->project.dirfd, row->digests.blake3,
				 AT_FDCWD, row->path, mode_for(row->path),
				 KEEP_REPLACE);
	if (e == 0 && stat(row->path, &st) < 0)
		e = -errno;
	if (e == 0)
		row->stamp = stamp_of(&st);
	return e;
}

static int put_outputs(struct restore *r)
{
	int e = 0;

	for (size_t i = 0; e == 0 && i < r->n_files; i++)
		if (r->files[i].role == LINEAGE_OUTPUT && !r->files[i].filter)
			e = put_output(r, &r->files[i]);
	return e;
}

/* ---- the record ---- */

/* The command, its code and its step are those of the source; the rest is new. */
static int fill_job(struct restore *r, int64_t start_ns, struct store_job *ret)
{
	uint8_t uid[4];

	if (getrandom(uid, sizeof(uid), 0) != sizeof(uid))
		return -EIO;
	*ret = r->source;
	ret->id = 0;
	ret->step = 0;
	ret->rerun_of = r->job->id;
	digest_hex(ret->uid, uid, sizeof(uid));
	ret->duration_ns = clock_mono_ns() - start_ns;
	ret->started_ns = clock_now_ns() - ret->duration_ns;
	ret->tracer = "restore";
	ret->environment = "";
	ret->version = roar_program.version;
	ret->attach_ns = 0;
	ret->n_filtered = ret->n_processes = 0;
	ret->cpu_user_ns = ret->cpu_system_ns = ret->max_rss_kib = 0;
	return 0;
}

static int add_rows(struct restore *r, struct store *store,
		    const struct store_job *job, struct roar_error *err)
{
	struct job_tag *tags;
	size_t n_tags;
	int e = store_tags(store, &r->view->pool, r->source.id, &tags, &n_tags,
			   err);

	for (size_t i = 0; e == 0 && i < r->n_files; i++) {
		struct store_file row = r->files[i];

		if (row.filter ||
		    (row.role != LINEAGE_INPUT && row.role != LINEAGE_OUTPUT))
			continue;
		row.job_id = job->id;
		row.reader = row.writer = 0;
		row.bytes_read = row.bytes_written = -1;
		row.seen &= ~(uint32_t)LINEAGE_REPORTED;
		e = store_file_add(store, &row, err);
	}
	for (size_t i = 0; e == 0 && i < n_tags; i++)
		e = store_tag_add(store, job->id, &tags[i].tag, err);
	return e;
}

static int record(struct restore *r, int64_t start_ns, struct roar_error *err)
{
	CLEANUP(store_closep) struct store *store = NULL;
	struct store_job job;
	int e = fill_job(r, start_ns, &job);

	if (e == 0)
		e = project_store_create(&r->project, &store, err);
	if (e == 0)
		e = store_begin(store, err);
	if (e == 0)
		e = store_job_add(store, &job, err);
	if (e == 0)
		e = add_rows(r, store, &job, err);
	return e < 0 ? e : store_commit(store, err);
}

/* ---- all of it ---- */

int rerun_restore(struct rerun_work *w, size_t step, bool dry_run)
{
	CLEANUP(project_release) struct project project = { .dirfd = -1 };
	struct restore r = {
		.view = w->view,
		.job = pipeline_job(&w->pipeline, w->plan.steps[step].node),
		.look = { .budget = UINT64_MAX, .open_cache = user_cache_open },
	};
	int64_t start_ns = clock_mono_ns();
	struct roar_error err = { 0 };
	int e = project_open(0, &project, NULL, &err);

	if (e < 0)
		return e;
	r.project = project;
	e = find_source(&r, &err);
	if (e > 0 && !dry_run) {
		e = put_outputs(&r);
		if (e == 0)
			e = record(&r, start_ns, &err);
		e = e < 0 ? e : 1;
	}
	presence_look_release(&r.look);
	map_release(&r.paths);
	return e;
}
