/* report_file.c - see report_file.h */
#include "run/report_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/path.h"
#include "cli/cli.h"
#include "run/run.h"
#include "ui/view.h"

static char *path; /* absolute; NULL when it was not requested */

void report_file_prepare(void)
{
	CLEANUP(str_release) struct str name = STR_INIT;
	CLEANUP(freep) char *cwd = getcwd(NULL, 0);
	const char *value = getenv("ROAR_RUN_REPORT_FILE");

	if (!value || !*value)
		return;
	path_normalize(&name, cwd ? cwd : "/", value);
	path = str_take(&name);
}

static void write_file(struct str *text)
{
	CLEANUP(closep) int fd = -1;
	int r = str_error(text);

	if (r == 0) {
		fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
		r = fd < 0 ? -errno : fd_write_all(fd, text->data, text->len);
	}
	if (r < 0)
		(void)cli_fail("cannot write '%s', which "
			       "ROAR_RUN_REPORT_FILE names: %s",
			       path, strerror(-r));
}

static void add_code(struct json *j, int code)
{
	json_put_key(j, "exit_code");
	if (code < 0)
		json_put_null(j);
	else
		json_put_int(j, code);
}

static void add_job(struct json *j, const struct run *run)
{
	CLEANUP(str_release) struct str step = STR_INIT;

	if (run)
		view_step_number(&step, !strcmp(run->meta.kind, "build"),
				 run->job.step);
	view_json_text(j, "job_uid", run ? run->meta.uid : NULL);
	view_json_text(j, "step_ref", run ? str_cstr(&step) : NULL);
	view_json_text(j, "verdict", run ? view_verdict_word(&run->job) : NULL);
}

/* `run` is NULL when there is no record of it. */
static void tell(int code, const char *setup_error, const char *tracer,
		 const char *record_error, const struct run *run)
{
	CLEANUP(str_release) struct str text = STR_INIT;
	struct json j = json_writer(&text, true);

	if (!path)
		return;
	json_put_object(&j);
	add_code(&j, code);
	view_json_text(&j, "setup_error", setup_error);
	view_json_text(&j, "tracer_backend", tracer);
	view_json_bool(&j, "recorded", run != NULL);
	view_json_text(&j, "record_error", record_error);
	add_job(&j, run);
	json_end(&j);
	str_addc(&text, '\n');
	write_file(&text);
}

void report_file_end(const struct run *run, int code, const char *record_error)
{
	tell(code, NULL, run->meta.tracer, record_error,
	     record_error ? NULL : run);
}

void report_file_setup(int code, const char *why)
{
	tell(code, why, NULL, why, NULL);
}
