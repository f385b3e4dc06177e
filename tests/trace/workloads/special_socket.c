/* bind() makes a name that no open can use. */
#include <sys/socket.h>
#include <sys/un.h>

#include "workload.h"

void act(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX,
				       .sun_path = "socket" };
	int fd = CHECK(socket(AF_UNIX, SOCK_STREAM, 0));

	CHECK(bind(fd, (struct sockaddr *)&address, sizeof(address)));
	FAILS(open("socket", O_RDWR), ENXIO);
	FAILS(bind(fd, (struct sockaddr *)&address, sizeof(address)),
	      EADDRINUSE);
	CHECK(rename("socket", "moved"));
	CHECK(unlink("moved"));
	put("out.txt", "x");
	expect("output out.txt");
	expect("special socket");
	expect("special moved");
}
