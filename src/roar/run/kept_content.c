/* kept_content.c - see kept_content.h */
#include "run/kept_content.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/quote.h"
#include "cli/cli.h"
#include "git/git_credentials.h"
#include "lineage/step.h"
#include "project/code_file.h"
#include "project/kept_files.h"
#include "project/owner.h"
#include "project/project.h"
#include "run/contents.h"
#include "run/run.h"

struct keeping {
	struct run *run;
	struct kept_files files;
	bool is_full; /* no more is tried */
	uint64_t n_code_bytes, n_code_files;
	struct str script; /* absolute; empty: none */
};

static void note_failure(struct keeping *k, const char *path, int r)
{
	struct kept_content *kept = &k->run->kept;

	if (r == -ENOSPC || r == -EROFS || r == -EDQUOT)
		k->is_full = true;
	if (kept->n_failed++)
		return;
	kept->failed_path = path;
	kept->error = r;
}

/* The content that the run saw on that side, if it is known. */
static const struct content *find_content(const struct run_file *e,
					  enum content_side side)
{
	const struct content *c = contents_find(e->file, side);

	return c && !c->pending && c->result >= 0 ? c : NULL;
}

static void keep_side(struct keeping *k, const struct run_file *e,
		      enum content_side side)
{
	const struct content *c = find_content(e, side);
	struct kept_content *kept = &k->run->kept;
	enum keep_how how;
	uint64_t size;
	int r;

	if (!c)
		return;
	r = k->is_full ? -ENOSPC :
			 kept_files_add(&k->files, e->file->path, c->blake3,
					&size, &how);
	if (r < 0) {
		note_failure(k, e->file->path, r);
		return;
	}
	kept->n++;
	kept->n_bytes += size;
}

/* ---- code outside of a repository ---- */

static bool may_keep_code(struct keeping *k, const struct run_file *e)
{
	const char *path = e->file->path;
	const char *root = k->run->project->root;

	return run_file_needs_input(e) && path_is_under(path, root) &&
	       code_file_is(path, k->script.len ? k->script.data : NULL) &&
	       e->file->first.size <= KEPT_CODE_FILE_BYTES &&
	       k->n_code_bytes + e->file->first.size <= KEPT_CODE_BYTES &&
	       k->n_code_files < KEPT_CODE_FILES &&
	       !git_names_credentials(path_relative(path, root), false);
}

static bool holds_credentials(const char *path)
{
	struct stat st;
	CLEANUP(closep) int fd = kept_files_open(path, &st);
	char start[8000];
	ssize_t n = fd < 0 ? -1 : fd_read_all(fd, start, sizeof(start));

	return n < 0 || git_holds_credentials(path, start, (size_t)n);
}

/* Code that cannot be kept is not reported: `roar show` says what of it is there. */
static void keep_code(struct keeping *k, const struct run_file *e)
{
	const struct content *c = find_content(e, CONTENT_INPUT);
	enum keep_how how;
	uint64_t size;

	if (!c || !may_keep_code(k, e) || holds_credentials(e->file->path))
		return;
	if (kept_files_add(&k->files, e->file->path, c->blake3, &size, &how) < 0)
		return;
	k->n_code_files++;
	k->n_code_bytes += size;
}

static bool wants_code(const struct run *run)
{
	return !run->git.root && run->project->config.git_snapshot;
}

static void find_script(struct keeping *k)
{
	const char *script = step_script(k->run->meta.argv);

	if (script && strcmp(script, "-m") != 0)
		path_normalize(&k->script, k->run->meta.cwd, script);
	if (k->script.failed)
		str_clear(&k->script);
}

/* ---- all ---- */

static void keep_all(struct keeping *k)
{
	struct run *run = k->run;
	bool code = wants_code(run);
	int r;

	for (size_t i = 0; i < run->n_files; i++) {
		const struct run_file *e = &run->files[i];

		if (run->options.keep & CONFIG_KEEP_INPUTS &&
		    run_file_needs_input(e))
			keep_side(k, e, CONTENT_INPUT);
		else if (code)
			keep_code(k, e);
		if (run->options.keep & CONFIG_KEEP_OUTPUTS &&
		    run_file_needs_output(e))
			keep_side(k, e, CONTENT_OUTPUT);
	}
	if (!k->files.is_changed || !run->options.keep)
		return;
	r = keep_sync(run->project->dirfd);
	if (r < 0)
		note_failure(k, run->project->dir, r);
}

void kept_content_add(struct run *run)
{
	struct keeping k = {
		.run = run,
		.files = { .dirfd = run->project->dirfd,
			   .config = &run->project->config },
		.script = STR_INIT,
	};
	bool acted;

	if (!run->options.keep && !wants_code(run))
		return;
	find_script(&k);
	acted = owner_act(run->project->dirfd);
	keep_all(&k);
	owner_act_as_self(acted);
	str_release(&k.script);
}

/* ---- the report ---- */

void kept_content_add_words(struct str *out, const struct run *run)
{
	if (!run->kept.n)
		return;
	str_adds(out, ", kept ");
	format_count(out, run->kept.n, "file");
	str_adds(out, " (");
	format_size(out, run->kept.n_bytes);
	str_addc(out, ')');
}

void kept_content_add_advice(struct str *out, const struct run *run)
{
	const struct kept_content *kept = &run->kept;

	if (!kept->n_failed)
		return;
	str_adds(out, "roar: content of ");
	format_count(out, kept->n_failed, "file");
	str_adds(out, kept->n_failed == 1 ? " was not kept: '" :
					    " was not kept, first '");
	quote_printable(out, kept->failed_path, strlen(kept->failed_path));
	str_addf(out, "': %s\n", kept_files_reason(kept->error));
}
