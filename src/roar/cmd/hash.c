/* hash.c - `roar hash`: digests of files, and checks of lists of them.
 *
 * Needs no project and makes none.  hash_names.h and hash_walk.h say which files,
 * hash_batch.h hashes them, hash_line.h writes the answer; hash_check.h is the
 * other direction. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/str.h"
#include "commands.h"
#include "hash/hash_batch.h"
#include "hash/hash_check.h"
#include "hash/hash_line.h"
#include "hash/hash_tree.h"
#include "hash/hash_walk.h"
#include "hash/user_cache.h"
#include "ui/view.h"

struct request {
	enum digest_algo algos[DIGEST_ALGO_END]; /* in the order asked for */
	size_t n_algos;
	digest_set want;
	unsigned n_threads; /* 0: not said */
	bool tagged;
	bool json;
	bool recursive;
	bool no_cache;
	bool audit;
};

struct answer {
	const struct request *request;
	struct str out;
	struct json json;
	unsigned n_denied; /* files of which the cache knew other digests */
};

/* ---- the request ---- */

static int add_algo(const struct args *args, const char *word, size_t len,
		    struct request *q)
{
	CLEANUP(str_release) struct str name = STR_INIT;
	int algo;

	str_add(&name, word, len);
	algo = digest_algo_parse(str_cstr(&name));
	if (algo < 0)
		return cli_usage(
			args->command,
			"unknown algorithm '%.40s': use blake3, sha256, sha512, "
			"md5, git-blob or crc64nvme",
			str_cstr(&name));
	if (!(q->want & (1u << algo)))
		q->algos[q->n_algos++] = (enum digest_algo)algo;
	q->want |= 1u << algo;
	return 0;
}

/* "blake3,sha256" */
static int add_algos(const struct args *args, const char *words,
		     struct request *q)
{
	for (;;) {
		size_t n = strcspn(words, ",");
		int status = add_algo(args, words, n, q);

		if (status || !words[n])
			return status;
		words += n + 1;
	}
}

static int parse_algos(const struct args *args, struct request *q)
{
	for (size_t i = 0; i < args->n_options; i++) {
		const struct arg_value *o = &args->options[i];
		int status = 0;

		if (!strcmp(o->spec->name, "algorithm"))
			status = add_algos(args, o->value, q);
		if (status)
			return status;
	}
	return 0;
}

/* An option without effect would be believed in. */
static int check_options(const struct args *args)
{
	static const char *const only_check[] = { "quiet", "status",
						  "ignore-missing", NULL };
	static const char *const never_tree[] = { "json",  "recursive", "tag",
						  "audit", "algorithm", NULL };
	static const char *const never_check[] = { "json",  "recursive", "tag",
						   "audit", "no-cache",	 NULL };
	bool check = args_has(args, "check");
	const char *const *names = check ? never_check : only_check;

	for (; *names; names++)
		if (args_has(args, *names))
			return cli_usage(args->command,
					 check ? "--check and --%s exclude "
						 "each other" :
						 "--%s needs --check",
					 *names);
	for (names = never_tree; args_has(args, "tree") && *names; names++)
		if (args_has(args, *names))
			return cli_usage(args->command,
					 "--tree and --%s exclude each other",
					 *names);
	if (args_has(args, "json") && args_has(args, "tag"))
		return cli_usage(args->command,
				 "--json and --tag exclude each other");
	if (args_has(args, "audit") && args_has(args, "no-cache"))
		return cli_usage(args->command,
				 "--audit and --no-cache exclude "
				 "each other");
	return 0;
}

static int parse_request(const struct args *args, struct request *ret)
{
	int status;

	*ret = (struct request){
		.tagged = args_has(args, "tag"),
		.json = args_has(args, "json"),
		.recursive = args_has(args, "recursive"),
		.no_cache = args_has(args, "no-cache"),
		.audit = args_has(args, "audit"),
		.n_threads = (unsigned)args_number(args, "threads", 0),
	};
	status = check_options(args);
	if (!status)
		status = parse_algos(args, ret);
	return status;
}

/* ---- which files ---- */

static bool is_folder(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static int collect(const struct request *q, char *const *paths,
		   struct hash_names *names)
{
	int r = 0;

	for (; *paths && r == 0; paths++) {
		bool below = q->recursive && strcmp(*paths, "-") != 0 &&
			     is_folder(*paths);

		r = below ? hash_walk(names, *paths) :
			    hash_names_add(names, *paths, 0);
	}
	return r;
}

/* ---- the answer ---- */

static void add_lines(struct answer *a, const struct hash_name *name,
		      const struct digests *digests)
{
	const struct request *q = a->request;
	bool tagged = q->tagged || q->n_algos > 1;

	for (size_t i = 0; i < q->n_algos; i++) {
		enum digest_algo algo = q->algos[i];
		const uint8_t *digest = digests_get(digests, algo);

		if (tagged)
			hash_line_tagged(&a->out, name->path, algo, digest);
		else
			hash_line_plain(&a->out, name->path, algo, digest);
	}
}

static void add_json_digest(struct json *j, enum digest_algo algo,
			    const uint8_t *digest)
{
	char hex[2 * DIGEST_MAX + 1];

	digest_hex(hex, digest, digest_algo_len(algo));
	view_json_text(j, digest_algo_name(algo), hex);
}

static void add_json(struct answer *a, const struct hash_name *name,
		     const struct hash_result *result)
{
	const struct request *q = a->request;
	struct json *j = &a->json;
	bool ok = name->error == 0;

	json_put_object(j);
	view_json_text(j, "path", name->path);
	json_put_key(j, "size_bytes");
	if (ok)
		json_put_int(j, (int64_t)result->size_bytes);
	else
		json_put_null(j);
	json_put_key(j, "digests");
	json_put_object(j);
	for (size_t i = 0; ok && i < q->n_algos; i++)
		add_json_digest(j, q->algos[i],
				digests_get(result->digests, q->algos[i]));
	json_end(j);
	view_json_text(j, "error", ok ? NULL : hash_names_cause(name->error));
	json_end(j);
}

static void add_file(void *ctx, struct hash_name *name,
		     const struct hash_result *result)
{
	struct answer *a = ctx;

	if (result->denied) {
		a->n_denied++;
		(void)cli_fail(
			"'%s': the digest cache had another digest of this content; "
			"it has been corrected",
			name->path);
	}
	if (a->request->json)
		add_json(a, name, result);
	else if (name->error == 0)
		add_lines(a, name, result->digests);
}

static int flush(void *ctx)
{
	struct answer *a = ctx;
	int status;

	if (!a->request->json)
		return hash_line_print(&a->out);
	status = cli_print(&a->out);
	str_clear(&a->out);
	return status;
}

static int end_json(struct answer *a)
{
	json_end(&a->json);
	str_addc(&a->out, '\n');
	return flush(a);
}

/* Who cannot have it hashes all; only an audit needs it. */
static int open_cache(const struct request *q, struct digest_cache **ret)
{
	int r = q->no_cache ? 0 : user_cache_open(ret);

	if (r < 0 && q->audit)
		return cli_fail("cannot open the digest cache to audit it: %s",
				strerror(-r));
	return 0;
}

static int answer(const struct request *q, struct hash_names *names,
		  struct digest_cache *cache, struct answer *a)
{
	struct hash_batch batch = {
		.want = q->want,
		.n_threads = q->n_threads,
		.progress = true,
		.cache = cache,
		.audit = q->audit,
		.done = add_file,
		.flush = flush,
		.ctx = a,
	};
	int r;

	a->json = json_writer(&a->out, true);
	if (q->json)
		json_put_array(&a->json);
	r = hash_batch_run(&batch, names);
	if (r < 0)
		return cli_fail("cannot hash: %s", strerror(-r));
	if (r == 0 && q->json)
		r = end_json(a);
	if (r == 0)
		r = hash_names_report(names);
	return r ? r : a->n_denied > 0;
}

/* ---- the command ---- */

static int hash_files(struct request *q, char *const *paths)
{
	CLEANUP(hash_names_release) struct hash_names names = { 0 };
	CLEANUP(digest_cache_closep) struct digest_cache *cache = NULL;
	struct answer a = { .request = q };
	int r;

	if (!q->n_algos) {
		q->algos[q->n_algos++] = DIGEST_BLAKE3;
		q->want = DIGEST_SET_BLAKE3;
	}
	r = collect(q, paths, &names);
	if (r < 0)
		return cli_fail("cannot list the files: %s", strerror(-r));
	r = open_cache(q, &cache);
	if (r == 0)
		r = answer(q, &names, cache, &a);
	str_release(&a.out);
	return r;
}

static int hash_folders(const struct args *args, const struct request *q)
{
	CLEANUP(digest_cache_closep) struct digest_cache *cache = NULL;
	struct engine_options options = { .want = DIGEST_SET_BLAKE3,
					  .may_map = true,
					  .n_threads = q->n_threads,
					  .own_tables = true };

	if (!args->n_operands)
		return cli_usage(args->command, "--tree requires a directory");
	(void)open_cache(q, &cache);
	options.cache = cache;
	return hash_tree(&options, args->operands);
}

static int check_lists(const struct args *args, const struct request *q,
		       char *const *lists)
{
	digest_set ambiguous = 1u << DIGEST_BLAKE3 | 1u << DIGEST_SHA256;
	struct hash_check_options options = {
		.of_64 = q->n_algos ? (int)q->algos[0] : -1,
		.n_threads = q->n_threads,
	};

	if (q->n_algos > 1 || (q->want & ~ambiguous))
		return cli_usage(
			args->command,
			"with --check, --algorithm selects blake3 or sha256 for "
			"digests of 64 digits");
	if (args_has(args, "quiet"))
		options.flags |= HASH_CHECK_QUIET;
	if (args_has(args, "status"))
		options.flags |= HASH_CHECK_STATUS;
	if (args_has(args, "ignore-missing"))
		options.flags |= HASH_CHECK_IGNORE_MISSING;
	return hash_check(&options, lists);
}

static int run(const struct args *args)
{
	char dash[] = "-";
	char *const standard_input[] = { dash, NULL };
	char *const *paths = args->n_operands ? args->operands : standard_input;
	struct request q;
	int status = parse_request(args, &q);

	if (status)
		return status;
	if (args_has(args, "check"))
		return check_lists(args, &q, paths);
	if (args_has(args, "tree"))
		return hash_folders(args, &q);
	return hash_files(&q, paths);
}

static const struct option_spec options[] = {
	{ .name = "algorithm",
	  .letter = 'a',
	  .arg = "NAMES",
	  .help = "blake3 (default), sha256, sha512, md5, git-blob, "
		  "crc64nvme, or several, separated by commas",
	  .flags = OPTION_REPEAT },
	{ .name = "recursive",
	  .letter = 'r',
	  .help = "hash all regular files below directories" },
	{ .name = "tree",
	  .help = "print one digest for each directory as a whole" },
	{ .name = "check",
	  .letter = 'c',
	  .help = "read digests from each FILE and check them" },
	{ .name = "tag",
	  .help = "print lines in BSD style, which name the algorithm" },
	{ .name = "json", .help = "print JSON" },
	{ .name = "threads",
	  .letter = 'j',
	  .arg = "N",
	  .min = 1,
	  .max = 64,
	  .help = "hash with N threads (default: by the number of CPUs)" },
	{ .name = "no-cache",
	  .help = "read every file and do not use the digest cache" },
	{ .name = "audit",
	  .help = "read every file and report wrong entries of the digest "
		  "cache" },
	{ .name = "quiet",
	  .help = "with --check, print no line for files that are OK" },
	{ .name = "status", .help = "with --check, print nothing about files" },
	{ .name = "ignore-missing",
	  .help = "with --check, ignore files that do not exist" },
	{ 0 },
};

static const struct example examples[] = {
	{ "roar hash -r data >data.b3", "one line for each file below data" },
	{ "roar hash --check data.b3", "check that they are unchanged" },
	{ "roar hash -a sha256 model.pt", "the same output as sha256sum" },
	{ "roar hash -a blake3,md5 a b",
	  "two digests of each file in one pass" },
	{ 0 },
};

const struct command cmd_hash = {
	.name = "hash",
	.group = GROUP_FILES,
	.summary = "print or check digests of files",
	.synopsis = "[OPTION]... [FILE]...",
	.about =
#include "hash.txt.inc"
		,
	.options = options,
	.examples = examples,
	.exit_status =
		"0 when all files were hashed, or all listed digests match; "
		"1 when a file could not be read, a digest does not match "
		"or a list has no line with a digest; 2 on wrong usage.",
	.operand = OPERAND_FILE,
	.max_operands = -1,
	.run = run,
};
