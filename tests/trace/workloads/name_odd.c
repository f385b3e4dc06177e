/* Any bytes but '/' and NUL make a name. */
#include "workload.h"

static const struct {
	const char *name;
	const char *printed;
} names[] = {
	{ "two\nlines", "two\\nlines" },
	{ "bad\xff\xfeutf8", "bad\\xff\\xfeutf8" },
	{ " leading and trailing ", " leading and trailing " },
	{ "quote\"'`$(x)", "quote\"'`$(x)" },
	{ "\x1b[31mred", "\\x1b[31mred" },
	{ "-rf", "-rf" },
	{ "a -> b", "a -> b" },
	{ "gone (deleted)", "gone (deleted)" },
	{ "\xc3\xa9t\xc3\xa9", "\xc3\xa9t\xc3\xa9" },
};

void act(void)
{
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		put(names[i].name, "x");
		expect("output %s", names[i].printed);
	}
}
