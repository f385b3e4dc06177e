/* compare.c - see compare.h */
#include "compare/compare_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/macros.h"
#include "base/quote.h"
#include "base/str.h"

enum { PIECE = 1 << 20 };

static const struct {
	const char *ending;
	const char *format;
	int (*compare)(struct comparison *c);
} formats[] = {
	{ ".safetensors", "safetensors", compare_safetensors },
	{ ".npy", "npy", compare_npy },
	{ ".npz", "npz", compare_npz },
	{ ".json", "json", compare_json },
	{ ".jsonl", "json", compare_json },
	{ ".ndjson", "json", compare_json },
	{ ".csv", "csv", compare_table },
	{ ".tsv", "csv", compare_table },
	{ ".png", "png", compare_png },
	{ ".pt", "torch", compare_torch },
	{ ".pth", "torch", compare_torch },
	{ "pytorch_model.bin", "torch", compare_torch },
};

bool compare_name_ends(const char *name, const char *ending)
{
	size_t len = strlen(name), n = strlen(ending);

	return len >= n && strcasecmp(name + len - n, ending) == 0;
}

int compare_read_at(int fd, uint64_t at, void *data, size_t len)
{
	uint8_t *to = data;

	while (len > 0) {
		ssize_t n = pread(fd, to, len, (off_t)at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EBADMSG;
		to += n;
		at += (uint64_t)n;
		len -= (size_t)n;
	}
	return 0;
}

static void note_byte(struct comparison *c, uint64_t at, const uint8_t *a,
		      const uint8_t *b)
{
	struct compare_result *r = c->result;

	r->verdict = COMPARE_DIFFERENT;
	(void)snprintf(r->first, sizeof(r->first), "byte %" PRIu64, at);
	if (a && b) {
		(void)snprintf(r->first_a, sizeof(r->first_a), "0x%02x", *a);
		(void)snprintf(r->first_b, sizeof(r->first_b), "0x%02x", *b);
	}
}

/* Compares up to the end of the shorter file. */
static int compare_bytes(struct comparison *c)
{
	CLEANUP(freep) uint8_t *a = malloc((size_t)2 * PIECE);
	uint64_t end = c->size[0] < c->size[1] ? c->size[0] : c->size[1];

	if (!a)
		return -ENOMEM;
	uint8_t *b = a + PIECE;

	for (uint64_t at = 0; at < end; at += PIECE) {
		size_t n = end - at < PIECE ? (size_t)(end - at) : PIECE;
		int r = compare_read_at(c->file[0].fd, at, a, n);

		if (r == 0)
			r = compare_read_at(c->file[1].fd, at, b, n);
		if (r < 0)
			return r == -EBADMSG ? -ESTALE : r;
		if (memcmp(a, b, n) == 0)
			continue;
		for (size_t i = 0; i < n; i++)
			if (a[i] != b[i]) {
				note_byte(c, at + i, &a[i], &b[i]);
				return 0;
			}
	}
	if (c->size[0] != c->size[1])
		note_byte(c, end, NULL, NULL);
	return 0;
}

static struct compare_result empty_result(void)
{
	return (struct compare_result){ .verdict = COMPARE_IDENTICAL,
					.format = "bytes" };
}

/* The values of files whose bytes differ. */
static int compare_values(struct comparison *c, size_t format)
{
	struct compare_result *r = c->result;

	*r = empty_result();
	r->format = formats[format].format;
	int ret = formats[format].compare(c);

	if (ret < 0)
		return ret;
	if (r->verdict == COMPARE_IDENTICAL && r->n_different)
		r->verdict = COMPARE_DIFFERENT;
	if (r->verdict != COMPARE_IDENTICAL)
		return 0;
	r->verdict = COMPARE_EQUAL;
	if (r->n_volatile == 0 && r->max_abs == 0 && r->note[0] == '\0')
		(void)snprintf(r->note, sizeof(r->note),
			       "the values are the same, their encoding "
			       "differs");
	return 0;
}

static size_t find_format(const struct comparison *c)
{
	for (size_t i = 0; i < ARRAY_SIZE(formats); i++)
		if (compare_name_ends(c->file[0].name, formats[i].ending) &&
		    compare_name_ends(c->file[1].name, formats[i].ending))
			return i;
	return ARRAY_SIZE(formats);
}

static int compare_both(struct comparison *c)
{
	size_t format = find_format(c);
	bool same_size = c->size[0] == c->size[1];
	int r = same_size ? compare_bytes(c) : 0;

	if (r < 0 || (same_size && c->result->verdict == COMPARE_IDENTICAL))
		return r;
	if (format < ARRAY_SIZE(formats)) {
		r = compare_values(c, format);
		if (r != -EBADMSG && r != -ENOTSUP)
			return r;
	} else if (same_size) {
		return 0;
	}
	*c->result = empty_result();
	if (format < ARRAY_SIZE(formats))
		(void)snprintf(c->result->note, sizeof(c->result->note),
			       "compared as bytes: %.200s", c->why->text);
	return compare_bytes(c);
}

static int check_file(const struct compare_file *file, uint64_t *ret_size,
		      struct roar_error *err)
{
	struct stat st;

	if (fd_stat(file->fd, &st) < 0)
		return error_set(err, -errno, "cannot read '%s': %s",
				 file->name, strerror(errno));
	if (!S_ISREG(st.st_mode))
		return error_set(err, -EINVAL, "'%s' is not a regular file",
				 file->name);
	*ret_size = (uint64_t)st.st_size;
	return 0;
}

int compare_files(const struct compare_file *a, const struct compare_file *b,
		  const struct compare_options *options,
		  struct compare_result *ret, struct roar_error *err)
{
	struct compare_result result = empty_result();
	struct roar_error why = { "" };
	struct comparison c = { .file = { *a, *b },
				.options = options,
				.result = &result,
				.why = &why };
	int r = check_file(a, &c.size[0], err);

	if (r == 0)
		r = check_file(b, &c.size[1], err);
	if (r < 0)
		return r;
	r = compare_both(&c);
	if (r < 0)
		return error_set(err, r, "cannot compare '%s' with '%s': %s",
				 a->name, b->name,
				 r == -ESTALE ? "one of them was truncated "
						"meanwhile" :
						strerror(-r));
	*ret = result;
	return 0;
}

static int open_file(const char *path, struct compare_file *ret,
		     struct roar_error *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	if (fd < 0)
		return error_set(err, -errno, "cannot open '%s': %s", path,
				 strerror(errno));
	*ret = (struct compare_file){ .fd = fd, .name = path };
	return 0;
}

int compare_paths(const char *a, const char *b,
		  const struct compare_options *options,
		  struct compare_result *ret, struct roar_error *err)
{
	struct compare_file file_a = { .fd = -1 }, file_b = { .fd = -1 };
	int r = open_file(a, &file_a, err);

	if (r == 0)
		r = open_file(b, &file_b, err);
	if (r == 0)
		r = compare_files(&file_a, &file_b, options, ret, err);
	closep(&file_a.fd);
	closep(&file_b.fd);
	return r;
}

const char *compare_verdict_word(enum compare_verdict verdict)
{
	static const char *const words[] = {
		[COMPARE_IDENTICAL] = "identical",
		[COMPARE_EQUAL] = "equal",
		[COMPARE_DIFFERENT] = "different",
		[COMPARE_UNLIKE] = "not comparable",
	};

	return words[verdict];
}

static void describe_first(const struct compare_result *r, struct str *out)
{
	if (r->first[0] == '\0')
		return;
	str_adds(out, r->verdict == COMPARE_UNLIKE ? ": " : ", first at ");
	quote_printable(out, r->first, strlen(r->first));
	if (r->first_a[0] == '\0' && r->first_b[0] == '\0')
		return;
	str_adds(out, ": ");
	quote_printable(out, r->first_a, strlen(r->first_a));
	str_adds(out, " and ");
	quote_printable(out, r->first_b, strlen(r->first_b));
}

void compare_describe(const struct compare_result *r, struct str *out)
{
	str_adds(out, r->verdict == COMPARE_EQUAL && r->max_abs > 0 ?
			      "equal within the tolerance" :
			      compare_verdict_word(r->verdict));
	if (r->verdict == COMPARE_DIFFERENT && r->n_values > 0)
		str_addf(out, " in %" PRIu64 " of %" PRIu64 " values",
			 r->n_different, r->n_values);
	describe_first(r, out);
	if (r->max_abs > 0) {
		str_addf(out, "; largest difference %.3g (relative %.3g) at ",
			 r->max_abs, r->max_rel);
		quote_printable(out, r->worst, strlen(r->worst));
	}
	if (r->note[0] != '\0') {
		str_adds(out, "; ");
		quote_printable(out, r->note, strlen(r->note));
	}
}

/* JSON has no infinity: null. */
static void put_number(struct json *j, const char *key, double value)
{
	json_put_key(j, key);
	if (isfinite(value))
		json_put_double(j, value);
	else
		json_put_null(j);
}

static void put_text(struct json *j, const char *key, const char *text)
{
	json_put_key(j, key);
	json_put_string(j, text[0] != '\0' ? text : NULL);
}

void compare_put_json(const struct compare_result *r, struct json *j)
{
	json_put_object(j);
	put_text(j, "verdict", compare_verdict_word(r->verdict));
	put_text(j, "format", r->format);
	json_put_key(j, "values");
	json_put_int(j, (int64_t)r->n_values);
	json_put_key(j, "different");
	json_put_int(j, (int64_t)r->n_different);
	put_number(j, "max_abs", r->max_abs);
	put_number(j, "max_rel", r->max_rel);
	put_text(j, "worst", r->worst);
	put_text(j, "first", r->first);
	put_text(j, "first_a", r->first_a);
	put_text(j, "first_b", r->first_b);
	put_text(j, "note", r->note);
	json_end(j);
}
