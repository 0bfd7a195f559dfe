/* SPDX-License-Identifier: Apache-2.0
 * track_event.c - emitting slices, instants and counters.
 *
 *   call site -> category's bits -> for each instance: slot -> sequence -> one packet
 *
 * An event whose names the sequence has declared is encoded into a few bytes on the stack and
 * copied into the chunk; there is no lock, allocation or system call on that way. The first use of
 * a name goes through the general writer and declares it in the same packet.
 *
 * Loss keeps the structure of slices: a bit per open slice says whether its begin is in the trace.
 * The end of one that is not is not emitted either; the end of one that is, but finds no room, is
 * remembered with its time and emitted before anything else as soon as there is room. Rejected:
 * telling the reader how many ends are missing (no reader knows how to use that).
 */
#include <errno.h>

#include "base/buf.h"
#include "base/clock.h"
#include "schema/gen/interned_data.pb.h"
#include "schema/gen/trace_packet.pb.h"
#include "schema/gen/track_event.pb.h"
#include "track/track.h"

/* Written at registration, before any session can enable a category. */
static struct orma_data_source *_Atomic track_source;

/* A call site whose name has no id. */
#define NAME_LITERAL ORMA_TRACK_NAMES_MAX

/* Head, tag and length of the event, type, category and name or track and value. */
#define EVENT_BYTES_MAX 64
static_assert(ORMA_TRACK_HEAD_BYTES + 2 + 2 + 6 + 6 <= EVENT_BYTES_MAX, "a slice fits");
static_assert(ORMA_TRACK_HEAD_BYTES + 2 + 2 + 11 + 12 <= EVENT_BYTES_MAX, "a counter fits");
static_assert(EVENT_BYTES_MAX <= ORMA_SHM_RESERVE_BYTES_MAX, "the writer takes it in one piece");

struct event {
	struct orma_call_site *site; /* NULL for an end */
	enum orma_event_type type;
	uint64_t now_ns;
	bool is_double;
	uint64_t value; /* of a counter: the integer, or the double's bits */
};

static bool has_bit(const uint64_t *words, uint32_t idx)
{
	return words[idx / ORMA_TRACK_WORD_BITS] >> idx % ORMA_TRACK_WORD_BITS & 1;
}

static void set_bit(uint64_t *words, uint32_t idx, bool is_on)
{
	uint64_t bit = UINT64_C(1) << idx % ORMA_TRACK_WORD_BITS;

	if (is_on)
		words[idx / ORMA_TRACK_WORD_BITS] |= bit;
	else
		words[idx / ORMA_TRACK_WORD_BITS] &= ~bit;
}

static uint32_t name_id(struct orma_call_site *site)
{
	uint32_t id = __atomic_load_n(&site->name_id, __ATOMIC_RELAXED);

	if (ORMA_LIKELY(id != 0) || !site->name)
		return id;
	id = orma_track_name_intern(site->name);
	if (id == 0)
		id = NAME_LITERAL;
	__atomic_store_n(&site->name_id, id, __ATOMIC_RELAXED);
	return id;
}

/* --- one packet ------------------------------------------------------------------------------- */

static bool write_small(struct orma_packet *slot, const uint8_t *bytes, size_t size)
{
	memcpy(orma_shm_writer_reserve(slot->writer, size), bytes, size);
	orma_shm_writer_commit(slot->writer, size);
	return orma_client_slot_check(slot);
}

static uint8_t *put_field(uint8_t *at, uint32_t field_id, uint64_t value)
{
	at = orma_proto_put_varint(at, orma_proto_tag(field_id, ORMA_PROTO_VARINT));
	return orma_proto_put_varint(at, value);
}

/* The head of a packet, and the event with its type; *ret_length is for the event's size. */
static uint8_t *event_begin(struct orma_track_sequence *sequence, uint8_t *at, uint64_t now_ns,
			    enum orma_event_type type, uint8_t **ret_length)
{
	at = orma_track_put_head(sequence, at, now_ns);
	*at++ = ORMA_PB_TRACE_PACKET_TRACK_EVENT << 3 | ORMA_PROTO_BYTES;
	*ret_length = at++;
	return put_field(at, ORMA_PB_TRACK_EVENT_TYPE, type);
}

static bool write_end(struct orma_packet *slot, uint64_t now_ns)
{
	uint8_t bytes[EVENT_BYTES_MAX], *length;
	uint8_t *end = event_begin(slot->state, bytes, now_ns, ORMA_EVENT_END, &length);

	*length = (uint8_t)(end - length - 1);
	return write_small(slot, bytes, (size_t)(end - bytes));
}

static void intern(struct orma_proto_writer *writer, uint32_t field_id, uint32_t iid,
		   const char *text)
{
	struct orma_proto_nested one;

	/* All interned strings have the same two fields. */
	orma_proto_nested_begin(writer, &one, field_id);
	orma_proto_write_varint(writer, ORMA_PB_EVENT_NAME_IID, iid);
	orma_proto_write_string(writer, ORMA_PB_EVENT_NAME_NAME, text);
	orma_proto_nested_end(writer, &one);
}

/* The first event of a name or category in this sequence, or one whose names have no ids. */
static bool write_named_slow(struct orma_packet *slot, const struct event *event, uint32_t name,
			     uint32_t category)
{
	struct orma_track_sequence *sequence = slot->state;
	struct orma_proto_writer *writer = orma_shm_writer_packet_begin(slot->writer);
	bool has_name_id = name > 0 && name < ORMA_TRACK_NAMES_MAX;
	bool has_category_id = category < ORMA_TRACK_CATEGORIES_MAX;
	struct orma_proto_nested nested;
	uint8_t head[ORMA_TRACK_HEAD_BYTES];
	const uint8_t *end = orma_track_put_head(sequence, head, event->now_ns);

	orma_proto_write_raw(writer, head, (size_t)(end - head));
	orma_proto_nested_begin(writer, &nested, ORMA_PB_TRACE_PACKET_INTERNED_DATA);
	if (has_category_id && !has_bit(sequence->known.categories, category))
		intern(writer, ORMA_PB_INTERNED_DATA_EVENT_CATEGORIES, category,
		       event->site->category->name);
	if (has_name_id && !has_bit(sequence->known.names, name))
		intern(writer, ORMA_PB_INTERNED_DATA_EVENT_NAMES, name, event->site->name);
	orma_proto_nested_end(writer, &nested);
	orma_proto_nested_begin(writer, &nested, ORMA_PB_TRACE_PACKET_TRACK_EVENT);
	orma_proto_write_varint(writer, ORMA_PB_TRACK_EVENT_TYPE, event->type);
	if (has_category_id)
		orma_proto_write_varint(writer, ORMA_PB_TRACK_EVENT_CATEGORY_IIDS, category);
	else
		orma_proto_write_string(writer, ORMA_PB_TRACK_EVENT_CATEGORIES,
					event->site->category->name);
	if (has_name_id)
		orma_proto_write_varint(writer, ORMA_PB_TRACK_EVENT_NAME_IID, name);
	else if (event->site->name)
		orma_proto_write_string(writer, ORMA_PB_TRACK_EVENT_NAME, event->site->name);
	orma_proto_nested_end(writer, &nested);
	orma_shm_writer_packet_end(slot->writer);
	if (!orma_client_slot_check(slot))
		return false;
	if (has_category_id)
		set_bit(sequence->known.categories, category, true);
	if (has_name_id)
		set_bit(sequence->known.names, name, true);
	return true;
}

static bool write_named(struct orma_packet *slot, const struct event *event)
{
	struct orma_track_sequence *sequence = slot->state;
	uint32_t category = event->site->category->id;
	uint32_t name = name_id(event->site);
	uint8_t bytes[EVENT_BYTES_MAX], *end, *length;

	if (ORMA_UNLIKELY(name == 0 || name >= ORMA_TRACK_NAMES_MAX ||
			  category >= ORMA_TRACK_CATEGORIES_MAX ||
			  !has_bit(sequence->known.names, name) ||
			  !has_bit(sequence->known.categories, category)))
		return write_named_slow(slot, event, name, category);
	end = event_begin(sequence, bytes, event->now_ns, event->type, &length);
	end = put_field(end, ORMA_PB_TRACK_EVENT_CATEGORY_IIDS, category);
	end = put_field(end, ORMA_PB_TRACK_EVENT_NAME_IID, name);
	*length = (uint8_t)(end - length - 1);
	return write_small(slot, bytes, (size_t)(end - bytes));
}

static bool write_counter(struct orma_packet *slot, const struct event *event)
{
	struct orma_track_sequence *sequence = slot->state;
	uint32_t name = name_id(event->site);
	bool has_id = name > 0 && name < ORMA_TRACK_NAMES_MAX;
	uint8_t bytes[EVENT_BYTES_MAX], *end, *length;
	uint64_t uuid;

	if (!event->site->name)
		return true;
	uuid = orma_track_process.uuid ^ (has_id ? orma_track_name_get(name)->counter_hash
						 : orma_track_counter_hash(event->site->name));
	if (!has_id || !has_bit(sequence->known.counters, name)) {
		if (!orma_track_declare_counter(slot, event->site->name, uuid, event->now_ns))
			return false;
		if (has_id)
			set_bit(sequence->known.counters, name, true);
	}
	end = event_begin(sequence, bytes, event->now_ns, ORMA_EVENT_COUNTER, &length);
	end = put_field(end, ORMA_PB_TRACK_EVENT_TRACK_UUID, uuid);
	if (event->is_double) {
		end = orma_proto_put_varint(end,
					    orma_proto_tag(ORMA_PB_TRACK_EVENT_DOUBLE_COUNTER_VALUE,
							   ORMA_PROTO_FIXED64));
		memcpy(end, &event->value, sizeof(event->value));
		end += sizeof(event->value);
	} else {
		end = put_field(end, ORMA_PB_TRACK_EVENT_COUNTER_VALUE, event->value);
	}
	*length = (uint8_t)(end - length - 1);
	return write_small(slot, bytes, (size_t)(end - bytes));
}

/* --- slices that lost something --------------------------------------------------------------- */

static void push(struct orma_track_sequence *sequence, bool is_written)
{
	if (sequence->depth < ORMA_TRACK_DEPTH_MAX)
		set_bit(sequence->written, sequence->depth, is_written);
	sequence->depth++;
}

/* True when the begin of the innermost slice is in the trace. */
static bool pop(struct orma_track_sequence *sequence)
{
	if (sequence->depth == 0)
		return false;
	sequence->depth--;
	return sequence->depth < ORMA_TRACK_DEPTH_MAX &&
	       has_bit(sequence->written, sequence->depth);
}

static void remember_end(struct orma_track_sequence *sequence, uint64_t now_ns)
{
	uint32_t idx = ORMA_MIN(sequence->late_count, ORMA_TRACK_LATE_ENDS_MAX - 1u);

	sequence->late_ns[idx] = now_ns;
	sequence->late_count++;
}

static bool write_late_ends(struct orma_packet *slot)
{
	struct orma_track_sequence *sequence = slot->state;
	uint32_t done = 0, kept;

	while (done < sequence->late_count &&
	       write_end(slot, sequence->late_ns[ORMA_MIN(done, ORMA_TRACK_LATE_ENDS_MAX - 1u)]))
		done++;
	if (done == 0)
		return sequence->late_count == 0;
	kept = ORMA_MIN(sequence->late_count, (uint32_t)ORMA_TRACK_LATE_ENDS_MAX);
	for (uint32_t i = 0; i + done < kept; i++)
		sequence->late_ns[i] = sequence->late_ns[i + done];
	sequence->late_count -= done;
	return sequence->late_count == 0;
}

/* Brings the sequence into a state in which events can be read. False: no room. */
static bool prepare(struct orma_packet *slot, uint32_t idx, uint64_t now_ns)
{
	struct orma_track_sequence *sequence = slot->state;
	uint64_t begin_ns = sequence->late_count > 0 ? sequence->late_ns[0] : now_ns;

	return orma_track_sequence_begin(slot, idx, begin_ns) && write_late_ends(slot);
}

/* --- emitting --------------------------------------------------------------------------------- */

static void emit_to(struct orma_packet *slot, uint32_t idx, const struct event *event)
{
	struct orma_track_sequence *sequence = slot->state;
	bool is_wanted = event->type != ORMA_EVENT_END || pop(sequence);
	bool is_written = false;

	/* Also at an end that is not wanted: the late ones of others may have room now. */
	if (ORMA_UNLIKELY(slot->needs_state) &&
	    !((is_wanted || sequence->late_count > 0) && prepare(slot, idx, event->now_ns))) {
		slot->needs_state = true;
	} else if (is_wanted) {
		is_written = event->type == ORMA_EVENT_END       ? write_end(slot, event->now_ns)
			     : event->type == ORMA_EVENT_COUNTER ? write_counter(slot, event)
								 : write_named(slot, event);
	}
	if (event->type == ORMA_EVENT_BEGIN)
		push(sequence, is_written);
	else if (event->type == ORMA_EVENT_END && is_wanted && !is_written)
		remember_end(sequence, event->now_ns);
}

/* The bits of the instances that the event was given to. */
static uint32_t emit(const struct event *event, uint32_t instances)
{
	struct orma_data_source *source = atomic_load_explicit(&track_source, memory_order_acquire);
	uint32_t given = 0;

	if (ORMA_UNLIKELY(instances & ORMA_TRACK_REVIVE)) {
		orma_client_revive();
		return 0;
	}
	while (source && instances) {
		uint32_t idx = (uint32_t)__builtin_ctz(instances);
		struct orma_packet *slot;

		instances &= instances - 1;
		slot = idx < ORMA_INSTANCES_MAX ? orma_client_slot_get(source, idx) : NULL;
		if (!slot)
			continue;
		slot->is_open = true;
		emit_to(slot, idx, event);
		slot->is_open = false;
		given |= UINT32_C(1) << idx;
	}
	return given;
}

static uint32_t enabled(const struct orma_category *category)
{
	return __atomic_load_n(&category->enabled, __ATOMIC_RELAXED);
}

static uint32_t emit_site(struct orma_call_site *site, enum orma_event_type type, bool is_double,
			  uint64_t value)
{
	const struct event event = {
		.site = site,
		.type = type,
		.now_ns = orma_base_clock_ns(CLOCK_BOOTTIME),
		.is_double = is_double,
		.value = value,
	};

	return emit(&event, enabled(site->category));
}

void orma_event_emit(struct orma_call_site *site)
{
	emit_site(site, (enum orma_event_type)site->type, false, 0);
}

void orma_event_emit_counter_int(struct orma_call_site *site, int64_t value)
{
	emit_site(site, ORMA_EVENT_COUNTER, false, (uint64_t)value);
}

void orma_event_emit_counter_double(struct orma_call_site *site, double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	emit_site(site, ORMA_EVENT_COUNTER, true, bits);
}

uint32_t orma_event_scope_begin(struct orma_call_site *site)
{
	return emit_site(site, ORMA_EVENT_BEGIN, false, 0);
}

void orma_event_scope_end(struct orma_scope *scope)
{
	uint32_t instances = scope->instances;
	struct event event = {.type = ORMA_EVENT_END};

	/* An instance that has stopped meanwhile wants nothing; its place may be another's now. */
	if (ORMA_LIKELY(instances == 0))
		return;
	instances &= enabled(scope->category);
	event.now_ns = orma_base_clock_ns(CLOCK_BOOTTIME);
	emit(&event, instances);
}

/* --- the data source -------------------------------------------------------------------------- */

static void on_setup(void *ctx, const struct orma_instance *instance, void **ret_instance_ctx)
{
	(void)ctx;
	(void)ret_instance_ctx;
	orma_track_configure(instance->idx, instance->config, instance->config_size);
}

static void on_start(void *ctx, const struct orma_instance *instance)
{
	(void)ctx;
	orma_track_enable(instance->idx);
}

static enum orma_completion on_stop(void *ctx, const struct orma_instance *instance)
{
	(void)ctx;
	orma_track_disable(instance->idx);
	return ORMA_COMPLETE;
}

static enum orma_completion on_flush(void *ctx, const struct orma_instance *instance)
{
	(void)ctx;
	(void)instance;
	orma_track_renames_check();
	return ORMA_COMPLETE;
}

static void on_destroy(void *ctx, const struct orma_instance *instance)
{
	(void)ctx;
	orma_track_unconfigure(instance->idx);
}

static bool may_adopt(void *ctx, const void *startup_config, size_t startup_size,
		      const void *config, size_t size)
{
	(void)ctx;
	return orma_track_may_adopt(startup_config, startup_size, config, size);
}

static void on_forked(void *ctx)
{
	(void)ctx;
	orma_track_categories_forked();
	orma_track_names_forked();
}

static void on_revived(void *ctx, int32_t parent)
{
	(void)ctx;
	orma_track_mark_all(0);
	orma_track_process_init(parent);
}

static void on_freed(void *ctx)
{
	(void)ctx;
	atomic_store_explicit(&track_source, NULL, memory_order_release);
	orma_track_categories_attach(NULL);
}

int orma_track_event_register(void)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf descriptor = {0};
	const struct orma_client_source_extra extra = {
		.thread_state_bytes = sizeof(struct orma_track_sequence),
		.state_lost = orma_track_sequence_lost,
		.state_done = orma_track_sequence_done,
		.forked = on_forked,
		.revived = on_revived,
		.freed = on_freed,
	};
	struct orma_data_source_options options = {
		.struct_size = sizeof(options),
		.name = "track_event",
		.allow_policy_in_config = true,
		.on_setup = on_setup,
		.on_start = on_start,
		.on_stop = on_stop,
		.on_flush = on_flush,
		.on_destroy = on_destroy,
		.may_adopt = may_adopt,
	};
	struct orma_data_source *source;
	int r = orma_track_describe(&descriptor);

	if (r < 0)
		return r;
	options.descriptor = descriptor.data;
	options.descriptor_size = descriptor.size;
	orma_track_process_init(0);
	r = orma_client_source_new(&options, &extra, &source);
	if (r < 0)
		return r == -EEXIST ? -EALREADY : r;
	atomic_store_explicit(&track_source, source, memory_order_release);
	orma_track_categories_attach(source);
	return 0;
}
