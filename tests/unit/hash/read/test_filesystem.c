/* test_filesystem.c - our numbers are those of the kernel's headers. */
#include "hash/read/filesystem.h"

#include <linux/magic.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void servers_and_programs_are_remote_and_not_to_be_believed(void **state)
{
	static const uint32_t remote[] = {
		NFS_SUPER_MAGIC,  SMB_SUPER_MAGIC,  CIFS_SUPER_MAGIC,
		SMB2_SUPER_MAGIC, FUSE_SUPER_MAGIC, V9FS_MAGIC,
		AFS_SUPER_MAGIC,  AFS_FS_MAGIC,	    CODA_SUPER_MAGIC,
		CEPH_SUPER_MAGIC,
	};

	(void)state;
	for (size_t i = 0; i < sizeof(remote) / sizeof(remote[0]); i++) {
		assert_true(filesystem_is_remote(remote[i]));
		assert_false(filesystem_has_our_time(remote[i]));
		assert_true(filesystem_deceives(remote[i]));
	}
}

static void images_and_fat_are_not_to_be_believed(void **state)
{
	static const uint32_t local[] = { SQUASHFS_MAGIC, EROFS_SUPER_MAGIC_V1,
					  ISOFS_SUPER_MAGIC,
					  MSDOS_SUPER_MAGIC };

	(void)state;
	for (size_t i = 0; i < sizeof(local) / sizeof(local[0]); i++) {
		assert_false(filesystem_is_remote(local[i]));
		assert_true(filesystem_deceives(local[i]));
	}
}

static void disks_are_none_of_these(void **state)
{
	static const uint32_t disks[] = { EXT4_SUPER_MAGIC, XFS_SUPER_MAGIC,
					  BTRFS_SUPER_MAGIC, F2FS_SUPER_MAGIC };

	(void)state;
	for (size_t i = 0; i < sizeof(disks) / sizeof(disks[0]); i++) {
		assert_false(filesystem_is_remote(disks[i]));
		assert_false(filesystem_deceives(disks[i]));
		assert_false(filesystem_is_in_memory(disks[i]));
		assert_true(filesystem_has_our_time(disks[i]));
		assert_false(filesystem_hides_writers(disks[i]));
		assert_true(filesystem_tells_holes(disks[i]));
	}
	assert_true(filesystem_hides_writers(OVERLAYFS_SUPER_MAGIC));
	assert_false(filesystem_has_our_time(OVERLAYFS_SUPER_MAGIC));
}

static void what_no_disk_keeps_is_in_memory(void **state)
{
	static const uint32_t memory[] = { TMPFS_MAGIC, RAMFS_MAGIC,
					   HUGETLBFS_MAGIC };

	(void)state;
	for (size_t i = 0; i < sizeof(memory) / sizeof(memory[0]); i++) {
		assert_true(filesystem_is_in_memory(memory[i]));
		assert_false(filesystem_deceives(memory[i]));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			servers_and_programs_are_remote_and_not_to_be_believed),
		cmocka_unit_test(images_and_fat_are_not_to_be_believed),
		cmocka_unit_test(disks_are_none_of_these),
		cmocka_unit_test(what_no_disk_keeps_is_in_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
