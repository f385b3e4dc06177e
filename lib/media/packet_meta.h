/* packet_meta.h - the serialized description of a set of packets, without their data.
 *
 * The data is in separate buffers (packet_layout.h), which the blob refers to.  The blob is
 * sent between processes and stored in pickles, so nothing in it is trusted.  All numbers
 * are little-endian, without bytes between or after the parts:
 *
 *	header, 160 bytes
 *	   0  u8[8]  "roar-pkt"
 *	   8  u16    version of this layout: 1
 *	  10  u16    major version of libavcodec, whose numbers are used
 *	  12  u32    0 video, 1 audio
 *	  16  u32    number of packets
 *	  20  u32    number of buffers
 *	  24  i32[2] time base, seconds as a fraction
 *	  32  i32[2] frame rate as a fraction; 0/0 unknown
 *	  40  i64    bit rate
 *	  48  u64    mask of channels, 0 unless their order is FFmpeg's native one
 *	  56  u32    number of channels
 *	  60  u32    bytes of extradata
 *	  64  u32... codec, then the fields of codec_params.h in their order
 *	extradata
 *	for each packet, in decoding order, 48 bytes
 *	   0  i64    pts in time bases; INT64_MIN: none
 *	   8  i64    dts
 *	  16  i64    duration
 *	  24  u32    flags (MEDIA_FLAGS)
 *	  28  u32    bytes of data
 *	  32  u32    the buffer that holds them
 *	  36  u32    number of side data, which follow:
 *	  40  u64    offset of the first byte in the buffer
 *		   0  u32  type, of which a packet has one each
 *		   4  u32  bytes
 *		   8  the bytes
 *
 * A packet without data has buffer and offset 0.  The encoding is unique:
 * media_meta_write() reproduces each blob that media_meta_read() accepts, byte by byte. */
#ifndef ROAR_MEDIA_PACKET_META_H
#define ROAR_MEDIA_PACKET_META_H

#include <stddef.h>
#include <stdint.h>

#include "media/packets.h"

struct roar_error;
struct str;

/* Where the data of one packet is. */
struct media_place {
	uint32_t buffer;
	uint32_t size_bytes; /* without its padding */
	uint64_t offset;
};

struct media_meta {
	struct media_packets *packets; /* without data */
	struct media_place *places; /* one for each packet */
	uint32_t n_buffers;
};

/* Appends the blob of `p`, whose packets' data are at `places`.  -ENOMEM. */
int media_meta_write(const struct media_packets *p,
		     const struct media_place *places, uint32_t n_buffers,
		     struct str *out);

/* Reads a blob.  -EBADMSG: not a blob, or damaged; -EPROTO: of another version or another
 * libavcodec; -ENOMEM.  The caller must check that the buffers are as long as the places
 * require. */
int media_meta_read(const void *meta, size_t len, struct media_meta *ret,
		    struct roar_error *err);
void media_meta_release(struct media_meta *m);

#endif
