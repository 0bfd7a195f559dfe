/* SPDX-License-Identifier: Apache-2.0
 * state.h - the data that the service's files share, and what holds between them.
 *
 *   service --+-- producers --+-- data sources (also in the service's by_name map)
 *             |               +-- instances  (links of the sessions' instances)
 *             |               +-- grants     (session buffers it may write to)
 *             +-- sessions  --+-- sources    (one per TraceConfig.data_sources entry)
 *             |               +-- instances  (source x registered data source)
 *             |               +-- buffers
 *             |               +-- flushes    (oldest first; ids ascending)
 *             +-- relays       (of other machines, the oldest first)
 *             +-- consumers --- session      (at most one, and back; a detached session has none)
 *
 * Invariants
 *  - An instance is in one list each of its session, its producer and its data source, and dies
 *    with the first of them. session->state_counts adds up to instance_count.
 *  - A grant outlives the instance that it was made for, until its session's buffers go: data may
 *    still be on its way when a data source is unregistered.
 *  - A session's `buffers` exist from enable to free; `file` only while it still takes data.
 *  - Callbacks never come back into the service, so lists do not change under the loops that call
 *    them.
 */
#ifndef ORMA_SERVICE_STATE_H
#define ORMA_SERVICE_STATE_H

#include <orma/service.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/list.h"
#include "base/map.h"
#include "buffer/trace_buffer.h"
#include "proto/reader.h"
#include "schema/gen/trace_config.pb.h"
#include "service/filter/filter.h"
#include "service/filter/regex.h"
#include "service/limits.h"
#include "service/timer.h"
#include "shm/view.h"

/* --- data sources and producers --------------------------------------------------------------- */

/* All registered data sources of one name. */
struct orma_service_name {
	uint64_t hash; /* key in service->by_name */
	struct orma_service_name
		*next; /* another name of the same hash: two may collide all the same */
	struct orma_list data_sources;
	char text[];
};

struct orma_service_data_source {
	struct orma_list link;      /* service->data_sources, in order of registration */
	struct orma_list name_link; /* name->data_sources */
	struct orma_list producer_link;
	struct orma_list instances; /* in all sessions */
	struct orma_producer_port *producer;
	struct orma_service_name *name;
	uint64_t id; /* as the producer says; 0 = none */
	bool will_notify_on_start, will_notify_on_stop, handles_incremental_state_clear, no_flush;
	struct orma_buf descriptor; /* as received */
};

struct orma_service_grant {
	uint32_t buffer_id;
	struct orma_service_session_buffer *buffer;
	bool has_written; /* since it was asked to clear incremental state; see incremental.c */
};

struct orma_producer_port {
	struct orma_service *service;
	struct orma_list link;
	uint32_t id;     /* 1..65535 */
	uint64_t serial; /* no other ever has it; from 1 */
	uid_t uid;
	pid_t pid;
	uint32_t machine_id;
	char *name, *sdk_version, *machine_name;
	struct orma_producer_callbacks callbacks;
	void *ctx;
	uint32_t page_size_hint_bytes, shm_size_hint_bytes;
	bool is_in_process, is_emulated, is_scraped, is_unverified;

	/* Shared memory; start is NULL until the first instance (or for good when emulated). */
	struct orma_shared_memory memory;
	struct orma_shm_view view; /* of memory.start */
	int memory_fd;             /* owned: memory.fd, or a copy of what the producer brought */
	uint8_t *used_pages;       /* a bit per page, see orma_service_memory_is_used() */
	uint32_t used_count;       /* bits that are set */
	bool has_memory, is_memory_announced;
	struct orma_shm_view_position left_position; /* see orma_service_leave_step() */

	struct orma_list data_sources;
	size_t data_source_count, descriptor_bytes;
	struct orma_list instances;
	struct orma_service_grant *grants;
	size_t grant_count, grant_capacity;
	struct orma_map writers; /* writer id -> buffer id + 1, as a pointer */
};

/* --- sessions --------------------------------------------------------------------------------- */

enum orma_service_session_state {
	ORMA_SERVICE_SESSION_CONFIGURED,
	ORMA_SERVICE_SESSION_STARTED,
	ORMA_SERVICE_SESSION_STOPPING, /* waits for stop acknowledgements */
	ORMA_SERVICE_SESSION_DISABLED,
	ORMA_SERVICE_SESSION_CLONED,  /* a copy of another, to be read; so from its beginning */
	ORMA_SERVICE_SESSION_OPENING, /* its file is being created; has no instances yet */
};

enum orma_service_instance_state {
	ORMA_SERVICE_INSTANCE_CONFIGURED,
	ORMA_SERVICE_INSTANCE_STARTING,
	ORMA_SERVICE_INSTANCE_STARTED,
	ORMA_SERVICE_INSTANCE_STOPPING,
	ORMA_SERVICE_INSTANCE_STOPPED,
};

struct orma_service_session;
struct orma_service_clone;

struct orma_service_session_buffer {
	uint32_t id;  /* service-wide, 1..65535 */
	uint32_t idx; /* in the session */
	uint32_t size_kb;
	struct orma_service_session *session;
	struct orma_trace_buffer *trace_buffer;
	uint64_t filter_discarded_bytes;
	bool is_filtered; /* some packet of it went through the session's filter */
	/* See incremental.c. Of the buffer's statistics when it was last asked for clearing. */
	uint64_t cleared_at_bytes, overwritten_at_bytes;
	uint64_t clear_share_bytes; /* 0 = never by bytes */
	bool is_clear_due;
};

/* One entry of TraceConfig.data_sources. */
struct orma_service_source {
	const char *name;
	const char **producer_names; /* exact; grows by change_config */
	size_t producer_name_count;
	struct orma_service_regex *producer_regexes; /* full match */
	size_t producer_regex_count;
	const char **machine_names;
	size_t machine_name_count;
	uint32_t buffer_idx;
	struct orma_buf config; /* the DataSourceConfig that producers get */
};

struct orma_service_instance {
	struct orma_list session_link, producer_link, source_link;
	uint64_t id; /* key in service->instances_by_id */
	struct orma_service_session *session;
	struct orma_producer_port *producer;
	struct orma_service_data_source *data_source;
	struct orma_service_source *source;
	enum orma_service_instance_state state;
	enum {
		ORMA_SERVICE_REPORTED_NOTHING,
		ORMA_SERVICE_REPORTED_STOPPED,
		ORMA_SERVICE_REPORTED_STARTED
	} reported;
};

typedef void orma_service_flushed_fn(struct orma_service_session *session, bool is_complete);

/* Whose data sources are asked: clones take transferred buffers and the others apart. */
enum orma_service_flush_group {
	ORMA_SERVICE_FLUSH_ALL,
	ORMA_SERVICE_FLUSH_TRANSFERRED,
	ORMA_SERVICE_FLUSH_KEPT,
};

enum orma_service_flush_state {
	ORMA_SERVICE_FLUSH_ASKED,    /* producers have not answered */
	ORMA_SERVICE_FLUSH_ANSWERED, /* waits for the next scrape to begin */
	ORMA_SERVICE_FLUSH_SCRAPING, /* waits for the scrape that runs */
	ORMA_SERVICE_FLUSH_SCRAPED,  /* to be told */
};

struct orma_service_flush {
	struct orma_list link;
	struct orma_list answered_link; /* service->answered_flushes, once nobody is waited for */
	enum orma_service_flush_state state;
	bool is_complete; /* once it is answered: by all */
	struct orma_service_timer timer;
	struct orma_service_session *session;
	uint64_t id, flags;
	uint64_t deadline_ns;
	enum orma_service_flush_group group;
	struct orma_service_clone *clone; /* to be told of it; may be NULL */
	uint32_t *pending;                /* ids of producers that have not answered, ascending */
	size_t pending_count;
	orma_service_flushed_fn *after; /* the service's own; may free the session */
	orma_flush_done_fn *done;       /* the consumer's */
	void *done_ctx;
};

struct orma_service_clock {
	uint32_t id; /* BuiltinClock */
	uint64_t value;
};

#define ORMA_SERVICE_CLOCK_COUNT_MAX 7

struct orma_service_clock_snapshot {
	struct orma_service_clock clocks[ORMA_SERVICE_CLOCK_COUNT_MAX];
	uint32_t count; /* 0 = none */
};

/* A service event that waits to be read: the packet's timestamp and its encoded
 * TracingServiceEvent. */
struct orma_service_event {
	uint64_t time_ns;
	uint32_t field_id;
	struct orma_buf data; /* message events; empty = a bool field */
};

struct orma_service_concurrent_event {
	uint64_t time_ns, session_id;
	uint32_t state, data_source_count;
	uid_t uid;
	char *name; /* may be NULL */
};

enum orma_service_flush_strategy {
	ORMA_SERVICE_FLUSH_NEVER,
	ORMA_SERVICE_FLUSH_PERIODIC,
	ORMA_SERVICE_FLUSH_ON_WRITE,
};

/* One writer in one buffer. */
struct orma_service_sequence {
	uint32_t id; /* trusted_packet_sequence_id; the same in all buffers of the session */
	uint32_t producer_id, writer_id;
	uint64_t producer_serial;
	uint32_t buffer_idx;
	uint64_t histogram_counts[ORMA_SERVICE_HISTOGRAM_BUCKETS]; /* of chunk payloads, see stats.c
								    */
	uint64_t histogram_sums[ORMA_SERVICE_HISTOGRAM_BUCKETS];
};

/* All of a session, in order of first use, in blocks that clones share; see sequence.c. */
struct orma_service_sequence_block;
struct orma_service_sequences {
	struct orma_map
		by_key; /* producer's serial << 23 | buffer_idx << 16 | writer -> index + 1 */
	struct orma_service_sequence_block **blocks;
	size_t block_capacity;
	uint32_t count;
	uint32_t hand; /* the next to look at when all places are taken */
};

/* One entry of TraceConfig.trigger_config.triggers. */
struct orma_service_trigger {
	uint64_t name_hash;
	const char *name;
	struct orma_service_regex producer_regex; /* full match */
	bool has_producer_regex;
	uint32_t stop_delay_ms, max_per_24_h; /* max 0 = no limit */
	double skip_probability;
};

/* A trigger that a session obeyed; its names are on the heap. */
struct orma_service_trigger_hit {
	uint64_t boot_ns;
	char *name, *producer_name;
	uid_t producer_uid;
	uint64_t delay_ms;
};

/* A hit of a CLONE_SNAPSHOT trigger that its consumer is to hear of later. */
struct orma_service_late_hit {
	struct orma_list link; /* session->late_hits */
	struct orma_service_timer timer;
	struct orma_service_session *session;
	struct orma_service_trigger_hit hit;
};

/* The end of a file with max_file_count; see output_rotate.c. */
enum orma_service_cut {
	ORMA_SERVICE_CUT_NONE,
	ORMA_SERVICE_CUT_ASKED,    /* producers are to clear their state, then to flush */
	ORMA_SERVICE_CUT_ANSWERED, /* what the buffers hold now is the end of the file, and the rest
				      of packets that were begun */
	ORMA_SERVICE_CUT_LATE,     /* these did not come in time */
};

struct orma_service_output {
	void *file; /* NULL = none, or closed */
	uint64_t written_bytes, max_bytes;
	uint32_t period_ms;
	bool is_synced;          /* after each write */
	bool is_waiting;         /* the file said -EAGAIN */
	bool is_draining;        /* a write period is being read out */
	bool is_at_max;          /* no packet is to follow those that were read */
	bool is_closing;         /* close() was called, its event is awaited */
	bool is_sync_due;        /* when what is being drained is written */
	struct orma_buf refused; /* what -EAGAIN left over */
	/* See output_rotate.c. */
	const char *path;
	struct orma_buf carried; /* entries that found no room in the last file */
	size_t carried_at;       /* what of them was written */
	uint32_t max_files;      /* 0 = the session ends at max_bytes */
	uint64_t reserve_bytes;  /* of each file; where no more is left the cut begins */
	uint64_t pass_bytes;     /* written, or held, in this pass over the buffers */
	uint64_t stored_bytes;   /* came into the session's buffers since this began a drain */
	struct orma_service_timer cut_timer;
	enum orma_service_cut cut;
	uint32_t cut_flush_count; /* flushes for cuts, not answered yet */
	uint64_t cut_bytes;       /* came into the session's buffers since the cut began */
	uint64_t cut_bytes_max;   /* what they can wait for the answer with */
	struct orma_map crossed;  /* sequences that began a new state since the cut began */
	struct orma_buf held;     /* entries that are for the next file, until that is there; */
	size_t held_at;           /* what of them was read */
	bool is_held_readable;    /* they are for this one now */
};

/* See output_compress.c. */
struct orma_service_compression {
	void *stream;       /* NULL = not open yet */
	size_t outstanding; /* blocks submitted and not taken */
	bool is_pass_over;  /* everything was read; the last blocks are outstanding */
	bool is_waiting;    /* the reader was sent away, an event brings it back */
	/* Of a session with a file, which may be cloned: what is outstanding, oldest first. */
	struct orma_buf blocks[ORMA_COMPRESSOR_BLOCKS_MAX];
};

/* See scrape.c. */
struct orma_service_scrape {
	struct orma_service_timer timer;
	uint64_t serial, last_serial; /* of the producer that is looked at, of the last one */
	struct orma_shm_view_position position;
	uint64_t deadline_ns;
	bool is_running;
	bool is_cut; /* the last one ended at its deadline */
};

struct orma_service_session {
	struct orma_list link;
	struct orma_service *service;
	uint64_t id;
	enum orma_service_session_state state;
	uid_t uid;
	pid_t pid;
	bool has_rights; /* its consumer is root or the service's own user */
	uint32_t last_sequence_id;
	struct orma_consumer_port *consumer; /* NULL = detached or orphaned */
	char *detach_key;
	char error[256]; /* "" = none */

	bool is_orphaned; /* nobody can reach it: freed once its file is written */
	bool has_said_disabled, has_said_all_started; /* to the consumer */
	bool emits_sync_marker, emits_stats;          /* in the next read */
	bool starts_when_created;                     /* StartTracing came while OPENING */
	bool has_emitted_initial;

	uint32_t final_flush_outcome; /* TraceStats.FinalFlushOutcome */
	uint32_t duration_ms, flush_timeout_ms, stop_timeout_ms;
	uint32_t snapshot_interval_ms, flush_period_ms, clear_period_ms;
	enum orma_service_flush_strategy flush_strategy;
	uint64_t started_realtime_ns, started_boot_ns;
	uint64_t snapshot_period; /* number of the last one, on the wall clock */
	uint64_t uuid_msb, uuid_lsb;

	struct orma_arena arena; /* owns `config` and what hangs off the sources */
	const struct orma_pb_trace_config *config;
	struct orma_buf config_bytes;
	const char *name; /* "" = none */

	struct orma_service_source *sources;
	size_t source_count, regex_count; /* of all sources */
	struct orma_service_session_buffer *buffers;
	size_t buffer_count, read_buffer_idx; /* the next to read in this pass */
	struct orma_list instances;
	size_t instance_count;
	size_t state_counts[ORMA_SERVICE_INSTANCE_STOPPED + 1]; /* instances by state */

	struct orma_service_timer duration_timer, flush_timer, write_timer, clear_timer,
		snapshot_timer, stop_timer, started_timer, step_timer;
	struct orma_list flushes;
	size_t flush_count, asked_count; /* of its flushes; of producers that they wait for */
	struct orma_service_scrape scrape;
	bool is_ending; /* stopped; what is left to do is the last scrape and all behind it */

	struct orma_service_sequences sequences;

	/* What the next read begins with. */
	struct orma_service_clock_snapshot initial_clocks;
	struct orma_service_clock_snapshot
		clocks[ORMA_SERVICE_CLOCK_SNAPSHOTS_KEPT]; /* oldest first */
	size_t clocks_count;
	/* Up to which service->last_relay_news the trace has them. */
	uint64_t relay_infos_told, relay_clocks_told;
	struct orma_service_event *events;
	size_t event_count, event_capacity;
	struct orma_service_concurrent_event *concurrent_events;
	size_t concurrent_count, concurrent_capacity;

	struct orma_service_output output;
	struct orma_service_compression compression;

	struct orma_service_large *large; /* a packet that takes many turns; NULL = none */

	struct orma_service_filter *filter; /* NULL = none */
	struct orma_service_filter_stats filter_stats;

	/* See trigger.c. */
	uint32_t trigger_mode; /* TriggerMode, after use_clone_snapshot_if_available */
	struct orma_service_trigger *triggers;
	size_t trigger_count;
	bool has_been_triggered;
	struct orma_service_trigger_hit *hits; /* oldest first */
	size_t hit_count, hit_capacity, hits_emitted;
	struct orma_list late_hits;
	size_t late_hit_count;
	struct orma_service_timer trigger_timer;

	/* Clones only; see clone.c. */
	struct orma_service_clone *clone;              /* while its file is being written */
	struct orma_service_trigger_hit clone_trigger; /* name NULL = none */

	uint64_t invalid_packets, flushes_requested, flushes_succeeded, flushes_failed;
};

/* --- relays ----------------------------------------------------------------------------------- */

/* What two machines' clocks showed, hers when the call was sent, ours when it arrived. */
struct orma_service_clock_sync {
	uint64_t news; /* its round's number, 0 = not yet to be told */
	enum orma_relay_phase phase;
	uint32_t client_count;
	struct orma_relay_clock client_clocks[ORMA_SERVICE_RELAY_CLOCKS_MAX];
	struct orma_service_clock_snapshot host_clocks;
};

struct orma_relay_port {
	struct orma_service *service;
	struct orma_list link; /* service->relays */
	uint32_t machine_id;
	struct orma_buf system_info;                                         /* empty = not known */
	struct orma_service_clock_sync syncs[ORMA_SERVICE_CLOCK_SYNCS_KEPT]; /* oldest first */
	size_t sync_count;
	/* Numbers of news, see relay.c; 0 = none yet. */
	uint64_t info_news, first_clock_news, clock_news;
	uint64_t clock_news_ns; /* when clock_news was given */
};

/* --- consumers -------------------------------------------------------------------------------- */

struct orma_consumer_port {
	struct orma_service *service;
	struct orma_list link;
	uid_t uid;
	pid_t pid;
	bool has_rights; /* root or the service's own user */
	struct orma_consumer_callbacks callbacks;
	void *ctx;
	struct orma_service_session *session;
	struct orma_service_clone *clone; /* being made */
	uint32_t observed;                /* ObservableEvents.Type bits */
};

/* --- the service ------------------------------------------------------------------------------ */

/* When a session of a name was started last, for enable_extra_guardrails. */
struct orma_service_name_use {
	uint64_t hash, time_ns;
};

/* Of the thread; policy 0 = as it was. */
struct orma_service_boost {
	uint32_t policy, priority;
};

/* When a trigger of a name was obeyed, for max_per_24_h. */
struct orma_service_trigger_use {
	uint64_t hash, time_ns;
};

/* The packets of one read; see read.c. */
struct orma_service_batch {
	struct orma_trace_slice *slices;
	size_t count, capacity;
	size_t packet_count, bytes;
	uint8_t (*trailers)[ORMA_SERVICE_TRAILER_BYTES];
	size_t trailer_count;
	const uint8_t *last_trailer;
	size_t last_trailer_bytes;
	uint32_t last_sequence_id; /* whose trailer that is; 0 = cannot be used again */
	struct orma_arena own;     /* the service's packets, and what filters write */
	uint8_t *filtered;         /* in `own`: room for the next filtered packet */
	size_t filtered_left;
	uint64_t filter_ns;  /* with string rules */
	bool is_out_of_time; /* of filtering: the batch ends, and this turn's work */
};

struct orma_service {
	void *ctx;
	uint64_t (*clock_ns)(void *ctx, int clock_id);
	void (*random)(void *ctx, void *data, size_t size);
	struct orma_service_file_ops file_ops;
	void (*close_fd)(void *ctx, int fd, uid_t owner); /* NULL = close() */
	void *file_ctx;
	struct orma_regex_ops regex_ops;
	struct orma_compressor_ops compressor_ops; /* no codecs = none */
	void *compressor_ctx;
	int (*set_priority)(void *ctx, enum orma_priority_policy policy, uint32_t priority);
	struct orma_service_boost boost; /* in force */
	bool has_async_files;            /* the embedder's: their ends come as events */
	bool scrape_by_default;
	bool is_locked_down;
	bool is_shutting_down; /* no session begins any more */
	char *version;
	uid_t uid;

	struct orma_service_timers timers;

	struct orma_list producers, consumers, sessions, data_sources, relays;
	struct orma_list clones;           /* being made */
	struct orma_list retired;          /* buffers; see retire.c */
	struct orma_list answered_flushes; /* to be finished; empty between calls */
	struct orma_service_timer retire_timer;
	size_t producer_count, consumer_count, session_count, data_source_count, buffer_count;
	size_t descriptor_bytes; /* of all data sources */
	struct orma_map producers_by_id, instances_by_id;
	struct orma_map by_name; /* name hash -> first struct orma_service_name */
	uint64_t name_seed;      /* of these hashes */
	uint32_t last_producer_id, last_buffer_id;
	size_t relay_count;
	uint64_t last_instance_id, last_session_id, last_flush_id, last_relay_news;
	uint64_t used_buffer_ids[(ORMA_SERVICE_BUFFER_ID_MAX + 64) / 64];
	struct orma_service_name_use name_uses[ORMA_SERVICE_GUARDED_NAMES_MAX];
	size_t name_use_count;
	struct orma_service_trigger_use *trigger_uses; /* oldest first; NULL until the first */
	size_t trigger_use_count;

	uint64_t producers_seen, data_sources_seen, chunks_discarded, patches_discarded;

	struct orma_service_batch batch;
	uint8_t *scrape_copy; /* one chunk; NULL until the first scrape */
	struct iovec *iov;    /* of output.c, for one step */
	uint8_t (*preambles)[ORMA_SERVICE_PREAMBLE_BYTES];
	struct orma_buf reply;   /* of the last query */
	struct orma_buf scratch; /* one packet under construction */
	struct orma_buf block;   /* packets on their way to the compressor */
};

/* service.c */
/* Memory that is only kept to be used again. */
void orma_service_free_caches(struct orma_service *service);
uint64_t orma_service_now_ns(const struct orma_service *service);      /* CLOCK_MONOTONIC */
uint64_t orma_service_boot_ns(const struct orma_service *service);     /* CLOCK_BOOTTIME */
uint64_t orma_service_realtime_ns(const struct orma_service *service); /* CLOCK_REALTIME */
/* Arms for the next multiple of the period on the wall clock. */
void orma_service_arm_aligned(struct orma_service *service, struct orma_service_timer *timer,
			      uint32_t period_ms);
/* One TSC reading, or 0 where there is none. */
uint64_t orma_service_tsc(void);

/* producer.c */
struct orma_service_name *orma_service_name_find(const struct orma_service *service,
						 struct orma_str text);
struct orma_producer_port *orma_service_producer_by_id(const struct orma_service *service,
						       uint32_t id);
struct orma_service_grant *orma_service_producer_grant(const struct orma_producer_port *port,
						       uint64_t buffer_id);
int orma_service_producer_add_grant(struct orma_producer_port *port,
				    struct orma_service_session_buffer *buffer);
void orma_service_producer_remove_grants(struct orma_producer_port *port,
					 const struct orma_service_session *session);
/* The buffer id that a writer was registered for, or 0. */
uint32_t orma_service_producer_writer_buffer(const struct orma_producer_port *port,
					     uint32_t writer_id);

/* relay.c */
/* What the session's trace does not know yet of other machines. */
int orma_service_relays_write_infos(struct orma_service_session *session);
int orma_service_relays_write_clocks(struct orma_service_session *session);

/* memory.c */
int orma_service_memory_map_provided(struct orma_producer_port *port, int fd);
int orma_service_memory_create(struct orma_producer_port *port,
			       const struct orma_pb_trace_config *config);
void orma_service_memory_announce(struct orma_producer_port *port);
/*
 * False when the page's word is 0: no chunk is in it, and it may be a hole, which a read through the
 * mapping would fill. True for good once the word was anything else. The page exists.
 */
bool orma_service_memory_is_used(struct orma_producer_port *port, uint32_t page_idx);
/* The first such page from page_idx on, or page_count. When the budget is used up on the way, the
 * page to go on with, which is not known to be used. */
uint32_t orma_service_memory_next_used(struct orma_producer_port *port, uint32_t page_idx,
				       int64_t *budget_bytes);
/* Copies a chunk's payload as orma_shm_chunk_copy() does, and leaves holes in it alone. */
bool orma_service_memory_copy(const struct orma_producer_port *port,
			      const struct orma_shm_chunk *chunk, uint8_t *to);
void orma_service_memory_done(struct orma_producer_port *port);
void orma_service_memory_sizes(uint64_t *shm_bytes, uint64_t *page_bytes);

/* config_check.c */
int orma_service_config_check(const struct orma_service *service,
			      const struct orma_consumer_port *port,
			      const struct orma_pb_trace_config *config, int file_fd,
			      struct orma_error *reterr);

/* places.c */
struct orma_service_places {
	/* The user that asks for a place, and the limits. */
	uid_t uid;
	bool has_rights;
	uint32_t user_max, shared_max, first_max;
	/* What there is: of this user, and of all users but root and the service's own. */
	uint32_t of_user, of_others;
};
void orma_service_places_add(struct orma_service_places *places, uid_t uid, bool has_rights);
/* 0, or -EBUSY and a text; `what` is the plural of what is counted. */
int orma_service_places_check(const struct orma_service_places *places, const char *what,
			      struct orma_error *reterr);

/* config_rivals.c */
int orma_service_config_check_rivals(const struct orma_service *service, uid_t uid, bool has_rights,
				     const struct orma_pb_trace_config *config,
				     struct orma_error *reterr);

/* source.c */
int orma_service_source_init(struct orma_service_session *session, size_t source_idx,
			     struct orma_error *reterr);
/* The next entry of data_sources in an encoded TraceConfig: 1, 0 = none is left, -EBADMSG. */
int orma_service_source_entry_next(struct orma_proto_reader *config, struct orma_str *ret);
int orma_service_source_encode(struct orma_service_session *session, size_t source_idx,
			       struct orma_str entry);
void orma_service_source_done(struct orma_service_source *source);
bool orma_service_source_matches(const struct orma_service_session *session,
				 const struct orma_service_source *source,
				 const struct orma_producer_port *producer);

/* session.c */
void orma_service_session_start(struct orma_service_session *session);
/* `error` (may be NULL) is what the consumer is told. */
void orma_service_session_disable(struct orma_service_session *session, bool at_once,
				  const char *error);
void orma_service_session_free(struct orma_service_session *session);
/* NULL = it has gone. */
struct orma_service_session *orma_service_session_by_id(const struct orma_service *service,
							uint64_t id);
/* Flushes, then disables. */
void orma_service_session_flush_and_disable(struct orma_service_session *session);
/* Takes the session away from its consumer: it ends, its file is completed, then it is freed. */
void orma_service_session_abandon(struct orma_service_session *session, const char *error);
/* Ends any session, its data are lost but what its file has; its consumer is told why. */
void orma_service_session_abort(struct orma_service_session *session, const char *error);
/* Called when the last file byte is out, or there is no file. May free the session. */
void orma_service_session_finish(struct orma_service_session *session);
void orma_service_session_check_stopped(struct orma_service_session *session);
/* What there was in the producers' memory has been copied. May free the session. */
void orma_service_session_scraped(struct orma_service_session *session);
void orma_service_session_check_started(struct orma_service_session *session);
void orma_service_session_set_state(struct orma_service_session *session,
				    enum orma_service_session_state state);
const char *orma_service_session_state_name(const struct orma_service_session *session);

/* enable.c */
/* Its file is there: what waited for that. */
void orma_service_session_begin_created(struct orma_service_session *session);

/* priority.c */
/* The highest exclusive_prio of those that run, 0 = none. */
uint32_t orma_service_exclusive_priority(const struct orma_service *service);
void orma_service_end_for_exclusive(struct orma_service *service, uint32_t priority);
/* Raises the thread's priority if this config, beside the sessions there are, wants that. */
int orma_service_boost_begin(struct orma_service *service,
			     const struct orma_pb_trace_config *config, struct orma_error *reterr);
/* A session has gone, or did not come to be. */
void orma_service_boost_update(struct orma_service *service);

/* clone.c */
/* Of this user (-1: of all), made or being made. */
int orma_service_clone_check_places(const struct orma_consumer_port *port,
				    struct orma_error *reterr);
/* One group of a source's buffers was flushed, or will not be. */
void orma_service_clone_flushed(struct orma_service_clone *clone,
				enum orma_service_flush_group group, bool is_complete);
/* True when the file is a clone's that nobody knows yet. */
bool orma_service_clone_file_event(struct orma_service *service, uint64_t session_id, int status);
/* The file of a clone is closed. May free the session. */
void orma_service_clone_written(struct orma_service_session *session);
/* The session goes, perhaps a clone whose file is being written. */
void orma_service_clone_freed(struct orma_service_session *session);
/* Its consumer leaves: nobody is told of it. */
void orma_service_clone_cancel(struct orma_service_clone *clone);

/* clone_source.c */
int orma_service_clone_find_source(const struct orma_consumer_port *port,
				   const struct orma_clone_request *request,
				   struct orma_service_session **ret, struct orma_error *reterr);

/* clone_state.c */
/* What clones have in common with their source, but its buffers; hits are taken away from the
 * source. */
int orma_service_clone_copy_state(struct orma_service_session *source,
				  struct orma_service_session *session);

/* retire.c: takes a buffer over that is not needed any more; NULL is none. */
void orma_service_retire_buffer(struct orma_service *service, struct orma_trace_buffer *buffer);
void orma_service_retired_done(struct orma_service *service);

/* enable.c */
int orma_service_session_new(struct orma_consumer_port *port, struct orma_service_session **ret);
int orma_service_session_decode(struct orma_service_session *session, const void *config,
				size_t size, struct orma_error *reterr);
uint32_t orma_service_pick_buffer_id(struct orma_service *service);
void orma_service_session_delete(struct orma_service_session *session); /* any half-built one */

/* instance.c */
/* True when no more may be made, or looked for in this turn; says so. */
bool orma_service_instances_are_full(const struct orma_service_session *session,
				     size_t looked_at_count);
/* Creates the instances of one source for one data source; nothing is sent yet. 1 = made, 0 = no
 * match, -ENOMEM. */
int orma_service_instance_new(struct orma_service_session *session,
			      struct orma_service_source *source,
			      struct orma_service_data_source *data_source,
			      struct orma_service_instance **ret);
void orma_service_instance_setup(struct orma_service_instance *instance);
void orma_service_instance_start(struct orma_service_instance *instance);
void orma_service_instance_stop(struct orma_service_instance *instance, bool at_once);
void orma_service_instance_set_state(struct orma_service_instance *instance,
				     enum orma_service_instance_state state);
void orma_service_instance_free(struct orma_service_instance *instance);
/* A data source was registered or changed: set it up in the sessions that want it. */
void orma_service_data_source_join(struct orma_service_data_source *data_source);
/* It goes away: its instances stop and vanish. */
void orma_service_data_source_leave(struct orma_service_data_source *data_source,
				    bool is_producer_gone);

/* incremental.c */
void orma_service_incremental_init(struct orma_service_session *session,
				   struct orma_service_session_buffer *buffer,
				   enum orma_trace_buffer_policy policy);
void orma_service_incremental_start(struct orma_service_session *session);
/* A chunk of the producer came into the buffer. */
void orma_service_incremental_written(struct orma_service_grant *grant);
/* Asks all instances of the session now. */
void orma_service_incremental_clear(struct orma_service_session *session);

/* observe.c */
void orma_service_observe_instance(struct orma_service_instance *instance);
void orma_service_observe_all_started(struct orma_service_session *session);
void orma_service_observe_clone_trigger(struct orma_service_session *session,
					const struct orma_service_trigger_hit *hit);

/* flush.c */
int orma_service_flush_begin(struct orma_service_session *session, uint32_t timeout_ms,
			     uint64_t flags, orma_service_flushed_fn *after,
			     orma_flush_done_fn *done, void *done_ctx);
bool orma_service_flush_concerns(enum orma_service_flush_group group,
				 const struct orma_service_session *session, size_t buffer_idx);
/* For a clone. */
void orma_service_flush_begin_group(struct orma_service_session *session, uint64_t flags,
				    struct orma_service_clone *clone,
				    enum orma_service_flush_group group);
void orma_service_flush_acknowledge(struct orma_producer_port *port, uint64_t request_id);
void orma_service_flush_forget_producer(struct orma_producer_port *port);
/* The scrape that the session's answered flushes waited for is done. May free the session. */
void orma_service_flush_scraped(struct orma_service_session *session);
/* The session ends: consumers hear that their flushes failed. */
void orma_service_flush_cancel_all(struct orma_service_session *session);
void orma_service_flush_forget_clone(struct orma_service_session *session,
				     const struct orma_service_clone *clone);
/* The consumer lets go of the session: its flushes have failed, or, when it is gone, say nothing.
 */
void orma_service_flush_forget_consumer(struct orma_service_session *session, bool is_gone);

/* sequence.c; what is returned is to be changed at once, not to be kept. NULL without memory. */
struct orma_service_sequence *
orma_service_session_sequence(struct orma_service_session_buffer *buffer,
			      const struct orma_producer_port *port, uint16_t writer_id);
/* 0 = it has written nothing to that buffer. */
uint32_t orma_service_session_sequence_id(const struct orma_service_session_buffer *buffer,
					  const struct orma_producer_port *port,
					  uint16_t writer_id);
void orma_service_session_sequence_count(struct orma_service_sequence *sequence,
					 uint64_t payload_bytes);
extern const uint32_t orma_service_histogram_bounds[ORMA_SERVICE_HISTOGRAM_BUCKETS - 1];
/* All of them by buffer and id; free the array. NULL without memory or sequences. */
struct orma_service_sequence **
orma_service_session_sequences_sorted(const struct orma_service_session *session);
/* Gives a clone those of its source. */
int orma_service_session_sequences_share(const struct orma_service_session *source,
					 struct orma_service_session *session);
void orma_service_session_sequences_done(struct orma_service_session *session);

/* commit.c: a chunk whose producer and bytes are settled; everything else is still the producer's
 * word. */
void orma_service_store_chunk(struct orma_producer_port *port, const struct orma_shm_chunk *chunk,
			      const void *payload, size_t payload_bytes, uint64_t buffer_id,
			      bool is_complete);

/* scrape.c */
/* Of all, from the beginning; ends in orma_service_session_scraped(), at once when it is little. It
 * ends at the deadline, but has ORMA_SERVICE_SCRAPE_NS_MIN in any case. */
void orma_service_scrape_begin(struct orma_service_session *session, uint64_t deadline_ns);

/* read.c */
void orma_service_batch_done(struct orma_service_batch *batch);
void orma_service_batch_begin(struct orma_service *service);
/* Appends a packet of the service's own; it is copied. */
int orma_service_batch_add_own(struct orma_service *service, const void *data, size_t size);
/* Appends a packet that stays where it is. */
int orma_service_batch_add_borrowed(struct orma_service *service, const void *data, size_t size);
/* Appends a packet made of a head, which is copied, and data, which is not. */
int orma_service_batch_add_outer(struct orma_service *service, const void *head, size_t head_size,
				 const void *data, size_t size);
/* Appends the batch's packets from a slice on, as entries of a trace. */
int orma_service_batch_encode(const struct orma_service_batch *batch, size_t begin,
			      struct orma_buf *to);
/* Fills the service's batch with the session's next packets; 1 = there is more, 0 = a pass has
 * ended, -ENOMEM. */
int orma_service_read(struct orma_service_session *session, size_t max_bytes);

/* The same for a caller that can send a packet on in parts: a large one comes in several batches, and
 * only the last of them ends it. */
int orma_service_read_parts(struct orma_service_session *session, size_t max_bytes);
/* A piece of a packet, and its end, for which the first has left room. */
int orma_service_batch_append(struct orma_service_batch *batch, const void *data, size_t size);
void orma_service_batch_end_packet(struct orma_service_batch *batch,
				   const struct orma_trace_buffer_writer *writer, uint32_t loss);

/* read_large.c */
/* Keeps a packet that was read for later; -ENOMEM. */
int orma_service_large_begin(struct orma_service_session *session,
			     struct orma_service_session_buffer *buffer,
			     const struct orma_trace_buffer_packet *packet);
/* Checks it, or appends at most max_bytes of it to the batch: 1. 0 = it has gone, -ENOMEM. */
int orma_service_large_read(struct orma_service_session *session, size_t max_bytes);
/* Its reader begins anew: when it had a part of the packet, the rest is dropped. */
void orma_service_large_restart(struct orma_service_session *session);
void orma_service_large_drop(struct orma_service_session *session);

/* read_filter.c */
/* The packets from slice `begin` on, which came from `buffer` or, NULL, are the service's. */
void orma_service_batch_filter(struct orma_service_session *session, size_t begin,
			       struct orma_service_session_buffer *buffer);
/* How many packets to take before they are filtered. */
size_t orma_service_batch_filter_group(const struct orma_service_session *session);
/* The batch's last packet passes by the filter. */
void orma_service_batch_count_unfiltered(struct orma_service_session *session);

/* output_compress.c */
/* Which codec the config means and the service has: 0 = none; -ENOTSUP (it has none of those). */
int orma_service_compression_pick(const struct orma_service *service,
				  const struct orma_pb_trace_config *config, int *ret_level);
/* As orma_service_read(), for whoever sends packets away: compressed, if the config says so. Then
 * also -EAGAIN: nothing is finished yet, an event follows. */
int orma_service_read_out(struct orma_service_session *session, size_t max_bytes, bool takes_parts);
/* The buffers have got more data: a pass that has read everything reads once more. */
void orma_service_compression_extend(struct orma_service_session *session);
void orma_service_compression_event(struct orma_service_session *session);
/* Appends what the compressor has of the session, as entries of a trace. */
int orma_service_compression_copy(const struct orma_service_session *session, struct orma_buf *to);
void orma_service_compression_done(struct orma_service_session *session);

/* packet_check.c; *ret_loss is what the writer of a valid packet says was lost before it. */
bool orma_service_packet_is_valid(const struct orma_trace_slice *slices, size_t count,
				  uint32_t *ret_loss);
/* The same of a held packet, some fields at a time; zero at the beginning. */
struct orma_service_packet_check {
	size_t slice, offset; /* of the next field */
	uint32_t loss;
};
/* 1 = there is more to check, 0 = it is valid, -EBADMSG, -ENOMEM (it is lost). */
int orma_service_packet_check_step(struct orma_service_packet_check *check,
				   const struct orma_trace_slice *slices, size_t count,
				   const struct orma_trace_buffer_hold *hold, size_t max_fields);
/* A valid packet says that its sequence begins a new incremental state. */
bool orma_service_packet_begins_state(const struct orma_trace_slice *slices, size_t count);

/* own_packets.c */
int orma_service_own_before(struct orma_service_session *session);
int orma_service_own_after(struct orma_service_session *session);
int orma_service_own_stats(struct orma_service_session *session);
void orma_service_event_add(struct orma_service_session *session, uint32_t field_id,
			    bool snapshots_clocks);
int orma_service_event_add_message(struct orma_service_session *session, uint32_t field_id,
				   struct orma_buf *data);
/* At its place in the order of times. `data` is taken over; empty = a bool field. */
int orma_service_event_insert(struct orma_service_session *session, uint32_t field_id,
			      uint64_t time_ns, struct orma_buf *data);
void orma_service_clocks_take(struct orma_service *service,
			      struct orma_service_clock_snapshot *ret);
void orma_service_clocks_snapshot(struct orma_service_session *session);
void orma_service_own_done(struct orma_service_session *session);

/* An own packet goes between these two; the trusted fields come with the end. */
struct orma_proto_heap_writer;
void orma_service_own_begin(struct orma_service *service, struct orma_proto_heap_writer *heap);
int orma_service_own_end(struct orma_service *service, struct orma_proto_heap_writer *heap);

/* trigger.c */
int orma_service_triggers_init(struct orma_service_session *session, struct orma_error *reterr);
void orma_service_triggers_done(struct orma_service_session *session);
/* The session is configured: its timeout begins. */
void orma_service_triggers_arm(struct orma_service_session *session);
bool orma_service_triggers_defer_start(const struct orma_service_session *session);
/* True while the session waits for a trigger, and for good when only its clones can be read. */
bool orma_service_triggers_hide_data(const struct orma_service_session *session);
/* Some producers' leaving is a trigger. */
void orma_service_triggers_producer_left(struct orma_producer_port *port);
int orma_service_triggers_write(struct orma_service_session *session);
int orma_service_trigger_hit_write(struct orma_service *service,
				   const struct orma_service_trigger_hit *hit, uint32_t field_id);
void orma_service_trigger_hit_done(struct orma_service_trigger_hit *hit);

/* stats.c */
/* With what each writer did only when they are at most so many. */
int orma_service_stats_encode(const struct orma_service_session *session, size_t max_writers,
			      struct orma_buf *buf);

/* output.c */
extern const struct orma_service_file_ops orma_service_file_ops_sync;
/* What the config says of the file; nothing is opened. */
int orma_service_output_init(struct orma_service_session *session, struct orma_error *reterr);
int orma_service_output_open(struct orma_service_session *session, int file_fd,
			     struct orma_error *reterr);
/* Before anything is written: closes. */
void orma_service_output_drop(struct orma_service_session *session);
/* What an error means for a file, as "what: words". */
void orma_service_output_explain(char *text, size_t size, const char *what, int error);
/* A consumer's descriptor that can be written to. */
bool orma_service_output_takes(int fd);
/* The output of a clone: what `source` has written, then all that is left to read. Takes the
 * descriptor over and sets it to -1, on failure too, unless it is still there then. */
int orma_service_output_open_copy(struct orma_service_session *session, int *file_fd,
				  struct orma_service_session *source);
void orma_service_output_start(struct orma_service_session *session);
/* Writes what is left, closes, then orma_service_session_finish(). */
void orma_service_output_finish(struct orma_service_session *session);
void orma_service_output_done(struct orma_service_session *session);
void orma_service_output_event(struct orma_service_session *session, int status);
/* What the buffers hold is to be written soon; may be called in the middle of a commit. */
void orma_service_output_drain_soon(struct orma_service_session *session);
/* Bytes came into the session's buffers. */
void orma_service_output_stored(struct orma_service_session *session, size_t bytes);
/* Compressed packets are ready. */
void orma_service_output_continue(struct orma_service_session *session);
/* Writes, or keeps for later. */
int orma_service_output_put(struct orma_service_session *session, const struct iovec *iov,
			    int iov_count);

/* output_create.c */
bool orma_service_creation_is_wanted(const struct orma_service_session *session);
/* -EACCES, and a text that says what to do instead. */
int orma_service_creation_refuse(struct orma_error *reterr);
/* The session is OPENING then. */
int orma_service_creation_begin(struct orma_service_session *session, struct orma_error *reterr);
void orma_service_creation_event(struct orma_service_session *session, int status);

/* output_rotate.c */
int orma_service_rotation_init(struct orma_service_session *session, struct orma_error *reterr);
int orma_service_rotation_check_names(const struct orma_service_session *session,
				      struct orma_error *reterr);
/* The batch's packets from a slice on go into the next file. */
int orma_service_rotation_carry(struct orma_service_session *session, size_t begin);
/* Begins files for what is carried, as far as the file takes it. */
int orma_service_rotation_continue(struct orma_service_session *session);
/* So much was read; has_more: the pass goes on. Asks for a cut when the file is nearly full. */
void orma_service_rotation_check(struct orma_service_session *session, bool has_more);
/* How much of a file is written at a time. */
size_t orma_service_rotation_step_bytes(const struct orma_service_session *session);
/* A packet of a producer, not filtered yet: is it for the next file? Only while there is a cut. */
bool orma_service_rotation_is_for_next(struct orma_service_session *session, uint32_t sequence_id,
				       const struct orma_trace_slice *slices, size_t count);
/* The batch's packets from a slice on are kept for the next file, and leave the batch. */
int orma_service_rotation_hold(struct orma_service_session *session, size_t begin);
/* Fills the batch with what was held, once its file is there: 1 = with some, 0 = there is none. */
int orma_service_rotation_read_held(struct orma_service_session *session, size_t max_bytes);
/* No more is to be held. */
bool orma_service_rotation_is_full(const struct orma_service_session *session);
/* What was read since the file is the rest of it: the next one can begin. */
bool orma_service_rotation_is_due(const struct orma_service_session *session);
int orma_service_rotation_cut(struct orma_service_session *session);
void orma_service_rotation_done(struct orma_service_session *session);

#endif
