/* SPDX-License-Identifier: Apache-2.0
 * process_info.c - what traces say about this process: pid, start, a uuid made of both, and texts.
 *
 * Pid and start are read once when track events are registered, so that emitting reads no files.
 * The uuid is upstream's hash of start time and pid. It is the same in all sequences of a process
 * and in all tracing libraries within it, upstream's included, and different for a later process
 * with the same pid.
 *
 * Invariant: the mutex is held over no system call and no packet.
 */
#include "track/process_info.h"

#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock_ns.h"
#include "base/fd.h"
#include "base/map.h"
#include "track/thread_info.h"

#define STAT_BYTES_MAX   4096
#define START_FIELD      22 /* field of /proc/PID/stat that holds the start, in clock ticks since boot */
#define FIELD_AFTER_COMM 3

struct orma_track_process orma_track_process;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct orma_track_process_texts texts; /* mutex */

/* --- identity --------------------------------------------------------------------------------- */

/* The program's name may hold spaces and parentheses: fields are counted from the last ')'. */
static uint64_t start_ticks(struct orma_buf *stat)
{
	const char *text = orma_base_buf_cstr(stat);
	uint64_t ticks = 0;

	text = text ? strrchr(text, ')') : NULL;
	if (!text)
		return 0;
	text++;
	for (int field = FIELD_AFTER_COMM; *text; field++) {
		text += strspn(text, " ");
		if (field == START_FIELD)
			break;
		text += strcspn(text, " ");
	}
	for (; *text >= '0' && *text <= '9'; text++)
		ticks = ticks * 10 + (uint64_t)(*text - '0');
	return ticks;
}

/* Returns the start of the process in clock ticks since boot. */
static uint64_t read_start(void)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf stat = {0};
	long per_second = sysconf(_SC_CLK_TCK);
	uint64_t ticks = 0;

	if (orma_base_file_read(AT_FDCWD, "/proc/self/stat", STAT_BYTES_MAX, &stat) == 0)
		ticks = start_ticks(&stat);
	orma_track_process.start_ns =
		per_second > 0 ? ticks * (ORMA_NS_PER_SEC / (uint64_t)per_second) : 0;
	/* Without /proc the time of this call at least tells apart processes that reuse a pid. */
	return ticks ? ticks : orma_base_clock_ns(CLOCK_BOOTTIME);
}

void orma_track_process_init(int32_t parent_pid)
{
	struct orma_track_process *process = &orma_track_process;
	uint64_t ticks;

	process->pid = getpid();
	process->parent_pid = parent_pid;
	ticks = read_start();
	orma_track_process_read_cmdline();
	process->uuid = orma_base_fnv1a(ORMA_FNV1A_INIT, &ticks, sizeof(ticks));
	process->uuid = orma_base_fnv1a(process->uuid, &process->pid, sizeof(process->pid));
}

/* --- texts ------------------------------------------------------------------------------------ */

void orma_track_process_texts_get(struct orma_track_process_texts *ret)
{
	pthread_mutex_lock(&mutex);
	memcpy(ret->name, texts.name, sizeof(ret->name));
	ret->rank = texts.rank;
	ret->cmdline_size = texts.cmdline_size;
	/* Only the used part: it is usually short, and copied each time a sequence begins. */
	memcpy(ret->cmdline, texts.cmdline, texts.cmdline_size);
	pthread_mutex_unlock(&mutex);
}

/* A longer command line is cut. */
bool orma_track_process_read_cmdline(void)
{
	char cmdline[sizeof(texts.cmdline)];
	int fd = orma_base_fd_avoid_standard(open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC));
	ssize_t size = 0;
	bool is_changed;

	if (fd >= 0)
		size = read(fd, cmdline, sizeof(cmdline));
	orma_base_fd_close(fd);
	if (size <= 0)
		return false;
	pthread_mutex_lock(&mutex);
	is_changed = (size_t)size != texts.cmdline_size ||
		     memcmp(cmdline, texts.cmdline, (size_t)size) != 0;
	memcpy(texts.cmdline, cmdline, (size_t)size);
	texts.cmdline_size = (size_t)size;
	pthread_mutex_unlock(&mutex);
	return is_changed;
}

void orma_track_process_set_name(const char *name)
{
	pthread_mutex_lock(&mutex);
	orma_track_copy_text(texts.name, sizeof(texts.name), name ? name : "");
	pthread_mutex_unlock(&mutex);
}

void orma_track_process_set_rank(int32_t rank)
{
	pthread_mutex_lock(&mutex);
	texts.rank = rank;
	pthread_mutex_unlock(&mutex);
}

void orma_track_process_forked(void)
{
	/* The thread that may have held the mutex does not exist here. */
	pthread_mutex_init(&mutex, NULL);
}
