/* hash_check.c - see hash_check.h */
#include "hash/hash_check.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "base/vec.h"
#include "cli/cli.h"
#include "hash/hash_batch.h"
#include "hash/hash_line.h"
#include "hash/hash_list.h"

/* Digest, blanks and the longest name in which every byte is escaped. */
enum { LINE_BYTES = 2 * DIGEST_MAX + 2 * PATH_MAX + 64 };

struct expected {
	size_t file; /* index of its name */
	enum digest_algo algo;
	uint8_t digest[DIGEST_MAX];
};

struct check {
	const struct hash_check_options *options;
	struct hash_names names;
	struct expected *expected; /* in the order of the names */
	size_t n_expected;
	size_t cap;
	size_t next; /* expected: to be compared */
	digest_set want;
	struct str out;
	uint64_t n_malformed; /* lines, of lists that have others */
	uint64_t n_good;
	uint64_t n_wrong;
	int status;
};

static void release(struct check *c)
{
	hash_names_release(&c->names);
	free(c->expected);
	str_release(&c->out);
}

static bool has_flag(const struct check *c, enum hash_check_flags flag)
{
	return c->options->flags & flag;
}

/* ---- reading lists ---- */

/* Lines about the same file that follow each other share its name: the file is
 * read once. */
static int add_entry(struct check *c, const struct hash_entry *e)
{
	struct hash_names *names = &c->names;
	struct expected *x;
	int r = 0;

	if (!names->n || strcmp(names->all[names->n - 1].path, e->name) != 0)
		r = hash_names_add(names, pool_strdup(&names->pool, e->name),
				   0);
	if (r < 0)
		return r;
	x = VEC_PUSH(c->expected, c->n_expected, c->cap);
	if (!x)
		return -ENOMEM;
	x->file = names->n - 1;
	x->algo = e->algo;
	memcpy(x->digest, e->digest, sizeof(x->digest));
	c->want |= 1u << e->algo;
	return 0;
}

/* Reads a line without its newline; the length, or -1 at the end.  Of a line that
 * is too long for `line` only that much is kept, and what is left out makes it
 * longer than a line can be. */
static ssize_t read_line(FILE *file, char line[LINE_BYTES])
{
	size_t n = 0;
	int c = getc_unlocked(file);

	if (c == EOF)
		return -1;
	for (; c != EOF && c != '\n'; c = getc_unlocked(file)) {
		if (n < LINE_BYTES - 1)
			line[n] = (char)c;
		if (n < LINE_BYTES)
			n++;
	}
	line[n < LINE_BYTES ? n : LINE_BYTES - 1] = '\0';
	return (ssize_t)n;
}

/* 0, -ENODATA when no line holds a digest, or another negative errno. */
static int read_list(struct check *c, FILE *file, enum digest_algo of_64)
{
	size_t before = c->n_expected;
	uint64_t n_malformed = 0;
	char line[LINE_BYTES];
	ssize_t len;

	while ((len = read_line(file, line)) >= 0) {
		struct hash_entry e;
		int r = hash_list_parse(line, (size_t)len, of_64, &e);

		n_malformed += r < 0;
		if (r > 0)
			r = add_entry(c, &e);
		if (r == -ENOMEM)
			return r;
	}
	if (ferror(file))
		return -errno;
	if (c->n_expected == before)
		return -ENODATA;
	c->n_malformed += n_malformed;
	return 0;
}

/* A FIFO without a writer would keep us in open(2) for ever; opened this way it
 * is empty.  Reading waits, as a writer that is there may be slow. */
static FILE *open_list(const char *name)
{
	CLEANUP(closep)
	int fd = open(name, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	FILE *file;

	if (fd < 0 || fcntl(fd, F_SETFL, 0) < 0)
		return NULL;
	file = fdopen(fd, "r");
	if (file)
		fd = -1;
	return file;
}

static void take_list(struct check *c, const char *name)
{
	CLEANUP(fclosep) FILE *opened = NULL;
	FILE *file = stdin;
	int of_64 = c->options->of_64;
	int r;

	if (strcmp(name, "-") != 0)
		file = opened = open_list(name);
	if (of_64 < 0)
		of_64 = (int)hash_list_of_64(name);
	r = file ? read_list(c, file, (enum digest_algo)of_64) : -errno;
	if (r < 0)
		c->status = cli_fail("'%s': %s", name,
				     r == -ENODATA ?
					     "No line contains a digest" :
					     strerror(-r));
}

/* ---- comparing ---- */

static bool matches(const struct expected *x, const struct digests *have)
{
	const uint8_t *digest = digests_get(have, x->algo);

	return digest && !memcmp(digest, x->digest, digest_algo_len(x->algo));
}

static void say(struct check *c, const struct hash_name *name,
		const char *verdict)
{
	if (!has_flag(c, HASH_CHECK_STATUS))
		hash_line_verdict(&c->out, name->path, verdict);
}

static void compare(struct check *c, const struct hash_name *name,
		    const struct expected *x, const struct digests *have)
{
	if (name->error < 0) {
		say(c, name, "FAILED open or read");
	} else if (matches(x, have)) {
		c->n_good++;
		if (!has_flag(c, HASH_CHECK_QUIET))
			say(c, name, "OK");
	} else {
		c->n_wrong++;
		say(c, name, "FAILED");
	}
}

static void check_file(void *ctx, struct hash_name *name,
		       const struct hash_result *result)
{
	struct check *c = ctx;
	size_t file = (size_t)(name - c->names.all);
	bool ignored = name->error == -ENOENT &&
		       has_flag(c, HASH_CHECK_IGNORE_MISSING);

	for (; c->next < c->n_expected && c->expected[c->next].file == file;
	     c->next++)
		if (!ignored)
			compare(c, name, &c->expected[c->next],
				result->digests);
	if (ignored)
		name->error = 0;
	else if (name->error < 0)
		c->status = 1;
}

static int flush(void *ctx)
{
	struct check *c = ctx;

	return hash_line_print(&c->out);
}

/* ---- the end ---- */

static void say_count(const char *what, uint64_t n, const char *noun)
{
	CLEANUP(str_release) struct str count = STR_INIT;

	format_count(&count, n, noun);
	(void)cli_fail("%s: %s", what, str_cstr(&count));
}

static void report(struct check *c)
{
	if (c->n_wrong)
		c->status = 1;
	if (has_flag(c, HASH_CHECK_STATUS))
		return;
	(void)hash_names_report(&c->names);
	if (c->n_malformed)
		say_count("skipped as malformed", c->n_malformed, "line");
	if (c->n_wrong)
		say_count("not as listed", c->n_wrong, "digest");
}

/* With --ignore-missing, nothing at all would look like success. */
static void check_count(struct check *c)
{
	if (!has_flag(c, HASH_CHECK_IGNORE_MISSING) || !c->n_expected ||
	    c->n_good || c->n_wrong)
		return;
	c->status = 1;
	if (!has_flag(c, HASH_CHECK_STATUS))
		(void)cli_fail("none of the listed files was verified");
}

int hash_check(const struct hash_check_options *options, char *const *lists)
{
	CLEANUP(release) struct check c = { .options = options };
	unsigned silent = HASH_CHECK_QUIET | HASH_CHECK_STATUS;
	struct hash_batch batch = {
		.n_threads = options->n_threads,
		.progress = !(options->flags & silent),
		.done = check_file,
		.flush = flush,
		.ctx = &c,
	};
	int r;

	for (; *lists; lists++)
		take_list(&c, *lists);
	batch.want = c.want;
	r = hash_batch_run(&batch, &c.names);
	if (r < 0)
		return cli_fail("cannot hash: %s", strerror(-r));
	if (r > 0)
		return r;
	report(&c);
	check_count(&c);
	return c.status;
}
