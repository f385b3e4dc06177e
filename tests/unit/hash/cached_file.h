/* cached_file.h - which pages of a test's file are in the page cache. */
#ifndef ROAR_TEST_CACHED_FILE_H
#define ROAR_TEST_CACHED_FILE_H

#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/vfs.h>

#include "temp_dir.h"

/* Tests about what is not in memory need a disk. */
static inline void skip_unless_on_disk(const struct temp_dir *dir)
{
	struct statfs fs;

	assert_int_equal(fstatfs(dir->fd, &fs), 0);
	if (fs.f_type == TMPFS_MAGIC || fs.f_type == RAMFS_MAGIC) {
		print_message("skipped: %s is in memory, not on a disk\n",
			      dir->path);
		skip();
	}
}

static inline void drop_cache(int fd)
{
	assert_int_equal(fsync(fd), 0);
	assert_int_equal(posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED), 0);
}

/* Makes one page resident, and no other. */
static inline void load_page(int fd, size_t page)
{
	char c;

	assert_int_equal(posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM), 0);
	assert_int_equal(pread(fd, &c, 1, (off_t)(page * 4096)), 1);
}

/* One byte for each page: 1 for those in the cache. */
static inline void get_resident(int fd, size_t size, uint8_t *ret_pages)
{
	void *p = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);

	assert_ptr_not_equal(p, MAP_FAILED);
	assert_int_equal(mincore(p, size, ret_pages), 0);
	(void)munmap(p, size);
	for (size_t i = 0; i < (size + 4095) / 4096; i++)
		ret_pages[i] &= 1;
}

static inline size_t count_resident(int fd, size_t size)
{
	size_t n_pages = (size + 4095) / 4096, n = 0;
	CLEANUP(freep) uint8_t *pages = malloc(n_pages);

	get_resident(fd, size, pages);
	for (size_t i = 0; i < n_pages; i++)
		n += pages[i];
	return n;
}

#endif
