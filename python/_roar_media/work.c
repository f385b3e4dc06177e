/* work.c - see work.h */
#include "work.h"

#include <errno.h>
#include <libavutil/pixdesc.h>
#include <stdbool.h>
#include <stdio.h>

#include "base/error.h"
#include "buffer.h"
#include "media/decode.h"
#include "media/demux.h"
#include "packets.h"

#define DEMUX_DOC(kind, class)                                                           \
	"demux_" kind "(source): the packets of its " kind " stream.\n\n"                \
	"source is the content of a media file (bytes or another buffer) or\n"           \
	"the path of one (str or os.PathLike).  Returns " class                          \
		".  Raises\n"                                                            \
		"MediaError if it is not a media file, is damaged or has no such\n"      \
		"stream, and OSError for a file that cannot be opened.  Playlists and\n" \
		"URLs are not followed."

const char work_demux_video_doc[] = DEMUX_DOC("video", "VideoPackets");
const char work_demux_audio_doc[] = DEMUX_DOC("audio", "AudioPackets");
const char work_decode_doc[] =
	"decode(packets, pixels, threads, max_bytes): frames as a Buffer.";

/* ---- demuxing ---- */

static PyObject *demux(const struct state *state, struct media_source *source,
		       const char *name, enum media_kind kind)
{
	struct media_packets *p = NULL;
	struct roar_error err = { "" };
	int r;

	PyThreadState *others = PyEval_SaveThread();
	r = media_demux(source, name, kind, &p, &err);
	media_source_close(source);
	PyEval_RestoreThread(others);
	return r < 0 ? core_fail(state, r, &err) : packets_wrap(state, p);
}

static PyObject *demux_memory(const struct state *state, PyObject *object,
			      enum media_kind kind)
{
	struct media_source *source = NULL;
	PyObject *result;
	Py_buffer view;
	char name[64];

	if (PyObject_GetBuffer(object, &view, PyBUF_SIMPLE) < 0)
		return NULL;
	(void)snprintf(name, sizeof(name), "the data of %zd bytes", view.len);
	if (media_source_memory(view.buf, (size_t)view.len, &source) < 0)
		result = PyErr_NoMemory();
	else
		result = demux(state, source, name, kind);
	PyBuffer_Release(&view);
	return result;
}

static PyObject *cannot_open(const struct state *state, const char *path,
			     PyObject *object, int r)
{
	struct roar_error err;

	if (r == -EINVAL)
		return core_fail(state,
				 error_set(&err, r,
					   "\"%s\" is not a regular file, give "
					   "its content as bytes",
					   path),
				 &err);
	errno = -r;
	return PyErr_SetFromErrnoWithFilenameObject(PyExc_OSError, object);
}

static PyObject *demux_file(const struct state *state, PyObject *object,
			    enum media_kind kind)
{
	struct media_source *source = NULL;
	PyObject *encoded = NULL;
	PyObject *result;
	const char *path;
	char name[1024];
	int r;

	if (!PyUnicode_FSConverter(object, &encoded))
		return NULL;
	path = PyBytes_AsString(encoded);
	(void)snprintf(name, sizeof(name), "\"%.900s\"", path);
	PyThreadState *others = PyEval_SaveThread();
	r = media_source_file(path, &source);
	PyEval_RestoreThread(others);
	if (r < 0)
		result = cannot_open(state, path, object, r);
	else
		result = demux(state, source, name, kind);
	Py_DECREF(encoded);
	return result;
}

/* Bytes are content, although they could be a path: a path is a str. */
static PyObject *demux_any(PyObject *module, PyObject *source,
			   enum media_kind kind)
{
	const struct state *state = PyModule_GetState(module);

	if (PyObject_CheckBuffer(source))
		return demux_memory(state, source, kind);
	if (PyUnicode_Check(source) ||
	    PyObject_HasAttrString(source, "__fspath__"))
		return demux_file(state, source, kind);
	return PyErr_Format(PyExc_TypeError,
			    "the content of a media file (bytes) or its path "
			    "is needed, not %R",
			    Py_TYPE(source));
}

PyObject *work_demux_video(PyObject *module, PyObject *source)
{
	return demux_any(module, source, MEDIA_VIDEO);
}

PyObject *work_demux_audio(PyObject *module, PyObject *source)
{
	return demux_any(module, source, MEDIA_AUDIO);
}

/* ---- decoding ---- */

/* Samples by the letter of the module struct. */
static char sample_letter(int format)
{
	static const char letters[AV_SAMPLE_FMT_NB] = {
		[AV_SAMPLE_FMT_U8] = 'B',  [AV_SAMPLE_FMT_S16] = 'h',
		[AV_SAMPLE_FMT_S32] = 'i', [AV_SAMPLE_FMT_S64] = 'q',
		[AV_SAMPLE_FMT_FLT] = 'f', [AV_SAMPLE_FMT_DBL] = 'd',
	};

	return letters[format];
}

static PyObject *audio_array(const struct state *state,
			     const struct media_frames *f)
{
	size_t shape[] = { f->n, (size_t)f->n_channels };
	size_t itemsize = f->unit_bytes / (size_t)f->n_channels;

	return buffer_own(state, f->data, sample_letter(f->format), itemsize,
			  shape, 2);
}

/* (frames, rows, columns, components), less where there is less to say. */
static PyObject *video_array(const struct state *state,
			     const struct media_frames *f, bool native)
{
	size_t shape[BUFFER_DIMS] = { f->n, (size_t)f->height,
				      (size_t)f->width };
	int n = media_pixel_components((enum AVPixelFormat)f->format);
	int ndim = n > 1 ? 4 : 3;

	shape[3] = (size_t)n;
	if (native) {
		shape[1] = f->unit_bytes;
		ndim = 2;
	}
	return buffer_own(state, f->data, 'B', 1, shape, ndim);
}

static PyObject *decode(const struct state *state,
			const struct media_packets *p,
			const struct media_decode_options *options)
{
	struct roar_error err = { "" };
	struct media_frames frames = { 0 };
	int r;

	PyThreadState *others = PyEval_SaveThread();
	r = media_decode(p, options, &frames, &err);
	PyEval_RestoreThread(others);
	if (r < 0)
		return core_fail(state, r, &err);
	if (p->kind == MEDIA_AUDIO)
		return audio_array(state, &frames);
	return video_array(state, &frames, options->pixels == AV_PIX_FMT_NONE);
}

PyObject *work_decode(PyObject *module, PyObject *args)
{
	struct media_decode_options options = { .pixels = AV_PIX_FMT_NONE };
	const struct state *state = PyModule_GetState(module);
	const struct media_packets *p;
	unsigned long long max_bytes;
	const char *pixels;
	PyObject *packets;
	int accurate;

	if (!PyArg_ParseTuple(args, "OzpiK:decode", &packets, &pixels,
			      &accurate, &options.n_threads, &max_bytes))
		return NULL;
	options.accurate = accurate != 0;
	p = packets_of(state, packets);
	if (!p)
		return NULL;
	options.max_bytes = max_bytes < PY_SSIZE_T_MAX ? max_bytes :
							 PY_SSIZE_T_MAX;
	if (pixels)
		options.pixels = av_get_pix_fmt(pixels);
	if (pixels && !media_pixel_components(options.pixels))
		return PyErr_Format(PyExc_ValueError,
				    "there is no format \"%s\", ask for rgb24, "
				    "bgr24, rgba, gray or native",
				    pixels);
	return decode(state, p, &options);
}
