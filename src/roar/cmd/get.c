/* get.c - `roar get`: objects to files
 *
 *	list the objects, look at git
 *	fetch them, check their content
 *	record the step, tag the commit if asked to, report */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "commands.h"
#include "hash/digest/digest.h"
#include "project/project.h"
#include "s3/s3_url.h"
#include "transfer/transfer.h"
#include "transfer/transfer_report.h"

enum { HASH_DIGITS_MIN = 8 };

static bool is_prefix(const char *url)
{
	size_t len = strlen(url);

	return url[len - 1] == '/' ||
	       (s3_url_is_one(url) && !strchr(url + 5, '/'));
}

static int check_hash(const struct args *args, const char *hash)
{
	uint8_t bytes[DIGEST_MAX];
	int n = digest_parse_hex(hash, bytes);

	if (n < HASH_DIGITS_MIN || n > 2 * BLAKE3_LEN)
		return cli_usage(
			args->command,
			"option '--hash' takes %d to %d hex digits of a "
			"BLAKE3 digest, not '%.70s'",
			HASH_DIGITS_MIN, 2 * BLAKE3_LEN, hash);
	if (is_prefix(args->operands[0]))
		return cli_usage(args->command,
				 "--hash is for one object, and '%.200s' is a "
				 "prefix",
				 args->operands[0]);
	return 0;
}

static int check(const struct args *args)
{
	static const char *const schemes[] = { "s3://", "gs://", "https://",
					       "http://", "file://" };
	const char *hash = args_get(args, "hash");

	for (size_t i = 0; i < sizeof(schemes) / sizeof(schemes[0]); i++)
		if (!strncmp(args->operands[0], schemes[i], strlen(schemes[i])))
			return hash ? check_hash(args, hash) : 0;
	return cli_usage(args->command,
			 "'%.200s' does not start with s3://, gs://, https:// "
			 "or file://",
			 args->operands[0]);
}

/* The plan needs the server: sizes, and what is below a prefix. */
static int list_all(struct transfer *t, const struct args *args,
		    const char *hash, struct roar_error *err)
{
	const struct target_options options = {
		.hash = hash,
		.force = args_has(args, "force"),
	};
	const char *url = args->operands[0];
	char scheme[5] = "";
	int r = 0;

	memcpy(scheme, url, strcspn(url, ":") < 5 ? strcspn(url, ":") : 4);
	if (strcmp(scheme, "file") != 0)
		r = transfer_connect(t, scheme, err);
	return r < 0 ? r :
		       targets_list(t, url,
				    args->n_operands > 1 ? args->operands[1] :
							   NULL,
				    &options, err);
}

static int run(const struct args *args)
{
	CLEANUP(project_release) struct project project = { .dirfd = -1 };
	CLEANUP(transfer_release) struct transfer t = { .endpoint = "" };
	CLEANUP(str_release) struct str hash = STR_INIT;
	struct roar_error err = { 0 };
	int status = check(args);
	int r;

	if (status)
		return status;
	for (const char *p = args_get(args, "hash"); p && *p; p++)
		str_addc(&hash,
			 *p >= 'A' && *p <= 'F' ? (char)(*p | 0x20) : *p);
	r = transfer_open(&t, &project, &err);
	if (r == 0)
		r = list_all(&t, args, hash.len ? hash.data : NULL, &err);
	if (r < 0)
		return transfer_report_failure(&t, r, &err);
	if (args_has(args, "dry-run"))
		return transfer_report_plan(&t, false);
	transfer_begin(&t);
	r = t.client ? download_run(&t, &err) : local_copy_run(&t, false, &err);
	return transfer_conclude(&t, args, r, args_has(args, "tag"), &err);
}

static const struct option_spec options[] = {
	{ .name = "message",
	  .letter = 'm',
	  .arg = "TEXT",
	  .help = "why it is downloaded, for the record" },
	{ .name = "hash",
	  .arg = "HEX",
	  .help = "refuse content with another BLAKE3 digest" },
	{ .name = "tag", .help = "tag the commit in git" },
	{ .name = "force", .letter = 'f', .help = "replace existing files" },
	{ .name = "dry-run",
	  .letter = 'n',
	  .help = "print what would be fetched, and fetch nothing" },
	{ 0 },
};

static const struct example examples[] = {
	{ "roar get s3://bucket/models/model.pt ./local/", "one object" },
	{ "roar get gs://bucket/data/train.csv", "into this directory" },
	{ "roar get https://example.com/weights.pt --hash 1f2e3d4c5b6a",
	  "only if it is the right content" },
	{ "roar get s3://bucket/checkpoints/ ./local/",
	  "everything below a prefix" },
	{ 0 },
};

const struct command cmd_get = {
	.name = "get",
	.group = GROUP_FILES,
	.summary = "download objects and record where they came from",
	.synopsis = "[OPTION]... URL [DEST]",
	.about =
#include "get.txt.inc"
		,
	.options = options,
	.examples = examples,
	.see_also = "roar-put(1)",
	.operand = OPERAND_FILE,
	.min_operands = 1,
	.max_operands = 2,
	.run = run,
};
