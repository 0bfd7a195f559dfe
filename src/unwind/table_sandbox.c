/* SPDX-License-Identifier: Apache-2.0
 * table_sandbox.c - gives up rights, for a process that reads files of others.
 *
 * Owns nothing. The order matters, because each step needs a right that a later step gives up:
 * descriptors and shared memory first, since /proc/self/maps has to be opened; then limits; then the
 * user; then system calls.
 *
 * An ELF file that has taken over its reader can use the memory of the child, which is a copy, the file
 * itself, and a socket whose other end checks every byte. It cannot open files, connect, map code, or
 * make processes, and it is killed after CPU_SECONDS of work. A system call that is not allowed fails
 * with ENOSYS instead of killing the process, because a C library that tries a newer call then falls
 * back to an older one. An attacker gains nothing by trying.
 *
 * Sanitizers reserve terabytes of addresses, so builds with them have no limit of memory.
 */
#include "unwind/table_sandbox.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/macros.h"
#include "base/sanitizer.h"
#include "sandbox/seccomp_filter.h"

#define SOCKET         3 /* the first number above the standard descriptors */
#define FILES_MAX      16u
#define CPU_SECONDS    30u
#define MEMORY_BYTES   (UINT64_C(512) << 20) /* on top of what the parent has */
#define MAPS_BYTES_MAX (16u << 20)
#define NOBODY         65534u
#define CAP_VERSION    0x20080522u /* _LINUX_CAPABILITY_VERSION_3 */
/* Older headers lack the number. */
#ifndef SYS_close_range
#define SYS_close_range 436
#endif

/* Closes all descriptors above SOCKET. Before Linux 5.9, the open ones are listed: the limit of their number, which a loop would
 * have to count to, may be a billion. */
static int close_others(void)
{
	if (syscall(SYS_close_range, SOCKET + 1, UINT32_MAX, 0) == 0)
		return 0;
	DIR *folder = opendir("/proc/self/fd");
	const struct dirent *entry;

	if (!folder)
		return -errno;
	while ((entry = readdir(folder))) {
		int fd = (int)strtol(entry->d_name, NULL, 10);
		if (fd > SOCKET && fd != dirfd(folder))
			close(fd);
	}
	closedir(folder);
	return 0;
}

/* Closes everything but `socket`, which becomes SOCKET. Sanitizers report to descriptor 2. */
static int keep_socket(int socket)
{
	if (socket != SOCKET && dup2(socket, SOCKET) < 0)
		return -errno;
	int flags = fcntl(SOCKET, F_GETFL);
	if (flags < 0 || fcntl(SOCKET, F_SETFL, flags & ~O_NONBLOCK) < 0)
		return -errno;
	int r = close_others();
	if (r < 0)
		return r;
	close(0);
	close(1);
#ifndef ORMA_HAS_SANITIZER
	close(2);
#endif
	return SOCKET;
}

/* Unmaps shared memory, such as the parent's trace buffers, which the child could write to. Lines of
 * maps begin with "start-end rwxs". */
static int unmap_shared(void)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf text = {0};
	int r = orma_base_file_read(AT_FDCWD, "/proc/self/maps", MAPS_BYTES_MAX, &text);
	const char *line = r < 0 ? NULL : orma_base_buf_cstr(&text);

	if (!line)
		return r < 0 ? r : -ENOMEM;
	while (line && *line) {
		unsigned long start, end;
		char flags[5];
		if (sscanf(line, "%lx-%lx %4s", &start, &end, flags) == 3 && flags[3] == 's')
			munmap((void *)start, end - start); /* NOLINT(performance-no-int-to-ptr) */
		line = strchr(line, '\n');
		line += line != NULL;
	}
	return 0;
}

static void limit(unsigned resource, uint64_t value)
{
	const uint64_t limit[2] = {value, value};

	/* This fails if the hard limit is lower, which then stays. A system call, because the type of `resource`
	 * differs between C libraries. */
	(void)syscall(SYS_prlimit64, 0, resource, limit, NULL);
}

static void limit_resources(void)
{
	limit(RLIMIT_CORE, 0);
	limit(RLIMIT_FSIZE, 0);
	limit(RLIMIT_NPROC, 0);
	limit(RLIMIT_NOFILE, FILES_MAX);
	limit(RLIMIT_CPU, CPU_SECONDS);
#ifndef ORMA_HAS_SANITIZER
	ORMA_AUTO(orma_base_buf_done) struct orma_buf text = {0};
	unsigned long pages;
	if (orma_base_file_read(AT_FDCWD, "/proc/self/statm", 256, &text) == 0 &&
	    orma_base_buf_cstr(&text) && sscanf((const char *)text.data, "%lu", &pages) == 1)
		limit(RLIMIT_AS, pages * (uint64_t)sysconf(_SC_PAGESIZE) + MEMORY_BYTES);
#endif
}

/* Direct system calls, because the C library would make other threads change their user, too. The child has none. */
static void drop_rights(void)
{
	struct {
		uint32_t version;
		int pid;
	} header = {.version = CAP_VERSION};
	struct {
		uint32_t effective, permitted, inheritable;
	} none[2] = {0};

	if (geteuid() == 0) {
		/* This may fail in a user namespace without that user. The capabilities go in any case. */
		(void)syscall(SYS_setgroups, 0, NULL);
		(void)syscall(SYS_setresgid, NOBODY, NOBODY, NOBODY);
		(void)syscall(SYS_setresuid, NOBODY, NOBODY, NOBODY);
	}
	(void)syscall(SYS_capset, &header, none);
	/* Other processes of that user must not trace this one. */
	(void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

#if defined(__x86_64__) || defined(__aarch64__)
static int filter_calls(void)
{
	static const uint32_t allowed[] = {
		SYS_pread64,        SYS_read,
		SYS_write,          SYS_recvmsg,
		SYS_sendmsg,        SYS_sendto,
		SYS_close,          SYS_fstat,
		SYS_newfstatat,
#ifdef SYS_statx
		SYS_statx,
#endif
		SYS_munmap,         SYS_mremap,
		SYS_madvise,        SYS_brk,
		SYS_futex,          SYS_sched_yield,
		SYS_rt_sigprocmask, SYS_rt_sigreturn,
		SYS_sigaltstack,    SYS_clock_gettime,
		SYS_getrandom,      SYS_getpid,
		SYS_gettid,         SYS_restart_syscall,
		SYS_exit,           SYS_exit_group,
	};
	struct orma_seccomp_filter filter;

	orma_seccomp_filter_begin(&filter, ORMA_SECCOMP_REFUSE(ENOSYS));
	orma_seccomp_filter_allow(&filter, allowed, ORMA_ARRAY_SIZE(allowed));
	orma_seccomp_filter_allow_masked(&filter, SYS_mmap, 2, PROT_EXEC, 0);
	orma_seccomp_filter_allow_masked(&filter, SYS_mprotect, 2, PROT_EXEC, 0);
	return orma_seccomp_filter_install(&filter);
}
#else
static int filter_calls(void)
{
	return -ENOTSUP;
}
#endif

int orma_table_sandbox_enter(int socket, int *ret_filter)
{
	(void)prctl(PR_SET_NAME, "orma-tables", 0, 0, 0);
	int fd = keep_socket(socket);
	if (fd < 0)
		return fd;
	int r = unmap_shared();
	if (r < 0)
		return r;
	limit_resources();
	drop_rights();
	*ret_filter = filter_calls();
	return fd;
}
