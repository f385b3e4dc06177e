/* number.c - see number.h */
#include "base/number.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

int number_take(const char **at, uint64_t max, uint64_t *ret)
{
	const char *p = *at;
	uint64_t n = 0;

	if (*p < '0' || *p > '9')
		return -EINVAL;
	for (; *p >= '0' && *p <= '9'; p++)
		if (__builtin_mul_overflow(n, 10, &n) ||
		    __builtin_add_overflow(n, *p - '0', &n) || n > max)
			return -ERANGE;
	*at = p;
	*ret = n;
	return 0;
}

int number_parse(const char *text, int64_t min, int64_t max, int64_t *ret)
{
	bool negative = *text == '-';
	int64_t value;
	uint64_t n;
	int r;

	text += negative;
	r = number_take(&text, (uint64_t)INT64_MAX + negative, &n);
	if (r < 0)
		return r;
	value = (int64_t)(negative ? -n : n);
	if (*text)
		return -EINVAL;
	if (value < min || value > max)
		return -ERANGE;
	*ret = value;
	return 0;
}

/* The value of a unit; 0: there is no such unit. */
static uint64_t unit_value(const char *unit)
{
	static const char letters[] = "KMGT";
	const char *at = *unit ? strchr(letters, toupper(*unit)) : NULL;
	uint64_t base = 1024;
	uint64_t value = 1;

	if (!*unit || !strcasecmp(unit, "B"))
		return 1;
	if (!at)
		return 0;
	if (!strcasecmp(unit + 1, "B"))
		base = 1000;
	else if (unit[1] && strcasecmp(unit + 1, "iB") != 0)
		return 0;
	for (const char *p = letters; p <= at; p++)
		value *= base;
	return value;
}

int number_parse_size(const char *text, uint64_t *ret_bytes)
{
	uint64_t n;
	int r = number_take(&text, UINT64_MAX, &n);
	uint64_t unit = r < 0 ? 0 : unit_value(text);

	if (r < 0)
		return r;
	if (!unit)
		return -EINVAL;
	if (n > UINT64_MAX / unit)
		return -ERANGE;
	*ret_bytes = n * unit;
	return 0;
}
