/* wanted.c - see wanted.h */
#include "wanted.h"

#include <errno.h>

#include "hash/digest/multihash.h"

PyObject *wanted_names(void)
{
	PyObject *names = PyTuple_New(DIGEST_ALGO_END);

	for (int i = 0; names && i < DIGEST_ALGO_END; i++) {
		PyObject *name = PyUnicode_FromString(digest_algo_name(i));

		if (!name || PyTuple_SetItem(names, i, name) < 0)
			Py_CLEAR(names);
	}
	return names;
}

static int say_unknown(PyObject *name)
{
	PyObject *names = wanted_names();
	PyObject *comma = names ? PyUnicode_FromString(", ") : NULL;
	PyObject *known = comma ? PyUnicode_Join(comma, names) : NULL;

	if (known)
		PyErr_Format(PyExc_ValueError,
			     "there is no algorithm %R, choose one or more of: "
			     "%U",
			     name, known);
	Py_XDECREF(known);
	Py_XDECREF(comma);
	Py_XDECREF(names);
	return -1;
}

static int add(struct wanted *w, PyObject *name)
{
	const char *text;
	int algo;

	if (!PyUnicode_Check(name)) {
		PyErr_Format(PyExc_TypeError,
			     "the name of an algorithm is a str, not %R",
			     Py_TYPE(name));
		return -1;
	}
	/* NULL: it has surrogates, which no name has. */
	text = PyUnicode_AsUTF8AndSize(name, NULL);
	if (!text)
		PyErr_Clear();
	algo = text ? digest_algo_parse(text) : -EINVAL;
	/* A str may go on after a NUL, where the text ends. */
	if (algo < 0 || PyUnicode_CompareWithASCIIString(name, text) != 0)
		return say_unknown(name);
	if (w->set & 1u << algo)
		return 0;
	w->set |= 1u << algo;
	w->algos[w->n] = (enum digest_algo)algo;
	w->names[w->n++] = name;
	return 0;
}

/* A libcrypto that is told so has no MD5, for one. */
static int ask_libcrypto(PyObject *name, enum digest_algo algo)
{
	struct multihash m;
	int r;

	multihash_init(&m);
	r = multihash_start(&m, 1u << algo, 0);
	multihash_release(&m);
	if (r == -ENOMEM)
		(void)PyErr_NoMemory();
	else if (r < 0)
		PyErr_Format(PyExc_ValueError,
			     "this machine's libcrypto refuses %U, ask for "
			     "blake3",
			     name);
	return r < 0 ? -1 : 0;
}

int wanted_read(PyObject *names, struct wanted *ret)
{
	Py_ssize_t n = PyTuple_Size(names);

	*ret = (struct wanted){ 0 };
	for (Py_ssize_t i = 0; i < n; i++)
		if (add(ret, PyTuple_GetItem(names, i)) < 0)
			return -1;
	for (size_t i = 0; i < ret->n; i++)
		if (ask_libcrypto(ret->names[i], ret->algos[i]) < 0)
			return -1;
	if (ret->n)
		return 0;
	PyErr_SetString(PyExc_ValueError,
			"no algorithm is asked for, name at least one");
	return -1;
}

PyObject *wanted_dict(const struct wanted *w, const struct digests *d)
{
	PyObject *dict = PyDict_New();

	for (size_t i = 0; dict && i < w->n; i++) {
		char text[2 * DIGEST_MAX + 1];
		PyObject *hex;

		digest_hex(text, digests_get(d, w->algos[i]),
			   digest_algo_len(w->algos[i]));
		hex = PyUnicode_FromString(text);
		if (!hex || PyDict_SetItem(dict, w->names[i], hex) < 0)
			Py_CLEAR(dict);
		Py_XDECREF(hex);
	}
	return dict;
}
