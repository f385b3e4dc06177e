/* arena_wait.c - waiting for units or for room: see struct arena_wait */
#include "arena/arena.h"

#include <errno.h>
#include <stdio.h>

#include "arena/arena_stats.h"
#include "base/clock.h"

/* Sleeps end after that, to look for the dead and for bells whose ringer was killed. */
#define SLICE_NS 40000000LL

static void relax(void)
{
#ifdef __x86_64__
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

int64_t arena_deadline_ns(long long timeout_ns)
{
	int64_t now;

	if (timeout_ns < 0)
		return INT64_MAX;
	now = clock_mono_ns();
	return timeout_ns > INT64_MAX - now ? INT64_MAX : now + timeout_ns;
}

void arena_wait_begin(struct arena_wait *p, struct roar_arena *a,
		      enum arena_bell bell, long long timeout_ns)
{
	*p = (struct arena_wait){
		.a = a,
		.bell = bell,
		.waits = timeout_ns != 0,
		.from = ROAR_ARENA_ANY,
		.deadline_ns = timeout_ns ? arena_deadline_ns(timeout_ns) : 0,
	};
}

/* ---- sleeping ---- */

static void arm(struct arena_wait *p)
{
	struct roar_arena *a = p->a;

	(void)pthread_mutex_lock(&a->lock);
	a->n_sleeping[p->bell]++;
	p->word = bell_arm(&a->map, p->bell, arena_me(a), &p->seen);
	(void)pthread_mutex_unlock(&a->lock);
	p->armed = true;
}

/* The bit is of the party, and other threads of it may sleep. */
static void disarm(struct arena_wait *p)
{
	struct roar_arena *a = p->a;

	if (!p->armed)
		return;
	(void)pthread_mutex_lock(&a->lock);
	if (--a->n_sleeping[p->bell] == 0)
		bell_disarm(&a->map, p->bell, arena_me(a));
	(void)pthread_mutex_unlock(&a->lock);
	p->armed = false;
}

void arena_wait_end(struct arena_wait *p)
{
	disarm(p);
}

static void count_stall(struct roar_arena *a, enum arena_bell bell, int64_t ns)
{
	struct arena_counts *c = arena_counts(a);

	shared_count(bell == BELL_UNITS ? &c->consumer_stalls :
					  &c->producer_stalls,
		     1);
	shared_count(bell == BELL_UNITS ? &c->consumer_stall_ns :
					  &c->producer_stall_ns,
		     (uint64_t)ns);
}

static void sleep_a_slice(struct arena_wait *p)
{
	int64_t now = clock_mono_ns();
	int64_t left = p->deadline_ns - now;

	if (left > 0)
		shared_wait(p->word, p->seen,
			    left < SLICE_NS ? left : SLICE_NS);
	count_stall(p->a, p->bell, clock_mono_ns() - now);
}

/* ---- one pause ---- */

static int end_of(struct arena_wait *p)
{
	if (shared_load32(&p->a->map.header->shutdown))
		return -EPIPE;
	if (deaths_look(p->a, p->bell, p->from) < 0) {
		(void)snprintf(p->failure, sizeof(p->failure), "%s",
			       roar_arena_error());
		return -ECONNRESET;
	}
	if (p->waits && clock_mono_ns() >= p->deadline_ns)
		return -ETIMEDOUT;
	return 0;
}

static int tell(const struct arena_wait *p)
{
	bool units = p->bell == BELL_UNITS;
	char text[200];

	switch (p->end) {
	case -EPIPE:
		return failure(-EPIPE,
			       "the arena has been shut down: make a new one");
	case -ECONNRESET:
		return failure(-ECONNRESET, "%s", p->failure);
	case -ETIMEDOUT:
		if (units)
			return failure(
				-ETIMEDOUT,
				"no unit came through the arena within the timeout: is the producer slow?");
		stats_describe(&p->a->map, text, sizeof(text));
		return failure(
			-ETIMEDOUT,
			"no room was free in the arena within the timeout: %s",
			text);
	default:
		return failure(p->end, "%s now: wait for it",
			       units ? "there is no unit in the arena" :
				       "there is no room in the arena");
	}
}

static bool spins(struct arena_wait *p)
{
	int64_t now;
	int64_t spin_ns = atomic_load_explicit(&p->a->spin_ns,
					       memory_order_relaxed);

	if (!spin_ns)
		return false;
	now = clock_mono_ns();
	if (!p->spin_until_ns)
		p->spin_until_ns = now + spin_ns;
	relax();
	return now < p->spin_until_ns;
}

int arena_wait_next(struct arena_wait *p)
{
	if (p->end)
		return tell(p);
	p->end = end_of(p);
	if (p->end)
		return 0;
	if (!p->waits) {
		p->end = -EAGAIN;
		return tell(p);
	}
	if (!p->armed && spins(p))
		return 0;
	if (p->armed) {
		sleep_a_slice(p);
		disarm(p);
	}
	arm(p);
	return 0;
}
