/* docgen_bash.c - completion for bash. */
#include <string.h>

#include "base/str.h"
#include "cli/cli.h"
#include "commands.h"
#include "docgen.h"
#include "project/config_file.h"

static void add_verb_names(struct str *out, const struct command *c)
{
	for (const struct verb_spec *v = c->verbs; v && v->name; v++)
		str_addf(out, "%s%s", v == c->verbs ? "" : " ", v->name);
}

static void add_bash_options(struct str *out, const struct command *c)
{
	for (const struct option_spec *o = option_listed(c->options); o;
	     o = option_listed(o + 1)) {
		if (o->letter)
			str_addf(out, "-%c ", o->letter);
		str_addf(out, "--%s ", o->name);
	}
	str_adds(out, "-h --help");
	if (c == program_selected()->single)
		str_adds(out, " -V --version");
}

/* What may follow an option that takes a value. */
static void add_bash_values(struct str *out, const struct command *c)
{
	for (const struct option_spec *o = option_listed(c->options); o;
	     o = option_listed(o + 1)) {
		if (!o->arg)
			continue;
		str_addf(out, "\t%s:--%s", c->name, o->name);
		if (o->letter)
			str_addf(out, "|%s:-%c", c->name, o->letter);
		str_adds(out, ") kind=");
		if (o->values) {
			str_adds(out, "words words='");
			add_words(out, o->values);
			str_adds(out, "' ;;\n");
		} else {
			str_addf(out, "%s ;;\n", option_offers(o));
		}
	}
}

static void add_bash_command(struct str *out, const struct command *c)
{
	static const char *const operands[] = {
		[OPERAND_TARGET] = "target",
		[OPERAND_COMMAND] = "command",
		[OPERAND_FILE] = "file",
	};

	str_addf(out, "\t%s)\n\t\toptions='", c->name);
	add_bash_options(out, c);
	str_adds(out, "'\n");
	if (c->verbs) {
		str_adds(out, "\t\tverbs='");
		add_verb_names(out, c);
		str_adds(out, "'\n");
	}
	if (operands[c->operand])
		str_addf(out, "\t\toperand=%s\n", operands[c->operand]);
	str_adds(out, "\t\t;;\n");
}

static void add_bash_keys(struct str *out)
{
	str_adds(out, "_roar_setting()\n{\n\tcase $1 in\n");
	for (const struct config_key *k = config_keys; k->name; k++) {
		str_addf(out, "\t%s) echo '", k->name);
		add_key_values(out, k);
		str_adds(out, "' ;;\n");
	}
	str_adds(out, "\tesac\n}\n\n");
}

/* The parts that do not depend on the tables. */
static const char bash_start[] =
	"# bash completion for roar; generated from its tables.\n\n";

static const char bash_words[] =
	"_roar_words()\n"
	"{\n"
	"\tmapfile -t COMPREPLY < <(compgen -W \"$1\" -- \"$cur\")\n"
	"}\n"
	"\n"
	"_roar_files()\n"
	"{\n"
	"\tcompopt -o filenames 2>/dev/null\n"
	"\tmapfile -t COMPREPLY < <(compgen \"${1:--f}\" -- \"$cur\")\n"
	"}\n"
	"\n";

/* What the record holds.  Not through compgen -W, which would expand it.  bash
 * takes '@' for a word of its own; then steps are offered without it. */
static const char bash_record[] =
	"_roar_offer()\n"
	"{\n"
	"\tlocal word\n"
	"\twhile IFS= read -r word; do\n"
	"\t\t[[ -n $at ]] && word=${word#@}\n"
	"\t\t[[ $word == \"$cur\"* ]] && COMPREPLY+=(\"$(printf %q \"$word\")\")\n"
	"\tdone\n"
	"}\n"
	"\n"
	"_roar_steps()\n"
	"{\n"
	"\t_roar_offer < <(" LIST_STEPS ")\n"
	"}\n"
	"\n"
	"_roar_targets()\n"
	"{\n"
	"\t_roar_steps\n"
	"\t[[ -n $at ]] || _roar_offer < <(" LIST_JOBS ")\n"
	"}\n"
	"\n";

static const char bash_operands[] =
	"# The command behind `roar run` completes itself.\n"
	"_roar_command()\n"
	"{\n"
	"\tif [[ -n $at ]] && ((COMP_CWORD <= $1 + 1)); then\n"
	"\t\t_roar_steps\n"
	"\telif ((COMP_CWORD > $1)) && declare -F _command_offset >/dev/null; then\n"
	"\t\t_command_offset \"$1\"\n"
	"\telif ((COMP_CWORD > $1)); then\n"
	"\t\t_roar_files\n"
	"\telse\n"
	"\t\tmapfile -t COMPREPLY < <(compgen -c -f -- \"$cur\")\n"
	"\tfi\n"
	"}\n"
	"\n"
	"# Words behind an action.\n"
	"_roar_action()\n"
	"{\n"
	"\tcase $command:${actions[0]}:${#actions[@]} in\n"
	"\tconfig:get:1 | config:set:1 | config:unset:1) _roar_words \"$keys\" ;;\n"
	"\tconfig:set:2) _roar_words \"$(_roar_setting \"${actions[1]}\")\" ;;\n"
	"\tenv:get:1 | env:set:1 | env:unset:1)\n"
	"\t\t_roar_offer < <(" LIST_VARIABLES ") ;;\n"
	"\tfilter:add:* | shards:audit:*) _roar_files ;;\n"
	"\tfilter:remove:*) _roar_offer < <(" LIST_PATTERNS ") ;;\n"
	"\ttracer:use:1 | tracer:set-default:1 | tracer:check:1)\n"
	"\t\t_roar_words \"$(_roar_setting tracer.default)\" ;;\n"
	"\ttracer:enable:1 | tracer:disable:1) _roar_words ebpf ;;\n"
	"\tesac\n"
	"}\n"
	"\n";

static const char bash_main[] =
	"_roar()\n"
	"{\n"
	"\tlocal cur=${COMP_WORDS[COMP_CWORD]} command=${COMP_WORDS[1]}\n"
	"\tlocal previous=${COMP_WORDS[COMP_CWORD - 1]}\n"
	"\tlocal commands='' keys='' options='' verbs='' operand=''\n"
	"\tlocal kind='' words='' at='' first=0 i\n"
	"\tlocal -a actions=()\n"
	"\n"
	"\tCOMPREPLY=()\n"
	"\t_roar_tables\n"
	"\tif ((COMP_CWORD == 1)); then\n"
	"\t\t_roar_words \"$commands help --help --version\"\n"
	"\t\treturn\n"
	"\tfi\n"
	"\tif [[ $command == help ]]; then\n"
	"\t\t_roar_words \"$commands\"\n"
	"\t\treturn\n"
	"\tfi\n"
	"\t# \"--option=value\" arrives as three words.\n"
	"\tif [[ $cur == = ]]; then\n"
	"\t\tcur=''\n"
	"\telif [[ $previous == = ]]; then\n"
	"\t\tprevious=${COMP_WORDS[COMP_CWORD - 2]}\n"
	"\telif [[ $cur == @ ]]; then\n"
	"\t\tat=1 cur=''\n"
	"\telif [[ $previous == @ ]]; then\n"
	"\t\tat=1 previous=${COMP_WORDS[COMP_CWORD - 2]}\n"
	"\tfi\n"
	"\tfor ((i = 2; i < COMP_CWORD; i++)); do\n"
	"\t\tif [[ $first == 0 && ${COMP_WORDS[i]} == -* ]]; then\n"
	"\t\t\t_roar_takes_value \"${COMP_WORDS[i]}\" && ((i++))\n"
	"\t\t\t[[ ${COMP_WORDS[i]} == = ]] && ((i++))\n"
	"\t\telse\n"
	"\t\t\t[[ $operand == command && $first == 0 ]] && first=$i\n"
	"\t\t\tactions+=(\"${COMP_WORDS[i]}\")\n"
	"\t\tfi\n"
	"\tdone\n"
	"\t_roar_takes_value \"$previous\"\n"
	"\tif ((first)); then\n"
	"\t\t_roar_command \"$first\"\n"
	"\telif [[ $kind == words ]]; then\n"
	"\t\t_roar_words \"$words\"\n"
	"\telif [[ $kind == folder ]]; then\n"
	"\t\t_roar_files -d\n"
	"\telif [[ $kind == target ]]; then\n"
	"\t\t_roar_targets\n"
	"\telif [[ $kind == file ]]; then\n"
	"\t\t_roar_files\n"
	"\telif [[ -n $kind ]]; then\n"
	"\t\treturn\n"
	"\telif [[ $cur == -* ]]; then\n"
	"\t\t_roar_words \"$options\"\n"
	"\telif [[ -n $verbs && ${#actions[@]} == 0 ]]; then\n"
	"\t\t_roar_words \"$verbs\"\n"
	"\telif [[ -n $verbs ]]; then\n"
	"\t\t_roar_action\n"
	"\telif [[ $operand == command ]]; then\n"
	"\t\t_roar_command \"$COMP_CWORD\"\n"
	"\telif [[ $operand == file ]]; then\n"
	"\t\t_roar_files\n"
	"\telif [[ $operand == target ]]; then\n"
	"\t\t[[ -n $at ]] || _roar_files\n"
	"\t\t_roar_targets\n"
	"\tfi\n"
	"}\n"
	"\n"
	"complete -F _roar roar\n";

/* Sets what the main function asks about the command. */
static void add_bash_tables(struct str *out)
{
	str_adds(out, "_roar_tables()\n{\n\tcommands='");
	add_command_names(out);
	str_adds(out, "'\n\tkeys='");
	add_key_names(out);
	str_adds(out, "'\n\tcase $command in\n");
	for (size_t i = 0; roar_program.commands[i]; i++)
		add_bash_command(out, roar_program.commands[i]);
	str_adds(out, "\tesac\n}\n\n");
	str_adds(out, "# Does the option take a value, and which?\n"
		      "_roar_takes_value()\n{\n"
		      "\tkind=''\n\tcase $command:$1 in\n");
	for (size_t i = 0; roar_program.commands[i]; i++)
		add_bash_values(out, roar_program.commands[i]);
	str_adds(out, "\tesac\n\t[[ -n $kind ]]\n}\n\n");
}

void complete_bash(struct str *out)
{
	str_adds(out, bash_start);
	add_bash_keys(out);
	str_adds(out, bash_words);
	str_adds(out, bash_record);
	add_bash_tables(out);
	str_adds(out, bash_operands);
	str_adds(out, bash_main);
}

/* ---- a single command ---- */

void complete_bash_single(struct str *out, const struct command *c)
{
	static const struct {
		const char *offers;
		const char *reply;
	} kinds[] = {
		{ "folder", "compopt -o filenames 2>/dev/null\n\t\tmapfile -t "
			    "COMPREPLY < <(compgen -d -- \"$cur\")" },
		{ "file", "compopt -o filenames 2>/dev/null\n\t\tmapfile -t "
			  "COMPREPLY < <(compgen -f -- \"$cur\")" },
		{ "nothing", ":" },
	};

	str_addf(out,
		 "# bash completion for %s; generated from its table.\n\n_",
		 c->name);
	add_identifier(out, c->name);
	str_adds(out, "()\n{\n"
		      "\tlocal cur=${COMP_WORDS[COMP_CWORD]}\n"
		      "\tlocal previous=${COMP_WORDS[COMP_CWORD - 1]}\n\n"
		      "\tCOMPREPLY=()\n"
		      "\t# \"--option=value\" arrives as three words.\n"
		      "\tif [[ $cur == = ]]; then\n\t\tcur=''\n"
		      "\telif [[ $previous == = ]]; then\n"
		      "\t\tprevious=${COMP_WORDS[COMP_CWORD - 2]}\n\tfi\n"
		      "\tcase $previous in\n");
	for (const struct option_spec *o = option_listed(c->options); o;
	     o = option_listed(o + 1)) {
		if (!o->arg)
			continue;
		str_addf(out, "\t--%s)\n\t\t", o->name);
		if (o->values) {
			str_adds(out, "mapfile -t COMPREPLY < <(compgen -W '");
			add_words(out, o->values);
			str_adds(out, "' -- \"$cur\")");
		}
		for (size_t i = 0; !o->values && i < 3; i++)
			if (!strcmp(option_offers(o), kinds[i].offers))
				str_adds(out, kinds[i].reply);
		str_adds(out, " ;;\n");
	}
	str_adds(out, "\t*) mapfile -t COMPREPLY < <(compgen -W '");
	add_bash_options(out, c);
	str_adds(out, "' -- \"$cur\") ;;\n\tesac\n}\n\ncomplete -F _");
	add_identifier(out, c->name);
	str_addf(out, " %s\n", c->name);
}
