/* The directory has a name, the file in it would have one too long: a process
 * standing there opens it all the same.  Told in full, or confessed. */
#include <limits.h>

#include "workload.h"

void act(void)
{
	char top[PATH_MAX], part[NAME_MAX + 1];

	memset(part, 'd', sizeof(part));
	part[200] = '\0';
	REQUIRE(getcwd(top, sizeof(top)));
	for (size_t used = strlen(top); used < 3880; used += 201) {
		CHECK(mkdir(part, 0755));
		CHECK(chdir(part));
	}
	REQUIRE(getcwd(top, sizeof(top)));
	memset(part, 'f', NAME_MAX);
	part[NAME_MAX] = '\0';
	put(part, "x");
	expect("gap path");
}
