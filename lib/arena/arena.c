/* arena.c - making, joining and leaving an arena */
#include "arena/arena.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "arena/arena_map.h"
#include "arena/piece.h"
#include "arena/process_alive.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/cpus.h"
#include "base/proc.h"

enum { SPIN_NS = 3000 };

/* Counted in children: getpid() is a system call. */
static unsigned forks;
static pthread_once_t watch_once = PTHREAD_ONCE_INIT;

static void count_fork(void)
{
	forks++;
}

static void watch_forks(void)
{
	(void)pthread_atfork(NULL, NULL, count_fork);
}

bool arena_is_forked(const struct roar_arena *a)
{
	return a->forks != forks;
}

/* ---- life ---- */

static void arena_free(struct roar_arena *a)
{
	arena_map_release(&a->map);
	closep(&a->fd);
	free(a->hands);
	deaths_release(&a->deaths);
	piece_release(a);
	(void)pthread_mutex_destroy(&a->lock);
	(void)pthread_mutex_destroy(&a->send_lock);
	/* It would wait for those who wait, who are not in a child of fork(). */
	if (!arena_is_forked(a))
		(void)pthread_cond_destroy(&a->send_turn);
	(void)pthread_mutex_destroy(&a->piece_lock);
	free(a);
}

DEFINE_CLEANUP(struct roar_arena *, arena_free)

static void init_turn(pthread_cond_t *turn)
{
	pthread_condattr_t by_clock;

	(void)pthread_condattr_init(&by_clock);
	(void)pthread_condattr_setclock(&by_clock, CLOCK_MONOTONIC);
	(void)pthread_cond_init(turn, &by_clock);
	(void)pthread_condattr_destroy(&by_clock);
}

static int arena_new(struct roar_arena **ret)
{
	struct roar_arena *a = calloc(1, sizeof(*a));

	if (!a)
		return failure(-ENOMEM, "out of memory");
	(void)pthread_once(&watch_once, watch_forks);
	(void)pthread_mutex_init(&a->lock, NULL);
	(void)pthread_mutex_init(&a->send_lock, NULL);
	init_turn(&a->send_turn);
	(void)pthread_mutex_init(&a->piece_lock, NULL);
	a->fd = -1;
	a->me = -1;
	a->refs = 1;
	a->forks = forks;
	a->pid = getpid();
	deaths_init(&a->deaths);
	a->spin_ns = cpus_allowed() > 1 ? SPIN_NS : 0;
	*ret = a;
	return 0;
}

static int make_hands(struct roar_arena *a)
{
	a->hands = calloc(a->map.g.n_units, sizeof(*a->hands));
	if (!a->hands)
		return failure(-ENOMEM, "out of memory");
	for (uint32_t i = 0; i < a->map.g.n_units; i++) {
		a->hands[i].unit.arena = a;
		a->hands[i].unit.index = i;
	}
	return 0;
}

API int roar_arena_create(const struct roar_arena_config *config,
			  struct roar_arena **ret)
{
	CLEANUP(arena_freep) struct roar_arena *a = NULL;
	struct arena_geometry g;
	int r = geometry_from_config(config, &g);

	if (r == 0)
		r = arena_new(&a);
	if (r == 0)
		r = arena_map_create(&g, &a->fd, &a->map);
	if (r == 0)
		r = make_hands(a);
	if (r == 0)
		*ret = TAKE_PTR(a);
	return r;
}

API int roar_arena_attach(int fd, struct roar_arena **ret)
{
	CLEANUP(arena_freep) struct roar_arena *a = NULL;
	int r = arena_new(&a);

	if (r < 0)
		return r;
	r = arena_map_attach(fd, &a->map);
	if (r < 0)
		return r;
	a->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (a->fd < 0)
		return failure(-errno,
			       "the descriptor of the arena cannot be kept: %s",
			       strerror(errno));
	r = make_hands(a);
	if (r == 0)
		*ret = TAKE_PTR(a);
	return r;
}

API int roar_arena_fd(const struct roar_arena *a)
{
	return a->fd;
}

/* ---- parties ---- */

int arena_check(const struct roar_arena *a, unsigned role)
{
	if (arena_is_forked(a))
		return failure(
			-EPERM,
			"this process inherited the arena from its parent and has not joined it: attach with roar_arena_fd()");
	if (role && (atomic_load(&a->me) < 0 || !(a->roles & role)))
		return failure(-EPERM,
			       "this handle is not a %s of the arena: join as "
			       "one",
			       role == ROAR_ARENA_PRODUCER ? "producer" :
							     "consumer");
	return 0;
}

static int check_join(const struct roar_arena *a, unsigned roles,
		      unsigned share)
{
	if (!roles || roles & ~3U)
		return failure(
			-EINVAL,
			"0x%x is not a role in an arena: be a producer, a consumer, or both",
			roles);
	if (share && share >= a->map.g.n_shares)
		return failure(-EINVAL,
			       "the arena has no share %u: there are %u", share,
			       a->map.g.n_shares);
	if (atomic_load(&a->me) >= 0)
		return failure(-EALREADY,
			       "this handle has already joined the arena");
	if (shared_load32(&a->map.header->shutdown))
		return failure(-EPIPE,
			       "the arena has been shut down: make a new one");
	return 0;
}

/* A producer of a partitioned arena has the place of its share, so its number is known
 * to all. */
static int claim_place(struct roar_arena *a, unsigned roles, unsigned share)
{
	bool parted = a->map.g.flags & ROAR_ARENA_PARTITION;
	bool any = !parted || !(roles & ROAR_ARENA_PRODUCER);
	unsigned place = !any ? share : parted ? a->map.g.n_shares : 0;
	int r = party_claim(&a->map, place, any, a->pid, roles);

	return r < 0 ? deaths_inherit(a, place, any, roles, r) : r;
}

/* What tells others whether we are alive, before they may ask. */
static int enter(struct roar_arena *a, unsigned place)
{
	struct arena_party *p = &a->map.parties[place];
	uint64_t started = proc_started(a->pid);

	shared_store(&p->started, started);
	shared_store(&p->pid_space, a->deaths.pid_space);
	shared_store(&p->share, a->share);
	deaths_begin(a);
	deaths_note_join(a, started);
	return party_enter(&a->map, place);
}

static int join(struct roar_arena *a, unsigned roles, unsigned share)
{
	int r = check_join(a, roles, share);

	if (r < 0)
		return r;
	r = claim_place(a, roles, share);
	if (r == -EADDRINUSE)
		return failure(
			r,
			"the share %u of the arena belongs to a living producer: choose another",
			share);
	if (r < 0)
		return failure(
			r,
			"all %d slots of the arena are occupied: another process must leave first",
			ARENA_PARTIES);
	a->roles = roles;
	a->share = share;
	if (enter(a, (unsigned)r) < 0)
		return failure(
			-EAGAIN,
			"another process declared this one dead while it joined the arena: join again");
	atomic_store(&a->me, r);
	return 0;
}

API int roar_arena_join(struct roar_arena *a, unsigned roles, unsigned share)
{
	/* Before the lock: a thread that is not in this child may have it. */
	int r = arena_check(a, 0);

	if (r < 0)
		return r;
	(void)pthread_mutex_lock(&a->lock);
	r = join(a, roles, share);
	(void)pthread_mutex_unlock(&a->lock);
	return r;
}

API int roar_arena_shutdown(struct roar_arena *a)
{
	int r = arena_check(a, 0);

	if (r < 0)
		return r;
	shared_store32(&a->map.header->shutdown, 1);
	/* Not bell_ring(): a store is not ordered before a look at who sleeps. */
	shared_add32(&a->map.header->bell_units, 1);
	shared_wake_all(&a->map.header->bell_units);
	shared_add32(&a->map.header->bell_room, 1);
	shared_wake_all(&a->map.header->bell_room);
	return 0;
}

/* ---- leaving ---- */

/* When nothing is in hand any more that others could want. */
static void leave_place(struct roar_arena *a)
{
	int me = arena_is_forked(a) ? -1 : atomic_exchange(&a->me, -1);

	if (me >= 0)
		party_leave(&a->map, (unsigned)me);
}

void arena_unref(struct roar_arena *a)
{
	uint32_t left = atomic_fetch_sub(&a->refs, 1) - 1;

	if (left == atomic_load(&a->n_gone))
		leave_place(a);
	if (left == 0)
		arena_free(a);
}

static bool in_hand(void *arg, uint32_t unit)
{
	struct roar_arena *a = arg;

	return atomic_load(&a->hands[unit].refs) != 0;
}

/* A unit that was reserved cannot be committed any more. */
static void give_up(struct roar_arena *a, uint32_t unit)
{
	uint64_t word = shared_load(&a->map.units[unit].word);

	if (!in_hand(a, unit) || unit_state(word) != UNIT_WRITING ||
	    unit_owner(word) != arena_me(a))
		return;
	a->hands[unit].gone = true;
	atomic_fetch_add(&a->n_gone, 1);
	unit_free(&a->map, arena_me(a), unit);
}

/* What is kept for later nobody can ask for any more. */
static void leave(struct roar_arena *a)
{
	struct held_unit *h;

	while ((h = a->kept)) {
		a->kept = h->next;
		roar_arena_release(&h->unit);
	}
	for (uint32_t i = 0; i < a->map.g.n_units; i++)
		give_up(a, i);
	party_retire(&a->map, arena_me(a), in_hand, a);
}

API void roar_arena_close(struct roar_arena *a)
{
	if (!a)
		return;
	if (!arena_is_forked(a) && atomic_load(&a->me) >= 0)
		leave(a);
	arena_unref(a);
}

API void roar_arena_spin(struct roar_arena *a, long long spin_ns)
{
	atomic_store(&a->spin_ns, spin_ns < 0 ? INT64_MAX / 2 : spin_ns);
}
