/* release.c - what is remembered of a meeting that took place: who came, when and
 * with what, for whoever asks again.
 *
 * A job remembers the last release of each of its meetings, up to a number and to a size;
 * beyond that those are forgotten that lie back longest. */
#include "coord/meetings/meetings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/macros.h"

enum {
	MAX_RELEASES = 64 << 20, /* bytes of remembered releases, per job */
};

/* ---- the record as one block of memory ---- */

static size_t block_size(const Roar__Record__Release *m)
{
	size_t size = sizeof(struct release);

	size += m->n_arrivals *
		(sizeof(struct attendee) + sizeof(struct attendee *));
	size += m->n_missing * sizeof(char *);
	for (size_t i = 0; i < m->n_arrivals; i++)
		size += strlen(m->arrivals[i]->worker_id) + 1 +
			m->arrivals[i]->value.len;
	for (size_t i = 0; i < m->n_missing; i++)
		size += strlen(m->missing[i]) + 1;
	return size;
}

static const void *put(char **at, const void *data, size_t len)
{
	char *here = *at;

	if (len)
		memcpy(here, data, len);
	*at += len;
	return here;
}

static void take_arrival(struct attendee *to, const Roar__Record__Arrival *m,
			 char **at)
{
	to->id = put(at, m->worker_id, strlen(m->worker_id) + 1);
	to->value = put(at, m->value.data, m->value.len);
	to->value_len = m->value.len;
	to->rank = m->rank;
	to->late_ms = m->late_ms;
	to->in_favour = m->in_favour;
	to->numbered = !m->unnumbered;
}

static int by_rank(const void *a, const void *b)
{
	int32_t x = (*(struct attendee *const *)a)->rank;
	int32_t y = (*(struct attendee *const *)b)->rank;

	return x < y ? -1 : x > y;
}

/* Ranks are places where nobody is missing. */
static void find_places(struct release *r)
{
	int32_t last = -1;

	for (size_t i = 0; i < r->n; i++) {
		r->by_id[i] = &r->attendees[i];
		r->attendees[i].place = (uint32_t)r->attendees[i].rank;
		if (r->attendees[i].rank > last)
			last = r->attendees[i].rank;
	}
	if ((size_t)(last + 1) == r->n)
		return;
	qsort(r->by_id, r->n, sizeof(struct attendee *), by_rank);
	for (size_t i = 0; i < r->n; i++)
		r->by_id[i]->place = (uint32_t)i;
}

static struct release *take(const Roar__Record__Release *m)
{
	size_t size = block_size(m);
	struct release *r = calloc(1, size);
	char *at;

	if (!r)
		return NULL;
	r->generation = m->generation;
	r->epoch = m->world_epoch;
	r->released_ms = m->released_ms;
	r->kind = m->kind;
	r->bytes = size;
	r->n = m->n_arrivals;
	r->n_missing = m->n_missing;
	r->by_id = (struct attendee **)(r->attendees + r->n);
	r->missing = (const char **)(r->by_id + r->n);
	at = (char *)(r->missing + r->n_missing);
	for (size_t i = 0; i < r->n; i++)
		take_arrival(&r->attendees[i], m->arrivals[i], &at);
	for (size_t i = 0; i < r->n_missing; i++)
		r->missing[i] = put(&at, m->missing[i],
				    strlen(m->missing[i]) + 1);
	find_places(r);
	return r;
}

/* ---- remembering and forgetting ---- */

static void release_forget(struct meeting *m)
{
	struct job *job = m->job;

	job->n_releases--;
	job->release_bytes -= m->last->bytes;
	free(TAKE_PTR(m->last));
	list_remove(&m->in_releases);
	meeting_tidy(m);
}

void releases_forget(struct job *job)
{
	LIST_EACH(it, after, &job->releases)
		release_forget(container_of(it, struct meeting, in_releases));
}

static void remember(struct meeting *m, struct release *r)
{
	struct job *job = m->job;

	if (m->last) {
		job->n_releases--;
		job->release_bytes -= m->last->bytes;
		free(m->last);
		list_remove(&m->in_releases);
	}
	m->last = r;
	job->n_releases++;
	job->release_bytes += r->bytes;
	list_add(&job->releases, &m->in_releases);
	while (job->n_releases > 1 &&
	       (job->n_releases > job->c->limits.max_meetings ||
		job->release_bytes > MAX_RELEASES))
		release_forget(container_of(job->releases.next, struct meeting,
					    in_releases));
}

int change_release(struct coord *c, const Record *record)
{
	const Roar__Record__Release *m = record->release;
	struct job *job = job_find(c, m->job_id);
	CLEANUP(freep) struct release *r = NULL;
	struct meeting *meeting = NULL;
	int error;

	if (!job || !*m->meeting_id || !m->generation ||
	    m->generation > INT64_MAX || !m->n_arrivals)
		return -EBADMSG;
	r = take(m);
	error = r ? meeting_ensure(job, m->meeting_id, &meeting) : -ENOMEM;
	if (error < 0)
		return error;
	error = record_append(c, record);
	if (error < 0) {
		meeting_tidy(meeting);
		return error;
	}
	remember(meeting, TAKE_PTR(r));
	return 0;
}

/* ---- who was there ---- */

static int compare(const void *a, const void *b)
{
	return strcmp((*(struct attendee *const *)a)->id,
		      (*(struct attendee *const *)b)->id);
}

/* Sorted when it is first asked for: mostly nobody asks. */
struct attendee *release_attendee(struct release *r, const char *id)
{
	struct attendee key = { .id = id }, *wanted = &key, **found;

	if (!r->sorted) {
		for (size_t i = 0; i < r->n; i++)
			r->by_id[i] = &r->attendees[i];
		qsort(r->by_id, r->n, sizeof(struct attendee *), compare);
		r->sorted = true;
	}
	found = bsearch(&wanted, r->by_id, r->n, sizeof(struct attendee *),
			compare);
	return found ? *found : NULL;
}

/* ---- answers ---- */

int answers_reserve(struct answers *a, Roar__MeetKind kind, size_t n)
{
	*a = (struct answers){ 0 };
	if (kind == ROAR__MEET_KIND__BARRIER)
		return 0;
	if (kind == ROAR__MEET_KIND__VOTE)
		n = MAX_DISTINCT;
	a->values = calloc(n, sizeof(*a->values));
	a->value_ptrs = calloc(n, sizeof(*a->value_ptrs));
	if (!a->values || !a->value_ptrs) {
		answers_release(a);
		return -ENOMEM;
	}
	a->n_values = n;
	return 0;
}

void answers_release(struct answers *a)
{
	free(TAKE_PTR(a->values));
	free(TAKE_PTR(a->value_ptrs));
}

static int values_by_rank(const void *a, const void *b)
{
	int32_t x = (*(Roar__MeetValue *const *)a)->rank;
	int32_t y = (*(Roar__MeetValue *const *)b)->rank;

	return x < y ? -1 : x > y;
}

static void set_value(struct answers *a, size_t i, const struct attendee *from)
{
	Roar__MeetValue *v = &a->values[i];

	roar__meet_value__init(v);
	v->worker_id = (char *)from->id;
	v->rank = from->rank;
	v->value.data = (uint8_t *)from->value;
	v->value.len = from->value_len;
	a->value_ptrs[i] = v;
}

static bool has_value(const Roar__MeetValue *v, const struct attendee *of)
{
	return v->value.len == of->value_len &&
	       (!of->value_len ||
		memcmp(v->value.data, of->value, of->value_len) == 0);
}

/* Of a vote: each value once, with the lowest rank that brought it; that nobody brought
 * one is no value. */
static void fill_distinct(struct answers *a, const struct release *r)
{
	size_t n = 0;

	for (size_t i = 0; i < r->n; i++) {
		const struct attendee *from = &r->attendees[i];
		size_t k = 0;

		while (k < n && !has_value(&a->values[k], from))
			k++;
		if (k == MAX_DISTINCT) {
			a->meet.more_values = true;
			continue;
		}
		if (k == n || from->rank < a->values[k].rank)
			set_value(a, k, from);
		n += k == n;
	}
	a->n_values = n == 1 && !a->values[0].value.len ? 0 : n;
}

static void fill_values(struct answers *a, const struct release *r)
{
	if (r->kind == ROAR__MEET_KIND__VOTE)
		fill_distinct(a, r);
	else
		for (size_t i = 0; i < a->n_values; i++)
			set_value(a, i, &r->attendees[i]);
	if (a->n_values)
		qsort(a->value_ptrs, a->n_values, sizeof(Roar__MeetValue *),
		      values_by_rank);
	a->meet.values = a->value_ptrs;
	a->meet.n_values = a->n_values;
}

/* Who came last is at the end; the first of all is not late. */
static size_t fill_late(struct answers *a, const struct release *r)
{
	size_t n = 0;

	for (size_t i = r->n; i-- > 1 && n < MAX_LATE; n++) {
		Coordinator__Lateness *l = &a->late[n];

		coordinator__lateness__init(l);
		l->worker_id = (char *)r->attendees[i].id;
		l->rank = r->attendees[i].rank;
		l->late_ms = r->attendees[i].late_ms;
		a->late_ptrs[n] = l;
	}
	return n;
}

static int64_t votes(const struct release *r, bool in_favour)
{
	int64_t n = 0;

	if (r->kind != ROAR__MEET_KIND__VOTE)
		return 0;
	for (size_t i = 0; i < r->n; i++)
		n += r->attendees[i].in_favour == in_favour;
	return n;
}

void answers_fill(struct answers *a, const struct release *r, const char *id)
{
	size_t n_late = fill_late(a, r);

	a->release = r;
	roar__meet_reply__init(&a->meet);
	a->meet.world_epoch = r->epoch;
	a->meet.meeting_id = (char *)id;
	a->meet.generation = r->generation;
	a->meet.participants = (int64_t)r->n;
	a->meet.late = a->late_ptrs;
	a->meet.n_late = n_late;
	a->meet.votes_for = votes(r, true);
	a->meet.votes_against = votes(r, false);
	a->meet.missing = (char **)r->missing;
	a->meet.n_missing = r->n_missing;
	fill_values(a, r);

	coordinator__barrier_response__init(&a->barrier);
	a->barrier.released = true;
	a->barrier.barrier_id = (char *)id;
	a->barrier.generation = r->generation;
	a->barrier.participants = (int64_t)r->n;
	a->barrier.late = a->late_ptrs;
	a->barrier.n_late = n_late;
}

void answers_send(struct coord *c, struct answers *a, uint64_t call, bool plain,
		  size_t index)
{
	a->meet.arrival_order = a->barrier.arrival_order = (int64_t)index + 1;
	a->meet.place = a->release->attendees[index].place;
	if (plain)
		call_reply(c, call, COORD_OK, &a->barrier, NULL);
	else
		call_reply(c, call, COORD_OK, &a->meet, NULL);
}
