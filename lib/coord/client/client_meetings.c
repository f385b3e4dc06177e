/* client_meetings.c - barriers, exchanges of values, votes.
 *
 * The generation says which use of a meeting is meant, so that an arrival that is sent
 * again after a lost connection cannot be taken for the next one.  The first time the
 * coordinator is asked (0: the one under way); its answer says which one that was, and
 * from then on the client counts.  When that first answer may be lost, the second try
 * says so (`again`). */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "coord/client/client.h"
#include "roar_coordinator.pb-c.h"

enum {
	COUNTS_MAX = 4096
}; /* ids that are counted; forgetting one is harmless */

/* ---- counting ---- */

void client_meet_forget(struct roar_coord *c)
{
	struct meet_count *count;
	size_t pos = 0;

	while ((count = map_next(&c->counts, &pos)))
		free(count);
	map_release(&c->counts);
}

/* A client that uses another id each time must not grow: those that nobody waits in go. */
static void make_room(struct roar_coord *c)
{
	struct map kept = MAP_INIT;
	struct meet_count *count;
	size_t pos = 0;

	while ((count = map_next(&c->counts, &pos)))
		if (!count->busy ||
		    map_set(&kept, count->id, strlen(count->id), count) < 0)
			free(count);
	map_release(&c->counts);
	c->counts = kept;
	c->forgot_counts = true;
}

static struct meet_count *count_of(struct roar_coord *c, const char *id)
{
	size_t len = strlen(id);
	struct meet_count *count = map_get(&c->counts, id, len);

	if (count)
		return count;
	if (c->counts.count >= COUNTS_MAX)
		make_room(c);
	count = calloc(1, sizeof(*count) + len + 1);
	if (!count)
		return NULL;
	memcpy(count->id, id, len + 1);
	count->fresh = !c->forgot_counts;
	if (map_set(&c->counts, count->id, len, count) < 0) {
		free(count);
		return NULL;
	}
	return count;
}

/* ---- the request ---- */

static size_t count_group(const char *const *group)
{
	size_t n = 0;

	while (group && group[n])
		n++;
	return n;
}

static int check(const struct roar_coord *c, const struct client_meet *m)
{
	if (c->observer)
		return sentence_fail(
			-EINVAL, "an observer has no place and takes part in "
				 "no meeting: join as a worker");
	if (!m->meet->id || !*m->meet->id || strlen(m->meet->id) > 512)
		return sentence_fail(-EINVAL,
				     "the id of a meeting has 1 to 512 bytes");
	if (m->meet->group && !m->meet->group[0])
		return sentence_fail(-EINVAL,
				     "the group of '%s' is empty: pass NULL "
				     "for all workers",
				     m->meet->id);
	if (m->len > 64 << 10)
		return sentence_fail(-EINVAL,
				     "a value of %zu bytes is too large to be "
				     "gathered: 65536 is the most",
				     m->len);
	return 0;
}

static int make_call(struct client_call *call, struct roar_coord *c,
		     const struct client_meet *m, uint64_t generation)
{
	Roar__MeetRequest request = ROAR__MEET_REQUEST__INIT;

	request.worker_id = c->worker_id;
	request.job_id = (char *)(c->job ? c->job : "");
	request.meeting_id = (char *)m->meet->id;
	request.generation = generation;
	request.kind = (Roar__MeetKind)m->kind;
	request.n_group = count_group(m->meet->group);
	request.group = (char **)m->meet->group;
	request.on_death = (Roar__OnDeath)m->meet->policy;
	request.value.data = (uint8_t *)m->value;
	request.value.len = m->len;
	request.in_favour = m->in_favour;
	request.aside = m->aside;
	request.session = c->session;
	return client_call_init(call, c, METHOD_MEET, &request.base,
				m->meet->timeout_ms);
}

int client_meet_init(struct client_call *call, struct roar_coord *c,
		     const struct client_meet *m)
{
	struct meet_count *count;
	uint64_t generation = m->meet->generation;
	int r;

	assert(client_is_locked(c));
	r = check(c, m);
	if (r < 0)
		return r;
	count = count_of(c, m->meet->id);
	if (!count)
		return sentence_fail(-ENOMEM, "out of memory");
	if (count->busy)
		return sentence_fail(-EBUSY,
				     "this worker waits in '%s' already: a "
				     "meeting is for one thread of each worker",
				     m->meet->id);
	if (!generation)
		generation = count->next;
	r = make_call(call, c, m, generation);
	if (r < 0)
		return r;
	count->busy = true;
	count->asked = generation;
	call->count = count;
	return 0;
}

/* A field may follow the others in a packed message, and the last of a kind counts. */
static void add_fields(struct client_call *call, const Roar__MeetRequest *more)
{
	uint8_t bytes[32];

	str_add(&call->request, bytes, roar__meet_request__pack(more, bytes));
}

/* Without a generation of its own the arrival would be taken for the next use, if the
 * last one counted it already. */
void client_meet_again(struct client_call *call)
{
	Roar__MeetRequest more = ROAR__MEET_REQUEST__INIT;

	if (call->asks_again || !call->count->fresh)
		return;
	more.again = true;
	add_fields(call, &more);
	call->asks_again = true;
}

void client_meet_renew(struct roar_coord *c)
{
	Roar__MeetRequest more = ROAR__MEET_REQUEST__INIT;

	more.session = c->session;
	for (struct client_call *call = c->first; call; call = call->next)
		if (call->count)
			add_fields(call, &more);
}

/* ---- the result ---- */

void API roar_coord_meeting_release(struct roar_coord_meeting *m)
{
	if (!m)
		return;
	for (size_t i = 0; i < m->n_values; i++) {
		free(m->values[i].worker_id);
		free(m->values[i].data);
	}
	free(m->values);
	free(m->late);
	*m = (struct roar_coord_meeting){ 0 };
}

/* "ID=MS,ID=MS" */
static char *late_text(const Roar__MeetReply *reply)
{
	struct str text = STR_INIT;

	str_adds(&text, "");
	for (size_t i = 0; i < reply->n_late; i++)
		str_addf(&text, "%s%s=%lld", i ? "," : "",
			 reply->late[i]->worker_id,
			 (long long)reply->late[i]->late_ms);
	return str_take(&text);
}

static int copy_value(struct roar_coord_value *to, const Roar__MeetValue *from)
{
	to->rank = from->rank;
	to->len = from->value.len;
	to->worker_id = strdup(from->worker_id);
	to->data = malloc(from->value.len + 1);
	if (!to->worker_id || !to->data)
		return -ENOMEM;
	if (from->value.len)
		memcpy(to->data, from->value.data, from->value.len);
	((char *)to->data)[from->value.len] = '\0';
	return 0;
}

static int copy_reply(struct roar_coord_meeting *to,
		      const Roar__MeetReply *from)
{
	to->generation = from->generation;
	to->participants = from->participants;
	to->arrival_order = from->arrival_order;
	to->votes_for = from->votes_for;
	to->votes_against = from->votes_against;
	to->late = late_text(from);
	to->values = calloc(from->n_values + 1, sizeof(*to->values));
	if (!to->late || !to->values)
		return -ENOMEM;
	for (size_t i = 0; i < from->n_values; i++) {
		to->n_values++;
		if (copy_value(&to->values[i], from->values[i]) < 0)
			return -ENOMEM;
	}
	return 0;
}

static void note_use(struct meet_count *count, uint64_t generation)
{
	count->next = generation + 1;
	count->fresh = false;
}

static int read_reply(struct client_call *call, struct roar_coord_meeting *ret)
{
	struct roar_coord_meeting m = { 0 };
	Roar__MeetReply *reply = roar__meet_reply__unpack(
		NULL, call->reply.len, (const uint8_t *)str_cstr(&call->reply));
	int r = 0;

	if (!reply)
		return sentence_fail(-EPROTO,
				     "the coordinator's reply to an arrival is "
				     "malformed");
	note_use(call->count, reply->generation);
	if (ret)
		r = copy_reply(&m, reply);
	roar__meet_reply__free_unpacked(reply, NULL);
	if (r < 0) {
		roar_coord_meeting_release(&m);
		return sentence_fail(r, "out of memory");
	}
	if (ret)
		*ret = m;
	return 0;
}

/* A use that failed may be tried again, as the same; one that is over is not known to
 * this client: it asks again. */
int client_meet_end(struct client_call *call, struct roar_coord_meeting *ret)
{
	int r = client_call_told(call);

	if (r == 0 && !ret && call->count->asked)
		note_use(call->count, call->count->asked);
	else if (r == 0)
		r = read_reply(call, ret);
	if (r == -ESTALE) {
		call->count->next = 0;
		call->count->fresh = false;
	}
	call->count->busy = false;
	return r;
}

/* ---- the promise ---- */

static int meet(struct roar_coord *c, const struct client_meet *m,
		struct roar_coord_meeting *ret)
{
	CLEANUP(client_call_release) struct client_call call = { 0 };
	int r = client_enter(c);

	if (r < 0)
		return r;
	last_error_set_absent(NULL);
	r = client_meet_init(&call, c, m);
	if (r == 0) {
		client_call_begin(&call);
		(void)client_call_wait(&call, INT64_MAX);
		r = client_meet_end(&call, ret);
	}
	client_leave(c);
	return r;
}

API int roar_coord_barrier(struct roar_coord *c, const char *id,
			   uint64_t generation, int64_t timeout_ms,
			   struct roar_coord_meeting *ret)
{
	struct roar_coord_meet m = { .id = id,
				     .generation = generation,
				     .timeout_ms = timeout_ms };

	return roar_coord_meet(c, &m, ret);
}

API int roar_coord_meet(struct roar_coord *c, const struct roar_coord_meet *m,
			struct roar_coord_meeting *ret)
{
	struct client_meet all = { .meet = m,
				   .kind = ROAR__MEET_KIND__BARRIER };

	return meet(c, &all, ret);
}

API int roar_coord_gather(struct roar_coord *c, const struct roar_coord_meet *m,
			  const void *value, size_t len,
			  struct roar_coord_meeting *ret)
{
	struct client_meet all = { .meet = m,
				   .kind = ROAR__MEET_KIND__GATHER,
				   .value = value,
				   .len = len };

	return meet(c, &all, ret);
}

API int roar_coord_vote(struct roar_coord *c, const struct roar_coord_meet *m,
			int in_favour, struct roar_coord_meeting *ret)
{
	struct client_meet all = { .meet = m,
				   .kind = ROAR__MEET_KIND__VOTE,
				   .in_favour = in_favour != 0 };

	return meet(c, &all, ret);
}

/* ---- begun now, told by a turn ---- */

static void begun_done(struct client_call *call)
{
	struct roar_coord *c = call->c;

	call->next = NULL;
	if (c->ended_last)
		c->ended_last->next = call;
	else
		c->ended_first = call;
	c->ended_last = call;
	client_wake(c); /* there may be no turn now that tells it */
}

API int roar_coord_begin_meet(struct roar_coord *c,
			      const struct roar_coord_meet *m,
			      const void *value, size_t len,
			      roar_coord_done done, void *data)
{
	struct client_meet all = { .meet = m,
				   .kind = value ? ROAR__MEET_KIND__GATHER :
						   ROAR__MEET_KIND__BARRIER,
				   .value = value,
				   .len = len };
	struct client_call *call;
	int r = client_enter(c);

	if (r < 0)
		return r;
	call = calloc(1, sizeof(*call));
	r = c->has_thread ?
		    sentence_fail(-EINVAL, "meetings are begun by clients with "
					   "ROAR_COORD_NO_THREAD") :
	    call ? client_meet_init(call, c, &all) :
		   sentence_fail(-ENOMEM, "out of memory");
	if (r < 0) {
		free(call);
		client_leave(c);
		return r;
	}
	call->finish = begun_done;
	call->user_done = done;
	call->user_data = data;
	client_call_begin(call);
	client_leave(c);
	return 0;
}
