/* translate_sums.c - bytes read and written, for the record of the run */
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "trace/ebpf/translate.h"
#include "trace/sums.h"
#include "trace/tracer.h"

static uint64_t dev_of(uint32_t dev)
{
	return makedev(dev >> 20, dev & 0xfffff);
}

void translate_sums(struct translator *t, const struct wire_record *r)
{
	const char *at = wire_strings_of(r).name2;
	const char *end = at + r->name2_len;
	struct wire_sum sum;

	if (!t->job->sums)
		return;
	for (; at + sizeof(sum) <= end; at += sizeof(sum)) {
		memcpy(&sum, at, sizeof(sum));
		sums_add(t->job->sums, dev_of(sum.dev), sum.ino, sum.generation,
			 sum.bytes_read, sum.bytes_written);
	}
}

/* Callers of sums_find() use the numbers that stat() reports. */
static void add_alias(struct translator *t, const struct wire_record *r)
{
	struct stat st;

	if (lstat(t->path.data, &st) < 0 || !S_ISREG(st.st_mode))
		return;
	sums_add(t->job->sums, dev_of(r->dev), r->ino, (uint32_t)r->aux, 0, 0);
	sums_alias(t->job->sums, dev_of(r->dev), r->ino, st.st_dev, st.st_ino);
}

void translate_sums_open(struct translator *t, const struct wire_record *r)
{
	if (!t->job->sums || !S_ISREG(r->mode))
		return;
	if (r->flags & WIRE_CREATE)
		sums_create(t->job->sums, dev_of(r->dev), r->ino,
			    (uint32_t)r->aux,
			    (int64_t)r->time_ns + t->clock_ns);
	if (!translate_stamps_agree(t, r, t->path.data))
		add_alias(t, r);
}
