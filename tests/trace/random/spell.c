/* spell.c - see spell.h */
#include "spell.h"

#include <stdio.h>
#include <string.h>

#include "../workloads/workload.h"
#include "model.h"

static void append(char *path, const char *name)
{
	if (path[0] && path[strlen(path) - 1] != '/')
		strcat(path, "/");
	strcat(path, name);
}

static void absolute(char *path, int dir)
{
	char rest[PATH_LEN];

	strcpy(path, m->root);
	node_path(dir, rest);
	if (rest[0])
		append(path, rest);
}

/* From the working directory up to a common one, and down again. */
static void relative(char *path, int dir)
{
	char down[PATH_LEN] = "";
	char top_path[PATH_LEN];
	int top = m->cwd;

	path[0] = '\0';
	while (!node_is_below(dir, top)) {
		append(path, "..");
		top = m->nodes[top].parent;
	}
	node_path(dir, down);
	node_path(top, top_path);
	if (strlen(down) > strlen(top_path))
		append(path, down + strlen(top_path) + (top != ROOT));
	if (!path[0])
		strcpy(path, ".");
}

/* Each part with something before it that changes nothing. */
static void winding(char *path, int dir)
{
	static const char *const noise[] = { "", ".", "./.", "/" };
	char plain[PATH_LEN];
	char *part;
	char *state;

	strcpy(path, m->root);
	node_path(dir, plain);
	for (part = strtok_r(plain, "/", &state); part;
	     part = strtok_r(NULL, "/", &state)) {
		append(path, noise[below(4)]);
		append(path, part);
		if (one_in(3)) {
			append(path, "..");
			append(path, part);
		}
	}
}

/* Through a symbolic link to the directory or to one above it. */
static bool by_link(char *path, int dir)
{
	char rest[PATH_LEN];
	char top_path[PATH_LEN];
	int link = node_pick(KIND_LINK);
	int top;

	if (link == NOBODY)
		return false;
	absolute(path, m->nodes[link].parent);
	append(path, m->nodes[link].name);
	node_path(link, rest);
	top = node_walk(ROOT, rest, true, 0);
	if (top == NOBODY || inode_of(top)->kind != KIND_DIR ||
	    !node_is_below(dir, top))
		return false;
	node_path(dir, rest);
	node_path(top, top_path);
	append(path, rest + strlen(top_path) + (top != ROOT && dir != top));
	return true;
}

/* Relative to a descriptor of the directory or of one above it. */
static void by_descriptor(struct spelling *s, int dir)
{
	char name[2048];
	char rest[PATH_LEN];
	char top_path[PATH_LEN];
	int top = dir;

	while (top != ROOT && one_in(2))
		top = m->nodes[top].parent;
	absolute(name, top);
	s->opened = CHECK(open(name, O_DIRECTORY | O_CLOEXEC |
					     (one_in(2) ? O_PATH : O_RDONLY)));
	node_path(dir, rest);
	node_path(top, top_path);
	strcpy(s->path, rest + strlen(top_path) + (top != ROOT && dir != top));
	if (one_in(4)) {
		strcpy(name, s->path);
		snprintf(s->path, sizeof(s->path), "/proc/self/fd/%d/",
			 s->opened);
		append(s->path, name);
	} else {
		s->dirfd = s->opened;
		if (!s->path[0])
			strcpy(s->path, ".");
	}
}

void spell(struct spelling *s, int dir, const char *name)
{
	s->dirfd = AT_FDCWD;
	s->opened = -1;
	switch (below(8)) {
	case 0:
	case 1:
		absolute(s->path, dir);
		break;
	case 2:
		winding(s->path, dir);
		break;
	case 3:
		by_descriptor(s, dir);
		break;
	case 4:
		if (!by_link(s->path, dir))
			absolute(s->path, dir);
		break;
	case 5:
		strcpy(s->path, "/proc/self/cwd/");
		relative(s->path + strlen(s->path), dir);
		break;
	default:
		relative(s->path, dir);
		break;
	}
	/* "./name" is as good as "name"; both shall come. */
	if (strcmp(s->path, ".") == 0 && name[0] && one_in(2))
		s->path[0] = '\0';
	if (name[0])
		append(s->path, name);
}

void spell_node(struct spelling *s, int node)
{
	spell(s, m->nodes[node].parent, m->nodes[node].name);
}

void spell_done(struct spelling *s)
{
	if (s->opened >= 0)
		CHECK(close(s->opened));
}

bool spelled_plainly(const struct spelling *s)
{
	return s->dirfd == AT_FDCWD;
}
