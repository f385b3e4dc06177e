/* transfer_report.c - see transfer_report.h */
#include "transfer/transfer_report.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/path.h"
#include "base/quote.h"
#include "base/str.h"
#include "cli/cli.h"
#include "git/git.h"
#include "project/project.h"
#include "transfer/fetched_files.h"

enum { GIT_WAIT_MS = 3000, HASH_DIGITS = 12 };

/* ---- the begin ---- */

int transfer_open(struct transfer *t, struct project *project,
		  struct roar_error *err)
{
	t->start_ns = clock_mono_ns();
	t->project = project;
	return project_open(PROJECT_CREATE, project, NULL, err);
}

static void look_at_git(struct transfer *t)
{
	CLEANUP(str_release) struct str cache = STR_INIT;
	const struct git_options options = {
		.own_dir = t->project->dir,
		.no_snapshot = !t->project->config.git_snapshot,
	};

	str_addf(&cache, "%s/git-look", t->project->dir);
	if (str_error(&cache) == 0)
		(void)git_state_start(t->project->cwd, cache.data, &options,
				      &t->git);
}

void transfer_begin(struct transfer *t)
{
	transfer_catch_signals();
	look_at_git(t);
	t->progress = progress_start(true, NULL);
	t->done.n_submitted = t->n;
	for (size_t i = 0; i < t->n; i++)
		if (t->items[i].size_bytes > 0)
			t->done.bytes_submitted += (uint64_t)t->items[i]
							   .size_bytes;
}

/* ---- lines ---- */

/* "model.pt -> s3://bucket/model.pt" */
static void add_way(struct str *out, const struct transfer *t,
		    const struct transfer_item *item, bool is_put)
{
	const char *path = path_relative(item->path, t->project->cwd);
	const char *from = is_put ? path : item->place;
	const char *to = is_put ? item->place : path;

	quote_name(out, from, strlen(from));
	str_adds(out, " -> ");
	quote_name(out, to, strlen(to));
	str_addc(out, '\n');
}

int transfer_report_plan(struct transfer *t, bool is_put)
{
	CLEANUP(str_release) struct str out = STR_INIT;

	for (size_t i = 0; i < t->n; i++) {
		size_t start = out.len;

		if (t->items[i].size_bytes >= 0)
			format_size(&out, (uint64_t)t->items[i].size_bytes);
		else
			str_adds(&out, "?");
		str_pad(&out, ' ',
			out.len - start < 12 ? 12 - (out.len - start) : 2);
		add_way(&out, t, &t->items[i], is_put);
	}
	return cli_print(&out);
}

static int print_items(const struct transfer *t, bool is_put)
{
	CLEANUP(str_release) struct str out = STR_INIT;

	for (size_t i = 0; i < t->n; i++) {
		char hex[2 * BLAKE3_LEN + 1];

		digest_hex(hex, t->items[i].blake3, BLAKE3_LEN);
		str_addf(&out, "%.*s  ", HASH_DIGITS, hex);
		add_way(&out, t, &t->items[i], is_put);
	}
	return cli_print(&out);
}

static void print_summary(const struct transfer *t, bool is_put, int64_t step)
{
	CLEANUP(str_release) struct str out = STR_INIT;
	int64_t took_ns = clock_mono_ns() - t->start_ns;
	uint64_t bytes = 0;

	for (size_t i = 0; i < t->n; i++)
		bytes += (uint64_t)t->items[i].size_bytes;
	str_addf(&out, "roar: %s ", is_put ? "sent" : "fetched");
	format_count(&out, t->n, "file");
	str_adds(&out, ", ");
	format_size(&out, bytes);
	str_adds(&out, " in ");
	clock_format_duration(&out, took_ns);
	str_addf(&out, ", step @%" PRId64 "\n", step);
	(void)fputs(str_cstr(&out), stderr);
}

/* ---- the end ---- */

/* The command as a shell would take it. */
static char **make_argv(struct transfer *t, const struct args *args)
{
	size_t max = 2 + 2 * args->n_options + (size_t)args->n_operands + 1;
	char **argv = pool_zalloc(&t->pool, max * sizeof(*argv));
	size_t n = 0;

	if (!argv)
		return NULL;
	argv[n++] = "roar";
	argv[n++] = (char *)args->command->name;
	for (size_t i = 0; i < args->n_options; i++) {
		const struct option_spec *o = args->options[i].spec;

		argv[n] = o->letter ? pool_printf(&t->pool, "-%c", o->letter) :
				      pool_printf(&t->pool, "--%s", o->name);
		if (!argv[n++])
			return NULL;
		if (args->options[i].value)
			argv[n++] = (char *)args->options[i].value;
	}
	for (int i = 0; i < args->n_operands; i++)
		argv[n++] = args->operands[i];
	return argv;
}

/* A tag that cannot be made is a pity, not a failure: the step is recorded. */
static void tag_commit(const struct git_facts *git, bool is_asked)
{
	CLEANUP(str_release) struct str name = STR_INIT;
	struct roar_error err = { 0 };

	if (!git->root || (!git->commit && !is_asked)) {
		if (is_asked)
			(void)fprintf(stderr,
				      "roar: there is no git repository "
				      "to tag\n");
		return;
	}
	if (transfer_tag(git, &name, &err) < 0)
		(void)fprintf(stderr, "roar: not tagged: %s\n", err.text);
	else
		(void)fprintf(stderr, "roar: git tag %s\n", str_cstr(&name));
}

int transfer_report_failure(const struct transfer *t, int r,
			    const struct roar_error *err)
{
	size_t n_done = t->done.n_done;

	if (r == -EINTR) {
		(void)cli_fail("interrupted after %zu of %zu files%s", n_done,
			       t->n,
			       t->client ? ": the same command continues" : "");
		return 128 + (transfer_stop ? transfer_stop : SIGINT);
	}
	return cli_fail("%s", err->text[0] ? err->text : strerror(-r));
}

int transfer_conclude(struct transfer *t, const struct args *args, int r,
		      bool wants_tag, struct roar_error *err)
{
	CLEANUP(git_facts_release) struct git_facts git = { 0 };
	bool is_put = !strcmp(args->command->name, "put");
	const char *message = args_get(args, "message");
	struct transfer_step step = { .kind = args->command->name,
				      .message = message ? message : "",
				      .argv = make_argv(t, args),
				      .git = &git };
	int64_t number = 0;

	progress_end(&t->progress);
	(void)git_state_finish(TAKE_PTR(t->git), r < 0 ? 0 : GIT_WAIT_MS, &git);
	if (r < 0)
		return transfer_report_failure(t, r, err);
	if (!step.argv)
		return cli_fail("out of memory");
	r = transfer_record(t, &step, &number, err);
	if (r < 0)
		return cli_fail(
			"all files were transferred, but the step is not "
			"recorded: %s",
			err->text);
	fetched_files_end(t);
	if (wants_tag)
		tag_commit(&git, !is_put);
	r = print_items(t, is_put);
	print_summary(t, is_put, number);
	return r;
}
