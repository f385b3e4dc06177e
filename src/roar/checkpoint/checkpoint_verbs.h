/* checkpoint_verbs.h - the verbs of `roar checkpoint`; each returns an exit status. */
#ifndef ROAR_CHECKPOINT_VERBS_H
#define ROAR_CHECKPOINT_VERBS_H

struct args;

int checkpoint_ls(const struct args *args);
int checkpoint_show(const struct args *args);
int checkpoint_verify(const struct args *args);
int checkpoint_diff(const struct args *args);
int checkpoint_reshard(const struct args *args);
int checkpoint_gc(const struct args *args);
int checkpoint_cp(const struct args *args);
int checkpoint_export(const struct args *args);

#endif
