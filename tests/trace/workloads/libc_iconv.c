/* iconv_open() reads its configuration from inside the C library. */
#include <iconv.h>

#include "workload.h"

void prepare(void)
{
	CHECK(mkdir("gconv", 0755));
	put("gconv/gconv-modules", "alias\tMYSET//\tUTF-8//\n");
}

void act(void)
{
	CHECK(setenv("GCONV_PATH", "gconv", 1));
	REQUIRE(iconv_open("NO-SUCH-SET", "UTF-8") == (iconv_t)-1);
	expect("input gconv/gconv-modules");
}
