/* stability.h - will every change of a file show in its stamp?
 *
 * Not always.  A store into a shared mapping moves the times of a file only when its
 * page was clean: as long as the page stays dirty, more stores leave no trace.  A
 * digest under such a stamp may be wrong a moment later, so it must not be kept for
 * other runs.  A file is stable when
 *
 *	- its times are older than dirty pages ever get before they are written
 *	  to the disk (they are clean then), unless it lives in memory alone, or
 *	- no process has it open for writing, or mapped so; the owner of the file
 *	  and root can find that out by taking a lease (fcntl(2)).
 *
 * Two cases are not detected: a process that wrote through a mapping after the digest was
 * taken and unmapped it before the check; and a process that keeps writing through a
 * mapping in an overlay whose upper layer is in memory. */
#ifndef ROAR_HASH_STABILITY_H
#define ROAR_HASH_STABILITY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/stamp.h"

/* State between two checks; zeroed at first.  One thread. */
struct stability {
	uint64_t dev; /* the file system last checked */
	bool known;
	bool in_memory; /* it never writes pages to disk */
	bool hides_writers; /* a lease proves nothing there */
	bool deceives; /* its stamps do not identify content */
};

/* Can stamps of this file's file system be trusted at all?  See filesystem.h. */
bool stability_trusts_stamps(struct stability *memory, const char *path,
			     uint64_t dev);

/* Is the file of that name and stamp, whose digest was taken at `taken_ns`, stable?
 * False when the name leads to another file, the kernel does not tell, or stamps of the
 * file system cannot be trusted.  The file has a lease for a moment: an open for writing
 * waits until it is released, and with O_NONBLOCK fails with EWOULDBLOCK.  The caller
 * has SIGIO blocked or ignored. */
bool stability_is_proven(struct stability *memory, const char *path,
			 const struct stamp *stamp, int64_t taken_ns);

#endif
