/* Names of shared memory and semaphores are files elsewhere, with no content
 * that matters here. */
#include <semaphore.h>
#include <sys/mman.h>

#include "workload.h"

void act(void)
{
	char name[64];
	sem_t *sem;

	snprintf(name, sizeof(name), "/roar-trace-%d", (int)getpid());
	CHECK(close(CHECK(shm_open(name, O_RDWR | O_CREAT | O_EXCL, 0600))));
	FAILS(shm_open(name, O_RDWR | O_CREAT | O_EXCL, 0600), EEXIST);
	CHECK(shm_unlink(name));
	sem = sem_open(name, O_CREAT, 0600, 1);
	REQUIRE(sem != SEM_FAILED);
	CHECK(sem_unlink(name));
	put("out.txt", "x");
	expect("output out.txt");
}
