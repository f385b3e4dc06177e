/* git_index.c - see git_index.h */
#include "git/git_index.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/byte_order.h"

enum {
	HEADER_BYTES = 12,
	STAT_BYTES = 40, /* the ten integers in front of the object id */
	FLAG_ASSUME_VALID = 0x8000,
	FLAG_EXTENDED = 0x4000,
	FLAG_STAGE_SHIFT = 12,
	EXT_SKIP_WORKTREE = 0x4000,
	EXT_INTENT_TO_ADD = 0x2000,
};

int git_index_init(struct git_index *index, const void *data, size_t len,
		   size_t hash_len)
{
	const uint8_t *p = data;

	assert(hash_len == 20 || hash_len == 32);
	if (len < HEADER_BYTES + hash_len || memcmp(p, "DIRC", 4) != 0)
		return -EBADMSG;
	*index = (struct git_index){
		.data = p,
		.end = len - hash_len,
		.pos = HEADER_BYTES,
		.hash_len = hash_len,
		.version = be32_get(p + 4),
		.n_left = be32_get(p + 8),
		.path = STR_INIT,
	};
	return index->version >= 2 && index->version <= 4 ? 0 : -EBADMSG;
}

void git_index_release(struct git_index *index)
{
	str_release(&index->path);
}

/* The variable-length integer of version 4: seven bits a byte, most
 * significant first, each continuation adding one so that no value has two
 * spellings. */
static int read_varint(struct git_index *index, size_t *ret_value)
{
	size_t value = 0;

	for (bool first = true;; first = false) {
		uint8_t byte;

		if (index->pos >= index->end || value > GIT_PATH_MAX)
			return -EBADMSG;
		byte = index->data[index->pos++];
		if (!first)
			value = (value + 1) << 7;
		value |= byte & 0x7f;
		if (!(byte & 0x80))
			break;
	}
	*ret_value = value;
	return 0;
}

/* Takes the path at `pos`; `start` is where the entry began. */
static int read_path(struct git_index *index, size_t start)
{
	size_t drop = index->path.len;
	const uint8_t *text, *nul;
	size_t len;

	if (index->version == 4 && read_varint(index, &drop) < 0)
		return -EBADMSG;
	if (drop > index->path.len)
		return -EBADMSG;
	text = index->data + index->pos;
	nul = memchr(text, '\0', index->end - index->pos);
	if (!nul)
		return -EBADMSG;
	len = (size_t)(nul - text);
	index->path.len -= drop;
	if (index->path.len + len == 0 || index->path.len + len > GIT_PATH_MAX)
		return -EBADMSG;
	str_add(&index->path, text, len);
	if (str_error(&index->path) < 0)
		return -ENOMEM;
	index->pos += len + 1;
	if (index->version < 4)
		index->pos = start + ((index->pos - start + 7) & ~(size_t)7);
	return index->pos <= index->end ? 0 : -EBADMSG;
}

static void read_stat(const uint8_t *p, struct git_index_entry *entry)
{
	entry->ctime_s = be32_get(p);
	entry->ctime_ns = be32_get(p + 4);
	entry->mtime_s = be32_get(p + 8);
	entry->mtime_ns = be32_get(p + 12);
	entry->ino = be32_get(p + 20);
	entry->mode = be32_get(p + 24);
	entry->uid = be32_get(p + 28);
	entry->gid = be32_get(p + 32);
	entry->size = be32_get(p + 36);
}

static int read_flags(struct git_index *index, struct git_index_entry *entry)
{
	uint32_t flags = be16_get(index->data + index->pos);
	uint32_t more = 0;

	index->pos += 2;
	if (flags & FLAG_EXTENDED) {
		if (index->version < 3 || index->end - index->pos < 2)
			return -EBADMSG;
		more = be16_get(index->data + index->pos);
		index->pos += 2;
	}
	entry->stage = flags >> FLAG_STAGE_SHIFT & 3;
	entry->assume_valid = flags & FLAG_ASSUME_VALID;
	entry->skip_worktree = more & EXT_SKIP_WORKTREE;
	entry->intent_to_add = more & EXT_INTENT_TO_ADD;
	return 0;
}

int git_index_next(struct git_index *index, struct git_index_entry *ret_entry)
{
	size_t start = index->pos;
	int r;

	if (index->n_left == 0)
		return 0;
	if (index->end - start < STAT_BYTES + index->hash_len + 2)
		return -EBADMSG;
	read_stat(index->data + start, ret_entry);
	ret_entry->oid = index->data + start + STAT_BYTES;
	index->pos = start + STAT_BYTES + index->hash_len;
	r = read_flags(index, ret_entry);
	if (r < 0)
		return r;
	r = read_path(index, start);
	if (r < 0)
		return r;
	ret_entry->path = index->path.data;
	ret_entry->path_len = index->path.len;
	index->n_left--;
	return 1;
}

int git_index_has_extension(const struct git_index *index, const char name[4])
{
	size_t pos = index->pos;

	while (index->end - pos >= 8) {
		uint32_t size = be32_get(index->data + pos + 4);

		if (memcmp(index->data + pos, name, 4) == 0)
			return 1;
		pos += 8;
		if (size > index->end - pos)
			return -EBADMSG;
		pos += size;
	}
	return 0;
}

static bool mode_matches(uint32_t mode, mode_t found)
{
	if (mode == GIT_MODE_SYMLINK)
		return S_ISLNK(found);
	if (!S_ISREG(mode))
		return false;
	return S_ISREG(found) && !(mode & 0100) == !(found & 0100);
}

bool git_index_entry_matches(const struct git_index_entry *entry,
			     const struct stat *st, bool trust_ctime)
{
	if (trust_ctime && (entry->ctime_s != (uint32_t)st->st_ctim.tv_sec ||
			    entry->ctime_ns != (uint32_t)st->st_ctim.tv_nsec))
		return false;
	return entry->mtime_s == (uint32_t)st->st_mtim.tv_sec &&
	       entry->mtime_ns == (uint32_t)st->st_mtim.tv_nsec &&
	       entry->size == (uint32_t)st->st_size &&
	       entry->ino == (uint32_t)st->st_ino && entry->uid == st->st_uid &&
	       entry->gid == st->st_gid &&
	       mode_matches(entry->mode, st->st_mode);
}
