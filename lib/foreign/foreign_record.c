/* foreign_record.c - foreign runs as jobs of the record. */
#include "foreign/foreign.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/pool.h"
#include "base/str.h"
#include "event/event.h"
#include "hash/file/file_hash.h"
#include "lineage/fold.h"
#include "lineage/redact.h"
#include "lineage/step.h"
#include "store/store.h"

struct recording {
	struct store *store;
	const struct foreign_runs *runs;
	const struct redact *redact;
	const char *version;
	int64_t session_id;
	struct pool pool;
	struct roar_error *err;
};

/* The text without secrets, "" for NULL; NULL when out of memory. */
static const char *redacted(struct recording *r, const char *text)
{
	CLEANUP(str_release) struct str out = STR_INIT;

	redact_text(r->redact, text ? text : "", text ? strlen(text) : 0, &out);
	return str_error(&out) < 0 ? NULL :
				     pool_strdup(&r->pool, str_cstr(&out));
}

static int fill_uid(const struct recording *r, const struct foreign_run *run,
		    struct store_job *job)
{
	CLEANUP(str_release) struct str text = STR_INIT;
	struct digests d;
	int e;

	str_addf(&text, "%s %s", r->runs->program, run->id);
	e = str_error(&text);
	if (e == 0)
		e = digest_buffer(text.data, text.len, DIGEST_SET_BLAKE3, &d);
	if (e < 0)
		return e;
	digest_hex(job->uid, d.blake3, 4);
	return 0;
}

/* The same stage or job is the same step, whatever its command is. */
static void fill_identity(struct recording *r, const struct foreign_run *run,
			  struct store_job *job)
{
	char *argv[] = { (char *)r->runs->program, (char *)run->name, NULL };

	step_command_id("run", job->cwd, argv, job->command_id);
	memset(job->output_id, 0, sizeof(job->output_id));
}

static int fill_job(struct recording *r, const struct foreign_run *run,
		    struct store_job *job)
{
	int64_t now = clock_now_ns();
	int64_t started = run->started_ns ? run->started_ns : now;

	*job = (struct store_job){
		.session_id = r->session_id,
		.kind = "run",
		.name = redacted(r, run->name),
		.command = redacted(r, run->command ? run->command : run->name),
		.argv = "[]", /* nobody runs it again unseen */
		.script = "",
		.cwd = run->cwd ? run->cwd : "/",
		.started_ns = started,
		.duration_ns = run->ended_ns > started ?
				       run->ended_ns - started :
				       0,
		.exit_code = run->exit_code,
		.tracer = r->runs->program,
		.filters = "",
		.environment = "",
		.version = r->version,
		.host = "",
		.user = "",
		.git_root = "",
		.git_commit = redacted(r, run->commit),
		.git_branch = "",
		.git_remote = redacted(r, run->repository),
		.git_snapshot = "",
		.git_note = "",
	};
	if (!job->name || !job->command || !job->git_commit || !job->git_remote)
		return -ENOMEM;
	for (size_t i = 0; i < run->n_files; i++) {
		job->n_inputs += !run->files[i].is_output;
		job->n_outputs += run->files[i].is_output;
	}
	fill_identity(r, run, job);
	return fill_uid(r, run, job);
}

/* A file of this machine that still is what the document says. */
static void identify(const struct foreign_file *file, struct store_file *row)
{
	const digest_set md5 = 1 << DIGEST_MD5;
	struct file_hash hash;

	row->digests = file->digests;
	if (file->digests.have & DIGEST_SET_BLAKE3)
		return;
	row->digests.have = 0; /* without a BLAKE3 there is no artifact */
	if (file->is_remote || !(file->digests.have & md5))
		return;
	if (file_hash(AT_FDCWD, file->path, md5 | DIGEST_SET_BLAKE3, NULL, NULL,
		      &hash) < 0 ||
	    memcmp(hash.digests.md5, file->digests.md5,
		   sizeof(hash.digests.md5)) != 0)
		return;
	row->digests = hash.digests;
	row->stamp = hash.stamp;
}

static int add_file(struct recording *r, int64_t job_id,
		    const struct foreign_file *file, int64_t order)
{
	struct store_file row = {
		.job_id = job_id,
		.path = redacted(r, file->path),
		.role = file->is_output ? LINEAGE_OUTPUT : LINEAGE_INPUT,
		.ftype = file->is_remote ? EVENT_FTYPE_OBJECT :
					   EVENT_FTYPE_REGULAR,
		.stamp = { .size = (uint64_t)(file->size < 0 ? 0 : file->size) },
		.read_order = file->is_output ? 0 : order,
		.write_order = file->is_output ? order : 0,
		.bytes_read = -1,
		.bytes_written = -1,
		.origin = "",
	};

	if (!row.path)
		return -ENOMEM;
	identify(file, &row);
	return store_file_add(r->store, &row, r->err);
}

static int add_run(struct recording *r, const struct foreign_run *run)
{
	const struct store_gap gap = {
		EVENT_GAP_UNTRACED,
		pool_printf(&r->pool, "imported from %s", r->runs->program), 1
	};
	struct store_job job;
	int e = fill_job(r, run, &job);

	if (e < 0 || !gap.detail)
		return -ENOMEM;
	e = store_job_add(r->store, &job, r->err);
	if (e == 0)
		e = store_gap_add(r->store, job.id, &gap, r->err);
	for (size_t i = 0; e == 0 && i < run->n_files; i++)
		e = add_file(r, job.id, &run->files[i], (int64_t)i + 1);
	return e;
}

/* 1 when a job has the UID of the run. */
static int is_known(struct recording *r, const struct foreign_run *run)
{
	struct store_job job, *found;
	const struct store_job_query query = { .uid_prefix = job.uid };
	size_t n;
	int e = fill_uid(r, run, &job);

	if (e == 0)
		e = store_jobs(r->store, &r->pool, &query, &found, &n, r->err);
	return e < 0 ? e : n > 0;
}

static int add_runs(struct recording *r, size_t *ret_new, size_t *ret_known)
{
	struct store_session session;
	int e = store_session_active(r->store, true, &session, r->err);

	r->session_id = session.id;
	for (size_t i = 0; e >= 0 && i < r->runs->n; i++) {
		e = is_known(r, &r->runs->list[i]);
		*ret_known += e == 1;
		*ret_new += e == 0;
		if (e == 0)
			e = add_run(r, &r->runs->list[i]);
	}
	return e < 0 ? e : 0;
}

int foreign_record(struct store *s, const struct foreign_runs *runs,
		   const struct redact *redact, const char *version,
		   size_t *ret_new, size_t *ret_known, struct roar_error *err)
{
	struct recording r = { .store = s,
			       .runs = runs,
			       .redact = redact,
			       .version = version,
			       .err = err };
	int e = store_begin(s, err);

	*ret_new = *ret_known = 0;
	if (e < 0)
		return e;
	e = add_runs(&r, ret_new, ret_known);
	if (e == 0)
		e = store_commit(s, err);
	if (e < 0)
		store_rollback(s);
	pool_release(&r.pool);
	return e == -ENOMEM && !err->text[0] ?
		       error_set(err, e, "out of memory") :
		       e;
}
