/* arena_show.c - words, and text for people; see arena_show.h */
#include "arena/arena_show.h"

#include <string.h>

#include "base/clock.h"
#include "base/quote.h"
#include "base/str.h"
#include "ui/table.h"

enum { ROWS = 40 }; /* units listed as text */

const char *arena_roles_word(unsigned roles)
{
	static const char *const words[] = { "none", "producer", "consumer",
					     "producer, consumer" };

	return words[roles & 3];
}

const char *arena_state_word(unsigned state)
{
	static const char *const words[] = {
		[UNIT_FREE] = "free",	[UNIT_WRITING] = "writing",
		[UNIT_READY] = "ready", [UNIT_HELD] = "held",
		[UNIT_CHILD] = "child",
	};

	return state <= UNIT_CHILD ? words[state] : "unknown";
}

const struct inspected_party *
arena_party_at(const struct arena_inspection *look, unsigned place)
{
	for (size_t i = 0; i < look->n_parties; i++)
		if (look->parties[i].place == place)
			return &look->parties[i];
	return NULL;
}

/* ---- one line for each arena ---- */

static const char *role_of(const struct arena_inspection *look, pid_t pid)
{
	unsigned roles = 0;

	for (size_t i = 0; i < look->n_parties; i++)
		if (look->parties[i].pid == pid)
			roles |= look->parties[i].roles;
	return arena_roles_word(roles);
}

/* "4711 python3 (producer), 4712 python3 (consumer)" */
static void add_processes(struct str *out, const struct arena_seen *s)
{
	for (size_t i = 0; i < s->found->n_holders; i++) {
		const struct arena_holder *h = &s->found->holders[i];

		str_addf(out, "%s%d ", i ? ", " : "", (int)h->pid);
		quote_printable(out, h->program, strlen(h->program));
		if (!s->failed)
			str_addf(out, " (%s)", role_of(&s->look, h->pid));
	}
}

static void list_row(struct table *t, const struct arena_seen *s)
{
	const struct roar_arena_stats *stats = &s->look.stats;

	table_number(t, s->found->inode);
	if (s->failed) {
		for (int i = 0; i < 2; i++)
			table_text(t, "-");
		table_text(t, "damaged");
	} else {
		table_size(t, stats->size_bytes);
		table_size(t, stats->used_bytes);
		str_addf(&t->cells, "%u of %u", stats->n_used, stats->n_units);
		table_cell(t);
	}
	add_processes(&t->cells, s);
	table_cell(t);
	table_row(t);
}

void arena_text_list(struct str *out, const struct term *term,
		     const struct arena_seen *seen, size_t n)
{
	static const char *const names[] = { "ARENA", "SIZE",	   "USED",
					     "UNITS", "PROCESSES", NULL };
	struct table t = TABLE_INIT;

	table_head(&t, names);
	for (size_t i = 0; i < n; i++)
		list_row(&t, &seen[i]);
	table_print(&t, out, term, 0);
	table_release(&t);
}

/* ---- all of one arena ---- */

static void add_kind(struct str *out, const struct arena_inspection *look)
{
	const struct roar_arena_stats *s = &look->stats;

	str_adds(out, "  Room:      ");
	format_size(out, s->size_bytes);
	if (look->segment_bytes) {
		str_adds(out, ", ");
		format_count(out, s->n_units, "segment");
		str_adds(out, " of ");
		format_size(out, look->segment_bytes);
	} else {
		str_addf(out, ", up to %u units", s->n_units);
	}
	str_adds(out, ", pages of ");
	format_size(out, s->page_bytes);
	if (look->flags & ROAR_ARENA_BROADCAST)
		str_adds(out, ", each unit goes to all consumers");
	if (look->flags & ROAR_ARENA_PARTITION)
		str_addf(out, ", divided among %u producers", look->n_shares);
	str_adds(out, s->shut_down ? ", shut down\n" : "\n");
}

static void add_waits(struct str *out, const char *who, uint64_t n, uint64_t ns)
{
	str_addf(out, "%s ", who);
	if (!n) {
		str_adds(out, "never");
		return;
	}
	format_count(out, n, "time");
	str_adds(out, ", ");
	clock_format_duration(out, (int64_t)ns);
}

static void add_totals(struct str *out, const struct roar_arena_stats *s)
{
	str_adds(out, "  In use:    ");
	format_size(out, s->used_bytes);
	str_addf(out, ", %u of %u units\n  Committed: ", s->n_used, s->n_units);
	format_count(out, s->committed, "unit");
	str_adds(out, ", ");
	format_size(out, s->committed_bytes);
	str_addf(out, "\n  Received:  %llu, released %llu",
		 (unsigned long long)s->received,
		 (unsigned long long)s->released);
	if (s->in_pieces)
		str_addf(out, ", in pieces %llu",
			 (unsigned long long)s->in_pieces);
	if (s->reclaimed)
		str_addf(out, ", reclaimed from dead processes %llu",
			 (unsigned long long)s->reclaimed);
	str_adds(out, "\n  Waited:    ");
	add_waits(out, "producers", s->producer_stalls, s->producer_stall_ns);
	str_adds(out, "; ");
	add_waits(out, "consumers", s->consumer_stalls, s->consumer_stall_ns);
	str_addc(out, '\n');
}

static void party_row(struct table *t, const struct inspected_party *p)
{
	const struct arena_counts *c = &p->counts;

	table_number(t, (uint64_t)p->pid);
	table_text(t, arena_roles_word(p->roles));
	table_text(t, p->dead ? "dead" : "alive");
	table_number(t, c->committed);
	table_number(t, c->received);
	table_number(t, c->producer_stalls + c->consumer_stalls);
	table_duration(t,
		       (int64_t)(c->producer_stall_ns + c->consumer_stall_ns));
	table_row(t);
}

static void add_parties(struct str *out, const struct term *term,
			const struct arena_inspection *look)
{
	static const char *const names[] = { "PARTY",	  "ROLE",     "STATE",
					     "COMMITTED", "RECEIVED", "WAITS",
					     "WAITED",	  NULL };
	struct table t = TABLE_INIT;

	if (!look->n_parties) {
		str_adds(out, "\n  No process has joined.\n");
		return;
	}
	table_head(&t, names);
	for (size_t i = 0; i < look->n_parties; i++)
		party_row(&t, &look->parties[i]);
	str_addc(out, '\n');
	table_print(&t, out, term, 2);
	table_release(&t);
}

/* Who answers for it; of a broadcast, the consumers that have not released it. */
static void owner_cell(struct table *t, const struct arena_inspection *look,
		       const struct inspected_unit *u)
{
	const struct inspected_party *owner = arena_party_at(look, u->owner);
	bool first = true;

	for (size_t i = 0; i < look->n_parties; i++) {
		const struct inspected_party *p = &look->parties[i];

		if (!(u->holders >> p->place & 1))
			continue;
		str_addf(&t->cells, "%s%d", first ? "" : " ", p->pid);
		first = false;
	}
	if (first && owner)
		str_addf(&t->cells, "%d", owner->pid);
	else if (first)
		str_addc(&t->cells, '-');
	table_cell(t);
}

static void unit_row(struct table *t, const struct arena_inspection *look,
		     const struct inspected_unit *u)
{
	table_number(t, u->index);
	table_text(t, arena_state_word(u->state));
	owner_cell(t, look, u);
	table_duration(t, u->age_ns);
	table_size(t, u->bytes);
	table_number(t, u->n_buffers);
	table_number(t, u->tag);
	table_row(t);
}

static void add_units(struct str *out, const struct term *term,
		      const struct arena_inspection *look)
{
	static const char *const names[] = {
		"UNIT", "STATE", "OWNER", "AGE", "BYTES", "BUFFERS", "TAG", NULL
	};
	struct table t = TABLE_INIT;

	if (!look->n_units) {
		str_adds(out, "\n  No unit is in use.\n");
		return;
	}
	table_head(&t, names);
	for (size_t i = 0; i < look->n_units && i < ROWS; i++)
		unit_row(&t, look, &look->units[i]);
	str_addc(out, '\n');
	table_print(&t, out, term, 2);
	table_release(&t);
	if (look->n_units > ROWS)
		str_addf(out, "  ... and %zu more (--json lists them all)\n",
			 look->n_units - ROWS);
}

void arena_text_stat(struct str *out, const struct term *term,
		     const struct arena_seen *s)
{
	struct str title = STR_INIT;

	str_addf(&title, "Arena %llu", (unsigned long long)s->found->inode);
	term_add(out, term, COLOR_BOLD, str_cstr(&title));
	str_release(&title);
	str_adds(out, "\n  Processes: ");
	add_processes(out, s);
	str_addc(out, '\n');
	add_kind(out, &s->look);
	add_totals(out, &s->look.stats);
	add_parties(out, term, &s->look);
	add_units(out, term, &s->look);
}
