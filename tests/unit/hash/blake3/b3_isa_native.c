/* b3_isa_native.c - see b3_isa.h */
#include "b3_isa.h"

const char *const isa_names[] = { "native" };
const size_t n_isas = 1;

bool isa_force(const char *name)
{
	(void)name;
	return true;
}
