#include "schedule.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "world.h"

static const char *prefix(uint8_t choice)
{
	return choice >= CHOICE_KILL	? "!" :
	       choice >= CHOICE_TIMEOUT ? "?" :
					  "";
}

static size_t same(const uint8_t *choices, size_t n)
{
	size_t i = 1;

	while (i < n && choices[i] == choices[0])
		i++;
	return i;
}

void schedule_format(const uint8_t *choices, size_t n, char *text, size_t size)
{
	size_t at = 0;

	text[0] = '\0';
	while (n && size - at > 16) {
		size_t count = same(choices, n);

		at += (size_t)snprintf(text + at, size - at, "%s%c",
				       prefix(choices[0]),
				       'a' + (choices[0] & CHOICE_TASK));
		if (count > 1)
			at += (size_t)snprintf(text + at, size - at, "%zu",
					       count);
		choices += count;
		n -= count;
	}
	if (n)
		snprintf(text + at, size - at, "...");
}

static unsigned kind_of(const char **text)
{
	if (**text != '!' && **text != '?')
		return CHOICE_RUN;
	return *(*text)++ == '!' ? CHOICE_KILL : CHOICE_TIMEOUT;
}

int schedule_parse(const char *text, uint8_t *choices, size_t max)
{
	size_t n = 0;

	while (*text) {
		unsigned kind = kind_of(&text);
		unsigned task = (unsigned)*text++ - 'a';
		char *end = (char *)text;
		unsigned long count = 1;

		if (task >= EXPLORE_MAX_TASKS)
			return -EINVAL;
		if (*text >= '0' && *text <= '9')
			count = strtoul(text, &end, 10);
		if (!count || count > max - n)
			return -EINVAL;
		memset(choices + n, (int)(kind | task), count);
		n += count;
		text = end;
	}
	return (int)n;
}
