/* Directory and path together are longer than a path may be, though the file's
 * own name is short. */
#include "workload.h"

enum { DEPTH = 12, STAY = 550 };

void prepare(void)
{
	char part[251];

	put("in.txt", "hello");
	memset(part, 'd', sizeof(part) - 1);
	part[sizeof(part) - 1] = '\0';
	for (int i = 0; i < DEPTH; i++) {
		CHECK(mkdir(part, 0755));
		CHECK(chdir(part));
	}
}

void act(void)
{
	char path[2 * STAY + 3 * DEPTH + 16] = "";
	char part[251];

	memset(part, 'd', sizeof(part) - 1);
	part[sizeof(part) - 1] = '\0';
	for (int i = 0; i < DEPTH; i++)
		CHECK(chdir(part));
	for (int i = 0; i < STAY; i++)
		strcat(path, "./");
	for (int i = 0; i < DEPTH; i++)
		strcat(path, "../");
	strcat(path, "in.txt");
	take(path);
	expect_watched("input in.txt");
	expect("only hybrid gap path");
	expect("only preload gap path");
}
