/* links.c - see links.h */
#include "run/links.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "base/str.h"
#include "base/vec.h"

static bool holds_temporaries(const struct links *links, const char *dir)
{
	const char *tmpdir = links->tmpdir;

	return path_is_under("/tmp", dir) || path_is_under("/var/tmp", dir) ||
	       (tmpdir && path_is_under(tmpdir, dir));
}

static void add_target(struct links *links, const char *link)
{
	CLEANUP(freep) char *target = realpath(link, NULL);
	const char **slot;

	if (!target || holds_temporaries(links, target))
		return;
	slot = VEC_PUSH(links->targets, links->n_targets, links->cap_targets);
	if (!slot)
		return;
	*slot = pool_dup(&links->text, target, strlen(target));
	if (!*slot)
		links->n_targets--;
}

static void read_links(struct links *links, const char *path)
{
	CLEANUP(str_release) struct str name = STR_INIT;
	CLEANUP(closedirp) DIR *dir = opendir(path);
	struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		if (entry->d_type != DT_LNK && entry->d_type != DT_UNKNOWN)
			continue;
		str_clear(&name);
		str_addf(&name, "%s/%s", path, entry->d_name);
		if (!name.failed)
			add_target(links, name.data);
	}
}

static void look(struct links *links)
{
	const char *cwd = *links->cwd;

	links->looked = true;
	read_links(links, links->root);
	if (cwd && strcmp(cwd, links->root) != 0 &&
	    path_is_under(cwd, links->root))
		read_links(links, cwd);
}

bool links_have(void *ctx, const char *path)
{
	struct links *links = ctx;

	if (!links->looked)
		look(links);
	for (size_t i = 0; i < links->n_targets; i++)
		if (path_is_under(path, links->targets[i]))
			return true;
	return false;
}

void links_forget(struct links *links)
{
	free(links->targets);
	pool_release(&links->text);
	links->targets = NULL;
	links->n_targets = links->cap_targets = 0;
	links->text = POOL_INIT;
	links->looked = false;
}
