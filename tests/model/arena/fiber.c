/* fiber.c - see fiber.h.
 *
 * Each fiber is made once, by makecontext(), which is slow, as swapcontext() is: both ask
 * the kernel for the mask of signals.  From then on a switch is a _longjmp(), and a
 * fiber that is to begin anew is one that jumps back to the first frame of its stack. */
#undef _FORTIFY_SOURCE /* its longjmp() forbids other stacks */
#include "fiber.h"

#include <setjmp.h>
#include <stdalign.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <ucontext.h>

/* AddressSanitizer has to be told where the stack is, and that frames which were
 * left for ever are no frames any more. */
#if defined(__SANITIZE_ADDRESS__)
#define FIBER_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define FIBER_ASAN 1
#endif
#endif

#ifdef FIBER_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

enum { STACK_BYTES = 256 << 10 };

struct fiber {
	jmp_buf here; /* where it goes on */
	jmp_buf beginning; /* its first frame */
	bool made;
	void *fake; /* AddressSanitizer's */
	const void *bottom; /* of the stack */
	size_t size;
	void (*entry)(void);
};

static struct fiber fibers[FIBER_MAX];
static unsigned current;
static unsigned previous;
static alignas(64) char stacks[FIBER_MAX][STACK_BYTES];

#ifdef FIBER_ASAN
static void before_switch(struct fiber *from, const struct fiber *to)
{
	__sanitizer_start_switch_fiber(&from->fake, to->bottom, to->size);
}

static void after_switch(void *fake)
{
	struct fiber *from = &fibers[previous];

	/* The first switch away from fiber 0 is how its stack becomes known. */
	__sanitizer_finish_switch_fiber(fake, &from->bottom, &from->size);
}

static void forget_frames(unsigned fiber)
{
	ASAN_UNPOISON_MEMORY_REGION(stacks[fiber], STACK_BYTES);
}
#else
static void before_switch(struct fiber *from, const struct fiber *to)
{
	(void)from;
	(void)to;
}

static void after_switch(void *fake)
{
	(void)fake;
}

static void forget_frames(unsigned fiber)
{
	(void)fiber;
}
#endif

/* The first frame of a fiber.  It is left by a switch only, so it is always there to be
 * jumped back to. */
static void first_frame(void)
{
	after_switch(NULL);
	if (!_setjmp(fibers[current].beginning)) {
		before_switch(&fibers[current], &fibers[previous]);
		_longjmp(fibers[previous].here, 1);
	}
	after_switch(NULL);
	fibers[current].entry();
	__builtin_trap();
}

/* Runs the new fiber up to its first frame, and comes back. */
static void make(unsigned fiber)
{
	ucontext_t context;

	fibers[fiber].bottom = stacks[fiber];
	fibers[fiber].size = STACK_BYTES;
	fibers[fiber].made = true;
	(void)getcontext(&context);
	context.uc_stack.ss_sp = stacks[fiber];
	context.uc_stack.ss_size = STACK_BYTES;
	context.uc_link = NULL;
	makecontext(&context, first_frame, 0);
	previous = current;
	current = fiber;
	before_switch(&fibers[previous], &fibers[fiber]);
	if (!_setjmp(fibers[previous].here))
		(void)setcontext(&context);
	current = previous;
	previous = fiber;
	after_switch(fibers[current].fake);
}

void fiber_reset(unsigned fiber, void (*entry)(void))
{
	struct fiber *f = &fibers[fiber];

	if (!f->made)
		make(fiber);
	forget_frames(fiber);
	f->entry = entry;
	f->fake = NULL;
	memcpy(&f->here, &f->beginning, sizeof(f->here));
}

void fiber_switch(unsigned to)
{
	struct fiber *from = &fibers[current];

	previous = current;
	current = to;
	before_switch(from, &fibers[to]);
	if (!_setjmp(from->here))
		_longjmp(fibers[to].here, 1);
	after_switch(fibers[current].fake);
}

unsigned fiber_current(void)
{
	return current;
}
