/* verify_ref.c - the files that a job, session, hash or collection stands for.
 *
 * A word is a recorded file first, as it always was.  Of a job its outputs are checked
 * where it left them, of a session the newest version of each file, of a hash each place
 * where it is the newest content, of a collection its members and that there are no
 * others. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/map.h"
#include "base/path.h"
#include "event/event.h"
#include "hash/dir/dir_walk.h"
#include "hash/verify.h"
#include "lineage/fold.h"
#include "query/target.h"
#include "ui/view.h"

struct listing {
	struct verify_list *list;
	struct view *view;
	unsigned roles; /* of a job's files; 0: the outputs */
	const char *word;
	struct roar_error *err;
};

/* ---- jobs ---- */

static bool is_checked(const struct store_file *row, unsigned roles)
{
	return row->role & roles && (row->ftype == EVENT_FTYPE_REGULAR ||
				     row->ftype == EVENT_FTYPE_SYMLINK ||
				     row->ftype == EVENT_FTYPE_OBJECT);
}

/* An input that the job has changed is not there any more. */
static int list_job(struct listing *l, int64_t job_id)
{
	unsigned roles = l->roles ? l->roles : LINEAGE_OUTPUT;
	struct map written = MAP_INIT;
	struct store_file *rows;
	size_t n;
	int r = store_files(l->view->store, &l->view->pool, job_id, false,
			    &rows, &n, l->err);

	for (size_t i = 0; r >= 0 && i < n; i++)
		if (rows[i].role & LINEAGE_OUTPUT)
			r = map_set(&written, rows[i].path,
				    strlen(rows[i].path), &rows[i]);
	for (size_t i = 0; r >= 0 && i < n; i++) {
		const struct store_file *row = &rows[i];

		if (is_checked(row, roles) &&
		    (row->role & LINEAGE_OUTPUT ||
		     !map_get(&written, row->path, strlen(row->path))))
			r = verify_list_row(l->list, l->view, NULL, row);
	}
	map_release(&written);
	return r < 0 ? r : 0;
}

/* ---- content ---- */

/* Is it the newest content on record for the path of the row? */
static int is_newest(struct listing *l, const struct store_file *row)
{
	struct store_file *rows;
	size_t n;
	int r = store_path_uses(l->view->store, &l->view->pool, row->path,
				&rows, &n, l->err);

	for (size_t i = 0; r >= 0 && i < n; i++)
		if (rows[i].role & (LINEAGE_INPUT | LINEAGE_OUTPUT))
			return rows[i].artifact_id == row->artifact_id;
	return r < 0 ? r : 0;
}

static int list_content(struct listing *l, const struct store_artifact *a)
{
	struct map seen = MAP_INIT;
	struct store_file *rows;
	size_t before = l->list->n;
	size_t n;
	int r = store_artifact_uses(l->view->store, &l->view->pool, a->id,
				    &rows, &n, l->err);

	for (size_t i = n; r >= 0 && i-- > 0;) {
		const struct store_file *row = &rows[i];
		size_t len = strlen(row->path);

		if (!is_checked(row, LINEAGE_INPUT | LINEAGE_OUTPUT) ||
		    map_get(&seen, row->path, len))
			continue;
		r = map_set(&seen, row->path, len, (void *)row);
		if (r >= 0)
			r = is_newest(l, row);
		if (r > 0)
			r = verify_list_row(l->list, l->view, NULL, row);
	}
	map_release(&seen);
	if (r < 0 || l->list->n > before)
		return r;
	return verify_list_unproved(l->list, l->word,
				    "by the record, no file has this content "
				    "any more");
}

/* ---- collections ---- */

struct members {
	struct listing *listing;
	const char *path; /* of the directory */
	struct map names; /* of the members that were listed */
};

static int list_collection(struct listing *l, int64_t id, const char *path,
			   bool is_exact);

static int list_member(struct members *m, const struct store_member *member)
{
	struct view *v = m->listing->view;
	const char *path = pool_printf(&v->pool, "%s/%s", m->path,
				       member->name);
	const char *name = path ? path + strlen(m->path) + 1 : NULL;
	struct verify_item *item;
	struct stat st;
	int r;

	if (!path || map_set(&m->names, name, strlen(name), (void *)path) < 0)
		return -ENOMEM;
	if (member->n_members)
		return list_collection(m->listing, member->artifact_id, path,
				       true);
	r = verify_list_digest(m->listing->list,
			       path_relative(path, v->project.cwd),
			       member->blake3);
	if (r < 0)
		return r;
	item = &m->listing->list->all[m->listing->list->n - 1];
	item->is_link = lstat(path, &st) == 0 && S_ISLNK(st.st_mode);
	item->has_size = true;
	item->size_bytes = (uint64_t)member->size;
	return 0;
}

static int see_leaf(void *ctx, const struct dir_walk_entry *found)
{
	struct members *m = ctx;
	struct view *v = m->listing->view;
	const char *path;

	if (map_get(&m->names, found->path, found->len))
		return 0;
	path = pool_printf(&v->pool, "%s/%s", m->path, found->path);
	return path ? verify_list_unproved(
			      m->listing->list,
			      path_relative(path, v->project.cwd),
			      "it is not a member of the collection") :
		      -ENOMEM;
}

/* `is_exact`: any other file below the directory is reported. */
static int list_collection(struct listing *l, int64_t id, const char *path,
			   bool is_exact)
{
	CLEANUP(store_members_closep) struct store_members *all = NULL;
	struct members m = { .listing = l, .path = path };
	const struct dir_walk_visitor visitor = {
		.leaf = see_leaf,
		.ctx = &m,
		.bare = true,
	};
	struct store_member member;
	int r = store_members_open(l->view->store, id, 0, &all, l->err);

	while (r >= 0 && (r = store_members_next(all, &member, l->err)) > 0)
		r = list_member(&m, &member);
	if (r >= 0 && is_exact)
		r = dir_walk(AT_FDCWD, path, &visitor) == -ENOMEM ? -ENOMEM : 0;
	map_release(&m.names);
	return r;
}

/* ---- all of it ---- */

static int refuse_roles(struct listing *l)
{
	return error_set(l->err, -EINVAL,
			 "--inputs and --outputs are for jobs and sessions, "
			 "and '%.120s' is neither",
			 l->word);
}

static int list_target(struct listing *l, const struct target *t)
{
	const struct store_collection *c = &t->collection;

	if (t->kind == TARGET_SESSION)
		return verify_list_session(
			l->list, l->view, t->session.id,
			l->roles == LINEAGE_INPUT  ? VERIFY_INPUTS :
			l->roles == LINEAGE_OUTPUT ? VERIFY_OUTPUTS :
						     VERIFY_ALL,
			l->err);
	if (t->kind == TARGET_JOB)
		return list_job(l, t->job.id);
	if (l->roles)
		return refuse_roles(l);
	if (c->id)
		return list_collection(l, c->id, t->path ? t->path : c->path,
				       c->kind != COLLECTION_FILES);
	return t->path ?
		       verify_list_file(l->list, l->view, l->word, t, l->err) :
		       list_content(l, &t->artifact);
}

int verify_list_word(struct verify_list *list, struct view *v, const char *word,
		     unsigned roles, struct roar_error *err)
{
	struct listing l = { list, v, roles, word, err };
	struct roar_error why = { 0 };
	struct roar_error other = { 0 };
	struct target t;
	int r = -ENOENT;

	if (!target_is_step(word))
		r = target_resolve(&v->query, v->project.cwd, word,
				   TARGET_WANT_PATH, &t, &why);
	if (r == -ENOENT) {
		r = target_resolve(&v->query, v->project.cwd, word,
				   TARGET_ANY_OR_SESSION, &t, &other);
		if (target_is_step(word) || r != -ENOENT)
			why = other;
	}
	if (r == 0)
		return list_target(&l, &t);
	if (target_is_step(word) || (r != -ENOENT && r != -ENODATA)) {
		*err = why;
		return r;
	}
	return roles ? refuse_roles(&l) :
		       verify_list_unproved(list, word, why.text);
}
