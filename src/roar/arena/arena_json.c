/* arena_json.c - see arena_show.h */
#include "arena/arena_show.h"

#include "base/json.h"
#include "ui/view.h"

static void add_processes(struct json *j, const struct arena_found *found)
{
	json_put_key(j, "processes");
	json_put_array(j);
	for (size_t i = 0; i < found->n_holders; i++) {
		const struct arena_holder *h = &found->holders[i];

		json_put_object(j);
		view_json_int(j, "pid", h->pid);
		view_json_int(j, "fd", h->fd);
		view_json_text(j, "program", h->program);
		json_end(j);
	}
	json_end(j);
}

static void add_size(struct json *j, const struct arena_inspection *look)
{
	const struct roar_arena_stats *s = &look->stats;

	view_json_int(j, "size_bytes", (int64_t)s->size_bytes);
	view_json_int(j, "used_bytes", (int64_t)s->used_bytes);
	view_json_int(j, "segment_bytes", (int64_t)look->segment_bytes);
	view_json_int(j, "page_bytes", s->page_bytes);
	view_json_int(j, "units", s->n_units);
	view_json_int(j, "units_used", s->n_used);
	view_json_int(j, "producers", s->n_producers);
	view_json_int(j, "consumers", s->n_consumers);
	view_json_bool(j, "broadcast", look->flags & ROAR_ARENA_BROADCAST);
	view_json_bool(j, "shut_down", s->shut_down);
}

static void add_common(struct json *j, const struct arena_seen *s)
{
	view_json_int(j, "inode", (int64_t)s->found->inode);
	add_processes(j, s->found);
	view_json_text(j, "error", s->failed ? s->why : NULL);
	if (!s->failed)
		add_size(j, &s->look);
}

void arena_json_list(struct json *j, const struct arena_seen *s)
{
	json_put_object(j);
	add_common(j, s);
	json_end(j);
}

/* ---- stat ---- */

static void add_waits(struct json *j, uint64_t producer, uint64_t producer_ns,
		      uint64_t consumer, uint64_t consumer_ns)
{
	view_json_int(j, "producer_waits", (int64_t)producer);
	view_json_seconds(j, "producer_wait_s", (int64_t)producer_ns);
	view_json_int(j, "consumer_waits", (int64_t)consumer);
	view_json_seconds(j, "consumer_wait_s", (int64_t)consumer_ns);
}

static void add_totals(struct json *j, const struct roar_arena_stats *s)
{
	json_put_key(j, "totals");
	json_put_object(j);
	view_json_int(j, "committed", (int64_t)s->committed);
	view_json_int(j, "committed_bytes", (int64_t)s->committed_bytes);
	view_json_int(j, "received", (int64_t)s->received);
	view_json_int(j, "released", (int64_t)s->released);
	view_json_int(j, "in_pieces", (int64_t)s->in_pieces);
	view_json_int(j, "reclaimed", (int64_t)s->reclaimed);
	add_waits(j, s->producer_stalls, s->producer_stall_ns,
		  s->consumer_stalls, s->consumer_stall_ns);
	json_end(j);
}

static void add_party(struct json *j, const struct inspected_party *p)
{
	const struct arena_counts *c = &p->counts;

	json_put_object(j);
	view_json_int(j, "place", p->place);
	view_json_int(j, "pid", p->pid);
	view_json_bool(j, "producer", p->roles & ROAR_ARENA_PRODUCER);
	view_json_bool(j, "consumer", p->roles & ROAR_ARENA_CONSUMER);
	view_json_bool(j, "alive", !p->dead);
	view_json_int(j, "committed", (int64_t)c->committed);
	view_json_int(j, "committed_bytes", (int64_t)c->committed_bytes);
	view_json_int(j, "received", (int64_t)c->received);
	add_waits(j, c->producer_stalls, c->producer_stall_ns,
		  c->consumer_stalls, c->consumer_stall_ns);
	json_end(j);
}

static void add_holders(struct json *j, const struct arena_inspection *look,
			uint64_t holders)
{
	json_put_key(j, "holders");
	json_put_array(j);
	for (size_t i = 0; i < look->n_parties; i++)
		if (holders >> look->parties[i].place & 1)
			json_put_int(j, look->parties[i].pid);
	json_end(j);
}

static void add_unit(struct json *j, const struct arena_inspection *look,
		     const struct inspected_unit *u)
{
	const struct inspected_party *owner = arena_party_at(look, u->owner);

	json_put_object(j);
	view_json_int(j, "unit", u->index);
	view_json_text(j, "state", arena_state_word(u->state));
	json_put_key(j, "owner_pid");
	if (owner)
		json_put_int(j, owner->pid);
	else
		json_put_null(j);
	add_holders(j, look, u->holders);
	view_json_seconds(j, "age_s", u->age_ns);
	view_json_int(j, "bytes", (int64_t)u->bytes);
	view_json_int(j, "buffers", (int64_t)u->n_buffers);
	view_json_int(j, "tag", (int64_t)u->tag);
	view_json_int(j, "sequence", (int64_t)u->sequence);
	view_json_int(j, "generation", (int64_t)u->generation);
	json_end(j);
}

void arena_json_stat(struct json *j, const struct arena_seen *s)
{
	const struct arena_inspection *look = &s->look;

	json_put_object(j);
	add_common(j, s);
	if (!s->failed) {
		add_totals(j, &look->stats);
		json_put_key(j, "parties");
		json_put_array(j);
		for (size_t i = 0; i < look->n_parties; i++)
			add_party(j, &look->parties[i]);
		json_end(j);
		json_put_key(j, "slots");
		json_put_array(j);
		for (size_t i = 0; i < look->n_units; i++)
			add_unit(j, look, &look->units[i]);
		json_end(j);
	}
	json_end(j);
}
