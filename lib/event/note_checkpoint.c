/* note_checkpoint.c - the payload of notes about checkpoints; see note.h */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/map.h"
#include "base/pool.h"
#include "base/str.h"
#include "event/line_field.h"
#include "event/note.h"

enum { SHARDS_MAX = 65536 }; /* lines of a note; the totals count all */

/* ---- what the processes of the run have taken so far ---- */

/* The samples of one shard, rank and epoch, by all processes. */
struct intake {
	struct intake *next; /* in the order of the first report */
	struct note_shard shard;
};

struct intakes {
	struct pool pool;
	struct map by_line; /* the line of the shard with 0 samples -> intake */
	struct intake *first, **end;
};

static void intakes_release(struct intakes *all)
{
	map_release(&all->by_line);
	pool_release(&all->pool);
}

static struct intake *add_intake(struct intakes *all, const struct str *line,
				 const struct note_shard *shard)
{
	struct intake *in = pool_zalloc(&all->pool, sizeof(*in));
	const char *key = pool_dup(&all->pool, line->data, line->len);

	if (!in || !key)
		return NULL;
	in->shard = *shard;
	in->shard.dataset = pool_strdup(&all->pool, shard->dataset);
	in->shard.path = pool_strdup(&all->pool, shard->path);
	if (!in->shard.dataset || !in->shard.path ||
	    map_set(&all->by_line, key, line->len, in) < 0)
		return NULL;
	*all->end = in;
	all->end = &in->next;
	return in;
}

static int add_shard(struct intakes *all, struct note_shard *shard)
{
	CLEANUP(str_release) struct str line = STR_INIT;
	int64_t n_samples = shard->n_samples;
	struct intake *in;

	shard->n_samples = 0;
	note_shard_add(&line, shard);
	if (str_error(&line) < 0)
		return -ENOMEM;
	in = map_get(&all->by_line, line.data, line.len);
	if (!in)
		in = add_intake(all, &line, shard);
	if (!in)
		return -ENOMEM;
	if (__builtin_add_overflow(in->shard.n_samples, n_samples,
				   &in->shard.n_samples))
		in->shard.n_samples = INT64_MAX;
	return 0;
}

static int add_note(void *ctx, struct note *note)
{
	struct note_shard shard;
	char *rest = note->payload;
	int r = 0;

	while (r == 0 && note_shard_next(&rest, &shard))
		r = add_shard(ctx, &shard);
	return r;
}

/* `run` is ".../.roar/runs/UID". */
static int read_shards(const char *run, struct intakes *all)
{
	CLEANUP(freep) char *project = strdup(run);
	CLEANUP(closep) int fd = -1;
	char *uid = project ? strrchr(project, '/') : NULL;

	if (!uid)
		return -ENOMEM;
	*uid = '\0';
	*strrchr(project, '/') = '\0';
	fd = open(project, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -errno :
			note_read_all(fd, uid + 1, NOTE_SHARDS, add_note, all);
}

/* ---- writing ---- */

void note_checkpoint_add(struct str *payload, const struct note_checkpoint *c)
{
	str_addf(payload, "%lld\t%lld\t%lld\t%lld\t%lld\t", (long long)c->step,
		 (long long)c->world_size, (long long)c->committed_ns,
		 (long long)c->n_shards, (long long)c->n_samples);
	note_hex_add(payload, c->manifest);
	str_addc(payload, '\t');
	line_field_add_name(payload, *c->parent ? c->parent : "-");
	str_addc(payload, '\t');
	line_field_add_name(payload, c->dir);
	str_addc(payload, '\n');
}

static void add_lines(struct str *payload, const struct intakes *all)
{
	size_t n = 0;

	for (const struct intake *in = all->first; in && n < SHARDS_MAX;
	     in = in->next, n++)
		note_shard_add(payload, &in->shard);
}

static void count(const struct intakes *all, struct note_checkpoint *c)
{
	c->n_shards = 0;
	c->n_samples = 0;
	for (const struct intake *in = all->first; in; in = in->next) {
		c->n_shards++;
		if (__builtin_add_overflow(c->n_samples, in->shard.n_samples,
					   &c->n_samples))
			c->n_samples = INT64_MAX;
	}
}

int note_checkpoint_report(const struct note_checkpoint *checkpoint)
{
	CLEANUP(freep)
	char *dir = strstr(checkpoint->dir, "://") ?
			    strdup(checkpoint->dir) :
			    realpath(checkpoint->dir, NULL);
	CLEANUP(str_release) struct str run = STR_INIT;
	CLEANUP(str_release) struct str payload = STR_INIT;
	CLEANUP(intakes_release) struct intakes all = { 0 };
	struct note_checkpoint c = *checkpoint;
	uint32_t number = 0;
	int r = dir ? note_find_run(&run) : -errno;

	c.dir = dir;
	all.end = &all.first;
	if (r == 0)
		r = read_shards(run.data, &all);
	if (r < 0)
		return r;
	c.committed_ns = clock_now_ns();
	count(&all, &c);
	note_checkpoint_add(&payload, &c);
	add_lines(&payload, &all);
	r = str_error(&payload);
	return r < 0 ? r :
		       note_write(run.data, NOTE_CHECKPOINTS, &number,
				  payload.data, payload.len);
}

/* ---- reading ---- */

bool note_checkpoint_read(char **rest, struct note_checkpoint *ret)
{
	char *line = line_field_cut(rest, '\n');
	int64_t *const numbers[] = { &ret->step, &ret->world_size,
				     &ret->committed_ns, &ret->n_shards,
				     &ret->n_samples };
	char *hex, *parent;

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		char *field = line ? line_field_cut(&line, '\t') : NULL;

		if (!field || !line_field_number(field, numbers[i]))
			return false;
	}
	hex = line_field_cut(&line, '\t');
	parent = hex ? line_field_cut(&line, '\t') : NULL;
	if (!parent || !note_hex_read(hex, ret->manifest) ||
	    !line_field_unescape(parent) || !line_field_unescape(line) ||
	    !*line)
		return false;
	ret->parent = strcmp(parent, "-") ? parent : "";
	ret->dir = line;
	return true;
}
