/* packets.c - see packets.h
 *
 * The set is read only, so nothing here needs a lock. */
#include "packets.h"

#include <libavutil/pixdesc.h>
#include <structmember.h>

#include "buffer.h"
#include "transfer.h"

static struct state *state_of(PyObject *self)
{
	return PyType_GetModuleState(Py_TYPE(self));
}

static const struct media_packets *set_of(PyObject *self)
{
	return ((struct packets *)self)->packets;
}

PyObject *packets_wrap(const struct state *state, struct media_packets *p)
{
	struct packets *self = object_new(state->packets_types[p->kind]);

	if (!self) {
		media_packets_free(p);
		return NULL;
	}
	self->packets = p;
	return (PyObject *)self;
}

const struct media_packets *packets_of(const struct state *state,
				       PyObject *object)
{
	PyObject *type = (PyObject *)Py_TYPE(object);

	if (type == state->packets_types[MEDIA_VIDEO] ||
	    type == state->packets_types[MEDIA_AUDIO])
		return set_of(object);
	PyErr_Format(PyExc_TypeError,
		     "VideoPackets or AudioPackets are needed, not %R", type);
	return NULL;
}

static void packets_dealloc(PyObject *self)
{
	struct packets *p = (struct packets *)self;

	if (p->weak_references)
		PyObject_ClearWeakRefs(self);
	media_packets_free(p->packets);
	object_free(self);
}

/* ---- one packet ---- */

static PyStructSequence_Field info_fields[] = {
	{ "pts", "presentation timestamp, in time bases; None: not known" },
	{ "dts", "decoding timestamp, in time bases; None: not known" },
	{ "duration", "duration, in time bases" },
	{ "size", "bytes of data" },
	{ "is_key", "can decoding begin here?" },
	{ "flags", "FFmpeg's AV_PKT_FLAG_*" },
	{ "side_data", "((type, bytes), ...), types are AV_PKT_DATA_*" },
	{ 0 },
};

PyStructSequence_Desc packets_info = {
	.name = "roar.media.Packet",
	.doc = "One packet of a stream, without its data.",
	.fields = info_fields,
	.n_in_sequence = 7,
};

static PyObject *time_stamp(int64_t value)
{
	if (value == AV_NOPTS_VALUE)
		return Py_NewRef(Py_None);
	return PyLong_FromLongLong(value);
}

static PyObject *side_data(const AVPacket *packet)
{
	PyObject *all = PyTuple_New(packet->side_data_elems);

	for (int i = 0; all && i < packet->side_data_elems; i++) {
		const AVPacketSideData *side = &packet->side_data[i];
		PyObject *one = Py_BuildValue("iy#", (int)side->type,
					      side->data,
					      (Py_ssize_t)side->size);

		if (!one || PyTuple_SetItem(all, i, one) < 0)
			Py_CLEAR(all);
	}
	return all;
}

static PyObject *packets_item(PyObject *self, Py_ssize_t i)
{
	const struct media_packets *p = set_of(self);
	PyObject *info;

	if (i < 0 || (size_t)i >= p->n_packets) {
		PyErr_Format(PyExc_IndexError,
			     "there are %zu packets, numbered from 0: there is "
			     "no number %zd",
			     p->n_packets, i);
		return NULL;
	}
	info = PyStructSequence_New((PyTypeObject *)state_of(self)->info_type);
	if (!info)
		return NULL;

	const AVPacket *packet = p->packets[i];
	PyObject *values[] = {
		time_stamp(packet->pts),
		time_stamp(packet->dts),
		PyLong_FromLongLong(packet->duration),
		PyLong_FromLong(packet->size),
		PyBool_FromLong(packet->flags & AV_PKT_FLAG_KEY),
		PyLong_FromLong(packet->flags),
		side_data(packet),
	};
	for (Py_ssize_t k = 0; k < packets_info.n_in_sequence; k++)
		PyStructSequence_SetItem(info, k, values[k]);
	if (PyErr_Occurred())
		Py_CLEAR(info);
	return info;
}

static PyObject *packets_data(PyObject *self, PyObject *index)
{
	const struct media_packets *p = set_of(self);
	Py_ssize_t i = PyNumber_AsSsize_t(index, PyExc_IndexError);
	PyObject *view = NULL;

	if (i == -1 && PyErr_Occurred())
		return NULL;
	if (i < 0)
		i += (Py_ssize_t)p->n_packets;
	if (i < 0 || (size_t)i >= p->n_packets)
		return PyErr_Format(PyExc_IndexError,
				    "there are %zu packets, numbered from 0: "
				    "there is no such number",
				    p->n_packets);

	const AVPacket *packet = p->packets[i];
	PyObject *buffer = packet->size ?
				   buffer_refer(state_of(self), packet->buf,
						packet->data,
						(size_t)packet->size) :
				   PyBytes_FromStringAndSize(NULL, 0);
	if (buffer)
		view = PyMemoryView_FromObject(buffer);
	Py_XDECREF(buffer);
	return view;
}

/* ---- the stream ---- */

static Py_ssize_t packets_length(PyObject *self)
{
	return (Py_ssize_t)set_of(self)->n_packets;
}

static PyObject *fraction(AVRational ratio)
{
	PyObject *module;
	PyObject *value;

	if (!ratio.den)
		return Py_NewRef(Py_None);
	module = PyImport_ImportModule("fractions");
	if (!module)
		return NULL;
	value = PyObject_CallMethod(module, "Fraction", "ii", ratio.num,
				    ratio.den);
	Py_DECREF(module);
	return value;
}

static PyObject *name_or_none(const char *name)
{
	return name ? PyUnicode_FromString(name) : Py_NewRef(Py_None);
}

static PyObject *get_codec(PyObject *self, void *unused)
{
	(void)unused;
	return PyUnicode_FromString(
		avcodec_get_name(set_of(self)->params->codec_id));
}

static PyObject *get_time_base(PyObject *self, void *unused)
{
	(void)unused;
	return fraction(set_of(self)->time_base);
}

static PyObject *get_frame_rate(PyObject *self, void *unused)
{
	(void)unused;
	return fraction(set_of(self)->frame_rate);
}

static PyObject *get_nbytes(PyObject *self, void *unused)
{
	(void)unused;
	return PyLong_FromUnsignedLongLong(media_packets_bytes(set_of(self)));
}

static PyObject *get_extradata(PyObject *self, void *unused)
{
	const AVCodecParameters *params = set_of(self)->params;

	(void)unused;
	return PyBytes_FromStringAndSize((const char *)params->extradata,
					 params->extradata_size);
}

static PyObject *get_bit_rate(PyObject *self, void *unused)
{
	(void)unused;
	return PyLong_FromLongLong(set_of(self)->params->bit_rate);
}

static PyObject *get_width(PyObject *self, void *unused)
{
	(void)unused;
	return PyLong_FromLong(set_of(self)->params->width);
}

static PyObject *get_height(PyObject *self, void *unused)
{
	(void)unused;
	return PyLong_FromLong(set_of(self)->params->height);
}

static PyObject *get_pixel_format(PyObject *self, void *unused)
{
	(void)unused;
	return name_or_none(av_get_pix_fmt_name(
		(enum AVPixelFormat)set_of(self)->params->format));
}

static PyObject *get_sample_rate(PyObject *self, void *unused)
{
	(void)unused;
	return PyLong_FromLong(set_of(self)->params->sample_rate);
}

static PyObject *get_n_channels(PyObject *self, void *unused)
{
	(void)unused;
	return PyLong_FromLong(set_of(self)->params->ch_layout.nb_channels);
}

static PyObject *get_sample_format(PyObject *self, void *unused)
{
	(void)unused;
	return name_or_none(av_get_sample_fmt_name(
		(enum AVSampleFormat)set_of(self)->params->format));
}

static PyObject *video_repr(PyObject *self)
{
	const struct media_packets *p = set_of(self);

	return PyUnicode_FromFormat(
		"<VideoPackets: %zu of %s, %dx%d, %llu bytes>", p->n_packets,
		avcodec_get_name(p->params->codec_id), p->params->width,
		p->params->height, (unsigned long long)media_packets_bytes(p));
}

static PyObject *audio_repr(PyObject *self)
{
	const struct media_packets *p = set_of(self);

	return PyUnicode_FromFormat(
		"<AudioPackets: %zu of %s, %d Hz, %d channels, %llu bytes>",
		p->n_packets, avcodec_get_name(p->params->codec_id),
		p->params->sample_rate, p->params->ch_layout.nb_channels,
		(unsigned long long)media_packets_bytes(p));
}

static PyObject *packets_reduce(PyObject *self, PyObject *protocol)
{
	long version = PyLong_AsLong(protocol);

	if (version == -1 && PyErr_Occurred())
		return NULL;
	return transfer_reduce(state_of(self), set_of(self), version);
}

static PyObject *packets_state(PyObject *self, PyObject *unused)
{
	(void)unused;
	return transfer_state(state_of(self), set_of(self));
}

#define COMMON_ATTRIBUTES                                                      \
	{ "codec", get_codec, NULL, "name of the codec", NULL },               \
		{ "time_base", get_time_base, NULL,                            \
		  "unit of all times, in seconds (Fraction)", NULL },          \
		{ "nbytes", get_nbytes, NULL, "bytes of data in all packets",  \
		  NULL },                                                      \
		{ "bit_rate", get_bit_rate, NULL,                              \
		  "bits per second as the file states; 0: not stated", NULL }, \
	{                                                                      \
		"extradata", get_extradata, NULL, "headers of the codec", NULL \
	}

static PyGetSetDef video_attributes[] = {
	COMMON_ATTRIBUTES,
	{ "width", get_width, NULL, "width in pixels", NULL },
	{ "height", get_height, NULL, "height in pixels", NULL },
	{ "pixel_format", get_pixel_format, NULL,
	  "FFmpeg's name of the format; None: only a decoder knows", NULL },
	{ "frame_rate", get_frame_rate, NULL,
	  "pictures per second on average (Fraction); None: not known", NULL },
	{ 0 },
};

static PyGetSetDef audio_attributes[] = {
	COMMON_ATTRIBUTES,
	{ "sample_rate", get_sample_rate, NULL, "samples per second", NULL },
	{ "n_channels", get_n_channels, NULL, "number of channels", NULL },
	{ "sample_format", get_sample_format, NULL,
	  "FFmpeg's name of the format; None: only a decoder knows", NULL },
	{ 0 },
};

static PyMethodDef methods[] = {
	{ "data", packets_data, METH_O,
	  "data(i): the bytes of packet i as a read-only memoryview.\n\n"
	  "It is the packet's own memory and keeps it." },
	{ "__reduce_ex__", packets_reduce, METH_O,
	  "Pickles; with protocol 5 the data can go out of band." },
	{ "__getstate__", packets_state, METH_NOARGS,
	  "All of it in one piece: as long as what a transfer carries." },
	{ 0 },
};

static PyMemberDef members[] = {
	{ "__weaklistoffset__", T_PYSSIZET,
	  offsetof(struct packets, weak_references), READONLY, NULL },
	{ 0 },
};

#define COMMON_SLOTS                                                          \
	{ Py_tp_dealloc, packets_dealloc }, { Py_tp_methods, methods },       \
		{ Py_tp_members, members }, { Py_sq_length, packets_length }, \
	{                                                                     \
		Py_sq_item, packets_item                                      \
	}

static PyType_Slot video_slots[] = {
	COMMON_SLOTS,
	{ Py_tp_getset, video_attributes },
	{ Py_tp_repr, video_repr },
	{ Py_tp_doc, "The packets of a video stream, in decoding order.\n\n"
		     "len(p) is their number and p[i] tells about one; p.data(i)"
		     " is its data.\nMade by demux_video()." },
	{ 0 },
};

static PyType_Slot audio_slots[] = {
	COMMON_SLOTS,
	{ Py_tp_getset, audio_attributes },
	{ Py_tp_repr, audio_repr },
	{ Py_tp_doc, "The packets of an audio stream, in decoding order.\n\n"
		     "len(p) is their number and p[i] tells about one; p.data(i)"
		     " is its data.\nMade by demux_audio()." },
	{ 0 },
};

PyType_Spec video_packets_spec = {
	.name = "roar.media.VideoPackets",
	.basicsize = sizeof(struct packets),
	.flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
	.slots = video_slots,
};

PyType_Spec audio_packets_spec = {
	.name = "roar.media.AudioPackets",
	.basicsize = sizeof(struct packets),
	.flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
	.slots = audio_slots,
};
