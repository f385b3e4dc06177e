/* fuzz_grpc.c - frames of HTTP/2, and messages of gRPC in them. */
#include "fuzz_wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static const char PREFACE[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
			      "\0\0\0\4\0\0\0\0\0"; /* SETTINGS */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct fuzz_wire w;

	fuzz_wire_open(&w);
	fuzz_wire_run(&w, PREFACE, sizeof(PREFACE) - 1, data, len, NULL, NULL);
	fuzz_wire_close(&w);
	return 0;
}
