/* SPDX-License-Identifier: Apache-2.0
 * inode_file_map_test.c - the data source linux.inode_file_map over a made-up file system in the
 * temporary folder.
 */
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "fake_api.h"
#include "probes/inode_file_map/inode_file_map.h"
#include "schema/gen/inode_file_map.pb.h"

#define CONFIG(text)                                                                               \
	"name: 'linux.inode_file_map' tracing_session_id: 7 inode_file_config { " text " }"
#define QUICK "scan_delay_ms: 1 scan_interval_ms: 1 "

static struct orma_sightings *seen;
static uint64_t device;

static uint64_t inode_of(const char *name)
{
	char path[600];
	struct stat status;
	snprintf(path, sizeof(path), "%s/%s", fake_root, name);
	CHECK_INT(lstat(path, &status), 0);
	device = status.st_dev;
	return status.st_ino;
}

static void note(const char *name)
{
	uint64_t inode = inode_of(name);
	orma_sightings_note_inode(seen, 1, device, inode);
}

/* A file system that is mounted at the folder "disk" of the temporary folder. */
static void put_mounts(void)
{
	char text[1500];
	inode_of("disk");
	snprintf(text, sizeof(text),
		 "1 0 0:5 / /proc rw - proc proc rw\n"
		 "2 0 %u:%u /part %s/disk/a rw - ext4 /dev/x rw\n"
		 "3 0 %u:%u / %s/disk rw shared:1 - ext4 /dev/x rw\n"
		 "damaged\n4 0 x:y / /z\n",
		 major((dev_t)device), minor((dev_t)device), fake_root, major((dev_t)device),
		 minor((dev_t)device), fake_root);
	fake_put("proc/self/mountinfo", text);
}

static void begin(const char *config)
{
	fake_capture_log();
	fake_open(orma_probe_inode_file_map_new);
	fake_put("disk/a/one", "1");
	fake_put("disk/a/deep/er/two", "2");
	fake_put("disk/b/three", "3");
	fake_put("disk/.hidden", "4");
	fake_put("outside", "5");
	put_mounts();
	fake_start(0, config);
	seen = orma_sightings_get(fake_sightings, 7);
}

static void end(void)
{
	orma_sightings_put(seen);
	fake_close();
}

static int compare_lines(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* All entries so far, "path:type", sorted, without the temporary folder. */
static const char *entries(void)
{
	char *lines[64];
	size_t count = 0;
	struct orma_buf buf = {0};
	for (size_t i = 0; i < fake_packet_count; i++) {
		struct orma_pb_inode_file_map *map = fake_packet(i)->inode_file_map;
		CHECK(map != NULL && fake_packet(i)->timestamp > 0);
		CHECK(map->block_device_id == device);
		CHECK_INT(map->mount_points.count, 2);
		for (size_t j = 0; j < map->entries.count; j++) {
			char line[700];
			struct orma_pb_inode_file_map_entry *entry = map->entries.items[j];
			CHECK_INT(entry->paths.count, 1);
			struct orma_str path = entry->paths.items[0];
			CHECK(path.size > strlen(fake_root));
			CHECK(memcmp(path.data, fake_root, strlen(fake_root)) == 0);
			size_t skip = strlen(fake_root) + 1;
			snprintf(line, sizeof(line), "%.*s:%d", (int)(path.size - skip),
				 path.data + skip, entry->type);
			/* The inode is the file's. */
			line[path.size - skip] = '\0';
			CHECK(inode_of(line) == entry->inode_number);
			line[path.size - skip] = ':';
			CHECK(count < 64);
			lines[count++] = orma_base_arena_strdup(&fake_arena, orma_base_str(line));
		}
	}
	qsort(lines, count, sizeof(lines[0]), compare_lines);
	for (size_t i = 0; i < count; i++)
		CHECK_INT(orma_base_buf_printf(&buf, "%s%s", i ? " " : "", lines[i]), 0);
	const char *text = orma_base_arena_strdup(
		&fake_arena, (struct orma_str){(const char *)buf.data, buf.size});
	orma_base_buf_done(&buf);
	return text;
}

/* Takes turns until nothing is due any more. */
static void run_until_idle(void)
{
	struct orma_probe_instance *instance = fake_source.instance_ctx[0];
	while (instance->timer.is_armed)
		CHECK(orma_base_loop_turn(fake_loop, -1) >= 0);
}

ORMA_TEST(inodes_that_ftrace_sees_get_their_paths)
{
	begin(CONFIG(QUICK));
	note("disk/a/one");
	note("disk/a/deep/er/two");
	note("disk/.hidden");
	note("disk/b");
	orma_sightings_deliver(seen);
	run_until_idle();
	CHECK_STR(entries(), "disk/.hidden:1 disk/a/deep/er/two:1 disk/a/one:1 disk/b:2");
	/* A known path is not searched again. */
	note("disk/a/one");
	orma_sightings_deliver(seen);
	run_until_idle();
	CHECK_STR(entries(), "disk/.hidden:1 disk/a/deep/er/two:1 disk/a/one:1 disk/b:2");
	fake_clear(0);
	note("disk/a/one");
	orma_sightings_deliver(seen);
	run_until_idle();
	CHECK_STR(entries(),
		  "disk/.hidden:1 disk/a/deep/er/two:1 disk/a/one:1 disk/a/one:1 disk/b:2");
	end();
}

ORMA_TEST(inodes_outside_of_the_mount_or_unknown_are_forgotten)
{
	begin(CONFIG(QUICK));
	note("outside");
	orma_sightings_note_inode(seen, 1, device + 1, 12345);
	orma_sightings_deliver(seen);
	run_until_idle();
	CHECK_INT(fake_packet_count, 0);
	/* A file that exists now is found when ftrace sees it again. */
	note("disk/b/three");
	orma_sightings_deliver(seen);
	run_until_idle();
	CHECK_STR(entries(), "disk/b/three:1");
	end();
}

ORMA_TEST(small_batches_with_rests_find_the_same)
{
	begin(CONFIG(QUICK "scan_batch_size: 1"));
	note("disk/a/deep/er/two");
	note("disk/b/three");
	orma_sightings_deliver(seen);
	run_until_idle();
	CHECK_STR(entries(), "disk/a/deep/er/two:1 disk/b/three:1");
	end();
}

ORMA_TEST(empty_folders_are_read_in_several_turns)
{
	fake_env.turn_ns = 1;
	begin(CONFIG(QUICK));
	for (int i = 0; i < 300; i++) {
		char path[600];
		snprintf(path, sizeof(path), "%s/disk/b/empty%d", fake_root, i);
		CHECK_INT(mkdir(path, 0755), 0);
	}
	orma_sightings_note_inode(seen, 1, device, UINT64_C(1) << 60); /* exists nowhere */
	orma_sightings_deliver(seen);
	unsigned turns = 0;
	struct orma_probe_instance *instance = fake_source.instance_ctx[0];
	for (; instance->timer.is_armed; turns++)
		CHECK(orma_base_loop_turn(fake_loop, -1) >= 0);
	/* 300 entries take 5 turns, and opening and reading the folders more than 10. */
	CHECK(turns > 14);
	end();
}

ORMA_TEST(an_inode_that_comes_while_a_scan_runs_is_found_by_this_one_or_the_next)
{
	begin(CONFIG(QUICK "scan_batch_size: 1"));
	note("disk/b/three");
	orma_sightings_note_inode(seen, 1, device, UINT64_C(1) << 60); /* keeps the scan running */
	orma_sightings_deliver(seen);
	CHECK(orma_base_loop_turn(fake_loop, -1) >= 0);
	note("disk/a/one");
	note("disk/a/deep/er/two");
	note("disk/.hidden");
	orma_sightings_deliver(seen);
	run_until_idle();
	CHECK_STR(entries(), "disk/.hidden:1 disk/a/deep/er/two:1 disk/a/one:1 disk/b/three:1");
	end();
}

ORMA_TEST(only_chosen_mount_points_are_scanned)
{
	begin(CONFIG(QUICK "scan_mount_points: '/somewhere'"));
	note("disk/b/three");
	orma_sightings_deliver(seen);
	run_until_idle();
	CHECK_INT(fake_packet_count, 0);
	end();
}

ORMA_TEST(folders_of_the_configuration_replace_a_mount_point)
{
	char config[2000];
	fake_root = orma_test_tmpdir();
	snprintf(config, sizeof(config),
		 CONFIG(QUICK "mount_point_mapping { mountpoint: '%s/disk' scan_roots: '%s/disk/b' "
			      "scan_roots: 'relative' scan_roots: '' scan_roots: '/nonexistent' }"),
		 fake_root, fake_root);
	begin(config);
	note("disk/a/one");
	note("disk/b/three");
	orma_sightings_deliver(seen);
	run_until_idle();
	CHECK_STR(entries(), "disk/b/three:1");
	end();
}

ORMA_TEST(nothing_is_scanned_if_the_configuration_says_so)
{
	begin(CONFIG(QUICK "do_not_scan: true"));
	CHECK(!seen->wants_inodes);
	note("disk/b/three");
	orma_sightings_deliver(seen);
	run_until_idle();
	CHECK_INT(fake_packet_count, 0);
	end();
}

ORMA_TEST(a_scan_waits_as_long_as_the_configuration_says)
{
	begin("name: 'linux.inode_file_map' tracing_session_id: 7");
	struct orma_probe_instance *instance = fake_source.instance_ctx[0];
	CHECK(!instance->timer.is_armed);
	uint64_t now_ns = orma_base_clock_ns(CLOCK_MONOTONIC);
	note("disk/b/three");
	orma_sightings_deliver(seen);
	CHECK(instance->timer.is_armed);
	CHECK(instance->timer.deadline_ns >= now_ns + 10 * ORMA_NS_PER_SEC);
	end();
}

ORMA_TEST(symbolic_links_and_vanished_folders_are_not_followed)
{
	char path[600];
	begin(CONFIG(QUICK));
	fake_put("elsewhere/four", "4");
	snprintf(path, sizeof(path), "%s/disk/link", fake_root);
	CHECK_INT(symlink("../elsewhere", path), 0);
	note("elsewhere/four");
	note("disk/link");
	orma_sightings_deliver(seen);
	run_until_idle();
	CHECK_STR(entries(), "disk/link:0");
	end();
}

ORMA_TEST(without_a_table_of_mounts_nothing_is_found_and_it_is_said)
{
	begin(CONFIG(QUICK));
	fake_remove("proc/self/mountinfo");
	note("disk/b/three");
	orma_sightings_deliver(seen);
	run_until_idle();
	CHECK_INT(fake_packet_count, 0);
	CHECK(fake_log_has("cannot read the mount points: No such file"));
	end();
}

ORMA_TEST(mount_points_with_blanks_are_read)
{
	struct orma_str text =
		ORMA_STR("36 35 98:7 / /mnt/a\\040b\\134\\011c rw - ext3 /dev/r rw\n"
			 "37 35 98:8 /x /mnt/\\9 rw\n38 35 98:8 / relative rw\n39 35\n");
	struct orma_buf buf = {0};
	struct orma_mount mount;
	CHECK(orma_mount_next(&text, &buf, &mount));
	CHECK(mount.device == makedev(98, 7) && mount.is_whole);
	CHECK(orma_base_str_is(mount.path, "/mnt/a b\\\tc"));
	CHECK(orma_mount_next(&text, &buf, &mount));
	CHECK(!mount.is_whole);
	CHECK(orma_base_str_is(mount.path, "/mnt/\\9"));
	CHECK(!orma_mount_next(&text, &buf, &mount));
	orma_base_buf_done(&buf);
}
