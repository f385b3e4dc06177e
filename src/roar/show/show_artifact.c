/* show_artifact.c - the block of one artifact: digests, places, makers, users.
 *
 * An artifact is content; a path is a place where it was seen.  So the block
 * tells for each such place whether the content is still there. */
#include <ctype.h>
#include <string.h>

#include "base/clock.h"
#include "hash/user_cache.h"
#include "keep/keep.h"
#include "lineage/fold.h"
#include "query/presence.h"
#include "show/show.h"
#include "show/show_checkpoint.h"
#include "show/show_object.h"
#include "show/show_tags.h"
#include "ui/view.h"
#include "ui/view_labels.h"

enum {
	READ_MAX = 256 << 20
}; /* bytes of files that are read to compare them */

struct place {
	const struct store_file *row; /* the newest use at this path */
	enum presence presence;
	bool checked;
};

struct block {
	struct view *view;
	const struct store_artifact *artifact;
	const char *path; /* how it was named, or NULL */
	const struct show_checkpoint *checkpoint; /* that it belongs to */
	const struct show_options *options;
	struct store_file *uses;
	size_t n_uses;
	struct place *places;
	size_t n_places;
	struct show_tags tags;
	struct show_objects objects;
};

static uint64_t row_limit(const struct block *b)
{
	return b->options->all || b->options->json ? UINT64_MAX : SHOW_ROWS;
}

/* The places in the order they were first seen; the row kept is the newest,
 * because its stamp is the one to compare with. */
static int collect_places(struct block *b)
{
	struct map known = MAP_INIT;
	int r = 0;

	b->places = pool_alloc(&b->view->pool,
			       (b->n_uses + 1) * sizeof(*b->places));
	if (!b->places)
		return -ENOMEM;
	for (size_t i = 0; r >= 0 && i < b->n_uses; i++) {
		const struct store_file *row = &b->uses[i];
		size_t len = strlen(row->path);
		struct place *place = map_get(&known, row->path, len);

		if (!place) {
			place = &b->places[b->n_places++];
			r = map_set(&known, row->path, len, place);
		}
		*place = (struct place){ .row = row };
	}
	map_release(&known);
	return r;
}

static void check_places(struct block *b)
{
	CLEANUP(presence_look_release)
	struct presence_look look = { .budget = READ_MAX,
				      .open_cache = user_cache_open };

	for (size_t i = 0; i < b->n_places && i < row_limit(b); i++) {
		b->places[i].presence = presence_check(&look, b->places[i].row);
		b->places[i].checked = true;
	}
}

/* The row whose job decides what is known of the content: the newest that made
 * it under this name, else the newest that made it.  NULL: it came from
 * outside. */
static const struct store_file *find_maker(const struct block *b)
{
	const struct store_file *newest = NULL;

	for (size_t i = b->n_uses; i-- > 0;) {
		const struct store_file *row = &b->uses[i];

		if (!(row->role & (LINEAGE_OUTPUT | LINEAGE_TEMPORARY)))
			continue;
		if (!b->path || strcmp(row->path, b->path) == 0)
			return row;
		if (!newest)
			newest = row;
	}
	return newest;
}

static int read_tags(struct block *b, struct roar_error *err)
{
	const struct store_file *row = find_maker(b);
	const struct store_job *job = NULL;
	int r = row ? query_job(&b->view->query, row->job_id, &job, err) : 0;

	if (r < 0 || !job)
		return r;
	return show_tags_read(b->view, job, &b->tags, err);
}

static int read_block(struct block *b, struct roar_error *err)
{
	struct view *v = b->view;
	int r;

	r = store_artifact_uses(v->store, &v->pool, b->artifact->id, &b->uses,
				&b->n_uses, err);
	if (r < 0)
		return r;
	r = collect_places(b);
	if (r < 0)
		return r;
	check_places(b);
	return read_tags(b, err);
}

/* ---- text ---- */

/* "Blake3:" */
static void add_digest_label(struct view *v, int algo)
{
	char label[16];

	(void)snprintf(label, sizeof(label), "%s:", digest_algo_name(algo));
	label[0] = (char)toupper((unsigned char)label[0]);
	view_label(v, label);
}

static bool is_kept(const struct block *b)
{
	const struct digests *d = &b->artifact->digests;

	return d->have & DIGEST_SET_BLAKE3 &&
	       keep_has(b->view->project.dirfd, d->blake3, NULL);
}

static void add_facts(struct block *b)
{
	struct view *v = b->view;
	const struct store_artifact *a = b->artifact;
	char hex[2 * DIGEST_MAX + 1];

	term_add(&v->out, &v->term, COLOR_BOLD, "Artifact ");
	digest_hex(hex, a->digests.blake3, BLAKE3_LEN);
	hex[VIEW_HASH_DIGITS] = '\0';
	term_add(&v->out, &v->term, COLOR_CYAN, hex);
	str_addc(&v->out, '\n');
	for (int algo = 0; algo < DIGEST_ALGO_END; algo++) {
		const uint8_t *bytes = digests_get(&a->digests, algo);

		if (!bytes)
			continue;
		digest_hex(hex, bytes, digest_algo_len(algo));
		add_digest_label(v, algo);
		str_addf(&v->out, "%s\n", hex);
	}
	view_label(v, "Size:");
	format_size(&v->out, (uint64_t)a->size);
	if (a->size >= 1024)
		str_addf(&v->out, " (%lld bytes)", (long long)a->size);
	str_addc(&v->out, '\n');
	view_label(v, "First seen:");
	clock_format(&v->out, a->first_seen_ns);
	str_adds(&v->out, " as ");
	view_path(v, &v->out, a->first_path);
	str_addc(&v->out, '\n');
	if (is_kept(b)) {
		view_label(v, "Kept:");
		str_adds(&v->out,
			 "in .roar/objects ('roar objects restore')\n");
	}
}

static void add_places(struct block *b)
{
	static const struct {
		const char *text;
		enum color color;
	} looks[PRESENCE_END] = {
		[PRESENCE_PRESENT] = { "present", COLOR_GREEN },
		[PRESENCE_CHANGED] = { "changed", COLOR_YELLOW },
		[PRESENCE_MISSING] = { "missing", COLOR_RED },
		[PRESENCE_UNVERIFIED] = { "unverified", COLOR_YELLOW },
		[PRESENCE_REMOTE] = { "remote", COLOR_NONE },
	};
	struct view *v = b->view;
	size_t shown = 0;

	str_addc(&v->out, '\n');
	term_add(&v->out, &v->term, COLOR_BOLD, "Paths");
	str_addf(&v->out, " (%zu)\n", b->n_places);
	for (; shown < b->n_places && b->places[shown].checked; shown++) {
		const struct place *p = &b->places[shown];

		str_adds(&v->out, "  ");
		view_cell(v, looks[p->presence].color, looks[p->presence].text,
			  12);
		view_path(v, &v->out, p->row->path);
		str_addc(&v->out, '\n');
	}
	show_more(v, b->n_places, shown);
}

static void add_use(struct view *v, const struct store_file *row,
		    const struct store_job *job,
		    const struct store_object *object)
{
	struct str cell = STR_INIT;
	size_t start = v->out.len;
	size_t used;

	str_adds(&v->out, "  ");
	view_step_full(v, &cell, job);
	str_addc(&cell, ' ');
	view_cell_str(v, COLOR_NONE, &cell, 6);
	view_cell(v, COLOR_YELLOW, job->uid, 10);
	str_clear(&cell);
	clock_format(&cell, job->started_ns);
	view_cell_str(v, COLOR_NONE, &cell, 21);
	used = view_columns(&v->out, start);
	view_cut(&v->out, job->command,
		 v->width > used + 41 ? v->width - used : 41);
	str_adds(&v->out, "\n        as ");
	view_path(v, &v->out, row->path);
	if (row->role & LINEAGE_TEMPORARY)
		str_adds(&v->out, " (temporary)");
	if (row->seen & LINEAGE_REPORTED)
		str_adds(&v->out, " (digest by writer)");
	show_object_text(v, object);
	str_addc(&v->out, '\n');
	str_release(&cell);
}

/* The uses with one of some roles: of each step and path the newest one. */
struct use_list {
	const struct store_file **rows; /* newest first */
	const struct store_job **jobs;
	size_t n;
	struct map steps; /* "session kind step path" -> its row */
	uint64_t n_earlier; /* executions left out */
	int64_t last_left_out;
};

static int take_use(struct block *b, struct use_list *list,
		    const struct store_file *row, const struct store_job *job)
{
	const char *key = pool_printf(&b->view->pool, "%lld %s %lld %s",
				      (long long)job->session_id, job->kind,
				      (long long)job->step, row->path);
	size_t len = key ? strlen(key) : 0;

	if (!key)
		return -ENOMEM;
	if (!b->options->all && map_get(&list->steps, key, len)) {
		list->n_earlier += job->id != list->last_left_out;
		list->last_left_out = job->id;
		return 0;
	}
	list->rows[list->n] = row;
	list->jobs[list->n++] = job;
	return map_set(&list->steps, key, len, (void *)row);
}

/* Newest first: the last maker and the last user matter most. */
static int collect_uses(struct block *b, unsigned roles, struct use_list *list,
			struct roar_error *err)
{
	struct pool *pool = &b->view->pool;
	int r = 0;

	list->rows = pool_alloc(pool, (b->n_uses + 1) * sizeof(*list->rows));
	list->jobs = pool_alloc(pool, (b->n_uses + 1) * sizeof(*list->jobs));
	if (!list->rows || !list->jobs)
		return -ENOMEM;
	for (size_t i = b->n_uses; r >= 0 && i-- > 0;) {
		const struct store_job *job;

		if (!(b->uses[i].role & roles))
			continue;
		r = query_job(&b->view->query, b->uses[i].job_id, &job, err);
		if (r >= 0 && job)
			r = take_use(b, list, &b->uses[i], job);
	}
	return r;
}

static int add_uses(struct block *b, const char *title, unsigned roles,
		    const char *none, struct roar_error *err)
{
	struct view *v = b->view;
	struct use_list list = { 0 };
	size_t shown = 0;
	int r;

	r = collect_uses(b, roles, &list, err);
	map_release(&list.steps);
	if (r < 0)
		return r;
	str_addc(&v->out, '\n');
	term_add(&v->out, &v->term, COLOR_BOLD, title);
	if (!list.n) {
		str_addf(&v->out, "\n  %s\n", none);
		return 0;
	}
	str_addf(&v->out, " (%zu)\n", list.n);
	for (; shown < list.n && shown < row_limit(b); shown++) {
		const struct store_object *object;

		r = show_object_find(v, &b->objects, list.rows[shown], &object,
				     err);
		if (r < 0)
			return r;
		add_use(v, list.rows[shown], list.jobs[shown], object);
	}
	show_more(v, list.n, shown);
	if (list.n_earlier)
		str_addf(&v->out, "  and %llu earlier execution%s (--all)\n",
			 (unsigned long long)list.n_earlier,
			 list.n_earlier == 1 ? "" : "s");
	return 0;
}

/* A path names content as it was recorded; say so when it moved on. */
static void add_note(struct block *b)
{
	struct view *v = b->view;

	for (size_t i = 0; b->path && i < b->n_places; i++) {
		const struct place *p = &b->places[i];

		if (!p->checked || strcmp(p->row->path, b->path) != 0)
			continue;
		if (p->presence == PRESENCE_CHANGED)
			str_adds(&v->out,
				 "\nThe file has other content now; its newest recorded "
				 "content is shown.\n");
		else if (p->presence == PRESENCE_UNVERIFIED)
			str_adds(
				&v->out,
				"\nThe file has a new timestamp and is too large, or not "
				"allowed, to be read here: its content was not verified.\n");
	}
}

static int add_text(struct block *b, struct roar_error *err)
{
	struct show_tags tags = { .carried = b->tags.carried,
				  .n_carried = b->tags.n_carried };
	int r;

	add_facts(b);
	view_labels(b->view, LABEL_ARTIFACT, b->artifact->id);
	r = show_tags_text(b->view, &tags, 0, b->options, err);
	if (r < 0)
		return r;
	add_places(b);
	r = add_uses(b, "Made by", LINEAGE_OUTPUT | LINEAGE_TEMPORARY,
		     "no recorded job: it came from outside", err);
	if (r < 0)
		return r;
	r = add_uses(b, "Used by", LINEAGE_INPUT, "no recorded job", err);
	if (r < 0)
		return r;
	add_note(b);
	if (b->checkpoint->found) {
		str_addc(&b->view->out, '\n');
		show_checkpoint_text(b->view, b->checkpoint, b->options);
	}
	return 0;
}

/* ---- JSON ---- */

static int json_uses(struct block *b, struct json *j, const char *key,
		     unsigned roles, struct roar_error *err)
{
	const struct store_object *object;
	const struct store_job *job;
	int r = 0;

	json_put_key(j, key);
	json_put_array(j);
	for (size_t i = 0; r >= 0 && i < b->n_uses; i++) {
		if (!(b->uses[i].role & roles))
			continue;
		r = show_object_find(b->view, &b->objects, &b->uses[i], &object,
				     err);
		if (r >= 0)
			r = query_job(&b->view->query, b->uses[i].job_id, &job,
				      err);
		if (r < 0 || !job)
			continue;
		json_put_object(j);
		view_json_text(j, "job_uid", job->uid);
		view_json_text(j, "step_ref", view_step_ref(b->view, job));
		view_json_text(j, "command", job->command);
		view_json_time(j, "started_at", job->started_ns);
		view_json_text(j, "path", b->uses[i].path);
		view_json_text(j, "role", view_role_word(b->uses[i].role));
		view_json_text(j, "digest_by", view_digest_source(&b->uses[i]));
		view_json_count(j, "read_bytes", b->uses[i].bytes_read);
		view_json_count(j, "written_bytes", b->uses[i].bytes_written);
		show_object_json(j, "object", object);
		json_end(j);
	}
	json_end(j);
	return r;
}

static int add_json(struct block *b, struct roar_error *err)
{
	struct json j = json_writer(&b->view->out, true);
	const struct store_artifact *a = b->artifact;
	int r;

	json_put_object(&j);
	view_json_text(&j, "type", "artifact");
	view_json_digests(&j, "digests", &a->digests);
	view_json_int(&j, "size_bytes", a->size);
	view_json_time(&j, "first_seen_at", a->first_seen_ns);
	view_json_text(&j, "first_path", a->first_path);
	view_json_bool(&j, "kept", is_kept(b));
	json_put_key(&j, "paths");
	json_put_array(&j);
	for (size_t i = 0; i < b->n_places; i++) {
		json_put_object(&j);
		view_json_text(&j, "path", b->places[i].row->path);
		view_json_text(&j, "state",
			       presence_word(b->places[i].presence));
		json_end(&j);
	}
	json_end(&j);
	view_json_labels(b->view, &j, LABEL_ARTIFACT, a->id);
	r = show_tags_json(b->view, &b->tags, &j, err);
	if (r < 0)
		return r;
	r = json_uses(b, &j, "made_by", LINEAGE_OUTPUT | LINEAGE_TEMPORARY,
		      err);
	if (r >= 0)
		r = json_uses(b, &j, "used_by", LINEAGE_INPUT, err);
	show_checkpoint_json(b->view, &j, b->checkpoint);
	json_end(&j);
	str_addc(&b->view->out, '\n');
	return r;
}

int show_artifact(struct view *v, const struct store_artifact *a,
		  const char *path, const struct show_checkpoint *checkpoint,
		  const struct show_options *o, struct roar_error *err)
{
	struct block b = {
		.view = v,
		.artifact = a,
		.path = path,
		.checkpoint = checkpoint,
		.options = o,
	};
	int r;

	r = read_block(&b, err);
	if (r < 0)
		return r;
	return o->json ? add_json(&b, err) : add_text(&b, err);
}
