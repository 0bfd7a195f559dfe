/* SPDX-License-Identifier: Apache-2.0
 * seccomp.c - a system call filter for a daemon whose sockets are open.
 *
 * The filter is a list of allowed system calls: those that the loop, the sockets, shared memory,
 * the file threads and the C library's allocator and threads make on x86-64 and on arm64. It also
 * checks the arguments of some calls:
 *
 *   open, openat      only to read, or to create a new file (TraceConfig.output_path)
 *   mmap, mprotect    never executable
 *   clone             threads only; clone3 "does not exist", because a filter cannot see its flags,
 *                     and the C library then uses clone
 *   prctl             only to set the thread's name
 *   prlimit64         only to read a limit
 *   tgkill            only to this process, for abort()
 *
 * So an attacker who controls the daemon can read the files that its user may read, and write to
 * open connections and files, but cannot execute programs, connect, trace or signal processes, or
 * change an existing file. Deleting and renaming stay possible, because the daemon removes the file
 * of a session that failed to start, and max_file_count renames files. A filter cannot see the text
 * of a path; the options of the systemd unit can limit paths. Rejected: libseccomp (a library for
 * some 200 instructions), a list of forbidden calls (new kernels add calls), a process that opens
 * files for the daemon (clients already pass descriptors; only output_path would need it).
 *
 * The filter tests one call after the other, frequent ones first. The kernel caches the numbers
 * that are allowed whatever their arguments, and does not run the filter for them.
 */
#include "tool/daemon/seccomp.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/macros.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) ||                         \
	__has_feature(memory_sanitizer)
#define HAS_SANITIZER 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define HAS_SANITIZER 1
#endif

/* The processor as the kernel's audit subsystem names it: ELF machine, 64 bits, little-endian. */
#if defined(__x86_64__)
#define NATIVE_ARCH 0xc000003eu
#elif defined(__aarch64__)
#define NATIVE_ARCH 0xc00000b7u
#endif

int orma_seccomp_parse(const char *text, enum orma_seccomp_mode *ret)
{
	static const char *const names[] = {
		[ORMA_SECCOMP_OFF] = "off",
		[ORMA_SECCOMP_ERRNO] = "errno",
		[ORMA_SECCOMP_KILL] = "kill",
	};

	for (size_t i = 0; i < ORMA_ARRAY_SIZE(names); i++) {
		if (strcmp(text, names[i]) == 0) {
			*ret = (enum orma_seccomp_mode)i;
			return 0;
		}
	}
	return -EINVAL;
}

#if defined(NATIVE_ARCH) && !defined(HAS_SANITIZER)

/*
 * Constants of linux/filter.h and linux/seccomp.h: a C library other than glibc may come without
 * the kernel's headers.
 */
enum {
	/* Each is the complete opcode of an instruction with a constant operand. */
	LOAD_WORD = 0x20,
	AND = 0x54,
	JUMP_IF_EQUAL = 0x15,
	JUMP_IF_ANY_BIT = 0x45,
	RETURN = 0x06,

	SET_MODE_FILTER = 1,
	FLAG_LOG = 2,
};
#define RETURN_ALLOW        0x7fff0000u
#define RETURN_ERRNO        0x00050000u
#define RETURN_KILL_PROCESS 0x80000000u

struct instruction {
	uint16_t code;
	uint8_t if_true, if_false;
	uint32_t value;
};

struct program {
	unsigned short size;
	struct instruction *code;
};

/* The data that the filter reads; the kernel's struct seccomp_data. */
struct call {
	int number;
	uint32_t arch;
	uint64_t instruction_pointer;
	uint64_t arguments[6];
};

#define CODE_MAX 256

struct filter {
	struct instruction code[CODE_MAX];
	unsigned short size;
	uint32_t refusal;
};

static const uint32_t allowed[] = {
	/* The loop and the sockets. */
	SYS_recvmsg,
	SYS_sendmsg,
	SYS_epoll_pwait,
	SYS_epoll_ctl,
	SYS_timerfd_settime,
	SYS_read,
	SYS_write,
	SYS_accept4,
	SYS_getsockopt,
	SYS_setsockopt,
	SYS_getsockname,
	SYS_getpeername,
	SYS_sendto,
	SYS_recvfrom,
	SYS_shutdown,
	SYS_close,
	SYS_fcntl,
	SYS_ppoll,
	/* The file threads. */
	SYS_futex,
	SYS_writev,
	SYS_pread64,
	SYS_eventfd2,
	SYS_fdatasync,
	SYS_fsync,
	SYS_fstat,
	SYS_newfstatat,
	SYS_lseek,
	SYS_fchmod,
	SYS_unlinkat,
	SYS_renameat2,
	/* Shared memory. */
	SYS_memfd_create,
	SYS_fstatfs,
	SYS_ftruncate,
	SYS_munmap,
	SYS_madvise,
	/* Memory and threads. */
	SYS_brk,
	SYS_mremap,
	SYS_set_robust_list,
	SYS_rt_sigprocmask,
	SYS_rt_sigaction,
	SYS_rt_sigreturn,
	SYS_sched_getaffinity,
	SYS_sched_getscheduler,
	SYS_sched_getparam,
	SYS_getpriority,
	SYS_sched_yield,
	SYS_membarrier,
	SYS_exit,
	SYS_exit_group,
	SYS_restart_syscall,
	/* Times, random numbers, and identity. */
	SYS_clock_gettime,
	SYS_clock_getres,
	SYS_clock_nanosleep,
	SYS_gettimeofday,
	SYS_getrandom,
	SYS_uname,
	SYS_sysinfo,
	SYS_getdents64,
	SYS_getpid,
	SYS_gettid,
	SYS_getuid,
	SYS_geteuid,
	SYS_getgid,
	SYS_getegid,
#ifdef SYS_rseq
	SYS_rseq,
#endif
#ifdef SYS_statx
	SYS_statx,
#endif
#ifdef SYS_epoll_pwait2
	SYS_epoll_pwait2,
#endif
/* Older names, which arm64 does not have. */
#ifdef SYS_epoll_wait
	SYS_epoll_wait,
#endif
#ifdef SYS_poll
	SYS_poll,
#endif
#ifdef SYS_stat
	SYS_stat,
	SYS_lstat,
#endif
#ifdef SYS_unlink
	SYS_unlink,
	SYS_rename,
#endif
#ifdef SYS_renameat
	SYS_renameat,
#endif
#ifdef SYS_time
	SYS_time,
#endif
};

static void add(struct filter *filter, uint16_t code, uint32_t value, unsigned if_true,
		unsigned if_false)
{
	/* An overflow is not reported here; orma_seccomp_apply() checks the size. */
	if (filter->size < CODE_MAX)
		filter->code[filter->size] =
			(struct instruction){code, (uint8_t)if_true, (uint8_t)if_false, value};
	filter->size++;
}

static void answer(struct filter *filter, uint32_t action)
{
	add(filter, RETURN, action, 0, 0);
}

static void load(struct filter *filter, size_t offset)
{
	add(filter, LOAD_WORD, (uint32_t)offset, 0, 0);
}

/* Skips `count` instructions unless the accumulator has this value. */
static void skip_unless(struct filter *filter, uint32_t value, unsigned count)
{
	add(filter, JUMP_IF_EQUAL, value, 0, count);
}

/* Loads the lower half of an argument, which holds flags and small numbers. */
static void load_argument(struct filter *filter, unsigned idx)
{
	/* Both processors are little-endian. */
	load(filter, offsetof(struct call, arguments) + idx * sizeof(uint64_t));
}

/* Allows the call when (argument & mask) == value. */
static void allow_masked(struct filter *filter, uint32_t number, unsigned argument, uint32_t mask,
			 uint32_t value)
{
	skip_unless(filter, number, 5);
	load_argument(filter, argument);
	add(filter, AND, mask, 0, 0);
	skip_unless(filter, value, 1);
	answer(filter, RETURN_ALLOW);
	answer(filter, filter->refusal);
}

static void allow_open(struct filter *filter, uint32_t number, unsigned argument)
{
	const uint32_t creates = O_CREAT | O_EXCL;

	skip_unless(filter, number, 8);
	load_argument(filter, argument);
	add(filter, AND, creates, 0, 0);
	skip_unless(filter, creates, 1);
	answer(filter, RETURN_ALLOW);
	load_argument(filter, argument);
	add(filter, JUMP_IF_ANY_BIT, O_WRONLY | O_RDWR | O_CREAT | O_TRUNC, 1, 0);
	answer(filter, RETURN_ALLOW);
	answer(filter, filter->refusal);
}

/* Allows prlimit64() when the pointer to a new limit is NULL. Both halves of the pointer are
 * checked. */
static void allow_asking_limits(struct filter *filter)
{
	const size_t at = offsetof(struct call, arguments) + 2 * sizeof(uint64_t);

	skip_unless(filter, SYS_prlimit64, 6);
	load(filter, at);
	skip_unless(filter, 0, 3);
	load(filter, at + sizeof(uint32_t));
	skip_unless(filter, 0, 1);
	answer(filter, RETURN_ALLOW);
	answer(filter, filter->refusal);
}

static void look_closely(struct filter *filter)
{
	const uint32_t namespaces = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC |
				    CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET;

	allow_masked(filter, SYS_mmap, 2, PROT_EXEC, 0);
	allow_masked(filter, SYS_mprotect, 2, PROT_EXEC, 0);
	allow_masked(filter, SYS_clone, 0, CLONE_THREAD | namespaces, CLONE_THREAD);
	allow_masked(filter, SYS_prctl, 0, UINT32_MAX, PR_SET_NAME);
	/* A thread may change only its own priority (priority_boost). */
	allow_masked(filter, SYS_sched_setscheduler, 0, UINT32_MAX, 0);
	allow_masked(filter, SYS_setpriority, 1, UINT32_MAX, 0);
	allow_masked(filter, SYS_tgkill, 0, UINT32_MAX, (uint32_t)getpid());
	allow_open(filter, SYS_openat, 2);
#ifdef SYS_open
	allow_open(filter, SYS_open, 1);
#endif
	allow_asking_limits(filter);
#ifdef SYS_clone3
	skip_unless(filter, SYS_clone3, 1);
	answer(filter, RETURN_ERRNO | ENOSYS);
#endif
}

static void write_filter(struct filter *filter)
{
	/* A call of another architecture ends the process, because its number means another call.
	 * The numbers of x32 have bit 30 set, so no list contains them. */
	load(filter, offsetof(struct call, arch));
	add(filter, JUMP_IF_EQUAL, NATIVE_ARCH, 1, 0);
	answer(filter, RETURN_KILL_PROCESS);
	load(filter, offsetof(struct call, number));
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(allowed); i++) {
		skip_unless(filter, allowed[i], 1);
		answer(filter, RETURN_ALLOW);
	}
	look_closely(filter);
	answer(filter, filter->refusal);
}

static int install(const struct program *program, unsigned flags)
{
	return syscall(SYS_seccomp, SET_MODE_FILTER, flags, program) ? -errno : 0;
}

int orma_seccomp_apply(enum orma_seccomp_mode mode)
{
	struct filter filter = {.refusal = mode == ORMA_SECCOMP_KILL ? RETURN_KILL_PROCESS
								     : RETURN_ERRNO | EPERM};

	if (mode == ORMA_SECCOMP_OFF)
		return 0;
	write_filter(&filter);
	if (filter.size > CODE_MAX)
		return -E2BIG;
	/* Without this flag only root may install a filter. */
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -errno;
	struct program program = {filter.size, filter.code};
	int r = install(&program, FLAG_LOG);
	/* Kernels before 4.14 have filters, but not that flag. */
	return r == -EINVAL ? install(&program, 0) : r;
}

#else

int orma_seccomp_apply(enum orma_seccomp_mode mode)
{
	return mode == ORMA_SECCOMP_OFF ? 0 : -ENOTSUP;
}

#endif
