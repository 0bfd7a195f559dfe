/* SPDX-License-Identifier: Apache-2.0
 * probe.h - a probe of the operating system: one data source on orma's public API that reads /proc
 * and /sys from timers of the caller's loop.
 *
 * A probe belongs to the thread of its loop. The library must have been started with caller_drives
 * and be dispatched from the same loop, so that its callbacks and the probe's timers never run at
 * the same time.
 *
 * probe.c has what all probes have in common: it sets up, starts, stops, flushes and frees their
 * instances, and keeps a timer for each. A probe provides a table of operations for the rest.
 */
#ifndef ORMA_PROBES_PROBE_H
#define ORMA_PROBES_PROBE_H

#include <orma/data_source.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/clock_ns.h"
#include "base/loop.h"

struct orma_journal_api;
typedef const struct orma_journal_api *orma_journal_load_fn(const char **ret_missing);
struct orma_perf_kernel;
struct orma_self_trace;
struct orma_sightings_list;

struct orma_probe_env {
	struct orma_loop *loop;
	const char *proc_path; /* "/proc"; tests point it at a made-up tree */
	const char *sys_path;  /* "/sys" */
	/* Where tracefs is mounted, and the folder for its state files; NULL = the usual places. */
	const char *tracefs_path, *ftrace_state_path;
	/* Tasks and inodes that ftrace has seen (sightings.h); NULL = no probe tells another. */
	struct orma_sightings_list *sightings;
	/* Records spans of the probes themselves (self_trace.h); NULL = nobody. */
	struct orma_self_trace *self;
	/* Finds the functions that read the journal; NULL = orma_journal_library_load(). */
	orma_journal_load_fn *load_journal;
	/* Opens perf events (perf/perf_kernel.h); NULL = the kernel that this process runs on. */
	const struct orma_perf_kernel *perf_kernel;
	/* Called when an instance of linux.perf cannot sample, before its start is acknowledged; may be NULL. */
	void (*on_perf_failure)(void *ctx);
	void *on_perf_failure_ctx;
	uint64_t turn_ns; /* how long a run may take; 0 = ORMA_PROBE_TURN_NS */
	/* Where profiled programs connect; NULL = ORMA_HEAP_SOCK, or the usual place. */
	const char *heap_socket;
};

/* A turn of the loop has this much time for a run: ftrace's buffers and the service wait meanwhile. */
#define ORMA_PROBE_TURN_NS (4 * ORMA_NS_PER_MS)

/* --- for users of probes ---------------------------------------------------------------------- */

struct orma_probe;

/* Each registers its data source: 0, -ENOMEM, or what orma_data_source_register() returns. The
 * strings of `env` must outlive the probe. */
int orma_probe_cgroup_stats_new(const struct orma_probe_env *env, struct orma_probe **ret);
int orma_probe_inode_file_map_new(const struct orma_probe_env *env, struct orma_probe **ret);
int orma_probe_metatrace_new(const struct orma_probe_env *env, struct orma_probe **ret);
int orma_probe_process_stats_new(const struct orma_probe_env *env, struct orma_probe **ret);
int orma_probe_self_new(const struct orma_probe_env *env, struct orma_probe **ret);
int orma_probe_sys_stats_new(const struct orma_probe_env *env, struct orma_probe **ret);
int orma_probe_sysfs_power_new(const struct orma_probe_env *env, struct orma_probe **ret);
int orma_probe_system_info_new(const struct orma_probe_env *env, struct orma_probe **ret);
int orma_probe_systemd_journald_new(const struct orma_probe_env *env, struct orma_probe **ret);
int orma_probe_frozen_ftrace_new(const struct orma_probe_env *env, struct orma_probe **ret);
int orma_probe_ftrace_new(const struct orma_probe_env *env, struct orma_probe **ret);
/* Unregisters the data source, which destroys its instances. */
void orma_probe_free(struct orma_probe *probe);

/* --- for probes ------------------------------------------------------------------------------- */

struct orma_probe_instance;

struct orma_probe_ops {
	const char *name; /* the data source's name */
	/* Sizes of the structs that begin with struct orma_probe and struct orma_probe_instance.
	 * Both start zeroed. */
	size_t probe_bytes, instance_bytes;
	/* 0 or -errno. `close` follows in both cases, so it must cope with a half-open probe. */
	int (*open)(struct orma_probe *probe, const struct orma_probe_env *env);
	void (*close)(struct orma_probe *probe);
	/* Reads a DataSourceConfig, and sets period_ms. After -errno the session records nothing of
	 * this source, and `destroy` does not follow. */
	int (*setup)(struct orma_probe_instance *instance, const void *config, size_t size);
	/* Returns true when there is work to be done in the loop's next turn. */
	bool (*start)(struct orma_probe_instance *instance);
	/* Does the work that is due: once soon after the start, then every period_ms. NULL = there is never such
	 * work. Long work ends when orma_probe_is_turn_over() says so, and sets is_unfinished. */
	void (*run)(struct orma_probe_instance *instance);
	/* Writes what is not written yet, before a flush is acknowledged; may be NULL. */
	void (*flush)(struct orma_probe_instance *instance);
	/* Follows `start`, for a probe that cannot complete it at once. May be NULL. */
	enum orma_completion (*begin_start)(struct orma_probe_instance *instance,
					    uint64_t completion);
	/* A probe that cannot complete a stop or a flush at once begins it here; `completion` is for
	 * orma_data_source_complete(). May be NULL. */
	enum orma_completion (*begin_stop)(struct orma_probe_instance *instance,
					   uint64_t completion);
	enum orma_completion (*begin_flush)(struct orma_probe_instance *instance,
					    uint64_t completion);
	void (*clear)(
		struct orma_probe_instance *instance); /* the incremental state; may be NULL */
	void (*destroy)(struct orma_probe_instance *instance); /* may be NULL */
};

/* The first member of each probe's struct. */
struct orma_probe {
	const struct orma_probe_ops *ops;
	struct orma_loop *loop;
	struct orma_self_trace *self;
	struct orma_data_source *source;
	uint64_t turn_ns;
};

/* The first member of the struct of each probe's instances; one for each session. */
struct orma_probe_instance {
	struct orma_probe *probe;
	uint32_t idx;       /* index of the data source's instance */
	uint32_t period_ms; /* 0 = runs only when is_due_now is set */
	/* A start or orma_probe_run_soon() has asked for the next run. A flush runs it without
	 * waiting for the timer. */
	bool is_due_now;
	/* The last run has more to do. The next turn continues it, and flushes and a stop wait for its
	 * end. Not for probes with begin_flush. */
	bool is_unfinished;
	bool is_stopping;
	bool is_flush_for_clone; /* begin_flush only: the session is being cloned */
	uint64_t turn_end_ns;    /* CLOCK_MONOTONIC */
	struct orma_buf waiting; /* completions (uint64_t) of flushes, in their order */
	uint64_t
		stop_completion; /* the completion of a stop that waits for the end of the run; 0 = none */
	struct orma_timer timer;
};

int orma_probe_make(const struct orma_probe_ops *ops, const struct orma_probe_env *env,
		    struct orma_probe **ret);
/* Runs the instance in the loop's next turn. */
void orma_probe_run_soon(struct orma_probe_instance *instance);
/* The current run has used its time. */
static inline bool orma_probe_is_turn_over(const struct orma_probe_instance *instance)
{
	return orma_base_clock_ns(CLOCK_MONOTONIC) >= instance->turn_end_ns;
}
/* Runs it at this time on CLOCK_MONOTONIC. */
void orma_probe_run_at(struct orma_probe_instance *instance, uint64_t deadline_ns);
/* The next multiple of the period after `now_ns`. */
static inline uint64_t orma_probe_next_run_ns(uint64_t now_ns, uint32_t period_ms)
{
	uint64_t period_ns = period_ms * ORMA_NS_PER_MS;

	return (now_ns / period_ns + 1) * period_ns;
}
/* The unit of times in /proc. */
uint64_t orma_probe_ns_per_tick(void);

#endif
