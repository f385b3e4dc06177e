/* git_credentials.h - which files hold secrets; for the snapshot only.
 *
 * A snapshot is a commit: other users may fetch and read it.  So a file that looks like
 * a secret stays out of it, even if it is not one; the record names the files that were
 * left out.  Nothing here hides a file from the record of what a run read.
 *
 * A name identifies a secret in one of four ways, whatever its case:
 *
 *	a known file      .env.local, .netrc, id_rsa, kaggle.json, *.pem, *.key
 *	a known directory .ssh/..., .aws/..., .docker/config.json
 *	its words         client_secret.json, db-password.txt, hf_token, api_key.yml
 *	the words of its directory   secrets/prod.yaml
 *
 * Words are ignored for code (credentials.py reads them, it does not hold them) and for
 * programs.  Templates (.env.example, secrets.sample.toml) and public keys (*.pub) are
 * meant to be public.  Copies (.env.bak, credentials.json~) count as their original. */
#ifndef ROAR_GIT_CREDENTIALS_H
#define ROAR_GIT_CREDENTIALS_H

#include <stdbool.h>
#include <stddef.h>

/* Does the name identify a secret?  `path` is relative to the root of the tree.
 * `executable`: it is a program. */
bool git_names_credentials(const char *path, bool executable);

/* Does the content, of which `data` is the start, identify one: a private key outside
 * code? */
bool git_holds_credentials(const char *path, const char *data, size_t len);

#endif
