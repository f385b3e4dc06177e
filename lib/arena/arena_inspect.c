/* arena_inspect.c - see arena_inspect.h
 *
 * Read by pread(2), not mapped: whatever is done to the file meanwhile, nothing worse
 * than a short read comes of it. */
#include "arena/arena_inspect.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "arena/process_alive.h"
#include "arena/protocol/failure.h"
#include "arena/protocol/geometry.h"
#include "base/cleanup.h"
#include "base/vec.h"

enum { AT_ONCE = 512 }; /* units in one read */

static int read_at(int fd, void *to, size_t len, uint64_t at)
{
	ssize_t n;

	do
		n = pread(fd, to, len, (off_t)at);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return failure(-errno, "the arena cannot be read: %s",
			       strerror(errno));
	if ((size_t)n != len)
		return failure(
			-EINVAL,
			"the memory of the arena is truncated: make a new one");
	return 0;
}

static int read_geometry(int fd, struct arena_inspection *found,
			 struct arena_geometry *ret)
{
	struct arena_header header;
	struct stat st;
	int r;

	if (fstat(fd, &st) < 0)
		return failure(-errno, "the arena cannot be read: %s",
			       strerror(errno));
	if (st.st_size < (off_t)sizeof(header))
		return failure(-EINVAL, "a file of %lld bytes is not an arena",
			       (long long)st.st_size);
	r = read_at(fd, &header, sizeof(header), 0);
	if (r < 0)
		return r;
	r = geometry_from_header(&header, (uint64_t)st.st_size, ret);
	if (r < 0)
		return r;
	found->flags = ret->flags;
	found->n_shares = ret->n_shares;
	found->segment_bytes = ret->segment_bytes;
	found->stats.size_bytes = ret->size_bytes;
	found->stats.n_units = ret->n_units;
	found->stats.page_bytes = header.page_bytes;
	found->stats.shut_down = header.shutdown != 0;
	return 0;
}

/* ---- parties ---- */

static void add_counts(struct roar_arena_stats *s, const struct arena_counts *c)
{
	s->committed += c->committed;
	s->committed_bytes += c->committed_bytes;
	s->received += c->received;
	s->released += c->released;
	s->in_pieces += c->in_pieces;
	s->reclaimed += c->reclaimed;
	s->producer_stalls += c->producer_stalls;
	s->producer_stall_ns += c->producer_stall_ns;
	s->consumer_stalls += c->consumer_stalls;
	s->consumer_stall_ns += c->consumer_stall_ns;
}

/* Nobody may have noticed yet that a party is dead.  A pid of another namespace means
 * another process here. */
static bool is_dead(const struct arena_party *p)
{
	CLEANUP(closep) int fd = -1;
	struct pollfd ended = { .events = POLLIN };

	if (party_state(p->word) == PARTY_SWEEPING)
		return true;
	if (p->pid_space && p->pid_space != process_alive_pid_space())
		return false;
	fd = process_alive_open(party_pid(p->word), p->started);
	if (fd < 0)
		return fd == PROCESS_GONE;
	ended.fd = fd;
	return poll(&ended, 1, 0) > 0;
}

static void add_party(struct arena_inspection *found, unsigned place,
		      const struct arena_party *p)
{
	struct inspected_party *to = &found->parties[found->n_parties];
	unsigned state = party_state(p->word);

	add_counts(&found->stats, &p->counts);
	if (state != PARTY_ALIVE && state != PARTY_SWEEPING)
		return;
	*to = (struct inspected_party){
		.place = place,
		.pid = party_pid(p->word),
		.roles = party_roles(p->word),
		.share = (unsigned)p->share,
		.dead = is_dead(p),
		.counts = p->counts,
	};
	found->n_parties++;
	if (!to->dead && to->roles & ROAR_ARENA_PRODUCER)
		found->stats.n_producers++;
	if (!to->dead && to->roles & ROAR_ARENA_CONSUMER)
		found->stats.n_consumers++;
}

static int read_parties(int fd, struct arena_inspection *found)
{
	static const size_t size = ARENA_PARTIES * sizeof(struct arena_party);
	CLEANUP(freep) struct arena_party *parties = malloc(size);
	int r;

	if (!parties)
		return failure(-ENOMEM, "out of memory");
	r = read_at(fd, parties, size, 4096);
	for (unsigned i = 0; r == 0 && i < ARENA_PARTIES; i++)
		add_party(found, i, &parties[i]);
	return r;
}

/* ---- units ---- */

static int64_t now_ns(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static uint64_t room_of(const struct arena_geometry *g,
			const struct arena_unit *u)
{
	if (g->segment_bytes)
		return g->segment_stride;
	return (u->extent & 0xffffffff) << g->block_shift;
}

static int add_unit(struct arena_inspection *found, size_t *cap, uint32_t index,
		    const struct arena_unit *u, int64_t now)
{
	struct inspected_unit *to = VEC_PUSH(found->units, found->n_units,
					     *cap);
	int64_t age = now - (int64_t)u->changed_ns;

	if (!to)
		return failure(-ENOMEM, "out of memory");
	*to = (struct inspected_unit){
		.index = index,
		.state = unit_state(u->word),
		.owner = unit_owner(u->word),
		.holders = u->holders & ~ARENA_GUARD,
		.bytes = u->bytes,
		.n_buffers = u->n_buffers,
		.tag = u->tag,
		.sequence = u->sequence,
		.generation = unit_generation(u->word),
		.age_ns = age > 0 ? age : 0,
	};
	return 0;
}

static int read_units(int fd, const struct arena_geometry *g,
		      struct arena_inspection *found)
{
	struct arena_unit units[AT_ONCE];
	int64_t now = now_ns();
	size_t cap = 0;

	for (uint32_t first = 0; first < g->n_units; first += AT_ONCE) {
		uint32_t left = g->n_units - first;
		uint32_t n = left < AT_ONCE ? left : AT_ONCE;
		int r = read_at(fd, units, n * sizeof(*units),
				g->units_at + first * sizeof(*units));

		for (uint32_t i = 0; r == 0 && i < n; i++) {
			if (unit_state(units[i].word) == UNIT_FREE)
				continue;
			found->stats.used_bytes += room_of(g, &units[i]);
			r = add_unit(found, &cap, first + i, &units[i], now);
		}
		if (r < 0)
			return r;
	}
	found->stats.n_used = (uint32_t)found->n_units;
	return 0;
}

int arena_inspect(int fd, struct arena_inspection *ret)
{
	struct arena_inspection found = { 0 };
	struct arena_geometry g;
	int r;

	r = read_geometry(fd, &found, &g);
	if (r == 0)
		r = read_parties(fd, &found);
	if (r == 0)
		r = read_units(fd, &g, &found);
	if (r < 0) {
		arena_inspection_release(&found);
		return r;
	}
	*ret = found;
	return 0;
}

void arena_inspection_release(struct arena_inspection *found)
{
	free(found->units);
	*found = (struct arena_inspection){ 0 };
}
