/* tmpfile() leaves no name, here or elsewhere. */
#include "workload.h"

void act(void)
{
	FILE *f = tmpfile();

	REQUIRE(f && fputs("x", f) >= 0);
	rewind(f);
	REQUIRE(getc(f) == 'x');
	REQUIRE(fclose(f) == 0);
	put("out.txt", "x");
	expect("output out.txt");
}
