/* verify_say.c - see verify.h */
#include <string.h>

#include "base/cleanup.h"
#include "cli/cli.h"
#include "hash/hash_line.h"
#include "hash/hash_names.h"
#include "hash/verify.h"
#include "ui/view.h"

typedef unsigned long long llu;

static bool has_other_size(const struct verify_item *item)
{
	return item->state == VERIFY_CHANGED && item->has_size &&
	       !item->is_link && item->size_bytes != item->found_bytes;
}

static void add_other_size(struct str *out, const struct verify_item *item)
{
	str_addf(out, "size %llu instead of %llu bytes", (llu)item->found_bytes,
		 (llu)item->size_bytes);
}

/* "3145728-4194303" */
static void add_range(struct str *out, struct verify_range range)
{
	str_addf(out, "%llu-%llu", (llu)range.first, (llu)range.end - 1);
}

static void add_ok(struct str *out, const struct verify_item *item,
		   const struct verify_options *options)
{
	str_adds(out, "OK");
	if (!options->has_range || item->is_link)
		return;
	str_adds(out, ", bytes ");
	add_range(out, item->proved);
	str_addf(out, " of %llu", (llu)item->found_bytes);
}

static void add_changed(struct str *out, const struct verify_item *item)
{
	str_adds(out, "FAILED");
	if (has_other_size(item)) {
		str_adds(out, ", ");
		add_other_size(out, item);
	} else if (item->bad.end) {
		str_adds(out, ", first bad range ");
		add_range(out, item->bad);
	}
}

void verify_say_line(struct str *out, const struct verify_item *item,
		     const struct verify_options *options)
{
	CLEANUP(str_release) struct str verdict = STR_INIT;

	switch (item->state) {
	case VERIFY_OK:
		if (options->quiet)
			return;
		add_ok(&verdict, item, options);
		break;
	case VERIFY_CHANGED:
		add_changed(&verdict, item);
		break;
	case VERIFY_MISSING:
		str_adds(&verdict, "FAILED, missing");
		break;
	case VERIFY_UNREADABLE:
		str_adds(&verdict, "FAILED open or read");
		break;
	case VERIFY_REMOTE:
		if (options->quiet)
			return;
		str_adds(&verdict, "not a local file");
		break;
	default:
		str_adds(&verdict, "NOT PROVED");
		break;
	}
	if (str_error(&verdict) < 0)
		out->failed = true;
	hash_line_verdict(out, item->path, str_cstr(&verdict));
}

/* ---- JSON ---- */

static void json_range(struct json *j, const char *key,
		       struct verify_range range)
{
	json_put_key(j, key);
	if (!range.end) {
		json_put_null(j);
		return;
	}
	json_put_object(j);
	view_json_int(j, "offset", (int64_t)range.first);
	view_json_int(j, "length", (int64_t)(range.end - range.first));
	json_end(j);
}

static void json_error(struct json *j, const struct verify_item *item)
{
	CLEANUP(str_release) struct str size = STR_INIT;
	const char *text = item->why;

	if (item->state == VERIFY_UNREADABLE || item->state == VERIFY_MISSING)
		text = hash_names_cause(item->error);
	if (has_other_size(item)) {
		add_other_size(&size, item);
		text = str_cstr(&size);
	}
	view_json_text(j, "error", text);
}

void verify_say_json(struct json *j, const struct verify_item *item)
{
	static const char *const words[VERIFY_STATE_END] = {
		[VERIFY_OK] = "ok",
		[VERIFY_CHANGED] = "changed",
		[VERIFY_MISSING] = "missing",
		[VERIFY_UNREADABLE] = "unreadable",
		[VERIFY_UNPROVED] = "unproved",
		[VERIFY_REMOTE] = "remote",
	};
	char hex[2 * BLAKE3_LEN + 1];

	digest_hex(hex, item->digest, BLAKE3_LEN);
	json_put_object(j);
	view_json_text(j, "path", item->path);
	view_json_text(j, "state", words[item->state]);
	view_json_text(j, "blake3", item->has_digest ? hex : NULL);
	json_put_key(j, "size_bytes");
	if (item->has_size)
		json_put_int(j, (int64_t)item->size_bytes);
	else
		json_put_null(j);
	json_range(j, "proved", item->proved);
	json_range(j, "first_bad", item->bad);
	json_error(j, item);
	json_end(j);
}

/* ---- the end ---- */

static void say_count(const char *what, uint64_t n, const char *noun)
{
	CLEANUP(str_release) struct str count = STR_INIT;

	format_count(&count, n, noun);
	(void)cli_fail("%s: %s", what, str_cstr(&count));
}

int verify_say_end(const struct verify_list *list)
{
	size_t n_with[VERIFY_STATE_END] = { 0 };
	size_t n_bad;

	for (size_t i = 0; i < list->n; i++) {
		const struct verify_item *item = &list->all[i];

		if (item->may_be_gone && item->state == VERIFY_MISSING)
			continue;
		n_with[item->state]++;
		if (item->state == VERIFY_UNREADABLE)
			(void)cli_fail("'%s': %s", item->path,
				       hash_names_cause(item->error));
		if (item->state == VERIFY_UNPROVED)
			(void)cli_fail("'%s': %s", item->path, item->why);
	}
	n_bad = n_with[VERIFY_CHANGED] + n_with[VERIFY_MISSING];
	if (n_with[VERIFY_REMOTE])
		say_count("not checked, because they are objects of a store",
			  n_with[VERIFY_REMOTE], "object");
	if (n_bad)
		say_count("not as expected", n_bad, "file");
	return n_bad || n_with[VERIFY_UNREADABLE] || n_with[VERIFY_UNPROVED];
}
