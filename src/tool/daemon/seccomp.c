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
 * change an existing file. The attacker can still delete and rename files, because the daemon does
 * both: it deletes the file of a session that failed to start, and it renames the files of a rotated
 * recording. A filter cannot limit which
 * paths are opened, because it does not see their text. The options of the systemd unit can. Rejected:
 * a process that opens files for the daemon, because clients already pass descriptors, and only
 * output_path would need it.
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
#include "sandbox/seccomp_filter.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) ||                         \
	__has_feature(memory_sanitizer)
#define HAS_SANITIZER 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define HAS_SANITIZER 1
#endif

#if (defined(__x86_64__) || defined(__aarch64__)) && !defined(HAS_SANITIZER)
#define HAS_FILTER 1
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

#ifdef HAS_FILTER

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
	SYS_dup3,
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

static void allow_open(struct orma_seccomp_filter *filter, uint32_t number, unsigned argument)
{
	const uint32_t creates = O_CREAT | O_EXCL;

	orma_seccomp_filter_skip_unless(filter, number, 8);
	orma_seccomp_filter_load_low(filter, argument);
	orma_seccomp_filter_and(filter, creates);
	orma_seccomp_filter_skip_unless(filter, creates, 1);
	orma_seccomp_filter_answer(filter, ORMA_SECCOMP_ALLOW);
	orma_seccomp_filter_load_low(filter, argument);
	orma_seccomp_filter_skip_if_any(filter, O_WRONLY | O_RDWR | O_CREAT | O_TRUNC, 1);
	orma_seccomp_filter_answer(filter, ORMA_SECCOMP_ALLOW);
	orma_seccomp_filter_answer(filter, filter->refusal);
}

/* Allows prlimit64() when the pointer to a new limit is NULL. Both halves of the pointer are
 * checked. */
static void allow_asking_limits(struct orma_seccomp_filter *filter)
{
	orma_seccomp_filter_skip_unless(filter, SYS_prlimit64, 6);
	orma_seccomp_filter_load_low(filter, 2);
	orma_seccomp_filter_skip_unless(filter, 0, 3);
	orma_seccomp_filter_load_high(filter, 2);
	orma_seccomp_filter_skip_unless(filter, 0, 1);
	orma_seccomp_filter_answer(filter, ORMA_SECCOMP_ALLOW);
	orma_seccomp_filter_answer(filter, filter->refusal);
}

static void look_closely(struct orma_seccomp_filter *filter)
{
	const uint32_t namespaces = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC |
				    CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET;

	orma_seccomp_filter_allow_masked(filter, SYS_mmap, 2, PROT_EXEC, 0);
	orma_seccomp_filter_allow_masked(filter, SYS_mprotect, 2, PROT_EXEC, 0);
	orma_seccomp_filter_allow_masked(filter, SYS_clone, 0, CLONE_THREAD | namespaces,
					 CLONE_THREAD);
	orma_seccomp_filter_allow_masked(filter, SYS_prctl, 0, UINT32_MAX, PR_SET_NAME);
	/* A thread may change only its own priority (priority_boost). */
	orma_seccomp_filter_allow_masked(filter, SYS_sched_setscheduler, 0, UINT32_MAX, 0);
	orma_seccomp_filter_allow_masked(filter, SYS_setpriority, 1, UINT32_MAX, 0);
	orma_seccomp_filter_allow_masked(filter, SYS_tgkill, 0, UINT32_MAX, (uint32_t)getpid());
	allow_open(filter, SYS_openat, 2);
#ifdef SYS_open
	allow_open(filter, SYS_open, 1);
#endif
	allow_asking_limits(filter);
#ifdef SYS_clone3
	orma_seccomp_filter_skip_unless(filter, SYS_clone3, 1);
	orma_seccomp_filter_answer(filter, ORMA_SECCOMP_REFUSE(ENOSYS));
#endif
}

int orma_seccomp_apply(enum orma_seccomp_mode mode)
{
	struct orma_seccomp_filter filter;

	if (mode == ORMA_SECCOMP_OFF)
		return 0;
	orma_seccomp_filter_begin(&filter, mode == ORMA_SECCOMP_KILL ? ORMA_SECCOMP_KILL_PROCESS
								     : ORMA_SECCOMP_REFUSE(EPERM));
	orma_seccomp_filter_allow(&filter, allowed, ORMA_ARRAY_SIZE(allowed));
	look_closely(&filter);
	return orma_seccomp_filter_install(&filter);
}

#else

int orma_seccomp_apply(enum orma_seccomp_mode mode)
{
	return mode == ORMA_SECCOMP_OFF ? 0 : -ENOTSUP;
}

#endif
