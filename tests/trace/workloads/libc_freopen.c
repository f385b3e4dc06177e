/* freopen() closes one file and opens another in its place. */
#include "workload.h"

void prepare(void)
{
	put("first", "hello");
	put("second", "hello");
}

void act(void)
{
	FILE *f = fopen("first", "r");

	REQUIRE(f && getc(f) == 'h');
	f = freopen("second", "r", f);
	REQUIRE(f && getc(f) == 'h');
	f = freopen("out.txt", "w", f);
	REQUIRE(f && fputs("x", f) >= 0);
	REQUIRE(!freopen("no/such", "r", f) && errno == ENOENT);
	expect("input first");
	expect("input second");
	expect("output out.txt");
}
