/* mount_alias.c - mounts from before the run that show files visible elsewhere as well
 *
 * Of each such tree one place keeps its names.  The others are reported as if they had
 * been mounted when the run began: see mount_table_tell_aliases(). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "trace/call/mount_table_internal.h"

/* The place that keeps the names of what `row` shows: the mount of the largest part of
 * its file system, and the first of several. */
static bool find_home(const struct mount_table *t, const struct mount_row *row,
		      struct str *out)
{
	CLEANUP(str_release) struct str name = STR_INIT;
	const struct mount_row *home = row;

	for (size_t i = 0; i < t->n; i++) {
		const struct mount_row *other = &t->rows[i];
		size_t len = strlen(other->root);

		if (other == row || !mount_row_name_below(other, row, &name) ||
		    len > strlen(home->root) ||
		    (len == strlen(home->root) && other > home) ||
		    strcmp(name.data, row->point) == 0 ||
		    !mount_same_file(name.data, row->point))
			continue;
		home = other;
		str_clear(out);
		str_add(out, name.data, name.len);
	}
	return home != row && str_error(out) == 0;
}

/* Both are names of one tree. */
struct alias {
	const char *path; /* the other name */
	const char *home; /* the name that is reported */
};

static int find_aliases(struct mount_table *t, const char *cwd,
			struct alias *aliases, size_t *ret_n)
{
	CLEANUP(str_release) struct str home = STR_INIT;

	for (size_t i = 0; i < t->n; i++)
		t->rows[i].kept = true;
	for (size_t i = 0; i < t->n; i++) {
		const char *point = t->rows[i].point;
		const char *other;

		if (!find_home(t, &t->rows[i], &home))
			continue;
		other = pool_dup(&t->noted, home.data, home.len);
		if (!other)
			return -ENOMEM;
		aliases[(*ret_n)++] = path_is_under(cwd, point) &&
						      !path_is_under(cwd,
								     other) ?
					      (struct alias){ other, point } :
					      (struct alias){ point, other };
	}
	return 0;
}

static bool is_inside(const char *path, const char *dir)
{
	return path_is_under(path, dir) && strcmp(path, dir) != 0;
}

/* Does it cover a directory below one name that is visible below another? */
static bool covers_some(const struct mount_row *row,
			const struct alias *aliases, size_t n)
{
	bool inside = false;

	for (size_t i = 0; i < n; i++) {
		const struct alias *a = &aliases[i];

		if (strcmp(row->point, a->path) == 0 ||
		    strcmp(row->point, a->home) == 0)
			return false;
		inside |= is_inside(row->point, a->path) ||
			  is_inside(row->point, a->home);
	}
	return inside;
}

static void tell_aliases(const struct mount_table *t,
			 const struct alias *aliases, size_t n,
			 const struct mount_telling *to)
{
	struct mount_change c;

	for (size_t i = 0; i < n; i++) {
		c = (struct mount_change){ .kind = EVENT_MOUNT,
					   .how = EVENT_MOUNT_ALIAS,
					   .path = aliases[i].path,
					   .path2 = aliases[i].home };
		to->tell(to->ctx, &c);
	}
	for (size_t i = 0; i < t->n; i++) {
		const struct mount_row *row = &t->rows[i];

		if (!covers_some(row, aliases, n))
			continue;
		c = mount_row_change(EVENT_MOUNT, row);
		c.how = row->upper ? EVENT_MOUNT_OVERLAY : EVENT_MOUNT_NEW;
		c.path2 = row->upper ? row->upper : "";
		to->tell(to->ctx, &c);
	}
}

int mount_table_tell_aliases(const char *cwd,
			     void (*tell)(void *ctx,
					  const struct mount_change *c),
			     void *ctx)
{
	const struct mount_telling to = { tell, ctx };
	CLEANUP(mount_table_release) struct mount_table t = { 0 };
	CLEANUP(freep) struct alias *aliases = NULL;
	size_t n = 0;
	int r = mount_table_read(&t);

	if (r < 0)
		return r;
	aliases = calloc(t.n + 1, sizeof(*aliases));
	r = aliases ? find_aliases(&t, cwd, aliases, &n) : -ENOMEM;
	if (r == 0 && n)
		tell_aliases(&t, aliases, n, &to);
	return r;
}
