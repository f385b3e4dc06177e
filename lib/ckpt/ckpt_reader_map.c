/* ckpt_reader_map.c - a tensor as a mapping of its file
 *
 * Only on request: a page fault at a time, a network file system is much slower than with
 * reads, and a file that is truncated later ends the process with SIGBUS. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/vec.h"
#include "blob/blob.h"
#include "ckpt/ckpt_reader_internal.h"

void ckpt_reader_unmap(struct ckpt_reader *r)
{
	for (size_t i = 0; i < r->n_maps; i++)
		(void)munmap(r->maps[i].memory, r->maps[i].len);
	free(r->maps);
}

/* The leaves that have the part are stored without a gap; false: in several places. */
static bool is_contiguous(const struct ckpt_file *f, uint64_t first,
			  uint64_t last)
{
	return ckpt_file_extent(f, first) == ckpt_file_extent(f, last);
}

/* Maps `len` bytes of a file from a leaf on; the offset of a leaf is aligned to pages in
 * files that roar has written. */
static int map_leaves(struct ckpt_reader *r, const struct ckpt_file *f,
		      uint64_t first, size_t len, char **ret)
{
	const struct ckpt_extent *e = ckpt_file_extent(f, first);
	uint64_t offset = e->offset + (first - e->first_leaf) * f->leaf_bytes;
	struct ckpt_map *map;
	struct stat st;
	CLEANUP(closep)
	int fd = openat(blob_dirfd(r->store), e->path,
			O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if ((uint64_t)st.st_size < offset + len)
		return -ENODATA;
	if (offset % BLOB_ALIGN)
		return -ENOTSUP;
	map = VEC_PUSH(r->maps, r->n_maps, r->cap_maps);
	if (!map)
		return -ENOMEM;
	map->len = len;
	map->memory = mmap(NULL, len, PROT_READ, MAP_PRIVATE, fd,
			   (off_t)offset);
	if (map->memory == MAP_FAILED) {
		r->n_maps--;
		return -errno;
	}
	*ret = map->memory;
	return 0;
}

static int check_leaves(const struct ckpt_reader *r, uint32_t file,
			uint64_t first, uint64_t last, const char *memory)
{
	const struct leaf_tree *tree = &r->trees[file];

	for (uint64_t i = first; i <= last; i++) {
		size_t len = b3_shape_leaf_len(&tree->shape, i);

		if (!leaf_tree_check(tree, i, memory, len))
			return -EBADMSG;
		memory += len;
	}
	return 0;
}

int ckpt_reader_map(struct ckpt_reader *r, const char *tensor, const void **ret,
		    size_t *ret_bytes, struct roar_error *err)
{
	const struct ckpt_tensor *t = ckpt_manifest_tensor(&r->manifest,
							   tensor);
	const struct ckpt_part *p = t && t->n_parts == 1 ? t->parts : NULL;
	const struct ckpt_file *f = p ? &r->manifest.files[p->file] : NULL;
	uint64_t bytes = p ? ckpt_part_bytes(t, p) : 0, first, last;
	char *memory = NULL;
	int error;

	if (!t)
		return error_set(err, -ENOENT, "'%s' has no tensor '%.200s'",
				 r->name, tensor);
	if (!bytes || !blob_is_local(r->store))
		return error_set(err, -ENOTSUP,
				 "tensor '%.200s' cannot be mapped: it is empty "
				 "or not in one file of this machine",
				 tensor);
	first = p->at / f->leaf_bytes;
	last = (p->at + bytes - 1) / f->leaf_bytes;
	error = ckpt_reader_prepare(r, err);
	if (error < 0)
		return error;
	if (!is_contiguous(f, first, last))
		error = -ENOTSUP;
	if (error == 0)
		error = map_leaves(
			r, f, first,
			(last - first) * f->leaf_bytes +
				b3_shape_leaf_len(&r->trees[p->file].shape,
						  last),
			&memory);
	if (error == 0)
		error = check_leaves(r, p->file, first, last, memory);
	if (error < 0)
		return error_set(err, error,
				 "tensor '%.200s' of '%s' cannot be mapped: %s",
				 tensor, r->name,
				 error == -ENOTSUP ?
					 "it is stored in several places" :
				 error == -EBADMSG ? "its bytes are damaged" :
						     strerror(-error));
	*ret = memory + (p->at - first * f->leaf_bytes);
	*ret_bytes = bytes;
	return 0;
}
