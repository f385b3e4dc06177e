/* translate_name.c - names that the kernel side could not resolve itself
 *
 * They are resolved here (place.h), later than the call.  The result is valid if no
 * name on the path has changed since; every such change has a record after this one.
 * So the following records are searched.  If one of them, or this one itself, changes a
 * name on the path, the result is uncertain and a gap is sent. */
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "trace/ebpf/translate.h"

/* "/proc/self/cwd/x" is "x" from the current directory; "/proc/self/x" is resolved here
 * by the pid. */
static void own_name(const struct wire_record *r, const char **name,
		     struct str *base, struct str *buf)
{
	static const char *const cwds[] = { "/proc/self/cwd/",
					    "/proc/thread-self/cwd/" };
	static const char *const selves[] = { "/proc/self/",
					      "/proc/thread-self/" };

	for (int i = 0; i < 2; i++) {
		size_t len = strlen(cwds[i]);

		if (strncmp(*name, cwds[i], len) == 0) {
			*name += len;
			*name += strspn(*name, "/");
			return;
		}
	}
	str_clear(base); /* absolute, as far as we know */
	for (int i = 0; i < 2; i++) {
		size_t len = strlen(selves[i]);

		if (strncmp(*name, selves[i], len) != 0)
			continue;
		str_addf(buf, "/proc/%d/%s", r->pid, *name + len);
		*name = str_cstr(buf);
		return;
	}
}

/* ---- is it certain? ---- */

/* A name as it was given and as it was found. */
struct way {
	const char *given;
	const struct str *found;
};

static size_t last_of(const char *name, const char **ret)
{
	size_t end = strlen(name);
	size_t start;

	while (end && name[end - 1] == '/')
		end--;
	start = end;
	while (start && name[start - 1] != '/')
		start--;
	*ret = name + start;
	return end - start;
}

/* Is that one of the directories in `path`?  Its last component is not. */
static bool leads_through(const char *path, const char *part, size_t len)
{
	for (const char *at = path; *at;) {
		size_t n;

		at += strspn(at, "/");
		n = strcspn(at, "/");
		if (!at[n + strspn(at + n, "/")])
			return false;
		if (n == len && memcmp(at, part, len) == 0)
			return true;
		at += n;
	}
	return false;
}

static bool is_on_way(const struct way *way, const char *name)
{
	const char *part;
	size_t len = last_of(name, &part);

	return leads_through(way->given, part, len) ||
	       leads_through(str_cstr(way->found), part, len);
}

/* Does the record change a name on the path? */
static bool disturbs(void *ctx, const struct wire_record *r)
{
	const struct way *way = ctx;
	struct wire_strings s = wire_strings_of(r);

	switch (r->kind) {
	case WIRE_RENAME:
		return is_on_way(way, s.name) || is_on_way(way, s.name2);
	case WIRE_UNLINK:
	case WIRE_MKDIR:
		return is_on_way(way, s.name);
	case WIRE_SYMLINK:
		return is_on_way(way, s.name2);
	default:
		return false;
	}
}

static bool is_certain(struct translator *t, const struct wire_record *r,
		       const struct way *way)
{
	return !disturbs((void *)way, r) &&
	       !(t->ahead && t->ahead(t->ctx, disturbs, (void *)way));
}

/* ---- the name ---- */

static int look_up(struct translator *t, const struct wire_record *r,
		   bool second, const char *name, struct str *out)
{
	CLEANUP(str_release) struct str buf = STR_INIT;
	struct way way = { .found = out };
	int e;

	if (r->flags & (second ? WIRE_PROC2 : WIRE_PROC))
		own_name(r, &name, &t->base, &buf);
	e = place_name(&t->places, &t->base, name, out);
	if (e < 0 || r->sure & (second ? WIRE_SURE2 : WIRE_SURE))
		return e;
	way.given = name;
	return is_certain(t, r, &way) ? 0 : -ESTALE;
}

int translate_name(struct translator *t, const struct wire_record *r,
		   bool second, struct str *out)
{
	struct wire_strings s = wire_strings_of(r);
	const char *name = second ? s.name2 : s.name;
	int e;

	str_clear(&t->base);
	if (!place_add_base(&t->base, second ? s.base2 : s.base,
			    second ? r->base2_len : r->base_len))
		e = -EBADMSG;
	else if (r->flags & (WIRE_LONG | WIRE_NOWHERE))
		e = -ENAMETOOLONG;
	else
		e = look_up(t, r, second, name, out);
	/* The given name is inside the record and stays there. */
	if (e < 0)
		translate_gap(t, r->pid, EVENT_GAP_PATH, name);
	return e;
}
