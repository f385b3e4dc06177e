/* number.h - decimal numbers in text.
 *
 * Blanks are never skipped.  Both functions return 0, -EINVAL when there is no number, or
 * -ERANGE when it is out of bounds, and change their outputs only on success. */
#ifndef ROAR_BASE_NUMBER_H
#define ROAR_BASE_NUMBER_H

#include <stdint.h>

/* All of `text` is a number from `min` to `max`: digits, which '-' may precede. */
int number_parse(const char *text, int64_t min, int64_t max, int64_t *ret);

/* The digits at *at are a number up to `max`; *at moves past them. */
int number_take(const char **at, uint64_t max, uint64_t *ret);

#endif
