/* A walk that changes the working directory on its way. */
#include <ftw.h>

#include "workload.h"

static int visit(const char *path, const struct stat *st, int type,
		 struct FTW *ftw)
{
	(void)st;
	if (type == FTW_F)
		take(path + ftw->base);
	return 0;
}

void prepare(void)
{
	CHECK(mkdir("dir", 0755));
	CHECK(mkdir("dir/deep", 0755));
	put("dir/a", "hello");
	put("dir/deep/b", "hello");
}

void act(void)
{
	CHECK(nftw("dir", visit, 8, FTW_CHDIR));
	take("dir/a");
	expect("input dir/a");
	expect("input dir/deep/b");
}
