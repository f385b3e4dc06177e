/* term.c - see cli.h
 *
 * The character set is read off the names of the locale variables: setlocale()
 * would load locale files and cost more than the rest of a short command. */
#include "cli/cli.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/str.h"

enum { WIDTH_DEFAULT = 80, WIDTH_MIN = 20, WIDTH_MAX = 1000 };

static bool is_set(const char *variable)
{
	const char *value = getenv(variable);

	return value && *value;
}

/* The first of the three that is set decides, as in POSIX. */
bool term_has_unicode(void)
{
	static const char *const variables[] = { "LC_ALL", "LC_CTYPE", "LANG" };

	for (size_t i = 0; i < 3; i++) {
		if (!is_set(variables[i]))
			continue;
		return strcasestr(getenv(variables[i]), "utf-8") ||
		       strcasestr(getenv(variables[i]), "utf8");
	}
	return false;
}

static int width_of(int fd)
{
	struct winsize size;
	const char *columns = getenv("COLUMNS");
	int width = 0;

	if (ioctl(fd, TIOCGWINSZ, &size) == 0)
		width = size.ws_col;
	else if (columns)
		width = atoi(columns);
	if (width <= 0 || width > WIDTH_MAX)
		return WIDTH_DEFAULT;
	return width < WIDTH_MIN ? WIDTH_MIN : width;
}

struct term term_of(int fd)
{
	const char *type = getenv("TERM");
	struct term t = {
		.tty = isatty(fd),
		.unicode = term_has_unicode(),
		.width = width_of(fd),
	};

	t.color = t.tty && type && *type && strcmp(type, "dumb") != 0 &&
		  !is_set("NO_COLOR");
	return t;
}

void term_add(struct str *out, const struct term *t, enum color color,
	      const char *text)
{
	static const char *const codes[] = {
		[COLOR_BOLD] = "1",    [COLOR_DIM] = "2",
		[COLOR_RED] = "31",    [COLOR_GREEN] = "32",
		[COLOR_YELLOW] = "33", [COLOR_BLUE] = "34",
		[COLOR_CYAN] = "36",
	};

	if (!t->color || color == COLOR_NONE)
		str_adds(out, text);
	else
		str_addf(out, "\033[%sm%s\033[0m", codes[color], text);
}
