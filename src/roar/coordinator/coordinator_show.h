/* coordinator_show.h - replies of a coordinator, as text and as JSON. */
#ifndef ROAR_COORDINATOR_SHOW_H
#define ROAR_COORDINATOR_SHOW_H

#include "cli/cli.h"
#include "coordinator/coordinator_ask.h"

struct json;

/* ---- text ---- */

void coordinator_text_status(struct str *out, const struct term *t,
			     const char *address, const Roar__StatusReply *s,
			     const Roar__ListJobsReply *jobs);
void coordinator_text_workers(struct str *out, const struct term *t,
			      const struct coordinator_workers *w);
void coordinator_text_barriers(struct str *out, const struct term *t,
			       const Roar__ListBarriersReply *b);
void coordinator_text_keys(struct str *out, const struct term *t,
			   const struct coordinator_keys *k);

/* ---- JSON: one object each ---- */

void coordinator_json_status(struct json *j, const char *address,
			     const Roar__StatusReply *s,
			     const Roar__ListJobsReply *jobs);
void coordinator_json_workers(struct json *j,
			      const struct coordinator_workers *w);
void coordinator_json_barriers(struct json *j,
			       const Roar__ListBarriersReply *b);
void coordinator_json_keys(struct json *j, const struct coordinator_keys *k);

/* ---- words, for both ---- */

/* The name of a value of an enumeration, in lower case; "unknown" for an invalid one. */
void coordinator_word(struct str *out, const ProtobufCEnumDescriptor *type,
		      int value);

#endif
