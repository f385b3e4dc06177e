/* Appending makes an output and needs no reading. */
#include "workload.h"

void prepare(void)
{
	put("log.txt", "one\n");
}

void act(void)
{
	put_fd(CHECK(open("log.txt", O_WRONLY | O_APPEND)), "two\n");
	put_fd(CHECK(open("new.txt", O_WRONLY | O_APPEND | O_CREAT, 0644)),
	       "one\n");
	expect("output log.txt");
	expect("output new.txt");
	expect("event open w log.txt");
	expect("event open w+create new.txt");
}
