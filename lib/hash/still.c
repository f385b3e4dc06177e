/* still.c - see still.h */
#include "hash/still.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/cleanup.h"

#ifndef EXFAT_SUPER_MAGIC
#define EXFAT_SUPER_MAGIC 0x2011BAB0UL
#endif

/* Linux writes dirty pages after half a minute; disks may be slow. */
#define WRITTEN_NS (INT64_C(600) * 1000000000)

/* Where a stamp can be that of other content: inodes or times are made up (FUSE,
 * images that are built and mounted anew, FAT), they are those of a moment ago (another
 * host may have written since), or changes below do not show (overlay). */
static bool deceives(long type)
{
	static const long types[] = {
		AFS_SUPER_MAGIC,   V9FS_MAGIC,		 OVERLAYFS_SUPER_MAGIC,
		SQUASHFS_MAGIC,	   EROFS_SUPER_MAGIC_V1, ISOFS_SUPER_MAGIC,
		MSDOS_SUPER_MAGIC, EXFAT_SUPER_MAGIC,	 FUSE_SUPER_MAGIC,
		NFS_SUPER_MAGIC,   CIFS_SUPER_MAGIC,	 SMB_SUPER_MAGIC,
		SMB2_SUPER_MAGIC,  CODA_SUPER_MAGIC,	 CEPH_SUPER_MAGIC,
		0x0bd00bd0, /* Lustre */
		0x47504653, /* GPFS */
	};

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if ((uint32_t)type == (uint32_t)types[i])
			return true;
	return false;
}

static void look_at(struct still *memory, const char *path, uint64_t dev)
{
	struct statfs fs;

	if (memory->known && memory->dev == dev)
		return;
	*memory = (struct still){ .dev = dev,
				  .in_memory = true,
				  .deceives = true };
	if (statfs(path, &fs) < 0)
		return;
	memory->known = true;
	memory->deceives = deceives(fs.f_type);
	memory->in_memory = fs.f_type == TMPFS_MAGIC ||
			    fs.f_type == RAMFS_MAGIC ||
			    fs.f_type == HUGETLBFS_MAGIC;
}

bool still_trusts(struct still *memory, const char *path, uint64_t dev)
{
	look_at(memory, path, dev);
	return !memory->deceives;
}

static bool is_old(const struct stamp *s, int64_t taken_ns)
{
	return s->mtime_ns < taken_ns - WRITTEN_NS &&
	       s->ctime_ns < taken_ns - WRITTEN_NS;
}

/* A read lease is refused while anybody has the file open for writing. */
static bool has_no_writer(const char *path, const struct stamp *stamp)
{
	CLEANUP(closep)
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY |
				    O_NOFOLLOW);
	struct stamp now;
	struct stat st;

	if (fd < 0 || fcntl(fd, F_SETLEASE, F_RDLCK) < 0)
		return false;
	(void)fcntl(fd, F_SETLEASE, F_UNLCK);
	if (fstat(fd, &st) < 0)
		return false;
	now = stamp_of(&st);
	return stamp_equal(&now, stamp);
}

bool file_is_still(struct still *memory, const char *path,
		   const struct stamp *stamp, int64_t taken_ns)
{
	if (!still_trusts(memory, path, stamp->dev))
		return false;
	if (is_old(stamp, taken_ns) && !memory->in_memory)
		return true;
	return has_no_writer(path, stamp);
}
