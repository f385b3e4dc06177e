/* show_code.c - see show_code.h */
#include "show/show_code.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "base/quote.h"
#include "git/git.h"
#include "keep/keep.h"
#include "lineage/fold.h"
#include "project/code_file.h"
#include "ui/view.h"

struct code {
	size_t n_kept, n_missing;
};

static struct code count_code(struct view *v, const struct store_job *job,
			      const struct store_file *files, size_t n)
{
	CLEANUP(str_release) struct str script = STR_INIT;
	struct code code = { 0 };

	if (job->script[0])
		path_normalize(&script, job->cwd, job->script);
	for (size_t i = 0; i < n; i++) {
		const struct store_file *f = &files[i];

		if (f->role != LINEAGE_INPUT || f->filter ||
		    !path_is_under(f->path, v->project.root) ||
		    !code_file_is(f->path, str_cstr(&script)))
			continue;
		if (f->digests.have & DIGEST_SET_BLAKE3 &&
		    keep_has(v->project.dirfd, f->digests.blake3, NULL))
			code.n_kept++;
		else
			code.n_missing++;
	}
	return code;
}

void show_code_text(struct view *v, const struct store_job *job,
		    const struct store_file *files, size_t n)
{
	struct code code = count_code(v, job, files, n);

	if (job->git_root[0] || !(code.n_kept + code.n_missing))
		return;
	view_label(v, "Code:");
	format_count(&v->out, code.n_kept, "file");
	str_adds(&v->out, " in ");
	view_path(v, &v->out, v->project.dir);
	str_adds(&v->out, "/objects");
	if (code.n_missing)
		str_addf(&v->out, ", %zu not kept", code.n_missing);
	str_addc(&v->out, '\n');
}

void show_code_json(struct view *v, struct json *j, const struct store_job *job,
		    const struct store_file *files, size_t n)
{
	struct code code = count_code(v, job, files, n);

	json_put_key(j, "code");
	if (job->git_root[0]) {
		json_put_null(j);
		return;
	}
	json_put_object(j);
	view_json_int(j, "kept", (int64_t)code.n_kept);
	view_json_int(j, "missing", (int64_t)code.n_missing);
	json_end(j);
}

/* ---- the difference ---- */

static int print(void *ctx, const char *data, size_t len)
{
	(void)ctx;
	return fd_write_all(STDOUT_FILENO, data, len);
}

static int explain_none(const struct store_job *job, struct roar_error *err)
{
	if (!job->git_root[0])
		return error_set(
			err, -ENOENT,
			"job %s ran outside of a git repository; 'roar "
			"objects restore FILE' gives the code that was "
			"kept",
			job->uid);
	if (job->git_dirty == TRI_YES)
		return error_set(
			err, -ENOENT,
			"job %s ran with uncommitted changes of which "
			"there is no snapshot ('roar show %s' says why)",
			job->uid, job->uid);
	if (job->git_dirty == TRI_UNKNOWN)
		return error_set(
			err, -ENOENT,
			"whether job %s ran with uncommitted changes is "
			"not known",
			job->uid);
	return 0; /* it ran what was committed: no difference */
}

static int explain_failure(const struct store_job *job, int r,
			   const struct str *errors, struct roar_error *err)
{
	CLEANUP(str_release) struct str said = STR_INIT;

	if (r == -EPIPE)
		return 0;
	if (r < 0)
		return error_set(
			err, r, "cannot compare snapshot %.12s in '%.200s': %s",
			job->git_snapshot, job->git_root,
			r == -ENOENT ? "the repository is gone" :
			r == -ENOPKG ? "git is not installed" :
				       strerror(-r));
	quote_printable_cut(&said, str_cstr(errors), 200);
	return error_set(err, -EIO,
			 "git cannot show snapshot %.12s of '%.200s': %s",
			 job->git_snapshot, job->git_root, str_cstr(&said));
}

int show_code_diff(struct view *v, const struct store_job *job,
		   struct roar_error *err)
{
	CLEANUP(str_release) struct str errors = STR_INIT;
	int r;

	if (!job->git_snapshot[0])
		return explain_none(job, err);
	r = git_diff_read(job->git_root, job->git_snapshot, v->term.color,
			  print, NULL, &errors);
	return r == 0 ? 0 : explain_failure(job, r, &errors, err);
}
