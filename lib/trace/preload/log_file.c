/* log_file.c - see log_file.h */
#include "trace/preload/log_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/macros.h"
#include "base/proc.h"
#include "trace/preload/log.h"

#define NAME "roar-log-"

enum {
	SIZE = LOG_RING_AT + LOG_CELLS_DEFAULT * LOG_CELL,
	KEEP_S = 24 * 3600, /* for logs that may be recovered */
};

static const char *const places[] = { "/dev/shm", "/tmp" };

static int make_file(struct log_file *f, const char *place, const char *run)
{
	int fd, n;

	n = snprintf(f->path, sizeof(f->path), "%s/" NAME "%d-%" PRIu64 "%s%s",
		     place, (int)getpid(), proc_started(getpid()),
		     run ? "-" : "", run ? run : "");
	if (n >= (int)sizeof(f->path))
		return -ENAMETOOLONG;
	(void)unlink(f->path);
	fd = open(f->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW,
		  0600);
	return fd < 0 ? -errno : fd;
}

static int map_file(struct log_file *f, int fd)
{
	void *map;

	f->size = SIZE;
	if (ftruncate(fd, (off_t)f->size) < 0)
		return -errno;
	map = mmap(NULL, f->size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED)
		return -errno;
	f->header = map;
	return 0;
}

static void fill_header(struct log_file *f, unsigned mode, const char *preload,
			uint64_t pass)
{
	struct log_header *h = f->header;

	f->n_cells = LOG_CELLS_DEFAULT;
	if (getrandom(&f->key, sizeof(f->key), 0) != sizeof(f->key))
		f->key = (uint64_t)(uintptr_t)h;
	h->n_cells = f->n_cells;
	h->mode = mode;
	h->key = f->key;
	h->pass = pass;
	atomic_store(&h->next_process, 1);
	(void)snprintf(h->preload, sizeof(h->preload), "%s", preload);
	h->magic = LOG_MAGIC;
}

int log_file_new(struct log_file *f, const char *run, unsigned mode,
		 const char *preload, uint64_t pass)
{
	CLEANUP(closep) int fd = -ENOENT;
	int r;

	*f = (struct log_file){ 0 };
	if (strlen(preload) >= sizeof(f->header->preload))
		return -ENAMETOOLONG;
	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		fd = make_file(f, places[i], run);
		if (fd >= 0)
			break;
	}
	if (fd < 0) {
		f->path[0] = '\0';
		return fd;
	}
	r = map_file(f, fd);
	if (r < 0) {
		log_file_remove(f);
		return r;
	}
	fill_header(f, mode, preload, pass);
	return 0;
}

void log_file_remove(struct log_file *f)
{
	if (f->path[0])
		(void)unlink(f->path);
	f->path[0] = '\0';
}

void log_file_release(struct log_file *f)
{
	if (f->header)
		(void)munmap(f->header, f->size);
	f->header = NULL;
}

/* ---- leftovers ---- */

/* Can this log still be recovered? */
static bool is_kept(int dirfd, const char *name, const char *run)
{
	struct stat st;

	return *run == '-' &&
	       fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	       time(NULL) - st.st_ctim.tv_sec < KEEP_S;
}

static void sweep_place(const char *place)
{
	CLEANUP(closedirp) DIR *dir = opendir(place);
	struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		uint64_t start;
		int pid, n = 0;

		if (sscanf(entry->d_name, NAME "%d-%" SCNu64 "%n", &pid, &start,
			   &n) == 2 &&
		    proc_started(pid) != start &&
		    !is_kept(dirfd(dir), entry->d_name, entry->d_name + n))
			(void)unlinkat(dirfd(dir), entry->d_name, 0);
	}
}

/* Only the usual place: /tmp may hold very many names. */
void log_file_sweep(void)
{
	sweep_place(places[0]);
}

/* ---- what is left of a run ---- */

static bool is_of(const char *name, const char *run)
{
	const char *dash = strrchr(name, '-');

	return strncmp(name, NAME, strlen(NAME)) == 0 && dash &&
	       strcmp(dash + 1, run) == 0;
}

/* Root also handles the runs of other users. */
static bool is_mine(int dirfd, const char *name)
{
	struct stat st;

	return fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	       S_ISREG(st.st_mode) && st.st_size == SIZE &&
	       (st.st_uid == geteuid() || !geteuid());
}

static int find_left(struct log_file *f, const char *place, const char *run)
{
	CLEANUP(closedirp) DIR *dir = opendir(place);
	struct dirent *entry;

	while (dir && (entry = readdir(dir)))
		if (is_of(entry->d_name, run) &&
		    is_mine(dirfd(dir), entry->d_name) &&
		    snprintf(f->path, sizeof(f->path), "%s/%s", place,
			     entry->d_name) < (int)sizeof(f->path))
			return 0;
	f->path[0] = '\0';
	return -ENOENT;
}

static int copy_file(struct log_file *f, int fd)
{
	void *copy = mmap(NULL, SIZE, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (copy == MAP_FAILED)
		return -errno;
	f->header = copy;
	f->size = SIZE;
	if (fd_read_all(fd, copy, SIZE) != SIZE ||
	    f->header->magic != LOG_MAGIC ||
	    f->header->n_cells != LOG_CELLS_DEFAULT)
		return -EBADMSG;
	f->n_cells = LOG_CELLS_DEFAULT;
	f->key = f->header->key;
	return 0;
}

static int find_anywhere(struct log_file *f, const char *run)
{
	int r = -ENOENT;

	*f = (struct log_file){ 0 };
	for (size_t i = 0; r < 0 && i < ARRAY_SIZE(places); i++)
		r = find_left(f, places[i], run);
	return r;
}

int log_file_salvage(struct log_file *f, const char *run)
{
	CLEANUP(closep) int fd = -1;
	int r = find_anywhere(f, run);

	if (r < 0)
		return r;
	fd = open(f->path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	r = fd < 0 ? -errno : copy_file(f, fd);
	if (r < 0)
		log_file_release(f);
	return r;
}

void log_file_discard(const char *run)
{
	struct log_file f;

	if (find_anywhere(&f, run) == 0)
		log_file_remove(&f);
}
