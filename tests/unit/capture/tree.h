/* tree.h - a directory of a test, with the files that the test puts there. */
#ifndef ROAR_TESTS_CAPTURE_TREE_H
#define ROAR_TESTS_CAPTURE_TREE_H

#include <errno.h>
#include <ftw.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/json.h"
#include "base/str.h"

struct tree {
	char dir[64];
	struct str text; /* of the last document */
};

static inline int tree_setup(void **state)
{
	struct tree *t = calloc(1, sizeof(*t));

	if (!t)
		return -1;
	(void)snprintf(t->dir, sizeof(t->dir), "/tmp/roar-capture-XXXXXX");
	*state = t;
	return mkdtemp(t->dir) ? 0 : -1;
}

static inline int tree_remove_one(const char *path, const struct stat *st,
				  int type, struct FTW *at)
{
	(void)st;
	(void)type;
	(void)at;
	return remove(path);
}

static inline int tree_teardown(void **state)
{
	struct tree *t = *state;

	(void)nftw(t->dir, tree_remove_one, 16, FTW_DEPTH | FTW_PHYS);
	str_release(&t->text);
	free(t);
	return 0;
}

/* DIR/NAME, until the next call but three. */
static inline const char *tree_path(const struct tree *t, const char *name)
{
	static char paths[4][512];
	static unsigned next;
	char *path = paths[next++ % 4];

	(void)snprintf(path, sizeof(paths[0]), "%s/%s", t->dir, name);
	return path;
}

static inline void tree_write_bytes(const struct tree *t, const char *name,
				    const void *data, size_t len)
{
	char path[512];
	FILE *f;

	(void)snprintf(path, sizeof(path), "%s/%s", t->dir, name);
	for (char *p = path + strlen(t->dir) + 1; (p = strchr(p, '/')); p++) {
		*p = '\0';
		(void)mkdir(path, 0755);
		*p = '/';
	}
	f = fopen(path, "w");
	assert_non_null(f);
	assert_int_equal(fwrite(data, 1, len, f), len);
	assert_int_equal(fclose(f), 0);
}

static inline void tree_write(const struct tree *t, const char *name,
			      const char *text)
{
	tree_write_bytes(t, name, text, strlen(text));
}

#endif
