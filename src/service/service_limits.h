/* SPDX-License-Identifier: Apache-2.0
 * service_limits.h - every quantity that a peer of the service can make grow, and the service's fixed
 * times.
 */
#ifndef ORMA_SERVICE_SERVICE_LIMITS_H
#define ORMA_SERVICE_SERVICE_LIMITS_H

#include "base/clock_ns.h"

/* --- producers -------------------------------------------------------------------------------- */
#define ORMA_SERVICE_PRODUCER_ID_MAX      65535u
#define ORMA_SERVICE_NAME_BYTES_MAX       1024u /* producer, data source, buffer, session names */
#define ORMA_SERVICE_SOURCES_PER_PRODUCER 4096u
/* One descriptor, with what the state query adds, must fit a frame of 128 KiB. */
#define ORMA_SERVICE_DESCRIPTOR_BYTES_MAX      ((128u << 10) - 512)
#define ORMA_SERVICE_DESCRIPTORS_BYTES_MAX     (4u << 20)  /* all descriptors of one producer */
#define ORMA_SERVICE_ALL_DESCRIPTORS_BYTES_MAX (16u << 20) /* all in a query */
#define ORMA_SERVICE_WRITER_ID_MAX             32767u
#define ORMA_SERVICE_PATCHES_PER_CHUNK         1024u

#define ORMA_SERVICE_PAGE_BYTES_MIN     4096u
#define ORMA_SERVICE_PAGE_BYTES_MAX     (32u << 10)
#define ORMA_SERVICE_PAGE_BYTES_DEFAULT 4096u
#define ORMA_SERVICE_SHM_BYTES_MAX      (32u << 20)
#define ORMA_SERVICE_SHM_BYTES_DEFAULT  (256u << 10)
/* Shared by all producers of one user; beyond it a producer gets the default size. */
#define ORMA_SERVICE_SHM_BYTES_PER_USER (128u << 20)
/* Upstream's libraries take a lock for each page, so they get larger ones. */
#define ORMA_SERVICE_PAGE_BYTES_UPSTREAM (16u << 10)
#define ORMA_SERVICE_SHM_BYTES_UPSTREAM  (1u << 20) /* requests up to this size get larger pages */
#define ORMA_SERVICE_EMULATED_CHUNK_MIN  8u         /* the chunk header */
#define ORMA_SERVICE_EMULATED_CHUNK_MAX  ORMA_SERVICE_PAGE_BYTES_MAX

/* --- relays ----------------------------------------------------------------------------------- */
#define ORMA_SERVICE_RELAYS_MAX            256u
#define ORMA_SERVICE_SYSTEM_INFO_BYTES_MAX 4096u
#define ORMA_SERVICE_RELAY_CLOCKS_MAX      32u /* in one reading */
#define ORMA_SERVICE_CLOCK_SYNCS_KEPT      5u  /* the newest readings of a relay */
/* The shortest time between two clock rounds of a relay in a trace; upstream's relay measures every
 * 30 s. */
#define ORMA_SERVICE_CLOCK_NEWS_NS (25 * ORMA_NS_PER_SEC)

/* --- sessions --------------------------------------------------------------------------------- */
/* SESSIONS_MAX limits the sessions of all users together, except root and the service's own user.
 * SESSIONS_FIRST more may be the first sessions of other users (quota.c). */
#define ORMA_SERVICE_SESSIONS_MAX       15u
#define ORMA_SERVICE_SESSIONS_FIRST     17u
#define ORMA_SERVICE_SESSIONS_PER_UID   5u
#define ORMA_SERVICE_STATSD_UID         1066u /* Android's; harmless elsewhere */
#define ORMA_SERVICE_SESSIONS_OF_STATSD 10u
#define ORMA_SERVICE_SOURCES_PER_CONFIG 4096u
/* Including what the service adds: the message to the producer must fit a frame of 128 KiB. */
#define ORMA_SERVICE_SOURCE_BYTES_MAX      ((128u << 10) - 160)
#define ORMA_SERVICE_FILTERS_PER_SOURCE    1024u
#define ORMA_SERVICE_REGEXES_PER_CONFIG    512u
#define ORMA_SERVICE_PRODUCERS_PER_CONFIG  1024u
#define ORMA_SERVICE_SEMAPHORES_PER_CONFIG 64u
#define ORMA_SERVICE_PATH_BYTES_MAX        4096u
#define ORMA_SERVICE_CONFIG_BYTES_MAX      (1u << 20)
#define ORMA_SERVICE_CONFIG_ARENA_MAX      (16u << 20)
#define ORMA_SERVICE_BUFFERS_PER_SESSION   128u
#define ORMA_SERVICE_BUFFER_ID_MAX         65535u
/* All instances are set up in one turn. */
#define ORMA_SERVICE_INSTANCES_PER_SESSION 12288u
/* Pairs of a config entry and a data source; matching an expression counts as several pairs. */
#define ORMA_SERVICE_MATCHES_AT_ONCE       (4u << 20)
#define ORMA_SERVICE_MATCHES_PER_REGEX     32u
#define ORMA_SERVICE_NAMES_PER_MATCH       16u
#define ORMA_SERVICE_REGEX_BYTES_MAX       4096u
#define ORMA_SERVICE_REGEX_GROUPS_MAX      32u   /* capturing groups */
#define ORMA_SERVICE_REGEX_NAME_STEPS      2000u /* most steps of one match of a producer's name */
#define ORMA_SERVICE_REGEX_NAME_STEPS_ALL  100000u /* the same for all regexes */
#define ORMA_SERVICE_REGEX_NAME_STEPS_MIN  200u    /* granted to one match in any case */
#define ORMA_SERVICE_REGEX_POSIX_BYTES_MAX 512u
#define ORMA_SERVICE_REGEX_POSIX_TEXT_MAX  2048u
#define ORMA_SERVICE_REGEX_REPEAT_MAX      1000u /* product of all {n,m} bounds, POSIX only */
#define ORMA_SERVICE_FILTER_BYTES_MAX      (128u << 10) /* a filter's program */
#define ORMA_SERVICE_FILTER_WORDS_MAX      (256u << 10) /* the tables made from the program */
#define ORMA_SERVICE_FILTER_DEPTH_MAX      1024u        /* messages within messages */
#define ORMA_SERVICE_FILTER_RULES_MAX      256u         /* rules for strings */
#define ORMA_SERVICE_FILTER_TYPES_MAX      128u         /* semantic types that a rule may name */
#define ORMA_SERVICE_FILTER_STEPS          200000u      /* most steps of one match */
#define ORMA_SERVICE_FILTER_STEP_BYTES     (32u << 20)  /* most steps x bytes of the string */
#define ORMA_SERVICE_FILTER_STEPS_MIN      64u
#define ORMA_SERVICE_FILTER_PACKET_NS      (10 * ORMA_NS_PER_MS) /* string rules in one packet: this */
#define ORMA_SERVICE_FILTER_BYTE_NS        250u /* plus this per byte of the packet */
#define ORMA_SERVICE_FILTER_BATCH_NS       (5 * ORMA_NS_PER_MS) /* filtering time that ends a batch */
#define ORMA_SERVICE_FLUSHES_PENDING_MAX   1000u
#define ORMA_SERVICE_PERIODIC_PENDING_MAX  8u /* per session, before the next period is skipped */
#define ORMA_SERVICE_ANSWERS_PENDING_MAX   8192u /* per session, to all its flushes */
/* The size of one scrape step; looking at a page or a chunk costs LOOK_BYTES of it. */
#define ORMA_SERVICE_SCRAPE_STEP_BYTES (2u << 20)
#define ORMA_SERVICE_SCRAPE_LOOK_BYTES 512u
/* The time that a scrape has even when its flush has none left. */
#define ORMA_SERVICE_SCRAPE_NS_MIN ORMA_NS_PER_SEC
/* One step of a commit: its time, the bytes between two readings of the clock, and the cost of
 * an entry without data. */
#define ORMA_SERVICE_COMMIT_STEP_NS       ORMA_NS_PER_MS
#define ORMA_SERVICE_COMMIT_LOOK_AT_CLOCK (64u << 10)
#define ORMA_SERVICE_COMMIT_LOOK_BYTES    64u
#define ORMA_SERVICE_CONSUMERS_MAX        4096u
#define ORMA_SERVICE_EVENT_BYTES_MAX      (96u << 10) /* one ObservableEvents message */

/* How often producers begin their incremental state anew while a ring is filled once, and the
 * minimum of bytes in between. */
#define ORMA_SERVICE_CLEARS_PER_RING 32u
#define ORMA_SERVICE_CLEAR_BYTES_MIN (4u << 10)

/* Finished clones and those under construction; the limits work as those of sessions. */
#define ORMA_SERVICE_CLONES_MAX         15u
#define ORMA_SERVICE_CLONES_FIRST       17u
#define ORMA_SERVICE_CLONES_PER_UID     5u
#define ORMA_SERVICE_CLONE_STEP_BYTES   (256u << 10) /* copied per step */
#define ORMA_SERVICE_RETIRE_STEP_BYTES  (4u << 20)   /* given back per step */
#define ORMA_SERVICE_CLONE_STEPS_IN_ROW 4u           /* per clone, each in a turn of its own */
/* The pause after these steps: the scheduler penalises a thread that never sleeps. */
#define ORMA_SERVICE_STEP_PAUSE_NS         (ORMA_NS_PER_MS / 2)
#define ORMA_SERVICE_TRIGGERS_PER_CONFIG   256u
#define ORMA_SERVICE_TRIGGERS_PER_CALL     64u    /* names in one activation; the rest is ignored */
#define ORMA_SERVICE_TRIGGER_HITS_KEPT     1024u  /* per session, the newest */
#define ORMA_SERVICE_PENDING_HITS_MAX      256u   /* delayed notifications of a session */
#define ORMA_SERVICE_TRIGGER_USES_KEPT     16384u /* in 24 hours, all names */
#define ORMA_SERVICE_TRIGGER_USES_PER_NAME 1024u
#define ORMA_SERVICE_TRIGGER_WINDOW_NS     (UINT64_C(86400) * ORMA_NS_PER_SEC)

#define ORMA_SERVICE_DURATION_MS_MAX     (7u * 24 * 3600 * 1000)
#define ORMA_SERVICE_GUARDED_DURATION_MS (24u * 3600 * 1000)
#define ORMA_SERVICE_GUARDED_BUFFERS_KB  131072u
#define ORMA_SERVICE_GUARDED_NAME_NS     (300 * ORMA_NS_PER_SEC) /* between sessions of one name */
#define ORMA_SERVICE_GUARDED_NAMES_MAX   256u                    /* names remembered for that */

#define ORMA_SERVICE_FLUSH_TIMEOUT_MS     5000u
#define ORMA_SERVICE_STOP_TIMEOUT_MS      5000u
#define ORMA_SERVICE_STARTED_TIMEOUT_MS   20000u
#define ORMA_SERVICE_START_GRACE_MS       5000u /* a shorter session waits for its sources */
#define ORMA_SERVICE_SNAPSHOT_INTERVAL_MS 10000u
#define ORMA_SERVICE_SUSPEND_CHECK_NS                                                              \
	ORMA_NS_PER_SEC /* how late a suspend-aware deadline may be noticed */

/* Sequences that a session remembers. When there are more, a new one replaces one whose writer is gone.
 * A query sorts and writes all of them in one turn. */
#define ORMA_SERVICE_SEQUENCES_MAX      (1u << 17)
#define ORMA_SERVICE_SEQUENCES_PER_LOOK 64u /* records examined to reuse one */
#define ORMA_SERVICE_SEQUENCE_ID        1u  /* the service's own packets */
/* A query leaves the writers out when there are more: no frame holds so many, and sorting them takes a
 * second. */
#define ORMA_SERVICE_WRITERS_PER_QUERY 8192u
/* The trace's last stats list all writers; earlier stats list them only up to this number. */
#define ORMA_SERVICE_WRITERS_PER_PERIOD 1024u
#define ORMA_SERVICE_HISTOGRAM_BUCKETS  11u

/* --- read-back -------------------------------------------------------------------------------- */
#define ORMA_SERVICE_BATCH_TRAILERS_MAX 1024u /* changes of sequence in one batch */
#define ORMA_SERVICE_BATCH_SLICES_MAX   (1u << 16)
#define ORMA_SERVICE_IOV_MAX            1024u
#define ORMA_SERVICE_LARGE_BYTES        (1u << 20) /* packets from here on take several turns */
#define ORMA_SERVICE_LARGE_CHECK_FIELDS 65536u     /* fields of a large packet, checked per step */
#define ORMA_SERVICE_TRAILER_BYTES      48u
#define ORMA_SERVICE_PREAMBLE_BYTES     11u /* Trace.packet: tag and length */
#define ORMA_SERVICE_FILE_STEP_BYTES    (1u << 20)
#define ORMA_SERVICE_FILE_PERIOD_MS     5000u
#define ORMA_SERVICE_FILE_PERIOD_MS_MIN 100u
#define ORMA_SERVICE_FILE_STEPS_PER_RUN 4u
#define ORMA_SERVICE_FILE_CREATE_MS     10000u /* how long a session waits for its file */
#define ORMA_SERVICE_FILES_MAX          100u   /* per session with max_file_count */
/* The minimum size of such a file, without its initial packets. */
#define ORMA_SERVICE_ROTATED_BYTES_MIN (64u << 10)
/* These are for max_file_count. A file keeps a reserve for data that comes in while the file is being cut:
 * CUT_RESERVE_MAX, or a share of a small file. Buffers are drained DRAINS_PER_RESERVE times while as much
 * data as the reserve comes in. Producers have CUT_TIMEOUT_MS to answer. */
#define ORMA_SERVICE_CUT_RESERVE_MAX    (8u << 20)
#define ORMA_SERVICE_CUT_RESERVE_SHARE  4u
#define ORMA_SERVICE_DRAINS_PER_RESERVE 8u
#define ORMA_SERVICE_CUT_TIMEOUT_MS     1000u
/* The share of the smallest buffer that may be filled while answers are awaited. */
#define ORMA_SERVICE_CUT_BUFFER_SHARE 4u
/* The size of a block; a larger packet is a block of its own. */
#define ORMA_SERVICE_BLOCK_BYTES       (256u << 10)
#define ORMA_SERVICE_BLOCK_BYTES_MIN   (4u << 10)
#define ORMA_SERVICE_BATCHES_PER_BLOCK 8u
/* The levels that zstd accepts. The memory that compression takes does not depend on them. */
#define ORMA_SERVICE_ZSTD_LEVEL_MIN   (-131072)
#define ORMA_SERVICE_ZSTD_LEVEL_MAX   22
#define ORMA_SERVICE_COMPRESSED_SLICE ((128u << 10) - 512)

#define ORMA_SERVICE_CLOCK_SNAPSHOTS_KEPT   16u
#define ORMA_SERVICE_CLOCK_DRIFT_NS         (10 * ORMA_NS_PER_MS)
#define ORMA_SERVICE_EVENT_TIMES_KEPT       64u /* flush_started, all_data_sources_flushed */
#define ORMA_SERVICE_SLOW_SOURCES_LISTED    32u
#define ORMA_SERVICE_CONCURRENT_EVENTS_KEPT 4096u

#endif
