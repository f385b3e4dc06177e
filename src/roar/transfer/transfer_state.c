/* transfer_state.c - what an interrupted transfer leaves for the next one
 *
 * A file in .roar/transfers, named by kind, place and path:
 *
 *	roar-transfer 1
 *	place s3://bucket/key			names with %XX (event/line_field.h)
 *	path /home/x/model.pt
 *	id 2~abc				of the upload; of a download the ETag
 *	size 1073741824
 *	part 8388608
 *	stamp DEV INO SIZE MTIME_NS CTIME_NS	of the file, when it was hashed
 *	blake3 HEX
 *	leaf INDEX HEX				of a download, as often as there are leaves
 *	file HEX ETAG NAME			of a prefix, as often as files were fetched
 *
 * A leaf is added after its bytes were written, and is hashed again before it counts: a crash
 * may keep one and lose the other.  What is damaged is not there: the transfer begins anew. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/str.h"
#include "base/vec.h"
#include "event/line_field.h"
#include "project/owner.h"
#include "project/project.h"
#include "transfer/transfer_internal.h"

#define HEAD "roar-transfer 1\n"
#define DIR_NAME "transfers"

enum { MAX_STATE = 256 << 20 };

void transfer_state_name(const char *kind, const char *place, const char *path,
			 char ret[64])
{
	CLEANUP(str_release) struct str text = STR_INIT;
	uint8_t digest[BLAKE3_LEN];
	char hex[33];

	str_addf(&text, "%s\n%s\n%s", kind, place, path);
	b3_hash(str_cstr(&text), text.len, digest);
	digest_hex(hex, digest, 16);
	(void)snprintf(ret, 64, DIR_NAME "/%s-%s", kind, hex);
}

/* ---- reading ---- */

static bool read_stamp(const char *text, struct stamp *s)
{
	return sscanf(text,
		      "%" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNd64
		      " %" SCNd64,
		      &s->dev, &s->ino, &s->size, &s->mtime_ns,
		      &s->ctime_ns) == 5;
}

static bool read_leaf(struct transfer_state *s, const char *text)
{
	uint8_t value[DIGEST_MAX];
	struct transfer_leaf *leaf;
	uint64_t index;
	char hex[65];

	if (sscanf(text, "%" SCNu64 " %64[0-9a-f]", &index, hex) != 2 ||
	    digest_parse_hex(hex, value) != 2 * BLAKE3_LEN)
		return false;
	leaf = VEC_PUSH(s->leaves, s->n_leaves, s->cap_leaves);
	if (!leaf)
		return false;
	leaf->index = index;
	memcpy(leaf->value, value, BLAKE3_LEN);
	return true;
}

static bool keep_name(struct pool *pool, char *text, const char **ret)
{
	*ret = line_field_unescape(text) ? pool_strdup(pool, text) : NULL;
	return *ret;
}

static bool read_file(struct pool *pool, struct transfer_state *s, char *text)
{
	char *hex = text;
	char *etag = strchr(hex, ' ');
	char *name = etag ? strchr(etag + 1, ' ') : NULL;
	uint8_t value[DIGEST_MAX];
	struct transfer_file *file;

	if (!name)
		return false;
	*etag++ = '\0';
	*name++ = '\0';
	if (digest_parse_hex(hex, value) != 2 * BLAKE3_LEN)
		return false;
	file = VEC_PUSH(s->files, s->n_files, s->cap_files);
	if (!file)
		return false;
	memcpy(file->blake3, value, BLAKE3_LEN);
	if (keep_name(pool, etag, &file->etag) &&
	    keep_name(pool, name, &file->name))
		return true;
	s->n_files--;
	return false;
}

static bool read_line(struct pool *pool, struct transfer_state *s, char *line)
{
	char *value = strchr(line, ' ');

	if (!value)
		return false;
	*value++ = '\0';
	if (!strcmp(line, "place"))
		return keep_name(pool, value, &s->place);
	if (!strcmp(line, "path"))
		return keep_name(pool, value, &s->path);
	if (!strcmp(line, "id"))
		return keep_name(pool, value, &s->id);
	if (!strcmp(line, "size"))
		return line_field_number(value, &s->size_bytes);
	if (!strcmp(line, "part"))
		return line_field_number(value, &s->part_bytes);
	if (!strcmp(line, "stamp"))
		return read_stamp(value, &s->stamp);
	if (!strcmp(line, "blake3")) {
		(void)snprintf(s->blake3, sizeof(s->blake3), "%s", value);
		return true;
	}
	if (!strcmp(line, "file"))
		return read_file(pool, s, value);
	return !strcmp(line, "leaf") && read_leaf(s, value);
}

void transfer_state_release(struct transfer_state *s)
{
	free(s->leaves);
	free(s->files);
	*s = (struct transfer_state){ 0 };
}

int transfer_state_read(const struct transfer *t, const char *name,
			struct pool *pool, struct transfer_state *ret)
{
	CLEANUP(str_release) struct str text = STR_INIT;
	char *rest, *line;

	*ret = (struct transfer_state){ 0 };
	if (fd_read_file(t->project->dirfd, name, MAX_STATE, &text) < 0 ||
	    strncmp(str_cstr(&text), HEAD, strlen(HEAD)) != 0)
		return 0;
	rest = text.data + strlen(HEAD);
	/* The last line may be half a line. */
	while ((line = line_field_cut(&rest, '\n')))
		if (!read_line(pool, ret, line))
			break;
	return ret->place && ret->path && ret->id;
}

/* ---- writing ---- */

static void add_name(struct str *out, const char *key, const char *name)
{
	str_addf(out, "%s ", key);
	line_field_add_name(out, name);
	str_addc(out, '\n');
}

static void add_state(struct str *out, const struct transfer_state *s)
{
	str_adds(out, HEAD);
	add_name(out, "place", s->place);
	add_name(out, "path", s->path);
	add_name(out, "id", s->id);
	str_addf(out, "size %" PRId64 "\npart %" PRId64 "\n", s->size_bytes,
		 s->part_bytes);
	if (s->stamp.ino)
		str_addf(out,
			 "stamp %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRId64
			 " %" PRId64 "\n",
			 s->stamp.dev, s->stamp.ino, s->stamp.size,
			 s->stamp.mtime_ns, s->stamp.ctime_ns);
	if (s->blake3[0])
		str_addf(out, "blake3 %s\n", s->blake3);
}

static int write_state(const struct transfer *t, const char *name,
		       const struct str *text, int *ret_fd)
{
	int dirfd = t->project->dirfd;
	int r;

	if (mkdirat(dirfd, DIR_NAME, 0700) < 0 && errno != EEXIST)
		return -errno;
	r = fd_replace_file(dirfd, name, text->data, text->len, 0600);
	if (r < 0 || !ret_fd)
		return r;
	*ret_fd = openat(dirfd, name, O_WRONLY | O_APPEND | O_CLOEXEC);
	return *ret_fd < 0 ? -errno : 0;
}

int transfer_state_write(const struct transfer *t, const char *name,
			 const struct transfer_state *state, int *ret_fd)
{
	CLEANUP(str_release) struct str text = STR_INIT;
	bool acted;
	int r;

	add_state(&text, state);
	if (text.failed)
		return -ENOMEM;
	acted = owner_act(t->project->dirfd);
	r = write_state(t, name, &text, ret_fd);
	owner_act_as_self(acted);
	return r;
}

int transfer_state_add_leaf(int fd, uint64_t index,
			    const uint8_t value[BLAKE3_LEN])
{
	char hex[2 * BLAKE3_LEN + 1];
	char line[128];
	int n;

	digest_hex(hex, value, BLAKE3_LEN);
	n = snprintf(line, sizeof(line), "leaf %" PRIu64 " %s\n", index, hex);
	return fd_write_all(fd, line, (size_t)n);
}

int transfer_state_add_file(int fd, const struct transfer_item *item)
{
	CLEANUP(str_release) struct str line = STR_INIT;
	char hex[2 * BLAKE3_LEN + 1];

	digest_hex(hex, item->blake3, BLAKE3_LEN);
	str_addf(&line, "file %s ", hex);
	line_field_add_name(&line, item->etag);
	str_addc(&line, ' ');
	line_field_add_name(&line, item->name);
	str_addc(&line, '\n');
	return line.failed ? -ENOMEM : fd_write_all(fd, line.data, line.len);
}

void transfer_state_remove(const struct transfer *t, const char *name)
{
	(void)unlinkat(t->project->dirfd, name, 0);
}
