/* explore_arena.c - the arena's protocol through all its orders and deaths.
 *
 *	explore_arena [--states N] [--deep] [CASE...]	tries all schedules, with few
 *							preemptions or more
 *	explore_arena --random SECONDS [--seed N] [CASE...]	tries some, at random, for
 *							so long each
 *	explore_arena --replay SCHEDULE CASE		plays one, step by step
 *	explore_arena --list
 *
 * Exits with 1 when a schedule fails, or a case is too large to try all. */
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arena_cases.h"

struct wish {
	uint64_t max_states;
	double seconds; /* at random; 0: all */
	uint64_t seed;
	const char *schedule;
	bool deep;
	bool list;
};

static const struct option options[] = {
	{ "states", required_argument, NULL, 'n' },
	{ "random", required_argument, NULL, 'r' },
	{ "seed", required_argument, NULL, 's' },
	{ "replay", required_argument, NULL, 'p' },
	{ "deep", no_argument, NULL, 'd' },
	{ "list", no_argument, NULL, 'l' },
	{ 0 },
};

static bool is_named(const char *name, char *const *names)
{
	for (; *names; names++)
		if (!strcmp(*names, name))
			return true;
	return false;
}

static void print_failure(const struct explore_case *c,
			  const struct explore_result *r)
{
	struct explore_result again;

	printf("%s FAILED: %s\n", c->name, r->message);
	printf("%u preemptions; explore_arena --replay '%s' %s\n",
	       r->preemptions, r->schedule, c->name);
	(void)explore_replay(c, r->schedule, &again);
}

static bool explore(const struct explore_case *c, const struct wish *w)
{
	struct explore_result r;

	if (w->seconds > 0)
		explore_random(c, w->seed, w->seconds, &r);
	else
		explore_all(c, w->max_states, &r);
	printf("%-22s %9" PRIu64 " states %9" PRIu64 " schedules %6.1f s  ",
	       c->name, r.n_states, r.n_schedules, r.seconds);
	if (r.failed) {
		putchar('\n');
		print_failure(c, &r);
		return false;
	}
	if (w->seconds <= 0 && !r.complete) {
		printf("FAILED: more states than --states\n");
		return false;
	}
	if (w->seconds > 0)
		printf("at random");
	else if (c->preemptions == EXPLORE_UNBOUNDED)
		printf("all orders");
	else
		printf("up to %u preemptions", c->preemptions);
	printf(", %u deaths\n", c->kills);
	return true;
}

static bool replay(const struct explore_case *c, const struct wish *w)
{
	struct explore_result r;

	if (explore_replay(c, w->schedule, &r) < 0) {
		printf("'%s' is no schedule of %s\n", w->schedule, c->name);
		return false;
	}
	printf("%s %s\n", r.failed ? "FAILED:" : "passed", r.message);
	return !r.failed;
}

static bool do_case(const struct arena_case *c, const struct wish *w)
{
	struct explore_case bounded = c->explore;

	if (w->list)
		return printf("%-24s %s\n", c->explore.name, c->explore.about) >
		       0;
	if (w->schedule)
		return replay(&c->explore, w);
	if (!w->deep)
		bounded.preemptions = c->everyday;
	return explore(&bounded, w);
}

static bool parse(int argc, char **argv, struct wish *w)
{
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) >= 0) {
		switch (option) {
		case 'n':
			w->max_states = strtoull(optarg, NULL, 0);
			break;
		case 'r':
			w->seconds = strtod(optarg, NULL);
			break;
		case 's':
			w->seed = strtoull(optarg, NULL, 0);
			break;
		case 'p':
			w->schedule = optarg;
			break;
		case 'd':
			w->deep = true;
			break;
		case 'l':
			w->list = true;
			break;
		default:
			return false;
		}
	}
	return !w->schedule || argc - optind == 1;
}

int main(int argc, char **argv)
{
	struct wish w = { .max_states = 40000000, .seed = 1 };
	bool good = true;

	if (!parse(argc, argv, &w))
		return 2;
	setvbuf(stdout, NULL, _IOLBF, 0);
	for (unsigned i = 0; i < n_arena_cases; i++) {
		const struct arena_case *c = &arena_cases[i];

		if (argv[optind] ? is_named(c->explore.name, argv + optind) :
				   !c->crowd || w.list || w.seconds > 0)
			good &= do_case(c, &w);
	}
	return good ? 0 : 1;
}
