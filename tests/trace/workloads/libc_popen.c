/* popen() in both directions. */
#include "workload.h"

void prepare(void)
{
	put("in.txt", "b\na\n");
}

void act(void)
{
	char line[16];
	FILE *f = popen("sort in.txt", "r");

	REQUIRE(f && fgets(line, sizeof(line), f) && line[0] == 'a');
	REQUIRE(fgets(line, sizeof(line), f) && pclose(f) == 0);
	f = popen("cat > out.txt", "we");
	REQUIRE(f && fputs("x", f) >= 0 && pclose(f) == 0);
	expect("input in.txt");
	expect("output out.txt");
}
