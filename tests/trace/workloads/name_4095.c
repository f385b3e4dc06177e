/* The longest name: 4,095 bytes, reached by relative steps. */
#include <limits.h>

#include "workload.h"

enum { LONGEST = PATH_MAX - 1, STEP = 200 };

/* Makes a directory and goes there. */
static void descend(char *below)
{
	char part[STEP + 1];

	memset(part, 'd', STEP);
	part[STEP] = '\0';
	CHECK(mkdir(part, 0755));
	CHECK(chdir(part));
	strcat(strcat(below, part), "/");
}

void act(void)
{
	static char below[PATH_MAX];
	char top[PATH_MAX], name[NAME_MAX + 1];
	size_t used, len;

	REQUIRE(getcwd(top, sizeof(top)));
	used = strlen(top);
	for (; LONGEST - used - 1 > NAME_MAX; used += STEP + 1)
		descend(below);
	len = LONGEST - used - 1;
	memset(name, 'f', len);
	name[len] = '\0';
	put(name, "x");
	take(name);
	expect("output %s%s", below, name);
	expect("intermediate %s%s", below, name);
}
