/* frames.h - the fast path: the same messages as gRPC's, with 16 bytes before each.
 *
 * A connection begins with the eight bytes "ROARFR1\n" from the client, which HTTP/2's
 * preface ("PRI * HT...") cannot be taken for.  Then either side sends frames, all
 * numbers little-endian:
 *
 *	0	u32	length of what follows the header
 *	4	u16	method (coord.h), or one of enum frame_type
 *	6	u16	flags (enum frame_flags)
 *	8	u32	call, chosen by the client, not in use by another call of it
 *	12	u32	request: how many ms it may take, 0 for no limit
 *			reply: its status, a number of gRPC
 *	16		the message (protobuf); of a reply with another status than
 *			0 one sentence in UTF-8, and then, for each trailer, a 0 byte,
 *			its name, '=', its value
 *
 * Client: FRAME_HELLO first, where a token or a job is to be named: "TOKEN\0JOB", either
 * may be empty.  It is not answered.  FRAME_CANCEL takes a call back; it gets no reply
 * after that.  Calls with streams_in send frames with the same call and method, all but
 * the first with FRAME_MORE, the last one with FRAME_END and no message.  A frame with
 * FRAME_MORE whose call has ended meanwhile is dropped; one without it begins a call.
 * Server: exactly one reply with FRAME_END a call; before that, of streams, replies
 * without it.  FRAME_GOAWAY: no new calls here.  FRAME_TOKEN, with eight bytes: the fencing
 * token of all replies that follow, where there is one.  FRAME_PING is answered with FRAME_PONG
 * by either side.
 *
 * Lanes: a client that speaks for others (an agent) has one lane for each.  FRAME_LANE, with
 * the lane's number as its call, says whose the frames are that follow, up to the next one:
 * 1 to FRAMES_MAX_LANES, and 0 for its own.  A lane begins with its first mention and ends
 * with FRAME_LANE_END or the connection; to the server it is a connection, with a hello, calls
 * and an end of its own.  Numbers of lanes may be used again.  Those of calls are of the
 * connection: no two calls of it, of whichever lanes, have the same, so replies need
 * not say whose they are. */
#ifndef NET_FRAMES_H
#define NET_FRAMES_H

#include <stdint.h>

#define FRAMES_PREFACE "ROARFR1\n"

enum {
	FRAMES_PREFACE_LEN = 8,
	FRAME_HEADER_LEN = 16,
	FRAMES_MAX_LANES = 1024,
};

enum frame_type {
	FRAME_HELLO = 0xff00,
	FRAME_CANCEL = 0xff01,
	FRAME_PING = 0xff02,
	FRAME_PONG = 0xff03,
	FRAME_GOAWAY = 0xff04,
	FRAME_TOKEN = 0xff05,
	FRAME_LANE = 0xff06,
	FRAME_LANE_END = 0xff07,
};

enum frame_flags {
	FRAME_END = 1 << 0,
	FRAME_MORE = 1 << 1,
};

struct frame {
	uint32_t len;
	uint16_t method;
	uint16_t flags;
	uint32_t call;
	uint32_t number; /* timeout or status */
};

void frame_pack(const struct frame *f, uint8_t ret[FRAME_HEADER_LEN]);
void frame_unpack(const uint8_t bytes[FRAME_HEADER_LEN], struct frame *ret);

#endif
