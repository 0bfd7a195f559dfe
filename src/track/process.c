/* SPDX-License-Identifier: Apache-2.0
 * process.c - what a trace says about this process: pid, start, and a uuid made of
 * them.
 *
 * Read once when track events are registered, so that emitting reads no files. The uuid is
 * upstream's hash of start time and pid: the same for all sequences of a process and for all
 * libraries in it, theirs included; different for a later process with the same pid.
 */
#include <fcntl.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock_ns.h"
#include "base/fd.h"
#include "base/map.h"
#include "track/track.h"

#define STAT_BYTES_MAX   4096
#define START_FIELD      22 /* of /proc/PID/stat, in clock ticks since boot */
#define FIELD_AFTER_COMM 3

struct orma_track_process orma_track_process;

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

/* Clock ticks since boot. */
static uint64_t read_start(void)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf stat = {0};
	long per_second = sysconf(_SC_CLK_TCK);
	uint64_t ticks = 0;

	if (orma_base_file_read(AT_FDCWD, "/proc/self/stat", STAT_BYTES_MAX, &stat) == 0)
		ticks = start_ticks(&stat);
	orma_track_process.start_ns =
		per_second > 0 ? ticks * (ORMA_NS_PER_SEC / (uint64_t)per_second) : 0;
	/* Without /proc at least processes that reuse a pid differ. */
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
