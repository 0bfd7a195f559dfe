/* SPDX-License-Identifier: Apache-2.0
 * record.h - recording one trace: shared by `orma record` and the `perfetto` command line.
 */
#ifndef ORMA_TOOL_RECORD_H
#define ORMA_TOOL_RECORD_H

#include <orma/error.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "tool/trace/trace_file.h"

struct orma_session;
struct orma_record_categories;

enum orma_config_format {
	ORMA_CONFIG_GUESS, /* text when it looks like text */
	ORMA_CONFIG_BINARY,
	ORMA_CONFIG_TEXT,
	ORMA_CONFIG_TEXT_LOSSY, /* unknown fields are skipped */
};

struct orma_record_wish {
	const char *config_path; /* "-" = standard input; NULL = make one from the rest */
	enum orma_config_format format;
	/* These override the values of a config file; 0 = not given. */
	uint32_t duration_ms;
	uint64_t buffer_kb;
	uint64_t file_limit_kb;        /* stream into the file, up to this size */
	uint64_t rotation_kb;          /* go on in another file when one has this size */
	const char *const *sources;    /* data sources, groups, and ftrace events "group/name" */
	const char *const *categories; /* for track_event: no other is enabled */
	const char *output_path;       /* the service creates the file */
	const char *hypervisor; /* name of the kernel's buffer of hypervisor events; NULL = none */
	const char *const *attributes; /* "key=value" */
	int source_count, category_count, attribute_count;
	uint32_t ring_ms;    /* choose a buffer for so much time */
	uint32_t file_count; /* with output_path and file_limit_kb: keep so many files */
	bool is_endless;     /* no duration at all */
	bool is_streaming;   /* write into the file while recording */
	bool is_live;        /* a program reads the stream, and should not wait */
	bool compresses;     /* with deflate */
	bool uses_zstd;      /* compresses with zstd where the service has it */
	bool is_deferred;
};

/* The facts about a config that the recorder needs. */
struct orma_record_config {
	struct orma_buf bytes; /* serialized TraceConfig */
	uint32_t duration_ms;
	bool writes_into_file;
	const char *output_path; /* NULL = the recorder opens the file */
	uint32_t max_file_count; /* the files output_path, output_path.1 and so on */
	uint64_t max_file_bytes; /* 0 = no limit */
	bool counts_suspend;     /* the duration is one of CLOCK_BOOTTIME */
	bool has_buffers;
	bool has_sources;
	bool names_categories; /* it enables track events by category */
	bool has_triggers;
	uint32_t start_delay_min_ms, start_delay_max_ms; /* cmd_trace_start_delay */
	/* its triggers are of mode CLONE_SNAPSHOT */
	bool makes_snapshots;
	const char **triggers; /* to be activated instead of recording */
	size_t trigger_count;
	struct orma_arena arena; /* owns the names */
};

/* 0 or a negative errno value with `reterr`. */
int orma_record_config_make(const struct orma_record_wish *wish, struct orma_record_config *ret,
			    struct orma_error *reterr);
/* Removes a data source. 0 or -errno. */
int orma_record_config_drop_source(struct orma_record_config *config, const char *name);
void orma_record_config_done(struct orma_record_config *config);
/* Appends the text of the config that a wish without a file stands for. 0 or -errno. */
int orma_record_config_text(const struct orma_record_wish *wish, struct orma_buf *text);

/* A group, an event "group/name" or a probe on a function: a word that linux.ftrace records. */
bool orma_record_is_of_kernel(const char *word);

/* Prints the names that a recording takes as a source, as lines of `orma --print-options`. */
void orma_record_print_sources(void);

/* A recorder with these uses no daemon and shares its service with nobody. */
struct orma_record_places {
	const char *producers; /* address for programs' own events, and the probes */
	const char *profiler;  /* socket for profiled programs; NULL = the usual one */
};

struct orma_record_options {
	struct orma_record_config *config;
	const struct orma_record_places *places; /* NULL = a daemon, or the usual addresses */
	const char *out_path; /* "-" = standard output; NULL = none (detached sessions with an
				 output of their own) */
	bool is_rotation;     /* the config's output_path is from the options --rotate and --out */
	bool no_clobber;
	bool may_serve;     /* without a daemon, run a service of its own */
	bool is_quiet;      /* no progress, no summary */
	bool tells_waiting; /* says nevertheless that the program has not ended with the recording */
	bool tells_interrupt; /* says on a terminal, nevertheless, that Ctrl-C ends the recording */
	bool is_verbose;      /* the whole summary also without a terminal */
	bool is_json;         /* the summary is JSON on standard output */
	bool must_record;     /* a trace without any data is a failure */
	/* In the background, standard output gets the process id and then also the trace. */
	bool mixes_output;
	/* Continues in the background and prints the process id. The parent waits this long for the
	 * data sources; 0 = it does not wait. */
	bool in_background;
	uint32_t background_wait_ms;
	int ready_fd; /* gets one status byte when all data sources have started; -1 = none */
	char *const *app_argv; /* the program to start and to record until it ends; NULL = none */
	char *const *app_environment; /* NULL = that of this process */
	uint64_t app_descriptors;     /* the program's soft limit; 0 = that of this process */
	/* When this descriptor becomes readable, the recording ends at once as a failure that was reported already. 0 = none. */
	int failure_fd;
	/* Called by another thread when the recorder's own linux.perf cannot sample; may be NULL. */
	void (*on_perf_failure)(void *app_ctx);
	/* Asked when the data sources have started, for which the recorder waits longer then. When it
	 * returns false, the program is not started; it has said why. NULL = the program is started. */
	bool (*may_start_app)(void *app_ctx);
	void *app_ctx;
	const uint32_t *target_pids; /* the recording ends when all of them have ended */
	size_t target_count;
	const char *detach_key, *attach_key;
	bool stops_attached;
	/* Clones another session, by id or by name, instead of starting one. */
	uint64_t clone_id;
	const char *clone_name;
	bool is_for_bugreport;
	/* The words of the command line that need ftrace ("sched, freq"; NULL = none), and the
	 * command that records them as root. */
	const char *ftrace_words, *root_command;
};

/* Warns at the beginning of data sources in the config that no producer offers, and names those
 * that are offered. The recording asks for them all the same, because a program that has them may
 * still connect, in particular the one that the recorder is about to start. */
void orma_record_warn_of_missing(struct orma_session *session,
				 const struct orma_record_options *options);
/* For a recorder with probes of its own: when they cannot record the events of the kernel that the
 * command line names, says so, with the command that can, and removes them from the config. */
void orma_record_leave_out_ftrace(const struct orma_record_options *options);
/* Warns at the end when programs' own events (track_event) are missing. */
void orma_record_warn_of_absent(struct orma_session *session,
				const struct orma_record_config *config,
				const struct orma_tool_summary *summary,
				struct orma_record_categories *categories, bool is_embedded);
/* Records one trace; returns the exit status. */
int orma_record_run(const struct orma_record_options *options);
/* Returns 0 when a session is detached under this key, 2 when there is none, 1 on errors. */
int orma_record_is_detached(const char *key);

/* --- a service inside the recorder (embedded.c) ----------------------------------------------- */

struct orma_embedded;

/* Starts the service on a thread, open for producers at the default address or at `places`, and this
 * machine's probes on another thread. */
int orma_embedded_start(const struct orma_record_options *options, struct orma_embedded **ret,
			struct orma_error *reterr);
const char *orma_embedded_consumer_address(const struct orma_embedded *embedded);
/* Ends the other recorders' sessions, so that they write their traces, while the service goes on. */
void orma_embedded_finish(struct orma_embedded *embedded);
/* Closes the service for consumers if the caller's session is the only one. */
void orma_embedded_close_unused(struct orma_embedded *embedded);
void orma_embedded_stop(struct orma_embedded *embedded);

#endif
