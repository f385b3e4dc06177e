/* sample.c - see sample.h */
#include "sample.h"

#include "buffer.h"

struct maker {
	const struct state *state;
	const struct reader_sample *sample;
	PyObject *const *made; /* parts; NULL: they lie in the block */
	struct reader_block *block;
	bool views;
};

static PyObject *make_part(const struct maker *m, size_t i)
{
	const struct reader_part *p = &m->sample->parts[i];

	if (m->made)
		return Py_NewRef(m->made[i]);
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

static PyObject *make_dict(const struct maker *m)
{
	const struct reader_sample *sample = m->sample;
	PyObject *dict = PyDict_New();

	if (!dict)
		return NULL;
	if (put(dict, m->state->key_name,
		make_text(sample->key, sample->key_len)) < 0)
		Py_CLEAR(dict);
	for (size_t i = 0; dict && i < sample->n_parts; i++) {
		const struct reader_part *p = &sample->parts[i];
		PyObject *name = make_text(p->name, p->name_len);

		if (put(dict, name, make_part(m, i)) < 0)
			Py_CLEAR(dict);
		Py_XDECREF(name);
	}
	return dict;
}

static PyObject *make_pair(const struct maker *m)
{
	PyObject *key = make_text(m->sample->key, m->sample->key_len);
	PyObject *part = key ? make_part(m, 0) : NULL;

	if (part)
		return Py_BuildValue("NN", key, part);
	Py_XDECREF(key);
	return NULL;
}

static PyObject *make(const struct maker *m, enum reader_kind kind)
{
	switch (kind) {
	case READER_TAR:
		return make_dict(m);
	case READER_FILES:
		return make_pair(m);
	default:
		return make_part(m, 0);
	}
}

PyObject *sample_of(const struct state *state, enum reader_kind kind,
		    const struct reader_sample *sample, PyObject *const *made)
{
	const struct maker m = { .state = state,
				 .sample = sample,
				 .made = made };

	return make(&m, kind);
}

PyObject *sample_object(const struct state *state, enum reader_kind kind,
			const struct reader_sample *sample,
			struct reader_block *block, bool views)
{
	const struct maker m = { .state = state,
				 .sample = sample,
				 .block = block,
				 .views = views };

	return make(&m, kind);
}
