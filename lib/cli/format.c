/* format.c - see cli.h */
#include <string.h>

#include "base/macros.h"
#include "base/str.h"
#include "cli/cli.h"

void format_size(struct str *out, uint64_t bytes)
{
	static const char *const units[] = { "KiB", "MiB", "GiB",
					     "TiB", "PiB", "EiB" };
	double value = (double)bytes / 1024;
	size_t i = 0;

	if (bytes < 1024) {
		str_addf(out, "%u B", (unsigned)bytes);
		return;
	}
	/* 1023.95 would be shown as 1024.0. */
	for (; value >= 1023.95 && i + 1 < ARRAY_SIZE(units); i++)
		value /= 1024;
	str_addf(out, "%.1f %s", value, units[i]);
}

static bool ends_with(const char *noun, size_t len, const char *tail)
{
	size_t n = strlen(tail);

	return len >= n && !memcmp(noun + len - n, tail, n);
}

/* "process" -> "processes", "entry" -> "entries", "file" -> "files". */
static void add_plural(struct str *out, const char *noun)
{
	size_t len = strlen(noun);

	if (len > 1 && noun[len - 1] == 'y' && !strchr("aeiou", noun[len - 2])) {
		str_add(out, noun, len - 1);
		str_adds(out, "ies");
		return;
	}
	str_add(out, noun, len);
	if (ends_with(noun, len, "s") || ends_with(noun, len, "x") ||
	    ends_with(noun, len, "ch") || ends_with(noun, len, "sh"))
		str_addc(out, 'e');
	str_addc(out, 's');
}

void format_number(struct str *out, uint64_t n)
{
	if (n >= 1000) {
		format_number(out, n / 1000);
		str_addf(out, ",%03u", (unsigned)(n % 1000));
	} else {
		str_addf(out, "%u", (unsigned)n);
	}
}

void format_count(struct str *out, uint64_t n, const char *noun)
{
	format_number(out, n);
	str_addc(out, ' ');
	if (n == 1)
		str_adds(out, noun);
	else
		add_plural(out, noun);
}
