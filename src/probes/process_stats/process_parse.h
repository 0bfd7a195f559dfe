/* SPDX-License-Identifier: Apache-2.0
 * process_parse.h - parses the files below /proc/PID.
 */
#ifndef ORMA_PROBES_PROCESS_PARSE_H
#define ORMA_PROBES_PROCESS_PARSE_H

#include <stdint.h>

#include "base/str.h"

/* The polled values of one process; field ids are in orma_probes_process_value_fields. */
enum orma_probes_process_value {
	ORMA_PROCESS_VM_SIZE,
	ORMA_PROCESS_VM_RSS,
	ORMA_PROCESS_RSS_ANON,
	ORMA_PROCESS_RSS_FILE,
	ORMA_PROCESS_RSS_SHMEM,
	ORMA_PROCESS_VM_SWAP,
	ORMA_PROCESS_VM_LOCKED,
	ORMA_PROCESS_VM_HWM,
	ORMA_PROCESS_OOM_SCORE_ADJ, /* an int64_t's bits */
	ORMA_PROCESS_SMR_RSS,
	ORMA_PROCESS_SMR_PSS,
	ORMA_PROCESS_SMR_PSS_ANON,
	ORMA_PROCESS_SMR_PSS_FILE,
	ORMA_PROCESS_SMR_PSS_SHMEM,
	ORMA_PROCESS_SMR_SWAP_PSS,
	ORMA_PROCESS_RUNTIME_USER,
	ORMA_PROCESS_RUNTIME_KERNEL,
	ORMA_PROCESS_DMABUF_RSS,
	ORMA_PROCESS_VALUE_COUNT,
};

extern const uint8_t orma_probes_process_value_fields[ORMA_PROCESS_VALUE_COUNT];

struct orma_probes_process_sample {
	uint32_t present; /* bit per value */
	uint64_t values[ORMA_PROCESS_VALUE_COUNT];
};

static inline void orma_probes_process_sample_set(struct orma_probes_process_sample *sample,
						  enum orma_probes_process_value value,
						  uint64_t number)
{
	sample->present |= UINT32_C(1) << value;
	sample->values[value] = number;
}

/* /proc/PID/status. Strings point into the text; numbers that are missing are -1. */
struct orma_probes_process_status {
	struct orma_str name;  /* as the kernel escapes it: see orma_probes_process_unescape() */
	struct orma_str nspid; /* the words behind the first one: the id in each nested namespace */
	int64_t tgid, pid, ppid, uid;
	int kthread; /* 0 or 1; -1 = old kernels do not say */
};

/* Values go to `sample`, which may be NULL. */
void orma_probes_process_status_parse(struct orma_str text, struct orma_probes_process_status *ret,
				      struct orma_probes_process_sample *sample);
void orma_probes_process_smaps_parse(struct orma_str text,
				     struct orma_probes_process_sample *sample);

/* /proc/PID/stat, in clock ticks. */
struct orma_probes_process_times {
	uint64_t user_ticks, kernel_ticks, start_ticks, thread_count;
};

/* 0, or -EBADMSG when the three numbers are not there. */
int orma_probes_process_stat_parse(struct orma_str text, struct orma_probes_process_times *ret);

#define ORMA_PROBES_COMM_BYTES 64 /* the longest name that the kernel gives its workers */

/* Returns the name with \n and \\ unescaped, cut to ORMA_PROBES_COMM_BYTES; points into the text or
 * `buf`. */
struct orma_str orma_probes_process_unescape(struct orma_str name,
					     char buf[ORMA_PROBES_COMM_BYTES]);

#endif
