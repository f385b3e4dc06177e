/* calls.c - see calls.h */
#include "trace/call/calls.h"

enum call call_find(uint32_t audit_arch, uint64_t nr)
{
	for (size_t i = 0; i < n_call_abis; i++) {
		const struct call_abi *abi = &call_abis[i];

		if (abi->audit_arch != audit_arch)
			continue;
		if (nr >= abi->foreign_from && nr < abi->foreign_until)
			return CALL_FOREIGN;
		for (size_t j = 0; j < abi->n_specs; j++)
			if (abi->specs[j].nr == nr)
				return abi->specs[j].call;
	}
	return CALL_NONE;
}
