/* SPDX-License-Identifier: Apache-2.0
 * report_tree.c - reads the tree of a report's tracks, and writes descriptors for it.
 *
 * The tree of a page has headings and strips as well; only nodes with a lane become tracks. A node belongs to the thread or the
 * process that it names. Slices whose node has the thread's own name are those of the thread itself.
 */
#include "formats/report_tree.h"

#include <errno.h>

#include "base/alloc.h"
#include "base/macros.h"
#include "formats/event_output.h"
#include "schema/gen/counter_descriptor.pb.h"
#include "schema/gen/trace_packet.pb.h"
#include "schema/gen/track_descriptor.pb.h"
#include "store/grow.h"

enum { STATES_MAX = 256 };
/* The uuids of event_output.c have the highest bit. */
#define TRACK_UUIDS (UINT64_C(1) << 62)

void orma_report_tree_done(struct orma_report_tree *tree)
{
	orma_base_free(tree->threads);
	orma_base_free(tree->processes);
	orma_base_free(tree->tracks);
	orma_base_free(tree->states);
	orma_base_map_done(&tree->by_lane);
	orma_base_map_done(&tree->by_utid);
	orma_base_map_done(&tree->by_upid);
	orma_base_arena_done(&tree->arena);
}

static uint64_t key_of(int64_t number)
{
	return (uint64_t)number + 1;
}

const struct orma_report_track *orma_report_tree_track(const struct orma_report_tree *tree,
						       uint32_t lane)
{
	uint32_t place = (uint32_t)(uintptr_t)orma_base_map_get(&tree->by_lane, key_of(lane));
	return place > 0 ? &tree->tracks[place - 1] : NULL;
}

const struct orma_report_thread *orma_report_tree_thread(const struct orma_report_tree *tree,
							 int64_t utid)
{
	uint32_t place = (uint32_t)(uintptr_t)orma_base_map_get(&tree->by_utid, key_of(utid));
	return place > 0 ? &tree->threads[place - 1] : NULL;
}

static const struct orma_report_process *process_of(const struct orma_report_tree *tree,
						    int64_t upid)
{
	uint32_t place = (uint32_t)(uintptr_t)orma_base_map_get(&tree->by_upid, key_of(upid));
	return place > 0 ? &tree->processes[place - 1] : NULL;
}

uint32_t orma_report_tree_pid(const struct orma_report_tree *tree,
			      const struct orma_report_thread *thread)
{
	const struct orma_report_process *process = process_of(tree, thread->upid);
	return process ? process->pid : thread->tid;
}

/* --- reading --------------------------------------------------------------------------------- */

/* The parts of a thread or process: its number, its id, its name and the process of a thread. */
struct task {
	struct orma_report_tree *tree;
	int64_t number, id, upid;
	struct orma_str name;
	size_t parts;
};

static int take_part(void *ctx, const struct orma_json_value *key,
		     const struct orma_json_value *value)
{
	struct task *task = ctx;
	int64_t *numbers[] = {&task->number, &task->id, NULL, &task->upid};
	(void)key;
	size_t part = task->parts++;
	if (part == 2) {
		task->name = orma_json_unescape(value, &task->tree->arena);
		return task->name.data ? 0 : -ENOMEM;
	}
	if (part >= ORMA_ARRAY_SIZE(numbers) || value->kind == ORMA_JSON_NULL)
		return 0;
	return orma_json_value_i64(value, numbers[part]) ? 0 : -EBADMSG;
}

static int read_task(struct orma_report_tree *tree, const struct orma_json_value *value,
		     struct task *ret)
{
	*ret = (struct task){.tree = tree, .upid = -1, .name = {"", 0}};
	if (value->kind != ORMA_JSON_ARRAY)
		return -EBADMSG;
	int r = orma_report_json_items(value->text, take_part, ret);
	bool is_valid = ret->parts >= 3 && ret->number >= 0 && ret->id >= -1 &&
			ret->id <= INT32_MAX && ret->upid >= -1;
	return r == 0 && !is_valid ? -EBADMSG : r;
}

static int take_thread(void *ctx, const struct orma_json_value *key,
		       const struct orma_json_value *value)
{
	struct orma_report_tree *tree = ctx;
	struct task task;
	(void)key;
	int r = read_task(tree, value, &task);
	if (r == 0)
		r = orma_store_grow(&tree->threads, (uint64_t)tree->thread_count + 1,
				    &tree->thread_capacity, sizeof(*tree->threads));
	if (r < 0)
		return r;
	tree->threads[tree->thread_count++] =
		(struct orma_report_thread){.utid = task.number,
					    .upid = task.upid,
					    .tid = task.id < 0 ? 0 : (uint32_t)task.id,
					    .name = task.name};
	return orma_base_map_put(&tree->by_utid, key_of(task.number),
				 (void *)(uintptr_t)tree->thread_count);
}

static int take_process(void *ctx, const struct orma_json_value *key,
			const struct orma_json_value *value)
{
	struct orma_report_tree *tree = ctx;
	struct task task;
	(void)key;
	int r = read_task(tree, value, &task);
	if (r == 0)
		r = orma_store_grow(&tree->processes, (uint64_t)tree->process_count + 1,
				    &tree->process_capacity, sizeof(*tree->processes));
	if (r < 0)
		return r;
	tree->processes[tree->process_count++] = (struct orma_report_process){
		task.number, task.id < 0 ? 0 : (uint32_t)task.id, task.name};
	return orma_base_map_put(&tree->by_upid, key_of(task.number),
				 (void *)(uintptr_t)tree->process_count);
}

static int take_state(void *ctx, const struct orma_json_value *key,
		      const struct orma_json_value *value)
{
	struct orma_report_tree *tree = ctx;
	(void)key;
	if (tree->state_count == STATES_MAX)
		return -EBADMSG;
	int r = orma_store_grow(&tree->states, (uint64_t)tree->state_count + 1,
				&tree->state_capacity, sizeof(*tree->states));
	struct orma_str text =
		r == 0 ? orma_json_unescape(value, &tree->arena) : (struct orma_str){NULL, 0};
	if (!text.data)
		return -ENOMEM;
	tree->states[tree->state_count++] = text;
	return 0;
}

struct node {
	struct orma_report_tree *tree;
	struct orma_report_track track;
	struct orma_str kind;
	int64_t lane;
};

static int take_field(void *ctx, const struct orma_json_value *key,
		      const struct orma_json_value *value)
{
	struct node *node = ctx;
	const struct {
		const char *key;
		int64_t *number;
	} numbers[] = {{"lane", &node->lane},
		       {"utid", &node->track.utid},
		       {"upid", &node->track.upid},
		       {"cpu", &node->track.cpu}};
	const struct {
		const char *key;
		struct orma_str *text;
	} texts[] = {
		{"kind", &node->kind}, {"name", &node->track.name}, {"unit", &node->track.unit}};
	if (value->kind == ORMA_JSON_NULL)
		return 0;
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(numbers); i++)
		if (orma_base_str_is(key->text, numbers[i].key))
			return orma_json_value_i64(value, numbers[i].number) &&
					       *numbers[i].number >= 0
				       ? 0
				       : -EBADMSG;
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(texts); i++) {
		if (!orma_base_str_is(key->text, texts[i].key))
			continue;
		*texts[i].text = orma_json_unescape(value, &node->tree->arena);
		return texts[i].text->data ? 0 : -ENOMEM;
	}
	return 0;
}

static int add_track(struct orma_report_tree *tree, const struct node *node)
{
	int r = orma_store_grow(&tree->tracks, (uint64_t)tree->track_count + 1,
				&tree->track_capacity, sizeof(*tree->tracks));
	if (r < 0)
		return r;
	struct orma_report_track *track = &tree->tracks[tree->track_count++];
	*track = node->track;
	track->lane = (uint32_t)node->lane;
	track->is_thread = orma_base_str_is(node->kind, "slices") && track->utid >= 0;
	return orma_base_map_put(&tree->by_lane, key_of(track->lane),
				 (void *)(uintptr_t)tree->track_count);
}

static int take_node(void *ctx, const struct orma_json_value *key,
		     const struct orma_json_value *value)
{
	struct orma_report_tree *tree = ctx;
	struct node node = {.tree = tree,
			    .track = {.utid = -1, .upid = -1, .cpu = -1, .name = {"", 0}},
			    .lane = -1};
	(void)key;
	int r = value->kind == ORMA_JSON_OBJECT
			? orma_report_json_fields(value->text, take_field, &node)
			: -EBADMSG;
	if (r < 0 || node.lane < 0)
		return r;
	if (node.lane > UINT32_MAX)
		return -EBADMSG;
	return add_track(tree, &node);
}

static int take_member(void *ctx, const struct orma_json_value *key,
		       const struct orma_json_value *value)
{
	static const struct {
		const char *key;
		orma_report_json_fn *fn;
	} members[] = {{"nodes", take_node},
		       {"threads", take_thread},
		       {"processes", take_process},
		       {"states", take_state}};
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(members); i++)
		if (orma_base_str_is(key->text, members[i].key) && value->kind == ORMA_JSON_ARRAY)
			return orma_report_json_items(value->text, members[i].fn, ctx);
	return 0;
}

/* The track of a thread is known by its name; then the thread's descriptor stands for it. */
static void find_uuids(struct orma_report_tree *tree)
{
	for (uint32_t i = 0; i < tree->track_count; i++) {
		struct orma_report_track *track = &tree->tracks[i];
		const struct orma_report_thread *thread =
			track->is_thread ? orma_report_tree_thread(tree, track->utid) : NULL;
		track->is_thread = thread && orma_base_str_is_equal(thread->name, track->name);
		track->uuid = track->is_thread
				      ? orma_output_thread_uuid(orma_report_tree_pid(tree, thread),
								thread->tid)
				      : TRACK_UUIDS | track->lane;
	}
}

int orma_report_tree_read(struct orma_report_tree *tree, struct orma_str json)
{
	int r = orma_report_json_object(json, take_member, tree);
	if (r == 0)
		find_uuids(tree);
	return r;
}

/* --- writing --------------------------------------------------------------------------------- */

static uint64_t parent_of(const struct orma_report_tree *tree,
			  const struct orma_report_track *track)
{
	const struct orma_report_thread *thread = orma_report_tree_thread(tree, track->utid);
	const struct orma_report_process *process = process_of(tree, track->upid);
	if (thread && thread->tid > 0)
		return orma_output_thread_uuid(orma_report_tree_pid(tree, thread), thread->tid);
	return process && process->pid > 0 ? orma_output_thread_uuid(process->pid, 0) : 0;
}

static int write_track(const struct orma_report_tree *tree, const struct orma_report_track *track,
		       struct orma_packet_output *output)
{
	struct orma_proto_nested descriptor, kind;
	struct orma_proto_writer *writer =
		orma_packet_output_begin_untimed(output, ORMA_REPORT_SEQUENCE);
	uint64_t parent = parent_of(tree, track);
	orma_proto_nested_begin(writer, &descriptor, ORMA_PB_TRACE_PACKET_TRACK_DESCRIPTOR);
	orma_proto_write_varint(writer, ORMA_PB_TRACK_DESCRIPTOR_UUID, track->uuid);
	if (parent)
		orma_proto_write_varint(writer, ORMA_PB_TRACK_DESCRIPTOR_PARENT_UUID, parent);
	orma_proto_write_str(writer, ORMA_PB_TRACK_DESCRIPTOR_NAME, track->name);
	if (track->is_counter) {
		orma_proto_nested_begin(writer, &kind, ORMA_PB_TRACK_DESCRIPTOR_COUNTER);
		if (track->unit.size > 0)
			orma_proto_write_str(writer, ORMA_PB_COUNTER_DESCRIPTOR_UNIT_NAME,
					     track->unit);
		orma_packet_output_nested_end(output, &kind);
	} else if (track->is_state) {
		orma_proto_nested_begin(writer, &kind, ORMA_PB_TRACK_DESCRIPTOR_STATE);
		orma_packet_output_nested_end(output, &kind);
	}
	return orma_packet_output_end(output);
}

/* A thread whose process is not known gets one with its tracks, because they say which one they belong to. */
static void mark_threads(struct orma_report_tree *tree)
{
	for (uint32_t i = 0; i < tree->track_count; i++) {
		const struct orma_report_track *track = &tree->tracks[i];
		uint32_t place =
			(uint32_t)(uintptr_t)orma_base_map_get(&tree->by_utid, key_of(track->utid));
		if (track->has_events && place > 0)
			tree->threads[place - 1].has_tracks = true;
	}
}

int orma_report_tree_write(struct orma_report_tree *tree, struct orma_packet_output *output)
{
	int r = 0;
	for (uint32_t i = 0; i < tree->process_count && r == 0; i++) {
		const struct orma_report_process *process = &tree->processes[i];
		if (process->pid > 0 && process->name.size > 0)
			r = orma_output_name_process(output, ORMA_REPORT_SEQUENCE, process->pid,
						     process->name);
	}
	mark_threads(tree);
	for (uint32_t i = 0; i < tree->thread_count && r == 0; i++) {
		const struct orma_report_thread *thread = &tree->threads[i];
		if (thread->tid > 0 && (thread->upid >= 0 || thread->has_tracks))
			r = orma_output_name_thread(output, ORMA_REPORT_SEQUENCE,
						    orma_report_tree_pid(tree, thread), thread->tid,
						    thread->name);
	}
	for (uint32_t i = 0; i < tree->track_count && r == 0; i++)
		if (tree->tracks[i].has_events && !tree->tracks[i].is_thread)
			r = write_track(tree, &tree->tracks[i], output);
	return r;
}
