/* visitor.c - a program of some other make: reads a file, writes one, says so. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(void)
{
	int in = open("r1", O_RDONLY);
	int out = open("visited", O_WRONLY | O_CREAT | O_TRUNC, 0644);

	printf("%s\n",
	       in >= 0 && out >= 0 && !getenv("LD_PRELOAD") ? "fine" : "bad");
	return 0;
}
