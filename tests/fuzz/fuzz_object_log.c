/* fuzz_object_log.c - logs of operations on objects that a proxy left */
#include <assert.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/str.h"
#include "event/object_log.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

/* An operation that we write again reads the same. */
static int check_op(void *ctx, const struct object_op *op)
{
	CLEANUP(str_release) struct str line = STR_INIT;
	struct object_op again;

	++*(int64_t *)ctx;
	object_op_format(op, &line);
	assert(str_error(&line) == 0 && line.data[line.len - 1] == '\n');
	line.data[line.len - 1] = '\0';
	assert(!strchr(line.data, '\n') && object_op_parse(line.data, &again));
	assert(again.kind == op->kind && again.flags == op->flags);
	assert(again.pid == op->pid && again.status == op->status);
	assert(again.start_ns == op->start_ns && again.end_ns == op->end_ns);
	assert(again.size == op->size && again.part == op->part);
	assert(again.whole == op->whole && again.first == op->first &&
	       again.last == op->last);
	assert(strcmp(again.endpoint, op->endpoint) == 0);
	assert(strcmp(again.bucket, op->bucket) == 0);
	assert(strcmp(again.key, op->key) == 0);
	assert(strcmp(again.version, op->version) == 0);
	assert(strcmp(again.etag, op->etag) == 0);
	assert(strcmp(again.copy_source, op->copy_source) == 0);
	assert(strcmp(again.upload_id, op->upload_id) == 0);
	assert(again.has_blake3 == op->has_blake3 &&
	       memcmp(again.blake3, op->blake3, sizeof(op->blake3)) == 0);
	assert(again.has_sha256 == op->has_sha256 &&
	       memcmp(again.sha256, op->sha256, sizeof(op->sha256)) == 0);
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	CLEANUP(closep) int fd = memfd_create("log", MFD_CLOEXEC);
	struct object_log_summary sum;
	int64_t n = 0;

	assert(fd >= 0 && fd_write_all(fd, data, len) == 0);
	assert(lseek(fd, 0, SEEK_SET) == 0);
	if (object_log_read(fd, check_op, &n, &sum) < 0)
		return 0;
	assert(sum.n_ops == n && sum.n_bad >= 0 && sum.n_open >= 0);
	/* A log that ended has an end line. */
	assert(!sum.ended || memmem(data, len, "\nend\t", 5));
	return 0;
}
