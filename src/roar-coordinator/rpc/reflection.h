/* reflection.h - gRPC reflection: describes services and messages to clients.
 *
 * The messages of v1 and v1alpha have the same encoding. */
#ifndef COORDINATOR_REFLECTION_H
#define COORDINATOR_REFLECTION_H

#include "base/str.h"
#include "reflection.pb-c.h"

/* Appends the packed reply.  An unknown name gets a reply as well. */
void reflection_answer(
	const Grpc__Reflection__V1__ServerReflectionRequest *request,
	struct str *out);

#endif
