/* arena_scene_internal.h - what the stage and the actors share. */
#ifndef TESTS_EXPLORE_ARENA_SCENE_INTERNAL_H
#define TESTS_EXPLORE_ARENA_SCENE_INTERNAL_H

#include <errno.h>
#include <stddef.h>

#include "arena_scene.h"

extern struct arena_map scene_map;
extern struct notes *const scene_notes;
extern const struct scene *scene_now;

void scene_join(const struct actor *a);

/* What an actor has done before the first act. */
void scene_prepare(const struct actor *a);

bool scene_has_died(unsigned place);

/* Notes that a task got a message, which it must not have had before and which must not
 * come after one that was begun later than this one was sent. */
void scene_got(unsigned task, unsigned message);

/* Gives back what each party had that is dead now. */
void scene_bury(unsigned me);

#endif
