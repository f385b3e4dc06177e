/* Documents of S3: what is read from them, and what is refused. */
#include <errno.h>
#include <string.h>

#include "alloc_fail.h"
#include "s3/s3_xml.h"
#include "test.h"

#define HEAD "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
#define NS " xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\""

#define LIST                                                                    \
	HEAD "<ListBucketResult" NS "><Name>b</Name><Prefix>p/</Prefix>"        \
	     "<IsTruncated>true</IsTruncated>"                                  \
	     "<Contents><Key>a%0Ab+%2B</Key><ETag>&quot;e1&quot;</ETag>"        \
	     "<Size>5</Size><Owner><ID>x</ID><Key>no</Key></Owner>"             \
	     "<LastModified>2026-01-02T03:04:05.000Z</LastModified></Contents>" \
	     "<Contents><Size>7</Size><Key>b</Key></Contents>"                  \
	     "<CommonPrefixes><Prefix>p/q/</Prefix></CommonPrefixes>"           \
	     "<NextContinuationToken>t+/=</NextContinuationToken>"              \
	     "<EncodingType>url</EncodingType></ListBucketResult>"

static void a_list_has_its_objects(void **state)
{
	CLEANUP(pool_release) struct pool pool = POOL_INIT;
	CLEANUP(s3_list_release) struct s3_list l;

	(void)state;
	assert_int_equal(s3_xml_list(LIST, strlen(LIST), &pool, &l), 0);
	assert_int_equal(l.n_objects, 2);
	assert_string_equal(l.objects[0].key, "a\nb +");
	assert_string_equal(l.objects[0].etag, "e1");
	assert_int_equal(l.objects[0].size_bytes, 5);
	assert_string_equal(l.objects[0].modified, "2026-01-02T03:04:05.000Z");
	assert_string_equal(l.objects[1].key, "b");
	assert_true(l.is_truncated);
	assert_string_equal(l.next, "t+/=");
}

static void names_are_as_they_are_without_an_encoding(void **state)
{
	static const char text[] =
		"<ListBucketResult><Contents><Key>a%20+&amp;</Key></Contents>"
		"</ListBucketResult>";
	CLEANUP(pool_release) struct pool pool = POOL_INIT;
	CLEANUP(s3_list_release) struct s3_list l;

	(void)state;
	assert_int_equal(s3_xml_list(text, strlen(text), &pool, &l), 0);
	assert_string_equal(l.objects[0].key, "a%20+&");
	assert_false(l.is_truncated);
}

static void errors_are_found_in_both_forms(void **state)
{
	static const char s3[] = HEAD
		"<Error><Code>PermanentRedirect</Code><Message>m</Message>"
		"<Region>eu-west-1</Region><Endpoint>e</Endpoint></Error>";
	static const char sts[] =
		"<ErrorResponse xmlns=\"https://sts.amazonaws.com/\"><Error>"
		"<Type>Sender</Type><Code>AccessDenied</Code>"
		"<Message>not you</Message></Error></ErrorResponse>";
	CLEANUP(pool_release) struct pool pool = POOL_INIT;
	struct s3_error e;

	(void)state;
	assert_int_equal(s3_xml_error(s3, strlen(s3), &pool, &e), 0);
	assert_string_equal(e.code, "PermanentRedirect");
	assert_string_equal(e.region, "eu-west-1");
	assert_string_equal(e.endpoint, "e");
	assert_int_equal(s3_xml_error(sts, strlen(sts), &pool, &e), 0);
	assert_string_equal(e.code, "AccessDenied");
	assert_string_equal(e.message, "not you");
	assert_string_equal(e.region, "");
}

static void uploads_have_ids_parts_and_errors(void **state)
{
	static const char created[] =
		"<InitiateMultipartUploadResult" NS "><UploadId>u&amp;1"
		"</UploadId></InitiateMultipartUploadResult>";
	static const char parts[] =
		"<ListPartsResult" NS "><Part><PartNumber>2</PartNumber>"
		"<ETag>\"x\"</ETag><Size>9</Size>"
		"<ChecksumCRC64NVME>q=</ChecksumCRC64NVME></Part>"
		"<NextPartNumberMarker>2</NextPartNumberMarker>"
		"<IsTruncated>false</IsTruncated></ListPartsResult>";
	static const char failed[] = HEAD
		"\n\n<Error><Code>InternalError</Code></Error>";
	CLEANUP(pool_release) struct pool pool = POOL_INIT;
	CLEANUP(s3_parts_release) struct s3_parts p;
	struct s3_stored s;
	struct s3_error e = { 0 };

	(void)state;
	assert_int_equal(s3_xml_stored(created, strlen(created), &pool, &s, &e),
			 0);
	assert_string_equal(s.upload_id, "u&1");
	assert_int_equal(s3_xml_stored(failed, strlen(failed), &pool, &s, &e),
			 -EREMOTEIO);
	assert_string_equal(e.code, "InternalError");
	assert_int_equal(s3_xml_parts(parts, strlen(parts), &pool, &p), 0);
	assert_int_equal(p.n, 1);
	assert_int_equal(p.parts[0].number, 2);
	assert_int_equal(p.parts[0].size_bytes, 9);
	assert_string_equal(p.parts[0].etag, "x");
	assert_string_equal(p.parts[0].crc64nvme, "q=");
	assert_int_equal(p.next, 2);
}

static void requests_have_parts_and_keys(void **state)
{
	static const char done[] =
		"<CompleteMultipartUpload" NS
		"><Part><ETag>&quot;e&quot;</ETag>"
		"<ChecksumCRC32>AAAAAA==</ChecksumCRC32>"
		"<PartNumber>7</PartNumber></Part></CompleteMultipartUpload>";
	static const char gone[] =
		"<Delete" NS "><Quiet>true</Quiet><Object><Key>a &amp; b</Key>"
		"</Object><Object><Key>c</Key><VersionId>v</VersionId></Object>"
		"</Delete>";
	static const char failed[] =
		"<DeleteResult" NS "><Deleted><Key>c</Key></Deleted>"
		"<Error><Key>d</Key><Code>X</Code></Error></DeleteResult>";
	CLEANUP(pool_release) struct pool pool = POOL_INIT;
	CLEANUP(s3_parts_release) struct s3_parts p;
	CLEANUP(s3_list_release) struct s3_list asked, left;

	(void)state;
	assert_int_equal(s3_xml_complete(done, strlen(done), &pool, &p), 0);
	assert_int_equal(p.n, 1);
	assert_int_equal(p.parts[0].number, 7);
	assert_string_equal(p.parts[0].etag, "e");
	assert_int_equal(s3_xml_keys(gone, strlen(gone), &pool, &asked), 0);
	assert_int_equal(asked.n_objects, 2);
	assert_string_equal(asked.objects[0].key, "a & b");
	assert_string_equal(asked.objects[1].key, "c");
	assert_int_equal(s3_xml_keys(failed, strlen(failed), &pool, &left), 0);
	assert_int_equal(left.n_objects, 1);
	assert_string_equal(left.objects[0].key, "d");
}

static void unfinished_uploads_are_listed(void **state)
{
	static const char text[] =
		"<ListMultipartUploadsResult" NS
		"><EncodingType>url</EncodingType>"
		"<IsTruncated>true</IsTruncated><NextKeyMarker>a%2Bb</NextKeyMarker>"
		"<NextUploadIdMarker>i+d</NextUploadIdMarker><Upload><Key>x+y%2F1</Key>"
		"<UploadId>i+d</UploadId><Initiated>2026-11-17T00:00:00.000Z</Initiated>"
		"</Upload></ListMultipartUploadsResult>";
	CLEANUP(pool_release) struct pool pool = POOL_INIT;
	CLEANUP(s3_list_release) struct s3_list l;

	(void)state;
	assert_int_equal(s3_xml_uploads(text, strlen(text), &pool, &l), 0);
	assert_int_equal(l.n_objects, 1);
	assert_string_equal(l.objects[0].key, "x y/1");
	assert_string_equal(l.objects[0].etag, "i+d"); /* ids are not escaped */
	assert_string_equal(l.objects[0].modified, "2026-11-17T00:00:00.000Z");
	assert_true(l.is_truncated);
	assert_string_equal(l.next, "a+b");
	assert_string_equal(l.next_id, "i+d");
}

static void keys_of_sts_are_read(void **state)
{
	static const char text[] =
		"<AssumeRoleResponse xmlns=\"https://sts.amazonaws.com/doc/"
		"2011-06-15/\"><AssumeRoleResult><Credentials>"
		"<AccessKeyId>ASIA</AccessKeyId><SecretAccessKey>s</Secret"
		"AccessKey><SessionToken>t</SessionToken><Expiration>2026-11-17T"
		"00:00:00Z</Expiration></Credentials></AssumeRoleResult>"
		"</AssumeRoleResponse>";
	struct s3_keys keys;

	(void)state;
	assert_int_equal(s3_xml_sts(text, strlen(text), &keys), 0);
	assert_string_equal(keys.key_id, "ASIA");
	assert_string_equal(keys.secret, "s");
	assert_string_equal(keys.token, "t");
	assert_string_equal(keys.expiration, "2026-11-17T00:00:00Z");
	assert_int_equal(s3_xml_sts("<A></A>", 7, &keys), -EBADMSG);
}

static void what_is_not_such_a_document_is_refused(void **state)
{
	static const char *const bad[] = {
		"",
		"{}",
		"<ListBucketResult>",
		"<Other></Other>",
		"<Other/>",
		"<ListBucketResult><Contents><Size>-1</Size></Contents>"
		"</ListBucketResult>",
		"<ListBucketResult><Contents><Size>x</Size></Contents>"
		"</ListBucketResult>",
		"<!DOCTYPE a [<!ENTITY b \"c\">]><ListBucketResult>&b;"
		"</ListBucketResult>",
	};
	CLEANUP(str_release) struct str deep = STR_INIT;
	CLEANUP(str_release) struct str wide = STR_INIT;
	CLEANUP(pool_release) struct pool pool = POOL_INIT;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		CLEANUP(s3_list_release) struct s3_list l;

		assert_int_equal(s3_xml_list(bad[i], strlen(bad[i]), &pool, &l),
				 -EBADMSG);
	}
	str_adds(&deep, "<ListBucketResult>");
	for (int i = 0; i < 1000; i++)
		str_adds(&deep, "<a>");
	str_adds(&wide, "<ListBucketResult><Contents><Key>");
	str_pad(&wide, 'k', S3_XML_TEXT + 1);
	str_adds(&wide, "</Key></Contents></ListBucketResult>");
	for (int i = 0; i < 2; i++) {
		CLEANUP(s3_list_release) struct s3_list l;
		const struct str *text = i ? &wide : &deep;

		assert_int_equal(s3_xml_list(text->data, text->len, &pool, &l),
				 -EBADMSG);
	}
}

static void what_is_written_can_be_read(void **state)
{
	const struct s3_part parts[] = {
		{ .number = 1, .etag = "a<", .crc64nvme = "c=" },
		{ .number = 2, .etag = "b", .crc64nvme = "" }
	};
	CLEANUP(str_release) struct str out = STR_INIT;

	(void)state;
	s3_xml_add_complete(&out, parts, 2);
	assert_str(&out, "<CompleteMultipartUpload><Part><PartNumber>1"
			 "</PartNumber><ETag>&#34;a&#60;&#34;</ETag>"
			 "<ChecksumCRC64NVME>c=</ChecksumCRC64NVME></Part>"
			 "<Part><PartNumber>2</PartNumber><ETag>&#34;b&#34;"
			 "</ETag></Part></CompleteMultipartUpload>");
}

static void memory_may_run_out_at_any_point(void **state)
{
	int r = -ENOMEM;

	(void)state;
	for (int n = 0; r == -ENOMEM; n++) {
		CLEANUP(pool_release) struct pool pool = POOL_INIT;
		CLEANUP(s3_list_release) struct s3_list l;

		alloc_fail_after(n);
		r = s3_xml_list(LIST, strlen(LIST), &pool, &l);
		alloc_fail_never();
	}
	assert_int_equal(r, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_list_has_its_objects),
		cmocka_unit_test(names_are_as_they_are_without_an_encoding),
		cmocka_unit_test(errors_are_found_in_both_forms),
		cmocka_unit_test(uploads_have_ids_parts_and_errors),
		cmocka_unit_test(requests_have_parts_and_keys),
		cmocka_unit_test(unfinished_uploads_are_listed),
		cmocka_unit_test(keys_of_sts_are_read),
		cmocka_unit_test(what_is_not_such_a_document_is_refused),
		cmocka_unit_test(what_is_written_can_be_read),
		cmocka_unit_test(memory_may_run_out_at_any_point),
	};

	return cmocka_run_group_tests_name("s3_xml", tests, NULL, NULL);
}
