/* engine_small.c - small files, side by side; see engine.h
 *
 * What the kernel charges for a small file is mostly the number of calls.  So the
 * descriptors of a batch stay open until it is hashed: most of their numbers follow each
 * other, and one call closes such a row.
 *
 * Nor is a file looked at before it is opened when its folder has told what it is
 * (dir_listing.h), for the look behind the read can stand for both: a file that was changed
 * since the first read has a ctime of this time, so one whose ctime is older, by more
 * than the resolution of the clock, has held still.  That takes a file system whose
 * times come from our clock, and a clock that was not set meanwhile. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "hash/jobs/engine_internal.h"

enum { ALIGN = 64 }; /* bytes: a line of the CPU's cache */

/* ---- descriptors ---- */

/* How many of them follow each other. */
static unsigned row_len(const int *fds, unsigned n)
{
	unsigned len = 1;

	while (len < n && fds[len] == fds[0] + (int)len)
		len++;
	return len;
}

static void close_row(const int *fds, unsigned n)
{
#ifdef SYS_close_range
	if (n > 1 && syscall(SYS_close_range, (unsigned)fds[0],
			     (unsigned)fds[n - 1], 0) == 0)
		return;
#endif
	for (unsigned i = 0; i < n; i++)
		(void)close(fds[i]);
}

void small_close(struct engine_worker *w)
{
	for (unsigned i = 0, n; i < w->n_open; i += n) {
		n = row_len(w->open + i, w->n_open - i);
		close_row(w->open + i, n);
	}
	w->n_open = 0;
}

/* In a table that others use as well, they would miss what we hold. */
static void let_go(struct engine_worker *w, int fd)
{
	if (!w->own_table) {
		(void)close(fd);
		return;
	}
	w->open[w->n_open++] = fd;
	if (w->n_open == ENGINE_BATCH)
		small_close(w);
}

/* ---- files ---- */

/* Reads it to its end, which is at `max` bytes or before, and looks at it then.  One byte
 * more is asked for: growth shows, and the end of the file, without a second read. */
static bool read_whole(int fd, uint8_t *data, size_t max, struct stamp *ret)
{
	struct stat st;
	ssize_t n;

	do {
		n = read(fd, data, max + 1);
	} while (n < 0 && errno == EINTR);
	if (n < 0 || (size_t)n > max || fd_stat(fd, &st) < 0)
		return false;
	*ret = stamp_of(&st);
	return S_ISREG(st.st_mode) && ret->size == (uint64_t)n;
}

static bool read_next(struct engine_worker *w, int dirfd, const char *name,
		      size_t max, struct stamp *ret)
{
	int fd = openat(dirfd, name,
			O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	bool ok;

	if (fd < 0)
		return false;
	ok = read_whole(fd, w->data + w->n_data, max, ret);
	let_go(w, fd);
	return ok;
}

/* One file lies behind the other: the less memory, the less of it is new. */
static void keep(struct engine_worker *w, const struct small *s)
{
	w->small[w->n_small] = *s;
	w->small[w->n_small++].data = w->data + w->n_data;
	w->n_data += (s->stamp.size / ALIGN + 1) * ALIGN;
	w->bytes_read += s->stamp.size;
}

bool small_add(struct engine_worker *w, struct engine_file *file,
	       const struct file_pass *pass)
{
	struct stamp after;

	if (!read_next(w, pass->dirfd, pass->path, pass->stamp.size, &after) ||
	    !stamp_equal(&after, &pass->stamp))
		return false;
	keep(w, &(struct small){ .file = file,
				 .stamp = after,
				 .taken_ns = pass->taken_ns });
	return true;
}

/* ---- guesses ---- */

/* Moves only when somebody sets the clock: both come from one tick. */
static int64_t clock_offset(void)
{
	return clock_now_tick_ns() - clock_mono_tick_ns();
}

bool small_guess(struct engine_worker *w, struct engine_file *file, int dirfd,
		 const char *name, uint64_t dev)
{
	struct small s = { .file = file, .guessed = true };

	if (!w->n_guessed)
		w->clock_ns = clock_offset();
	s.taken_ns = clock_now_tick_ns();
	if (!read_next(w, dirfd, name, SMALL_BYTES, &s.stamp) ||
	    s.stamp.dev != dev || stamp_is_racy(&s.stamp, s.taken_ns))
		return false;
	keep(w, &s);
	w->n_guessed++;
	return true;
}

/* ---- hashing ---- */

static void publish(struct engine_worker *w, const struct small *s,
		    const uint8_t *digest)
{
	struct file_hash *hash = &s->file->hash;

	hash->stamp = s->stamp;
	hash->taken_ns = s->taken_ns;
	hash->digests.have = DIGEST_SET_BLAKE3;
	memcpy(hash->digests.blake3, digest, BLAKE3_LEN);
	engine_publish(w, s->file, 0);
}

static void hash_carefully(struct engine_worker *w, struct engine_file *file)
{
	engine_publish(w, file,
		       file_hash(AT_FDCWD, file->path, DIGEST_SET_BLAKE3, NULL,
				 NULL, &file->hash));
}

void small_flush(struct engine_worker *w)
{
	bool clock_was_set = w->n_guessed && clock_offset() != w->clock_ns;
	struct b3_message messages[ENGINE_BATCH];

	small_close(w);
	for (unsigned i = 0; i < w->n_small; i++)
		messages[i] = (struct b3_message){
			.data = w->small[i].data,
			.len = w->small[i].stamp.size,
		};
	b3_hash_batch(messages, w->n_small);
	for (unsigned i = 0; i < w->n_small; i++) {
		if (clock_was_set && w->small[i].guessed)
			hash_carefully(w, w->small[i].file);
		else
			publish(w, &w->small[i], messages[i].digest);
	}
	w->n_small = w->n_guessed = 0;
	w->n_data = 0;
}
