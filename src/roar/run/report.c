/* report.c - what the user reads on stderr when the command has ended */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/path.h"
#include "base/quote.h"
#include "cli/cli.h"
#include "project/code_file.h"
#include "project/project.h"
#include "run/contents.h"
#include "run/hints.h"
#include "run/report_objects.h"
#include "run/run.h"
#include "run/verdict.h"

enum { ROWS_MAX = 4, COMMAND_WIDTH = 60 };

static void add_step(struct str *out, const struct run *run)
{
	bool build = strcmp(run->job.kind, "build") == 0;

	str_addf(out, "@%s%lld %s", build ? "B" : "", (long long)run->job.step,
		 run->job.uid);
}

static int64_t overhead_ns(const struct run *run)
{
	return clock_mono_ns() - run->total_start_ns - run->duration_ns;
}

/* "12.3 s + 8.1 ms": the command's time and ours. */
static void add_times(struct str *out, const struct run *run)
{
	clock_format_duration(out, run->duration_ns);
	str_adds(out, " + ");
	clock_format_duration(out, overhead_ns(run));
}

static void add_verdict(struct str *out, const struct run *run,
			const struct term *term)
{
	size_t n;

	(void)fold_gaps(run->fold, &n);
	if (run->interrupted)
		term_add(out, term, COLOR_YELLOW, "interrupted, ");
	if (n)
		term_add(out, term, COLOR_YELLOW, "incomplete");
	else
		term_add(out, term, COLOR_GREEN, "complete");
}

/* ---- one line, when there is no terminal ---- */

/* Uncommitted code that the record lacks is reported here too: a user who relies on a
 * snapshot must not have to ask for it. */
static void add_git_lack(struct str *out, const struct git_facts *git)
{
	if (git->root && !git->checked)
		str_adds(out, ", git state unknown");
	if (!git->left_out.n)
		return;
	str_adds(out, ", not in the snapshot: ");
	git_left_outs_describe(&git->left_out, 1, out);
}

static void add_line(struct str *out, const struct run *run,
		     const struct term *term)
{
	size_t n;
	const struct lineage_gap *gaps = fold_gaps(run->fold, &n);

	str_adds(out, "roar: ");
	add_step(out, run);
	str_adds(out, ": ");
	format_count(out, (uint64_t)run->n_inputs, "input");
	str_adds(out, ", ");
	format_count(out, (uint64_t)run->n_outputs, "output");
	str_addf(out, ", exit %d, ", run->job.exit_code);
	add_verdict(out, run, term);
	if (n) {
		str_addf(out, " (%s", event_gap_text((unsigned)gaps[0].code));
		if (gaps[0].detail[0]) {
			str_adds(out, ": ");
			quote_printable(out, gaps[0].detail,
					strlen(gaps[0].detail));
		}
		if (n > 1)
			str_addf(out, "; and %zu more", n - 1);
		str_addc(out, ')');
	}
	report_objects_add_words(out, run);
	kept_content_add_words(out, run);
	add_git_lack(out, &run->git);
	str_adds(out, ", ");
	add_times(out, run);
	str_addc(out, '\n');
}

/* ---- the block ---- */

static uint64_t size_of(const struct run_file *e, const struct content *c)
{
	struct stat st;

	if (c->side == CONTENT_INPUT)
		return e->file->first.size;
	if (c->extra)
		return c->extra->stamp.size;
	return lstat(e->file->path, &st) == 0 ? (uint64_t)st.st_size : 0;
}

static void add_hash(struct str *out, const struct run_file *e,
		     enum content_side side, const struct term *term)
{
	const struct content *c = contents_find(e->file, side);
	char hex[13];

	if (!c || c->pending || c->result < 0) {
		str_adds(out, "  ------------            ");
		return;
	}
	digest_hex(hex, c->blake3, 6);
	str_adds(out, "  ");
	term_add(out, term, COLOR_DIM, hex);
	str_adds(out, "  ");
	{
		size_t start = out->len;

		format_size(out, size_of(e, c));
		if (out->len - start < 10)
			str_pad(out, ' ', 10 - (out->len - start));
	}
}

static void add_file(struct str *out, const struct run *run,
		     const struct run_file *e, enum content_side side,
		     const char *label, const struct term *term)
{
	const char *path = path_relative(e->file->path, run->meta.cwd);

	str_adds(out, "  ");
	term_add(out, term, COLOR_BOLD, label);
	add_hash(out, e, side, term);
	str_adds(out, "  ");
	quote_name(out, path, strlen(path));
	if (side == CONTENT_OUTPUT && (e->roles & LINEAGE_INTERMEDIATE))
		term_add(out, term, COLOR_DIM, "  (read again)");
	str_addc(out, '\n');
}

/* output.track_repo_files is false, and git has the file with the other code. */
static bool is_hidden_code(const struct run *run, const struct run_file *e)
{
	return !run->project->config.track_repo_files && run->git.root &&
	       path_is_under(e->file->path, run->git.root) &&
	       code_file_is(e->file->path, NULL);
}

static void add_files(struct str *out, const struct run *run, unsigned role,
		      const char *label, const struct term *term)
{
	enum content_side side = role == LINEAGE_INPUT ? CONTENT_INPUT :
							 CONTENT_OUTPUT;
	size_t n_objects;
	size_t n_code = 0;
	size_t shown = 0;
	size_t n = 0;
	size_t max;

	for (size_t i = 0; i < run->n_files; i++) {
		const struct run_file *e = &run->files[i];

		if (e->filter || !(e->roles & role))
			continue;
		if (role == LINEAGE_INPUT && is_hidden_code(run, e)) {
			n_code++;
			continue;
		}
		n++;
		if (shown == ROWS_MAX && !run->options.verbose)
			continue;
		shown++;
		add_file(out, run, e, side, label, term);
	}
	max = run->options.verbose ? SIZE_MAX : ROWS_MAX - shown;
	n_objects = report_objects_add(out, run, role, label, max, term);
	n += n_objects;
	shown += n_objects < max ? n_objects : max;
	if (n > shown)
		str_addf(out, "       ... and %zu more\n", n - shown);
	if (n_code) {
		str_adds(out, "       and ");
		format_count(out, n_code, "code file");
		str_adds(out, " of the repository\n");
	}
}

static void add_filtered(struct str *out, const struct run *run)
{
	size_t count[FILTER_END] = { 0 };
	bool first = true;

	for (size_t i = 0; i < run->n_files; i++)
		count[run->files[i].filter]++;
	for (int id = FILTER_NONE + 1; id < FILTER_END; id++) {
		if (!count[id])
			continue;
		str_addf(out, "%s%zu %s", first ? "  filtered: " : ", ",
			 count[id], filter_name((enum filter_id)id));
		first = false;
	}
	if (!first)
		str_addc(out, '\n');
	if (run->options.verbose < 2)
		return;
	for (size_t i = 0; i < run->n_files; i++) {
		const struct run_file *e = &run->files[i];

		if (!e->filter)
			continue;
		str_addf(out, "    %-14s %c%c  ",
			 filter_name((enum filter_id)e->filter),
			 e->roles & LINEAGE_INPUT ? 'r' : '-',
			 e->roles & (LINEAGE_OUTPUT | LINEAGE_TEMPORARY) ? 'w' :
									   '-');
		quote_name(out, e->file->path, e->file->path_len);
		str_addc(out, '\n');
	}
}

/* "3 uncommitted, 1 of them in snapshot 0123456789ab"; the note says which are
 * not, and why. */
static void add_uncommitted(struct str *out, const struct git_facts *git)
{
	uint32_t n = git->n_modified + git->n_untracked;

	str_addf(out, ", %u uncommitted", n);
	if (git->snapshot && !git->left_out.n)
		str_addf(out, ", in snapshot %.12s", git->snapshot);
	else if (git->snapshot)
		str_addf(out, ", %u of them in snapshot %.12s",
			 n - git->left_out.n, git->snapshot);
	else
		str_adds(out, ", no snapshot");
}

static void add_git(struct str *out, const struct run *run,
		    const struct term *term)
{
	const struct git_facts *git = &run->git;

	if (!git->root)
		return;
	str_adds(out, "  ");
	term_add(out, term, COLOR_BOLD, "git");
	str_adds(out, "  ");
	if (git->branch)
		quote_printable(out, git->branch, strlen(git->branch));
	else
		str_adds(out, "(detached)");
	if (git->commit)
		str_addf(out, " @ %.12s", git->commit);
	else
		str_adds(out, ", no commit yet");
	if (git->dirty == TRI_YES)
		add_uncommitted(out, git);
	else if (git->dirty == TRI_UNKNOWN)
		str_adds(out, ", state unknown");
	str_addc(out, '\n');
	if (git->note)
		str_addf(out, "       %s\n", git->note);
}

static void add_gaps(struct str *out, const struct run *run,
		     const struct term *term)
{
	size_t n;
	const struct lineage_gap *gaps = fold_gaps(run->fold, &n);

	for (size_t i = 0; i < n && i < 8; i++) {
		str_adds(out, "  ");
		term_add(out, term, COLOR_YELLOW, "gap");
		str_addf(out, "  %s", event_gap_text((unsigned)gaps[i].code));
		if (gaps[i].detail[0]) {
			str_adds(out, ": ");
			quote_printable(out, gaps[i].detail,
					strlen(gaps[i].detail));
		}
		str_addc(out, '\n');
	}
	if (n > 8)
		str_addf(out, "       ... and %zu more\n", n - 8);
}

static void add_block(struct str *out, const struct run *run,
		      const struct term *term)
{
	const char *dash = term->unicode ? " \u00b7 " : " - ";

	term_add(out, term, COLOR_BOLD, "roar");
	str_addc(out, ' ');
	add_step(out, run);
	str_adds(out, dash);
	quote_printable_cut(out, run->job.command, COMMAND_WIDTH);
	str_addf(out, "%sexit %d%s", dash, run->job.exit_code, dash);
	add_times(out, run);
	str_adds(out, dash);
	add_verdict(out, run, term);
	kept_content_add_words(out, run);
	str_addc(out, '\n');
	add_files(out, run, LINEAGE_INPUT, "in ", term);
	add_files(out, run, LINEAGE_OUTPUT, "out", term);
	if (run->options.verbose) {
		add_files(out, run, LINEAGE_TEMPORARY, "tmp", term);
		add_files(out, run, LINEAGE_TOUCHED, "tch", term);
	}
	report_objects_add_proxy(out, run, term);
	add_git(out, run, term);
	if (run->options.verbose)
		add_filtered(out, run);
	add_gaps(out, run, term);
	hints_add(out, run, term);
}

static void add_ms(struct json *j, const char *key, int64_t ns)
{
	int64_t us = ns / 1000;

	json_put_key(j, key);
	json_put_double(j, (double)us / 1e3);
}

static void add_timing(struct str *out, const struct run *run)
{
	struct json j;
	struct rusage self;
	size_t n;

	(void)getrusage(RUSAGE_SELF, &self);
	(void)fold_files(run->fold, &n);
	str_adds(out, "ROAR_TIMING:");
	j = json_writer(out, false);
	json_put_object(&j);
	add_ms(&j, "tracer_ms", run->duration_ns);
	add_ms(&j, "postrun_ms",
	       run->classify_ns + run->hash_ns + run->situation_ns +
		       run->record_ns);
	add_ms(&j, "provenance_ms", run->classify_ns + run->hash_ns);
	add_ms(&j, "situation_ms", run->situation_ns);
	add_ms(&j, "record_ms", run->record_ns);
	add_ms(&j, "overhead_ms", overhead_ns(run));
	json_put_key(&j, "n_inputs");
	json_put_int(&j, run->n_inputs);
	json_put_key(&j, "n_outputs");
	json_put_int(&j, run->n_outputs);
	json_put_key(&j, "n_files");
	json_put_int(&j, (int64_t)n);
	json_put_key(&j, "n_stops");
	json_put_int(&j, (int64_t)run->result.n_stops);
	json_put_key(&j, "max_rss_kib");
	json_put_int(&j, self.ru_maxrss);
	json_end(&j);
	str_addc(out, '\n');
}

/* Set and not 0: ROAR_TIMING=0 switches it off. */
static bool wants_timing(void)
{
	const char *value = getenv("ROAR_TIMING");

	return value && *value && strcmp(value, "0") != 0;
}

/* ---- all of it ---- */

void report_print(const struct run *run)
{
	CLEANUP(str_release) struct str out = STR_INIT;
	struct term term = term_of(STDERR_FILENO);

	if (!run->options.quiet && (term.tty || run->options.verbose))
		add_block(&out, run, &term);
	else if (!run->options.quiet)
		add_line(&out, run, &term);
	if (!run->options.quiet) {
		verdict_add_advice(&out, run);
		kept_content_add_advice(&out, run);
		report_objects_add_advice(&out, run);
	}
	if (wants_timing())
		add_timing(&out, run);
	if (str_error(&out) == 0)
		(void)fd_write_all(STDERR_FILENO, out.data, out.len);
}

/* ---- stderr is an output, as in `roar run cmd 2>log` ---- */

/* The output that stderr is, if its content is known so far; else NULL. */
static const struct run_file *find_log(const struct run *run)
{
	const struct lineage_file *f;
	const struct content *c;
	struct stat st;
	char path[4096];
	ssize_t n;

	if (fstat(STDERR_FILENO, &st) < 0 || !S_ISREG(st.st_mode))
		return NULL;
	n = readlink("/proc/self/fd/2", path, sizeof(path) - 1);
	if (n < 0)
		return NULL;
	path[n] = '\0';
	f = fold_find(run->fold, path);
	c = f ? contents_find(f, CONTENT_OUTPUT) : NULL;
	if (!c || c->result < 0)
		return NULL;
	for (size_t i = 0; i < run->n_files; i++) {
		const struct run_file *e = &run->files[i];

		if (e->file == f && !e->filter && (e->roles & LINEAGE_OUTPUT))
			return e;
	}
	return NULL;
}

bool report_is_output(const struct run *run)
{
	return find_log(run) != NULL;
}

void report_into_output(struct run *run)
{
	struct lineage_file *log = find_log(run)->file;
	struct content *c = contents_find(log, CONTENT_OUTPUT);

	/* No file can hold its own digest. */
	c->result = -EINPROGRESS;
	report_print(run);
	c = contents_submit(run, log, CONTENT_OUTPUT, log->path, -1, 0);
	if (c)
		contents_collect(run, c);
	if (!c || c->result < 0)
		fold_add_gap(run->fold, EVENT_GAP_CHANGED, log->path);
}
