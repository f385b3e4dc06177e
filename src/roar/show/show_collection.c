/* show_collection.c - see show_collection.h */
#include "show/show_collection.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/quote.h"
#include "lineage/fold.h"
#include "query/collection_fold.h"
#include "show/show.h"
#include "store/store_collection.h"
#include "ui/view.h"

enum { FLUSH = 1 << 20 }; /* bytes of output that are printed before the end */

static void add_hash(struct str *out, const uint8_t blake3[BLAKE3_LEN],
		     size_t digits)
{
	char hex[2 * BLAKE3_LEN + 1];

	digest_hex(hex, blake3, BLAKE3_LEN);
	str_add(out, hex, digits);
}

/* ---- the parts of other blocks ---- */

/* "(webdataset, 12 files)" */
static void add_kind(struct str *out, const struct store_collection *c)
{
	str_addf(out, "(%s, ", collection_kind_name(c->kind));
	format_count(out, (uint64_t)c->n_members, "file");
	str_addc(out, ')');
}

void show_group(struct view *v, const struct collection_group *group)
{
	view_path(v, &v->out, group->use->path);
	str_adds(&v->out, "  ");
	add_kind(&v->out, &group->use->collection);
}

static void add_use(struct view *v, const struct store_collection_use *use)
{
	struct str cell = STR_INIT;

	str_adds(&v->out, "  ");
	add_hash(&cell, use->collection.blake3, VIEW_HASH_DIGITS);
	view_cell_str(v, COLOR_CYAN, &cell, VIEW_HASH_DIGITS + 2);
	str_clear(&cell);
	format_size(&cell, (uint64_t)use->collection.size);
	view_cell_str(v, COLOR_NONE, &cell, 12);
	str_adds(&v->out, use->role == LINEAGE_INPUT ? "read   " : "wrote  ");
	view_path(v, &v->out, use->path);
	str_adds(&v->out, "  ");
	add_kind(&v->out, &use->collection);
	str_addc(&v->out, '\n');
	str_release(&cell);
}

int show_collections_text(struct view *v, int64_t job_id,
			  struct roar_error *err)
{
	struct store_collection_use *uses;
	size_t n;
	int r = store_job_collections(v->store, &v->pool, job_id, &uses, &n,
				      err);

	if (r < 0 || !n)
		return r;
	str_addc(&v->out, '\n');
	term_add(&v->out, &v->term, COLOR_BOLD, "Collections");
	str_addf(&v->out, " (%zu)\n", n);
	for (size_t i = 0; i < n; i++)
		add_use(v, &uses[i]);
	return 0;
}

void show_collection_fields(struct json *j, const struct store_collection *c)
{
	char hex[2 * BLAKE3_LEN + 1];
	const char *names = c->names;

	digest_hex(hex, c->blake3, BLAKE3_LEN);
	view_json_text(j, "hash", hex);
	view_json_text(j, "kind", collection_kind_name(c->kind));
	view_json_int(j, "members", c->n_members);
	view_json_int(j, "size_bytes", c->size);
	json_put_key(j, "names");
	json_put_array(j);
	while (*names) {
		size_t len = strcspn(names, " ");

		json_put_bytes(j, names, len);
		names += len + (names[len] == ' ');
	}
	json_end(j);
}

int show_collections_json(struct view *v, struct json *j, int64_t job_id,
			  struct roar_error *err)
{
	struct store_collection_use *uses;
	size_t n;
	int r = store_job_collections(v->store, &v->pool, job_id, &uses, &n,
				      err);

	if (r < 0)
		return r;
	json_put_key(j, "collections");
	json_put_array(j);
	for (size_t i = 0; i < n; i++) {
		json_put_object(j);
		show_collection_fields(j, &uses[i].collection);
		view_json_text(j, "path", uses[i].path);
		view_json_text(j, "role", view_role_word(uses[i].role));
		json_end(j);
	}
	json_end(j);
	return 0;
}

/* ---- the block ---- */

struct block {
	struct view *view;
	const struct store_collection *collection;
	const struct show_options *options;
	struct store_collection_use *uses;
	size_t n_uses;
};

static void add_facts(struct block *b)
{
	const struct store_collection *c = b->collection;
	struct view *v = b->view;
	struct str hash = STR_INIT;

	add_hash(&hash, c->blake3, VIEW_HASH_DIGITS);
	term_add(&v->out, &v->term, COLOR_BOLD, "Collection ");
	term_add(&v->out, &v->term, COLOR_CYAN, str_cstr(&hash));
	str_addc(&v->out, '\n');
	if (c->names[0]) {
		view_label(v, "Name:");
		str_addf(&v->out, "%s\n", c->names);
	}
	view_label(v, "Kind:");
	str_addf(&v->out, "%s\n", collection_kind_name(c->kind));
	view_label(v, "Blake3:");
	add_hash(&v->out, c->blake3, 2 * (size_t)BLAKE3_LEN);
	str_addc(&v->out, '\n');
	view_label(v, "Files:");
	format_number(&v->out, (uint64_t)c->n_members);
	str_addc(&v->out, '\n');
	view_label(v, "Size:");
	format_size(&v->out, (uint64_t)c->size);
	if (c->size >= 1024)
		str_addf(&v->out, " (%lld bytes)", (long long)c->size);
	str_addc(&v->out, '\n');
	view_label(v, "First seen:");
	clock_format(&v->out, c->first_seen_ns);
	str_addc(&v->out, '\n');
	view_label(v, "Path:");
	view_path(v, &v->out, c->path);
	str_addc(&v->out, '\n');
	str_release(&hash);
}

static int add_jobs(struct block *b, const char *title, unsigned role,
		    const char *none, struct roar_error *err)
{
	struct view *v = b->view;
	uint64_t limit = b->options->all ? UINT64_MAX : SHOW_ROWS;
	uint64_t n = 0;
	uint64_t shown = 0;
	int r = 0;

	for (size_t i = 0; i < b->n_uses; i++)
		n += b->uses[i].role == role;
	str_addc(&v->out, '\n');
	term_add(&v->out, &v->term, COLOR_BOLD, title);
	if (!n) {
		str_addf(&v->out, "\n  %s\n", none);
		return 0;
	}
	str_addf(&v->out, " (%llu)\n", (unsigned long long)n);
	for (size_t i = 0; r >= 0 && i < b->n_uses && shown < limit; i++) {
		const struct store_job *job = NULL;

		if (b->uses[i].role != role)
			continue;
		shown++;
		r = query_job(&v->query, b->uses[i].job_id, &job, err);
		if (r < 0 || !job)
			continue;
		str_adds(&v->out, "  ");
		view_step_full(v, &v->out, job);
		str_addf(&v->out, " %s  ", job->uid);
		view_cut(&v->out, job->command,
			 v->width > 60 ? v->width - 20 : 40);
		str_adds(&v->out, "\n        as ");
		view_path(v, &v->out, b->uses[i].path);
		str_addc(&v->out, '\n');
	}
	show_more(v, n, shown);
	return r;
}

static void add_member(struct view *v, const struct store_member *m)
{
	struct str cell = STR_INIT;

	str_adds(&v->out, "  ");
	add_hash(&cell, m->blake3, VIEW_HASH_DIGITS);
	view_cell_str(v, COLOR_CYAN, &cell, VIEW_HASH_DIGITS + 2);
	str_clear(&cell);
	format_size(&cell, (uint64_t)m->size);
	view_cell_str(v, COLOR_NONE, &cell, 12);
	quote_name(&v->out, m->name, strlen(m->name));
	if (m->n_members) {
		str_adds(&v->out, "/  (");
		format_count(&v->out, (uint64_t)m->n_members, "file");
		str_addc(&v->out, ')');
	}
	str_addc(&v->out, '\n');
	str_release(&cell);
}

static void json_member(struct json *j, const struct store_member *m)
{
	char hex[2 * BLAKE3_LEN + 1];

	digest_hex(hex, m->blake3, BLAKE3_LEN);
	json_put_object(j);
	view_json_text(j, "name", m->name);
	view_json_text(j, "blake3", hex);
	view_json_int(j, "size_bytes", m->size);
	if (m->n_members)
		view_json_int(j, "members", m->n_members);
	json_end(j);
}

/* Prints what there is of a long output, so that it need not be in memory. */
static int flush(struct view *v)
{
	if (v->out.len < FLUSH)
		return 0;
	if (view_print(v))
		return -EPIPE;
	str_clear(&v->out);
	return 0;
}

/* With `j`, as JSON. */
static int add_members(struct block *b, struct json *j, struct roar_error *err)
{
	CLEANUP(store_members_closep) struct store_members *m = NULL;
	bool all = b->options->all || j;
	uint64_t limit = all ? UINT64_MAX : SHOW_ROWS;
	uint64_t shown = 0;
	struct store_member member;
	int r = store_members_open(b->view->store, b->collection->id,
				   all ? 0 : STORE_MEMBERS_ANY_ORDER, &m, err);

	while (r >= 0 && shown < limit &&
	       (r = store_members_next(m, &member, err)) > 0) {
		shown++;
		if (j)
			json_member(j, &member);
		else
			add_member(b->view, &member);
		r = flush(b->view);
	}
	if (r >= 0 && !j)
		show_more(b->view, (uint64_t)b->collection->n_members, shown);
	return r < 0 ? r : 0;
}

static int add_text(struct block *b, struct roar_error *err)
{
	struct view *v = b->view;
	int r;

	add_facts(b);
	r = add_jobs(b, "Made by", LINEAGE_OUTPUT,
		     "no recorded job: it came from outside", err);
	if (r >= 0)
		r = add_jobs(b, "Used by", LINEAGE_INPUT, "no recorded job",
			     err);
	if (r < 0)
		return r;
	str_addc(&v->out, '\n');
	term_add(&v->out, &v->term, COLOR_BOLD, "Members");
	str_addf(&v->out, " (%lld)\n", (long long)b->collection->n_members);
	return add_members(b, NULL, err);
}

static int json_jobs(struct block *b, struct json *j, const char *key,
		     unsigned role, struct roar_error *err)
{
	int r = 0;

	json_put_key(j, key);
	json_put_array(j);
	for (size_t i = 0; r >= 0 && i < b->n_uses; i++) {
		const struct store_job *job = NULL;

		if (b->uses[i].role != role)
			continue;
		r = query_job(&b->view->query, b->uses[i].job_id, &job, err);
		if (r < 0 || !job)
			continue;
		json_put_object(j);
		view_json_text(j, "job_uid", job->uid);
		view_json_text(j, "step_ref", view_step_ref(b->view, job));
		view_json_text(j, "command", job->command);
		view_json_text(j, "path", b->uses[i].path);
		json_end(j);
	}
	json_end(j);
	return r;
}

static int add_json(struct block *b, struct roar_error *err)
{
	struct json j = json_writer(&b->view->out, true);
	int r;

	json_put_object(&j);
	view_json_text(&j, "type", "collection");
	show_collection_fields(&j, b->collection);
	view_json_text(&j, "path", b->collection->path);
	view_json_time(&j, "first_seen_at", b->collection->first_seen_ns);
	r = json_jobs(b, &j, "made_by", LINEAGE_OUTPUT, err);
	if (r >= 0)
		r = json_jobs(b, &j, "used_by", LINEAGE_INPUT, err);
	json_put_key(&j, "files");
	json_put_array(&j);
	if (r >= 0)
		r = add_members(b, &j, err);
	json_end(&j);
	json_end(&j);
	str_addc(&b->view->out, '\n');
	return r;
}

int show_collection(struct view *v, const struct store_collection *c,
		    const struct show_options *o, struct roar_error *err)
{
	struct block b = { .view = v, .collection = c, .options = o };
	int r = store_collection_uses(v->store, &v->pool, c->id, &b.uses,
				      &b.n_uses, err);

	if (r < 0)
		return r;
	return o->json ? add_json(&b, err) : add_text(&b, err);
}
