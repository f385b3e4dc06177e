/* main.c - from the command line to the command. */
#include <errno.h>
#include <fcntl.h>

#include "commands.h"
#include "run/front.h"

/* If the caller closed descriptor 0, 1 or 2, the next file we open would get the
 * number, and our output would end up in it.  So the number is occupied by a
 * descriptor that can neither be read nor written (O_PATH).  It is close-on-exec:
 * the observed command starts with the descriptors that roar was given. */
static void occupy_standard_fds(void)
{
	for (int fd = 0; fd <= 2; fd++)
		if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
			(void)open("/", O_PATH | O_CLOEXEC);
}

int main(int argc, char **argv)
{
	front_prepare();
	occupy_standard_fds();
	return program_main(&roar_program, argc, argv);
}
