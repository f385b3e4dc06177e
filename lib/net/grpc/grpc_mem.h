/* grpc_mem.h - memory for nghttp2.
 *
 * A call makes nghttp2 allocate about twenty small blocks and free them again; glibc keeps
 * seven of a size at hand, a hundred calls of one round need more.  So freed blocks are
 * kept in lists by size, up to a bound, and given out again. */
#ifndef NET_GRPC_MEM_H
#define NET_GRPC_MEM_H

#include <nghttp2/nghttp2.h>
#include <stddef.h>

enum {
	GRPC_MEM_STEP = 32, /* sizes are multiples of it */
	GRPC_MEM_SIZES = 32, /* blocks larger than all of them are malloc()'s */
	GRPC_MEM_KEEPS = 8 << 20, /* bytes that are free, at most */
};

struct grpc_mem_block;

struct grpc_mem {
	nghttp2_mem mem; /* what nghttp2 is given */
	struct grpc_mem_block *free[GRPC_MEM_SIZES];
	size_t kept; /* bytes in `free` */
};

void grpc_mem_init(struct grpc_mem *m);
void grpc_mem_release(struct grpc_mem *m); /* after the last session */

#endif
