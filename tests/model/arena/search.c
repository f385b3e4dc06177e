/* search.c - all schedules, depth first; or many, at random.
 *
 * A frame is a choice that was made and those that are still to be tried there.  The
 * frames up to the deepest one with something left are the beginning of the next
 * schedule. */
#include "schedule.h"
#include "seen.h"
#include "world.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

enum { CHEAP = 2 }; /* preemptions */

struct frame {
	uint32_t left; /* choices not yet tried */
	uint8_t choice;
};

static struct frame frames[EXPLORE_MAX_STEPS + 1];
static unsigned n_frames; /* recorded */
static unsigned depth; /* played so far */
static struct seen seen;
static bool full; /* no memory for more states */
static uint64_t rng;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static unsigned lowest(uint32_t options)
{
	return (unsigned)__builtin_ctz(options);
}

/* The task that runs goes on first: so the first schedule has no preemption. */
static unsigned first(const struct world *w, uint32_t options)
{
	if (w->current >= 0 && options & 1U << w->current)
		return (unsigned)w->current;
	return lowest(options);
}

static void push(unsigned choice, uint32_t options)
{
	frames[n_frames++] = (struct frame){
		.choice = (uint8_t)choice,
		.left = options & ~(1U << choice),
	};
	depth = n_frames;
}

static unsigned choose_depth_first(struct world *w, uint32_t options)
{
	unsigned price = w->preemptions == EXPLORE_UNBOUNDED ? 0 :
							       w->n_preemptions;
	int r;

	if (depth < n_frames)
		return frames[depth++].choice;
	r = seen_add(&seen, world_key(w), (uint8_t)price);
	full |= r < 0;
	if (r <= 0)
		return CHOICE_STOP;
	push(first(w, options), options);
	return frames[n_frames - 1].choice;
}

/* Turns to the next schedule; false when all were played. */
static bool turn_back(void)
{
	while (n_frames && !frames[n_frames - 1].left)
		n_frames--;
	if (!n_frames)
		return false;
	frames[n_frames - 1].choice = (uint8_t)lowest(frames[n_frames - 1].left);
	frames[n_frames - 1].left &= frames[n_frames - 1].left - 1;
	return true;
}

static void put_failure(const struct world *w, struct explore_result *ret)
{
	uint8_t choices[EXPLORE_MAX_STEPS + 1];

	for (unsigned i = 0; i < n_frames; i++)
		choices[i] = frames[i].choice;
	schedule_format(choices, n_frames, ret->schedule,
			sizeof(ret->schedule));
	ret->failed = true;
	ret->preemptions = w->n_preemptions;
	snprintf(ret->message, sizeof(ret->message), "%s", w->message);
}

/* True when the schedule passed. */
static bool play(struct world *w, struct explore_result *ret)
{
	depth = 0;
	world_play(w);
	ret->n_schedules++;
	ret->n_steps += w->n_steps;
	if (w->outcome != OUTCOME_FAILED)
		return true;
	put_failure(w, ret);
	return false;
}

static void search(const struct explore_case *c, unsigned kills,
		   unsigned preemptions, uint64_t max_states,
		   struct explore_result *ret)
{
	struct world w = { .c = c,
			   .kills = kills,
			   .preemptions = preemptions,
			   .choose = choose_depth_first };

	n_frames = 0;
	full = seen_init(&seen) < 0;
	while (!full && play(&w, ret) && seen.count <= max_states && turn_back())
		;
	ret->complete = !n_frames && !full;
	ret->n_states += seen.count;
	seen_release(&seen);
}

/* A failure is told by the plainest schedule that shows it: with the fewest deaths, and among
 * these with the fewest preemptions.  Up to CHEAP of these are nearly free to try, and
 * show most faults at once. */
static void search_up_to(const struct explore_case *c, unsigned preemptions,
			 uint64_t max_states, struct explore_result *ret)
{
	for (unsigned kills = 0; kills <= c->kills; kills++)
		for (unsigned p = 0; p < preemptions; p++) {
			*ret = (struct explore_result){ 0 };
			search(c, kills, p, max_states, ret);
			if (ret->failed)
				return;
		}
}

void explore_all(const struct explore_case *c, uint64_t max_states,
		 struct explore_result *ret)
{
	double begin = now();
	struct explore_result plain;

	*ret = (struct explore_result){ 0 };
	search_up_to(c, c->preemptions < CHEAP ? c->preemptions : CHEAP,
		     max_states, ret);
	if (!ret->failed) {
		*ret = (struct explore_result){ 0 };
		search(c, c->kills, c->preemptions, max_states, ret);
		if (ret->failed && ret->preemptions > CHEAP) {
			search_up_to(c, ret->preemptions, max_states, &plain);
			*ret = plain.failed ? plain : *ret;
		}
	}
	ret->seconds = now() - begin;
}

/* ---- at random ---- */

static uint32_t draw(uint32_t below)
{
	rng ^= rng << 13;
	rng ^= rng >> 7;
	rng ^= rng << 17;
	return (uint32_t)((rng >> 32) * below >> 32);
}

static unsigned pick(uint32_t options)
{
	for (uint32_t n = draw((uint32_t)__builtin_popcount(options)); n; n--)
		options &= options - 1;
	return lowest(options);
}

/* Mostly the same task goes on, for whole stretches of a protocol; deaths are rare
 * enough to come at any depth. */
static unsigned choose_at_random(struct world *w, uint32_t options)
{
	uint32_t run = options & ((1U << CHOICE_TIMEOUT) - 1);
	unsigned choice = pick(options);

	if (run && draw(40))
		choice = draw(3) ? first(w, run) : pick(run);
	push(choice, options);
	return choice;
}

void explore_random(const struct explore_case *c, uint64_t seed, double seconds,
		    struct explore_result *ret)
{
	struct world w = { .c = c,
			   .kills = c->kills,
			   .preemptions = EXPLORE_UNBOUNDED,
			   .choose = choose_at_random };
	double begin = now();

	*ret = (struct explore_result){ 0 };
	rng = seed * 0x9e3779b97f4a7c15ULL | 1;
	do
		n_frames = 0;
	while (play(&w, ret) && now() - begin < seconds);
	ret->seconds = now() - begin;
}
