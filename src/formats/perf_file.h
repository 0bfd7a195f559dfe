/* SPDX-License-Identifier: Apache-2.0
 * perf_file.h - files of `perf record`: their events, and their records.
 */
#ifndef ORMA_FORMATS_PERF_FILE_H
#define ORMA_FORMATS_PERF_FILE_H

#include <orma/error.h>
#include <stdbool.h>

#include "base/arena.h"
#include "base/map.h"
#include "base/str.h"
#include "trace/trace_bytes.h"

enum {
	ORMA_PERF_EVENTS_MAX = 512,
	ORMA_PERF_IDS_MAX = 1 << 20,
	ORMA_PERF_RECORD_HEADER = 8,
};

/* Bits of perf_event_attr.sample_type. */
enum {
	ORMA_PERF_SAMPLE_IP = 1 << 0,
	ORMA_PERF_SAMPLE_TID = 1 << 1,
	ORMA_PERF_SAMPLE_TIME = 1 << 2,
	ORMA_PERF_SAMPLE_ADDR = 1 << 3,
	ORMA_PERF_SAMPLE_READ = 1 << 4,
	ORMA_PERF_SAMPLE_CALLCHAIN = 1 << 5,
	ORMA_PERF_SAMPLE_ID = 1 << 6,
	ORMA_PERF_SAMPLE_CPU = 1 << 7,
	ORMA_PERF_SAMPLE_PERIOD = 1 << 8,
	ORMA_PERF_SAMPLE_STREAM_ID = 1 << 9,
	ORMA_PERF_SAMPLE_IDENTIFIER = 1 << 16,
};

/* Types of records; those from 64 on are perf's own. */
enum {
	ORMA_PERF_MMAP = 1,
	ORMA_PERF_LOST = 2,
	ORMA_PERF_COMM = 3,
	ORMA_PERF_EXIT = 4,
	ORMA_PERF_FORK = 7,
	ORMA_PERF_SAMPLE = 9,
	ORMA_PERF_MMAP2 = 10,
	ORMA_PERF_LOST_SAMPLES = 13,
	ORMA_PERF_HEADER_ATTR = 64,
	ORMA_PERF_TRACING_DATA = 66,
	ORMA_PERF_BUILD_ID = 67,
	ORMA_PERF_FINISHED_ROUND = 68,
	ORMA_PERF_AUXTRACE = 71,
	ORMA_PERF_FEATURE = 80,
	ORMA_PERF_COMPRESSED = 81,
	ORMA_PERF_COMPRESSED2 = 83,
};

/* Numbers of features, sections of a file in this order. */
enum {
	ORMA_PERF_FEATURE_BUILD_ID = 2,
	ORMA_PERF_FEATURE_HOSTNAME = 3,
	ORMA_PERF_FEATURE_OSRELEASE = 4,
	ORMA_PERF_FEATURE_ARCH = 6,
	ORMA_PERF_FEATURE_CMDLINE = 11,
	ORMA_PERF_FEATURE_EVENT_DESC = 12,
	ORMA_PERF_FEATURES = 256,
};

/* An event that samples were taken of. */
struct orma_perf_event {
	uint32_t type;
	uint64_t config, period, sample_type, read_format;
	bool is_frequency, has_sample_ids, uses_clock, has_build_ids;
	int32_t clock;
	struct orma_str name; /* data is NULL when it is not told */
};

struct orma_perf_file {
	const struct orma_trace_bytes *input;
	struct orma_arena arena;
	bool is_pipe;
	uint64_t data_begin, data_end; /* where the records are */
	struct orma_perf_event events[ORMA_PERF_EVENTS_MAX];
	uint32_t event_count;
	struct orma_map ids; /* event's number + 1 by id */
	uint32_t id_count;
	struct orma_map build_ids; /* struct orma_str by hash of the file's name */
	struct orma_str hostname, release, arch, command;
	uint32_t features_skipped;
};

/* Bytes that are read from the start on. After a read beyond the end all is 0, and is_cut is set. */
struct orma_perf_bytes {
	const uint8_t *at, *end;
	bool is_cut;
};
uint32_t orma_perf_read_u32(struct orma_perf_bytes *bytes);
uint64_t orma_perf_read_u64(struct orma_perf_bytes *bytes);
void orma_perf_skip(struct orma_perf_bytes *bytes, uint64_t count);
/* The rest up to its first NUL. */
struct orma_str orma_perf_read_text(struct orma_perf_bytes *bytes);

bool orma_perf_file_detect(struct orma_str beginning);
/* Reads what stands before and behind the records. `file` is {.input = ...}. 0, -EBADMSG with a message, -ENOMEM, or an error of
 * reading. */
int orma_perf_file_open(struct orma_perf_file *file, struct orma_error *reterr);
void orma_perf_file_done(struct orma_perf_file *file);
/* Takes records that a pipe has in place of those sections. 0 or -ENOMEM. */
int orma_perf_file_take_attr(struct orma_perf_file *file, struct orma_perf_bytes bytes);
int orma_perf_file_take_feature(struct orma_perf_file *file, uint32_t feature,
				struct orma_perf_bytes bytes);
int orma_perf_file_take_build_id(struct orma_perf_file *file, uint16_t misc,
				 struct orma_perf_bytes bytes);
/*
 * A record of a mapping has 24 bytes for either a build id or a device and an inode. Returns the build id, or data = NULL for a device
 * and an inode. A bit of `misc` tells which. From Linux 5.12 to 6.18 this bit cannot be relied on: while another program asks for build
 * ids, the kernel also sets it in records that have a device and an inode. So it counts only if an event of the file has asked for
 * build ids, or if the build id has 20 bytes. `perf inject` adds such build ids, and 20 is the major number of no device.
 */
struct orma_str orma_perf_file_mapped_build_id(const struct orma_perf_file *file, uint16_t misc,
					       const uint8_t *id);
/* Returns the bytes of a file's build id; data is NULL when it is not known. */
struct orma_str orma_perf_file_build_id(const struct orma_perf_file *file, struct orma_str name);

/* The fields of a record that are its sample's; absent ones are 0. */
struct orma_perf_sample {
	uint32_t event; /* its number */
	uint64_t ip, time, period, value;
	int32_t pid, tid;
	uint32_t cpu;
	bool has_tid, has_time, has_cpu, has_period, has_value;
	const uint8_t *chain; /* addresses of eight bytes */
	uint64_t chain_count;
};
/* Reads a sample's record behind its header. False when it is damaged, or of an unknown event. */
bool orma_perf_sample_read(const struct orma_perf_file *file, struct orma_perf_bytes bytes,
			   struct orma_perf_sample *ret);
/* Returns the time at the end of another record; 0 = not known. Removes those fields from the end of the bytes. */
uint64_t orma_perf_record_time(const struct orma_perf_file *file, struct orma_perf_bytes *bytes);
/* Returns the time of any record with this type; 0 = not known. */
uint64_t orma_perf_time_of(const struct orma_perf_file *file, uint32_t type,
			   struct orma_perf_bytes bytes);

#endif
