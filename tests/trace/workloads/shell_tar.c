/* tar packs and unpacks with names relative to descriptors. */
#include "workload.h"

void prepare(void)
{
	if (system("tar --version > /dev/null 2>&1") != 0)
		skip("no tar");
	CHECK(mkdir("dir", 0755));
	put("dir/a", "hello");
	put("dir/b", "hello");
	CHECK(mkdir("new", 0755));
}

void act(void)
{
	REQUIRE(system("tar -cf pack.tar dir && tar -C new -xf pack.tar") == 0);
	expect("input dir/a");
	expect("input dir/b");
	expect("output pack.tar");
	expect("intermediate pack.tar");
	expect("output new/dir/a");
	expect("output new/dir/b");
}
