/* SPDX-License-Identifier: Apache-2.0
 * inode_file_map.c - the data source linux.inode_file_map: paths of the inodes that events of
 * ftrace in the same session name.
 *
 * Owns the instances. Each knows the inodes that ftrace has seen, per device, in one of three
 * states: wanted by the scan, wanted by the next one because it came while a scan ran, or written.
 * A scan begins a while after the first wanted inode (scan_delay_ms), because each walks through
 * whole file systems and more inodes will follow. It walks the mount points of the devices that
 * have wanted inodes, or the folders that the configuration names instead of a mount point, and
 * ends when nothing is wanted any more. Inodes that it did not find are forgotten, and wanted again
 * when ftrace sees them again.
 *
 * A walk takes minutes on a big disk. A run ends with its turn of the loop, and
 * after scan_batch_size entries the walk rests for scan_interval_ms, so that the disk is not busy
 * with the search for names only. Reading one folder of a slow disk still blocks the loop for that
 * time. Rejected: a thread, which would share the table of inodes; an inode has no way back to its
 * path that a program may ask for.
 */
#include <errno.h>
#include <fcntl.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/fd.h"
#include "base/log_message.h"
#include "base/macros.h"
#include "base/map.h"
#include "probes/inode_file_map/inode_file_map.h"
#include "probes/probe.h"
#include "probes/probe_files.h"
#include "probes/sightings.h"
#include "schema/gen/data_source_config.pb.h"
#include "schema/gen/inode_file_config.pb.h"
#include "schema/gen/inode_file_map.pb.h"
#include "schema/gen/trace_packet.pb.h"

#define INTERVAL_MS_DEFAULT 10000u
#define DELAY_MS_DEFAULT    10000u
#define BATCH_SIZE_DEFAULT  15000u
#define STEPS_PER_CLOCK     64 /* steps of the walk between two looks at the clock */
#define DEVICES_MAX         64
#define INODES_MAX          (1u << 20) /* that an instance knows; more are left out */
#define PACKET_BYTES        16384      /* a packet that has this much is followed by another */

/* The states of an inode; the table points to them. */
static char wanted, wanted_later, written;

struct inode_device {
	uint64_t device;
	struct orma_map inodes; /* by number */
};

struct mount {
	uint64_t device;
	bool is_whole;
	const char *path;
	struct mount *next;
};

struct inode_probe {
	struct orma_probe base; /* first */
	int proc_fd;
	struct orma_sightings_list *sightings;
	struct orma_buf text, path;
};

struct inode_instance {
	struct orma_probe_instance base; /* first */
	struct inode_probe *probe;
	struct orma_arena arena;
	const struct orma_pb_inode_file_config *config; /* NULL = defaults */
	struct orma_sightings *seen;
	struct orma_sightings_listener listener;
	struct inode_device devices[DEVICES_MAX];
	size_t device_count, inode_count, wanted_count, later_count;

	/* The scan. */
	bool is_scanning;
	struct orma_arena scan_arena; /* owns `mounts` */
	struct mount *mounts;
	struct orma_inode_walk walk;
	uint32_t batch_left; /* entries before the next rest */

	/* Output. */
	struct orma_packet *packet; /* NULL = none open */
	struct orma_nested body;
	uint64_t packet_device;
	size_t packet_bytes;
};

static struct inode_instance *to_instance(struct orma_probe_instance *base)
{
	return ORMA_CONTAINER_OF(base, struct inode_instance, base);
}

/* A number of the configuration; 0 stands for the default. */
static uint32_t or_default(uint32_t value, uint32_t preset)
{
	return value ? value : preset;
}

static void run_in(struct inode_instance *instance, uint32_t delay_ms)
{
	orma_probe_run_at(&instance->base,
			  orma_base_clock_ns(CLOCK_MONOTONIC) + delay_ms * ORMA_NS_PER_MS);
}

static void run_after_delay(struct inode_instance *instance)
{
	run_in(instance, or_default(instance->config ? instance->config->scan_delay_ms : 0,
				    DELAY_MS_DEFAULT));
}

/* ---- inodes ---- */

static struct inode_device *find_device(struct inode_instance *instance, uint64_t device)
{
	for (size_t i = 0; i < instance->device_count; i++)
		if (instance->devices[i].device == device)
			return &instance->devices[i];
	return NULL;
}

static void want(struct inode_instance *instance, const struct orma_inode_sighting *sighting)
{
	struct inode_device *device = find_device(instance, sighting->device);

	if (!device && instance->device_count < DEVICES_MAX) {
		device = &instance->devices[instance->device_count++];
		*device = (struct inode_device){.device = sighting->device};
	}
	if (!device || instance->inode_count >= INODES_MAX ||
	    orma_base_map_get(&device->inodes, sighting->inode))
		return;
	if (orma_base_map_put(&device->inodes, sighting->inode,
			      instance->is_scanning ? &wanted_later : &wanted) < 0)
		return;
	instance->inode_count++;
	if (instance->is_scanning)
		instance->later_count++;
	else
		instance->wanted_count++;
}

static void on_inodes(void *ctx, const struct orma_inode_sighting *inodes, size_t count)
{
	struct inode_instance *instance = ctx;
	size_t before = instance->wanted_count;

	for (size_t i = 0; i < count; i++)
		want(instance, &inodes[i]);
	if (!instance->is_scanning && before == 0 && instance->wanted_count > 0)
		run_after_delay(instance);
}

/* Found inodes stay known after a scan, and others are forgotten. */
static char *state_after_scan(char *state)
{
	return state == &wanted ? NULL : state == &wanted_later ? &wanted : state;
}

/* Paths that were written are written again when ftrace sees their inodes again. */
static char *state_after_clearing(char *state)
{
	return state == &written ? NULL : state;
}

/* Gives every inode its next state; one without a next state is forgotten. */
static void change_states(struct inode_instance *instance, char *next_state(char *state))
{
	for (size_t i = 0; i < instance->device_count; i++) {
		struct inode_device *device = &instance->devices[i];
		struct orma_map kept = {0};
		struct orma_map_slot *slot;
		size_t position = 0;
		while ((slot = orma_base_map_next(&device->inodes, &position))) {
			char *state = next_state(slot->value);
			if (!state || orma_base_map_put(&kept, slot->key, state) < 0)
				instance->inode_count--;
		}
		orma_base_map_done(&device->inodes);
		device->inodes = kept;
	}
}

/* ---- packets ---- */

static void packet_end(struct inode_instance *instance)
{
	if (!instance->packet)
		return;
	orma_packet_nested_end(instance->packet, &instance->body);
	orma_packet_end(instance->packet);
	instance->packet = NULL;
}

static bool packet_open(struct inode_instance *instance, uint64_t device)
{
	if (instance->packet && instance->packet_device == device &&
	    instance->packet_bytes < PACKET_BYTES)
		return true;
	packet_end(instance);
	struct orma_packet *packet =
		orma_packet_begin(instance->base.probe->source, instance->base.idx);
	if (!packet)
		return false;
	instance->packet = packet;
	instance->packet_device = device;
	instance->packet_bytes = 0;
	orma_packet_varint(packet, ORMA_PB_TRACE_PACKET_TIMESTAMP,
			   orma_base_clock_ns(CLOCK_BOOTTIME));
	orma_packet_nested_begin(packet, &instance->body, ORMA_PB_TRACE_PACKET_INODE_FILE_MAP);
	orma_packet_varint(packet, ORMA_PB_INODE_FILE_MAP_BLOCK_DEVICE_ID, device);
	for (const struct mount *mount = instance->mounts; mount; mount = mount->next)
		if (mount->device == device)
			orma_packet_string(packet, ORMA_PB_INODE_FILE_MAP_MOUNT_POINTS,
					   mount->path);
	return true;
}

static void write_inode(struct inode_instance *instance, const struct orma_inode_entry *entry)
{
	struct orma_buf *path = &instance->probe->path;
	struct orma_nested nested;

	path->size = 0;
	if (orma_base_buf_printf(path, "%s%s%s", entry->folder,
				 entry->folder[strlen(entry->folder) - 1] == '/' ? "" : "/",
				 entry->name) < 0 ||
	    !packet_open(instance, entry->device))
		return;
	struct orma_packet *packet = instance->packet;
	orma_packet_nested_begin(packet, &nested, ORMA_PB_INODE_FILE_MAP_ENTRIES);
	orma_packet_varint(packet, ORMA_PB_INODE_FILE_MAP_ENTRY_INODE_NUMBER, entry->inode);
	orma_packet_bytes(packet, ORMA_PB_INODE_FILE_MAP_ENTRY_PATHS, path->data, path->size);
	orma_packet_int(packet, ORMA_PB_INODE_FILE_MAP_ENTRY_TYPE, (int32_t)entry->type);
	orma_packet_nested_end(packet, &nested);
	instance->packet_bytes += path->size + 16;
}

/* ---- scans ---- */

static int read_mounts(struct inode_instance *instance)
{
	struct inode_probe *probe = instance->probe;
	struct orma_mount mount;
	struct orma_str text;
	int r = orma_probes_file_read(probe->proc_fd, "self/mountinfo", &probe->text, &text);

	while (r == 0 && orma_mount_next(&text, &probe->path, &mount)) {
		struct mount *item = orma_base_arena_alloc(&instance->scan_arena, sizeof(*item));
		if (!item)
			return -ENOMEM;
		*item = (struct mount){
			.device = mount.device,
			.is_whole = mount.is_whole,
			.path = orma_base_arena_strdup(&instance->scan_arena, mount.path),
			.next = instance->mounts,
		};
		if (!item->path)
			return -ENOMEM;
		instance->mounts = item;
	}
	return r;
}

static bool is_chosen(const struct inode_instance *instance, const char *path)
{
	const struct orma_pb_inode_file_config *config = instance->config;

	if (!config || config->scan_mount_points.count == 0)
		return true;
	for (size_t i = 0; i < config->scan_mount_points.count; i++)
		if (orma_base_str_is(config->scan_mount_points.items[i], path))
			return true;
	return false;
}

static void add_root(struct inode_instance *instance, struct orma_str path)
{
	const char *copy = orma_base_arena_strdup(&instance->scan_arena, path);

	if (copy && copy[0] == '/')
		(void)orma_inode_walk_add(&instance->walk, copy);
}

/* Adds a mount point, or the folders that the configuration names instead. */
static void add_mount(struct inode_instance *instance, const struct mount *mount)
{
	const struct orma_pb_inode_file_config *config = instance->config;

	for (size_t i = 0; config && i < config->mount_point_mapping.count; i++) {
		const struct orma_pb_inode_file_config_mount_point_mapping_entry *entry =
			config->mount_point_mapping.items[i];
		if (!orma_base_str_is(entry->mountpoint, mount->path))
			continue;
		for (size_t j = 0; j < entry->scan_roots.count; j++)
			add_root(instance, entry->scan_roots.items[j]);
		return;
	}
	add_root(instance, orma_base_str(mount->path));
}

/* Adds the mount points of a device: those of the whole file system, or if there are none, those of
 * its parts. */
static void add_device(struct inode_instance *instance, uint64_t device)
{
	bool has_whole = false;

	for (const struct mount *mount = instance->mounts; mount; mount = mount->next)
		has_whole |= mount->device == device && mount->is_whole &&
			     is_chosen(instance, mount->path);
	for (const struct mount *mount = instance->mounts; mount; mount = mount->next) {
		if (mount->device != device || !is_chosen(instance, mount->path) ||
		    (has_whole && !mount->is_whole))
			continue;
		add_mount(instance, mount);
		/* The others show the same files. */
		if (has_whole)
			return;
	}
}

static bool begin_scan(struct inode_instance *instance)
{
	int r = read_mounts(instance);

	instance->is_scanning = true;
	instance->batch_left = or_default(instance->config ? instance->config->scan_batch_size : 0,
					  BATCH_SIZE_DEFAULT);
	if (r < 0) {
		orma_base_log(ORMA_LOG_ERROR,
			      "linux.inode_file_map: cannot read the mount points: %s",
			      strerror(-r));
		return false;
	}
	for (size_t i = 0; i < instance->device_count; i++)
		add_device(instance, instance->devices[i].device);
	return true;
}

static void end_scan(struct inode_instance *instance)
{
	packet_end(instance);
	orma_inode_walk_done(&instance->walk);
	orma_base_arena_done(&instance->scan_arena);
	instance->mounts = NULL;
	instance->is_scanning = false;
	change_states(instance, state_after_scan);
	instance->wanted_count = instance->later_count;
	instance->later_count = 0;
	if (instance->wanted_count > 0)
		run_after_delay(instance);
}

static void visit(struct inode_instance *instance, const struct orma_inode_entry *entry)
{
	struct inode_device *device = find_device(instance, entry->device);
	void *state = device ? orma_base_map_get(&device->inodes, entry->inode) : NULL;

	if (state != &wanted && state != &wanted_later)
		return;
	write_inode(instance, entry);
	(void)orma_base_map_put(&device->inodes, entry->inode, &written);
	if (state == &wanted)
		instance->wanted_count--;
	else
		instance->later_count--;
}

/* Reads entries until the turn or the batch is over. Returns false when the scan is over. */
static bool step(struct inode_instance *instance)
{
	struct orma_inode_entry entry;

	for (unsigned i = 1; instance->batch_left > 0; i++) {
		if (instance->wanted_count == 0 || !orma_inode_walk_next(&instance->walk, &entry))
			return false;
		if (entry.name) {
			instance->batch_left--;
			visit(instance, &entry);
		}
		if (i % STEPS_PER_CLOCK == 0 && orma_probe_is_turn_over(&instance->base))
			break;
	}
	return true;
}

static void run(struct orma_probe_instance *base)
{
	struct inode_instance *instance = to_instance(base);
	const struct orma_pb_inode_file_config *config = instance->config;

	base->is_due_now = false;
	if ((!instance->is_scanning && !begin_scan(instance)) || !step(instance)) {
		end_scan(instance);
		return;
	}
	packet_end(instance);
	if (instance->batch_left > 0) {
		orma_probe_run_soon(base);
		return;
	}
	instance->batch_left = or_default(config ? config->scan_batch_size : 0, BATCH_SIZE_DEFAULT);
	run_in(instance, or_default(config ? config->scan_interval_ms : 0, INTERVAL_MS_DEFAULT));
}

/* ---- instances ---- */

static int setup(struct orma_probe_instance *base, const void *config, size_t size)
{
	struct inode_instance *instance = to_instance(base);
	struct orma_pb_data_source_config *source;
	int r = orma_proto_decode_copy(&orma_pb_data_source_config_desc, config, size,
				       &instance->arena, &source);

	instance->walk.fd = -1;
	if (r < 0) {
		orma_base_arena_done(&instance->arena);
		return r;
	}
	instance->probe = ORMA_CONTAINER_OF(base->probe, struct inode_probe, base);
	instance->config = source->inode_file_config;
	instance->seen = orma_sightings_get(instance->probe->sightings, source->tracing_session_id);
	instance->listener =
		(struct orma_sightings_listener){.on_inodes = on_inodes, .ctx = instance};
	return 0;
}

/* Nothing is due before ftrace has seen an inode. */
static bool start(struct orma_probe_instance *base)
{
	struct inode_instance *instance = to_instance(base);

	if (!instance->config || !instance->config->do_not_scan)
		orma_sightings_listen(instance->seen, &instance->listener);
	return false;
}

static void clear(struct orma_probe_instance *base)
{
	change_states(to_instance(base), state_after_clearing);
}

static void destroy(struct orma_probe_instance *base)
{
	struct inode_instance *instance = to_instance(base);

	orma_sightings_unlisten(instance->seen, &instance->listener);
	orma_sightings_put(instance->seen);
	for (size_t i = 0; i < instance->device_count; i++)
		orma_base_map_done(&instance->devices[i].inodes);
	orma_inode_walk_done(&instance->walk);
	orma_base_arena_done(&instance->scan_arena);
	orma_base_arena_done(&instance->arena);
}

/* ---- the probe ---- */

static int open_probe(struct orma_probe *base, const struct orma_probe_env *env)
{
	struct inode_probe *probe = ORMA_CONTAINER_OF(base, struct inode_probe, base);

	probe->sightings = env->sightings;
	return probe->proc_fd = orma_probes_dir_open(AT_FDCWD, env->proc_path);
}

static void close_probe(struct orma_probe *base)
{
	struct inode_probe *probe = ORMA_CONTAINER_OF(base, struct inode_probe, base);

	orma_base_fd_close(probe->proc_fd);
	orma_base_buf_done(&probe->text);
	orma_base_buf_done(&probe->path);
}

static const struct orma_probe_ops ops = {
	.name = "linux.inode_file_map",
	.probe_bytes = sizeof(struct inode_probe),
	.instance_bytes = sizeof(struct inode_instance),
	.open = open_probe,
	.close = close_probe,
	.setup = setup,
	.start = start,
	.run = run,
	.clear = clear,
	.destroy = destroy,
};

int orma_probe_inode_file_map_new(const struct orma_probe_env *env, struct orma_probe **ret)
{
	return orma_probe_make(&ops, env, ret);
}
