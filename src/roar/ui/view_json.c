/* view_json.c - the pieces every JSON answer is made of; see view.h.
 *
 * The names of fields are a promise: scripts read them.  Times are ISO 8601 in
 * UTC and end in `_at`, durations are seconds and end in `_s`, sizes are bytes
 * and end in `_bytes`, digests are objects from algorithm to hex. */
#include "base/clock.h"
#include "event/event.h"
#include "lineage/fold.h"
#include "query/variant.h"
#include "ui/view.h"
#include "ui/view_labels.h"
#include "ui/view_nodes.h"

void view_json_time(struct json *j, const char *key, int64_t time_ns)
{
	struct str text = STR_INIT;

	json_put_key(j, key);
	if (time_ns) {
		clock_format_iso(&text, time_ns);
		json_put_string(j, str_cstr(&text));
		j->out->failed |= text.failed;
		str_release(&text);
	} else {
		json_put_null(j);
	}
}

/* %.17g would turn 0.1 s into 0.10000000000000001; six decimals are exact, and
 * a duration is not known any finer. */
void view_json_seconds(struct json *j, const char *key, int64_t duration_ns)
{
	int64_t us = (duration_ns < 0 ? 0 : duration_ns) / 1000;

	json_put_key(j, key);
	j->key = NULL;
	str_addf(j->out, "%lld.%06lld", (long long)(us / 1000000),
		 (long long)(us % 1000000));
}

void view_json_text(struct json *j, const char *key, const char *text)
{
	json_put_key(j, key);
	json_put_string(j, text);
}

void view_json_int(struct json *j, const char *key, int64_t value)
{
	json_put_key(j, key);
	json_put_int(j, value);
}

void view_json_count(struct json *j, const char *key, int64_t n)
{
	json_put_key(j, key);
	if (n < 0)
		json_put_null(j);
	else
		json_put_int(j, n);
}

void view_json_bool(struct json *j, const char *key, bool value)
{
	json_put_key(j, key);
	json_put_bool(j, value);
}

void view_json_tri(struct json *j, const char *key, enum tri value)
{
	json_put_key(j, key);
	if (value == TRI_UNKNOWN)
		json_put_null(j);
	else
		json_put_bool(j, value == TRI_YES);
}

void view_json_digests(struct json *j, const char *key, const struct digests *d)
{
	char hex[2 * DIGEST_MAX + 1];

	json_put_key(j, key);
	if (!d->have) {
		json_put_null(j);
		return;
	}
	json_put_object(j);
	for (int algo = 0; algo < DIGEST_ALGO_END; algo++) {
		const uint8_t *bytes = digests_get(d, algo);

		if (!bytes)
			continue;
		digest_hex(hex, bytes, digest_algo_len(algo));
		view_json_text(j, digest_algo_name(algo), hex);
	}
	json_end(j);
}

void view_json_session(struct view *v, struct json *j, const char *key,
		       const struct store_session *session)
{
	json_put_key(j, key);
	if (!session) {
		json_put_null(j);
		return;
	}
	json_put_object(j);
	view_json_text(j, "uid", session->uid);
	view_json_time(j, "created_at", session->created_ns);
	view_json_time(j, "closed_at", session->closed_ns);
	view_json_time(j, "imported_at", session->imported_ns);
	view_json_int(j, "jobs", session->n_jobs);
	view_json_int(j, "run_steps", session->n_steps);
	view_json_int(j, "build_steps", session->n_build_steps);
	view_json_labels(v, j, LABEL_SESSION, session->id);
	json_end(j);
}

void view_json_job(struct view *v, struct json *j, const struct store_job *job)
{
	view_json_text(j, "job_uid", job->uid);
	view_json_text(j, "step_ref", view_step_ref(v, job));
	view_json_int(j, "step_number", job->step);
	view_json_text(j, "kind", job->kind);
	view_json_text(j, "name", job->name[0] ? job->name : NULL);
	view_json_int(j, "attempt", job->attempt);
	view_json_text(j, "command", job->command);
	view_json_time(j, "started_at", job->started_ns);
	view_json_seconds(j, "duration_s", job->duration_ns);
	view_json_text(j, "status", view_status_word(job));
	view_json_int(j, "exit_code", job->exit_code);
	view_json_text(j, "verdict", view_verdict_word(job));
	view_json_int(j, "inputs_count", job->n_inputs);
	view_json_int(j, "outputs_count", job->n_outputs);
	view_json_text(j, "session_uid", view_session_uid(v, job->session_id));
	view_json_labels(v, j, LABEL_JOB, job->id);
	view_json_nodes(v, j, job);
}

void view_json_job_ref(struct view *v, struct json *j, const char *key,
		       const struct store_job *job)
{
	json_put_key(j, key);
	if (!job) {
		json_put_null(j);
		return;
	}
	json_put_object(j);
	view_json_text(j, "job_uid", job->uid);
	view_json_text(j, "step_ref", view_step_ref(v, job));
	json_end(j);
}

const char *view_status_word(const struct store_job *job)
{
	if (job->status == STORE_INTERRUPTED)
		return "interrupted";
	if (variant_is_restored(job))
		return "restored";
	return job->exit_code ? "failed" : "ok";
}

const char *view_verdict_word(const struct store_job *job)
{
	return job->complete ? "complete" : "incomplete";
}

const char *view_role_word(unsigned role)
{
	if (role & LINEAGE_INPUT)
		return "input";
	if (role & LINEAGE_OUTPUT)
		return "output";
	if (role & LINEAGE_TEMPORARY)
		return "temporary";
	return "touched";
}

const char *view_ftype_word(unsigned ftype)
{
	static const char *const words[EVENT_FTYPE_END] = {
		[EVENT_FTYPE_NONE] = "none",
		[EVENT_FTYPE_REGULAR] = "regular",
		[EVENT_FTYPE_DIRECTORY] = "directory",
		[EVENT_FTYPE_SYMLINK] = "symlink",
		[EVENT_FTYPE_FIFO] = "fifo",
		[EVENT_FTYPE_SOCKET] = "socket",
		[EVENT_FTYPE_DEVICE] = "device",
	};

	if (ftype == EVENT_FTYPE_OBJECT)
		return "object";
	return ftype < EVENT_FTYPE_END ? words[ftype] : "unknown";
}

const char *view_digest_source(const struct store_file *file)
{
	if (!file->artifact_id)
		return NULL;
	return file->seen & LINEAGE_REPORTED ? "writer" : "roar";
}
