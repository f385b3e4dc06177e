/* fiber.h - stacks to switch between, for the tasks of a schedule.
 *
 * A fiber is started again and again, also when its last run was left in the middle:
 * that is how a task dies.  Fiber 0 is the caller's own stack. */
#ifndef TESTS_EXPLORE_FIBER_H
#define TESTS_EXPLORE_FIBER_H

enum { FIBER_MAX = 8 };

/* Makes the fiber ready to run entry() from its beginning, which must never return. */
void fiber_reset(unsigned fiber, void (*entry)(void));

/* Goes on with another fiber; returns when somebody switches back. */
void fiber_switch(unsigned to);

unsigned fiber_current(void);

#endif
