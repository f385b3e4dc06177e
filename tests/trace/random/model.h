/* model.h - what a random program must have done, kept beside the real thing.
 *
 * A small file system in memory: nodes are names in a tree, inodes are what the
 * names stand for.  Every operation of ops.c is done twice, to the real files
 * and here; neither events nor stamps are used, so the model knows nothing that
 * a tracer could get wrong.
 *
 * Beside the tree stands a table of all names the program ever dealt with and
 * what happened at each.  Its last line is model_print(): what each name was
 * to the run, by these rules:
 *
 *	- Content is from before the run until a byte of its inode is written
 *	  or it is truncated.  Reading it counts for the name it had before the
 *	  run (`source`), wherever the run has moved or linked it.
 *	- A name is written when something was created, truncated, renamed or
 *	  linked there, or when its inode was changed, be it through another
 *	  name.  What was moved away and came home unchanged is not.
 *	- Written and there: output.  Written and gone: temporary, unless the
 *	  last thing there was moved elsewhere.  Read after a change:
 *	  intermediate.  Opened for writing, neither changed nor read: touched.
 *
 * All of it lives in one shared mapping without pointers, so that it goes
 * through fork() as well as through execve(). */
#ifndef RANDOM_MODEL_H
#define RANDOM_MODEL_H

#include <stdbool.h>
#include <stdint.h>

enum {
	NODES_MAX = 2048,
	INODES_MAX = 2048,
	NAMES_MAX = 4096,
	FDS_MAX = 16,
	DATA_MAX = 64, /* bytes of a file */
	PATH_LEN = 160, /* bytes of a name below the root, with NUL */
	DEPTH_MAX = 6, /* directories above each other */
	LEVELS_MAX = 8, /* processes above each other */
	ROOT = 0, /* node of the directory that all happens in */
	NOBODY = -1, /* no node, no name */
};

enum kind { KIND_FILE, KIND_DIR, KIND_LINK };

enum mounts {
	MOUNTS_NONE,
	MOUNTS_SAME, /* all files keep their names */
	MOUNTS_ANY,
};

struct inode {
	enum kind kind;
	bool changed; /* the run made it or wrote to it */
	bool opened; /* for writing, by the run */
	bool stirred; /* its names have changed: so has its ctime */
	bool script; /* can be executed */
	int len;
	char data[DATA_MAX];
	char target[PATH_LEN + 256]; /* KIND_LINK: its text */
};

struct node {
	bool alive;
	bool known; /* the run has dealt with it: a tracer can know of it */
	int parent;
	int inode;
	int source; /* name before the run, NOBODY when the run made it */
	char name[8];
};

enum {
	NAME_READ_PRIOR = 1 << 0,
	NAME_READ_OWN = 1 << 1,
	NAME_OPENED_WRITE = 1 << 2,
	NAME_PLACED = 1 << 3, /* created, truncated, renamed or linked to */
	NAME_MOVED_AWAY = 1 << 4, /* the last thing there went elsewhere */
	NAME_VAGUE = 1 << 5, /* opened for writing through another name */
};

struct name {
	unsigned flags;
	char path[PATH_LEN];
};

/* A descriptor that is kept open. */
struct kept {
	int fd;
	int node; /* may be dead by now */
	int inode;
	bool reads, writes;
};

struct model {
	uint64_t random; /* state of the generator */
	int n_ops, n_ops_max;
	int level; /* processes above this one */
	int ends[LEVELS_MAX]; /* n_ops at which each process ends */
	bool simple; /* memory is shared with the parent: no threads */
	bool talkative;
	bool roots; /* processes may have a root of their own */
	enum mounts mounts; /* or mounts of their own */
	bool mounted; /* one has made some */
	int cwd; /* node */
	int n_fds;
	struct kept fds[FDS_MAX];
	int n_nodes, n_inodes, n_names;
	struct node nodes[NODES_MAX];
	struct inode inodes[INODES_MAX];
	struct name names[NAMES_MAX];
	char root[256]; /* absolute name of the directory */
};

extern struct model *m;

/* A number below `n`, the next one of the seed. */
unsigned below(unsigned n);

/* One in `n` times. */
static inline bool one_in(unsigned n)
{
	return below(n) == 0;
}

static inline struct inode *inode_of(int node)
{
	return &m->inodes[m->nodes[node].inode];
}

void model_init(uint64_t seed, const char *root);

/* ---- the tree ---- */

int inode_new(enum kind kind);
int node_new(int parent, const char *name, int inode);

/* The name of a node relative to the root; "" is the root. */
void node_path(int node, char *path);
int node_find(int parent, const char *name);
bool node_is_below(int node, int dir);
bool node_has_children(int node);

/* Directories in the deepest branch below a node, itself included. */
int node_height(int node);
int node_depth(int node);

/* A random living node of that kind; NOBODY when there is none. */
int node_pick(enum kind kind);

/* What a path leads to; `follow`: through a last symbolic link as well. */
int node_walk(int at, const char *path, bool follow, int links);

/* ---- what the run does ---- */

void was_created(int node);
void was_read(int node);
void was_opened_for_writing(int node);
void was_truncated(int node, int len);

/* Bytes were written, through whatever name. */
void was_changed(int inode, int offset, const char *data, int len);

/* `node` now stands at `name` in `parent`; what was there is gone. */
void was_renamed(int node, int parent, const char *name);
void was_exchanged(int a, int b);

/* Returns the new node. */
int was_linked(int node, int parent, const char *name);
void was_removed(int node);

/* Prints the expected lines. */
void model_print(void);

#endif
