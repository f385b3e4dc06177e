/* setlocale() loads its tables from inside the C library. */
#include <locale.h>

#include "workload.h"

void prepare(void)
{
	static const char from[] = "/usr/lib/locale/C.utf8/LC_CTYPE";

	if (access(from, R_OK) < 0)
		skip("no C.utf8 locale to copy");
	CHECK(mkdir("locale", 0755));
	CHECK(mkdir("locale/xx_XX.utf8", 0755));
	copy_program(from, "locale/xx_XX.utf8/LC_CTYPE");
}

void act(void)
{
	CHECK(setenv("LOCPATH", "locale", 1));
	REQUIRE(setlocale(LC_CTYPE, "xx_XX.utf8"));
	REQUIRE(!setlocale(LC_CTYPE, "yy_YY.utf8"));
	expect("input locale/xx_XX.utf8/LC_CTYPE");
}
