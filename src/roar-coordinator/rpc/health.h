/* health.h - grpc.health.v1: which services are served. */
#ifndef COORDINATOR_HEALTH_H
#define COORDINATOR_HEALTH_H

#include <stdbool.h>

#include "base/str.h"
#include "health.pb-c.h"

/* Is there a service of that name?  "" is the server as a whole. */
bool health_knows(const char *service);

/* Appends a HealthCheckResponse. */
void health_answer(bool known, bool serving, struct str *out);

#endif
