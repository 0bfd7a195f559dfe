/* SPDX-License-Identifier: Apache-2.0
 * process_stats.h - the parts of the data source linux.process_stats: its configuration, its table
 * of processes, reading and writing.
 */
#ifndef ORMA_PROBES_PROCESS_STATS_H
#define ORMA_PROBES_PROCESS_STATS_H

#include "base/map.h"
#include "probes/probe.h"
#include "probes/probe_files.h"
#include "probes/process_stats/process_parse.h"
#include "probes/sightings.h"

#define ORMA_PROBES_PROCESS_POLL_MS_MIN 100
#define ORMA_PROBES_PROCESS_GUARDS_MAX  16384 /* files of processes that stay open */
#define ORMA_PROBES_GUARD_FILES         2
#define ORMA_PROBES_PROCESS_CLOCK_STEP  16 /* processes or threads between two looks at the clock */
#define ORMA_PROBES_PROCESS_PACKET_BYTES                                                           \
	32768 /* a packet that has this much is followed by another */

struct orma_probes_process_config {
	bool scan_on_start, thread_names, fds, smaps_rollup, age, runtime, dmabuf_rss,
		skip_main_thread;
	bool on_demand; /* explains the tasks that ftrace sees */
	uint64_t session_id;
	uint32_t poll_ms;         /* 0 = no polling */
	uint32_t cache_ttl_polls; /* at least 1 */
};

/* Fills in defaults and floors, and logs what it had to change. 0, -EBADMSG, -ENOMEM. */
int orma_probes_process_config_parse(const void *config, size_t size,
				     struct orma_probes_process_config *ret);

/* The state that is kept of one process. */
struct orma_probes_process {
	uint32_t generation;    /* the last poll that found it */
	bool is_in_tree;        /* its record was written */
	bool is_listed;         /* in instance->pids */
	bool is_without_memory; /* a kernel thread or zombie: not worth reading again */
	uint64_t comm_hash;     /* the name in the written record */
	int64_t ppid;           /* the parent in the written record; 0 = none */
	uint32_t cached;        /* bit per value: written, and sample.values has it */
	uint32_t changed;       /* bit per value: to be written in this poll */
	struct orma_probes_process_sample sample;
	struct orma_probes_numbers fds; /* descriptors that were written, as of the last poll */
	/* The guard (process_guard.c). */
	int guard_fds[ORMA_PROBES_GUARD_FILES]; /* -1 = not open */
	uint64_t guard_hashes[ORMA_PROBES_GUARD_FILES];
	bool has_one_thread; /* as far as known, and the kernel has schedstat */
	uint32_t polls_asleep;
};

/* A scan or poll does a step for each process of its list, and then the next step. */
enum orma_probes_process_step {
	ORMA_PROCESS_IDLE,
	ORMA_PROCESS_SCAN,     /* write records of processes and threads */
	ORMA_PROCESS_SCAN_FDS, /* write the descriptors */
	ORMA_PROCESS_READ,     /* poll: read the values, and write records of what is new */
	ORMA_PROCESS_WRITE,    /* poll: write the values */
};

enum orma_probes_process_packet { ORMA_PROCESS_NO_PACKET, ORMA_PROCESS_TREE, ORMA_PROCESS_STATS };

struct orma_probes_process_probe {
	struct orma_probe base; /* first */
	int proc_fd;
	uint64_t ns_per_tick;
	struct orma_sightings_list *sightings;
	uint32_t kept_fd_count, kept_fd_max; /* guards of all instances */
	bool has_schedstat;
	bool has_last_pid; /* the kernel tells the last id that it gave, and /proc shows the same ids */
	/* Reused by all instances; nothing in them outlives a call into the probe. */
	struct orma_buf status_text, other_text;
};

struct orma_probes_process_instance {
	struct orma_probe_instance base; /* first */
	struct orma_probes_process_probe *probe;
	struct orma_probes_process_config config;
	bool is_scan_due;
	uint64_t scan_begin_ns,
		scan_again_ns;     /* CLOCK_MONOTONIC: a clearing repeats the scan no earlier */
	struct orma_map processes; /* by pid */
	uint32_t generation;
	uint32_t polls_cached; /* since the cache was emptied */

	/* The scan or poll that is under way, over several turns of the loop. */
	enum orma_probes_process_step step;
	struct orma_probes_numbers pids; /* stays for the next poll; in no order */
	size_t next_pid;                 /* index */
	struct orma_probes_numbers tids; /* threads of the process that a scan writes */
	size_t next_tid;
	struct orma_probes_numbers fds; /* descriptors of the process whose values are written */
	size_t next_fd, kept_fds;       /* the first `kept_fds` are the next list */
	bool is_namespaced;             /* that process is in a namespace of ids */
	bool has_reclaimed; /* the kernel has taken pages since the last poll, as far as known */
	uint64_t reclaim_hash;
	/* New processes (process_find.c): the last id as of this poll and the one before. */
	uint64_t last_pid, earlier_last_pid;
	uint32_t polls_unlisted;

	struct orma_sightings *seen; /* by ftrace in the same session; NULL = nobody tells */
	struct orma_sightings_listener listener;

	/* Output. */
	struct orma_packet *packet; /* NULL = none open */
	enum orma_probes_process_packet packet_kind;
	struct orma_nested body;
	uint64_t begin_ns;   /* begin of the current scan or poll: timestamp of all its packets */
	size_t packet_bytes; /* estimated */
};

/* ---- the table of processes (process_table.c) ---- */

/* Returns the entry of a process, and makes one if there is none; NULL when there is no memory. */
struct orma_probes_process *orma_probes_process_get(struct orma_probes_process_instance *instance,
						    uint32_t pid);
/* Closes the files of a guard. */
void orma_probes_process_close_guard(struct orma_probes_process_probe *probe,
				     struct orma_probes_process *process);
/* Makes an entry as if it were new. */
void orma_probes_process_restart(struct orma_probes_process_probe *probe,
				 struct orma_probes_process *process);
/* Frees the entries of processes that the current poll did not find, and takes them from the list. */
void orma_probes_process_drop_gone(struct orma_probes_process_instance *instance);
/* Counts a poll, and empties the cache of written values when its time is over. */
void orma_probes_process_expire_cache(struct orma_probes_process_instance *instance);
/* Forgets what was written, because the reader of the trace has forgotten it too. */
void orma_probes_process_forget(struct orma_probes_process_instance *instance);
void orma_probes_process_forget_all(struct orma_probes_process_instance *instance);

/* ---- reading (process_scan.c) ---- */

/* Writes the records of a process and its threads. Returns false when the turn of the loop is over
 * before the last thread. */
bool orma_probes_process_scan(struct orma_probes_process_instance *instance, uint32_t pid);
/* Reads /proc/PID<name>. 0 or -errno. */
int orma_probes_process_read_file(struct orma_probes_process_probe *probe, uint32_t pid,
				  const char *name, struct orma_buf *buf, struct orma_str *ret);
/* Reads /proc/PID/status; the id may be that of a thread. `sample` may be NULL. */
int orma_probes_process_read_status(struct orma_probes_process_instance *instance, uint32_t pid,
				    struct orma_probes_process_status *ret,
				    struct orma_probes_process_sample *sample);
/* The same for a process. Since the folder was listed, it may have ended and a thread may have its
 * id: -ESRCH. */
int orma_probes_process_read_leader(struct orma_probes_process_instance *instance, uint32_t pid,
				    struct orma_probes_process_status *ret,
				    struct orma_probes_process_sample *sample);
/* Writes the record of a process from its status, which was read last. `times` may be NULL. */
void orma_probes_process_record(struct orma_probes_process_instance *instance, uint32_t pid,
				struct orma_probes_process *process,
				const struct orma_probes_process_status *status,
				const struct orma_probes_process_times *times);
/* Is the record missing that tells this name? */
bool orma_probes_process_is_news(const struct orma_probes_process *process,
				 const struct orma_probes_process_status *status);

/* ---- polling (process_poll.c) ---- */

/* Lists the processes. 0 or -errno. */
int orma_probes_process_poll_begin(struct orma_probes_process_instance *instance);
/* Reads the files of a process, and writes its record if it is new. */
void orma_probes_process_poll(struct orma_probes_process_instance *instance, uint32_t pid);
/* Forgets processes that have ended. */
void orma_probes_process_poll_end(struct orma_probes_process_instance *instance);

/* ---- new processes (process_find.c) ---- */

/* Makes instance->pids the processes that there are now. 0 or -errno. */
int orma_probes_process_find(struct orma_probes_process_instance *instance);
/* Does the kernel tell the last id that it gave, in the namespace that /proc shows? */
bool orma_probes_process_has_last_pid(struct orma_probes_process_probe *probe);

/* ---- guards (process_guard.c) ---- */

/* The files of a process that must be read. */
enum orma_probes_process_news {
	ORMA_PROCESS_NO_NEWS,
	ORMA_PROCESS_ADJUSTMENT, /* oom_score_adj */
	ORMA_PROCESS_NEWS,       /* everything */
};

/* Finds out whether the kernel has taken pages from processes since the last poll. */
void orma_probes_process_look_for_reclaim(struct orma_probes_process_instance *instance);
/* `ret` is the text of stat if that is the guard, empty if the guard cannot be read. */
enum orma_probes_process_news
orma_probes_process_read_guard(struct orma_probes_process_instance *instance, uint32_t pid,
			       struct orma_probes_process *process, struct orma_str *ret);
/* A process with one thread has a cheaper guard. */
void orma_probes_process_choose_guard(struct orma_probes_process_probe *probe,
				      struct orma_probes_process *process, uint64_t thread_count);

/* ---- tasks that ftrace has seen (process_sighted.c) ---- */

/* Begins to explain the tasks that ftrace sees in the instance's session. */
void orma_probes_process_listen(struct orma_probes_process_instance *instance);

/* ---- writing (process_write.c) ---- */

void orma_probes_process_packet_end(struct orma_probes_process_instance *instance);

/* The content of a process's record; strings are borrowed. */
struct orma_probes_process_record {
	uint32_t pid;
	const struct orma_probes_process_status *status;
	struct orma_str comm;
	struct orma_str cmdline; /* as /proc/PID/cmdline has it */
	bool has_start;
	uint64_t start_ns;
};

bool orma_probes_process_write_record(struct orma_probes_process_instance *instance,
				      const struct orma_probes_process_record *record);
/* `status` may be NULL, `comm` empty. */
bool orma_probes_process_write_thread(struct orma_probes_process_instance *instance, uint32_t tid,
				      uint32_t tgid,
				      const struct orma_probes_process_status *status,
				      struct orma_str comm);
/* Writes the changed values of a process, and those of its descriptors that were not written yet. Returns false when the turn
 * of the loop is over before the last descriptor. */
bool orma_probes_process_write_values(struct orma_probes_process_instance *instance, uint32_t pid,
				      struct orma_probes_process *process);
/* Writes a descriptor that the process has opened just now, unless it is closed again. */
void orma_probes_process_write_fd(struct orma_probes_process_instance *instance, uint32_t pid,
				  struct orma_probes_process *process, uint32_t fd);

#endif
