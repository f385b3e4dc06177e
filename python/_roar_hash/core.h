/* core.h - what the files of the extension _roar_hash share.
 *
 * The module has no state.
 *
 *	wanted		the requested digests; digests as a dict
 *	buffer		bytes in memory
 *	files		files, with one thread per CPU
 *	interrupt	the GIL, and Ctrl-C while it is released
 *
 * Reading and hashing release the GIL, except for buffers so small that taking it
 * again would cost more. */
#ifndef ROAR_PYTHON_HASH_CORE_H
#define ROAR_PYTHON_HASH_CORE_H

#include "common/module.h"

#endif
