/* translate_stamp.c - the file that a record describes, and its state */
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

#include "trace/ebpf/translate.h"

dev_t translate_dev_of(const struct wire_record *r)
{
	return makedev(r->dev >> 20, r->dev & 0xfffff);
}

static struct translate_dev *dev_slot(struct translator *t, uint32_t dev)
{
	for (unsigned i = 0; i < t->n_devs; i++)
		if (t->devs[i].dev == dev)
			return &t->devs[i];
	return NULL;
}

static void note_dev(struct translator *t, uint32_t dev, bool agrees)
{
	if (t->n_devs < TRANSLATE_DEVS)
		t->devs[t->n_devs++] = (struct translate_dev){ dev, agrees };
}

/* Another file may have the name by now; then the numbers of this one are not
 * comparable. */
static bool numbers_agree(const struct wire_record *r, const char *path,
			  const struct stat *st)
{
	struct statfs fs;

	if (st->st_dev != translate_dev_of(r))
		return false;
	return st->st_ino == r->ino || statfs(path, &fs) < 0 ||
	       fs.f_type != OVERLAYFS_SUPER_MAGIC;
}

/* The first file on a file system decides whether its stamps can be used. */
bool translate_stamps_agree(struct translator *t, const struct wire_record *r,
			    const char *path)
{
	struct translate_dev *d = dev_slot(t, r->dev);
	struct stat st;
	bool agrees;

	if (d)
		return d->agrees;
	if (lstat(path, &st) < 0)
		return true;
	agrees = numbers_agree(r, path, &st);
	note_dev(t, r->dev, agrees);
	return agrees;
}

/* The run may serve a FUSE mount itself.  A look would wait for the server, and an
 * umount() of the command would fail with EBUSY meanwhile.  Its numbers agree. */
void translate_stamps_mounted(struct translator *t, const struct wire_record *r)
{
	struct translate_dev *d = dev_slot(t, r->dev);

	if (d)
		*d = t->devs[--t->n_devs];
	if (r->bytes == FUSE_SUPER_MAGIC)
		note_dev(t, r->dev, true);
}

struct stamp translate_stamp(struct translator *t, const struct wire_record *r,
			     const char *path)
{
	struct stat st;

	if (!translate_stamps_agree(t, r, path) && lstat(path, &st) == 0)
		return stamp_of(&st);
	return (struct stamp){
		.dev = translate_dev_of(r),
		.ino = r->ino,
		.size = r->bytes,
		.mtime_ns = r->mtime_ns,
		.ctime_ns = r->ctime_ns,
	};
}

struct stamp translate_emptied(struct translator *t,
			       const struct wire_record *r)
{
	struct stamp now = translate_stamp(t, r, t->path.data);

	return (struct stamp){ .dev = now.dev, .ino = now.ino };
}
