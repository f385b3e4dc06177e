/* fuzz_audit.c - an audit file as it is found.
 *
 * Checksums that fit cannot be guessed: the input is bodies of records, each behind its
 * kind and its length, and the target puts heads and sums around them.  Whatever is
 * read must stay within its epoch, and the verdict must follow from the numbers. */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/str.h"
#include "hash/digest/crc64nvme.h"
#include "shard/audit/audit.h"
#include "shard/audit/audit_check.h"
#include "shard/audit/audit_record.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void require(bool promise)
{
	if (!promise)
		abort();
}

static void add_record(struct str *file, uint64_t *chain, uint32_t kind,
		       const uint8_t *body, uint32_t len)
{
	size_t start = file->len;

	str_add(file, &len, sizeof(len));
	str_add(file, &kind, sizeof(kind));
	str_add(file, body, len);
	*chain = crc64nvme(*chain, file->data + start, file->len - start);
	str_add(file, chain, sizeof(*chain));
}

/* A set within a body has a sum of its own, in its last eight bytes. */
static void mend_set(uint8_t *body, size_t len)
{
	for (size_t at = 0; at + 13 <= len; at++) {
		uint64_t crc;

		if (memcmp(body + at, "RRS1", 4) != 0)
			continue;
		crc = crc64nvme(0, body + at, len - at - 8);
		memcpy(body + len - 8, &crc, sizeof(crc));
		return;
	}
}

/* Kind, two bytes of length, body, ...; the rest stands as it is. */
static void make_file(struct str *file, uint8_t *data, size_t len)
{
	uint64_t chain = 0;

	str_add(file, audit_magic, AUDIT_MAGIC_LEN);
	while (len > 3) {
		size_t n = data[1] | (size_t)data[2] << 8;

		if (n > len - 3)
			break;
		mend_set(data + 3, n);
		add_record(file, &chain, data[0], data + 3, (uint32_t)n);
		data += n + 3;
		len -= n + 3;
	}
	str_add(file, data, len);
}

static void check_epoch(const struct audit_epoch *e)
{
	uint64_t known = e->consumed.count + e->dropped.count + e->gaps.count;

	require(e->total && e->total <= SHARD_POSITION_END);
	require(*e->dataset);
	if (audit_epoch_is_exact(e, false))
		require(known == e->total && !e->gaps.n && !e->twice.n &&
			!e->unproven.n);
	if (e->twice.n || e->unproven.n)
		require(!audit_epoch_is_exact(e, true));
	for (size_t i = 0; i < e->n_problems && i < AUDIT_MAX_PROBLEMS; i++)
		require(e->problems[i] && *e->problems[i]);
}

static void check_file(const char *path)
{
	struct roar_error err = { 0 };
	struct audit_check *c;
	struct audit *a = NULL;
	bool whole;
	int r;

	require(audit_check_new(&c) == 0);
	r = audit_check_add(c, path, &err);
	require(r == 0); /* its first bytes are right */
	require(audit_check_finish(c) == 0);
	whole = !audit_check_failure(c, 0);
	for (size_t i = 0; i < audit_check_n(c); i++)
		check_epoch(audit_check_epoch(c, i));
	audit_check_free(c);
	/* Who reads it can write on, and the other way round. */
	require((audit_open(path, &a, &err) == 0) == whole);
	if (a)
		require(audit_close(a) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	int fd = memfd_create("audit", MFD_CLOEXEC); /* no disk to wait for */
	uint8_t *copy = malloc(len ? len : 1);
	struct str file = STR_INIT;
	char path[32];

	require(fd >= 0 && copy);
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (len)
		memcpy(copy, data, len);
	make_file(&file, copy, len);
	require(str_error(&file) == 0);
	require(fd_write_all(fd, file.data, file.len) == 0);
	check_file(path);
	require(close(fd) == 0);
	str_release(&file);
	free(copy);
	return 0;
}
