/* number.h - decimal numbers and sizes in text.
 *
 * Blanks are never skipped.  All functions return 0, -EINVAL when there is no number, or
 * -ERANGE when it is out of bounds, and change their outputs only on success. */
#ifndef ROAR_BASE_NUMBER_H
#define ROAR_BASE_NUMBER_H

#include <stdint.h>

/* All of `text` is a number from `min` to `max`: digits, which '-' may precede. */
int number_parse(const char *text, int64_t min, int64_t max, int64_t *ret);

/* The digits at *at are a number up to `max`; *at moves past them. */
int number_take(const char **at, uint64_t max, uint64_t *ret);

/* All of `text` is a size: digits, and a unit: B (or none), KiB, MiB, GiB, TiB, or their first
 * letters, which are powers of 1024, or KB, MB, GB, TB, powers of 1000; in either case. */
int number_parse_size(const char *text, uint64_t *ret_bytes);

#endif
