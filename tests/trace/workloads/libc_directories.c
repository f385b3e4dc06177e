/* opendir, scandir, nftw and glob open directories: none is in the record, and a
 * file is only when it is opened itself. */
#include <dirent.h>
#include <ftw.h>
#include <glob.h>

#include "workload.h"

static int visit(const char *path, const struct stat *st, int type,
		 struct FTW *ftw)
{
	(void)st;
	(void)ftw;
	if (type == FTW_F && strstr(path, "found"))
		take(path);
	return 0;
}

void prepare(void)
{
	CHECK(mkdir("dir", 0755));
	CHECK(mkdir("dir/deep", 0755));
	put("dir/passed", "hello");
	put("dir/deep/found", "hello");
}

void act(void)
{
	struct dirent **list;
	glob_t names;
	DIR *dir = opendir("dir");

	REQUIRE(dir && readdir(dir) && closedir(dir) == 0);
	REQUIRE(scandir("dir", &list, NULL, alphasort) == 4);
	REQUIRE(glob("dir/*/f*", 0, NULL, &names) == 0 && names.gl_pathc == 1);
	REQUIRE(!opendir("nothing") && errno == ENOENT);
	REQUIRE(!opendir("dir/passed") && errno == ENOTDIR);
	CHECK(nftw("dir", visit, 8, FTW_PHYS));
	expect("input dir/deep/found");
}
