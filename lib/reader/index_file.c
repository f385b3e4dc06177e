/* index_file.c - see index_file.h */
#include "reader/index_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cache_dir.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/str.h"
#include "hash/file/file_hash.h"
#include "reader/reader_internal.h"

static const char magic[8] = "roarindx";

enum { VERSION = 2 };

struct head {
	char magic[8];
	uint32_t version;
	uint32_t kind;
	uint64_t size;
	int64_t mtime_ns;
	uint64_t body_len;
};

_Static_assert(sizeof(struct head) == 40, "no gaps");

static struct head make_head(const struct reader *r, size_t body_len)
{
	struct head head = {
		.version = VERSION,
		.kind = (uint32_t)r->kind,
		.size = r->source.stamp.size,
		.mtime_ns = r->source.stamp.mtime_ns,
		.body_len = body_len,
	};

	memcpy(head.magic, magic, sizeof(magic));
	return head;
}

/* ---- its place ---- */

static int find_folder(const struct reader *r, struct str *out)
{
	int create;

	if (r->index_dir) {
		str_adds(out, r->index_dir);
		return str_error(out);
	}
	create = cache_dir_find(out, true);
	if (create < 0)
		return create;
	str_adds(out, "/shards");
	if (str_error(out) < 0)
		return -ENOMEM;
	(void)mkdir(out->data, 0700); /* what fails is found out later */
	return 0;
}

/* A path may be longer than a name: its digest stands for it. */
static int add_name(const char *path, struct str *out)
{
	CLEANUP(freep)
	char *full = source_is_remote(path) ? strdup(path) :
					      realpath(path, NULL);
	char hex[2 * BLAKE3_LEN + 1];
	struct digests d;
	int r;

	if (!full)
		return -errno;
	r = digest_buffer(full, strlen(full), DIGEST_SET_BLAKE3, &d);
	if (r < 0)
		return r;
	digest_hex(hex, d.blake3, BLAKE3_LEN);
	str_addf(out, "/%.40s.index", hex);
	return str_error(out);
}

static int find_place(const struct reader *r, struct str *out)
{
	int found;

	if (r->options.index == READER_INDEX_NONE)
		return -ENOENT;
	if (r->options.index == READER_INDEX_BESIDE) {
		str_addf(out, "%s.roar-index", r->path);
		return str_error(out);
	}
	found = find_folder(r, out);
	return found < 0 ? found : add_name(r->path, out);
}

/* ---- its content ---- */

static int digest(const void *data, size_t len, uint8_t ret[BLAKE3_LEN])
{
	struct digests d;
	int r = digest_buffer(data, len, DIGEST_SET_BLAKE3, &d);

	if (r == 0)
		memcpy(ret, d.blake3, BLAKE3_LEN);
	return r;
}

static bool holds(const struct reader *r, const struct str *file)
{
	uint8_t sum[BLAKE3_LEN];
	struct head head;
	size_t body_len;

	if (file->len < sizeof(head) + BLAKE3_LEN)
		return false;
	body_len = file->len - sizeof(head) - BLAKE3_LEN;
	head = make_head(r, body_len);
	return memcmp(file->data, &head, sizeof(head)) == 0 &&
	       digest(file->data, file->len - BLAKE3_LEN, sum) == 0 &&
	       memcmp(file->data + file->len - BLAKE3_LEN, sum, BLAKE3_LEN) ==
		       0;
}

/* A sample takes a few bytes at least, and about 40 of the index. */
static size_t size_limit(const struct reader *r)
{
	uint64_t most = r->source.stamp.size;

	return most > SIZE_MAX / 64 ? SIZE_MAX / 2 : (size_t)most * 16 + 4096;
}

int index_file_load(const struct reader *r, struct str *out)
{
	CLEANUP(str_release) struct str path = STR_INIT;
	CLEANUP(str_release) struct str file = STR_INIT;

	if (find_place(r, &path) < 0 ||
	    fd_read_file(AT_FDCWD, path.data, size_limit(r), &file) < 0 ||
	    !holds(r, &file))
		return -ENOENT;
	str_add(out, file.data + sizeof(struct head),
		file.len - sizeof(struct head) - BLAKE3_LEN);
	return str_error(out) < 0 ? -ENOENT : 0;
}

void index_file_save(const struct reader *r, const struct str *body)
{
	CLEANUP(str_release) struct str path = STR_INIT;
	CLEANUP(str_release) struct str file = STR_INIT;
	struct head head = make_head(r, body->len);
	uint8_t sum[BLAKE3_LEN];

	if (stamp_is_racy(&r->source.stamp, clock_now_ns()) ||
	    find_place(r, &path) < 0)
		return;
	str_add(&file, &head, sizeof(head));
	str_add(&file, body->data, body->len);
	if (str_error(&file) < 0 || digest(file.data, file.len, sum) < 0)
		return;
	str_add(&file, sum, sizeof(sum));
	if (str_error(&file) < 0)
		return;
	/* Without it the next reader looks for itself. */
	(void)fd_replace_file(AT_FDCWD, path.data, file.data, file.len, 0644);
}
