/* mount_table.c - see mount_table.h
 *
 * A line of mountinfo, as proc(5) has it:
 *
 *	36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue
 *	id parent dev root point options [fields...] - type source super-options
 *
 * The fields shared:N and master:N name peer groups: what is mounted in one mount of
 * a group appears in the others as well, and in those whose master it is.
 *
 * Space, tab, newline and backslash are written as \ and three octal digits. */
#include "trace/call/mount_table_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/stamp.h"
#include "base/vec.h"

enum { MOUNTINFO_MAX = 64 << 20 }; /* bytes; the kernel allows 100,000 mounts */

void mount_table_release(struct mount_table *t)
{
	free(t->rows);
	str_release(&t->text);
	pool_release(&t->noted);
	*t = (struct mount_table){ 0 };
}

/* ---- reading ---- */

static bool is_octal(const char *s)
{
	return s[0] >= '0' && s[0] <= '3' && s[1] >= '0' && s[1] <= '7' &&
	       s[2] >= '0' && s[2] <= '7';
}

static void unescape(char *s)
{
	char *to = s;

	for (; *s; to++) {
		if (*s == '\\' && is_octal(s + 1)) {
			*to = (char)((s[1] - '0') << 6 | (s[2] - '0') << 3 |
				     (s[3] - '0'));
			s += 4;
		} else {
			*to = *s++;
		}
	}
	*to = '\0';
}

/* The next word of the line, cut and unescaped; NULL at its end. */
static char *next_word(char **at)
{
	char *word = strsep(at, " ");

	if (word)
		unescape(word);
	return word;
}

/* The value of upperdir= among the options of an overlay. */
static char *upper_of(char *options)
{
	char *at = options;
	char *option;

	while ((option = strsep(&at, ",")))
		if (strncmp(option, "upperdir=", strlen("upperdir=")) == 0)
			return option + strlen("upperdir=");
	return NULL;
}

static void parse_field(const char *field, struct mount_row *row)
{
	(void)sscanf(field, "shared:%d", &row->shared);
	(void)sscanf(field, "master:%d", &row->master);
}

static bool parse_line(char *line, struct mount_row *ret)
{
	unsigned major_no, minor_no;
	char *at = line;
	char *word = next_word(&at);
	char *type, *options;

	*ret = (struct mount_row){ .id = word ? atoi(word) : 0 };
	(void)next_word(&at); /* the parent */
	word = next_word(&at);
	if (!word || sscanf(word, "%u:%u", &major_no, &minor_no) != 2)
		return false;
	ret->dev = makedev(major_no, minor_no);
	ret->root = next_word(&at);
	ret->point = next_word(&at);
	while ((word = next_word(&at)) && strcmp(word, "-") != 0)
		parse_field(word, ret);
	type = next_word(&at);
	(void)next_word(&at); /* the source */
	options = next_word(&at);
	if (options && strcmp(type, "overlay") == 0)
		ret->upper = upper_of(options);
	return ret->point && ret->point[0] == '/';
}

int mount_table_read(struct mount_table *t)
{
	int r = fd_read_file(AT_FDCWD, "/proc/self/mountinfo", MOUNTINFO_MAX,
			     &t->text);
	char *at, *line;

	if (r < 0)
		return r;
	at = t->text.data;
	while (at && *at && (line = strsep(&at, "\n"))) {
		struct mount_row *row = VEC_PUSH(t->rows, t->n, t->cap);

		if (!row)
			return -ENOMEM;
		if (!parse_line(line, row))
			t->n--;
	}
	t->is_read = true;
	return 0;
}

int mount_table_look(struct mount_table *t)
{
	return t->is_read ? 0 : mount_table_read(t);
}

/* ---- comparing ---- */

static struct mount_row *find(const struct mount_table *t,
			      const struct mount_row *like)
{
	for (size_t i = 0; i < t->n; i++) {
		struct mount_row *row = &t->rows[i];

		if (row->id == like->id && row->dev == like->dev &&
		    strcmp(row->root, like->root) == 0)
			return row;
	}
	return NULL;
}

bool mount_same_file(const char *a, const char *b)
{
	struct stat sa, sb;

	return lstat(a, &sa) == 0 && lstat(b, &sb) == 0 &&
	       stat_same_file(&sa, &sb);
}

bool mount_row_name_below(const struct mount_row *old,
			  const struct mount_row *row, struct str *out)
{
	const char *rest;

	if (!old->kept || old->dev != row->dev ||
	    !path_is_under(row->root, old->root))
		return false;
	rest = row->root + (old->root[1] ? strlen(old->root) : 0);
	if (!rest[0] || !rest[1])
		rest = "";
	str_clear(out);
	str_adds(out, old->point[1] || !*rest ? old->point : "");
	str_adds(out, rest);
	return str_error(out) == 0;
}

/* Where else are the files of `row` visible?  Only mounts that existed before count. */
static bool find_alias(const struct mount_table *t, const struct mount_row *row,
		       struct str *out)
{
	for (size_t i = 0; i < t->n; i++)
		if (mount_row_name_below(&t->rows[i], row, out) &&
		    mount_same_file(out->data, row->point))
			return true;
	return false;
}

struct mount_change mount_row_change(enum event_kind kind,
				     const struct mount_row *row)
{
	return (struct mount_change){
		.kind = kind,
		.dev = row->dev,
		.path = row->point,
		.path2 = "",
	};
}

/* Rows that are in both tables are kept; those of them at another place have moved. */
static void tell_moved(struct mount_table *old, struct mount_table *new,
		       const struct mount_telling *to)
{
	for (size_t i = 0; i < new->n; i++) {
		struct mount_row *row = &new->rows[i];
		struct mount_row *was = find(old, row);
		struct mount_change c = mount_row_change(EVENT_MOUNT, row);

		if (!was || was->kept)
			continue;
		was->kept = true;
		row->kept = true;
		if (strcmp(was->point, row->point) == 0)
			continue;
		c.how = EVENT_MOUNT_MOVED;
		c.path2 = was->point;
		to->tell(to->ctx, &c);
		c = mount_row_change(EVENT_UNMOUNT, was);
		to->tell(to->ctx, &c);
	}
}

/* The last mount is removed first: it may cover another. */
static void tell_gone(const struct mount_table *old,
		      const struct mount_telling *to)
{
	for (size_t i = old->n; i-- > 0;) {
		struct mount_change c = mount_row_change(EVENT_UNMOUNT,
							 &old->rows[i]);

		if (!old->rows[i].kept)
			to->tell(to->ctx, &c);
	}
}

static void tell_new(struct mount_table *new, const struct mount_telling *to)
{
	CLEANUP(str_release) struct str alias = STR_INIT;

	for (size_t i = 0; i < new->n; i++) {
		struct mount_row *row = &new->rows[i];
		struct mount_change c = mount_row_change(EVENT_MOUNT, row);

		if (row->kept)
			continue;
		if (find_alias(new, row, &alias)) {
			c.how = EVENT_MOUNT_ALIAS;
			c.path2 = str_cstr(&alias);
		} else if (row->upper) {
			c.how = EVENT_MOUNT_OVERLAY;
			c.path2 = row->upper;
		}
		to->tell(to->ctx, &c);
		row->kept = true;
	}
}

int mount_table_update(struct mount_table *t,
		       void (*tell)(void *ctx, const struct mount_change *c),
		       void *ctx)
{
	const struct mount_telling to = { tell, ctx };
	struct mount_table new = { 0 };
	int r = mount_table_read(&new);

	if (r < 0) {
		mount_table_release(&new);
		return r;
	}
	for (size_t i = 0; i < t->n; i++)
		t->rows[i].kept = false;
	tell_moved(t, &new, &to);
	tell_gone(t, &to);
	tell_new(&new, &to);
	mount_table_release(t);
	*t = new;
	return 0;
}

/* ---- for backends that learn of mounts late ---- */

/* The row of that mount, when it has been read already. */
static struct mount_row *find_at(const struct mount_table *t, uint64_t dev,
				 const char *point)
{
	for (size_t i = t->n; i-- > 0;)
		if ((!dev || t->rows[i].dev == dev) &&
		    strcmp(t->rows[i].point, point) == 0)
			return &t->rows[i];
	return NULL;
}

int mount_table_note(struct mount_table *t, uint64_t dev, const char *root,
		     const char *point, struct str *alias,
		     struct mount_change *ret)
{
	struct mount_row *row = find_at(t, dev, point);

	if (!row)
		row = VEC_PUSH(t->rows, t->n, t->cap);
	if (!row)
		return -ENOMEM;
	*row = (struct mount_row){
		.dev = dev,
		.root = pool_dup(&t->noted, root, strlen(root)),
		.point = pool_dup(&t->noted, point, strlen(point)),
		.upper = row->point ? row->upper : NULL,
	};
	if (!row->root || !row->point) {
		t->n = (size_t)(row - t->rows);
		return -ENOMEM;
	}
	*ret = mount_row_change(EVENT_MOUNT, row);
	for (size_t i = 0; i < t->n; i++) {
		t->rows[i].kept = &t->rows[i] != row;
		if (!mount_row_name_below(&t->rows[i], row, alias))
			continue;
		ret->how = EVENT_MOUNT_ALIAS;
		ret->path2 = str_cstr(alias);
		return 0;
	}
	if (row->upper) {
		ret->how = EVENT_MOUNT_OVERLAY;
		ret->path2 = row->upper;
	}
	return 0;
}

const char *mount_table_other(const struct mount_table *t, uint64_t dev,
			      const char *root, const char *point)
{
	const char *other = NULL;

	for (size_t i = 0; i < t->n; i++) {
		const struct mount_row *row = &t->rows[i];

		if (row->dev != dev || strcmp(row->root, root) != 0 ||
		    strcmp(row->point, point) == 0)
			continue;
		if (other)
			return NULL;
		other = row->point;
	}
	return other;
}

/* The mount that the directory of `point` is in: the last of those above it. */
static const struct mount_row *parent_of(const struct mount_table *t,
					 const char *point)
{
	const struct mount_row *parent = NULL;

	for (size_t i = 0; i < t->n; i++) {
		const struct mount_row *row = &t->rows[i];

		if (path_is_under(point, row->point) &&
		    strcmp(point, row->point) != 0 &&
		    (!parent || strlen(row->point) >= strlen(parent->point)))
			parent = row;
	}
	return parent;
}

bool mount_is_propagated(const char *point)
{
	CLEANUP(mount_table_release) struct mount_table t = { 0 };
	CLEANUP(str_release) struct str name = STR_INIT;
	const struct mount_row *parent;
	const char *rest;

	if (mount_table_read(&t) < 0)
		return true;
	parent = parent_of(&t, point);
	if (!parent || !parent->shared)
		return false;
	/* The mount point as the file system has it. */
	rest = point + (parent->point[1] ? strlen(parent->point) : 0);
	str_adds(&name, parent->root[1] ? parent->root : "");
	str_adds(&name, rest);
	for (size_t i = 0; i < t.n; i++) {
		const struct mount_row *row = &t.rows[i];

		if (row != parent &&
		    (row->shared == parent->shared ||
		     row->master == parent->shared) &&
		    path_is_under(str_cstr(&name), row->root))
			return true;
	}
	return str_error(&name) < 0;
}

void mount_table_forget(struct mount_table *t, const char *point)
{
	struct mount_row *row = find_at(t, 0, point);

	if (!row)
		return;
	t->n--;
	memmove(row, row + 1, (size_t)(t->rows + t->n - row) * sizeof(*row));
}
