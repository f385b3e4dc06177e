/* temp_dir.h - a directory for one test, and files in it. */
#ifndef ROAR_TEST_TEMP_DIR_H
#define ROAR_TEST_TEMP_DIR_H

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"

struct temp_dir {
	char path[64];
	int fd;
};

static inline int temp_dir_make_in(void **state, const char *where)
{
	struct temp_dir *dir = calloc(1, sizeof(*dir));

	(void)snprintf(dir->path, sizeof(dir->path), "%s/test-hash.XXXXXX",
		       where);
	if (!mkdtemp(dir->path)) {
		free(dir);
		return -1;
	}
	dir->fd = open(dir->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	*state = dir;
	return dir->fd < 0 ? -1 : 0;
}

static inline int temp_dir_make(void **state)
{
	return temp_dir_make_in(state, "/tmp");
}

/* For many names, which take a disk many seconds: in memory if there is a place. */
static inline int temp_dir_make_large(void **state)
{
	if (temp_dir_make_in(state, "/dev/shm") == 0)
		return 0;
	return temp_dir_make(state);
}

static inline int temp_dir_remove(void **state)
{
	struct temp_dir *dir = *state;
	char command[96];
	int r;

	(void)snprintf(command, sizeof(command), "rm -rf '%s'", dir->path);
	r = system(command);
	(void)close(dir->fd);
	free(dir);
	return r;
}

/* A file of `len` bytes in which byte i is (i + salt) % 251. */
static inline void write_pattern(struct temp_dir *dir, const char *name,
				 size_t len, size_t salt)
{
	CLEANUP(closep)
	int fd = openat(dir->fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC,
			0644);
	CLEANUP(freep) uint8_t *data = malloc(len + 1);

	assert_true(fd >= 0);
	for (size_t i = 0; i < len; i++)
		data[i] = (uint8_t)((i + salt) % 251);
	assert_int_equal(write(fd, data, len), len);
}

#define DIR_TEST(f) \
	cmocka_unit_test_setup_teardown(f, temp_dir_make, temp_dir_remove)
#define LARGE_DIR_TEST(f) \
	cmocka_unit_test_setup_teardown(f, temp_dir_make_large, temp_dir_remove)

#endif
