/* shards_audit.h - `roar shards audit`: was every sample consumed exactly once? */
#ifndef ROAR_SHARDS_AUDIT_H
#define ROAR_SHARDS_AUDIT_H

struct args;

/* Returns an exit status: 0 if that is so. */
int shards_audit(const struct args *args);

#endif
