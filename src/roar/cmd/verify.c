/* verify.c - `roar verify`: are the files still what the record says? */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/number.h"
#include "commands.h"
#include "hash/verify.h"
#include "lineage/fold.h"
#include "ui/view.h"

struct request {
	struct verify_options options;
	enum verify_which which;
	bool has_digest;
	uint8_t digest[DIGEST_MAX];
};

/* ---- the request ---- */

/* "512", "4K", "1M", "2G": bytes.  Returns what follows, NULL for what is none. */
static const char *parse_bytes(const char *text, uint64_t *ret)
{
	static const char suffixes[] = "KMG";
	const char *suffix;
	unsigned shift = 0;
	uint64_t n;

	if (number_take(&text, INT64_MAX, &n) < 0)
		return NULL;
	suffix = *text ? strchr(suffixes, *text) : NULL;
	if (suffix) {
		shift = 10 * (unsigned)(suffix - suffixes + 1);
		text++;
	}
	if (n > (uint64_t)INT64_MAX >> shift)
		return NULL;
	*ret = n << shift;
	return text;
}

/* "OFFSET" or "OFFSET:LENGTH" */
static bool parse_range(const char *text, struct verify_range *ret)
{
	const char *rest = parse_bytes(text, &ret->first);
	uint64_t len;

	ret->end = UINT64_MAX;
	if (!rest || !*rest)
		return rest != NULL;
	if (*rest != ':')
		return false;
	rest = parse_bytes(rest + 1, &len);
	if (!rest || *rest || !len)
		return false;
	ret->end = ret->first + len; /* both are below 2^63 */
	return true;
}

static int parse_values(const struct args *args, struct request *q)
{
	const char *range = args_get(args, "range");
	const char *digest = args_get(args, "digest");

	q->options.has_range = range;
	if (range && !parse_range(range, &q->options.range))
		return cli_usage(
			args->command,
			"option '--range' takes OFFSET or OFFSET:LENGTH in bytes, "
			"such as 4096, 1G:64M or 0:1K, with a LENGTH of at least 1, "
			"not '%.40s'",
			range);
	q->has_digest = digest;
	if (digest && (strlen(digest) != 2 * BLAKE3_LEN ||
		       digest_parse_hex(digest, q->digest) < 0))
		return cli_usage(
			args->command,
			"option '--digest' takes the %d hex digits of a BLAKE3 "
			"digest, not '%.70s'",
			2 * BLAKE3_LEN, digest);
	q->options.n_threads = (unsigned)args_number(args, "threads", 0);
	return 0;
}

/* An option without effect would be believed in. */
static int check_options(const struct args *args)
{
	bool inputs = args_has(args, "inputs");
	bool outputs = args_has(args, "outputs");

	if (inputs && outputs && !args->n_operands)
		return cli_usage(args->command,
				 "--inputs and --outputs exclude each other");
	if ((inputs || outputs) && args_has(args, "digest"))
		return cli_usage(args->command,
				 "--digest excludes --inputs and --outputs");
	if (args_has(args, "digest") && args->n_operands != 1)
		return cli_usage(args->command,
				 "--digest requires exactly one FILE");
	if (args_has(args, "range") && !args->n_operands)
		return cli_usage(args->command, "--range requires a FILE");
	if (args_has(args, "json") && args_has(args, "quiet"))
		return cli_usage(args->command,
				 "--json and --quiet exclude each other");
	return 0;
}

static int parse_request(const struct args *args, struct request *ret)
{
	int status = check_options(args);

	*ret = (struct request){
		.options = { .quiet = args_has(args, "quiet"),
			     .json = args_has(args, "json") },
		.which = args_has(args, "inputs")  ? VERIFY_INPUTS :
			 args_has(args, "outputs") ? VERIFY_OUTPUTS :
						     VERIFY_ALL,
	};
	return status ? status : parse_values(args, ret);
}

/* ---- what is to be checked ---- */

static int list_words(struct verify_list *list, struct view *v,
		      const struct args *args, struct roar_error *err)
{
	unsigned roles = (args_has(args, "inputs") ? LINEAGE_INPUT : 0) |
			 (args_has(args, "outputs") ? LINEAGE_OUTPUT : 0);
	int r = 0;

	for (int i = 0; i < args->n_operands && r == 0; i++)
		r = verify_list_word(list, v, args->operands[i], roles, err);
	return r;
}

static int verify_recorded(const struct args *args, const struct request *q,
			   struct verify_list *list)
{
	CLEANUP(view_close) struct view v = VIEW_INIT;
	struct verify_trees trees = { .keep = true };
	struct roar_error err = { 0 };
	int r = view_open(&v, STORE_READONLY);

	if (r)
		return r;
	trees.dirfd = v.project.dirfd;
	if (args->n_operands)
		r = list_words(list, &v, args, &err);
	else
		r = verify_list_session(list, &v, v.session.id, q->which, &err);
	if (r == -EINVAL)
		return cli_usage(args->command, "%s", err.text);
	if (r < 0)
		return view_fail(r, &err);
	if (!list->n && !q->options.json && !q->options.quiet)
		(void)fprintf(
			stderr,
			args->n_operands ?
				"roar: nothing to verify: there are no such files\n" :
				"roar: nothing to verify: the session has no such files "
				"yet\n");
	/* Reading takes its time, and nobody should wait for the store. */
	store_closep(&v.store);
	v.store = NULL;
	return verify_run(list, &q->options, &trees);
}

/* A project is of use, and none is needed. */
static int verify_digest(const struct args *args, const struct request *q,
			 struct verify_list *list)
{
	CLEANUP(project_release) struct project p = { .dirfd = -1 };
	struct roar_error ignored = { 0 };
	struct verify_trees trees = { .dirfd = -1 };

	if (project_open(PROJECT_NO_CONFIG, &p, NULL, &ignored) == 0)
		trees.dirfd = p.dirfd;
	if (verify_list_digest(list, args->operands[0], q->digest) < 0)
		return cli_fail("no memory for the list of files");
	return verify_run(list, &q->options, &trees);
}

static int run(const struct args *args)
{
	CLEANUP(verify_list_release) struct verify_list list = { 0 };
	struct request q;
	int status = parse_request(args, &q);

	if (status)
		return status;
	return q.has_digest ? verify_digest(args, &q, &list) :
			      verify_recorded(args, &q, &list);
}

static const struct option_spec options[] = {
	{ .name = "range",
	  .arg = "OFFSET[:LENGTH]",
	  .help = "check only the part of a large FILE that contains these "
		  "bytes" },
	{ .name = "digest",
	  .arg = "HEX",
	  .help = "compare one FILE with this BLAKE3 digest instead of the "
		  "record" },
	{ .name = "inputs",
	  .help = "check only files that were read and not written, by the "
		  "session or REF" },
	{ .name = "outputs",
	  .help = "check only files that the session or REF wrote" },
	{ .name = "threads",
	  .letter = 'j',
	  .arg = "N",
	  .min = 1,
	  .max = 64,
	  .help = "read with N threads (default: by the number of CPUs)" },
	{ .name = "quiet",
	  .letter = 'q',
	  .help = "print no line for files that are OK" },
	{ .name = "json", .help = "print JSON" },
	{ 0 },
};

static const struct example examples[] = {
	{ "roar verify", "all files of the active session" },
	{ "roar verify model.pt",
	  "with the first damaged range, if there is one" },
	{ "roar verify @2", "what step 2 wrote" },
	{ "roar verify --range 3G:64M model.pt", "only 64 MiB of it" },
	{ 0 },
};

const struct command cmd_verify = {
	.name = "verify",
	.group = GROUP_FILES,
	.summary = "check that files are still what the record says",
	.synopsis = "[OPTION]... [REF]...",
	.about =
#include "verify.txt.inc"
		,
	.options = options,
	.examples = examples,
	.exit_status =
		"0 when all files, or their ranges, are as recorded; 1 when "
		"one is not, cannot be read or cannot be proved; 2 on wrong "
		"usage.",
	.operand = OPERAND_TARGET,
	.max_operands = -1,
	.run = run,
};
