/* sample.c - see sample.h */
#include "sample.h"

#include "buffer.h"

struct maker {
	const struct state *state;
	struct reader_block *block;
	bool views;
};

static PyObject *make_part(const struct maker *m, const struct reader_part *p)
{
	if (m->views)
		return buffer_view(m->state, m->block, p->data, p->len);
	return PyBytes_FromStringAndSize((const char *)p->data,
					 (Py_ssize_t)p->len);
}

static PyObject *make_text(const char *text, size_t len)
{
	return PyUnicode_DecodeFSDefaultAndSize(text, (Py_ssize_t)len);
}

/* Takes the value over. */
static int put(PyObject *dict, PyObject *name, PyObject *value)
{
	int r = name && value ? PyDict_SetItem(dict, name, value) : -1;

	Py_XDECREF(value);
	return r;
}

static PyObject *make_dict(const struct maker *m,
			   const struct reader_sample *sample)
{
	PyObject *dict = PyDict_New();

	if (!dict)
		return NULL;
	if (put(dict, m->state->key_name,
		make_text(sample->key, sample->key_len)) < 0)
		Py_CLEAR(dict);
	for (size_t i = 0; dict && i < sample->n_parts; i++) {
		const struct reader_part *p = &sample->parts[i];
		PyObject *name = make_text(p->name, p->name_len);

		if (put(dict, name, make_part(m, p)) < 0)
			Py_CLEAR(dict);
		Py_XDECREF(name);
	}
	return dict;
}

static PyObject *make_pair(const struct maker *m,
			   const struct reader_sample *sample)
{
	PyObject *key = make_text(sample->key, sample->key_len);
	PyObject *part = key ? make_part(m, sample->parts) : NULL;

	if (part)
		return Py_BuildValue("NN", key, part);
	Py_XDECREF(key);
	return NULL;
}

PyObject *sample_object(const struct state *state, enum reader_kind kind,
			const struct reader_sample *sample,
			struct reader_block *block, bool views)
{
	const struct maker m = { state, block, views };

	switch (kind) {
	case READER_TAR:
		return make_dict(&m, sample);
	case READER_FILES:
		return make_pair(&m, sample);
	default:
		return make_part(&m, sample->parts);
	}
}
