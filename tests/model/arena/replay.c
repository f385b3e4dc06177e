/* replay.c - one schedule, step by step, for a reader. */
#include "schedule.h"
#include "world.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char *const ops[] = {
	[EXPLORE_LOAD] = "load",   [EXPLORE_STORE] = "store",
	[EXPLORE_RMW] = "rmw",	   [EXPLORE_FENCE] = "fence",
	[EXPLORE_WAIT] = "wait",   [EXPLORE_WAKE] = "wake",
	[EXPLORE_DEATH] = "death",
};

static uint8_t choices[EXPLORE_MAX_STEPS];
static unsigned n_choices;
static unsigned at;
static bool impossible;
static struct task told; /* as it was at the access that is not printed yet */
static int teller = -1; /* that task, or -1 */

static void print_word(const struct world *w, const struct task *t)
{
	char name[64];

	snprintf(name, sizeof(name), "+%#tx",
		 (const char *)t->word - (const char *)w->c->memory);
	if (w->c->name_word)
		w->c->name_word(w->c, t->word, name, sizeof(name));
	printf("  %-24s %#" PRIx64, name, t->before);
}

/* An access is printed when the next choice is made: only then its effect is there. */
static void flush(struct world *w)
{
	uint64_t after;

	if (teller < 0)
		return;
	printf("%5u  %c %-12s %-6s", at, (char)('a' + teller),
	       w->c->tasks[teller].name, ops[told.op]);
	if (told.word)
		print_word(w, &told);
	after = world_peek(told.word, told.size);
	if (after != told.before)
		printf(" -> %#" PRIx64, after);
	putchar('\n');
	teller = -1;
}

static void tell(struct world *w, unsigned choice)
{
	unsigned i = choice & CHOICE_TASK;

	if (choice < CHOICE_TIMEOUT) {
		told = w->tasks[i];
		teller = (int)i;
		return;
	}
	printf("%5u  %c %-12s %s\n", at, (char)('a' + i), w->c->tasks[i].name,
	       choice < CHOICE_KILL ? "sleeps no longer" : "dies");
}

/* After its end a schedule goes on without preemptions. */
static unsigned choose(struct world *w, uint32_t options)
{
	unsigned choice = w->current >= 0 ? (unsigned)w->current :
					    (unsigned)__builtin_ctz(options);

	flush(w);
	if (at < n_choices)
		choice = choices[at];
	at++;
	if (options & 1U << choice)
		return choice;
	impossible = true;
	return CHOICE_STOP;
}

int explore_replay(const struct explore_case *c, const char *schedule,
		   struct explore_result *ret)
{
	struct world w = { .c = c,
			   .kills = EXPLORE_MAX_TASKS,
			   .preemptions = EXPLORE_UNBOUNDED,
			   .choose = choose,
			   .tell = tell };
	int r = schedule_parse(schedule, choices, EXPLORE_MAX_STEPS);

	if (r < 0)
		return r;
	n_choices = (unsigned)r;
	at = 0;
	impossible = false;
	teller = -1;
	world_play(&w);
	if (impossible)
		return -EINVAL;
	flush(&w);
	*ret = (struct explore_result){
		.failed = w.outcome == OUTCOME_FAILED,
		.n_schedules = 1,
		.n_steps = w.n_steps,
		.preemptions = w.n_preemptions,
	};
	snprintf(ret->message, sizeof(ret->message), "%s", w.message);
	snprintf(ret->schedule, sizeof(ret->schedule), "%s", schedule);
	return 0;
}
