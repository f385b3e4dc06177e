/* schedule.h - a schedule as a string, as in "a7b3!a"; see explore.h. */
#ifndef TESTS_EXPLORE_SCHEDULE_H
#define TESTS_EXPLORE_SCHEDULE_H

#include <stddef.h>
#include <stdint.h>

/* Cut off, with "..." at its end, where the room ends. */
void schedule_format(const uint8_t *choices, size_t n, char *text, size_t size);

/* The number of choices, or -EINVAL. */
int schedule_parse(const char *text, uint8_t *choices, size_t max);

#endif
