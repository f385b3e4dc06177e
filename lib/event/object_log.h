/* object_log.h - what the processes of a run did to objects of a store (S3), as the
 * proxy between them saw it.
 *
 * The proxy writes the log beside the journal of the run, `.roar/runs/UID.objects`;
 * `roar run`, or recovery after roar was killed, reads it and removes it:
 *
 *	roar-objects 1
 *	begin TAB n
 *	op TAB pid TAB start_ns TAB end_ns TAB status TAB endpoint TAB bucket TAB key TAB
 *	  version TAB etag TAB size TAB range TAB blake3 TAB sha256 TAB flags TAB
 *	  copy-source TAB upload-id TAB part
 *	end TAB n
 *
 * A request that can change or deliver an object has a `begin` line before it is
 * forwarded, numbered from 1, and its operation has the flag `begun`.  So a proxy that
 * was killed leaves more of the former than of the latter.  The `end` line counts the
 * operations.  A log without it at its end is not complete.  A second heading begins
 * the log of another writer, to whose lines the next counts apply.
 *
 * A field is "-" when it is absent; a name "-" is written %2D.  `range` is `whole` or
 * FIRST-LAST, the bytes of the object that were delivered, the last one included.
 * Names are escaped as line_field.h tells; an object's key is what the client means,
 * without the escapes of its URL.
 *
 * Each line is one write(2) at the end of the file.  A writer belongs to one thread. */
#ifndef ROAR_EVENT_OBJECT_LOG_H
#define ROAR_EVENT_OBJECT_LOG_H

#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"

struct object_log;
struct str;

enum object_op_kind {
	OBJECT_OTHER,
	OBJECT_GET,
	OBJECT_HEAD,
	OBJECT_PUT,
	OBJECT_COPY,
	OBJECT_DELETE,
	OBJECT_CREATE_UPLOAD,
	OBJECT_UPLOAD_PART,
	OBJECT_UPLOAD_PART_COPY,
	OBJECT_COMPLETE_UPLOAD,
	OBJECT_ABORT_UPLOAD,
	OBJECT_LIST,
	OBJECT_OP_KIND_END,
};

enum object_op_flags {
	OBJECT_BEGUN = 1 << 0, /* object_log_begin() announced it */
	OBJECT_UNFINISHED = 1 << 1, /* a body was cut, or no response came */
	OBJECT_ABORTED = 1 << 2, /* the proxy ended it, e.g. a wrong checksum */
};

enum {
	OBJECT_LINE_MAX = 64 * 1024, /* bytes of a line */
	OBJECT_DIGEST_LEN = 32, /* bytes of a BLAKE3 or SHA-256 */
};

/* Strings are never NULL; "" is absent. */
struct object_op {
	enum object_op_kind kind;
	unsigned flags; /* enum object_op_flags */
	int32_t pid; /* of the client; 0: not known */
	int64_t start_ns, end_ns; /* since 1970 */
	int status; /* of HTTP; 0: there was no response */
	const char *
		endpoint; /* the upstream: "https://s3.eu-west-1.amazonaws.com" */
	const char *bucket;
	const char *key;
	const char *version;
	const char *etag; /* without quotes */
	int64_t size; /* of the whole object; -1: not known */
	bool whole; /* all bytes of the object were delivered or stored */
	int64_t first, last; /* else these; last is -1 where none were */
	bool has_blake3, has_sha256; /* of the whole object */
	uint8_t blake3[OBJECT_DIGEST_LEN];
	uint8_t sha256[OBJECT_DIGEST_LEN];
	const char *copy_source; /* "bucket/key", with "?versionId=V" */
	const char *upload_id;
	int64_t part; /* of an upload, from 1; of a complete one, how many; -1: none */
};

#define OBJECT_OP_INIT                          \
	((struct object_op){ .endpoint = "",    \
			     .bucket = "",      \
			     .key = "",         \
			     .version = "",     \
			     .etag = "",        \
			     .size = -1,        \
			     .last = -1,        \
			     .copy_source = "", \
			     .upload_id = "",   \
			     .part = -1 })

/* "get", "put", "upload-part", ...; "?" when unknown. */
const char *object_op_name(enum object_op_kind kind);

/* ---- in the proxy ---- */

/* Opens or creates the log and writes the heading.  Else as open(2) and write(2);
 * -EINVAL when it is not a regular file. */
int object_log_open(int dirfd, const char *path, struct object_log **ret_log);

/* Closes it without an `end` line. */
void object_log_close(struct object_log *log);
DEFINE_CLEANUP(struct object_log *, object_log_close)

/* A line that could not be written is lost.  That is an error of this call and of
 * object_log_end(), which then writes no `end` line.  -EMSGSIZE for a longer line
 * than OBJECT_LINE_MAX. */
int object_log_begin(struct object_log *log);
int object_log_add(struct object_log *log, const struct object_op *op);

/* Writes the `end` line and waits until all is on disk.  Nothing may be added after
 * it. */
int object_log_end(struct object_log *log);

/* ---- in roar ---- */

struct object_log_summary {
	int64_t n_ops; /* read */
	int64_t n_bad; /* lines that are not valid */
	int64_t n_open; /* begun, but their operation is missing */
	bool ended; /* by its writer, with the right count */
};

/* 0 or a negative errno.  The strings are valid during the call. */
typedef int (*object_op_fn)(void *ctx, const struct object_op *op);

/* Calls `fn` for each operation of the log until it fails.  Lines that are not valid are
 * counted.  Fails as `fn` and read(2), and with -EBADMSG when it is not such a log or a
 * line is too long; an empty file is a log that did not end.  Memory does not grow with
 * the log. */
int object_log_read(int fd, object_op_fn fn, void *ctx,
		    struct object_log_summary *ret);

/* The line of an operation, with its newline; and back.  Parsing changes the line, to
 * which the strings point; it ends in NUL instead of newline. */
void object_op_format(const struct object_op *op, struct str *line);
bool object_op_parse(char *line, struct object_op *ret);

#endif
