/* shards_audit.c - see shards_audit.h */
#include "shards/shards_audit.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/quote.h"
#include "base/str.h"
#include "base/vec.h"
#include "cli/cli.h"
#include "shard/audit/audit_check.h"

enum {
	SHOWN_RANGES = 8, /* of a line */
	JSON_RANGES = 1000, /* of a list */
};

DEFINE_CLEANUP(struct audit_check *, audit_check_free)

/* What was found, and how it is judged. */
struct report {
	struct audit_check *check;
	size_t n_files;
	size_t n_failed; /* files that could not be read, or not to their end */
	bool unfinished; /* epochs that go on are fine */
};

static bool is_exact(const struct report *r)
{
	bool exact = !r->n_failed && audit_check_n(r->check);

	for (size_t i = 0; i < audit_check_n(r->check); i++)
		exact &= audit_epoch_is_exact(audit_check_epoch(r->check, i),
					      r->unfinished);
	return exact;
}

/* ---- text ---- */

static void add_positions(struct str *out, const struct interval_set *set,
			  const char *what)
{
	if (!set->n)
		return;
	str_adds(out, set->count == 1 ? "  position " : "  positions ");
	interval_set_text(set, SHOWN_RANGES, out);
	str_addf(out, ": %s\n", what);
}

static void add_problems(struct str *out, const struct audit_epoch *e)
{
	for (size_t i = 0; i < e->n_problems && i < AUDIT_MAX_PROBLEMS; i++)
		str_addf(out, "  %s\n", e->problems[i]);
	if (e->n_problems > AUDIT_MAX_PROBLEMS)
		str_addf(out, "  and %zu more problems\n",
			 e->n_problems - AUDIT_MAX_PROBLEMS);
}

static const char *verdict(const struct audit_epoch *e, bool unfinished)
{
	if (!audit_epoch_is_exact(e, unfinished))
		return "not exact";
	if (e->gaps.n)
		return "exact so far";
	if (e->dropped.n)
		return "exact, except for dropped samples";
	return e->padded.n ? "exact, except for padding" : "exact";
}

static void add_epoch(struct str *out, const struct term *term,
		      const struct audit_epoch *e, bool unfinished)
{
	bool exact = audit_epoch_is_exact(e, unfinished);

	quote_printable_cut(out, e->dataset, 200);
	str_addf(out, ", seed %" PRId64 ", epoch %" PRIu64 ": ",
		 (int64_t)e->seed, e->epoch);
	term_add(out, term, exact ? COLOR_GREEN : COLOR_RED,
		 verdict(e, unfinished));
	str_adds(out, "\n  ");
	format_number(out, e->consumed.count);
	str_adds(out, " of ");
	format_count(out, e->total, "sample");
	str_adds(out, " consumed, by ");
	format_count(out, e->n_worlds, "world");
	if (e->redone) {
		str_adds(out, "; ");
		format_count(out, e->redone, "sample");
		str_adds(out, " repeated after a restart");
	}
	str_addc(out, '\n');
	add_positions(out, &e->gaps, "not consumed");
	add_positions(out, &e->dropped, "dropped on purpose");
	add_positions(out, &e->padded, "repeated to pad the last step");
	add_problems(out, e);
}

static int print_text(const struct report *r)
{
	CLEANUP(str_release) struct str out = STR_INIT;
	struct term term = term_of(1);

	for (size_t i = 0; i < audit_check_n(r->check); i++)
		add_epoch(&out, &term, audit_check_epoch(r->check, i),
			  r->unfinished);
	if (!audit_check_n(r->check))
		str_adds(&out, "No file contains an epoch.\n");
	if (audit_check_n_cut(r->check)) {
		format_count(&out, audit_check_n_cut(r->check), "file");
		str_adds(
			&out,
			" truncated by a crash: the remaining records count.\n");
	}
	return cli_print(&out);
}

/* ---- JSON ---- */

static void json_number(struct json *j, const char *key, uint64_t number)
{
	json_put_key(j, key);
	json_put_int(j, (int64_t)number);
}

static void json_ranges(struct json *j, const char *key,
			const struct interval_set *set)
{
	json_put_key(j, key);
	json_put_array(j);
	for (size_t i = 0; i < set->n && i < JSON_RANGES; i++) {
		json_put_array(j);
		json_put_int(j, (int64_t)set->items[i].first);
		json_put_int(j, (int64_t)set->items[i].end);
		json_end(j);
	}
	json_end(j);
}

static void json_epoch(struct json *j, const struct audit_epoch *e,
		       bool unfinished)
{
	json_put_object(j);
	json_put_key(j, "dataset");
	json_put_string(j, e->dataset);
	json_number(j, "seed", e->seed);
	json_number(j, "epoch", e->epoch);
	json_put_key(j, "exact");
	json_put_bool(j, audit_epoch_is_exact(e, unfinished));
	json_number(j, "total", e->total);
	json_number(j, "consumed", e->consumed.count);
	json_number(j, "worlds", e->n_worlds);
	json_number(j, "redone", e->redone);
	json_ranges(j, "gaps", &e->gaps);
	json_ranges(j, "dropped", &e->dropped);
	json_ranges(j, "padded", &e->padded);
	json_ranges(j, "twice", &e->twice);
	json_ranges(j, "unproven", &e->unproven);
	json_put_key(j, "problems");
	json_put_array(j);
	for (size_t i = 0; i < e->n_problems && i < AUDIT_MAX_PROBLEMS; i++)
		json_put_string(j, e->problems[i]);
	json_end(j);
	json_end(j);
}

static int print_json(const struct report *r)
{
	CLEANUP(str_release) struct str out = STR_INIT;
	struct json j = json_writer(&out, true);

	json_put_object(&j);
	json_put_key(&j, "exact");
	json_put_bool(&j, is_exact(r));
	json_number(&j, "files", r->n_files);
	json_number(&j, "files_failed", r->n_failed);
	json_number(&j, "files_cut", audit_check_n_cut(r->check));
	json_put_key(&j, "epochs");
	json_put_array(&j);
	for (size_t i = 0; i < audit_check_n(r->check); i++)
		json_epoch(&j, audit_check_epoch(r->check, i), r->unfinished);
	json_end(&j);
	json_end(&j);
	str_addc(&out, '\n');
	return cli_print(&out);
}

/* ---- the files ---- */

static void fail(struct report *r, const char *sentence)
{
	CLEANUP(str_release) struct str shown = STR_INIT;

	quote_printable_cut(&shown, sentence, 1000);
	(void)cli_fail("%s", str_cstr(&shown));
	r->n_failed++;
}

/* Files by what they are: one may be named twice, and what it says would count twice. */
struct file_id {
	dev_t dev;
	ino_t ino;
};

struct known {
	struct file_id *items;
	size_t n, cap;
};

static void known_release(struct known *k)
{
	free(k->items);
}

/* Whether the file was named before.  One that cannot be looked at is told of when it is
 * opened; without memory it is not known again. */
static bool is_again(struct known *k, const char *path)
{
	struct file_id *place;
	struct stat st;

	if (stat(path, &st) < 0)
		return false;
	for (size_t i = 0; i < k->n; i++)
		if (k->items[i].ino == st.st_ino && k->items[i].dev == st.st_dev)
			return true;
	place = VEC_PUSH(k->items, k->n, k->cap);
	if (place)
		*place = (struct file_id){ st.st_dev, st.st_ino };
	return false;
}

static int read_files(struct report *r, char *const *paths)
{
	CLEANUP(known_release) struct known known = { 0 };
	int status;

	for (; *paths; paths++) {
		struct roar_error err = { 0 };

		if (is_again(&known, *paths))
			continue;
		r->n_files++;
		if (audit_check_add(r->check, *paths, &err) < 0)
			fail(r, err.text);
	}
	status = audit_check_finish(r->check);
	for (size_t i = 0; i < r->n_files; i++)
		if (audit_check_failure(r->check, i))
			fail(r, audit_check_failure(r->check, i));
	return status;
}

int shards_audit(const struct args *args)
{
	CLEANUP(audit_check_freep) struct audit_check *check = NULL;
	struct report report = { .unfinished = args_has(args, "unfinished") };
	int status;
	int r = audit_check_new(&check);

	report.check = check;
	if (r == 0)
		r = read_files(&report, args->operands + 1);
	if (r == -ENOBUFS)
		return cli_fail("the audit files have more than %d separate "
				"ranges: check the epochs of fewer worlds at a "
				"time",
				(int)INTERVAL_SET_MAX);
	if (r < 0)
		return cli_fail("cannot check the audit files: %s",
				strerror(-r));
	status = args_has(args, "json") ? print_json(&report) :
					  print_text(&report);
	return status ? status : !is_exact(&report);
}
