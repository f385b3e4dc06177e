/* journal.c - see journal.h
 *
 * The file is mapped through a window that moves forward, so a run with
 * millions of events costs the writer one window of memory.  Space is
 * allocated before it is mapped: a full disk is an error code here and never
 * a SIGBUS. */
#include "event/journal.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/str.h"
#include "event/event.h"

enum {
	HEADER_LEN = 64,
	WINDOW_FIRST = 64 * 1024, /* `roar run true` should stay cheap */
	WINDOW = 1024 * 1024,
};

static const char magic[8] = "roarjrn1";

struct header {
	char magic[8];
	uint32_t meta_len;
	char zero[52];
};

_Static_assert(sizeof(struct header) == HEADER_LEN, "file layout");

struct journal {
	int fd;
	int error; /* negative errno that ended the journal */
	char *window; /* mapping of [start, start + len) */
	uint64_t start;
	size_t len;
	uint64_t pos; /* where the next record goes */
};

struct journal_reader {
	int fd;
	char *data;
	size_t len;
	size_t pos;
	int64_t alive_ns; /* the file's time */
};

static int lock(int fd, int cmd)
{
	struct flock range = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

	return fcntl(fd, cmd, &range) < 0 ? -errno : 0;
}

/* Maps the page-aligned window that begins at or below `pos` and holds at least `need`
 * bytes after it. */
static int move_window(struct journal *j, size_t need)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t start = j->pos & ~(page - 1);
	size_t least = (size_t)((j->pos + need - start + page - 1) &
				~(page - 1));
	size_t len = j->start || j->window ? WINDOW : WINDOW_FIRST;
	int r;

	if (len < least)
		len = least;
	r = posix_fallocate(j->fd, (off_t)start, (off_t)len);
	/* Near a limit or the end of the disk a page at a time may do. */
	if (r && len > least) {
		len = least;
		r = posix_fallocate(j->fd, (off_t)start, (off_t)len);
	}
	if (r)
		return -r;
	if (j->window)
		(void)munmap(j->window, j->len);
	j->window = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, j->fd,
			 (off_t)start);
	if (j->window == MAP_FAILED) {
		j->window = NULL;
		return -errno;
	}
	/* A mapping keeps the file open, and with it the lock: not for children
	 * that outlive us. */
	(void)madvise(j->window, len, MADV_DONTFORK);
	j->start = start;
	j->len = len;
	return 0;
}

/* Pointer to `size` writable bytes at the end of the journal. */
static void *room(struct journal *j, size_t size)
{
	if (j->error)
		return NULL;
	if (!j->window || j->pos + size > j->start + j->len)
		j->error = move_window(j, size);
	return j->error ? NULL : j->window + (j->pos - j->start);
}

static int write_header(struct journal *j, const void *meta, size_t meta_len)
{
	size_t padded = (meta_len + 7) & ~(size_t)7;
	struct header *h = room(j, HEADER_LEN + padded);

	if (!h)
		return j->error;
	if (meta_len)
		memcpy((char *)h + HEADER_LEN, meta, meta_len);
	h->meta_len = (uint32_t)meta_len;
	/* The magic goes last: without it a reader sees no journal. */
	__atomic_signal_fence(__ATOMIC_RELEASE);
	memcpy(h->magic, magic, sizeof(magic));
	j->pos += HEADER_LEN + padded;
	return 0;
}

/* -ESTALE when another process took the unlocked file for a dead one and removed it, or
 * is about to remove one of that name. */
static int try_create(int dirfd, const char *unborn, const char *name,
		      const void *meta, size_t meta_len,
		      struct journal **ret_journal)
{
	CLEANUP(journal_closep) struct journal *j = calloc(1, sizeof(*j));
	int r;

	if (!j)
		return -ENOMEM;
	j->fd = openat(dirfd, unborn,
		       O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW,
		       0600);
	if (j->fd < 0)
		return errno == EEXIST ? -ESTALE : -errno;
	r = lock(j->fd, F_OFD_SETLK);
	if (r == -EAGAIN || r == -EACCES)
		return -ESTALE;
	if (r == 0)
		r = write_header(j, meta, meta_len);
	if (r == 0 &&
	    renameat2(dirfd, unborn, dirfd, name, RENAME_NOREPLACE) < 0)
		r = errno == ENOENT ? -ESTALE : -errno;
	if (r < 0 && r != -ESTALE)
		(void)unlinkat(dirfd, unborn, 0);
	if (r < 0)
		return r;
	*ret_journal = TAKE_PTR(j);
	return 0;
}

int journal_create(int dirfd, const char *name, const void *meta,
		   size_t meta_len, struct journal **ret_journal)
{
	enum { TRIES = 100 };
	CLEANUP(str_release) struct str unborn = STR_INIT;
	int r = -ESTALE;

	if (meta_len > UINT32_MAX / 2)
		return -EFBIG;
	/* The file gets its name when it is locked and has its header: no process sees
	 * a journal that looks dead or empty.  Every attempt has an unborn name of its
	 * own, because any process may remove the last one. */
	for (int i = 0; r == -ESTALE && i < TRIES; i++) {
		str_clear(&unborn);
		if (i)
			str_addf(&unborn, "%d.", i);
		str_addf(&unborn, "%s" JOURNAL_UNBORN, name);
		if (str_error(&unborn) < 0)
			return -ENOMEM;
		r = try_create(dirfd, unborn.data, name, meta, meta_len,
			       ret_journal);
	}
	return r;
}

void journal_remove_unborn(int dirfd, const char *name)
{
	CLEANUP(closep)
	int fd = openat(dirfd, name, O_RDWR | O_CLOEXEC | O_NOFOLLOW);

	/* The lock is held until the name is gone, so that its maker, if there
	 * is one after all, starts anew. */
	if (fd >= 0 && lock(fd, F_OFD_SETLK) == 0)
		(void)unlinkat(dirfd, name, 0);
}

void journal_close(struct journal *j)
{
	if (!j)
		return;
	if (j->window)
		(void)munmap(j->window, j->len);
	closep(&j->fd);
	free(j);
}

struct event *journal_reserve(struct journal *j, size_t size, int *ret_error)
{
	struct event *ev;

	assert(size >= EVENT_SIZE_MIN && size <= EVENT_SIZE_MAX);
	ev = room(j, size);
	*ret_error = ev ? 0 : j->error;
	return ev;
}

void journal_commit(struct journal *j, struct event *ev, uint32_t size)
{
	assert(size >= EVENT_SIZE_MIN && size % 8 == 0);
	/* The compiler must not move the size before the rest; the processor
	 * may, because only a later process reads it. */
	__atomic_signal_fence(__ATOMIC_RELEASE);
	__atomic_store_n(&ev->size, size, __ATOMIC_RELAXED);
	j->pos += size;
}

int journal_append(struct journal *j, const struct event *ev)
{
	int r;
	struct event *slot = journal_reserve(j, ev->size, &r);

	if (!slot)
		return r;
	memcpy((char *)slot + sizeof(ev->size),
	       (const char *)ev + sizeof(ev->size),
	       ev->size - sizeof(ev->size));
	journal_commit(j, slot, ev->size);
	return 0;
}

void journal_touch(struct journal *j)
{
	(void)futimens(j->fd, NULL);
}

bool journal_is_live(int dirfd, const char *name)
{
	CLEANUP(closep) int fd = openat(dirfd, name, O_RDWR | O_CLOEXEC);
	struct flock range = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

	if (fd < 0 || fcntl(fd, F_OFD_GETLK, &range) < 0)
		return false;
	return range.l_type != F_UNLCK;
}

static int check_header(struct journal_reader *r)
{
	const struct header *h = (const struct header *)r->data;
	size_t padded;

	if (r->len < HEADER_LEN || memcmp(h->magic, magic, sizeof(magic)) != 0)
		return -EBADMSG;
	padded = ((size_t)h->meta_len + 7) & ~(size_t)7;
	if (padded > r->len - HEADER_LEN)
		return -ENODATA;
	r->pos = HEADER_LEN + padded;
	return 0;
}

/* Nothing, or the first bytes of a journal: one that lost its content. */
static bool is_beginning(int fd)
{
	char start[sizeof(magic)];
	ssize_t n = pread(fd, start, sizeof(start), 0);

	return n >= 0 && memcmp(start, magic, (size_t)n) == 0;
}

static int map_all(struct journal_reader *r)
{
	struct stat st;

	if (fstat(r->fd, &st) < 0)
		return -errno;
	if (!st.st_nlink)
		return -ENOENT;
	if (st.st_size < HEADER_LEN)
		return is_beginning(r->fd) ? -ENODATA : -EBADMSG;
	r->alive_ns = clock_timespec_ns(st.st_mtim);
	r->len = (size_t)st.st_size;
	r->data = mmap(NULL, r->len, PROT_READ, MAP_PRIVATE, r->fd, 0);
	if (r->data == MAP_FAILED) {
		r->data = NULL;
		return -errno;
	}
	return 0;
}

int journal_open(int dirfd, const char *name,
		 struct journal_reader **ret_reader)
{
	CLEANUP(journal_reader_freep) struct journal_reader *r = NULL;
	int result;

	r = calloc(1, sizeof(*r));
	if (!r)
		return -ENOMEM;
	r->fd = openat(dirfd, name, O_RDWR | O_CLOEXEC);
	if (r->fd < 0)
		return -errno;
	result = lock(r->fd, F_OFD_SETLK);
	if (result < 0)
		return result == -EAGAIN || result == -EACCES ? -EBUSY : result;
	result = map_all(r);
	if (result == 0)
		result = check_header(r);
	if (result < 0)
		return result;
	*ret_reader = TAKE_PTR(r);
	return 0;
}

void journal_reader_free(struct journal_reader *r)
{
	if (!r)
		return;
	if (r->data)
		(void)munmap(r->data, r->len);
	closep(&r->fd);
	free(r);
}

const void *journal_meta(const struct journal_reader *r, size_t *ret_len)
{
	*ret_len = ((const struct header *)r->data)->meta_len;
	return r->data + HEADER_LEN;
}

int64_t journal_alive_ns(const struct journal_reader *r)
{
	return r->alive_ns;
}

const struct event *journal_next(struct journal_reader *r)
{
	const struct event *ev;
	int64_t size = event_check(r->data + r->pos, r->len - r->pos);

	if (size <= 0)
		return NULL;
	ev = (const struct event *)(r->data + r->pos);
	r->pos += (size_t)size;
	return ev;
}

/* ---- going on where another was killed ---- */

/* The rest of a torn record must not be taken for the record after ours. */
static int clear_rest(int fd, uint64_t pos)
{
	static const char zero[4096];
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -errno;
	for (uint64_t end = pos + EVENT_SIZE_MAX;
	     pos < end && pos < (uint64_t)st.st_size; pos += sizeof(zero))
		if (pwrite(fd, zero, sizeof(zero), (off_t)pos) < 0)
			return -errno;
	return 0;
}

int journal_resume(int dirfd, const char *name, struct journal **ret_journal)
{
	CLEANUP(journal_reader_freep) struct journal_reader *reader = NULL;
	CLEANUP(journal_closep) struct journal *j = NULL;
	int r = journal_open(dirfd, name, &reader);

	if (r < 0)
		return r;
	while (journal_next(reader))
		;
	r = clear_rest(reader->fd, reader->pos);
	if (r < 0)
		return r;
	j = calloc(1, sizeof(*j));
	if (!j)
		return -ENOMEM;
	j->pos = reader->pos;
	j->fd = TAKE_FD(reader->fd); /* and with it the lock */
	*ret_journal = TAKE_PTR(j);
	return 0;
}
