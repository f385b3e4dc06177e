/* checkpoint_verify.c - `roar checkpoint verify` */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/quote.h"
#include "base/str.h"
#include "base/vec.h"
#include "checkpoint/checkpoint_place.h"
#include "checkpoint/checkpoint_verbs.h"
#include "cli/cli.h"
#include "ui/view.h"

enum { SHOWN = 100, JSON_TENSORS = 20 }; /* damaged places; tensors of one */

struct place {
	struct ckpt_damage damage;
	char *source, *repair; /* own copies */
};

/* One checkpoint. */
struct result {
	struct place *places;
	size_t n_places, cap_places;
	bool failed_alloc;
	uint64_t bytes;
	int64_t took_ns;
	const char *problem; /* the manifest cannot be used */
};

static void result_release(struct result *r)
{
	for (size_t i = 0; i < r->n_places; i++) {
		free(r->places[i].source);
		free(r->places[i].repair);
	}
	free(r->places);
}

/* The strings of a damage are valid during the call only. */
static void on_damage(void *ctx, const struct ckpt_damage *d)
{
	struct result *r = ctx;
	struct place *place = VEC_PUSH(r->places, r->n_places, r->cap_places);

	if (place) {
		place->damage = *d;
		place->source = strdup(d->source);
		place->repair = d->repair ? strdup(d->repair) : NULL;
	}
	if (!place || !place->source || !place->repair != !d->repair)
		r->failed_alloc = true;
}

static bool is_whole(const struct result *r)
{
	return !r->problem && !r->n_places;
}

/* ---- what the bytes belong to ---- */

typedef void tensor_fn(void *ctx, const char *name, size_t number);

static size_t each_tensor(const struct ckpt_manifest *m,
			  const struct ckpt_damage *d, tensor_fn *fn, void *ctx)
{
	size_t n = 0;

	for (size_t i = 0; d->len && i < m->n_tensors; i++) {
		const struct ckpt_tensor *t = &m->tensors[i];
		bool is_hit = false;

		for (size_t k = 0; k < t->n_parts; k++)
			is_hit |= t->parts[k].file == d->file &&
				  t->parts[k].at < d->offset + d->len &&
				  t->parts[k].at + ckpt_part_bytes(
							   t, &t->parts[k]) >
					  d->offset;
		if (is_hit)
			fn(ctx, t->name, n++);
	}
	return n;
}

/* ---- text ---- */

static void add_tensor(void *ctx, const char *name, size_t number)
{
	struct str *out = ctx;

	if (number >= 3)
		return;
	str_adds(out, number ? ", " : ", tensor ");
	quote_printable_cut(out, name, 200);
}

static void add_place(struct str *out, const struct ckpt_manifest *m,
		      const struct place *place)
{
	const struct ckpt_damage *d = &place->damage;
	size_t n;

	str_adds(out, "  ");
	quote_name(out, place->source, strlen(place->source));
	if (d->len)
		str_addf(out, ", offset %" PRIu64 ", %" PRIu64 " bytes",
			 d->source_offset, d->len);
	n = each_tensor(m, d, add_tensor, out);
	if (n > 3)
		str_addf(out, " and %zu more", n - 3);
	str_addf(out, ": %s",
		 d->error == -EBADMSG ? d->len ?
					"wrong bytes" :
					"not the hash tree of its file" :
		 d->error == -ENODATA ? "the file is too short" :
					strerror(-d->error));
	if (place->repair) {
		str_adds(out, "; the right ones are in ");
		quote_name(out, place->repair, strlen(place->repair));
	}
	str_addc(out, '\n');
}

static void add_text(struct str *out, const struct term *term, const char *name,
		     const struct ckpt_manifest *m, const struct result *r)
{
	str_addf(out, "%s: ", name);
	term_add(out, term, is_whole(r) ? COLOR_GREEN : COLOR_RED,
		 is_whole(r) ? "OK" : "DAMAGED");
	if (r->problem) {
		str_adds(out, "\n  ");
		quote_printable_cut(out, r->problem, 1000);
		str_addc(out, '\n');
		return;
	}
	str_adds(out, ", ");
	format_size(out, r->bytes);
	str_adds(out, " in ");
	clock_format_duration(out, r->took_ns);
	str_addc(out, '\n');
	for (size_t i = 0; i < r->n_places && i < SHOWN; i++)
		add_place(out, m, &r->places[i]);
	if (r->n_places > SHOWN)
		str_addf(out, "  and %zu more places\n", r->n_places - SHOWN);
}

/* ---- JSON ---- */

static void json_tensor(void *ctx, const char *name, size_t number)
{
	if (number < JSON_TENSORS)
		json_put_string(ctx, name);
}

static void json_place(struct json *j, const struct ckpt_manifest *m,
		       const struct place *place)
{
	const struct ckpt_damage *d = &place->damage;

	json_put_object(j);
	view_json_text(j, "file", place->source);
	view_json_int(j, "offset", (int64_t)d->source_offset);
	view_json_int(j, "len", (int64_t)d->len);
	view_json_text(j, "error",
		       d->error == -EBADMSG ? "wrong bytes" :
					      strerror(-d->error));
	json_put_key(j, "tensors");
	json_put_array(j);
	(void)each_tensor(m, d, json_tensor, j);
	json_end(j);
	view_json_text(j, "repair", place->repair);
	json_end(j);
}

static void add_json(struct json *j, const char *name,
		     const struct ckpt_manifest *m, const struct result *r)
{
	json_put_object(j);
	view_json_text(j, "name", name);
	view_json_bool(j, "ok", is_whole(r));
	if (r->problem)
		view_json_text(j, "error", r->problem);
	view_json_int(j, "bytes", (int64_t)r->bytes);
	view_json_seconds(j, "seconds", r->took_ns);
	json_put_key(j, "damage");
	json_put_array(j);
	for (size_t i = 0; i < r->n_places; i++)
		json_place(j, m, &r->places[i]);
	json_end(j);
	json_end(j);
}

/* ---- */

struct verification {
	struct checkpoint_place place;
	struct term term;
	struct str out;
	struct json json;
	bool is_json;
	bool is_damaged;
};

static void verification_release(struct verification *v)
{
	checkpoint_place_release(&v->place);
	str_release(&v->out);
}

static void add_result(struct verification *v, const char *name,
		       const struct ckpt_manifest *m, const struct result *r)
{
	v->is_damaged |= !is_whole(r);
	if (v->is_json)
		add_json(&v->json, name, m, r);
	else
		add_text(&v->out, &v->term, name, m, r);
}

/* Returns an exit status; damage is none. */
static int verify_step(struct verification *v, uint64_t step)
{
	CLEANUP(ckpt_reader_closep) struct ckpt_reader *reader = NULL;
	CLEANUP(result_release) struct result result = { 0 };
	int64_t start_ns = clock_mono_ns();
	struct roar_error err = { 0 };
	char name[CKPT_NAME_SIZE];
	int64_t n;
	int status;

	v->place.step = step;
	v->place.damage = on_damage;
	v->place.ctx = &result;
	status = checkpoint_place_open(&v->place, "verifying", &reader);
	if (status)
		return status;
	n = ckpt_reader_scan(reader, NULL, NULL, &err);
	progress_end(&v->place.progress);
	if (n < 0)
		return checkpoint_fail((int)n, &err);
	if (result.failed_alloc)
		return cli_fail("out of memory");
	result.bytes = ckpt_reader_bytes_read(reader);
	result.took_ns = clock_mono_ns() - start_ns;
	ckpt_name_step(name, step);
	add_result(v, name, ckpt_reader_manifest(reader), &result);
	return 0;
}

/* An entry whose manifest is damaged is a result as well. */
static int verify_all(struct verification *v)
{
	CLEANUP(ckpt_listing_release)
	struct ckpt_listing l = CKPT_LISTING_INIT;
	struct roar_error err = { 0 };
	int status = 0;
	int r = ckpt_listing_read(&l, v->place.store, CKPT_LIST_MANIFESTS,
				  &err);

	if (r < 0)
		return checkpoint_fail(r, &err);
	if (!ckpt_listing_latest(&l))
		return cli_fail("there is no checkpoint in '%s'",
				blob_url(v->place.store));
	for (size_t i = 0; !status && i < l.n_entries; i++) {
		const struct ckpt_entry *e = &l.entries[i];
		const struct result bad = { .problem = e->problem };

		if (e->problem)
			add_result(v, e->name, NULL, &bad);
		else if (e->is_committed)
			status = verify_step(v, e->step);
	}
	return status;
}

int checkpoint_verify(const struct args *args)
{
	CLEANUP(verification_release)
	struct verification v = { .is_json = args_has(args, "json") };
	bool all = args_has(args, "all");
	int status;

	if (all && args_has(args, "step"))
		return cli_usage(args->command,
				 "--all and --step exclude each other");
	status = checkpoint_place_find(&v.place, args, args->operands[1]);
	if (status)
		return status;
	v.term = term_of(1);
	v.json = json_writer(&v.out, true);
	if (v.is_json) {
		json_put_object(&v.json);
		json_put_key(&v.json, "checkpoints");
		json_put_array(&v.json);
	}
	status = all ? verify_all(&v) : verify_step(&v, v.place.step);
	if (status)
		return status;
	if (v.is_json) {
		json_end(&v.json);
		json_end(&v.json);
		str_addc(&v.out, '\n');
	}
	status = cli_print(&v.out);
	return status ? status : v.is_damaged;
}
