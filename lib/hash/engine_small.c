/* engine_small.c - small files, side by side; see engine.h */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "hash/engine_internal.h"

static ssize_t read_whole(int fd, uint8_t *data, size_t len)
{
	ssize_t n;

	do {
		n = read(fd, data, len);
	} while (n < 0 && errno == EINTR);
	return n;
}

/* One byte more than the stamp promises is asked for: growth shows, and the end of
 * the file, without a second read. */
bool small_add(struct engine_worker *w, struct engine_file *file,
	       const struct file_pass *pass)
{
	const struct stamp *stamp = &pass->stamp;
	struct small *s = &w->small[w->n_small];
	CLEANUP(closep)
	int fd = openat(pass->dirfd, pass->path,
			O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stamp after;
	struct stat st;

	if (fd < 0)
		return false;
	if (read_whole(fd, w->data[w->n_small], stamp->size + 1) !=
		    (ssize_t)stamp->size ||
	    fstat(fd, &st) < 0)
		return false;
	after = stamp_of(&st);
	if (!S_ISREG(st.st_mode) || !stamp_equal(&after, stamp))
		return false;
	*s = (struct small){
		.file = file,
		.stamp = *stamp,
		.taken_ns = pass->taken_ns,
		.len = stamp->size,
	};
	w->n_small++;
	w->bytes_read += stamp->size;
	return true;
}

void small_flush(struct engine_worker *w)
{
	struct b3_message messages[ENGINE_BATCH];

	for (unsigned i = 0; i < w->n_small; i++)
		messages[i] = (struct b3_message){ .data = w->data[i],
						   .len = w->small[i].len };
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
}
