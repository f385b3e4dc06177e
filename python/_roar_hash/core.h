/* core.h - what the files of the extension _roar_hash share.
 *
 * The module has no state.
 *
 *	wanted		the digests that were asked for; digests as a dict
 *	buffer		bytes in memory
 *	files		files, with as many threads as there are CPUs
 *	interrupt	the GIL, and Ctrl-C while it is released
 *
 * Nothing is read or hashed with the GIL held, but for buffers so small that waiting
 * to get it back would take longer. */
#ifndef ROAR_PYTHON_HASH_CORE_H
#define ROAR_PYTHON_HASH_CORE_H

#include "common/module.h"

#endif
