/* inodes.c - several names of one file.
 *
 * Names are what counts, but a write through one hard link changes what the
 * others show.  The table remembers one name per (device, inode) of the files from
 * before the run that the run reads, writes in place or links; the key is the name's
 * first stamp, so an entry costs eight bytes.
 *
 * Then:
 *	- writing through another name also marks the remembered one as opened
 *	  for writing: its stamp at the end decides whether it is an output.  A
 *	  name that was only read is marked if the file is still what was read;
 *	- reading another name whose content is no longer that of the remembered
 *	  name's first stamp reads what the run wrote: the name becomes own, not
 *	  an input.
 * Of three names, a second one that was read before the write stays an input; its
 * stamp at the end differs from the first, which tells that it changed.
 *
 * An inode number is used again once its file is gone.  A remembered name that
 * is gone, or had another file meanwhile, is therefore not evidence. */
#include "lineage/fold_internal.h"

enum { WROTE = LINEAGE_OPENED_WRITE | LINEAGE_TRUNCATED };

static uint32_t *find(const struct fold *fold, const struct stamp *s)
{
	uint64_t key[2] = { s->dev, s->ino };
	uint32_t hash = (uint32_t)map_hash(key, sizeof(key));
	size_t pos = 0;
	uint32_t *at;

	if (!fold->by_inode.count || !stamp_exists(s))
		return NULL;
	while ((at = index_probe(&fold->by_inode, hash, &pos)))
		if (stamp_same_file(&fold->files[*at - 1]->first, s))
			return at;
	return NULL;
}

/* Is the file that the name had before the run surely still there? */
static bool is_evidence(const struct name *name)
{
	return !name->gone && !(name->file.seen & LINEAGE_REMOVED);
}

/* The remembered name of that file, if it is there and is not `name`. */
static struct name *other_name(const struct fold *fold, const struct name *name,
			       const struct stamp *s)
{
	uint32_t *at = find(fold, s);
	struct name *other = at ? name_of(fold->files[*at - 1]) : NULL;

	return other && other != name && is_evidence(other) ? other : NULL;
}

struct lineage_file *fold_find_inode(const struct fold *fold,
				     const struct stamp *stamp)
{
	uint32_t *at = find(fold, stamp);

	return at ? fold->files[*at - 1] : NULL;
}

int inodes_note(struct fold *fold, struct name *name)
{
	const struct stamp *s = &name->file.first;
	uint64_t key[2] = { s->dev, s->ino };
	uint32_t *at;

	if (!stamp_exists(s))
		return 0;
	at = find(fold, s);
	if (at) {
		if (!is_evidence(name_of(fold->files[*at - 1])))
			*at = name->ordinal + 1;
		return 0;
	}
	return index_add(&fold->by_inode, (uint32_t)map_hash(key, sizeof(key)),
			 name->ordinal);
}

int inodes_write(struct fold *fold, struct name *name,
		 const struct stamp *before)
{
	struct name *other = other_name(fold, name, before);

	if (other && !(other->file.seen & (WROTE | LINEAGE_LINKED_FROM)) &&
	    content_differs(&other->file.first, before))
		return 0;
	if (other) {
		other->file.seen |= LINEAGE_OPENED_WRITE;
		other->file.restless = true;
		other->written = 1;
		name->file.restless = true;
		return 0;
	}
	if (!stamp_exists(before) ||
	    !stamp_same_file(&name->file.first, before))
		return 0;
	return inodes_note(fold, name);
}

void inodes_read(struct fold *fold, struct name *name,
		 const struct stamp *before)
{
	struct lineage_file *file = &name->file;
	struct name *other = other_name(fold, name, before);

	if (!other || !(other->file.seen & WROTE) ||
	    !content_differs(&other->file.first, before))
		return;
	/* What was there before the run is what the other name had. */
	if (!(file->seen & LINEAGE_READ_PRIOR)) {
		file->first = other->file.first;
		file->first_ns = other->file.first_ns;
	}
	file->seen |= LINEAGE_OPENED_WRITE;
	file->own = true;
	name->prior = 0;
}
