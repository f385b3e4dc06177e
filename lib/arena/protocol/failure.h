/* failure.h - the sentence of a thread's last failure, for roar_arena_error(). */
#ifndef ROAR_ARENA_FAILURE_H
#define ROAR_ARENA_FAILURE_H

void failure_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Stores the sentence and evaluates to `r`.  A macro, so that the compiler knows the value. */
#define failure(r, ...)                   \
	({                                \
		int failure_ = (r);       \
		failure_say(__VA_ARGS__); \
		failure_;                 \
	})

#endif
