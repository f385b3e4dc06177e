/* export.h - a set of jobs and files in the formats of other programs.
 *
 * Each function appends a whole document to `out`.  0, -ENOMEM, or an error with a message
 * when the format cannot express the set.  What a format leaves out is said in comments of
 * the document, where the format has them.  Text of a record is data for each of these
 * formats: names and commands are quoted as each needs it. */
#ifndef ROAR_EXPORT_EXPORT_H
#define ROAR_EXPORT_EXPORT_H

#include "base/error.h"

struct export_set;
struct signing_key;
struct str;

/* export_graph.c: Graphviz, and Mermaid's flowchart. */
int export_dot(const struct export_set *set, struct str *out,
	       struct roar_error *err);
int export_mermaid(const struct export_set *set, struct str *out,
		   struct roar_error *err);

/* export_svg.c: a picture that needs nothing else.  export_svg_part() leaves out the XML
 * declaration, and makes each job a link to "#job-N". */
int export_svg(const struct export_set *set, struct str *out,
	       struct roar_error *err);
int export_svg_part(const struct export_set *set, struct str *out);

/* export_html.c: one page with the picture, the jobs and their files.  No script and no
 * request to anywhere. */
int export_html(const struct export_set *set, struct str *out,
		struct roar_error *err);

/* export_makefile.c: a rule for each job, for GNU make 4.3. */
int export_makefile(const struct export_set *set, struct str *out,
		    struct roar_error *err);

/* export_dvc.c: dvc.yaml, and dvc.lock, which needs the MD5 of each file
 * (export_digests_complete()). */
int export_dvc_yaml(const struct export_set *set, struct str *out,
		    struct roar_error *err);
int export_dvc_lock(const struct export_set *set, struct str *out,
		    struct roar_error *err);

/* Standards of others, in JSON: W3C PROV, OpenLineage 2-0-2 (a line per event), RO-Crate
 * with the profile Process Run Crate, CycloneDX 1.6. */
int export_prov(const struct export_set *set, struct str *out,
		struct roar_error *err);
int export_openlineage(const struct export_set *set, struct str *out,
		       struct roar_error *err);
int export_crate(const struct export_set *set, struct str *out,
		 struct roar_error *err);
int export_cyclonedx(const struct export_set *set, struct str *out,
		     struct roar_error *err);

/* export_intoto.c: a statement, and the same signed in a DSSE envelope.  The set has a job.
 * -ENODATA when there is no output, or one without SHA-256. */
int export_intoto(const struct export_set *set, struct str *out,
		  struct roar_error *err);
int export_dsse(const struct export_set *set, const struct signing_key *key,
		struct str *out, struct roar_error *err);

/* Text for XML and HTML: & < > " ' as entities, characters that XML cannot have as
 * U+FFFD, bytes that are not UTF-8 as \xHH. */
void export_add_xml(struct str *out, const char *text);

#endif
