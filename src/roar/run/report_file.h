/* report_file.h - the result of a run, for the program that started roar.
 *
 * ROAR_RUN_REPORT_FILE names a file that receives one JSON object (documented in
 * roar(1)), when it is known how the run ended and before roar ends.  Without the
 * variable these functions do nothing. */
#ifndef ROAR_RUN_REPORT_FILE_H
#define ROAR_RUN_REPORT_FILE_H

struct run;

/* Reads the variable; the name is relative to the current directory. */
void report_file_prepare(void);

/* The command ended with `code`.  `record_error` is the reason why it is not recorded,
 * NULL when it is. */
void report_file_end(const struct run *run, int code, const char *record_error);

/* The command did not run, and roar ends with `code`; or it runs without roar, and
 * `code` is -1.  `why` is the message about it. */
void report_file_setup(int code, const char *why);

#endif
