/* translate_mount.c - mounts and unmounts
 *
 * Their records are read late, when the mounts may be gone.  So each is noted in a
 * table of our own, and not searched in that of the kernel (mount_table_note()). */
#include <linux/magic.h>

#include "base/cleanup.h"
#include "trace/ebpf/translate.h"

static void emit_mount(struct translator *t, const struct wire_record *r,
		       const struct mount_change *c)
{
	struct stamp stamp = { .dev = c->dev };

	str_clear(&t->path2);
	str_adds(&t->path2, c->path2);
	translate_emit(t, r->pid, (int64_t)r->time_ns + t->clock_ns, c->kind, 0,
		       (int32_t)c->how, EVENT_FTYPE_DIRECTORY, &stamp);
}

/* A moved mount is the one whose other name disappears with the move. */
static void emit_moved(struct translator *t, const struct wire_record *r,
		       const char *point, struct mount_change *c)
{
	CLEANUP(str_release) struct str from = STR_INIT;

	str_adds(&from, point);
	c->path2 = str_cstr(&from);
	c->how = EVENT_MOUNT_MOVED;
	emit_mount(t, r, c);
	str_clear(&t->path);
	str_add(&t->path, from.data, from.len);
	mount_table_forget(&t->mounts, str_cstr(&from));
	*c = (struct mount_change){ .kind = EVENT_UNMOUNT,
				    .dev = c->dev,
				    .path2 = "" };
	emit_mount(t, r, c);
}

/* Mounts and unmounts that the kernel propagates elsewhere have no record. */
static void look_for_copies(struct translator *t, const struct wire_record *r,
			    const char *point)
{
	CLEANUP(str_release) struct str name = STR_INIT;

	str_adds(&name, point);
	if (mount_is_propagated(str_cstr(&name)))
		translate_gap(t, r->pid, EVENT_GAP_NAMESPACE, str_cstr(&name));
}

void translate_mount(struct translator *t, const struct wire_record *r)
{
	CLEANUP(str_release) struct str root = STR_INIT;
	CLEANUP(str_release) struct str alias = STR_INIT;
	struct wire_strings s = wire_strings_of(r);
	struct mount_change c;
	const char *from, *point;

	places_forget(&t->places);
	translate_stamps_mounted(t, r);
	if (r->flags & WIRE_FOREIGN) /* actions there are a gap */
		return;
	if ((r->flags & WIRE_LONG) || (r->sure & WIRE_COVERED) ||
	    mount_table_look(&t->mounts) < 0 ||
	    !place_add_base(&t->path, s.base, r->base_len) ||
	    !place_add_base(&root, s.base2, r->base2_len)) {
		translate_gap(t, r->pid, EVENT_GAP_NAMESPACE, "");
		return;
	}
	if (!root.len)
		str_addc(&root, '/');
	if (mount_table_note(&t->mounts, translate_dev_of(r), str_cstr(&root),
			     str_cstr(&t->path), &alias, &c) < 0) {
		translate_gap(t, r->pid, EVENT_GAP_MEMORY, NULL);
		return;
	}
	point = c.path;
	if (r->aux && (from = mount_table_other(&t->mounts, c.dev,
						str_cstr(&root), c.path)))
		emit_moved(t, r, from, &c);
	else if (r->aux || (r->bytes == OVERLAYFS_SUPER_MAGIC &&
			    c.how == EVENT_MOUNT_NEW))
		translate_gap(t, r->pid, EVENT_GAP_NAMESPACE, c.path);
	else
		emit_mount(t, r, &c);
	look_for_copies(t, r, point);
}

void translate_unmount(struct translator *t, const struct wire_record *r)
{
	struct mount_change c = { .kind = EVENT_UNMOUNT, .path2 = "" };

	places_forget(&t->places);
	if ((r->flags & WIRE_FOREIGN) || translate_names_are_foreign(t, r) ||
	    translate_name(t, r, false, &t->path) < 0)
		return;
	mount_table_forget(&t->mounts, str_cstr(&t->path));
	emit_mount(t, r, &c);
	look_for_copies(t, r, str_cstr(&t->path));
}
