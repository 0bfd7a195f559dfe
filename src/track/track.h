/* SPDX-License-Identifier: Apache-2.0
 * track.h - what the files of src/track/ share.
 *
 * Vocabulary: a *sequence* is what one thread writes for one instance of the data source
 * "track_event"; its state says what the reader of the sequence knows already: names, categories,
 * tracks, the time of the last packet. Ids of names and categories are the process's, so that they
 * are the same in all sequences, and "known already" is one bit.
 */
#ifndef ORMA_TRACK_TRACK_H
#define ORMA_TRACK_TRACK_H

#include <orma/data_source.h>
#include <orma/track.h>
#include <orma/track_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "client/client.h"
#include "schema/gen/track_event_config.pb.h"
#include "track/clock.h"
#include "track/limits.h"
#include "track/nesting.h"
#include "track/text.h"

/* --- names ------------------------------------------------------------------------------------ */

struct orma_track_name {
	const char *text;  /* as it was given; NUL-terminated */
	const char *clean; /* UTF-8, as long */
	size_t size;
	uint64_t counter_hash; /* of a counter track of that name; xor the process's uuid */
	uint32_t id;           /* 1..ORMA_TRACK_NAMES_MAX - 1 */
};

/* The id of a text, made at its first use; 0 = it is too long, there are too many, or no memory.
 * Takes a lock at the first use only. */
uint32_t orma_track_name_intern_size(const char *text, size_t size, bool is_dynamic);
static inline uint32_t orma_track_name_intern(const char *text)
{
	return orma_track_name_intern_size(text, strlen(text), false);
}
const struct orma_track_name *orma_track_name_get(uint32_t id);
uint64_t orma_track_counter_hash(const char *text);

/* --- categories ------------------------------------------------------------------------------- */

struct orma_track_sequence;

/* What an instance was configured with; constant while it is started. */
struct orma_track_instance {
	/* Atomic, because a thread may begin a sequence of the instance that was here before. */
	_Atomic uint64_t unit_ns;  /* of timestamps */
	_Atomic uint32_t clock_id; /* of timestamps by default */
	_Atomic bool is_incremental;
	_Atomic bool filters_arguments,
		filters_names; /* of events; names that are known at run time only */
	_Atomic bool samples_time;
	_Atomic uint64_t time_step_ns; /* thread times are read at most this often */

	/* Of the mutex of category.c. */
	bool is_started;
	struct orma_arena arena; /* of the config */
	const struct orma_pb_track_event_config *config;
};

extern struct orma_track_instance orma_track_instances[ORMA_INSTANCES_MAX];

/* The next text of a comma-separated list, which may be NULL; empty ones are skipped. */
bool orma_track_list_next(const char **at, struct orma_str *ret);
/* rule.c; `name` is no group's; `tags` is a comma-separated list or NULL. */
bool orma_track_category_matches(const struct orma_pb_track_event_config *config,
				 struct orma_str name, const char *tags);
/*
 * The id of a category by its name, which need not be one of the program's;
 * ORMA_TRACK_CATEGORIES_MAX = none. *ret_text: the name, for ever.
 */
uint32_t orma_track_member_id(struct orma_str name, const char **ret_text);
/*
 * Whether the instance wants an event of a category that the event names itself; `tags` may be
 * NULL. A category of events like that is orma_category_dynamic.
 */
bool orma_track_dynamic_is_wanted(struct orma_track_sequence *sequence, uint32_t idx,
				  const char *name, const char *tags);
/* Decodes an untrusted config. */
void orma_track_configure(uint32_t idx, const void *config, size_t size);
/* Sets the bits of all categories; clears them again. */
void orma_track_enable(uint32_t idx);
void orma_track_disable(uint32_t idx);
/* Sets the word of every category; async-signal-safe. */
void orma_track_mark_all(uint32_t enabled);
/* In the child of a fork; async-signal-safe. Every category is marked: no instance's bit is set,
 * and the first event calls orma_client_revive(). */
void orma_track_categories_forked(void);
void orma_track_names_forked(void);
#define ORMA_TRACK_REVIVE (UINT32_C(1) << 31)
static_assert(ORMA_INSTANCES_MAX < 31, "the mark is not an instance's bit");
void orma_track_unconfigure(uint32_t idx);
/* Upstream's rule: both have a TrackEventConfig, and the same categories and tags in any order. */
bool orma_track_may_adopt(const void *startup_config, size_t startup_size, const void *config,
			  size_t size);
/* On the loop thread: calls the callbacks of what has changed. */
void orma_track_categories_tell(void);
/* From now on the source's description follows the categories; NULL = no more. */
void orma_track_categories_attach(struct orma_data_source *source);
/* The fields of the descriptor: track_event_descriptor; at most ORMA_TRACK_DESCRIPTION_BYTES. */
int orma_track_describe(struct orma_buf *buf);
/* The same of a list that does not change meanwhile. */
int orma_track_describe_list(const struct orma_category *first, struct orma_buf *buf);

/* --- the process ------------------------------------------------------------------------------ */

struct orma_track_process {
	uint64_t uuid;
	int32_t pid;
	int32_t parent_pid; /* the process that forked this one; 0 = it did not begin so */
	uint64_t start_ns;  /* since boot; 0 = unknown */
};

extern struct orma_track_process orma_track_process;
void orma_track_process_init(int32_t parent_pid);

/* --- names ------------------------------------------------------------------------------------ */

/* How a thread is described. */
struct orma_track_thread {
	char name[ORMA_TRACK_THREAD_NAME_BYTES]; /* "" = none */
	int32_t rank;
	bool is_kept_apart;
};

struct orma_track_process_texts {
	char name[ORMA_TRACK_PROCESS_NAME_BYTES]; /* "" = the first of `cmdline` */
	int32_t rank;
	size_t cmdline_size;
	char cmdline[ORMA_TRACK_CMDLINE_BYTES]; /* arguments, each with its NUL */
};

/* The calling thread, which is described so from now on: as the kernel has it, or as it was
 * described last, if it was; any thread of the process. */
void orma_track_thread_look(bool asks_kernel, struct orma_track_thread *ret);
void orma_track_thread_look_at(int32_t tid, struct orma_track_thread *ret);
void orma_track_process_look(struct orma_track_process_texts *ret);
/* True when it is another than before. */
bool orma_track_process_read_cmdline(void);

/*
 * Calls `fn` with the calling thread's slot of each instance that runs, its sequence begun. False:
 * it was lost.
 */
typedef bool orma_track_tell_fn(const void *ctx, struct orma_packet *slot, uint64_t now_ns);
void orma_track_tell(orma_track_tell_fn *fn, const void *ctx);
/* All on the loop thread: an instance starts, or is about to stop; what has changed is described.
 * */
void orma_track_renames_start(void);
void orma_track_renames_stop(void);
void orma_track_renames_check(void);
/* In the child of a fork; async-signal-safe. */
void orma_track_renames_forked(void);

/* --- tracks ----------------------------------------------------------------------------------- */

/* A track that a sequence has described. */
struct orma_track_known {
	uint64_t uuid; /* 0 = a free place */
	uint64_t last; /* of an incremental counter: the value, an integer or a double's bits */
};

/* Ends that found no room and are to be written later; {0} = none. See late.c. */
struct orma_track_late_items;
struct orma_track_late {
	uint64_t ns, uuid; /* the track, 0 = the thread's */
	struct orma_track_late_items *items;
	uint32_t ends; /* more than one: the last of them had no place of its own */
	uint32_t lost_items;
};
struct orma_track_lates {
	uint32_t count, grown_count, items_bytes;
	struct orma_track_late *grown; /* grown_count places; NULL = those in `few` */
	struct orma_track_late few[ORMA_TRACK_LATE_ENDS_FEW];
};

#define ORMA_TRACK_SET_BITS 5
/* What a name of run time is replaced by, on demand. */
#define ORMA_TRACK_FILTERED "FILTERED"

/* {0} is an empty one. */
struct orma_track_set {
	uint32_t count, grown_bits;
	struct orma_track_known *grown; /* 1 << grown_bits places; NULL = those in `few` */
	struct orma_track_known few[1 << ORMA_TRACK_SET_BITS];
};

struct orma_track_known *orma_track_set_find(struct orma_track_set *set, uint64_t uuid);
/* False: there are too many, or no memory. */
bool orma_track_set_add(struct orma_track_set *set, uint64_t uuid);
void orma_track_set_done(struct orma_track_set *set);

uint64_t orma_track_thread_uuid(int32_t tid);
/* As orma_track_uuid(), without asking the system who we are. */
uint64_t orma_track_uuid_at(const struct orma_track_sequence *sequence,
			    const struct orma_track *track);
/*
 * Before an event on the track: describes it and its parents unless the sequence has. NULL, the
 * thread's own track, is described always. False: there was no room, and the event is lost too.
 */
bool orma_track_declare(struct orma_packet *slot, const struct orma_track *track, uint64_t now_ns);
/* The root of the trace, if the program has registered one. True without one. */
bool orma_track_write_root(struct orma_packet *slot, uint64_t now_ns);
/*
 * The field of a TrackEvent that names the track, none for NULL; `at` has room for 11 bytes. NULL:
 * the sequence has not described it.
 */
uint8_t *orma_track_put_described(struct orma_track_sequence *sequence, uint8_t *at,
				  const struct orma_track *track);
/* What to write for a value of a counter track that has been declared. */
int64_t orma_track_delta_int(struct orma_track_sequence *sequence, const struct orma_track *track,
			     uint64_t uuid, int64_t value);
double orma_track_delta_double(struct orma_track_sequence *sequence, const struct orma_track *track,
			       uint64_t uuid, double value);

/* Describes a thread of this process. */
bool orma_track_write_thread(struct orma_packet *slot, int32_t tid,
			     const struct orma_track_thread *as, uint64_t now_ns);
bool orma_track_write_process(struct orma_packet *slot, uint64_t now_ns);
/* The counter of its CPU time. */
bool orma_track_write_thread_time(struct orma_packet *slot, uint64_t now_ns);
uint64_t orma_track_thread_time_uuid(int32_t tid);
/* Both, of the calling thread, at the beginning of its sequence. */
bool orma_track_describe_thread(struct orma_packet *slot, bool is_first, uint64_t now_ns);

/* --- sequences -------------------------------------------------------------------------------- */

#define ORMA_TRACK_WORD_BITS 64

/* In each slot of the data source; zero = nothing known, nothing open. */
struct orma_track_sequence {
	struct orma_track_nesting nesting; /* the thread's own slices */
	/* Forgotten when incremental state is lost. */
	struct {
		uint64_t last_ns;
		struct orma_track_line line; /* for what time it is */
		/* Bit = id of a call site whose pre-encoded bytes are right here: the sequence can
		 * be read and has lost nothing since, its timestamps are incremental and of 1 ns,
		 * nothing is added or filtered, and the site's name, category and remembered keys
		 * have been declared. The last one is never set. */
		uint64_t sites[ORMA_TRACK_SITES_MAX / ORMA_TRACK_WORD_BITS + 1];
		bool is_plain; /* all of that but for the names; before any bit of `sites` */
		uint64_t thread_time_ns; /* as the reader knows it */
		uint64_t thread_time_at_ns;
		uint64_t names[ORMA_TRACK_NAMES_MAX / ORMA_TRACK_WORD_BITS];
		uint64_t keys[ORMA_TRACK_NAMES_MAX / ORMA_TRACK_WORD_BITS];
		uint64_t locations[ORMA_TRACK_NAMES_MAX / ORMA_TRACK_WORD_BITS];
		uint64_t categories[ORMA_TRACK_CATEGORIES_MAX / ORMA_TRACK_WORD_BITS];
		uint64_t dynamic[1 << ORMA_TRACK_DYNAMIC_BITS]; /* hashes of names, and answers */
	} known;
	struct orma_track_set tracks; /* forgotten together with `known` */
	/* Of the instance's config: arguments are left out; names of run time become "FILTERED". */
	bool filters_arguments, filters_names;
	/* Events on the thread's own track carry its CPU time: orma_track_put_thread_time(). */
	bool samples_time;
	uint64_t time_step_ns;
	uint64_t unit_ns;
	uint32_t clock_id;
	int32_t tid;
	bool is_incremental;

	struct orma_track_lates late;
	struct orma_track_loss {
		uint32_t name, events;
		uint64_t begin_ns;
	} losses[ORMA_TRACK_LOSSES_MAX];
};

static inline bool orma_track_has_bit(const uint64_t *words, uint32_t idx)
{
	return words[idx / ORMA_TRACK_WORD_BITS] >> idx % ORMA_TRACK_WORD_BITS & 1;
}

static inline void orma_track_set_bit(uint64_t *words, uint32_t idx, bool is_on)
{
	uint64_t bit = UINT64_C(1) << idx % ORMA_TRACK_WORD_BITS;

	if (is_on)
		words[idx / ORMA_TRACK_WORD_BITS] |= bit;
	else
		words[idx / ORMA_TRACK_WORD_BITS] &= ~bit;
}

/* Describes thread, process and clock anew. False: lost, and nothing may be emitted. */
bool orma_track_sequence_begin(struct orma_packet *slot, uint32_t idx, uint64_t now_ns);
/* Slots: what is open stays open when the service has incremental state cleared. */
void orma_track_sequence_lost(void *state, bool is_new);
void orma_track_sequence_done(void *state);
void orma_track_lates_done(struct orma_track_lates *lates);
/* The time of the first of them. */
static inline uint64_t orma_track_lates_begin_ns(const struct orma_track_lates *lates)
{
	return lates->grown ? lates->grown->ns : lates->few->ns;
}
/* Tag, timestamp and flags of a packet; `at` has room for ORMA_TRACK_HEAD_BYTES. */
uint8_t *orma_track_put_head(struct orma_track_sequence *sequence, uint8_t *at, uint64_t now_ns);
#define ORMA_TRACK_HEAD_BYTES 13
/* With `samples_time`: a field of a TrackEvent; `at` has room for ORMA_TRACK_TIME_BYTES. */
uint8_t *orma_track_put_thread_time(struct orma_track_sequence *sequence, uint8_t *at,
				    uint64_t now_ns);
#define ORMA_TRACK_TIME_BYTES 11
/* A packet of any size, with its head. */
struct orma_proto_writer *orma_track_packet_begin(struct orma_packet *slot, uint64_t now_ns);
/* False: it was lost. */
bool orma_track_packet_end(struct orma_packet *slot);

#endif
