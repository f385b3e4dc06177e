/* mounts.c - names that mean other files after a mount.
 *
 * A mount covers the names below its mount point.  From then on the same paths are
 * other files: a layer of names of its own, until the mount is removed and the names
 * have their former meaning again.  A bind mount has no layer: its names are those that
 * the files have elsewhere, and every event is translated to them.  So a file written
 * through a bind mount is found when that is gone.
 *
 *	path of an event ──▶ newest mount above it ──▶ layer, and the name there
 *
 * When no mount shows a layer any more, its names are gone: what the run wrote there
 * was temporary.  An overlay is different: its files are in the upper directory then.
 * A file system of a device may be mounted once more.  It is unknown whether it is the
 * same one (several images may use one loop device), so that is a gap. */
#include "lineage/fold_internal.h"

#include <string.h>
#include <sys/sysmacros.h>

#include "base/str.h"

struct mounted {
	struct mounted *older;
	const char *path; /* the mount point */
	uint32_t len;
	uint32_t target_len;
	const char *target; /* the name of its root in the layer */
	struct layer *layer;
};

static bool is_below(const char *path, size_t len, const char *dir,
		     size_t dir_len)
{
	if (dir_len == 1 && dir[0] == '/')
		dir_len = 0;
	return len >= dir_len && memcmp(path, dir, dir_len) == 0 &&
	       (len == dir_len || path[dir_len] == '/');
}

struct placed mounts_place(const struct fold *fold, const char *path,
			   size_t len)
{
	const struct mounted *m = fold->mounts;

	while (m && !is_below(path, len, m->path, m->len))
		m = m->older;
	if (!m)
		return (struct placed){ .layer = (struct layer *)&fold->first };
	return (struct placed){ m->layer, m->target, m->target_len, m->len };
}

static void add_placed(struct str *out, const struct placed *p,
		       const char *path, size_t len)
{
	str_add(out, p->target, p->target_len);
	str_add(out, path + p->skip, len - p->skip);
}

/* ---- events ---- */

static struct event *rewrite(struct fold *fold, const struct event *ev,
			     const struct str *path, const struct str *path2)
{
	struct event *copy;

	if (str_error(path) < 0 || str_error(path2) < 0 ||
	    path->len > EVENT_PATH_MAX || path2->len > EVENT_PATH_MAX)
		return NULL;
	copy = realloc(fold->placed, event_size(path->len, path2->len));
	if (!copy)
		return NULL;
	fold->placed = copy;
	*copy = *ev;
	event_set_paths(copy, str_cstr(path), path->len, str_cstr(path2),
			path2->len);
	return copy;
}

/* Is content from before the run changed, or its name? */
static bool changes_prior(const struct fold *fold, const struct layer *layer,
			  const struct event *ev, const struct str *path)
{
	const struct name *name;

	switch (ev->kind) {
	case EVENT_OPEN:
		if (!(ev->flags & (EVENT_WRITE | EVENT_TRUNC)) ||
		    ev->flags & (EVENT_CREATE | EVENT_TMPFILE))
			return false;
		break;
	case EVENT_UNLINK:
		if (ev->ftype == EVENT_FTYPE_DIRECTORY)
			return false;
		break;
	case EVENT_TRUNCATE:
	case EVENT_RENAME:
	case EVENT_LINK:
		break;
	default:
		return false;
	}
	name = names_find_in(fold, layer, str_cstr(path), path->len);
	return !name || !name->file.own || name->prior;
}

/* An overlay copies a file from before the run to its upper directory when it is
 * changed, and only the overlay knows what was there. */
static void check_overlay(struct fold *fold, const struct event *ev,
			  const struct placed *p, const struct str *path)
{
	CLEANUP(str_release) struct str point = STR_INIT;

	if (!p->layer->upper || !changes_prior(fold, p->layer, ev, path))
		return;
	str_add(&point, p->target, p->target_len);
	fold_add_gap(fold, EVENT_GAP_NAMESPACE, str_cstr(&point));
}

const struct event *mounts_translate(struct fold *fold, const struct event *ev)
{
	CLEANUP(str_release) struct str path = STR_INIT;
	CLEANUP(str_release) struct str path2 = STR_INIT;
	struct placed p = { .layer = &fold->first };
	struct placed p2 = p;

	fold->at = &fold->first;
	if (!fold->mounts || ev->kind == EVENT_MOUNT ||
	    ev->kind == EVENT_UNMOUNT)
		return ev;
	if (event_path(ev)[0] == '/' && ev->kind != EVENT_SYMLINK)
		p = mounts_place(fold, event_path(ev), ev->path_len);
	if (event_path2(ev)[0] == '/' && ev->kind != EVENT_EXEC)
		p2 = mounts_place(fold, event_path2(ev), ev->path2_len);
	/* No call moves a file from one tree to another. */
	fold->at = ev->kind == EVENT_SYMLINK || !ev->path_len ? p2.layer :
								p.layer;
	if (!p.skip && !p2.skip)
		return ev;
	add_placed(&path, &p, event_path(ev), ev->path_len);
	add_placed(&path2, &p2, event_path2(ev), ev->path2_len);
	check_overlay(fold, ev, &p, &path);
	return rewrite(fold, ev, &path, &path2);
}

struct lineage_file *fold_find(const struct fold *fold, const char *path)
{
	CLEANUP(str_release) struct str name = STR_INIT;
	size_t len = strlen(path);
	struct placed p = mounts_place(fold, path, len);
	struct name *found;

	if (p.skip) {
		add_placed(&name, &p, path, len);
		path = str_cstr(&name);
		len = name.len;
	}
	found = names_find_in(fold, p.layer, path, len);
	return found ? &found->file : NULL;
}

enum fold_sight fold_sight(const struct fold *fold,
			   const struct lineage_file *file)
{
	bool mounted = fold->mounts || fold->first.next;

	if (!mounted || fold_find(fold, file->path) == file)
		return FOLD_SHOWN;
	return ((const struct name *)file)->gone ? FOLD_UNMOUNTED :
						   FOLD_COVERED;
}

/* ---- mounting ---- */

static struct layer *new_layer(struct fold *fold, uint64_t dev)
{
	struct layer *layer = pool_zalloc(&fold->structs, sizeof(*layer));

	if (!layer)
		return NULL;
	layer->dev = dev;
	layer->next = fold->first.next;
	fold->first.next = layer;
	return layer;
}

/* From now on `layer` is seen at `path`, its `target` there. */
static int show(struct fold *fold, const char *path, size_t len,
		struct layer *layer, const struct str *target)
{
	struct mounted *m = pool_zalloc(&fold->structs, sizeof(*m));

	if (!m)
		return -ENOMEM;
	m->path = pool_dup(&fold->text, path, len);
	m->target = pool_dup(&fold->text, str_cstr(target), target->len);
	if (!m->path || !m->target)
		return -ENOMEM;
	m->len = (uint32_t)len;
	m->target_len = (uint32_t)target->len;
	m->layer = layer;
	layer->n_mounts++;
	m->older = fold->mounts;
	fold->mounts = m;
	return 0;
}

/* A file system that was there before in the run, of a device that can have
 * another by now.  Numbers with major 0 are made up by the kernel for each mount. */
static bool comes_again(const struct fold *fold, uint64_t dev)
{
	if (major(dev) == 0)
		return false;
	for (const struct layer *l = fold->first.next; l; l = l->next)
		if (l->dev == dev && !l->n_mounts)
			return true;
	return false;
}

static int mount_alias(struct fold *fold, const struct event *ev)
{
	CLEANUP(str_release) struct str target = STR_INIT;
	struct placed p = mounts_place(fold, event_path2(ev), ev->path2_len);

	add_placed(&target, &p, event_path2(ev), ev->path2_len);
	if (str_error(&target) < 0)
		return -ENOMEM;
	if (target.len == 1) /* the root: what follows has its slash */
		str_clear(&target);
	return show(fold, event_path(ev), ev->path_len, p.layer, &target);
}

/* The newest mount at that path, or NULL. */
static const struct mounted *mounted_at(const struct fold *fold,
					const char *path, size_t len)
{
	const struct mounted *m = fold->mounts;

	while (m && (m->len != len || memcmp(m->path, path, len) != 0))
		m = m->older;
	return m;
}

/* A bind mount that moves is still another name of the same files. */
static const struct mounted *moved_alias(const struct fold *fold,
					 const struct event *ev)
{
	const struct mounted *m = NULL;

	if (ev->aux == EVENT_MOUNT_MOVED)
		m = mounted_at(fold, event_path2(ev), ev->path2_len);
	if (!m || (m->target_len == m->len &&
		   memcmp(m->target, m->path, m->len) == 0))
		return NULL;
	return m;
}

int mounts_mount(struct fold *fold, const struct event *ev,
		 struct fold_change *change)
{
	const struct mounted *alias = moved_alias(fold, ev);
	CLEANUP(str_release) struct str target = STR_INIT;
	struct layer *layer;
	struct placed p;

	(void)change;
	if (ev->aux == EVENT_MOUNT_ALIAS && event_path2(ev)[0] == '/')
		return mount_alias(fold, ev);
	if (alias) {
		str_add(&target, alias->target, alias->target_len);
		return str_error(&target) < 0 ?
			       -ENOMEM :
			       show(fold, event_path(ev), ev->path_len,
				    alias->layer, &target);
	}
	if (comes_again(fold, ev->before.dev))
		fold_add_gap(fold, EVENT_GAP_NAMESPACE, event_path(ev));
	layer = new_layer(fold, ev->before.dev);
	str_add(&target, event_path(ev), ev->path_len);
	if (!layer || str_error(&target) < 0)
		return -ENOMEM;
	if (ev->aux == EVENT_MOUNT_OVERLAY) {
		layer->upper = pool_dup(&fold->text, event_path2(ev),
					ev->path2_len);
		if (!layer->upper)
			return -ENOMEM;
	}
	p = mounts_place(fold, event_path2(ev), ev->path2_len);
	if (show(fold, event_path(ev), ev->path_len, layer, &target) < 0)
		return -ENOMEM;
	if (ev->aux != EVENT_MOUNT_MOVED)
		return 0;
	layer->upper = p.layer->upper;
	fold->at = layer;
	return moves_carry_below(fold, p.layer, event_path2(ev), event_path(ev),
				 false, ev);
}

/* ---- unmounting ---- */

/* Nothing shows the names below `path` any more. */
static int leave_below(struct fold *fold, struct layer *layer, const char *path,
		       size_t len)
{
	CLEANUP(freep) uint32_t *ordinals = NULL;
	size_t n = 0;
	size_t cap = 0;
	const struct dir *dir;
	struct name *name;

	fold->at = layer;
	name = names_find(fold, path, len);
	if (name && !name->gone)
		name_leave(name, 0);
	dir = names_dir(fold, path, len == 1 ? 0 : len);
	if (dir && names_below(fold, dir, &ordinals, &n, &cap) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		name_leave(name_of(fold->files[ordinals[i]]), 0);
	return 0;
}

static int hide(struct fold *fold, const struct mounted *m,
		const struct event *ev)
{
	int r = 0;

	if (--m->layer->n_mounts || m->layer == &fold->first)
		return 0;
	if (m->layer->upper) {
		struct placed p = mounts_place(fold, m->layer->upper,
					       strlen(m->layer->upper));
		CLEANUP(str_release) struct str upper = STR_INIT;

		add_placed(&upper, &p, m->layer->upper,
			   strlen(m->layer->upper));
		fold->at = p.layer;
		r = str_error(&upper);
		if (r == 0)
			r = moves_carry_below(fold, m->layer, m->target,
					      upper.data, true, ev);
	}
	return r < 0 ? r : leave_below(fold, m->layer, "/", 1);
}

/* Has the run put anything below `path`? */
static bool has_own_below(struct fold *fold, struct layer *layer,
			  const struct str *path)
{
	CLEANUP(freep) uint32_t *ordinals = NULL;
	const unsigned changed = LINEAGE_OPENED_WRITE | LINEAGE_TRUNCATED;
	size_t n = 0;
	size_t cap = 0;
	const struct dir *dir;
	const struct lineage_file *f;

	fold->at = layer;
	dir = names_dir(fold, path->data, path->len == 1 ? 0 : path->len);
	if (dir && names_below(fold, dir, &ordinals, &n, &cap) < 0)
		return true;
	for (size_t i = 0; i < n; i++) {
		f = fold->files[ordinals[i]];
		if (f->own || f->seen & changed)
			return true;
	}
	f = (const struct lineage_file *)names_find(fold, path->data,
						    path->len);
	return f && (f->own || f->seen & changed);
}

/* A mount from before the run is gone, and what it covered is visible.  It is unknown
 * where the files are now that the run put there: with the mount, on a device, or in
 * the upper directory of an overlay. */
static int uncover(struct fold *fold, const struct event *ev)
{
	CLEANUP(str_release) struct str target = STR_INIT;
	struct placed p = mounts_place(fold, event_path(ev), ev->path_len);
	struct layer *below = new_layer(fold, 0);
	struct layer *gone = new_layer(fold, ev->before.dev);

	add_placed(&target, &p, event_path(ev), ev->path_len);
	if (!below || !gone || str_error(&target) < 0)
		return -ENOMEM;
	if (has_own_below(fold, p.layer, &target))
		fold_add_gap(fold, EVENT_GAP_NAMESPACE, event_path(ev));
	if (leave_below(fold, p.layer, target.data, target.len) < 0)
		return -ENOMEM;
	str_clear(&target);
	str_add(&target, event_path(ev), ev->path_len);
	return str_error(&target) < 0 ?
		       -ENOMEM :
		       show(fold, event_path(ev), ev->path_len, below, &target);
}

int mounts_unmount(struct fold *fold, const struct event *ev,
		   struct fold_change *change)
{
	struct mounted **at = &fold->mounts;
	struct mounted *m;

	(void)change;
	while (*at && ((*at)->len != ev->path_len ||
		       memcmp((*at)->path, event_path(ev), ev->path_len) != 0))
		at = &(*at)->older;
	if (!*at)
		return uncover(fold, ev);
	m = *at;
	*at = m->older;
	return hide(fold, m, ev);
}
