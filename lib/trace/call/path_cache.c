/* path_cache.c - see path_cache.h */
#include "trace/call/path_cache.h"

#include <string.h>

#include "base/clock.h"
#include "base/macros.h"
#include "base/stamp.h"

enum {
	TRUSTED_NS = 100000000,
	YOUNG_NS = 1000000000, /* it was examined a short time ago */
};

void path_cache_forget(struct path_cache *k)
{
	for (int i = 0; i < PATH_CACHE_SLOTS; i++)
		str_clear(&k->files[i].name);
}

void path_cache_release(struct path_cache *k)
{
	for (int i = 0; i < PATH_CACHE_SLOTS; i++) {
		str_release(&k->files[i].name);
		str_release(&k->files[i].path);
	}
}

/* Directories of programs and libraries, which a run does not change. */
static bool is_of_system(const char *name)
{
	static const char *const places[] = { "/usr/",	"/lib/", "/lib64/",
					      "/etc/",	"/bin/", "/sbin/",
					      "/lib32/" };

	for (size_t i = 0; i < ARRAY_SIZE(places); i++)
		if (strncmp(name, places[i], strlen(places[i])) == 0)
			return true;
	return false;
}

static struct path_cache_file *slot_of(struct path_cache *k, const char *name,
				       size_t len)
{
	uint32_t h = 5381;

	for (size_t i = 0; i < len; i++)
		h = h * 33 + (unsigned char)name[i];
	return &k->files[(h ^ h >> 16) % PATH_CACHE_SLOTS];
}

/* Does the name lead to the same file as before, unchanged? */
static bool is_unchanged(const struct path_cache_file *f, const char *name,
			 struct stat *ret)
{
	struct stamp now;

	if (!stamp_exists(&f->stamp) || stat(name, ret) < 0)
		return false;
	now = stamp_of(ret);
	return stamp_equal(&f->stamp, &now);
}

/* Do both names still lead to one file, and the canonical one without a link? */
static bool is_same(const struct path_cache_file *f, const char *name,
		    struct stat *ret)
{
	struct stat st;

	if (lstat(f->path.data, ret) < 0 || !S_ISREG(ret->st_mode))
		return false;
	if (strcmp(f->path.data, name) == 0)
		return true;
	return stat(name, &st) == 0 && stat_same_file(&st, ret);
}

bool path_cache_find(struct path_cache *k, int64_t now_ns,
		     const struct tracee *t, const char *name, size_t len,
		     struct str *out, struct stat *ret)
{
	struct path_cache_file *f;

	if (process_is_elsewhere(t->process) || !is_of_system(name))
		return false;
	f = slot_of(k, name, len);
	if (f->name.len != len || memcmp(f->name.data, name, len) != 0 ||
	    now_ns - f->seen_ns >= TRUSTED_NS || now_ns < f->seen_ns)
		return false;
	if (!is_unchanged(f, name, ret) && !is_same(f, name, ret))
		return false;
	str_clear(out);
	str_add(out, f->path.data, f->path.len);
	return str_error(out) == 0;
}

void path_cache_add(struct path_cache *k, int64_t now_ns,
		    const struct tracee *t, const char *name, size_t len,
		    const struct str *path, const struct stat *st)
{
	struct path_cache_file *f;

	if (!S_ISREG(st->st_mode) || process_is_elsewhere(t->process) ||
	    !is_of_system(name) || !is_of_system(path->data))
		return;
	f = slot_of(k, name, len);
	str_clear(&f->name);
	str_clear(&f->path);
	str_add(&f->path, path->data, path->len);
	if (str_error(&f->path) == 0)
		str_add(&f->name, name, len);
	if (str_error(&f->name) < 0)
		str_clear(&f->name);
	f->stamp = stamp_of(st);
	if (stamp_is_racy(&f->stamp, clock_now_ns() - YOUNG_NS))
		f->stamp = (struct stamp){ 0 };
	f->seen_ns = now_ns;
}
