/* Deeper than any name can say: told in full, or confessed as a gap. */
#include "workload.h"

void act(void)
{
	char part[256];

	memset(part, 'd', sizeof(part));
	part[250] = '\0';
	for (int i = 0; i < 20; i++) {
		CHECK(mkdir(part, 0755));
		CHECK(chdir(part));
	}
	put("deep.txt", "x");
	expect("gap path");
}
