/* filesystem.c - see filesystem.h
 *
 * The headers of no kernel have all of these numbers. */
#include "hash/read/filesystem.h"

#include <stddef.h>

#include "base/macros.h"

static bool is_among(uint32_t type, const uint32_t *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (list[i] == type)
			return true;
	return false;
}

#define IS_AMONG(type, list) is_among(type, list, ARRAY_SIZE(list))

bool filesystem_is_remote(uint32_t type)
{
	static const uint32_t list[] = {
		0x00006969, /* NFS */
		0x0000517b, /* SMB */
		0xff534d42, /* CIFS */
		0xfe534d42, /* SMB2 */
		0x65735546, /* FUSE */
		0x01021997, /* 9p */
		0x5346414f, /* AFS */
		0x6b414653, /* AFS of the kernel */
		0x73757245, /* Coda */
		0x00c36400, /* Ceph */
		0x0bd00bd0, /* Lustre */
		0x47504653, /* GPFS */
	};

	return IS_AMONG(type, list);
}

bool filesystem_deceives(uint32_t type)
{
	static const uint32_t list[] = {
		0x73717368, /* squashfs */
		0xe0f5e1e2, /* erofs */
		0x00009660, /* ISO 9660 */
		0x00004d44, /* FAT */
		0x2011bab0, /* exFAT */
	};

	return filesystem_is_remote(type) || IS_AMONG(type, list);
}

bool filesystem_is_in_memory(uint32_t type)
{
	static const uint32_t list[] = {
		0x01021994, /* tmpfs */
		0x858458f6, /* ramfs */
		0x958458f6, /* hugetlbfs */
	};

	return IS_AMONG(type, list);
}

bool filesystem_has_our_time(uint32_t type)
{
	static const uint32_t list[] = {
		0x0000ef53, /* ext2, ext3, ext4 */
		0x58465342, /* XFS */
		0x9123683e, /* Btrfs */
		0xf2f52010, /* F2FS */
		0x01021994, /* tmpfs */
		0x858458f6, /* ramfs */
	};

	return IS_AMONG(type, list);
}

bool filesystem_hides_writers(uint32_t type)
{
	return type == 0x794c7630; /* overlay */
}

bool filesystem_has_two_inodes(uint32_t type)
{
	return type == 0x794c7630 /* overlay */ || filesystem_is_remote(type);
}

bool filesystem_tells_holes(uint32_t type)
{
	return type != 0x2fc12fc1; /* OpenZFS */
}
