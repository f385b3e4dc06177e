/* log_file.c - see log_file.h */
#include "trace/preload/log_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "trace/preload/log.h"

static const char *const places[] = { "/dev/shm", "/tmp" };

/* When a process was started, in the kernel's ticks; 0 when there is none. */
static uint64_t start_of(pid_t pid)
{
	CLEANUP(closep) int fd = -1;
	char path[32], text[1024];
	const char *p;
	ssize_t n;

	(void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : fd_read_all(fd, text, sizeof(text) - 1);
	if (n <= 0)
		return 0;
	text[n] = '\0';
	/* The name in parentheses may hold anything; field 22 is wanted. */
	p = strrchr(text, ')');
	for (int field = 2; p && field < 22; field++)
		p = strchr(p + 1, ' ');
	return p ? strtoull(p, NULL, 10) : 0;
}

static int make_file(struct log_file *f, const char *place)
{
	int fd;

	(void)snprintf(f->path, sizeof(f->path), "%s/roar-log-%d-%" PRIu64,
		       place, (int)getpid(), start_of(getpid()));
	(void)unlink(f->path);
	fd = open(f->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW,
		  0600);
	return fd < 0 ? -errno : fd;
}

static int map_file(struct log_file *f, int fd)
{
	void *map;

	f->size = LOG_RING_AT + (size_t)LOG_CELLS_DEFAULT * LOG_CELL;
	if (ftruncate(fd, (off_t)f->size) < 0)
		return -errno;
	map = mmap(NULL, f->size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED)
		return -errno;
	f->header = map;
	return 0;
}

static void fill_header(struct log_file *f, unsigned mode, const char *preload,
			uint64_t stub)
{
	struct log_header *h = f->header;

	f->n_cells = LOG_CELLS_DEFAULT;
	if (getrandom(&f->key, sizeof(f->key), 0) != sizeof(f->key))
		f->key = (uint64_t)(uintptr_t)h;
	h->n_cells = f->n_cells;
	h->mode = mode;
	h->key = f->key;
	h->stub = stub;
	atomic_store(&h->next_process, 1);
	(void)snprintf(h->preload, sizeof(h->preload), "%s", preload);
	h->magic = LOG_MAGIC;
}

int log_file_new(struct log_file *f, unsigned mode, const char *preload,
		 uint64_t stub)
{
	CLEANUP(closep) int fd = -ENOENT;
	int r;

	*f = (struct log_file){ 0 };
	if (strlen(preload) >= sizeof(f->header->preload))
		return -ENAMETOOLONG;
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		fd = make_file(f, places[i]);
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
	fill_header(f, mode, preload, stub);
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

DEFINE_CLEANUP(DIR *, closedir)

static void sweep_place(const char *place)
{
	CLEANUP(closedirp) DIR *dir = opendir(place);
	struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		uint64_t start;
		int pid;

		if (sscanf(entry->d_name, "roar-log-%d-%" SCNu64, &pid,
			   &start) == 2 &&
		    start_of(pid) != start)
			(void)unlinkat(dirfd(dir), entry->d_name, 0);
	}
}

/* Only the usual place: /tmp may have very many names in it. */
void log_file_sweep(void)
{
	sweep_place(places[0]);
}
