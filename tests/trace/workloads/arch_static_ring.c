/* A ring is a gap in a static program, too. */
#include "gap_io_uring.c"
