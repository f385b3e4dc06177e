/* coord_limits.h - limits that the coordinator and its clients both check. */
#ifndef COORD_COORD_LIMITS_H
#define COORD_COORD_LIMITS_H

enum { COORD_TASK_MAX = 256 }; /* bytes of a heartbeat's current_task */

#endif
