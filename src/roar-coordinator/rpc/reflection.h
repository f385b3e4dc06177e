/* reflection.h - tells clients which services there are and what their messages are.
 *
 * The messages of v1 and v1alpha are the same bytes. */
#ifndef COORDINATOR_REFLECTION_H
#define COORDINATOR_REFLECTION_H

#include "base/str.h"
#include "reflection.pb-c.h"

/* Appends the reply, packed.  What is asked for and not there is a reply as well. */
void reflection_answer(
	const Grpc__Reflection__V1__ServerReflectionRequest *request,
	struct str *out);

#endif
