/* world.c - see world.h.
 *
 * Decisions are made on the stack of the task that came to a point, so that going on with the
 * same task costs no switch.  Fiber 0 is the caller of world_play(), fiber i + 1 is
 * task i, and the last one, the director, sets the scene. */
#include "world.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "fiber.h"
#include "hash_mix.h"

enum { DIRECTOR = FIBER_MAX - 1 };

_Static_assert((int)EXPLORE_MAX_TASKS < (int)DIRECTOR, "a fiber each");

static struct world *world;
static bool opening; /* tasks run to their first points */
static bool checking; /* no task speaks: setup, step or end */

/* ---- what may happen next ---- */

/* Dying before a read leaves the same world as dying before the change after it. */
static bool may_die(const struct world *w, unsigned i)
{
	const struct task *t = &w->tasks[i];

	if (!w->c->tasks[i].mortal || w->n_deaths >= w->kills)
		return false;
	return t->state == TASK_ASLEEP ||
	       (t->state == TASK_READY &&
		(t->op == EXPLORE_STORE || t->op == EXPLORE_RMW ||
		 t->op == EXPLORE_WAKE));
}

static uint32_t tasks_in(const struct world *w, enum task_state state)
{
	uint32_t mask = 0;

	for (unsigned i = 0; i < w->n_tasks; i++)
		mask |= (uint32_t)(w->tasks[i].state == state) << i;
	return mask;
}

static uint32_t timeouts(const struct world *w, bool nobody_runs)
{
	uint32_t mask = 0;

	for (unsigned i = 0; i < w->n_tasks; i++) {
		const struct task *t = &w->tasks[i];

		if (t->state == TASK_ASLEEP &&
		    (w->n_timeouts < w->c->timeouts ||
		     (nobody_runs && t->deaths < w->n_deaths)))
			mask |= 1U << i;
	}
	return mask;
}

/* Those who wait for a death learn that there will be none, once all others are done. */
static uint32_t end_mourning(struct world *w)
{
	uint32_t mourning = tasks_in(w, TASK_MOURNING);

	for (unsigned i = 0; i < w->n_tasks; i++)
		if (mourning & 1U << i)
			w->tasks[i].state = TASK_READY;
	return mourning;
}

static uint32_t options(struct world *w)
{
	uint32_t run = tasks_in(w, TASK_READY);
	uint32_t late = timeouts(w, !run);
	uint32_t die = 0;

	if (!run && !late) {
		if (tasks_in(w, TASK_ASLEEP))
			explore_fail("all that live sleep for ever");
		run = end_mourning(w);
	}
	if (w->current >= 0 && w->preemptions != EXPLORE_UNBOUNDED &&
	    w->n_preemptions >= w->preemptions)
		run = 1U << w->current;
	for (unsigned i = 0; i < w->n_tasks; i++)
		die |= (uint32_t)may_die(w, i) << i;
	return run << CHOICE_RUN | late << CHOICE_TIMEOUT | die << CHOICE_KILL;
}

/* ---- making it happen ---- */

static _Noreturn void leave(enum outcome outcome)
{
	world->outcome = outcome;
	fiber_switch(0);
	__builtin_trap();
}

static void kill_task(struct world *w, unsigned i)
{
	w->tasks[i].state = TASK_DEAD;
	w->n_deaths++;
	if (w->current == (int)i)
		w->current = -1;
	(void)end_mourning(w);
}

static void end_sleep(struct world *w, unsigned i)
{
	w->tasks[i].state = TASK_READY;
	w->tasks[i].timed_out = true;
	w->tasks[i].deaths = w->n_deaths;
	w->n_timeouts++;
}

static void check(void (*how)(const struct explore_case *c))
{
	checking = true;
	if (how)
		how(world->c);
	checking = false;
}

/* Decides what happens until a task is to run, and which one. */
static unsigned next_task(struct world *w)
{
	for (;;) {
		uint32_t open = options(w);
		unsigned choice;

		if (!open) {
			check(w->c->end);
			leave(OUTCOME_ENDED);
		}
		if (w->n_steps++ == EXPLORE_MAX_STEPS)
			explore_fail("no end after %u steps", w->n_steps - 1);
		check(w->c->step);
		choice = w->choose(w, open);
		if (choice == CHOICE_STOP)
			leave(OUTCOME_STOPPED);
		if (choice < CHOICE_TIMEOUT)
			return choice;
		if (choice < CHOICE_KILL)
			end_sleep(w, choice & CHOICE_TASK);
		else
			kill_task(w, choice & CHOICE_TASK);
		if (w->tell)
			w->tell(w, choice);
	}
}

static void turn(void)
{
	unsigned next = next_task(world);

	if (world->current >= 0 && world->current != (int)next)
		world->n_preemptions++;
	world->current = (int)next;
	if (next + 1 != fiber_current())
		fiber_switch(next + 1);
}

/* The task can not go on by itself: whoever is next costs no preemption. */
static void give_way(enum task_state state)
{
	world->tasks[world->current].state = state;
	world->current = -1;
	turn();
}

static void learn(struct task *t, uint64_t value)
{
	t->history = hash_mix(t->history + 1, value);
}

/* ---- the side of the tasks ---- */

int explore_self(void)
{
	return !world || checking ? -1 : (int)fiber_current() - 1;
}

uint64_t world_peek(const volatile void *word, unsigned size)
{
	switch (size) {
	case 1:
		return *(const volatile uint8_t *)word;
	case 2:
		return *(const volatile uint16_t *)word;
	case 4:
		return *(const volatile uint32_t *)word;
	case 8:
		return *(const volatile uint64_t *)word;
	default:
		return 0;
	}
}

/* Stops at a point and comes back when it is this task's turn. */
static struct task *stop_at(enum explore_op op, const volatile void *word,
			    unsigned size)
{
	struct task *t = &world->tasks[explore_self()];

	t->op = op;
	t->word = word;
	t->size = size;
	if (opening)
		fiber_switch(DIRECTOR);
	else
		turn();
	t->before = world_peek(word, size);
	return t;
}

/* The access itself happens after the point has returned, and so before any other
 * choice. */
static void told(struct task *t)
{
	if (world->tell)
		world->tell(world, CHOICE_RUN + (unsigned)(t - world->tasks));
}

void explore_point(enum explore_op op, const volatile void *word, unsigned size)
{
	struct task *t;

	if (explore_self() < 0)
		return;
	t = stop_at(op, word, size);
	learn(t, op == EXPLORE_LOAD || op == EXPLORE_RMW ? t->before : 0);
	told(t);
}

int explore_wait(const volatile uint32_t *word, uint32_t value)
{
	struct task *t;

	if (explore_self() < 0)
		return -EAGAIN;
	t = stop_at(EXPLORE_WAIT, word, sizeof(*word));
	told(t);
	learn(t, t->before == value);
	if (t->before != value)
		return -EAGAIN;
	t->timed_out = false;
	give_way(TASK_ASLEEP);
	learn(t, t->timed_out);
	return t->timed_out ? -ETIMEDOUT : 0;
}

void explore_wake(const volatile uint32_t *word)
{
	struct task *t;

	if (explore_self() < 0)
		return;
	t = stop_at(EXPLORE_WAKE, word, sizeof(*word));
	told(t);
	learn(t, 0);
	for (unsigned i = 0; i < world->n_tasks; i++)
		if (world->tasks[i].state == TASK_ASLEEP &&
		    world->tasks[i].word == word)
			world->tasks[i].state = TASK_READY;
}

void explore_forget(uint64_t knows)
{
	if (explore_self() >= 0)
		world->tasks[explore_self()].history = hash_mix(knows, 1);
}

bool explore_has_died(unsigned task)
{
	return world->tasks[task].state == TASK_DEAD;
}

bool explore_is_dead(unsigned task)
{
	struct task *t;

	if (explore_self() < 0)
		return explore_has_died(task);
	t = stop_at(EXPLORE_DEATH, NULL, 0);
	told(t);
	learn(t, explore_has_died(task));
	return explore_has_died(task);
}

bool explore_await_death(unsigned known)
{
	struct task *t = stop_at(EXPLORE_DEATH, NULL, 0);

	told(t);
	if (world->n_deaths <= known)
		give_way(TASK_MOURNING);
	learn(t, world->n_deaths > known);
	return world->n_deaths > known;
}

void explore_fail(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(world->message, sizeof(world->message), format, args);
	va_end(args);
	checking = false;
	leave(OUTCOME_FAILED);
}

/* ---- the schedule ---- */

static void run_task(void)
{
	unsigned i = fiber_current() - 1;

	world->c->tasks[i].run(world->c->tasks[i].arg);
	if (opening) {
		world->tasks[i].state = TASK_ENDED;
		fiber_switch(DIRECTOR);
	}
	give_way(TASK_ENDED);
	__builtin_trap();
}

static void direct(void)
{
	check(world->c->setup);
	opening = true;
	for (unsigned i = 0; i < world->n_tasks; i++)
		fiber_switch(i + 1);
	opening = false;
	turn();
	__builtin_trap();
}

static void forget(struct world *w)
{
	w->n_tasks = 0;
	while (w->n_tasks < EXPLORE_MAX_TASKS && w->c->tasks[w->n_tasks].run)
		w->n_tasks++;
	for (unsigned i = 0; i < w->n_tasks; i++)
		w->tasks[i] = (struct task){ .history = i };
	w->current = -1;
	w->n_preemptions = w->n_deaths = w->n_timeouts = w->n_steps = 0;
	w->message[0] = '\0';
	memset(w->c->memory, 0, w->c->size);
}

void world_play(struct world *w)
{
	forget(w);
	world = w;
	opening = checking = false;
	for (unsigned i = 0; i < w->n_tasks; i++)
		fiber_reset(i + 1, run_task);
	fiber_reset(DIRECTOR, direct);
	fiber_switch(DIRECTOR);
	world = NULL;
}
