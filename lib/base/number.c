/* number.c - see number.h */
#include "base/number.h"

#include <errno.h>
#include <stdbool.h>

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
