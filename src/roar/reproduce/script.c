/* script.c - --script: the plan as a shell script that needs no roar
 *
 * The script is for any POSIX shell, and uses git, python3 and b3sum.  Everything from the
 * record is in it as words in single quotes, where a shell interprets nothing.  The name of
 * the new directory is not known yet: recorded words are made with MARK in its place, which
 * becomes "$DIR" outside of the quotes. */
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/pool.h"
#include "base/quote.h"
#include "cli/cli.h"
#include "event/event.h"
#include "lineage/fold.h"
#include "reproduce/reproduce.h"
#include "reproduce/site.h"
#include "ui/view.h"

#define MARK "\001roar-directory\001"

enum { NAMES_PER_COMMAND = 100 };

static const char head[] =
	"set -eu\n"
	"die() { printf '%s\\n' \"$0: $1\" >&2; exit 1; }\n"
	"case $DIR in *[!A-Za-z0-9_./-]*)\n"
	"\tdie \"choose a directory of letters, digits, _, ., - and /\";;\n"
	"esac\n"
	"[ ! -e \"$DIR\" ] || die \"'$DIR' exists\"\n"
	"command -v b3sum >/dev/null || die 'b3sum is needed'\n"
	"mkdir -- \"$DIR\"\n"
	"DIR=$(cd -- \"$DIR\" && pwd -P)\n"
	"n=0 n_same=0\n"
	"# same FILE BLAKE3\n"
	"same() {\n"
	"\t[ -f \"$1\" ] && [ \"$(b3sum --no-names < \"$1\")\" = \"$2\" ]\n"
	"}\n"
	"# below PLACE: no part of it is a symbolic link\n"
	"below() {\n"
	"\tp=$1\n"
	"\twhile [ \"$p\" != . ]; do\n"
	"\t\t[ ! -L \"$DIR/$p\" ] || die \"'$p' is a symbolic link\"\n"
	"\t\tp=$(dirname -- \"$p\")\n"
	"\tdone\n"
	"}\n"
	"# input PLACE BLAKE3 COMMAND...: the command writes the file given last\n"
	"input() {\n"
	"\tplace=$1 sum=$2\n"
	"\tshift 2\n"
	"\tbelow \"$place\"\n"
	"\tmkdir -p -- \"$DIR/$(dirname -- \"$place\")\"\n"
	"\tsame \"$DIR/$place\" \"$sum\" || \"$@\" \"$DIR/$place\"\n"
	"\tsame \"$DIR/$place\" \"$sum\" || die \"'$place' has other content\"\n"
	"}\n"
	"# output PLACE BLAKE3\n"
	"output() {\n"
	"\tn=$((n + 1))\n"
	"\tif same \"$DIR/$1\" \"$2\"; then\n"
	"\t\tn_same=$((n_same + 1))\n"
	"\t\tprintf 'identical  %s\\n' \"$1\"\n"
	"\telse\n"
	"\t\tprintf 'different  %s\\n' \"$1\"\n"
	"\tfi\n"
	"}\n"
	"G='git -c core.hooksPath=/dev/null'\n"
	"# code PLACE SOURCE TREE: fetches one version of the code\n"
	"code() {\n"
	"\tmkdir -p -- \"$DIR/$1\"\n"
	"\tcd -- \"$DIR/$1\"\n"
	"\t[ -e .git ] || $G init -q --template=\n"
	"\t$G fetch -q --no-tags -- \"$2\" \"+$3:refs/roar/$3\" ||\n"
	"\t\t$G fetch -q --tags -- \"$2\" '+refs/heads/*:refs/remotes/origin/*'\n"
	"\t$G cat-file -e \"$3^{commit}\" || die \"'$2' does not have $3\"\n"
	"}\n"
	"# files TREE COMMIT NAME...: lists that version, without what steps make\n"
	"files() {\n"
	"\tif $G rev-parse -q --verify HEAD >/dev/null; then\n"
	"\t\t$G ls-files -z | xargs -0 rm -f --\n"
	"\tfi\n"
	"\t$G read-tree \"$1\"\n"
	"\t[ -z \"$2\" ] || $G update-ref --no-deref HEAD \"$2\"\n"
	"}\n"
	"leave() {\n"
	"\t$G --literal-pathspecs rm -q -f --cached --ignore-unmatch -- \"$@\"\n"
	"}\n";

/* May it hide a part of the script from who reads it on a terminal? */
static bool is_control(char c)
{
	return ((unsigned char)c < ' ' && c != '\n' && c != '\t') || c == 0x7f;
}

/* One word of a POSIX shell. */
static void add_word(struct str *out, const char *word)
{
	str_addc(out, '\'');
	while (*word) {
		if (strncmp(word, MARK, strlen(MARK)) == 0) {
			str_adds(out, "'\"$DIR\"'");
			word += strlen(MARK);
			continue;
		}
		if (*word == '\'')
			str_adds(out, "'\\''");
		else if (is_control(*word))
			str_addf(out, "'\"$(printf '\\%03o')\"'",
				 (unsigned)(unsigned char)*word);
		else
			str_addc(out, *word);
		word++;
	}
	str_addc(out, '\'');
}

static void add_words(struct str *out, const char *command,
		      const char *const *words)
{
	str_adds(out, command);
	for (; *words; words++) {
		str_addc(out, ' ');
		add_word(out, *words);
	}
	str_addc(out, '\n');
}

static void add_hash(struct str *out, const struct store_file *row)
{
	char hex[2 * BLAKE3_LEN + 1];

	digest_hex(hex, row->digests.blake3, BLAKE3_LEN);
	str_adds(out, hex);
}

/* ---- before the steps ---- */

static void add_python(struct site *s, const struct site_python *python)
{
	struct str *out = &s->p->view->out;
	const char *dot = strchr(python->version, '.');
	int len = dot ? (int)(dot - python->version + 1 +
			      (ptrdiff_t)strspn(dot + 1, "0123456789")) :
			0;

	str_addf(out, "\npython%.*s -m venv ", len ? len : 1,
		 len ? python->version : "3");
	add_word(out, python->dir);
	str_addc(out, '\n');
	if (!*python->packages)
		return;
	add_word(out, python->dir);
	str_addf(out,
		 "/bin/python -m pip install --quiet --no-deps -r /dev/stdin "
		 "<<'END'\n%sEND\n",
		 python->packages);
}

static void add_code(struct site *s, const struct recipe_code *code)
{
	const char *from = code->found_in ? code->found_in : code->remote;

	add_words(&s->p->view->out, "code",
		  (const char *const[]){ code->place, from, code->tree, NULL });
}

/* ---- a step ---- */

static void add_switch(struct site *s, size_t step)
{
	const struct recipe_code *code = s->p->recipe.steps[step].code;
	CLEANUP(str_release) struct str path = STR_INIT;
	struct str *out = &s->p->view->out;
	size_t n = 0;

	str_adds(out, "cd -- \"$DIR\"/");
	add_word(out, code->place);
	str_addc(out, '\n');
	add_words(out, "files",
		  (const char *const[]){ code->tree, code->commit, NULL });
	for (size_t i = 0; i < code->files.n_slots; i++) {
		const char *name = code->files.slots[i].value;

		if (!name || !site_code_leaves(s, code, name, step, &path))
			continue;
		if (n++ % NAMES_PER_COMMAND == 0)
			str_adds(out, n == 1 ? "leave" : "\nleave");
		str_addc(out, ' ');
		add_word(out, name);
	}
	str_adds(out, n ? "\n$G checkout-index -f -a\n" :
			  "$G checkout-index -f -a\n");
	out->failed |= path.failed;
}

/* The command that writes the file whose name follows. */
static void add_source(struct site *s, const struct recipe_input *input)
{
	struct str *out = &s->p->view->out;
	const char *from = input->from ? input->from : input->row->path;
	char hex[2 * BLAKE3_LEN + 1];

	if (input->source == RECIPE_FETCH) {
		str_adds(out,
			 strncmp(from, "http", 4) ? " aws s3 cp " : " fetch ");
		add_word(out, from);
		return;
	}
	str_adds(out, " cp -- ");
	if (input->source != RECIPE_KEPT) {
		add_word(out, from);
		return;
	}
	digest_hex(hex, input->row->digests.blake3, BLAKE3_LEN);
	add_word(out, s->p->view->project.dir);
	str_addf(out, "/objects/%.2s/%s", hex, hex + 2);
}

static void add_input(struct site *s, const struct recipe_input *input)
{
	struct str *out = &s->p->view->out;

	if (input->source == RECIPE_REMOTE ||
	    input->row->ftype != EVENT_FTYPE_REGULAR ||
	    !(input->row->digests.have & DIGEST_SET_BLAKE3))
		return;
	if (!input->place) {
		str_adds(out, "same ");
		add_word(out, input->row->path);
		str_addc(out, ' ');
		add_hash(out, input->row);
		str_adds(out, " || die ");
		add_word(out, input->row->path);
		str_adds(out, "' has other content'\n");
		return;
	}
	str_adds(out, "input ");
	add_word(out, input->place);
	str_addc(out, ' ');
	add_hash(out, input->row);
	add_source(s, input);
	str_addc(out, '\n');
}

static int add_command(struct site *s, size_t step, struct roar_error *err)
{
	const struct recipe_step *t = &s->p->recipe.steps[step];
	struct str *out = &s->p->view->out;
	char **vars;
	char **argv;
	bool recorded;
	int r = site_step_argv(s, step, &argv, err);

	if (r == 0)
		r = site_step_variables(s, step, &vars, &recorded, err);
	if (r < 0)
		return r;
	str_adds(out, "mkdir -p -- \"$DIR\"/");
	add_word(out, t->place);
	str_adds(out, "\nrc=0\n(\n\tcd -- \"$DIR\"/");
	add_word(out, t->place);
	str_addc(out, '\n');
	if (s->python_of[step]) {
		const char *dir = s->pythons[s->python_of[step] - 1].dir;

		str_adds(out, "\texport VIRTUAL_ENV=");
		add_word(out, dir);
		str_adds(out, " PATH=");
		add_word(out, dir);
		str_adds(out, "/bin:\"$PATH\"\n");
	}
	for (; *vars; vars++) {
		str_addf(out, "\texport %.*s=", (int)strcspn(*vars, "="),
			 *vars);
		add_word(out, strchr(*vars, '=') + 1);
		str_addc(out, '\n');
	}
	add_words(out, "\texec", (const char *const *)argv);
	str_addf(out,
		 ") </dev/null >&2 || rc=$?\n"
		 "[ $rc -eq %d ] || die \"step %s ended with exit code $rc\"\n",
		 t->job->exit_code, view_step_ref(s->p->view, t->job));
	return 0;
}

static int add_outputs(struct site *s, const struct recipe_step *t, bool after)
{
	struct str *out = &s->p->view->out;
	int r = 0;

	for (size_t i = 0; i < t->n_files && r == 0; i++) {
		const struct store_file *row = &t->files[i];
		const char *place;

		if (row->role != LINEAGE_OUTPUT ||
		    row->ftype != EVENT_FTYPE_REGULAR)
			continue;
		r = recipe_place(&s->p->recipe.roots, &s->p->view->pool,
				 row->path, &place);
		if (r < 0 || !place)
			continue;
		str_adds(out, after ? "output " :
				      "mkdir -p -- \"$DIR/\"\"$("
				      "dirname -- ");
		add_word(out, place);
		if (after) {
			str_addc(out, ' ');
			if (row->digests.have & DIGEST_SET_BLAKE3)
				add_hash(out, row);
			else
				str_adds(out, "unknown");
		}
		str_adds(out, after ? "\n" : ")\"\n");
	}
	return r;
}

static int add_step(struct site *s, size_t step, struct roar_error *err)
{
	const struct recipe *recipe = &s->p->recipe;
	const struct recipe_step *t = &recipe->steps[step];
	struct str *out = &s->p->view->out;
	int r;

	str_addf(out, "\n# Step %s\n", view_step_ref(s->p->view, t->job));
	if (t->code && (!step || recipe->steps[step - 1].code != t->code))
		add_switch(s, step);
	while (s->n_inputs < recipe->n_inputs &&
	       recipe->inputs[s->n_inputs].step <= step)
		add_input(s, &recipe->inputs[s->n_inputs++]);
	r = add_outputs(s, t, false);
	if (r == 0)
		r = add_command(s, step, err);
	return r < 0 ? r : add_outputs(s, t, true);
}

static int write_script(struct site *s, struct roar_error *err)
{
	const struct recipe *recipe = &s->p->recipe;
	struct str *out = &s->p->view->out;
	int r;

	str_adds(out, "#!/bin/sh\n# Makes a recorded result again.  Usage: sh "
		      "SCRIPT [DIRECTORY]\n# Exit status: 0 identical, 4 "
		      "different, 1 failed.\n");
	str_addf(out, "DIR=${1:-reproduce-%s}\n%s", s->p->job->uid, head);
	str_adds(out, "fetch() { curl -fsSL -o \"$2\" -- \"$1\"; }\n");
	for (size_t i = 0; i < recipe->n_codes; i++)
		add_code(s, recipe->codes[i]);
	r = site_python_plan(s);
	for (size_t i = 0; i < s->n_pythons && r == 0; i++)
		add_python(s, &s->pythons[i]);
	for (size_t i = 0; i < recipe->n_steps && r == 0; i++)
		r = add_step(s, i, err);
	str_adds(out, "\nprintf '%s of %s outputs are identical\\n' "
		      "\"$n_same\" \"$n\"\n[ \"$n_same\" -eq \"$n\" ] || exit "
		      "4\n");
	return r;
}

int script_print(struct reproduce *p)
{
	CLEANUP(site_release) struct site s = SITE_INIT;
	struct roar_error err = { 0 };
	int status = execution_refuse(p, SANDBOX_NONE);
	int r;

	if (status)
		return status;
	r = site_imagine(&s, p, MARK);
	if (r == 0)
		r = write_script(&s, &err);
	return r < 0 ? view_fail(r, &err) : view_print(p->view);
}
