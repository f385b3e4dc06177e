/* toml_number.h - the words of TOML that are no strings (family of toml.h). */
#ifndef ROAR_BASE_TOML_NUMBER_H
#define ROAR_BASE_TOML_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes up to the next delimiter.  The blank inside of "1979-05-27 07:32:00"
 * belongs to the word. */
size_t toml_word_length(const char *word, size_t len);

/* Decimal, 0x, 0o and 0b with '_' between digits.  -EINVAL when it is no
 * integer, -ERANGE when it does not fit. */
int toml_parse_integer(const char *word, size_t len, int64_t *ret);

bool toml_is_float(const char *word, size_t len);

/* Date, time or both; ranges of the fields are not checked. */
bool toml_is_date(const char *word, size_t len);

#endif
