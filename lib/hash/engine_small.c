/* engine_small.c - small files, side by side; see engine.h
 *
 * What the kernel charges for a small file is mostly the number of calls.  So the
 * descriptors of a batch stay open until it is hashed: their numbers follow each other,
 * and one call closes all of them. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "hash/engine_internal.h"

enum { ALIGN = 64 }; /* bytes: a line of the CPU's cache */

/* ---- descriptors ---- */

static bool close_row(const int *fds, unsigned n)
{
#ifdef SYS_close_range
	for (unsigned i = 1; i < n; i++)
		if (fds[i] != fds[0] + (int)i)
			return false;
	return syscall(SYS_close_range, (unsigned)fds[0], (unsigned)fds[n - 1],
		       0) == 0;
#else
	(void)fds;
	(void)n;
	return false;
#endif
}

void small_close(struct engine_worker *w)
{
	if (w->n_open && !close_row(w->open, w->n_open))
		for (unsigned i = 0; i < w->n_open; i++)
			(void)close(w->open[i]);
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

static int open_name(struct engine_worker *w, const struct file_pass *pass)
{
	const int flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
	int fd = openat(pass->dirfd, pass->path, flags);

	if (fd >= 0 || (errno != EMFILE && errno != ENFILE) || !w->n_open)
		return fd;
	small_close(w);
	return openat(pass->dirfd, pass->path, flags);
}

/* ---- files ---- */

/* One byte more than the stamp promises is asked for: growth shows, and the end of
 * the file, without a second read. */
static bool read_whole(int fd, uint8_t *data, const struct stamp *stamp)
{
	struct stamp after;
	struct stat st;
	ssize_t n;

	do {
		n = read(fd, data, stamp->size + 1);
	} while (n < 0 && errno == EINTR);
	if (n != (ssize_t)stamp->size || fd_stat(fd, &st) < 0)
		return false;
	after = stamp_of(&st);
	return S_ISREG(st.st_mode) && stamp_equal(&after, stamp);
}

/* One file lies behind the other: the less memory, the less of it is new. */
bool small_add(struct engine_worker *w, struct engine_file *file,
	       const struct file_pass *pass)
{
	uint8_t *data = w->data + w->n_data;
	int fd = open_name(w, pass);
	bool ok;

	if (fd < 0)
		return false;
	ok = read_whole(fd, data, &pass->stamp);
	let_go(w, fd);
	if (!ok)
		return false;
	w->small[w->n_small++] = (struct small){
		.file = file,
		.data = data,
		.stamp = pass->stamp,
		.taken_ns = pass->taken_ns,
	};
	w->n_data += (pass->stamp.size / ALIGN + 1) * ALIGN;
	w->bytes_read += pass->stamp.size;
	return true;
}

void small_flush(struct engine_worker *w)
{
	struct b3_message messages[ENGINE_BATCH];

	small_close(w);
	for (unsigned i = 0; i < w->n_small; i++)
		messages[i] = (struct b3_message){
			.data = w->small[i].data,
			.len = w->small[i].stamp.size
		};
	b3_hash_batch(messages, w->n_small);
	for (unsigned i = 0; i < w->n_small; i++) {
		struct small *s = &w->small[i];
		struct file_hash *hash = &s->file->hash;

		hash->stamp = s->stamp;
		hash->taken_ns = s->taken_ns;
		hash->digests.have = DIGEST_SET_BLAKE3;
		memcpy(hash->digests.blake3, messages[i].digest, BLAKE3_LEN);
		engine_publish(w, s->file, 0);
	}
	w->n_small = 0;
	w->n_data = 0;
}
