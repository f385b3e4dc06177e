/* death.c - who has died, and telling it
 *
 * Each handle watches the others by pidfds of its own, which it looks at when it has
 * waited for a while.  The first that finds one dead sweeps it; everybody learns of it
 * from the place's `died` word, which a handle compares with the one it knew. */
#include "arena/death.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "arena/arena.h"
#include "arena/piece.h"
#include "arena/process_alive.h"
#include "base/clock.h"
#include "base/proc.h"

#define LOOK_EVERY_NS 10000000ULL

void deaths_init(struct deaths *d)
{
	for (unsigned i = 0; i < ARENA_PARTIES; i++)
		d->peers[i].pidfd = PROCESS_UNKNOWN;
	d->pid_space = process_alive_pid_space();
}

void deaths_release(struct deaths *d)
{
	for (unsigned i = 0; i < ARENA_PARTIES; i++) {
		if (d->peers[i].pidfd >= 0)
			(void)close(d->peers[i].pidfd);
		if (i < d->n_expected && d->expected[i].pidfd >= 0)
			(void)close(d->expected[i].pidfd);
	}
	d->n_expected = 0;
}

/* Only who dies from now on is news. */
void deaths_begin(struct roar_arena *a)
{
	for (unsigned i = 0; i < ARENA_PARTIES; i++) {
		uint64_t died = shared_load(&a->map.parties[i].died);

		a->deaths.told[i] = died;
		a->deaths.at_join[i] = died;
	}
	atomic_store(&a->deaths.count, shared_load(&a->map.header->deaths));
}

/* ---- watching ---- */

static bool same_process(uint64_t a, uint64_t b)
{
	return party_nth(a) == party_nth(b) && party_pid(a) == party_pid(b);
}

static void forget_peer(struct peer *peer)
{
	if (peer->pidfd >= 0)
		(void)close(peer->pidfd);
	*peer = (struct peer){ .pidfd = PROCESS_UNKNOWN };
}

static void watch_peer(struct roar_arena *a, unsigned place, uint64_t word)
{
	const struct arena_party *p = &a->map.parties[place];
	struct peer *peer = &a->deaths.peers[place];
	/* Who was killed while it joined has not written these. */
	bool joining = party_state(word) == PARTY_JOINING;
	uint64_t started = joining ? 0 : shared_load(&p->started);
	bool here; /* do pids mean the same to it? */

	if (same_process(peer->word, word))
		return;
	forget_peer(peer);
	here = joining || shared_load(&p->pid_space) == a->deaths.pid_space;
	if (here)
		peer->pidfd = process_alive_open(party_pid(word), started);
	/* Who cannot be told of now is asked for again. */
	if (!joining && !(here && peer->pidfd == PROCESS_UNKNOWN))
		peer->word = word;
}

static bool is_dead(int pidfd)
{
	struct pollfd p = { .fd = pidfd, .events = POLLIN };

	return pidfd == PROCESS_GONE || (pidfd >= 0 && poll(&p, 1, 0) > 0);
}

static void check_place(struct roar_arena *a, unsigned place)
{
	uint64_t word = shared_load(&a->map.parties[place].word);
	struct peer *peer = &a->deaths.peers[place];
	unsigned state = party_state(word);
	int n;

	if (state != PARTY_ALIVE && state != PARTY_JOINING) {
		forget_peer(peer);
		return;
	}
	if (place == arena_me(a) || party_pid(word) == a->pid)
		return;
	watch_peer(a, place, word);
	if (!is_dead(peer->pidfd))
		return;
	n = sweep_party(&a->map, arena_me(a), place, word);
	if (n > 0)
		shared_count(&arena_counts(a)->reclaimed, (uint64_t)n);
}

int deaths_inherit(struct roar_arena *a, unsigned place, bool any,
		   unsigned roles, int none)
{
	unsigned end = any ? ARENA_PARTIES : place + 1;
	struct peer *peers = a->deaths.peers;

	for (unsigned i = place; i < end; i++) {
		uint64_t word = shared_load(&a->map.parties[i].word);
		unsigned state = party_state(word);

		if ((state != PARTY_ALIVE && state != PARTY_JOINING) ||
		    party_pid(word) == a->pid)
			continue;
		watch_peer(a, i, word);
		if (is_dead(peers[i].pidfd) &&
		    sweep_inherit(&a->map, i, word, a->pid, roles) >= 0)
			return (int)i;
	}
	return none;
}

/* ---- telling ---- */

static void describe_end(const struct roar_arena_death *d, char *text,
			 size_t size)
{
	const char *name = d->known && WIFSIGNALED(d->status) ?
				   sigabbrev_np(WTERMSIG(d->status)) :
				   NULL;

	if (name)
		(void)snprintf(text, size, "was killed by signal %d (SIG%s)",
			       WTERMSIG(d->status), name);
	else if (d->known && WIFSIGNALED(d->status))
		(void)snprintf(text, size, "was killed by signal %d",
			       WTERMSIG(d->status));
	else if (d->known)
		(void)snprintf(text, size, "ended with status %d",
			       WEXITSTATUS(d->status));
	else
		(void)snprintf(text, size, "is gone");
}

static int tell(struct roar_arena *a, int pid, unsigned roles)
{
	struct roar_arena_death *d = &a->deaths.last;
	char end[64];

	*d = (struct roar_arena_death){ .pid = pid, .roles = roles };
	d->known = process_alive_status(pid, &d->status);
	a->deaths.any = true;
	describe_end(d, end, sizeof(end));
	return failure(-ECONNRESET, "%s %d of the arena %s%s",
		       !roles			   ? "process" :
		       roles & ROAR_ARENA_PRODUCER ? "producer" :
						     "consumer",
		       pid, end,
		       roles ? " without leaving it" : " before it joined");
}

static int tell_producer(struct roar_arena *a)
{
	for (unsigned i = 0; i < ARENA_PARTIES; i++) {
		uint64_t died = shared_load(&a->map.parties[i].died);

		if (died == a->deaths.told[i])
			continue;
		a->deaths.told[i] = died;
		if (!(party_roles(died) & ROAR_ARENA_PRODUCER))
			continue;
		piece_forget(a, i);
		return tell(a, party_pid(died), party_roles(died));
	}
	return 0;
}

/* Who waits for one that is dead, and has no successor, is told as often as it asks. */
static int tell_from(struct roar_arena *a, uint32_t from)
{
	const struct arena_party *p = &a->map.parties[from];
	uint64_t died = shared_load(&p->died);

	if (died == a->deaths.at_join[from] ||
	    party_state(shared_load(&p->word)) != PARTY_FREE)
		return 0;
	return tell(a, party_pid(died), party_roles(died));
}

/* Said again and again: without a consumer there is nothing to wait for. */
static int tell_consumer(struct roar_arena *a)
{
	if (shared_load(&a->map.header->consumers))
		return 0;
	for (unsigned i = 0; i < ARENA_PARTIES; i++) {
		uint64_t died = shared_load(&a->map.parties[i].died);

		if (died != a->deaths.at_join[i] &&
		    party_roles(died) & ROAR_ARENA_CONSUMER)
			return tell(a, party_pid(died), party_roles(died));
	}
	return 0;
}

/* ---- those who have not joined yet ---- */

void deaths_note_join(struct roar_arena *a, uint64_t started)
{
	struct arena_header *h = a->map.header;
	uint64_t i = shared_add(&h->n_joined, 1) % ARENA_JOINED;

	shared_store(&h->joined[i], joined_word((uint64_t)a->pid, started));
}

/* When it was started is not known to who has no descriptors left. */
static bool is_expected(const struct expected *e, uint64_t joined)
{
	uint64_t pid = (uint64_t)e->pid;

	if (joined_word(joined, 0) != joined_word(pid, 0))
		return false;
	return !e->started || joined == joined_word(pid, 0) ||
	       joined == joined_word(pid, e->started);
}

/* It may have left again, and another one be in its place. */
static bool has_joined(const struct roar_arena *a, const struct expected *e)
{
	for (unsigned i = 0; i < ARENA_JOINED; i++)
		if (is_expected(e, shared_load(&a->map.header->joined[i])))
			return true;
	return false;
}

static void drop_expected(struct deaths *d, unsigned i)
{
	if (d->expected[i].pidfd >= 0)
		(void)close(d->expected[i].pidfd);
	d->expected[i] = d->expected[--d->n_expected];
}

/* Whether it is dead is asked first: afterwards it does not join any more. */
static int tell_expected(struct roar_arena *a)
{
	struct deaths *d = &a->deaths;

	for (unsigned i = d->n_expected; i-- > 0;) {
		struct expected *e = &d->expected[i];
		int pid = e->pid;
		bool dead;
		bool joined;

		if (e->pidfd == PROCESS_UNKNOWN)
			e->pidfd = process_alive_open(pid, 0);
		dead = is_dead(e->pidfd);
		joined = has_joined(a, e);

		if (joined || dead)
			drop_expected(d, i);
		if (dead && !joined)
			return tell(a, pid, 0);
	}
	return 0;
}

API int roar_arena_expect(struct roar_arena *a, int pid)
{
	struct deaths *d = &a->deaths;
	int r = arena_check(a, 0);

	if (r < 0)
		return r;
	if (pid <= 0)
		return failure(-EINVAL,
			       "%d is not a process id: give one "
			       "above 0",
			       pid);
	(void)pthread_mutex_lock(&a->lock);
	if (d->n_expected == ARENA_PARTIES)
		r = failure(-EUSERS,
			    "no more than %d processes can be expected",
			    ARENA_PARTIES);
	else
		d->expected[d->n_expected++] = (struct expected){
			.pid = pid,
			.pidfd = process_alive_open(pid, 0),
			.started = proc_started(pid),
		};
	(void)pthread_mutex_unlock(&a->lock);
	return r;
}

/* ---- for who waits ---- */

/* Who polls comes here at each turn: a look at two words is all it costs mostly. */
int deaths_look(struct roar_arena *a, enum arena_bell bell, uint32_t from)
{
	struct deaths *d = &a->deaths;
	uint64_t count = shared_load(&a->map.header->deaths);
	uint64_t now = (uint64_t)clock_mono_tick_ns();
	bool due = now - atomic_load(&d->looked_ns) >= LOOK_EVERY_NS;
	int r;

	if (!due && count == atomic_load(&d->count))
		return 0;
	(void)pthread_mutex_lock(&a->lock);
	atomic_store(&d->looked_ns, now);
	for (unsigned i = 0; due && i < ARENA_PARTIES; i++)
		check_place(a, i);
	r = tell_expected(a);
	if (r == 0)
		r = bell == BELL_UNITS ? tell_producer(a) : tell_consumer(a);
	if (r == 0 && from < ARENA_PARTIES)
		r = tell_from(a, from);
	if (r == 0)
		atomic_store(&d->count, count);
	(void)pthread_mutex_unlock(&a->lock);
	return r;
}

API int roar_arena_death(const struct roar_arena *a,
			 struct roar_arena_death *ret)
{
	/* The handle is nobody's constant; what is asked for changes nothing. */
	pthread_mutex_t *lock = (pthread_mutex_t *)&a->lock;
	int r = arena_check(a, 0);

	if (r < 0)
		return r;
	(void)pthread_mutex_lock(lock);
	if (a->deaths.any)
		*ret = a->deaths.last;
	else
		r = failure(-ENOENT, "this handle has not reported a death");
	(void)pthread_mutex_unlock(lock);
	return r;
}
