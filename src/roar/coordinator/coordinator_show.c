/* coordinator_show.c - text for people; see coordinator_show.h
 *
 * Names come from elsewhere: none of them reaches the terminal unquoted. */
#include "coordinator/coordinator_show.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/quote.h"
#include "base/str.h"
#include "ui/table.h"

enum {
	VALUE_WIDTH = 60, /* columns of a key's value */
	NAME_WIDTH = 40, /* of ids; there may be ten thousand */
	MISSING_SHOWN = 4, /* ids of those a barrier waits for */
};

static const int64_t MS = 1000000; /* in ns */

void coordinator_word(struct str *out, const ProtobufCEnumDescriptor *type,
		      int value)
{
	const ProtobufCEnumValue *found = protobuf_c_enum_descriptor_get_value(
		type, value);
	const char *name = found ? found->name : "unknown";

	for (; *name; name++)
		str_addc(out, *name >= 'A' && *name <= 'Z' ?
				      (char)(*name - 'A' + 'a') :
				      *name);
}

static void name_cell(struct table *t, const char *name)
{
	quote_printable_cut(&t->cells, name, NAME_WIDTH);
	table_cell(t);
}

static void signed_cell(struct table *t, int64_t n)
{
	str_addf(&t->cells, "%lld", (long long)n);
	table_cell(t);
}

/* ---- status ---- */

static void job_row(struct table *t, const Roar__JobStatus *job)
{
	name_cell(t, job->job_id);
	signed_cell(t, job->world_size);
	signed_cell(t, job->n_alive);
	signed_cell(t, job->settings ? job->settings->min_workers : 0);
	table_text(t, job->ready ? "yes" : "no");
	table_number(t, job->world_epoch);
	signed_cell(t, job->n_barriers);
	signed_cell(t, job->n_keys);
	table_row(t);
}

static void add_server(struct str *out, const struct term *term,
		       const char *address, const Roar__StatusReply *s)
{
	CLEANUP(str_release) struct str shown = STR_INIT;

	quote_printable_cut(&shown, address, 200);
	term_add(out, term, COLOR_BOLD, str_cstr(&shown));
	str_adds(out, "  roar-coordinator ");
	quote_printable_cut(out, s->version, 40);
	str_adds(out, s->stopping ? ", stopping after " : ", up for ");
	clock_format_duration(out, s->uptime_ms * MS);
	if (s->fencing_token)
		str_addf(out, ", leads with token %llu",
			 (unsigned long long)s->fencing_token);
	str_adds(out, "\n  ");
	format_count(out, (uint64_t)s->n_connections, "connection");
	str_adds(out, ", ");
	format_count(out, s->n_requests, "request");
	str_adds(out, ", log of ");
	format_count(out, s->log_records, "record");
	str_adds(out, " in ");
	format_size(out, (uint64_t)s->log_bytes);
	str_addc(out, '\n');
}

void coordinator_text_status(struct str *out, const struct term *term,
			     const char *address, const Roar__StatusReply *s,
			     const Roar__ListJobsReply *jobs)
{
	static const char *const names[] = { "JOB",	 "PLACES", "ALIVE",
					     "NEEDED",	 "READY",  "EPOCH",
					     "BARRIERS", "KEYS",   NULL };
	struct table t = TABLE_INIT;

	add_server(out, term, address, s);
	if (!jobs->n_jobs) {
		str_adds(out, "\n  No jobs.\n");
		return;
	}
	table_head(&t, names);
	for (size_t i = 0; i < jobs->n_jobs; i++)
		job_row(&t, jobs->jobs[i]);
	str_addc(out, '\n');
	table_print(&t, out, term, 2);
	table_release(&t);
}

/* ---- workers ---- */

/* "suspect: its connection ended" */
static void state_cell(struct table *t, const Roar__WorkerView *w)
{
	coordinator_word(&t->cells, &roar__worker_view__state__descriptor,
			 (int)w->state);
	if (w->state != ROAR__WORKER_VIEW__STATE__ALIVE && *w->reason) {
		str_adds(&t->cells, ": ");
		quote_printable_cut(&t->cells, w->reason, NAME_WIDTH);
	}
	table_cell(t);
}

static void doing_cells(struct table *t, const Coordinator__WorkerStatus *s)
{
	if (!s) {
		table_text(t, "-");
		table_text(t, "-");
		return;
	}
	coordinator_word(&t->cells,
			 &coordinator__worker_status__state__descriptor,
			 (int)s->state);
	if (*s->current_task) {
		str_adds(&t->cells, ": ");
		quote_printable_cut(&t->cells, s->current_task, NAME_WIDTH);
	}
	table_cell(t);
	str_addf(&t->cells, "%lld/%lld", (long long)s->current_epoch,
		 (long long)s->current_step);
	table_cell(t);
}

static void worker_row(struct table *t, const Roar__WorkerView *w)
{
	signed_cell(t, w->rank);
	name_cell(t, w->worker_id);
	state_cell(t, w);
	table_duration(t, w->heartbeat_age_ms * MS);
	doing_cells(t, w->status);
	table_number(t, w->incarnation);
	name_cell(t, w->hostname);
	table_row(t);
}

void coordinator_text_workers(struct str *out, const struct term *term,
			      const struct coordinator_workers *w)
{
	static const char *const names[] = { "RANK",  "WORKER", "STATE",
					     "HEARD", "DOING",	"EPOCH/STEP",
					     "LIFE",  "HOST",	NULL };
	struct table t = TABLE_INIT;
	size_t n = 0;

	table_head(&t, names);
	for (size_t p = 0; p < w->n; p++)
		for (size_t i = 0; i < w->pages[p]->n_workers; i++, n++)
			worker_row(&t, w->pages[p]->workers[i]);
	if (n)
		table_print(&t, out, term, 0);
	else
		str_adds(out, "The job has no workers.\n");
	table_release(&t);
}

/* ---- barriers ---- */

static void missing_cell(struct table *t, const Roar__BarrierView *b)
{
	size_t shown = b->n_missing < MISSING_SHOWN ? b->n_missing :
						      MISSING_SHOWN;
	int64_t rest = (int64_t)b->expected - b->arrived - (int64_t)shown;

	for (size_t i = 0; i < shown; i++) {
		str_adds(&t->cells, i ? ", " : "");
		quote_printable_cut(&t->cells, b->missing[i], NAME_WIDTH);
	}
	if (rest > 0)
		str_addf(&t->cells, " and %lld more", (long long)rest);
	if (!shown)
		str_addc(&t->cells, '-');
	table_cell(t);
}

static void barrier_row(struct table *t, const Roar__BarrierView *b)
{
	name_cell(t, b->meeting_id);
	table_number(t, b->generation);
	coordinator_word(&t->cells, &roar__meet_kind__descriptor, (int)b->kind);
	table_cell(t);
	str_addf(&t->cells, "%d of %d", b->arrived, b->expected);
	table_cell(t);
	table_duration(t, b->age_ms * MS);
	missing_cell(t, b);
	table_row(t);
}

void coordinator_text_barriers(struct str *out, const struct term *term,
			       const Roar__ListBarriersReply *b)
{
	static const char *const names[] = { "BARRIER", "USE",	   "KIND",
					     "ARRIVED", "WAITING", "MISSING",
					     NULL };
	struct table t = TABLE_INIT;

	if (!b->n_barriers) {
		str_adds(out, "No worker waits at a barrier.\n");
		return;
	}
	table_head(&t, names);
	for (size_t i = 0; i < b->n_barriers; i++)
		barrier_row(&t, b->barriers[i]);
	table_print(&t, out, term, 0);
	table_release(&t);
}

/* ---- keys ---- */

static void value_cell(struct table *t, const ProtobufCBinaryData *value)
{
	size_t shown = value->len < VALUE_WIDTH ? value->len : VALUE_WIDTH;

	quote_printable(&t->cells, (const char *)value->data, shown);
	if (shown < value->len)
		str_addf(&t->cells, "... (%zu bytes)", value->len);
	table_cell(t);
}

static void key_row(struct table *t, const Roar__KvEntry *e)
{
	quote_printable_cut(&t->cells, e->key, VALUE_WIDTH);
	table_cell(t);
	table_number(t, e->version);
	if (e->expires_in_ms)
		table_duration(t, e->expires_in_ms * MS);
	else
		table_text(t, "never");
	value_cell(t, &e->value);
	table_row(t);
}

void coordinator_text_keys(struct str *out, const struct term *term,
			   const struct coordinator_keys *k)
{
	static const char *const names[] = { "KEY", "VERSION", "EXPIRES",
					     "VALUE", NULL };
	struct table t = TABLE_INIT;
	size_t n = 0;

	table_head(&t, names);
	for (size_t p = 0; p < k->n; p++)
		for (size_t i = 0; i < k->pages[p]->n_entries; i++, n++)
			key_row(&t, k->pages[p]->entries[i]);
	if (n)
		table_print(&t, out, term, 0);
	else
		str_adds(out, "No such key.\n");
	table_release(&t);
}
