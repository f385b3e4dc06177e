/* edges.c - which process read and wrote which file.
 *
 * A file knows its first reader and its first writer.  For most files these are all, so
 * only the other edges are kept here: an array of twelve bytes for each, in the order of
 * their first events, and a hash table of its indexes.
 *
 * An edge is (process, file, kind), and a process is its index in the process table: a
 * pid that is used again is another process, and exec does not make another one.
 *
 * LINEAGE_EDGE_MADE exists at most once per file.  It is kept where the first writer of
 * the name is not the process that made the content: content that one process wrote and
 * another one renamed, and names that are made again by another process.  Its process
 * moves along with the content, through any number of renames.
 *
 * LINEAGE_EDGE_REPLACED separates the uses of one content from those of the next, where a
 * name has several.  It is kept if there was a new edge since the one before, so there are
 * at most as many as edges.  It is not in the hash table.
 *
 * The number of edges is bounded; those beyond are counted. */
#include "lineage/fold_internal.h"

#include <string.h>

#include "base/vec.h"

enum { PAIRS_MAX = 4 << 20, SLOTS_MIN = 256, NOT_FOUND = -1 };

/* In the process of LINEAGE_EDGE_MADE: the file has a new edge since then. */
#define USED (UINT32_C(1) << 31)

static uint32_t key_of(const struct name *name, enum lineage_edge_kind kind)
{
	return (uint32_t)name->ordinal << 3 | (uint32_t)(kind - 1);
}

/* The process does not count where there is one edge per file. */
static bool is_unique(uint32_t key)
{
	return (key & 7) == LINEAGE_EDGE_MADE - 1;
}

static bool is_moment(uint32_t key)
{
	return (key & 7) == LINEAGE_EDGE_REPLACED - 1;
}

static int64_t maker_of(const struct pair *made)
{
	return made->process & ~USED;
}

static size_t hash_of(uint32_t key, uint32_t process)
{
	uint64_t h = (uint64_t)key << 32 | (is_unique(key) ? 0 : process);

	h *= UINT64_C(0x9e3779b97f4a7c15);
	return (size_t)(h >> 32);
}

/* The slot of that edge, or the free one where it belongs. */
static uint32_t *slot_of(const struct edges *e, uint32_t key, uint32_t process)
{
	size_t mask = e->n_slots - 1;
	size_t i = hash_of(key, process) & mask;

	for (; e->slots[i]; i = (i + 1) & mask) {
		const struct pair *p = &e->pairs[e->slots[i] - 1];

		if (p->key == key && (is_unique(key) || p->process == process))
			break;
	}
	return &e->slots[i];
}

static struct pair *find(const struct edges *e, uint32_t key, uint32_t process)
{
	uint32_t at = e->n ? *slot_of(e, key, process) : 0;

	return at ? &e->pairs[at - 1] : NULL;
}

static int grow(struct edges *e)
{
	size_t n = e->n_slots ? e->n_slots * 2 : SLOTS_MIN;
	uint32_t *slots = calloc(n, sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	free(e->slots);
	e->slots = slots;
	e->n_slots = n;
	for (size_t i = 0; i < e->n; i++)
		if (!is_moment(e->pairs[i].key))
			*slot_of(e, e->pairs[i].key,
				 e->pairs[i].process) = (uint32_t)i + 1;
	return 0;
}

/* Appends one that is new.  1, or 0 if there was no room. */
static int append(struct fold *fold, uint32_t key, uint32_t process)
{
	struct edges *e = &fold->edges;

	if (e->n >= PAIRS_MAX) {
		e->n_left_out++;
		return 0;
	}
	if (((e->n + 1) * 4 > e->n_slots * 3 && grow(e) < 0) ||
	    vec_reserve(&e->pairs, &e->cap, e->n + 1, sizeof(*e->pairs)) < 0)
		return -ENOMEM;
	e->pairs[e->n] = (struct pair){ key, process, fold->n_events };
	if (!is_moment(key))
		*slot_of(e, key, process) = (uint32_t)e->n + 1;
	e->n++;
	return 1;
}

/* Adds an edge, or changes the one that is unique. */
static int put(struct fold *fold, uint32_t key, uint32_t process)
{
	struct pair *known = find(&fold->edges, key, process);
	struct pair *made;
	int r;

	if (known && is_unique(key))
		*known = (struct pair){ key, process, fold->n_events };
	if (known)
		return 0;
	r = append(fold, key, process);
	if (r <= 0 || is_unique(key))
		return r < 0 ? r : 0;
	made = find(&fold->edges, (key & ~7u) | (LINEAGE_EDGE_MADE - 1), 0);
	if (made)
		made->process |= USED;
	return 0;
}

/* ---- the first reader and the first writer ---- */

/* Is the process that has `pid` now the one that had it at event `order`? */
static bool is_same(const struct fold *fold, int32_t first, uint32_t order,
		    int32_t pid)
{
	if (first != pid)
		return false;
	return !fold->pid_reused || processes_at(fold, pid, order) ==
					    processes_at(fold, pid, UINT32_MAX);
}

static bool is_in_file(const struct fold *fold, const struct lineage_file *file,
		       enum lineage_edge_kind kind, int32_t pid)
{
	if (kind == LINEAGE_EDGE_WRITTEN)
		return file->write_order &&
		       is_same(fold, file->writer, file->write_order, pid);
	return file->read_order && kind == lineage_first_read(file->seen) &&
	       is_same(fold, file->reader, file->read_order, pid);
}

bool fold_knows_edge(const struct fold *fold, const struct lineage_file *file,
		     enum lineage_edge_kind kind, int32_t pid)
{
	const struct name *name = (const struct name *)file;
	int64_t process;

	if (is_in_file(fold, file, kind, pid))
		return true;
	process = processes_at(fold, pid, UINT32_MAX);
	return process != NOT_FOUND &&
	       find(&fold->edges, key_of(name, kind), (uint32_t)process);
}

bool fold_leaves_out_edge(struct fold *fold)
{
	bool full = fold->edges.n >= PAIRS_MAX;

	fold->edges.n_left_out += full;
	return full;
}

/* ---- what the fold notes ---- */

int edges_add(struct fold *fold, const struct name *name,
	      enum lineage_edge_kind kind, int32_t pid)
{
	int64_t process;

	if (!pid || is_in_file(fold, &name->file, kind, pid))
		return 0;
	process = processes_of(fold, pid);
	if (process == -ENOMEM)
		return -ENOMEM;
	if (process < 0) {
		fold->edges.n_left_out++;
		return 0;
	}
	return put(fold, key_of(name, kind), (uint32_t)process);
}

/* The content of the name is that which `process` made, whatever was there. */
static int make(struct fold *fold, const struct name *name, uint32_t process)
{
	uint32_t key = key_of(name, LINEAGE_EDGE_MADE);
	const struct pair *made = find(&fold->edges, key, 0);
	bool was_used = !made || made->process & USED;
	int r = 0;

	if (name->file.write_order != fold->n_events && was_used)
		r = append(fold, key_of(name, LINEAGE_EDGE_REPLACED), process);
	return r < 0 ? r : put(fold, key, process);
}

int edges_make(struct fold *fold, const struct name *name, int32_t pid)
{
	uint32_t key = key_of(name, LINEAGE_EDGE_MADE);
	const struct lineage_file *file = &name->file;
	int64_t process;

	if (is_same(fold, file->writer, file->write_order, pid) &&
	    !find(&fold->edges, key, 0))
		return 0;
	process = processes_at(fold, pid, UINT32_MAX);
	return process < 0 ? 0 : make(fold, name, (uint32_t)process);
}

int edges_move(struct fold *fold, const struct name *from,
	       const struct name *to, int32_t pid)
{
	const struct pair *made = find(&fold->edges,
				       key_of(from, LINEAGE_EDGE_MADE), 0);
	const struct lineage_file *file = &from->file;
	int64_t process = made ? maker_of(made) :
				 processes_at(fold, file->writer,
					      file->write_order);

	if (process < 0 ||
	    (process == processes_at(fold, pid, UINT32_MAX) &&
	     is_in_file(fold, &to->file, LINEAGE_EDGE_WRITTEN, pid) &&
	     !find(&fold->edges, key_of(to, LINEAGE_EDGE_MADE), 0)))
		return 0;
	return make(fold, to, (uint32_t)process);
}

/* The first program that gets the stream from who opened the file is taken for the maker
 * of its content. */
static int make_by_stream(struct fold *fold, const struct name *name,
			  int32_t pid)
{
	uint32_t key = key_of(name, LINEAGE_EDGE_MADE);
	const struct pair *made = find(&fold->edges, key, 0);
	int64_t maker = made ? maker_of(made) :
			       processes_at(fold, name->file.writer,
					    name->file.write_order);
	int64_t process = processes_at(fold, pid, UINT32_MAX);

	if (process < 0 || maker < 0 ||
	    find(&fold->edges, key_of(name, LINEAGE_EDGE_PASSED_WRITTEN),
		 (uint32_t)maker))
		return 0;
	return put(fold, key, (uint32_t)process);
}

int edges_pass(struct fold *fold, struct name *name, const struct event *ev)
{
	bool own = name->file.own && !name->prior;
	enum lineage_edge_kind read = own ? LINEAGE_EDGE_READ_OWN :
					    LINEAGE_EDGE_READ;
	const struct name *source = name_source(name);
	int r = 0;

	if (ev->flags & EVENT_READ &&
	    !fold_knows_edge(fold, &source->file, read, ev->pid))
		r = edges_add(fold, source, read + LINEAGE_EDGE_PASSED,
			      ev->pid);
	if (r < 0 || !(ev->flags & EVENT_WRITE) ||
	    fold_knows_edge(fold, &name->file, LINEAGE_EDGE_WRITTEN, ev->pid))
		return r;
	r = make_by_stream(fold, name, ev->pid);
	if (r == 0)
		r = edges_add(fold, name, LINEAGE_EDGE_PASSED_WRITTEN, ev->pid);
	return r;
}

/* ---- reading ---- */

size_t fold_n_edges(const struct fold *fold, uint64_t *ret_n_left_out)
{
	*ret_n_left_out = fold->edges.n_left_out;
	return fold->edges.n;
}

/* Is the process that made the content known as a writer anyway? */
static bool is_writer(const struct fold *fold, const struct pair *made)
{
	const struct lineage_file *file = fold->files[made->key >> 3];
	uint32_t key = made->key & ~7u;

	uint32_t maker = (uint32_t)maker_of(made);

	return processes_at(fold, file->writer, file->write_order) == maker ||
	       find(&fold->edges, key | (LINEAGE_EDGE_WRITTEN - 1), maker) ||
	       find(&fold->edges, key | (LINEAGE_EDGE_PASSED_WRITTEN - 1),
		    maker);
}

struct lineage_edge fold_edge(const struct fold *fold, size_t i)
{
	const struct pair *p = &fold->edges.pairs[i];
	bool superfluous = is_unique(p->key) && is_writer(fold, p);

	return (struct lineage_edge){
		.file = p->key >> 3,
		.process = p->process & ~USED,
		.order = p->order,
		.kind = superfluous ? 0 : (uint8_t)((p->key & 7) + 1),
	};
}

bool fold_has_reused_pids(const struct fold *fold)
{
	return fold->pid_reused;
}

uint32_t fold_file_index(const struct lineage_file *file)
{
	return ((const struct name *)file)->ordinal;
}

int64_t fold_process_at(const struct fold *fold, int32_t pid, uint32_t order,
			bool *ret_unique)
{
	int64_t last = processes_at(fold, pid, UINT32_MAX);

	*ret_unique = last >= 0 && !fold->processes[last].former;
	return processes_at(fold, pid, order);
}

void edges_release(struct edges *e)
{
	free(e->pairs);
	free(e->slots);
}
