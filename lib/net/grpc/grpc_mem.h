/* grpc_mem.h - memory for nghttp2.
 *
 * For each call nghttp2 allocates and frees about twenty small blocks.  glibc caches seven
 * of a size, but a hundred calls of one round need more.  So freed blocks are kept in lists
 * by size, up to a limit, and reused. */
#ifndef NET_GRPC_MEM_H
#define NET_GRPC_MEM_H

#include <nghttp2/nghttp2.h>
#include <stddef.h>

enum {
	GRPC_MEM_STEP = 32, /* sizes are multiples of this */
	GRPC_MEM_SIZES = 32, /* larger blocks come from malloc() */
	GRPC_MEM_KEEPS = 8 << 20, /* most bytes in free lists */
};

struct grpc_mem_block;

struct grpc_mem {
	nghttp2_mem mem; /* passed to nghttp2 */
	struct grpc_mem_block *free[GRPC_MEM_SIZES];
	size_t kept; /* bytes in `free` */
};

void grpc_mem_init(struct grpc_mem *m);
void grpc_mem_release(struct grpc_mem *m); /* after the last session */

#endif
