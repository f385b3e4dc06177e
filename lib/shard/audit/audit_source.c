/* audit_source.c - the files of an audit, read in turns; see audit_check.h */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "shard/audit/audit_check_internal.h"

enum { TURN_RANGES = 4096 }; /* that a file may tell of in its turn */

static int tell(const struct source *s, int r, struct roar_error *err)
{
	if (r == -ENODATA)
		return error_set(err, r,
				 "'%.500s' is empty: no rank has written there",
				 s->path);
	if (r == -EBADMSG && !s->reader.offset)
		return error_set(err, r,
				 "'%.500s' is not an audit file: name the "
				 "files that the ranks wrote",
				 s->path);
	if (r == -EBADMSG)
		return error_set(
			err, r,
			"audit file '%.500s' is damaged from byte %" PRIu64 " "
			"on: the rest cannot be trusted, use an "
			"undamaged copy",
			s->path, s->reader.offset);
	return error_set(err, r, "cannot read audit file '%.500s': %s", s->path,
			 strerror(-r));
}

/* ---- one file ---- */

void audit_source_release(struct source *s)
{
	audit_reader_release(&s->reader);
	free(s->places);
	free(s->path);
	free(s->failure);
}

/* To its beginning: its first bytes must be those of an audit file. */
static int rewind_source(struct source *s)
{
	CLEANUP(fclosep) FILE *file = fopen(s->path, "re");
	int r = file ? 0 : -errno;

	audit_reader_release(&s->reader);
	s->over = false;
	if (r == 0)
		r = audit_reader_init(&s->reader, file);
	s->reader.file = NULL;
	return r;
}

int audit_source_init(struct source *s, const char *path,
		      struct roar_error *err)
{
	int r;

	*s = (struct source){ .path = strdup(path) };
	if (!s->path)
		return error_set(err, -ENOMEM, "out of memory");
	r = rewind_source(s);
	return r < 0 ? tell(s, r, err) : 0;
}

/* Nothing more of this file; the others go on. */
static int give_up(struct source *s, int r)
{
	struct roar_error err = { 0 };

	s->over = true;
	if (s->failure)
		return 0;
	(void)tell(s, r, &err);
	s->failure = strdup(err.text);
	return s->failure ? 0 : -ENOMEM;
}

/* Reads on until enough ranges were told of.  Files are many and descriptors are few, so
 * it is open during its turn only. */
static int take_turn(struct audit_check *c, struct source *s,
		     audit_source_fn *take)
{
	CLEANUP(fclosep) FILE *file = fopen(s->path, "re");
	size_t n_ranges = 0;
	int r = 1;

	if (!file || fseeko(file, (off_t)s->reader.offset, SEEK_SET) < 0)
		return give_up(s, -errno);
	s->reader.file = file;
	while (r > 0 && n_ranges < TURN_RANGES) {
		CLEANUP(audit_record_release)
		struct audit_record record = { 0 };
		int taken = 0;

		r = audit_reader_next(&s->reader, &record);
		if (r > 0)
			taken = take(c, s, &record);
		if (taken < 0)
			return taken;
		n_ranges += record.ranges.n;
	}
	s->reader.file = NULL;
	s->over = r <= 0;
	if (r == -ENOMEM)
		return r;
	return r < 0 ? give_up(s, r) : 0;
}

/* ---- all of them ---- */

static int read_round(struct audit_check *c, audit_source_fn *take,
		      bool *ret_more)
{
	int r = 0;

	*ret_more = false;
	for (size_t i = 0; i < c->n_sources && r == 0; i++) {
		struct source *s = &c->sources[i];

		if (s->over)
			continue;
		r = take_turn(c, s, take);
		*ret_more |= !s->over;
	}
	return r;
}

int audit_sources_read(struct audit_check *c, audit_source_fn *take)
{
	bool more = true;
	int r = 0;

	for (size_t i = 0; i < c->n_sources && r == 0; i++) {
		r = rewind_source(&c->sources[i]);
		if (r < 0 && r != -ENOMEM)
			r = give_up(&c->sources[i], r);
	}
	while (more && r == 0)
		r = read_round(c, take, &more);
	return r;
}
