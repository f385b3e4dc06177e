/* What is read and changed by one open must be known as an input before anybody
 * is told of the change; what is emptied, after. */
#include "workload.h"

void prepare(void)
{
	put("f", "old");
	put("g", "old");
}

void act(void)
{
	take("g");
	put_fd(CHECK(open("f", O_RDWR)), "new");
	put("g", "new");
	expect("event open r g");
	expect("event open rw f");
	expect("event change f");
	expect("event change g");
	expect("event open w+trunc g");
	expect("input f");
	expect("input g");
	expect("output f");
	expect("output g");
}
