/* export.c - `roar export`: the record of jobs in a format for others. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/macros.h"
#include "commands.h"
#include "exchange/exchange.h"
#include "exchange/export_selection.h"
#include "ui/view.h"

/* The formats; the option --format has the same names. */
static const struct export_format export_formats[] = {
	{ "roar", export_roar, NULL },
	{ "cyclonedx", export_documents, &export_as_cyclonedx },
	{ "dot", export_documents, &export_as_dot },
	{ "dvc", export_documents, &export_as_dvc },
	{ "dvc-lock", export_documents, &export_as_dvc_lock },
	{ "html", export_documents, &export_as_html },
	{ "in-toto", export_documents, &export_as_intoto },
	{ "makefile", export_documents, &export_as_makefile },
	{ "mermaid", export_documents, &export_as_mermaid },
	{ "openlineage", export_documents, &export_as_openlineage },
	{ "prov", export_documents, &export_as_prov },
	{ "ro-crate", export_documents, &export_as_crate },
	{ "svg", export_documents, &export_as_svg },
};

static const struct export_format *find_format(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(export_formats); i++)
		if (!strcmp(export_formats[i].name, name))
			return &export_formats[i];
	return NULL;
}

/* ---- the file ---- */

struct output {
	const char *path; /* NULL: stdout */
	struct str temporary; /* until it is complete; "" none */
	int fd;
};

static void output_release(struct output *o)
{
	if (o->temporary.len)
		(void)unlink(str_cstr(&o->temporary));
	str_release(&o->temporary);
	if (o->fd > STDERR_FILENO)
		(void)close(o->fd);
}

static int fail_write(const struct output *o, int r, struct roar_error *err)
{
	return error_set(err, r, "cannot write '%.200s': %s",
			 o->path ? o->path : "stdout", strerror(-r));
}

static int output_open(struct output *o, const char *path,
		       struct roar_error *err)
{
	o->path = path;
	o->fd = STDOUT_FILENO;
	if (!path)
		return 0;
	str_addf(&o->temporary, "%s.%ld.tmp", path, (long)getpid());
	if (str_error(&o->temporary) < 0)
		return error_set(err, -ENOMEM, "out of memory");
	o->fd = open(str_cstr(&o->temporary),
		     O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	if (o->fd >= 0)
		return 0;
	str_clear(&o->temporary);
	return fail_write(o, -errno, err);
}

/* The file gets its name when it is complete. */
static int output_commit(struct output *o, struct roar_error *err)
{
	if (!o->path)
		return 0;
	if (fsync(o->fd) < 0 || rename(str_cstr(&o->temporary), o->path) < 0)
		return fail_write(o, -errno, err);
	str_clear(&o->temporary);
	return 0;
}

/* ---- the command ---- */

static int export(struct view *v, const struct args *args,
		  const struct export_format *format, struct roar_error *err)
{
	CLEANUP(output_release) struct output output = { .fd = -1 };
	const char *ref = args->n_operands ? args->operands[0] : NULL;
	struct export_selection selection = { 0 };
	struct export_request request = { .view = v,
					  .document = format->document,
					  .key = args_get(args, "key") };
	int r = export_selection_read(v, ref, &selection, err);

	if (r == 0)
		r = output_open(&output, args_get(args, "output"), err);
	if (r < 0)
		return r;
	request.jobs = selection.jobs;
	request.n_jobs = selection.n;
	request.target = &selection.target;
	request.fd = output.fd;
	r = format->write(&request, err);
	return r < 0 ? r : output_commit(&output, err);
}

static int run(const struct args *args)
{
	CLEANUP(view_close) struct view v = VIEW_INIT;
	const char *name = args_get(args, "format");
	const struct export_format *format = find_format(name ? name : "roar");
	struct roar_error err = { 0 };
	int r;

	if (!format)
		return cli_usage(args->command,
				 "'%.60s' is not a format of roar export: use "
				 "one that --help lists",
				 name);
	r = view_open(&v, STORE_READONLY);
	if (r)
		return r;
	r = export(&v, args, format, &err);
	if (r == -EINVAL)
		return cli_usage(args->command, "%s", err.text);
	return r < 0 ? view_fail(r, &err) : 0;
}

static const struct option_spec options[] = {
	{ .name = "format",
	  .letter = 'f',
	  .arg = "FORMAT",
	  .values = "roar|cyclonedx|dot|dvc|dvc-lock|html|in-toto|makefile|"
		    "mermaid|openlineage|prov|ro-crate|svg",
	  .help = "roar (default): the portable record that roar import reads; "
		  "cyclonedx, dot, dvc, dvc-lock, html, in-toto, makefile, "
		  "mermaid, openlineage, prov, ro-crate or svg" },
	{ .name = "key",
	  .arg = "FILE",
	  .help = "sign an in-toto statement with this private Ed25519 key" },
	{ .name = "output",
	  .letter = 'o',
	  .arg = "FILE",
	  .help = "write to FILE instead of stdout" },
	{ 0 },
};

static const struct example examples[] = {
	{ "roar export -o session.jsonl", "the active session" },
	{ "roar export model.pt -o model.jsonl",
	  "the jobs that led to that content" },
	{ "roar export --format html -o lineage.html",
	  "a page with the graph of the session" },
	{ "roar export model.pt --format in-toto --key ~/.ssh/id_ed25519",
	  "a signed attestation of how the model was made" },
	{ 0 },
};

const struct command cmd_export = {
	.name = "export",
	.group = GROUP_INSPECT,
	.summary = "write the record of jobs to a file",
	.synopsis = "[OPTION]... [REF]",
	.about =
#include "export.txt.inc"
		,
	.options = options,
	.examples = examples,
	.operand = OPERAND_TARGET,
	.max_operands = 1,
	.run = run,
};
