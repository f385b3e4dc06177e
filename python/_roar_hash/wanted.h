/* wanted.h - the requested digests, and digests as a dict. */
#ifndef ROAR_PYTHON_HASH_WANTED_H
#define ROAR_PYTHON_HASH_WANTED_H

#include "core.h"

#include "hash/digest/digest.h"

struct wanted {
	digest_set set;
	size_t n;
	/* In the order of the caller, without duplicates: */
	enum digest_algo algos[DIGEST_ALGO_END];
	PyObject *names[DIGEST_ALGO_END]; /* borrowed from the caller's tuple */
};

/* Reads a tuple of names, which must outlive `ret`.  0, or -1 with TypeError if an element
 * is not a str, and ValueError if a name is unknown or refused by libcrypto, or if the tuple
 * is empty. */
int wanted_read(PyObject *names, struct wanted *ret);

/* {name: lower-case hex}; NULL with an exception. */
PyObject *wanted_dict(const struct wanted *w, const struct digests *d);

/* The names of all algorithms, as a tuple. */
PyObject *wanted_names(void);

#endif
