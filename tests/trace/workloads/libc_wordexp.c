/* wordexp() looks names up and runs a shell for commands. */
#include <wordexp.h>

#include "workload.h"

void prepare(void)
{
	put("in.txt", "hello");
	put("passed.c", "hello");
}

void act(void)
{
	wordexp_t words;

	REQUIRE(wordexp("*.c $(cat in.txt)", &words, 0) == 0);
	REQUIRE(words.we_wordc == 2 && strcmp(words.we_wordv[1], "hello") == 0);
	wordfree(&words);
	expect("input in.txt");
}
