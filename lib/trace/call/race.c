/* race.c - see race.h */
#include "trace/call/race.h"

#include <string.h>

#include "base/map.h"
#include "trace/call/call.h"

static bool is_alone(const struct observer *o)
{
	return !o->catch_up || tree_count(&o->tree) < 2;
}

static bool equal(const struct str *a, const struct str *b)
{
	return a->len == b->len && memcmp(a->data, b->data, a->len) == 0;
}

static uint64_t hash_of(const struct str *path)
{
	return path && path->len ? map_hash(path->data, path->len) | 1 : 0;
}

void race_let_go(struct observer *o, struct tracee *t, const struct str *path,
		 bool removes)
{
	struct race *r = &o->race;
	unsigned i = r->next % RACE_SLOTS;

	if (is_alone(o))
		return;
	t->let_go = hash_of(path);
	r->let_go[i].tid = t->tid;
	r->let_go[i].hash = t->let_go;
	r->let_go[i].removes = removes;
	r->next++;
}

/* Another thread that has not stopped since, as far as is known. */
static bool is_going(const struct observer *o, const struct tracee *t,
		     unsigned i)
{
	const struct tracee *other;

	if (!o->race.let_go[i].hash || o->race.let_go[i].tid == t->tid)
		return false;
	other = tree_find(&o->tree, o->race.let_go[i].tid);
	return other && other->let_go == o->race.let_go[i].hash;
}

bool race_is_on(const struct observer *o, const struct tracee *t,
		const struct str *path)
{
	uint64_t hash;

	if (is_alone(o))
		return false;
	if (o->tree.n_changing)
		return true;
	hash = hash_of(path);
	for (unsigned i = 0; i < RACE_SLOTS; i++)
		if (o->race.let_go[i].removes &&
		    o->race.let_go[i].hash == hash && is_going(o, t, i))
			return true;
	return false;
}

void race_change(struct observer *o, const struct tracee *t,
		 const struct str *path, const struct str *path2, bool any)
{
	uint64_t hash = hash_of(path);
	uint64_t hash2 = hash_of(path2);

	if (is_alone(o))
		return;
	for (unsigned i = 0; i < RACE_SLOTS; i++) {
		uint64_t h = o->race.let_go[i].hash;

		if ((any || h == hash || h == hash2) && is_going(o, t, i)) {
			o->race.let_go[i].hash = 0;
			o->catch_up(o, o->race.let_go[i].tid);
		}
	}
}

static bool has_put(const struct pending *w, const struct str *path,
		    const struct stat *st)
{
	return (w->call == CALL_RENAME || w->call == CALL_LINK) &&
	       w->before.st_ino == st->st_ino &&
	       w->before.st_dev == st->st_dev && equal(&w->path2, path);
}

void race_opened(struct observer *o, const struct str *path,
		 const struct stat *st)
{
	struct tracee *other;
	size_t pos = 0;

	if (is_alone(o) || !o->tree.n_changing)
		return;
	while ((other = map_next(&o->tree.tracees, &pos)))
		if (has_put(&other->pending, path, st))
			call_exit(o, other, 0);
}

const struct tracee *race_returned(const struct observer *o,
				   const struct tracee *t)
{
	const struct tracee *other;
	size_t pos = 0;

	if (is_alone(o) || !o->tree.n_opening || t->pending.call != CALL_RENAME)
		return NULL;
	while ((other = map_next(&o->tree.tracees, &pos)))
		if (other != t && other->pending.call == CALL_OPEN &&
		    equal(&other->pending.path, &t->pending.path2))
			return other;
	return NULL;
}
