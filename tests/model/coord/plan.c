/* plan.c - from a seed to all that happens */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/vec.h"
#include "sim.h"

enum {
	LARGE_EVERY = 400, /* seeds: one of them has thousands of workers */
	MIDDLE_EVERY = 20,
};

static struct item *add(struct plan *p, uint64_t *random, enum item_kind kind)
{
	struct item *item = VEC_PUSH(p->items, p->n_items, p->cap);

	if (!item)
		abort();
	item->kind = kind;
	item->random = prng(random);
	return item;
}

static uint32_t size_of_job(uint64_t seed, uint64_t *r)
{
	if (seed % LARGE_EVERY == LARGE_EVERY - 1)
		return 1000 + pick(r, 2000);
	if (seed % MIDDLE_EVERY == MIDDLE_EVERY - 1)
		return 20 + pick(r, 60);
	return 1 + pick(r, 8);
}

static bool is_large(const struct plan *p)
{
	return p->n_workers[0] > 200;
}

static void add_settings(struct plan *p, uint64_t *r, uint32_t job)
{
	struct item *item;
	uint32_t n = p->n_workers[job];

	p->interval[job] = 50 << pick(r, 5);
	p->timeout[job] = p->interval[job] * (3 + pick(r, 4));
	p->hold[job] = p->timeout[job] * (1 + pick(r, 8)) / 2;
	p->policy[job] = 1 + pick(r, 3);
	p->mixed[job] = chance(r, 3);
	p->min_workers[job] = chance(r, 2) ? 1 : 1 + pick(r, n);
	p->at_least[job] = (p->seed + job) % 3 == 0;
	item = add(p, r, ITEM_CONFIGURE);
	item->job = job;
	item->what = 1; /* all of that */
}

static void add_workers(struct plan *p, uint64_t *r, uint32_t job)
{
	int64_t spread = chance(r, 3) && !is_large(p) ? p->end / 2 :
							p->interval[job];

	for (uint32_t i = 0; i < p->n_workers[job]; i++) {
		struct item *item = add(p, r, ITEM_WORKER);

		item->job = job;
		item->who = i;
		item->simple = p->mixed[job] && chance(r, 2);
		item->at = 1 + pick(r, (uint32_t)spread + 1);
		item->what = chance(r, 3); /* leaves at its end */
		if (chance(r,
			   is_large(p) ? 1000 : 12)) { /* another with its id */
			struct item *second = add(p, r, ITEM_WORKER);

			*second = second[-1];
			second->random = prng(r);
			second->at += 1 + pick(r, (uint32_t)p->end / 2);
		}
	}
}

/* All meetings of one name are of one kind, mostly: else they are refused. */
static uint32_t kind_of_step(const struct plan *p, uint64_t *r, uint32_t job,
			     uint32_t name)
{
	if (chance(r, 3))
		return STEP_ADD +
		       pick(r, is_large(p) ? 2 : N_STEP_KINDS - STEP_ADD);
	if (chance(r, 60) && !is_large(p))
		return pick(r, N_STEP_KINDS);
	if (p->mixed[job] || name == 0)
		return STEP_BARRIER + pick(r, 2);
	return name == 1 ? STEP_GATHER : STEP_VOTE;
}

static void add_steps(struct plan *p, uint64_t *r, uint32_t job)
{
	uint32_t n = 2 + pick(r, is_large(p) ? 3 : MAX_STEPS - 2);

	for (uint32_t i = 0; i < n; i++) {
		struct item *item = add(p, r, ITEM_STEP);

		item->job = job;
		item->name = pick(r, N_NAMES);
		item->what = kind_of_step(p, r, job, item->name);
		if (!p->mixed[job] && item->what != STEP_BARRIER && chance(r, 4))
			item->group = 1 + item->name;
		item->policy = chance(r, 2) ? 0 : 1 + pick(r, 3);
	}
}

/* A process for something to happen to. */
static uint32_t some_client(const struct plan *p, uint64_t *r)
{
	for (;;) {
		uint32_t i = pick(r, (uint32_t)p->n_items);

		if (p->items[i].kind == ITEM_WORKER)
			return i;
	}
}

static enum item_kind some_fault(uint64_t *r)
{
	static const enum item_kind kinds[] = {
		ITEM_KILL,	ITEM_KILL,    ITEM_KILL,     ITEM_KILL,
		ITEM_PAUSE,	ITEM_PAUSE,   ITEM_CUT,	     ITEM_CUT,
		ITEM_RESET,	ITEM_RESET,   ITEM_RESET,    ITEM_CRASH,
		ITEM_CRASH,	ITEM_CRASH,   ITEM_SNAPSHOT, ITEM_FULL,
		ITEM_SLOW,	ITEM_WALL,    ITEM_WALL,     ITEM_WALL,
		ITEM_CONFIGURE, ITEM_COMMAND, ITEM_COMMAND,  ITEM_DRAIN,
		ITEM_LEAVE,
	};

	return kinds[pick(r, sizeof(kinds) / sizeof(kinds[0]))];
}

static void add_fault(struct plan *p, uint64_t *r)
{
	uint32_t who = some_client(p, r);
	struct item *item = add(p, r, some_fault(r));
	int64_t unit;

	item->who = who;
	item->job = p->items[who].job;
	unit = p->timeout[item->job];
	item->at = 1 + pick(r, (uint32_t)p->end);
	item->len = 1 + pick(r, (uint32_t)(chance(r, 2) ? unit : 4 * unit));
	item->what = pick(r, 2);
	item->policy = pick(r, 4);
	if (item->kind == ITEM_WALL)
		item->len = (int64_t)pick(r, 1 << 24) - (1 << 23);
}

/* Some coordinators take fewer than there are. */
static void add_limits(struct plan *p, uint64_t *r)
{
	uint32_t n = p->n_workers[0] + p->n_workers[1];

	if (!chance(r, 6) || is_large(p))
		return;
	p->limits.max_waiting = chance(r, 2) ? 1 + pick(r, n + 2) : 0;
	p->limits.max_watchers = chance(r, 2) ? 1 + pick(r, n) : 0;
	/* Groups of more than that are refused, whoever asks. */
	if (p->mixed[0] && !p->n_workers[1])
		p->limits.max_workers = chance(r, 2) ? 1 + pick(r, n) : 0;
}

void plan_make(struct plan *p, uint64_t seed)
{
	uint64_t r = seed * 0x2545f4914f6cdd1d + 1;
	uint32_t n_jobs = chance(&r, 5) ? 2 : 1;
	uint32_t n_faults;

	*p = (struct plan){ .seed = seed };
	p->end = 1;
	for (uint32_t job = 0; job < n_jobs; job++) {
		p->n_workers[job] = size_of_job(job ? 0 : seed, &r);
		add_settings(p, &r, job);
		if (p->end < p->interval[job] * (is_large(p) ? 15 : 30))
			p->end = p->interval[job] * (is_large(p) ? 15 : 30);
	}
	for (uint32_t job = 0; job < n_jobs; job++) {
		add_steps(p, &r, job);
		add_workers(p, &r, job);
	}
	n_faults = pick(&r, is_large(p) ? 4 : 16);
	while (n_faults--)
		add_fault(p, &r);
	add_limits(p, &r);
}

void plan_release(struct plan *p)
{
	free(p->items);
	*p = (struct plan){ 0 };
}

/* The same for a job whatever is left out: of the first workers, two or more. */
uint64_t plan_group(const struct plan *p, uint32_t job, uint32_t group)
{
	uint64_t r = p->seed + job * 100 + group;
	uint32_t n = p->n_workers[job] < MAX_GROUP ? p->n_workers[job] :
						     MAX_GROUP;
	uint64_t bits = prng(&r) & prng(&r);

	bits |= 1ULL << pick(&r, n) | 1ULL << pick(&r, n);
	return n == 64 ? bits : bits & ((1ULL << n) - 1);
}

static void print_item(const struct plan *p, size_t i)
{
	static const char *const names[] = {
		"worker", "step",      "kill",	   "pause",	"cut",
		"reset",  "crash",     "snapshot", "disk full", "disk slow",
		"wall",	  "configure", "command",  "drain",	"leave",
	};
	const struct item *it = &p->items[i];

	(void)printf("  %3zu  %s j%u", i, names[it->kind], it->job);
	if (it->kind == ITEM_WORKER)
		(void)printf(" w%u%s at %" PRId64 "%s", it->who,
			     it->simple ? " (simple)" : "", it->at,
			     it->what ? ", leaves" : "");
	else if (it->kind == ITEM_STEP)
		(void)printf(" kind %u name %u group %u policy %u", it->what,
			     it->name, it->group, it->policy);
	else
		(void)printf(" item %u at %" PRId64 " for %" PRId64
			     " ms, flag %u",
			     it->who, it->at, it->len, it->what);
	(void)printf("\n");
}

void plan_print(const struct plan *p, const bool *kept)
{
	for (uint32_t j = 0; j < MAX_JOBS && p->n_workers[j]; j++)
		(void)printf(
			"  job j%u: min_workers %u, policy %u, interval %" PRId64
			", timeout %" PRId64 ", hold %" PRId64
			" ms, leases %s once\n",
			j, p->min_workers[j], p->policy[j], p->interval[j],
			p->timeout[j], p->hold[j],
			p->at_least[j] ? "at least" : "exactly");
	for (size_t i = 0; i < p->n_items; i++)
		if (kept[i])
			print_item(p, i);
}
