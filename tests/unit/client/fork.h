/* SPDX-License-Identifier: Apache-2.0
 * fork.h - code that the tests of forks share.
 *
 * The children end with _exit(): 0, or the number of the line whose check failed.
 */
#ifndef ORMA_TESTS_UNIT_CLIENT_FORK_H
#define ORMA_TESTS_UNIT_CLIENT_FORK_H

#include <dirent.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unit/client/daemon.h"
#include "unit/client/fixture.h"

/* ThreadSanitizer mistakes the first thread of a child for one of the parent's and aborts. Therefore
 * children end before they create a thread there. */
#if defined(__SANITIZE_THREAD__)
#define CHILD_MAKES_THREADS 0
#elif defined(__has_feature)
#define CHILD_MAKES_THREADS !__has_feature(thread_sanitizer)
#else
#define CHILD_MAKES_THREADS 1
#endif

/* AddressSanitizer leaves its allocator locked in the child of a process whose threads allocate. */
#if defined(__SANITIZE_ADDRESS__)
#define CHILD_ALLOCATES 0
#elif defined(__has_feature)
#define CHILD_ALLOCATES !__has_feature(address_sanitizer)
#else
#define CHILD_ALLOCATES 1
#endif

#define CHILD_CHECK(condition)                                                                     \
	do {                                                                                       \
		if (!(condition))                                                                  \
			_exit(__LINE__ % 251 + 1);                                                 \
	} while (0)

static inline void init_system(const struct daemon *daemon)
{
	const struct orma_init_options options = {.struct_size = sizeof(options),
						  .producer_name = "test.producer",
						  .producer_socket = daemon->producer};

	CHECK_INT(orma_init(&options), 0);
}

static inline struct orma_session *start_system_session(const struct daemon *daemon)
{
	const struct orma_session_options options = {.struct_size = sizeof(options),
						     .consumer_socket = daemon->consumer};
	struct orma_session *session = session_new(&options);

	session_enable(session, SOURCE_CONFIG);
	CHECK_INT(orma_session_wait_started(session, WAIT_MS), 0);
	return session;
}

static inline void join(pid_t child)
{
	int status;

	CHECK_INT(waitpid(child, &status, 0), child);
	CHECK_INT(status, 0);
}

/* The number of open descriptors, in a process that has one thread. */
static inline int count_fds(void)
{
	DIR *folder = opendir("/proc/self/fd");
	int count = 0;

	while (readdir(folder))
		count++;
	closedir(folder);
	return count;
}

/* Emits the child's first event, which is not recorded, and waits for its own instance. */
static inline void come_back(struct orma_data_source *source, struct source_log *log)
{
	if (!CHILD_MAKES_THREADS)
		_exit(0);
	errno = 77;
	CHILD_CHECK(orma_data_source_started(source) == 0);
	CHILD_CHECK(errno == 77);
	while (sem_wait(&log->is_started) < 0)
		;
	CHILD_CHECK(orma_data_source_started(source) == 1);
}

#endif
