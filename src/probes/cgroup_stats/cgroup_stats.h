/* SPDX-License-Identifier: Apache-2.0
 * cgroup_stats.h - the parts of the data source linux.cgroup_stats: its configuration, reading the
 * files of control groups, the groups that are known, and their tracks.
 */
#ifndef ORMA_PROBES_CGROUP_STATS_H
#define ORMA_PROBES_CGROUP_STATS_H

#include "base/arena.h"
#include "base/map.h"
#include "probes/probe.h"
#include "probes/probe_files.h"

#define ORMA_CGROUP_POLL_MS_MIN     100
#define ORMA_CGROUP_POLL_MS_DEFAULT 1000
#define ORMA_CGROUP_GROUPS_DEFAULT  1000
#define ORMA_CGROUP_GROUPS_MAX      100000
#define ORMA_CGROUP_PATH_BYTES      1024 /* a group with a longer path is left out */

/* ---- configuration (cgroup_config.c) ---- */

struct orma_cgroup_config {
	uint32_t poll_ms, max_groups;
	uint32_t kinds;               /* bit per CgroupStatsConfig.Counters */
	const struct orma_str *roots; /* paths without slashes at both ends; "" is the root */
	size_t root_count;            /* at least 1 */
};

/* Fills in defaults and limits, and logs what it changed. The paths are in `arena`. 0, -EBADMSG,
 * -ENOMEM, or -EINVAL when no path is usable. */
int orma_cgroup_config_parse(const void *config, size_t size, struct orma_arena *arena,
			     struct orma_cgroup_config *ret);

/* ---- files (cgroup_parse.c) ---- */

enum orma_cgroup_counter {
	/* Totals of times in ns. */
	ORMA_CGROUP_CPU,
	ORMA_CGROUP_CPU_USER,
	ORMA_CGROUP_CPU_SYSTEM,
	ORMA_CGROUP_CPU_THROTTLED,
	ORMA_CGROUP_CPU_SOME, /* pressure: some tasks wait, all tasks wait */
	ORMA_CGROUP_CPU_FULL,
	ORMA_CGROUP_MEMORY_SOME,
	ORMA_CGROUP_MEMORY_FULL,
	ORMA_CGROUP_IO_SOME,
	ORMA_CGROUP_IO_FULL,
	/* Totals of bytes. */
	ORMA_CGROUP_IO_READ,
	ORMA_CGROUP_IO_WRITTEN,
	/* Bytes and numbers of the moment. */
	ORMA_CGROUP_MEMORY,
	ORMA_CGROUP_MEMORY_ANON,
	ORMA_CGROUP_MEMORY_FILE,
	ORMA_CGROUP_SWAP,
	ORMA_CGROUP_PIDS,
	ORMA_CGROUP_COUNTER_COUNT,
};

struct orma_cgroup_sample {
	uint32_t present; /* bit per counter */
	uint64_t values[ORMA_CGROUP_COUNTER_COUNT];
};

/* How a file is written. */
enum orma_cgroup_form {
	ORMA_CGROUP_VALUE,   /* "123" */
	ORMA_CGROUP_KEYS,    /* "user_usec 123" */
	ORMA_CGROUP_DEVICES, /* "8:0 rbytes=123 wbytes=456" */
	ORMA_CGROUP_BLKIO,   /* "8:0 Read 123" */
	ORMA_CGROUP_PRESSURE /* "some avg10=0.00 avg60=0.00 avg300=0.00 total=123" */
};

struct orma_cgroup_key {
	struct orma_str name; /* empty in ORMA_CGROUP_VALUE; without data behind the last key */
	enum orma_cgroup_counter counter;
	uint32_t factor; /* to the counter's unit; 0 = clock ticks */
};

struct orma_cgroup_file {
	const char *name;
	int32_t kind; /* CgroupStatsConfig.Counters */
	enum orma_cgroup_form form;
	struct orma_cgroup_key keys[4];
};

/* A mounted tree of control groups, and the files that its folders have. */
struct orma_cgroup_hierarchy {
	const char *path;   /* below /sys */
	const char *marker; /* the tree counts only if its root has this file; NULL = always */
	bool is_alone;      /* there are no further trees behind this one */
	const struct orma_cgroup_file *files;
	size_t file_count;
};

#define ORMA_CGROUP_HIERARCHY_COUNT 7
extern const struct orma_cgroup_hierarchy orma_cgroup_hierarchies[ORMA_CGROUP_HIERARCHY_COUNT];

/* Takes the values from the text of a file. Values that are not numbers are left out. */
void orma_cgroup_file_parse(const struct orma_cgroup_file *file, struct orma_str text,
			    uint64_t ns_per_tick, struct orma_cgroup_sample *sample);
/* Reads the files of the wanted kinds of one group. */
void orma_cgroup_files_read(const struct orma_cgroup_hierarchy *hierarchy, int dir, uint32_t kinds,
			    uint64_t ns_per_tick, struct orma_buf *buf,
			    struct orma_cgroup_sample *sample);

/* ---- groups (cgroup_tree.c) ---- */

struct orma_cgroup {
	struct orma_cgroup *parent; /* lives at least as long; NULL = the root */
	char *path;                 /* from the root, without a slash in front; "" = the root */
	uint64_t uuid;              /* also the key of the table: a hash of the path */
	uint32_t generation;        /* the last poll that met it */
	uint32_t walk;              /* the last walk that queued it */
	struct orma_cgroup *next, *queue_next;
	struct orma_cgroup_sample now, before;
	/* The state of the reader of the trace. */
	bool is_described;
	uint32_t described; /* bit per counter: its track */
	double written[ORMA_CGROUP_COUNTER_COUNT];
};

struct orma_cgroup_probe {
	struct orma_probe base; /* first */
	int sys_fd;
	uint64_t ns_per_tick;
	struct orma_buf text, names; /* reused by all instances */
};

/* A poll that is under way: it reads all groups, and then writes them. */
struct orma_cgroup_poll {
	enum orma_cgroup_step { ORMA_CGROUP_IDLE, ORMA_CGROUP_READ, ORMA_CGROUP_WRITE } step;
	/* Reading. */
	size_t hierarchy_idx;
	int root;                         /* the hierarchy's folder; -1 = none is open */
	bool is_found;                    /* there is a hierarchy */
	struct orma_cgroup *first, *last; /* the queue */
	/* Writing. */
	struct orma_cgroup *next;
	int attempts_left;
	uint32_t forget_count; /* as of the begin of this attempt */
};

struct orma_cgroup_instance {
	struct orma_probe_instance base; /* first */
	struct orma_cgroup_probe *probe;
	struct orma_arena arena; /* the configuration's */
	struct orma_cgroup_config config;
	struct orma_map groups;    /* by uuid */
	struct orma_cgroup *first; /* all groups */
	uint32_t generation, walk_count;
	uint64_t now_ns, before_ns; /* CLOCK_BOOTTIME of this poll and the one before; 0 = none */
	uint32_t forget_count;      /* how often the reader has forgotten everything */
	bool is_limit_logged, is_none_logged;
	struct orma_cgroup_poll poll;
};

void orma_cgroup_tree_begin(struct orma_cgroup_instance *instance);
/* Meets all groups, samples them, and forgets those that are gone. Returns false when the turn of
 * the loop is over before that is done. */
bool orma_cgroup_tree_read(struct orma_cgroup_instance *instance);
void orma_cgroup_tree_done(struct orma_cgroup_instance *instance);

/* ---- tracks (cgroup_write.c) ---- */

void orma_cgroup_write_begin(struct orma_cgroup_instance *instance);
/* Writes the counters that have changed. The track of a counter is written before its first value. Each turn of the loop
 * has a time limit. Returns true when all counters are written, and false when it stopped at the limit: the caller has to
 * call it again in the next turn, and it goes on where it stopped. */
bool orma_cgroup_write(struct orma_cgroup_instance *instance);
/* Forgets what was written, because the reader of the trace has forgotten it too. */
void orma_cgroup_forget(struct orma_cgroup_instance *instance);

#endif
