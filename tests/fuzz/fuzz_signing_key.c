/* fuzz_signing_key.c - the file of a private key: a key that signs, or a message. */
#include <stdint.h>
#include <stdlib.h>

#include "base/str.h"
#include "export/signing_key.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct str text = STR_INIT;
	struct roar_error err = { 0 };
	uint8_t signature[SIGNATURE_LEN];
	struct signing_key key;

	str_add(&text, data, len);
	if (signing_key_parse(str_cstr(&text), &key, &err) < 0) {
		if (!err.text[0])
			abort();
	} else if (signing_key_sign(&key, "x", 1, signature) < 0) {
		abort();
	}
	str_release(&text);
	return 0;
}
