/* core.h - what the files of the extension _roar_shard share.
 *
 *	ranges		sets of positions
 *	order		the order of an epoch; datasets mixed by weight
 *	position	which positions a rank takes
 *	audit		what a rank has consumed, on disk
 *	table		which worker owns which shard
 *	note		reports of this process to the run that observes it */
#ifndef ROAR_PYTHON_SHARD_CORE_H
#define ROAR_PYTHON_SHARD_CORE_H

#include "common/module.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "shard/order/interval_set.h"
#include "shard/order/order.h"

struct state {
	PyObject *ranges_type;
};

extern PyType_Spec audit_type_spec, mix_type_spec, order_type_spec,
	position_type_spec, ranges_type_spec, table_type_spec;

extern PyMethodDef note_functions[];

/* ---- core.c ---- */

/* Raises the exception for a negative errno; `err` may have a text.  Returns NULL. */
void *core_raise(int r, const struct roar_error *err);

/* For "O&": an integer from 0 to 2^64 - 1. */
int core_u64(PyObject *object, void *ret);

/* A memoryview of `n` 64-bit integers (format "Q"), to be filled in by the caller. */
PyObject *core_numbers(size_t n, uint64_t **ret);

/* ---- ranges.c ---- */

/* Moves the set into a Python object; *set is empty afterwards. */
PyObject *ranges_give(const struct state *state, struct interval_set *set);

/* For "O&", with .state set: .set is NULL for None; raises TypeError if the object is
 * neither None nor a Ranges. */
struct ranges_arg {
	const struct state *state;
	const struct interval_set *set;
};
int ranges_take(PyObject *object, void *arg);

#endif
