#include "fiber.h"

#include <stdalign.h>
#include <stddef.h>
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
	ucontext_t context;
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

static void begin(void)
{
	after_switch(NULL);
	fibers[current].entry();
	__builtin_trap();
}

void fiber_reset(unsigned fiber, void (*entry)(void))
{
	struct fiber *f = &fibers[fiber];

	forget_frames(fiber);
	f->entry = entry;
	f->fake = NULL;
	f->bottom = stacks[fiber];
	f->size = STACK_BYTES;
	(void)getcontext(&f->context);
	f->context.uc_stack.ss_sp = stacks[fiber];
	f->context.uc_stack.ss_size = STACK_BYTES;
	f->context.uc_link = NULL;
	makecontext(&f->context, begin, 0);
}

void fiber_switch(unsigned to)
{
	struct fiber *from = &fibers[current];

	previous = current;
	current = to;
	before_switch(from, &fibers[to]);
	(void)swapcontext(&from->context, &fibers[to].context);
	after_switch(from->fake);
}

unsigned fiber_current(void)
{
	return current;
}
