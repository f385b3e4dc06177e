/* b3_isa.h - the instruction sets that BLAKE3 can be made to use.
 *
 * b3_isa_forced.c needs BLAKE3 compiled for testing, whose dispatcher lets its
 * view of the CPU be changed; b3_isa_native.c only has what the CPU has. */
#ifndef ROAR_TEST_B3_ISA_H
#define ROAR_TEST_B3_ISA_H

#include <stdbool.h>
#include <stddef.h>

/* The first one is "native": whatever BLAKE3 picks by itself. */
extern const char *const isa_names[];
extern const size_t n_isas;

/* From now on BLAKE3 uses this one and none above it; false: the CPU cannot. */
bool isa_force(const char *name);

#endif
