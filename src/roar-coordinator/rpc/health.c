/* health.c - see health.h */
#include "rpc/health.h"

#include <string.h>

#include "rpc/descriptors.h"
#include "rpc/pack.h"

typedef Grpc__Health__V1__HealthCheckResponse Response;

bool health_knows(const char *service)
{
	for (size_t i = 0; i < descriptor_n_services; i++) {
		if (strcmp(descriptor_services[i], service) == 0)
			return true;
	}
	return !*service;
}

void health_answer(bool known, bool serving, struct str *out)
{
	Response response = GRPC__HEALTH__V1__HEALTH_CHECK_RESPONSE__INIT;

	response.status =
		!known ?
			GRPC__HEALTH__V1__HEALTH_CHECK_RESPONSE__SERVING_STATUS__SERVICE_UNKNOWN :
		serving ?
			GRPC__HEALTH__V1__HEALTH_CHECK_RESPONSE__SERVING_STATUS__SERVING :
			GRPC__HEALTH__V1__HEALTH_CHECK_RESPONSE__SERVING_STATUS__NOT_SERVING;
	pack_add(out, &response.base);
}
