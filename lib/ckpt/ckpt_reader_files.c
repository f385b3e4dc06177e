/* ckpt_reader_files.c - bytes of data files that no leaf covers
 *
 * The file of a full save is its logical file.  That of a delta has a header before the
 * slots and zeros after a short leaf; no load reads them, but other programs open the file,
 * and a verification should notice any changed byte. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "blob/blob.h"
#include "ckpt/ckpt_layout.h"
#include "ckpt/ckpt_reader_internal.h"

/* Compares `len` bytes at `offset` with `expected`; NULL: zeros. */
static int compare_bytes(struct blob_reader *reader, uint64_t offset,
			 const char *expected, size_t len)
{
	CLEANUP(freep) char *found = malloc(len);
	int r = found ? blob_read(reader, offset, found, len, NULL) : -ENOMEM;

	for (size_t i = 0; r == 0 && i < len; i++)
		if (found[i] != (expected ? expected[i] : 0))
			r = -EBADMSG;
	return r;
}

static int check_header(struct blob_reader *reader, const struct ckpt_file *f)
{
	CLEANUP(str_release) struct str header = STR_INIT;

	ckpt_layout_leaves_header(&header, f->data_bytes - CKPT_ALIGN);
	if (str_error(&header) < 0)
		return -ENOMEM;
	return compare_bytes(reader, 0, header.data, header.len);
}

/* The last leaf may be shorter than its slot. */
static int check_padding(struct blob_reader *reader, const struct ckpt_file *f,
			 const char *path)
{
	const struct b3_shape shape = { f->size_bytes, f->leaf_bytes };
	uint64_t last = b3_shape_n_leaves(&shape) - 1;
	const struct ckpt_extent *e = ckpt_file_extent(f, last);
	size_t len = b3_shape_leaf_len(&shape, last);

	if (strcmp(e->path, path) != 0 || len == f->leaf_bytes)
		return 0;
	return compare_bytes(
		reader,
		e->offset + (last - e->first_leaf) * f->leaf_bytes + len, NULL,
		f->leaf_bytes - len);
}

static bool is_delta(const struct ckpt_file *f)
{
	return f->data_bytes >= CKPT_ALIGN &&
	       (f->data_bytes - CKPT_ALIGN) % f->leaf_bytes == 0 &&
	       (f->n_extents != 1 || f->extents[0].offset != 0);
}

/* -EBADMSG: bytes outside of the leaves are wrong.  A file that cannot be read is reported
 * by its leaves. */
static int check_file(struct ckpt_reader *r, const struct ckpt_file *f,
		      const char *path)
{
	CLEANUP(blob_close_readerp) struct blob_reader *reader = NULL;
	uint64_t size = 0;
	int error = blob_open_reader(r->store, path, 0, &reader, &size, NULL);

	if (error < 0 || size < f->data_bytes)
		return 0;
	if (size > f->data_bytes)
		return -EBADMSG;
	if (!is_delta(f))
		return 0;
	error = check_header(reader, f);
	return error ? error : check_padding(reader, f, path);
}

int ckpt_reader_check_files(struct ckpt_run *run)
{
	struct ckpt_reader *r = run->reader;

	for (uint32_t i = 0; i < r->manifest.n_files; i++) {
		const struct ckpt_file *f = &r->manifest.files[i];
		char path[2 * CKPT_NAME_SIZE];
		int error;

		if (!f->name)
			continue;
		(void)snprintf(path, sizeof(path), "%s/%s", r->name, f->name);
		error = check_file(r, f, path);
		if (error == -ENOMEM)
			return error;
		if (error < 0)
			ckpt_damage_report(run, &(struct ckpt_damage){
							.file = i,
							.offset = f->size_bytes,
							.len = 1,
							.source = path,
							.error = error });
	}
	return 0;
}
