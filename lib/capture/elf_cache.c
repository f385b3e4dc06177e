/* elf_cache.c - notes of ELF files that were read before */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/vec.h"
#include "capture/libraries_internal.h"
#include "capture/package_database.h"

enum { RECORDS_MAX = 8192 };

struct elf_record {
	struct stamp stamp; /* the key */
	int32_t result; /* of elf_notes_read() */
	struct elf_notes notes;
	uint32_t sum; /* of all before it */
};

static uint32_t sum_of(const struct elf_record *r)
{
	const unsigned char *bytes = (const unsigned char *)r;
	uint64_t hash = 14695981039346656037ull;
	uint64_t word;

	for (size_t i = 0; i + 8 <= offsetof(struct elf_record, sum); i += 8) {
		memcpy(&word, bytes + i, 8);
		hash = (hash ^ word) * 1099511628211ull;
	}
	return (uint32_t)(hash >> 32) | 1;
}

/* What is in the file. */
static void load(struct elf_cache *c)
{
	const struct elf_record *r;
	size_t n;

	if (package_file_read(AT_FDCWD, c->path,
			      RECORDS_MAX * sizeof(struct elf_record),
			      &c->file) < 0)
		return;
	r = (const struct elf_record *)c->file.data;
	n = c->file.len / sizeof(*r);
	for (size_t i = 0; i < n; i++)
		if (r[i].sum == sum_of(&r[i]))
			(void)map_set(&c->known, &r[i].stamp,
				      sizeof(r[i].stamp), (void *)&r[i]);
}

int elf_cache_init(struct elf_cache *c, const char *dir)
{
	*c = (struct elf_cache){ 0 };
	if (!dir)
		return 0;
	c->path = pool_printf(&c->pool, "%s/elf-notes", dir);
	if (!c->path)
		return -ENOMEM;
	load(c);
	return 0;
}

void elf_cache_release(struct elf_cache *c)
{
	str_release(&c->file);
	map_release(&c->known);
	pool_release(&c->pool);
	free(c->fresh);
}

/* A file whose stamp is not that which the run saw is another one. */
static int read_file(const char *path, const struct stamp *stamp,
		     struct elf_notes *ret)
{
	CLEANUP(closep)
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stamp now;
	struct stat st;

	if (fd < 0 || fd_stat(fd, &st) < 0)
		return -errno;
	now = stamp_of(&st);
	if (!S_ISREG(st.st_mode) || !stamp_equal(&now, stamp))
		return -ESTALE;
	return elf_notes_read(fd, ret);
}

static void keep(struct elf_cache *c, const struct stamp *stamp, int result,
		 const struct elf_notes *notes)
{
	struct elf_record *r = pool_zalloc(&c->pool, sizeof(*r));
	struct elf_record **slot;

	if (!r)
		return;
	r->stamp = *stamp;
	r->result = result;
	if (result == 0)
		r->notes = *notes;
	r->sum = sum_of(r);
	slot = VEC_PUSH(c->fresh, c->n_fresh, c->cap_fresh);
	if (slot)
		*slot = r;
}

int elf_cache_read(struct elf_cache *c, const char *path,
		   const struct stamp *stamp, struct elf_notes *ret)
{
	const struct elf_record *known = map_get(&c->known, stamp,
						 sizeof(*stamp));
	int r;

	if (known) {
		if (known->result == 0)
			*ret = known->notes;
		return known->result;
	}
	r = read_file(path, stamp, ret);
	if (c->path && (r == 0 || r == -ENOEXEC || r == -EBADMSG) &&
	    !stamp_is_racy(stamp, clock_now_ns()))
		keep(c, stamp, r, ret);
	return r;
}

void elf_cache_save(struct elf_cache *c)
{
	CLEANUP(str_release) struct str text = STR_INIT;
	size_t old = c->known.count * sizeof(struct elf_record);

	if (!c->path || !c->n_fresh)
		return;
	/* A full one starts anew. */
	if (c->known.count + c->n_fresh < RECORDS_MAX && old == c->file.len)
		str_add(&text, c->file.data, c->file.len);
	for (size_t i = 0; i < c->n_fresh && i < RECORDS_MAX; i++)
		str_add(&text, c->fresh[i], sizeof(*c->fresh[i]));
	if (str_error(&text) == 0)
		package_cache_save(c->path, text.data, text.len);
}
