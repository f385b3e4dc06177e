/* kernel.h - the kernel's types, as far as we read them.
 *
 * Only names matter here: the loader finds the offset of a field in the type
 * information of the running kernel (btf.h).  So a type has only the members we read,
 * in any order, and needs no kernel headers. */
#ifndef ROAR_TRACE_EBPF_KERNEL_H
#define ROAR_TRACE_EBPF_KERNEL_H

#include <linux/bpf.h>
#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

#include <bpf/bpf_helpers.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;
typedef __s32 s32;
typedef __s64 s64;

#pragma clang attribute push(__attribute__((preserve_access_index)), \
			     apply_to = record)

struct hlist_bl_node {
	struct hlist_bl_node **pprev;
};

struct hlist_node {
	struct hlist_node *next;
};

struct hlist_head {
	struct hlist_node *first;
};

struct list_head {
	struct list_head *next;
};

struct qstr {
	u32 len;
	const unsigned char *name;
};

struct dentry {
	u32 d_flags;
	struct hlist_bl_node d_hash;
	struct dentry *d_parent;
	struct qstr d_name;
	struct inode *d_inode;
	struct hlist_node d_sib;
	struct hlist_head d_children;
};

struct dentry___6_7 {
	struct list_head d_subdirs;
	struct list_head d_child;
};

struct vfsmount {
	struct dentry *mnt_root;
};

struct mount {
	struct mount *mnt_parent;
	struct dentry *mnt_mountpoint;
	struct vfsmount mnt;
	struct list_head mnt_mounts;
	struct list_head mnt_child;
};

struct path {
	struct vfsmount *mnt;
	struct dentry *dentry;
};

struct super_block {
	u32 s_dev;
	unsigned long s_magic;
};

struct timespec64 {
	s64 tv_sec;
	long tv_nsec;
};

struct itimerspec64 {
	struct timespec64 it_interval;
	struct timespec64 it_value;
};

struct inode {
	u16 i_mode;
	unsigned long i_ino;
	s64 i_size;
	u32 i_nlink;
	u32 i_generation;
	const char *i_link; /* text of a symbolic link, if short */
	struct super_block *i_sb;
	s64 i_mtime_sec;
	s64 i_ctime_sec;
	u32 i_mtime_nsec;
	u32 i_ctime_nsec;
};

/* The same type in older kernels. */
struct inode___6_7 {
	struct timespec64 __i_mtime;
	struct timespec64 __i_ctime;
};

struct inode___6_6 {
	struct timespec64 i_mtime;
	struct timespec64 __i_ctime;
};

struct inode___5_x {
	struct timespec64 i_mtime;
	struct timespec64 i_ctime;
};

struct file {
	u32 f_mode;
	u32 f_flags;
	struct inode *f_inode;
	struct path f_path;
};

struct fdtable {
	unsigned int max_fds;
	struct file **fd;
};

struct files_struct {
	struct fdtable *fdt;
};

struct fs_struct {
	struct path root;
	struct path pwd;
};

struct upid {
	int nr;
};

struct pid {
	unsigned int level;
	struct upid numbers[1];
};

struct mm_struct {
	unsigned long arg_start;
	unsigned long arg_end;
	unsigned long flags; /* a larger bitmap since Linux 6.18 */
};

struct kuid {
	u32 val;
};

struct cred {
	struct kuid uid;
	struct kuid euid;
	struct kuid suid;
	struct kuid fsuid;
};

struct signal_struct {
	struct {
		int counter;
	} live;
	unsigned int flags;
	int group_exit_code;
};

struct thread_info {
	u32 status;
};

struct task_struct {
	struct thread_info thread_info;
	int pid;
	int tgid;
	int exit_code;
	struct task_struct *group_leader;
	struct files_struct *files;
	struct fs_struct *fs;
	struct mm_struct *mm;
	struct signal_struct *signal;
	struct pid *thread_pid;
	const struct cred *cred;
};

struct trace_event_raw_sched_process_exit {
	bool group_dead;
};

struct linux_binprm {
	struct file *file;
	const char *filename;
	const char *interp; /* the same, unless a script was executed */
	const char *fdpath;
};

struct io_cqe {
	s32 res;
};

struct io_kiocb {
	u8 opcode;
	struct io_cqe cqe;
};

struct open_how {
	u64 flags;
	u64 mode;
	u64 resolve;
};

struct io_open {
	u32 file_slot;
	struct open_how how;
};

#pragma clang attribute pop

/* READ(file, p, f_path.dentry): a field at an address that may be stale or wrong; then
 * it is zero.  Since Linux 6.2 the verifier can be told what an address points to, and
 * the read is one instruction; before, it is a call.
 *
 * Code that reads several fields names the type once, which is shorter and loads
 * faster: q = AT(file, p), then GET(q, f_mode).  A pointer that GET() has read is such
 * an address itself, of the type the kernel knows. */
#ifdef READ_BY_CALL
enum { READ_IS_CHEAP = false };
#define AT(type, p) ((struct type *)(p))
#define GET(q, field) BPF_CORE_READ(q, field)
#else
enum { READ_IS_CHEAP = true };
extern void *bpf_rdonly_cast(const void *obj, __u32 type_id) __ksym;
#define AT(type, p)                                        \
	((struct type *)bpf_rdonly_cast((const void *)(p), \
					bpf_core_type_id_kernel(struct type)))
#define GET(q, field) ((q)->field)
#endif

#define READ(type, p, field)                    \
	({                                      \
		struct type *at_ = AT(type, p); \
		GET(at_, field);                \
	})

/* Eight bytes, as a number: this struct starts with one. */
#define READ_WORD(p) ((u64)READ(timespec64, p, tv_sec))

#endif
