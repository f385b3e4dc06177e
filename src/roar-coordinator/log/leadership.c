/* leadership.c - see leadership.h */
#include "log/leadership.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>

#include "base/cleanup.h"
#include "base/private_file.h"
#include "etcd/election.h"
#include "server.h"

enum role { STANDBY, LOADING, LEADS };

struct lead {
	struct etcd *etcd;
	struct election *election;
	enum role role;
	int64_t token; /* while we lead or load */
	char *own; /* our address */
	char *leader; /* another's, or NULL */
	bool in_trouble; /* etcd does not answer, or refuses an election */
	char trouble[512];
};

/* ---- what it is ---- */

bool lead_serves(const struct server *s)
{
	return !s->lead ||
	       (s->lead->role == LEADS && election_holds(s->lead->election));
}

const char *lead_leader(const struct server *s)
{
	return s->lead && s->lead->leader ? s->lead->leader : "";
}

int64_t lead_token(const struct server *s)
{
	return s->lead && s->lead->role == LEADS ? s->lead->token : 0;
}

bool lead_in_trouble(const struct server *s)
{
	return s->lead && s->lead->in_trouble;
}

void lead_sentence(const struct server *s, struct str *ret)
{
	const struct lead *l = s->lead;

	if (l->in_trouble)
		str_addf(ret, "no coordinator can lead: %s; try again",
			 l->trouble);
	else if (l->leader)
		str_addf(ret,
			 "this coordinator is a standby: '%s' leads, ask "
			 "there",
			 l->leader);
	else
		str_adds(ret,
			 "this coordinator is a standby and none leads yet: "
			 "try again");
}

/* ---- changes ---- */

static void tell_all(struct server *s)
{
	rpc_server_set_token(s->rpc, (uint64_t)lead_token(s));
	http_set_token(s->http, (uint64_t)lead_token(s));
	own_tell_health(s);
}

/* All that was said to clients of this lead ends with it. */
static void forget_state(struct server *s)
{
	call_forget_all(s);
	http_release_failed(s->http, "{\"error\":\"this coordinator leads no "
				     "more: ask again\"}\n");
	live_end(s, NULL);
	rpc_server_hang_up(s->rpc);
	journal_close(s);
	server_renew_state(s);
}

static void step_down(struct server *s, const char *why)
{
	struct lead *l = s->lead;

	if (l->role == LEADS)
		notes_say(&s->notes, LOG_WARNING, NULL,
			  "no longer leads: %s; token %" PRId64 " is over", why,
			  l->token);
	l->role = STANDBY;
	l->token = 0;
	forget_state(s);
	tell_all(s);
}

static void begin_loading(struct server *s, bool is_full)
{
	struct lead *l = s->lead;

	l->role = LOADING;
	if (journal_open_etcd(s, l->etcd, l->token, is_full) < 0)
		election_resign(l->election, false, "out of memory");
}

void lead_loaded(struct server *s)
{
	struct lead *l = s->lead;

	l->role = LEADS;
	notes_say(&s->notes, LOG_INFO, NULL, "leads with token %" PRId64,
		  l->token);
	tell_all(s);
}

static void say_how_to_make_room(struct server *s)
{
	notes_say(&s->notes, LOG_ERR, NULL,
		  "'etcdctl compact', 'defrag' and 'alarm disarm' make room in "
		  "etcd");
}

/* Without room the lead is kept: the state is read again as far as it was kept, and
 * whatever needs no record goes on. */
void lead_log_failed(struct server *s, int error, const char *sentence)
{
	struct lead *l = s->lead;

	if (error == -EBADMSG) {
		server_fail(s, error, sentence);
		return;
	}
	if (error != -ENOSPC) {
		election_resign(l->election, false, sentence);
		return;
	}
	notes_say(&s->notes, LOG_ERR, NULL,
		  "etcd at '%s' is full: changes are refused until there is "
		  "room",
		  s->options->etcd);
	say_how_to_make_room(s);
	s->disk_full = true;
	forget_state(s);
	begin_loading(s, true);
	tell_all(s);
}

/* ---- what etcd tells ---- */

static void on_elected(void *data, int64_t token)
{
	struct server *s = data;

	s->lead->token = token;
	s->disk_full = false;
	free(s->lead->leader);
	s->lead->leader = NULL;
	begin_loading(s, false);
}

static void on_deposed(void *data, const char *why)
{
	step_down(data, why);
}

/* Our own key, of a lead that is over, leads nobody. */
static void on_follows(void *data, const char *leader)
{
	struct server *s = data;
	struct lead *l = s->lead;

	free(l->leader);
	l->leader = leader && strcmp(leader, l->own) != 0 ? strdup(leader) :
							    NULL;
	if (l->leader)
		notes_say(&s->notes, LOG_INFO, NULL, "a standby: '%s' leads",
			  l->leader);
}

static void on_refused(void *data, const char *sentence)
{
	server_fail(data, -EINVAL, sentence);
}

static void say_trouble(struct server *s, const char *trouble)
{
	struct lead *l = s->lead;

	l->in_trouble = true;
	(void)snprintf(l->trouble, sizeof(l->trouble), "%s", trouble);
	notes_say(&s->notes, LOG_ERR, NULL, "%s; it is tried again", trouble);
}

static void on_hindered(void *data, const char *sentence)
{
	struct server *s = data;
	char trouble[512];

	if (!sentence) {
		s->lead->in_trouble = false;
		return;
	}
	(void)snprintf(trouble, sizeof(trouble),
		       "etcd at '%.200s' refuses what an election needs: %.200s",
		       s->options->etcd, sentence);
	say_trouble(s, trouble);
	if (strstr(sentence, "space"))
		say_how_to_make_room(s);
}

static const struct election_events events = {
	.elected = on_elected,
	.deposed = on_deposed,
	.follows = on_follows,
	.hindered = on_hindered,
	.refused = on_refused,
};

static void on_etcd_changed(void *data, const char *trouble)
{
	struct server *s = data;

	if (trouble) {
		say_trouble(s, trouble);
		return;
	}
	s->lead->in_trouble = false;
	notes_say(&s->notes, LOG_INFO, NULL, "etcd answers again");
}

/* ---- life ---- */

void lead_resign(struct server *s)
{
	if (s->lead)
		election_resign(s->lead->election, true, "the program ends");
}

bool lead_is_resigning(const struct server *s)
{
	return s->lead && election_is_resigning(s->lead->election);
}

void lead_close(struct server *s)
{
	struct lead *l = s->lead;

	if (!l)
		return;
	election_free(l->election);
	etcd_free(l->etcd);
	free(l->own);
	free(l->leader);
	free(l);
	s->lead = NULL;
}

enum { MAX_PASSWORD_FILE = 1024 }; /* bytes */

/* The first line of the user's file, or what the environment has.  NULL: there is none. */
static int find_password(const struct options *o, struct str *text,
			 const char **ret, struct roar_error *err)
{
	int r = 0;

	*ret = NULL;
	if (o->etcd_user && !o->etcd_password_file)
		*ret = getenv("ROAR_ETCD_PASSWORD");
	if (!o->etcd_password_file)
		return 0;
	r = private_file_read(o->etcd_password_file, "passwords",
			      MAX_PASSWORD_FILE, text, err);
	if (r == 0) {
		text->data[strcspn(text->data, "\r\n")] = '\0';
		*ret = text->data;
	}
	return r;
}

static int open_etcd(struct server *s, struct roar_error *err)
{
	const struct options *o = s->options;
	CLEANUP(str_release) struct str text = STR_INIT;
	struct etcd_access access = {
		.addresses = o->etcd,
		.ca = o->etcd_ca,
		.cert = o->etcd_cert,
		.key = o->etcd_key,
		.user = o->etcd_user,
	};
	int r = find_password(o, &text, &access.password, err);

	if (r == 0 && o->etcd_user && !access.password)
		r = error_set(err, -EINVAL,
			      "the user '%s' of etcd has no password: give "
			      "--etcd-password-file, or ROAR_ETCD_PASSWORD in "
			      "the environment",
			      o->etcd_user);
	if (r == 0)
		r = etcd_new(s->loop, &access, on_etcd_changed, s,
			     &s->lead->etcd, err);
	private_wipe(&text);
	return r;
}

int lead_open(struct server *s, const char *address, struct roar_error *err)
{
	struct lead *l = s->lead = calloc(1, sizeof(*l));
	int r = -ENOMEM;

	if (l)
		l->own = strdup(address);
	if (l && l->own)
		r = open_etcd(s, err);
	else
		(void)error_set(err, r, "no memory for etcd");
	if (r == 0) {
		r = election_new(s->loop, l->etcd, s->options->cluster, address,
				 s->options->lease_s, &events, s, &l->election);
		if (r < 0)
			(void)error_set(err, r, "no memory for an election");
	}
	return r;
}
