/* upload_parts.c - one large file: its upload is created, filled, completed
 *
 *	LISTING ──▶ CREATING ──▶ SENDING ──▶ COMPLETING ──▶ done
 *	   └────────────────────────▲
 *
 * An upload that was interrupted is listed first: parts that the server has are not sent
 * again, if the file is still the one that was hashed then.  They are read and hashed all the
 * same: the tree of what was sent must have the digest that the object carries, and the part
 * at the server the checksum of what was read. */
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/macros.h"
#include "s3/s3_checksum.h"
#include "s3/s3_driver.h"
#include "transfer/transfer_internal.h"

enum { MAX_PARTS = 10000 };

enum step { LISTING, CREATING, SENDING, COMPLETING };

struct upload_file {
	struct list link;
	struct upload *upload;
	struct transfer_item *item;
	int fd;
	enum step step;
	char *id; /* of the upload */
	int64_t part_bytes;
	unsigned n_parts;
	unsigned next; /* part to send, from 0 */
	unsigned n_stored; /* parts that the server has */
	struct s3_part
		*parts; /* ETags are in the transfer's pool; "": not stored */
	struct leaf_tree tree;
	struct str xml;
	char state_name[64];
};

struct upload_file *upload_file_of(struct list *link)
{
	return container_of(link, struct upload_file, link);
}

void upload_file_free(struct upload_file *f)
{
	list_remove(&f->link);
	if (f->fd >= 0)
		(void)close(f->fd);
	leaf_tree_release(&f->tree);
	str_release(&f->xml);
	free(f->parts);
	free(f->id);
	free(f);
}

/* ---- the end ---- */

static void finish(struct upload_file *f, const char *etag, const char *version)
{
	struct transfer *t = f->upload->t;

	f->item->etag = pool_strdup(&t->pool, etag);
	f->item->version = pool_strdup(&t->pool, version);
	if (!f->item->etag || !f->item->version)
		f->item->etag = f->item->version = "";
	f->item->n_parts = f->n_parts;
	transfer_state_remove(t, f->state_name);
	transfer_finish_item(t, f->item);
	upload_file_free(f);
}

/* A completion whose reply was lost: the object is there when it has our digest. */
static void end_check(struct upload_piece *p, const struct s3_reply *reply)
{
	char hex[2 * BLAKE3_LEN + 1];
	char etag[144];
	const char *stored;

	digest_hex(hex, p->item->blake3, BLAKE3_LEN);
	stored = reply->error ? NULL :
				http_head_get(reply->head, S3_BLAKE3_FIELD);
	if (!stored || strcmp(stored, hex) != 0) {
		transfer_state_remove(p->upload->t, p->file->state_name);
		upload_fail(p->upload, -EREMOTEIO,
			    "the server does not know the upload of '%s' any "
			    "more: run the command again",
			    p->item->path);
		return;
	}
	s3_head_etag(reply->head, etag, sizeof(etag));
	finish(p->file, etag, "");
}

static void check_object(struct upload_file *f)
{
	struct upload_piece *p = upload_piece_new(f->upload, f->item,
						  end_check);
	struct s3_operation op;

	if (!p)
		return;
	p->file = f;
	op = upload_piece_operation(p);
	upload_piece_began(p, s3_head(&op));
}

static void end_complete(struct upload_piece *p, const struct s3_reply *reply)
{
	CLEANUP(pool_release) struct pool pool = POOL_INIT;
	struct s3_stored stored = { "", "" };
	struct s3_error error = { "", "", "", "" };
	const char *version;

	if (reply->error && !strcmp(reply->s3.code, "NoSuchUpload")) {
		check_object(p->file);
		return;
	}
	if (reply->error) {
		upload_fail(p->upload, reply->error, "%s", reply->sentence);
		return;
	}
	(void)s3_xml_stored(reply->body, reply->len, &pool, &stored, &error);
	version = http_head_get(reply->head, "x-amz-version-id");
	finish(p->file, stored.etag, version ? version : "");
}

static bool is_unchanged(const struct upload_file *f)
{
	uint8_t digest[BLAKE3_LEN];

	leaf_tree_root(&f->tree, digest);
	return upload_is_unchanged(f->fd, f->item) &&
	       !memcmp(digest, f->item->blake3, BLAKE3_LEN);
}

static void end_nothing(struct upload_piece *p, const struct s3_reply *reply)
{
	(void)reply;
	upload_fail(p->upload, -EAGAIN,
		    "'%s' changed while it was sent: try again when nothing "
		    "writes to it",
		    p->item->path);
}

static void complete(struct upload_file *f)
{
	struct upload_piece *p = upload_piece_new(f->upload, f->item,
						  end_complete);
	struct s3_operation op;

	if (!p)
		return;
	p->file = f;
	f->step = COMPLETING;
	op = upload_piece_operation(p);
	if (!is_unchanged(f)) {
		p->end = end_nothing;
		transfer_state_remove(f->upload->t, f->state_name);
		upload_piece_began(p, s3_upload_abort(&op, f->id));
		return;
	}
	s3_xml_add_complete(&f->xml, f->parts, f->n_parts);
	upload_piece_began(p, s3_upload_complete(&op, f->id, &f->xml));
}

/* ---- parts ---- */

static int note_part(struct upload_file *f, unsigned index, const char *etag,
		     const char *crc64nvme)
{
	struct pool *pool = &f->upload->t->pool;
	struct s3_part *part = &f->parts[index];

	part->etag = pool_strdup(pool, etag);
	part->crc64nvme = pool_strdup(pool, crc64nvme ? crc64nvme : "");
	if (part->etag && part->crc64nvme)
		return 0;
	part->etag = part->crc64nvme = "";
	return -ENOMEM;
}

static void count_part(struct upload_file *f, size_t len)
{
	transfer_advance(f->upload->t, len);
	if (++f->n_stored == f->n_parts)
		complete(f);
}

static void end_part(struct upload_piece *p, const struct s3_reply *reply)
{
	char etag[144];

	if (reply->error && !strcmp(reply->s3.code, "NoSuchUpload"))
		transfer_state_remove(p->upload->t, p->file->state_name);
	if (reply->error) {
		upload_fail(p->upload, reply->error, "%s", reply->sentence);
		return;
	}
	s3_head_etag(reply->head, etag, sizeof(etag));
	if (note_part(p->file, p->index, etag,
		      http_head_get(reply->head, "x-amz-checksum-crc64nvme")) <
	    0)
		upload_fail(p->upload, -ENOMEM, "out of memory");
	else
		count_part(p->file, p->len);
}

static size_t part_len(const struct upload_file *f, unsigned index)
{
	int64_t left = f->item->size_bytes - (int64_t)index * f->part_bytes;

	return (size_t)(left < f->part_bytes ? left : f->part_bytes);
}

static void hash_part(struct upload_file *f, const struct upload_piece *p)
{
	uint64_t first = (uint64_t)p->index * (uint64_t)f->part_bytes /
			 TRANSFER_LEAF;

	for (size_t n = 0; n < p->len; n += TRANSFER_LEAF) {
		size_t len = p->len - n < TRANSFER_LEAF ? p->len - n :
							  TRANSFER_LEAF;

		(void)leaf_tree_fill(&f->tree, first + n / TRANSFER_LEAF,
				     p->data + n, len);
	}
}

static bool has_checksum(const struct upload_piece *p,
			 enum s3_checksum_kind kind, const char *stored)
{
	CLEANUP(s3_checksum_release) struct s3_checksum sum = { 0 };
	char text[S3_CHECKSUM_SIZE];

	if (s3_checksum_init(&sum, kind) < 0)
		return false;
	s3_checksum_update(&sum, p->data, p->len);
	return s3_checksum_final(&sum, text) == 0 && !strcmp(text, stored);
}

static bool has_md5(const struct upload_piece *p, const char *etag)
{
	CLEANUP(s3_checksum_release) struct s3_checksum sum = { 0 };
	uint8_t digest[32];
	char hex[33];

	if (s3_checksum_init(&sum, S3_CHECKSUM_MD5) < 0)
		return false;
	s3_checksum_update(&sum, p->data, p->len);
	if (s3_checksum_digest(&sum, digest) < 0)
		return false;
	digest_hex(hex, digest, 16);
	return !strcasecmp(hex, etag);
}

/* Does the server have this very part?  The file may have been another one when it was sent:
 * only a checksum tells.  Where there is none, the part is sent again. */
static bool is_stored(const struct upload_file *f, const struct upload_piece *p)
{
	const struct s3_part *part = &f->parts[p->index];

	if (!*part->etag)
		return false;
	return *part->crc64nvme ?
		       has_checksum(p, S3_CHECKSUM_CRC64NVME, part->crc64nvme) :
		       has_md5(p, part->etag);
}

bool upload_file_send_part(struct upload_file *f)
{
	struct upload_piece *p;
	struct s3_operation op;
	size_t len;

	if (f->step != SENDING || f->next == f->n_parts)
		return false;
	p = upload_piece_new(f->upload, f->item, end_part);
	if (!p)
		return true;
	p->file = f;
	p->index = f->next++;
	len = part_len(f, p->index);
	if (upload_piece_read(p, f->fd, (int64_t)p->index * f->part_bytes,
			      len) < 0)
		return true; /* it has failed; release() frees the piece */
	hash_part(f, p);
	op = upload_piece_operation(p);
	if (is_stored(f, p)) {
		upload_piece_drop(p);
		count_part(f, len);
		return true;
	}
	upload_piece_began(p, s3_upload_part(&op, f->id, p->index + 1, p->data,
					     p->len));
	return true;
}

/* ---- the begin ---- */

static void end_create(struct upload_piece *p, const struct s3_reply *reply)
{
	CLEANUP(pool_release) struct pool pool = POOL_INIT;
	struct upload_file *f = p->file;
	struct s3_stored stored = { "", "" };
	struct s3_error error = { "", "", "", "" };
	struct transfer_state state = {
		.place = f->item->place,
		.path = f->item->path,
		.size_bytes = f->item->size_bytes,
		.part_bytes = f->part_bytes,
		.stamp = f->item->stamp,
	};

	if (!reply->error &&
	    s3_xml_stored(reply->body, reply->len, &pool, &stored, &error) == 0)
		f->id = strdup(stored.upload_id);
	if (!f->id || !*f->id) {
		upload_fail(p->upload, reply->error ? reply->error : -EBADMSG,
			    "%s",
			    reply->error ? reply->sentence :
					   "the server gave no id for the "
					   "upload");
		return;
	}
	f->step = SENDING;
	state.id = f->id;
	digest_hex(state.blake3, f->item->blake3, BLAKE3_LEN);
	/* Without it, an interruption means to begin anew. */
	(void)transfer_state_write(p->upload->t, f->state_name, &state, NULL);
}

static void create(struct upload_file *f)
{
	struct upload_piece *p = upload_piece_new(f->upload, f->item,
						  end_create);
	char hex[2 * BLAKE3_LEN + 1];
	const struct http_field field = { S3_BLAKE3_FIELD, hex };
	struct s3_operation op;

	if (!p)
		return;
	p->file = f;
	f->step = CREATING;
	free(f->id);
	f->id = NULL;
	digest_hex(hex, f->item->blake3, BLAKE3_LEN);
	op = upload_piece_operation(p);
	upload_piece_began(p, s3_upload_create(&op, &field, 1));
}

/* ---- what an earlier upload has left ---- */

static void list_parts(struct upload_file *f, unsigned after);

static void take_listed(struct upload_file *f, const struct s3_parts *parts)
{
	for (size_t i = 0; i < parts->n; i++) {
		const struct s3_part *p = &parts->parts[i];

		if (!p->number || p->number > f->n_parts ||
		    p->size_bytes != (int64_t)part_len(f, p->number - 1))
			continue;
		/* One that cannot be noted is sent again. */
		(void)note_part(f, p->number - 1, p->etag, p->crc64nvme);
	}
}

static void end_list(struct upload_piece *p, const struct s3_reply *reply)
{
	CLEANUP(pool_release) struct pool pool = POOL_INIT;
	CLEANUP(s3_parts_release) struct s3_parts parts = { 0 };
	struct upload_file *f = p->file;

	if (reply->error && reply->status != 404) {
		upload_fail(p->upload, reply->error, "%s", reply->sentence);
		return;
	}
	if (reply->error ||
	    s3_xml_parts(reply->body, reply->len, &pool, &parts) < 0) {
		create(f);
		return;
	}
	take_listed(f, &parts);
	if (parts.is_truncated && parts.next)
		list_parts(f, parts.next);
	else
		f->step = SENDING;
}

static void list_parts(struct upload_file *f, unsigned after)
{
	struct upload_piece *p = upload_piece_new(f->upload, f->item, end_list);
	struct s3_operation op;

	if (!p)
		return;
	p->file = f;
	f->step = LISTING;
	op = upload_piece_operation(p);
	upload_piece_began(p, s3_upload_list(&op, f->id, after));
}

static void end_abort(struct upload_piece *p, const struct s3_reply *reply)
{
	(void)p;
	(void)reply; /* perhaps it was gone already */
}

/* The server keeps parts, and charges for them, until somebody ends the upload. */
static void abort_earlier(struct upload_file *f, const char *id)
{
	struct upload_piece *p = upload_piece_new(f->upload, f->item,
						  end_abort);
	struct s3_operation op;

	if (!p)
		return;
	op = upload_piece_operation(p);
	upload_piece_began(p, s3_upload_abort(&op, id));
}

/* Is there an upload of this very content?  Then f->id is its id. */
static void find_earlier(struct upload_file *f)
{
	CLEANUP(pool_release) struct pool pool = POOL_INIT;
	CLEANUP(transfer_state_release) struct transfer_state s = { 0 };
	char hex[2 * BLAKE3_LEN + 1];

	if (!transfer_state_read(f->upload->t, f->state_name, &pool, &s) ||
	    strcmp(s.place, f->item->place) != 0 ||
	    strcmp(s.path, f->item->path) != 0)
		return;
	digest_hex(hex, f->item->blake3, BLAKE3_LEN);
	if (!strcmp(s.blake3, hex) && s.part_bytes == f->part_bytes &&
	    s.size_bytes == f->item->size_bytes)
		f->id = strdup(s.id);
	else
		abort_earlier(f, s.id);
}

int upload_file_new(struct upload *u, struct transfer_item *item, int fd,
		    struct upload_file **ret)
{
	struct upload_file *f = calloc(1, sizeof(*f));
	int64_t least = item->size_bytes / MAX_PARTS + 1;

	if (!f) {
		(void)close(fd);
		return -ENOMEM;
	}
	*f = (struct upload_file){ .upload = u, .item = item, .fd = fd };
	list_add(&u->files, &f->link);
	f->part_bytes = TRANSFER_PART;
	while (f->part_bytes < least)
		f->part_bytes *= 2;
	f->n_parts = (unsigned)((item->size_bytes + f->part_bytes - 1) /
				f->part_bytes);
	f->parts = calloc(f->n_parts, sizeof(*f->parts));
	if (!f->parts || leaf_tree_init(&f->tree, (uint64_t)item->size_bytes,
					TRANSFER_LEAF) < 0)
		return -ENOMEM;
	for (unsigned i = 0; i < f->n_parts; i++)
		f->parts[i] = (struct s3_part){ .number = i + 1,
						.etag = "",
						.crc64nvme = "" };
	transfer_state_name("upload", item->place, item->path, f->state_name);
	find_earlier(f);
	if (f->id)
		list_parts(f, 0);
	else
		create(f);
	*ret = f;
	return 0;
}
