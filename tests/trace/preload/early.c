/* early.c - a library whose constructor opens a file, maybe before ours ran. */
#include <fcntl.h>
#include <unistd.h>

__attribute__((constructor)) static void open_early(void)
{
	close(open("r9", O_RDONLY));
}
