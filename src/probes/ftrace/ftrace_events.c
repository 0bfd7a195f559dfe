/* SPDX-License-Identifier: Apache-2.0
 * ftrace_events.c - the table of events.
 *
 *	by_id: | - | - | print | - | ... | sched_switch | ... |     index = the kernel's id, which records have
 *	by_name: hash of "sched/sched_switch" -> the same entries
 *
 * An event is read from tracefs when somebody asks for it, because a kernel has two thousand and a session wants ten.
 * Its plan and names are in an arena of its own, so that a kprobe that goes away takes nothing with it.
 *
 * An event is typed if FtraceEvent has a member of its name in its group (event_groups.h) and its fields fit. Otherwise
 * it is generic, and gets a field number from 65536. A trace can have events of several tables (instances, frozen
 * buffers), and a reader knows one descriptor for each number, so no other event of the process gets the same one.
 *
 * The kernel may give an id to another event, and a name to an event with another format, while sessions record the old
 * one: a module was unloaded, a probe was made again. So a known event is compared with its file each time somebody asks for
 * it, and an entry that is replaced is removed from all sets that want it. The kernel has emptied its buffers then.
 *
 * Invariants: an entry is in both tables under its own id and name, or in none. An event that a set wants is loaded, and is
 * the one that was asked for. Rejected: reading all formats at the
 * start (upstream; 50 ms of reading); names without groups as keys, because two groups may have the same name.
 */
#include "probes/ftrace/ftrace_events.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/assert.h"
#include "base/fd.h"
#include "base/log_message.h"
#include "base/macros.h"
#include "base/map.h"
#include "probes/ftrace/compact_sched.h"
#include "probes/ftrace/event_groups.h"
#include "probes/ftrace/event_plan.h"
#include "probes/ftrace/event_table.h"
#include "probes/ftrace/ftrace_format.h"
#include "probes/probe_files.h"
#include "probes/probe_text.h"
#include "proto/wire.h"
#include "schema/gen/ftrace_event.pb.h"
#include "schema/gen/ftrace_generic.pb.h"

#define PRINTK_FORMATS_BYTES_MAX (4u << 20)

/* The tag of a larger field number does not fit into a plan. Numbers begin anew after sixteen thousand sessions with all
 * events of a kernel. */
#define FIELD_IDS ((UINT32_C(1) << 25) - ORMA_FTRACE_GENERIC_FIELD_ID)

static _Atomic uint32_t generic_count; /* field numbers given out */

/* --- which message -------------------------------------------------------------------------- */

static bool is_in_group(uint32_t field_id, const char *group)
{
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(orma_ftrace_event_groups); i++) {
		const struct orma_ftrace_event_group *run = &orma_ftrace_event_groups[i];
		if (field_id >= run->first_field && field_id <= run->last_field)
			return strcmp(run->group, group) == 0;
	}
	return false;
}

static const struct orma_proto_field_desc *find_member(const char *group, const char *name)
{
	const struct orma_proto_desc *desc = &orma_pb_ftrace_event_desc;
	const struct orma_proto_field_desc *field =
		orma_proto_desc_find_name(desc, orma_base_str(name));
	char long_name[ORMA_PROBES_PATH_BYTES];

	if (field && field->kind == ORMA_PROTO_KIND_MESSAGE && is_in_group(field->id, group))
		return field;
	/* hypervisor/host_hcall is hypervisor_host_hcall, because another group has one too. */
	int size = snprintf(long_name, sizeof(long_name), "%s_%s", group, name);
	if (size < 0 || (size_t)size >= sizeof(long_name))
		return NULL;
	field = orma_proto_desc_find_name(desc, orma_base_str(long_name));
	return field && field->kind == ORMA_PROTO_KIND_MESSAGE && is_in_group(field->id, group)
		       ? field
		       : NULL;
}

/* --- making an entry ------------------------------------------------------------------------ */

static int plan_typed(struct orma_event_entry *entry, const struct orma_ftrace_format *format)
{
	const struct orma_proto_field_desc *member =
		find_member(entry->event.group, entry->event.name);
	struct orma_event_plan *plan;

	if (!member)
		return -EBADMSG;
	int r = orma_event_plan_typed(format,
				      orma_pb_ftrace_event_desc.types[member->type_idx].message,
				      member->id, &entry->arena, &plan);
	if (r < 0)
		return r;
	entry->event.encoding = ORMA_FTRACE_TYPED;
	entry->event.field_id = member->id;
	entry->event.plan = plan;
	return 0;
}

static int plan_generic(struct orma_event_entry *entry, const struct orma_ftrace_format *format)
{
	struct orma_event_plan *plan;
	uint32_t field_id =
		ORMA_FTRACE_GENERIC_FIELD_ID +
		atomic_fetch_add_explicit(&generic_count, 1, memory_order_relaxed) % FIELD_IDS;
	int r = orma_event_plan_generic(format, field_id, &entry->arena, &plan);

	if (r == 0)
		r = orma_legacy_event_plan(format, &entry->arena, &entry->legacy);
	if (r == 0)
		r = orma_generic_event_describe(format, entry->event.group, field_id,
						&entry->descriptor);
	if (r < 0)
		return r;
	entry->event.encoding = ORMA_FTRACE_GENERIC;
	entry->event.field_id = field_id;
	entry->event.plan = plan;
	return 0;
}

/* KprobeEvent's name, and its type, which is the last byte and which the sink overwrites. */
static int plan_kprobe(struct orma_event_entry *entry, const struct orma_ftrace_format *format)
{
	size_t name_size = strlen(entry->event.name);
	struct orma_event_plan *plan;
	uint8_t *constant = orma_base_arena_alloc(&entry->arena, name_size + 16);

	if (!constant)
		return -ENOMEM;
	uint8_t *at = constant;
	at = orma_proto_put_varint(at, orma_proto_tag(ORMA_PB_KPROBE_EVENT_NAME, ORMA_PROTO_BYTES));
	at = orma_proto_put_varint(at, name_size);
	memcpy(at, entry->event.name, name_size);
	at += name_size;
	at = orma_proto_put_varint(at,
				   orma_proto_tag(ORMA_PB_KPROBE_EVENT_TYPE, ORMA_PROTO_VARINT));
	*at++ = 0;
	int r = orma_event_plan_constant(format, ORMA_PB_FTRACE_EVENT_KPROBE_EVENT, constant,
					 (uint16_t)(at - constant), &entry->arena, &plan);
	if (r < 0)
		return r;
	entry->event.encoding = ORMA_FTRACE_KPROBE;
	entry->event.field_id = ORMA_PB_FTRACE_EVENT_KPROBE_EVENT;
	entry->event.plan = plan;
	return 0;
}

static void entry_free(struct orma_event_entry *entry)
{
	if (!entry)
		return;
	orma_base_buf_done(&entry->descriptor);
	orma_base_arena_done(&entry->arena);
	orma_base_free(entry);
}

static void entry_freep(struct orma_event_entry **entry)
{
	entry_free(*entry);
}

static uint64_t name_key(const char *group, const char *name)
{
	uint64_t hash = orma_base_fnv1a(ORMA_FNV1A_INIT, group, strlen(group) + 1);

	return orma_base_fnv1a(hash, name, strlen(name));
}

static int insert(struct orma_ftrace_events *events, struct orma_event_entry *entry)
{
	uint16_t id = entry->event.id;

	/* The kernel has given the number to another event, so the one that had it is gone. */
	orma_ftrace_events_unload(events, id);
	if (id >= events->id_limit) {
		uint32_t limit = ORMA_MAX((uint32_t)id + 1, events->id_limit * 2);
		struct orma_event_entry **by_id =
			orma_base_realloc_array(events->by_id, limit, sizeof(*by_id));
		if (!by_id)
			return -ENOMEM;
		memset(by_id + events->id_limit, 0, (limit - events->id_limit) * sizeof(*by_id));
		events->by_id = by_id;
		events->id_limit = limit;
	}
	int r = orma_base_map_put(&events->by_name, name_key(entry->event.group, entry->event.name),
				  entry);
	if (r == 0)
		events->by_id[id] = entry;
	return r;
}

/* --- reading -------------------------------------------------------------------------------- */

/* The names become parts of a path. */
static bool is_usable_name(const char *name)
{
	return name[0] != '\0' && name[0] != '.' && !strchr(name, '/') &&
	       strlen(name) < ORMA_PROBES_PATH_BYTES;
}

static int read_format(struct orma_ftrace_events *events, const char *group, const char *name)
{
	char path[2 * ORMA_PROBES_PATH_BYTES + 16];

	if (!is_usable_name(group) || !is_usable_name(name))
		return -EINVAL;
	snprintf(path, sizeof(path), "%s/%s/format", group, name);
	events->text.size = 0;
	return orma_base_file_read(events->events_fd, path, ORMA_FTRACE_FORMAT_BYTES_MAX,
				   &events->text);
}

static uint64_t text_hash(const struct orma_buf *text)
{
	return orma_base_fnv1a(ORMA_FNV1A_INIT, text->data, text->size);
}

static bool has_text_pointer(const struct orma_event_plan *plan)
{
	for (uint16_t i = 0; i < plan->other_count; i++) {
		if (plan->others[i].op == ORMA_PLAN_TEXT_POINTER)
			return true;
	}
	return false;
}

/* The strings are read when the first event needs them; without them, its fields are empty. Only the root has the file. */
static int load_printk_formats(struct orma_ftrace_events *events)
{
	if (events->has_printk_formats)
		return 0;
	events->text.size = 0;
	int r = orma_base_file_read(events->events_fd, "../printk_formats",
				    PRINTK_FORMATS_BYTES_MAX, &events->text);
	if (r < 0)
		r = orma_base_file_read(events->events_fd, "../../../printk_formats",
					PRINTK_FORMATS_BYTES_MAX, &events->text);
	events->has_printk_formats = true;
	if (r < 0)
		return r == -ENOMEM ? r : 0;
	return orma_printk_formats_parse(
		(struct orma_str){(const char *)events->text.data, events->text.size},
		&events->printk_formats);
}

static int load(struct orma_ftrace_events *events, const char *group, const char *name,
		bool is_kprobe, struct orma_event_entry **ret)
{
	ORMA_AUTO(entry_freep) struct orma_event_entry *entry = orma_base_zalloc(sizeof(*entry));
	struct orma_ftrace_format format;
	int r = read_format(events, group, name);

	if (r < 0)
		return r;
	if (!entry)
		return -ENOMEM;
	r = orma_ftrace_format_parse(
		(struct orma_str){(const char *)events->text.data, events->text.size},
		&entry->arena, &format);
	if (r < 0)
		return r;
	entry->event.group = orma_base_arena_strdup(&entry->arena, orma_base_str(group));
	entry->event.name = orma_base_arena_strdup(&entry->arena, orma_base_str(name));
	entry->event.id = format.id;
	entry->format_hash = text_hash(&events->text);
	if (!entry->event.group || !entry->event.name)
		return -ENOMEM;
	if (is_kprobe) {
		r = plan_kprobe(entry, &format);
	} else {
		r = plan_typed(entry, &format);
		if (r == -EBADMSG)
			r = plan_generic(entry, &format);
	}
	if (r == 0 && has_text_pointer(entry->event.plan))
		r = load_printk_formats(events);
	if (r == 0)
		r = insert(events, entry);
	if (r < 0)
		return r;
	orma_compact_format_learn(&events->compact, &entry->event, &format);
	*ret = ORMA_TAKE(entry);
	return 0;
}

/* Returns the event's entry, unless the kernel has replaced the event since. A file that cannot be read proves nothing. */
static struct orma_event_entry *find_current(struct orma_ftrace_events *events, const char *group,
					     const char *name)
{
	struct orma_event_entry *entry = orma_base_map_get(&events->by_name, name_key(group, name));
	int r = entry ? read_format(events, group, name) : 0;

	if (entry && (r == -ENOENT || (r == 0 && text_hash(&events->text) != entry->format_hash))) {
		orma_ftrace_events_unload(events, entry->event.id);
		entry = NULL;
	}
	return entry;
}

static int get(struct orma_ftrace_events *events, const char *group, const char *name,
	       bool is_kprobe, const struct orma_ftrace_event **ret)
{
	struct orma_event_entry *entry = find_current(events, group, name);

	if (!entry || (entry->event.encoding == ORMA_FTRACE_KPROBE) != is_kprobe) {
		int r = load(events, group, name, is_kprobe, &entry);
		if (r < 0)
			return r;
	}
	*ret = &entry->event;
	return 0;
}

int orma_ftrace_events_load(struct orma_ftrace_events *events, const char *group, const char *name,
			    const struct orma_ftrace_event **ret)
{
	return get(events, group, name, false, ret);
}

int orma_ftrace_events_load_kprobe(struct orma_ftrace_events *events, const char *group,
				   const char *name, const struct orma_ftrace_event **ret)
{
	return get(events, group, name, true, ret);
}

/* --- the table ------------------------------------------------------------------------------ */

int orma_ftrace_events_new(const char *tracefs_path, struct orma_ftrace_events **ret)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf path = {0};
	struct orma_ftrace_events *events = orma_base_zalloc(sizeof(*events));
	int r = events ? orma_base_buf_printf(&path, "%s/events", tracefs_path) : -ENOMEM;
	const char *text = r == 0 ? orma_base_buf_cstr(&path) : NULL;

	if (!text) {
		orma_base_free(events);
		return -ENOMEM;
	}
	events->events_fd = orma_probes_dir_open(AT_FDCWD, text);
	if (events->events_fd < 0) {
		r = events->events_fd;
		orma_base_free(events);
		return r;
	}
	orma_base_list_init(&events->sets);
	*ret = events;
	return 0;
}

void orma_ftrace_events_free(struct orma_ftrace_events *events)
{
	if (!events)
		return;
	ORMA_ASSERT(orma_base_list_is_empty(&events->sets));
	for (uint32_t id = 0; id < events->id_limit; id++)
		entry_free(events->by_id[id]);
	orma_base_free(events->by_id);
	orma_base_map_done(&events->by_name);
	orma_printk_formats_done(&events->printk_formats);
	orma_available_events_done(&events->available);
	orma_base_buf_done(&events->text);
	orma_base_fd_close(events->events_fd);
	orma_base_free(events);
}

void orma_ftrace_events_unload(struct orma_ftrace_events *events, uint16_t id)
{
	struct orma_event_entry *entry = orma_event_table_get(events, id);
	struct orma_event_set *set;
	bool is_wanted = false;

	if (!entry)
		return;
	ORMA_LIST_FOR_EACH (set, &events->sets, link)
		if (id < set->limit && set->actions[id]) {
			set->actions[id] = 0;
			is_wanted = true;
		}
	orma_compact_format_forget(&events->compact, id);
	if (is_wanted)
		orma_base_log(
			ORMA_LOG_WARNING,
			"linux.ftrace: the kernel has replaced the event %s/%s; sessions that "
			"recorded it record it no more",
			entry->event.group, entry->event.name);
	orma_base_map_remove(&events->by_name, name_key(entry->event.group, entry->event.name));
	events->by_id[id] = NULL;
	entry_free(entry);
}

const struct orma_ftrace_event *orma_ftrace_events_by_id(const struct orma_ftrace_events *events,
							 uint16_t id)
{
	const struct orma_event_entry *entry = orma_event_table_get(events, id);

	return entry ? &entry->event : NULL;
}

bool orma_ftrace_events_fit_compact_sched(struct orma_ftrace_events *events)
{
	const struct orma_ftrace_event *event;

	return orma_ftrace_events_load(events, "sched", "sched_switch", &event) == 0 &&
	       orma_ftrace_events_load(events, "sched", "sched_waking", &event) == 0 &&
	       orma_compact_format_is_whole(&events->compact);
}

/* --- listing -------------------------------------------------------------------------------- */

int orma_ftrace_events_names_in(struct orma_ftrace_events *events, const char *group,
				struct orma_buf *ret)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf all = {0};

	if (!is_usable_name(group))
		return -EINVAL;
	int r = orma_probes_dir_names(events->events_fd, group, &all);
	ret->size = 0;
	/* Beside the events, the folder has the files `enable` and `filter`. */
	for (size_t at = 0; r == 0 && at < all.size;) {
		const char *name = (const char *)all.data + at;
		size_t size = strlen(name) + 1;
		if (strcmp(name, "enable") != 0 && strcmp(name, "filter") != 0)
			r = orma_base_buf_append(ret, name, size);
		at += size;
	}
	return r;
}

static bool has_event(const struct orma_ftrace_events *events, const char *group, const char *name)
{
	char path[2 * ORMA_PROBES_PATH_BYTES + 16];

	snprintf(path, sizeof(path), "%s/%s/format", group, name);
	return is_usable_name(group) && faccessat(events->events_fd, path, F_OK, 0) == 0;
}

/* The group of the catalogue; NULL = it does not have the event, or the kernel does not have it there. */
static const char *catalogue_group(const struct orma_ftrace_events *events, const char *name)
{
	const struct orma_proto_field_desc *field =
		orma_proto_desc_find_name(&orma_pb_ftrace_event_desc, orma_base_str(name));

	for (size_t i = 0; field && i < ORMA_ARRAY_SIZE(orma_ftrace_event_groups); i++) {
		const struct orma_ftrace_event_group *run = &orma_ftrace_event_groups[i];
		if (field->id >= run->first_field && field->id <= run->last_field)
			return has_event(events, run->group, name) ? run->group : NULL;
	}
	return NULL;
}

int orma_ftrace_events_group_of(struct orma_ftrace_events *events, const char *name,
				const char **ret_group)
{
	if (!is_usable_name(name))
		return -EINVAL;
	const char *group = catalogue_group(events, name);
	if (!group)
		return orma_available_events_find(&events->available, events->events_fd, name,
						  ret_group);
	*ret_group = group;
	return 0;
}

const char *orma_ftrace_events_closest(struct orma_ftrace_events *events, struct orma_str wrong,
				       const char **ret_group)
{
	return orma_available_events_closest(&events->available, events->events_fd, wrong,
					     ret_group);
}

void orma_ftrace_events_forget_names(struct orma_ftrace_events *events)
{
	orma_available_events_done(&events->available);
}
