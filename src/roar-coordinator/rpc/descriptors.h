/* descriptors.h - the .proto files of all services, as protoc describes them.
 *
 * Made at build time by descriptors.py from `protoc --descriptor_set_out`. */
#ifndef COORDINATOR_DESCRIPTORS_H
#define COORDINATOR_DESCRIPTORS_H

#include <stddef.h>
#include <stdint.h>

struct descriptor_file {
	const char *name; /* as an import names it */
	const uint8_t *data; /* a serialised FileDescriptorProto */
	size_t len;
	const uint16_t *imports; /* indices of the files it imports itself */
	size_t n_imports;
};

struct descriptor_symbol {
	const char *name; /* "coordinator.WorkerInfo.rank", in order of strcmp() */
	uint16_t file;
};

extern const struct descriptor_file descriptor_files[];
extern const size_t descriptor_n_files;
extern const struct descriptor_symbol descriptor_symbols[];
extern const size_t descriptor_n_symbols;
extern const char *const descriptor_services[];
extern const size_t descriptor_n_services;

#endif
