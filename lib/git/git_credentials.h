/* git_credentials.h - which files hold secrets, for the snapshot and nothing else.
 *
 * A snapshot is a commit: it may be pushed, cloned and read by others.  So what looks
 * like a secret stays out of it, even if it is none; the record names what was
 * left out.  Nothing here hides a file from the record of what a run read.
 *
 * A name tells in one of four ways, whatever its case:
 *
 *	a known file     .env.local, .netrc, id_rsa, kaggle.json, *.pem, *.key
 *	a known folder   .ssh/..., .aws/..., .docker/config.json
 *	its words        client_secret.json, db-password.txt, hf_token, api_key.yml
 *	the words of its folder   secrets/prod.yaml
 *
 * Words do not tell for code (credentials.py reads them, it does not hold them), nor
 * for programs.  Templates (.env.example, secrets.sample.toml) and public keys
 * (*.pub) are meant to be seen.  Copies (.env.bak, credentials.json~) count as what
 * they are copies of. */
#ifndef ROAR_GIT_CREDENTIALS_H
#define ROAR_GIT_CREDENTIALS_H

#include <stdbool.h>
#include <stddef.h>

/* By its name: `path` is relative to the root of the tree, ended by NUL.
 * `executable`: it is a program. */
bool git_names_credentials(const char *path, bool executable);

/* By its content, of which `data` is the start: a private key outside code. */
bool git_holds_credentials(const char *path, const char *data, size_t len);

#endif
