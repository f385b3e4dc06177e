/* file_hash.c - see file_hash.h; the reading itself is in file_pass.c */
#include "hash/file/file_hash.h"

#include <errno.h>

#include "hash/file/file_pass.h"

static bool is_set(const atomic_bool *flag)
{
	return flag && atomic_load_explicit(flag, memory_order_relaxed);
}

static int run_pass(struct file_pass *p, digest_set want,
		    _Atomic uint64_t *n_bytes, const atomic_bool *stop,
		    struct file_hash *ret)
{
	int r = file_pass_start(p, want | DIGEST_SET_BLAKE3);

	if (r < 0)
		return r;
	do
		r = is_set(stop) ? -ECANCELED : file_pass_step(p, n_bytes, ret);
	while (r > 0);
	file_pass_end(p);
	return r;
}

int file_hash(int dirfd, const char *path, digest_set want,
	      _Atomic uint64_t *n_bytes, const atomic_bool *stop,
	      struct file_hash *ret)
{
	struct file_pass *p = file_pass_local();
	int r = p ? file_pass_look(p, dirfd, path) : -ENOMEM;

	return r < 0 ? r : run_pass(p, want, n_bytes, stop, ret);
}

int file_hash_fd(int fd, digest_set want, _Atomic uint64_t *n_bytes,
		 const atomic_bool *stop, struct file_hash *ret)
{
	struct file_pass *p = file_pass_local();
	int r = p ? file_pass_look_fd(p, fd) : -ENOMEM;

	return r < 0 ? r : run_pass(p, want, n_bytes, stop, ret);
}

int digest_buffer(const void *data, size_t len, digest_set want,
		  struct digests *ret)
{
	struct multihash m;
	int r;

	multihash_init(&m);
	r = multihash_start(&m, want | DIGEST_SET_BLAKE3, len);
	if (r == 0) {
		multihash_update(&m, data, len);
		r = multihash_final(&m, ret);
	}
	multihash_release(&m);
	return r;
}
