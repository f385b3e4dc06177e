/* Files of others: readable, but not with O_NOATIME, nor against an access list. */
#include <endian.h>
#include <stdint.h>
#include <sys/xattr.h>

#include "workload.h"

/* user::rw- user:65534:--- group::r-- mask::r-- other::r-- */
static int deny_nobody(const char *path)
{
	struct {
		uint32_t version;
		struct {
			uint16_t tag, perm;
			uint32_t id;
		} entries[5];
	} acl = {
		htole32(2),
		{
			{ htole16(0x01), htole16(6), UINT32_MAX },
			{ htole16(0x02), 0, htole32(65534) },
			{ htole16(0x04), htole16(4), UINT32_MAX },
			{ htole16(0x10), htole16(4), UINT32_MAX },
			{ htole16(0x20), htole16(4), UINT32_MAX },
		},
	};

	return setxattr(path, "system.posix_acl_access", &acl, sizeof(acl), 0);
}

void prepare(void)
{
	if (geteuid() != 0)
		skip("needs files of somebody else");
	put("in.txt", "hello");
	put("listed.txt", "hello");
	if (deny_nobody("listed.txt") < 0)
		skip("no access control lists here");
	as_nobody(NULL, NULL);
}

void act(void)
{
	FAILS(open("in.txt", O_RDONLY | O_NOATIME), EPERM);
	FAILS(open("listed.txt", O_RDONLY), EACCES);
}
