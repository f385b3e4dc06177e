/* put.c - `roar put`: files to an object store
 *
 *	list the sources, look at git
 *	send what there is to send
 *	record the step, tag the commit, report */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "commands.h"
#include "project/project.h"
#include "s3/s3_url.h"
#include "transfer/transfer.h"
#include "transfer/transfer_report.h"

static int check(const struct args *args, const char **ret_destination)
{
	const char *destination = args->n_operands ?
					  args->operands[args->n_operands - 1] :
					  "";
	const char *message = args_get(args, "message");

	if (!s3_url_is_one(destination) &&
	    strncmp(destination, "file://", 7) != 0)
		return cli_usage(args->command,
				 "the last argument is the destination, such as "
				 "s3://bucket/models/, gs://bucket/key or "
				 "file:///backup/, not '%.200s'",
				 destination);
	if ((!message || !*message) && !args_has(args, "dry-run"))
		return cli_usage(args->command,
				 "say what is uploaded, with -m MESSAGE");
	*ret_destination = destination;
	return 0;
}

static int send_all(struct transfer *t, const char *destination,
		    struct roar_error *err)
{
	char scheme[3] = { destination[0], destination[1], '\0' };
	int r;

	if (!strncmp(destination, "file://", 7))
		return local_copy_run(t, true, err);
	r = transfer_connect(t, scheme, err);
	return r < 0 ? r : upload_run(t, err);
}

static int run(const struct args *args)
{
	CLEANUP(project_release) struct project project = { .dirfd = -1 };
	CLEANUP(transfer_release) struct transfer t = { .endpoint = "" };
	struct roar_error err = { 0 };
	const char *destination = NULL;
	int status = check(args, &destination);
	int r;

	if (status)
		return status;
	r = transfer_open(&t, &project, &err);
	if (r == 0)
		r = sources_list(&t, args->operands, args->n_operands - 1,
				 destination, &err);
	if (r < 0)
		return transfer_report_failure(&t, r, &err);
	if (args_has(args, "dry-run"))
		return transfer_report_plan(&t, true);
	transfer_begin(&t);
	r = send_all(&t, destination, &err);
	return transfer_conclude(&t, args, r, !args_has(args, "no-tag"), &err);
}

static const struct option_spec options[] = {
	{ .name = "message",
	  .letter = 'm',
	  .arg = "TEXT",
	  .help = "what is uploaded; required" },
	{ .name = "dry-run",
	  .letter = 'n',
	  .help = "print what would be sent, and send nothing" },
	{ .name = "no-tag", .help = "do not tag the commit in git" },
	{ 0 },
};

static const struct example examples[] = {
	{ "roar put model.pt s3://bucket/models/ -m 'Final model'", "one file" },
	{ "roar put ./checkpoints/ gs://bucket/run-42/ -m 'All checkpoints'",
	  "everything below a directory" },
	{ "roar put @2 s3://bucket/outputs/ -m 'Step 2 outputs'",
	  "the outputs of a step" },
	{ "roar put s3://bucket/session/ -m 'Everything'",
	  "all outputs of the session" },
	{ 0 },
};

const struct command cmd_put = {
	.name = "put",
	.group = GROUP_FILES,
	.summary = "upload files to an object store and record it",
	.synopsis = "-m TEXT [OPTION]... [SOURCE]... URL",
	.about =
#include "put.txt.inc"
		,
	.options = options,
	.examples = examples,
	.see_also = "roar-get(1)",
	.operand = OPERAND_FILE,
	.min_operands = 1,
	.max_operands = -1,
	.run = run,
};
