/* environments.c - see environments.h */
#include "run/environments.h"

#include <unistd.h>

#include "base/cleanup.h"
#include "base/str.h"

static const char yes[] = "yes";
static const char no[] = "no";

static bool has(struct str *dir, const char *name)
{
	size_t len = dir->len;
	bool found;

	str_adds(dir, name);
	found = !dir->failed && access(dir->data, F_OK) == 0;
	dir->len = len;
	return found;
}

static bool look(const char *path, size_t len)
{
	CLEANUP(str_release) struct str dir = STR_INIT;

	str_add(&dir, path, len);
	return has(&dir, "/pyvenv.cfg") || has(&dir, "/conda-meta");
}

bool environments_has(void *ctx, const char *path, size_t len)
{
	struct environments *e = ctx;
	const char *known = map_get(&e->known, path, len);
	const char *key;

	if (known)
		return known == yes;
	known = look(path, len) ? yes : no;
	key = pool_dup(&e->text, path, len);
	if (key)
		(void)map_set(&e->known, key, len, (void *)known);
	return known == yes;
}

void environments_forget(struct environments *e)
{
	map_release(&e->known);
	pool_release(&e->text);
	*e = ENVIRONMENTS_INIT;
}
