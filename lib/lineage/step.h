/* step.h - which executions are the same step of a pipeline.
 *
 * A step keeps its number when it is run again.  Two executions are the same step when
 * they are the same command in the same directory, or when the same program (and
 * script) wrote the same set of output names.  In the second case the later one
 * replaces the files of the earlier one, whatever its parameters were.  Different
 * outputs make different steps, so the runs of a sweep stay separate. */
#ifndef ROAR_LINEAGE_STEP_H
#define ROAR_LINEAGE_STEP_H

#include <stddef.h>
#include <stdint.h>

enum { STEP_ID_LEN = 16 };

/* Identity of the command: kind, directory and all arguments. */
void step_command_id(const char *kind, const char *cwd, char *const argv[],
		     uint8_t ret_id[STEP_ID_LEN]);

/* Identity of the outputs: kind, program, script and the names of the outputs (any
 * order).  All zero when there are no outputs, or when an interpreter got its program
 * as an argument (`sh -c ...`): then only the command counts. */
int step_output_id(const char *kind, const char *cwd, char *const argv[],
		   const char *const outputs[], size_t n_outputs,
		   uint8_t ret_id[STEP_ID_LEN]);

/* The script of a command line: the first argument that is not an option when the
 * program is an interpreter ("train.py" of `python -u train.py`), "-m" and its module;
 * NULL when there is none. */
const char *step_script(char *const argv[]);

#endif
