/* model.c - see model.h */
#include "model.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../workloads/workload.h"

struct model *m;

unsigned below(unsigned n)
{
	/* splitmix64: any seed is a good one. */
	uint64_t z = m->random += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return (unsigned)((z ^ z >> 31) % n);
}

void model_init(uint64_t seed, const char *root)
{
	m->random = seed * 1000003;
	REQUIRE(strlen(root) < sizeof(m->root));
	strcpy(m->root, root);
	m->cwd = node_new(NOBODY, "", inode_new(KIND_DIR));
}

/* ---- the tree ---- */

int inode_new(enum kind kind)
{
	REQUIRE(m->n_inodes < INODES_MAX);
	m->inodes[m->n_inodes] = (struct inode){ .kind = kind,
						 .changed = true };
	return m->n_inodes++;
}

int node_new(int parent, const char *name, int inode)
{
	struct node *n = &m->nodes[m->n_nodes];

	REQUIRE(m->n_nodes < NODES_MAX && strlen(name) < sizeof(n->name));
	*n = (struct node){ .alive = true,
			    .parent = parent,
			    .inode = inode,
			    .source = NOBODY };
	strcpy(n->name, name);
	return m->n_nodes++;
}

void node_path(int node, char *path)
{
	if (node == ROOT) {
		path[0] = '\0';
		return;
	}
	node_path(m->nodes[node].parent, path);
	if (path[0])
		strcat(path, "/");
	strcat(path, m->nodes[node].name);
}

int node_find(int parent, const char *name)
{
	for (int i = 0; i < m->n_nodes; i++)
		if (m->nodes[i].alive && m->nodes[i].parent == parent &&
		    strcmp(m->nodes[i].name, name) == 0)
			return i;
	return NOBODY;
}

bool node_is_below(int node, int dir)
{
	while (node != NOBODY && node != dir)
		node = m->nodes[node].parent;
	return node == dir;
}

bool node_has_children(int node)
{
	for (int i = 0; i < m->n_nodes; i++)
		if (m->nodes[i].alive && m->nodes[i].parent == node)
			return true;
	return false;
}

int node_depth(int node)
{
	int depth = 0;

	while ((node = m->nodes[node].parent) != NOBODY)
		depth++;
	return depth;
}

int node_height(int node)
{
	int height = 0;

	for (int i = 0; i < m->n_nodes; i++)
		if (m->nodes[i].alive && node_is_below(i, node) &&
		    node_depth(i) - node_depth(node) > height)
			height = node_depth(i) - node_depth(node);
	return height;
}

int node_pick(enum kind kind)
{
	int found = NOBODY;
	unsigned n = 0;

	for (int i = 0; i < m->n_nodes; i++)
		if (m->nodes[i].alive && inode_of(i)->kind == kind &&
		    one_in(++n))
			found = i;
	return found;
}

static int walk_link(int link, int links);

int node_walk(int at, const char *path, bool follow, int links)
{
	while (at != NOBODY && *path) {
		size_t len = strcspn(path, "/");
		char name[PATH_LEN];
		bool last = path[len] == '\0';

		snprintf(name, sizeof(name), "%.*s", (int)len, path);
		path += len + !last;
		if (inode_of(at)->kind != KIND_DIR)
			return NOBODY;
		if (!len || strcmp(name, ".") == 0)
			continue;
		if (strcmp(name, "..") == 0) {
			at = m->nodes[at].parent;
			continue;
		}
		at = node_find(at, name);
		if (at != NOBODY && inode_of(at)->kind == KIND_LINK &&
		    (!last || follow))
			at = walk_link(at, links + 1);
	}
	return at;
}

/* Texts are absolute names below the root, or relative. */
static int walk_link(int link, int links)
{
	const char *text = inode_of(link)->target;
	size_t len = strlen(m->root);

	if (links > 8)
		return NOBODY;
	if (text[0] != '/')
		return node_walk(m->nodes[link].parent, text, true, links);
	REQUIRE(strncmp(text, m->root, len) == 0);
	return node_walk(ROOT, text + len, true, links);
}

/* ---- names ---- */

static struct name *name_get(const char *path)
{
	for (int i = 0; i < m->n_names; i++)
		if (strcmp(m->names[i].path, path) == 0)
			return &m->names[i];
	REQUIRE(m->n_names < NAMES_MAX);
	strcpy(m->names[m->n_names].path, path);
	return &m->names[m->n_names++];
}

static struct name *name_of(int node)
{
	char path[PATH_LEN];

	node_path(node, path);
	return name_get(path);
}

static struct name *source_of(int node)
{
	int source = m->nodes[node].source;

	return source == NOBODY ? NULL : &m->names[source];
}

/* The run deals with this name.  One that came along with a directory and was
 * never looked at is only now known to have moved. */
static struct name *see(int node)
{
	struct name *name = name_of(node);

	if (!m->nodes[node].known && source_of(node) != name)
		name->flags |= NAME_PLACED;
	m->nodes[node].known = true;
	return name;
}

static void place(int node)
{
	struct name *name = name_of(node);

	m->nodes[node].known = true;
	name->flags |= NAME_PLACED;
	name->flags &= ~(unsigned)NAME_MOVED_AWAY;
}

void was_created(int node)
{
	place(node);
}

void was_read(int node)
{
	struct name *name = see(node);

	if (inode_of(node)->changed)
		name->flags |= NAME_READ_OWN;
	else
		source_of(node)->flags |= NAME_READ_PRIOR;
}

/* The other names of a file need not be looked at to be written. */
static void blur_others(int node)
{
	for (int i = 0; i < m->n_nodes; i++)
		if (m->nodes[i].alive && i != node &&
		    m->nodes[i].inode == m->nodes[node].inode)
			name_of(i)->flags |= NAME_VAGUE;
}

void was_opened_for_writing(int node)
{
	see(node)->flags |= NAME_OPENED_WRITE;
	inode_of(node)->opened = true;
	blur_others(node);
}

void was_truncated(int node, int len)
{
	struct inode *inode = inode_of(node);

	see(node)->flags |= NAME_PLACED;
	blur_others(node);
	REQUIRE(len <= DATA_MAX);
	if (len > inode->len)
		memset(inode->data + inode->len, 0, (size_t)(len - inode->len));
	inode->len = len;
	inode->changed = true;
}

void was_changed(int inode, int offset, const char *data, int len)
{
	struct inode *i = &m->inodes[inode];

	REQUIRE(offset + len <= DATA_MAX);
	if (offset > i->len)
		memset(i->data + i->len, 0, (size_t)(offset - i->len));
	memcpy(i->data + offset, data, (size_t)len);
	if (offset + len > i->len)
		i->len = offset + len;
	i->changed |= len > 0;
}

/* ---- moves ---- */

void was_removed(int node)
{
	inode_of(node)->stirred = true;
	if (inode_of(node)->kind != KIND_DIR)
		see(node)->flags &= ~(unsigned)NAME_MOVED_AWAY;
	m->nodes[node].alive = false;
}

/* All that is no directory, at or below a node, leaves its name ... */
static void depart(int top)
{
	for (int i = 0; i < m->n_nodes; i++)
		if (m->nodes[i].alive && m->nodes[i].known &&
		    inode_of(i)->kind != KIND_DIR && node_is_below(i, top))
			name_of(i)->flags |= NAME_MOVED_AWAY;
}

/* ... and stands at another one. */
static void arrive(int top)
{
	for (int i = 0; i < m->n_nodes; i++)
		if (m->nodes[i].alive && m->nodes[i].known &&
		    inode_of(i)->kind != KIND_DIR && node_is_below(i, top))
			place(i);
}

void was_renamed(int node, int parent, const char *name)
{
	int replaced = node_find(parent, name);

	if (inode_of(node)->kind != KIND_DIR)
		see(node);
	if (replaced != NOBODY) {
		if (inode_of(replaced)->kind != KIND_DIR)
			see(replaced);
		m->nodes[replaced].alive = false;
	}
	if (replaced != NOBODY)
		inode_of(replaced)->stirred = true;
	inode_of(node)->stirred = true;
	depart(node);
	m->nodes[node].parent = parent;
	strcpy(m->nodes[node].name, name);
	arrive(node);
}

void was_exchanged(int a, int b)
{
	struct node *x = &m->nodes[a];
	struct node *y = &m->nodes[b];
	struct node old = *x;

	if (inode_of(a)->kind != KIND_DIR)
		see(a);
	if (inode_of(b)->kind != KIND_DIR)
		see(b);
	inode_of(a)->stirred = inode_of(b)->stirred = true;
	depart(a);
	depart(b);
	x->parent = y->parent;
	strcpy(x->name, y->name);
	y->parent = old.parent;
	strcpy(y->name, old.name);
	arrive(a);
	arrive(b);
}

int was_linked(int node, int parent, const char *name)
{
	int link = node_new(parent, name, m->nodes[node].inode);

	see(node);
	m->nodes[link].source = m->nodes[node].source;
	inode_of(link)->stirred = true;
	place(link);
	return link;
}

/* ---- the verdict ---- */

/* Moved away and back, and what it was. */
static bool came_home(int node, const struct name *name)
{
	return node != NOBODY && source_of(node) == name &&
	       !inode_of(node)->changed;
}

static bool was_written(const struct name *name, int node)
{
	if (name->flags & NAME_PLACED)
		return !came_home(node, name);
	/* One that came along with a directory, unseen, has the name of another. */
	if (node == NOBODY || !m->nodes[node].known)
		return name->flags & (NAME_OPENED_WRITE | NAME_READ_OWN);
	return inode_of(node)->changed;
}

/* The node that has this very name, not one that a link leads to. */
static int node_at(const char *path)
{
	int at = ROOT;

	while (at != NOBODY && *path) {
		size_t len = strcspn(path, "/");
		char name[PATH_LEN];

		snprintf(name, sizeof(name), "%.*s", (int)len, path);
		at = node_find(at, name);
		path += len + (path[len] == '/');
	}
	return at;
}

/* There, and opened for writing at most: the file that is there, not one that had
 * the name meanwhile.  A link or a rename changes the ctime as a hidden write would:
 * whoever takes that for a write is on the safe side. */
static void print_unwritten(const struct name *name, const struct inode *inode,
			    bool input)
{
	bool opened = name->flags & NAME_OPENED_WRITE && inode->opened;
	bool stirred = inode->stirred;

	if (opened && !stirred && !input)
		expect("touched %s", name->path);
	else if (opened || name->flags & NAME_VAGUE)
		expect("may touched %s", name->path);
	if ((opened || name->flags & NAME_VAGUE) && stirred)
		expect("may output %s", name->path);
}

static void print_name(const struct name *name)
{
	int node = node_at(name->path);
	bool input = name->flags & NAME_READ_PRIOR;

	if (node != NOBODY && inode_of(node)->kind == KIND_DIR)
		node = NOBODY;
	if (input)
		expect("input %s", name->path);
	if (was_written(name, node)) {
		if (node != NOBODY)
			expect("output %s", name->path);
		else if (!(name->flags & NAME_MOVED_AWAY))
			expect("temporary %s", name->path);
		if (name->flags & NAME_READ_OWN)
			expect("intermediate %s", name->path);
		return;
	}
	if (node == NOBODY) {
		if (name->flags & NAME_VAGUE)
			expect("may temporary %s", name->path);
		return;
	}
	print_unwritten(name, inode_of(node), input);
}

/* Things that moved with their directory and that nobody has looked at: a tracer
 * may know of them. */
static void print_unknown(int node)
{
	char path[PATH_LEN];

	node_path(node, path);
	if (strcmp(path, source_of(node)->path) != 0)
		expect("may output %s", path);
}

void model_print(void)
{
	/* What is mounted in a namespace may have no name outside of it. */
	if (m->mounted)
		expect("%smay gap namespace",
		       m->mounts == MOUNTS_SAME ? "only ebpf " : "");
	/* Nothing waits for the library's log: on a busy machine the tracer may find
	 * another file under a name than the one that was read there.  Where the
	 * directory has moved and the process has ended, the name itself is lost
	 * (stranger_moves_directory shows that for every program). */
	expect("only preload may gap changed");
	expect("only preload may gap path");
	for (int i = 0; i < m->n_names; i++)
		print_name(&m->names[i]);
	for (int i = 0; i < m->n_nodes; i++)
		if (m->nodes[i].alive && !m->nodes[i].known &&
		    inode_of(i)->kind != KIND_DIR)
			print_unknown(i);
}
