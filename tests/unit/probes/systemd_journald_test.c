/* SPDX-License-Identifier: Apache-2.0
 * systemd_journald_test.c - the data source linux.systemd_journald over a made-up journal.
 */
#include <sys/eventfd.h>

#include "fake_api.h"
#include "probes/systemd_journald/journal_library.h"
#include "schema/gen/journald_event.pb.h"

#define CONFIG(text) "name: 'linux.systemd_journald' journald_config { " text " }"

enum { ENTRIES_MAX = 1024, FIELDS_MAX = 16 };

struct entry {
	uint64_t time_us; /* 0 = of another boot */
	struct orma_str fields[FIELDS_MAX];
	size_t count;
};

/* The journal, as sd-journal(3) describes it: a position before, at or behind entries. */
static struct {
	struct entry entries[ENTRIES_MAX];
	int count, at, field;
	bool is_at_tail; /* where nothing is found behind */
	int fd;
	unsigned opened, closed, processed;
	struct orma_buf matches;
	bool has_files;
	int open_result, match_result, fd_result, tail_result, process_result, next_result;
} journal;

static int journal_open(struct sd_journal **ret, int flags)
{
	CHECK_INT(flags, ORMA_JOURNAL_LOCAL_ONLY);
	if (journal.open_result < 0)
		return journal.open_result;
	journal.opened++;
	journal.at = -1;
	*ret = (struct sd_journal *)&journal;
	return 0;
}

static void journal_close(struct sd_journal *handle)
{
	CHECK(handle == (struct sd_journal *)&journal);
	journal.closed++;
	if (journal.fd > 0)
		close(journal.fd);
	journal.fd = 0;
}

static int journal_add_match(struct sd_journal *handle, const void *data, size_t size)
{
	(void)handle;
	CHECK_INT(orma_base_buf_append(&journal.matches, data, size), 0);
	CHECK_INT(orma_base_buf_append_str(&journal.matches, ";"), 0);
	return journal.match_result;
}

static int journal_has_files(struct sd_journal *handle)
{
	(void)handle;
	return journal.has_files;
}

static int journal_get_fd(struct sd_journal *handle)
{
	(void)handle;
	if (journal.fd_result < 0)
		return journal.fd_result;
	if (journal.fd == 0)
		journal.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return journal.fd;
}

static int journal_process(struct sd_journal *handle)
{
	uint64_t count;
	(void)handle;
	journal.processed++;
	(void)!read(journal.fd, &count, sizeof(count));
	return journal.process_result;
}

static int journal_seek_head(struct sd_journal *handle)
{
	(void)handle;
	journal.at = -1;
	journal.is_at_tail = false;
	return 0;
}

static int journal_seek_tail(struct sd_journal *handle)
{
	(void)handle;
	journal.is_at_tail = true;
	return journal.tail_result;
}

static int journal_previous(struct sd_journal *handle)
{
	(void)handle;
	CHECK(journal.fd > 0 || journal.fd_result < 0); /* watched before */
	if (journal.count == 0)
		return 0;
	journal.is_at_tail = false;
	journal.at = journal.count - 1;
	return 1;
}

static int journal_next(struct sd_journal *handle)
{
	(void)handle;
	if (journal.next_result < 0)
		return journal.next_result;
	if (journal.is_at_tail || journal.at + 1 >= journal.count)
		return 0;
	journal.at++;
	return 1;
}

static int journal_time(struct sd_journal *handle, uint64_t *ret_us, void *ret_boot_id)
{
	(void)handle;
	CHECK(ret_boot_id == NULL);
	*ret_us = journal.entries[journal.at].time_us;
	return *ret_us ? 0 : -ESTALE;
}

static void journal_restart_data(struct sd_journal *handle)
{
	(void)handle;
	journal.field = 0;
}

static int journal_enumerate_data(struct sd_journal *handle, const void **ret, size_t *ret_size)
{
	(void)handle;
	const struct entry *entry = &journal.entries[journal.at];
	if ((size_t)journal.field == entry->count)
		return 0;
	*ret = entry->fields[journal.field].data;
	*ret_size = entry->fields[journal.field++].size;
	return 1;
}

static const struct orma_journal_api journal_api = {
	.open = journal_open,
	.close = journal_close,
	.add_match = journal_add_match,
	.has_runtime_files = journal_has_files,
	.has_persistent_files = journal_has_files,
	.get_fd = journal_get_fd,
	.process = journal_process,
	.seek_head = journal_seek_head,
	.seek_tail = journal_seek_tail,
	.next = journal_next,
	.previous = journal_previous,
	.get_monotonic_usec = journal_time,
	.restart_data = journal_restart_data,
	.enumerate_data = journal_enumerate_data,
};

static bool is_library_missing;

static const struct orma_journal_api *load_journal(const char **ret_missing)
{
	*ret_missing = "no such library";
	return is_library_missing ? NULL : &journal_api;
}

static struct entry *add_entry(uint64_t time_us)
{
	CHECK(journal.count < ENTRIES_MAX);
	struct entry *entry = &journal.entries[journal.count++];
	entry->time_us = time_us;
	if (journal.fd > 0)
		CHECK_INT(eventfd_write(journal.fd, 1), 0);
	return entry;
}

static void add_field(struct entry *entry, const char *text)
{
	entry->fields[entry->count++] = orma_base_str(text);
}

static void begin(const char *config)
{
	journal.has_files = true;
	fake_env.load_journal = load_journal;
	fake_capture_log();
	fake_open(orma_probe_systemd_journald_new);
	fake_completed = 0;
	fake_start(0, config);
	/* The start is complete when the journal is open, or cannot be opened. */
	CHECK_INT(fake_start_completion, ORMA_POSTPONE);
	CHECK_INT(fake_completed, 0);
	CHECK(orma_base_loop_turn(fake_loop, 0) >= 0);
	CHECK_INT(fake_completed, fake_start_number);
}

static void end(void)
{
	fake_close();
	CHECK_INT(journal.opened, journal.closed);
	orma_base_buf_done(&journal.matches);
}

static const char *entry_text(size_t at)
{
	CHECK(fake_packet(at)->journald_event != NULL);
	return fake_text(fake_packet(at)->journald_event);
}

ORMA_TEST(an_entry_becomes_a_packet_with_its_fields)
{
	add_field(add_entry(1), "MESSAGE=before the start");
	begin("name: 'linux.systemd_journald'");
	CHECK_INT(fake_packet_count, 0);
	struct entry *entry = add_entry(1234567);
	add_field(entry, "MESSAGE=hello = world");
	add_field(entry, "PRIORITY=6");
	add_field(entry, "SYSLOG_IDENTIFIER=tag");
	add_field(entry, "_PID=10");
	add_field(entry, "_TID=11");
	add_field(entry, "_UID=4294967295");
	add_field(entry, "_GID=100");
	add_field(entry, "_COMM=cat");
	add_field(entry, "_EXE=/bin/cat");
	add_field(entry, "_SYSTEMD_UNIT=cat.service");
	add_field(entry, "_HOSTNAME=box");
	add_field(entry, "_TRANSPORT=journal");
	add_field(entry, "CODE_FILE=cat.c");
	fake_run_until(1);
	CHECK_INT(fake_packet(0)->timestamp, 1234567000);
	CHECK_INT(fake_packet(0)->timestamp_clock_id, 3);
	CHECK_STR(entry_text(0),
		  "pid: 10 tid: 11 uid: 4294967295 gid: 100 prio: 6 tag: \"tag\" message: \"hello "
		  "= world\" comm: \"cat\" exe: \"/bin/cat\" systemd_unit: \"cat.service\" "
		  "hostname: \"box\" transport: \"journal\"");
	/* Nothing wakes up until the next entry. */
	unsigned processed = journal.processed;
	CHECK_INT(orma_base_loop_turn(fake_loop, 0), 0);
	CHECK_INT(journal.processed, processed);
	CHECK_STR(orma_base_buf_cstr(&fake_log), "");
	end();
}

ORMA_TEST(fields_that_are_damaged_or_repeated_are_left_out)
{
	begin("name: 'linux.systemd_journald'");
	struct entry *entry = add_entry(5);
	add_field(entry, "MESSAGE");
	add_field(entry, "");
	add_field(entry, "MESSAGE=first");
	add_field(entry, "MESSAGE=second");
	add_field(entry, "PRIORITY=high");
	add_field(entry, "_PID=-1");
	add_field(entry, "_UID=4294967296");
	add_field(entry, "_COMM=");
	add_field(entry, "=x");
	add_entry(6);
	fake_run_until(2);
	CHECK_STR(entry_text(0), "message: \"first\" comm: \"\"");
	CHECK_STR(entry_text(1), "");
	end();
}

ORMA_TEST(a_long_or_binary_message_is_cut_and_kept)
{
	const size_t size = 1 << 20;
	char *text = malloc(size);
	begin("name: 'linux.systemd_journald'");
	CHECK(text != NULL);
	memset(text, 0xff, size);
	memcpy(text, "MESSAGE=\0\n=", 11);
	struct entry *entry = add_entry(1);
	entry->fields[entry->count++] = (struct orma_str){text, size};
	add_field(entry, "_PID=7");
	fake_flush(0);
	struct orma_pb_systemd_journald_event *event = fake_packet(0)->journald_event;
	CHECK_INT(event->message.size, 65536);
	CHECK_INT(memcmp(event->message.data, "\0\n=\xff", 4), 0);
	CHECK_INT(event->pid, 7);
	free(text);
	end();
}

ORMA_TEST(filters_become_matches)
{
	begin(CONFIG("min_prio: 2 filter_identifiers: 'a' filter_identifiers: 'b' "
		     "filter_units: 'x.service'"));
	CHECK_STR(orma_base_buf_cstr(&journal.matches),
		  "PRIORITY=0;PRIORITY=1;PRIORITY=2;SYSLOG_IDENTIFIER=a;SYSLOG_IDENTIFIER=b;"
		  "_SYSTEMD_UNIT=x.service;");
	end();
}

ORMA_TEST(without_a_priority_or_with_the_lowest_entries_without_one_count_too)
{
	begin(CONFIG("min_prio: 7"));
	CHECK_STR(orma_base_buf_cstr(&journal.matches), "");
	end();
}

ORMA_TEST(priority_0_is_emergencies_only)
{
	begin(CONFIG("min_prio: 0"));
	CHECK_STR(orma_base_buf_cstr(&journal.matches), "PRIORITY=0;");
	end();
}

ORMA_TEST(a_flush_reads_what_has_arrived_and_counts)
{
	begin("name: 'linux.systemd_journald'");
	add_field(add_entry(7), "MESSAGE=a");
	add_entry(0);
	add_entry(UINT64_MAX);
	fake_flush(0);
	CHECK_INT(fake_packet_count, 2);
	CHECK_STR(entry_text(0), "message: \"a\"");
	CHECK_STR(entry_text(1), "num_total: 1 num_failed: 2");
	CHECK(fake_packet(1)->timestamp > 0);
	CHECK_INT(fake_packet(1)->timestamp_clock_id, 0);
	end();
}

ORMA_TEST(a_burst_is_read_in_several_turns)
{
	begin("name: 'linux.systemd_journald'");
	for (uint64_t i = 1; i <= 1000; i++)
		add_entry(i);
	CHECK(orma_base_loop_turn(fake_loop, 0) >= 0);
	CHECK(fake_packet_count > 0 && fake_packet_count < 1000);
	fake_run_until(1000);
	end();
}

ORMA_TEST(a_machine_whose_journal_nobody_may_read_says_what_to_do)
{
	fake_env.load_journal = load_journal;
	fake_capture_log();
	fake_open(orma_probe_systemd_journald_new);
	fake_start(0, "name: 'linux.systemd_journald'");
	fake_flush(0);
	CHECK(fake_log_has(geteuid() == 0 ? "there is no journal on this machine"
					  : "join the group systemd-journal"));
	end();
}

ORMA_TEST(each_failure_is_said_and_closes_the_journal)
{
	static const struct {
		int *result;
		const char *message;
	} failures[] = {
		{&journal.open_result, "the journal cannot be opened: Permission denied"},
		{&journal.match_result, "a filter is not usable: Permission denied"},
		{&journal.fd_result, "the journal cannot be watched: Permission denied"},
		{&journal.tail_result, "the end of the journal cannot be found: Permission"},
	};
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(failures); i++) {
		*failures[i].result = -EACCES;
		begin(CONFIG("min_prio: 3"));
		CHECK(fake_log_has(failures[i].message));
		fake_flush(0);
		CHECK_INT(fake_packet_count, 0);
		end();
		*failures[i].result = 0;
		fake_log = journal.matches = (struct orma_buf){0};
		fake_arena = (struct orma_arena){0};
	}
}

ORMA_TEST(a_journal_that_fails_later_is_closed)
{
	begin("name: 'linux.systemd_journald'");
	journal.next_result = -EBADMSG;
	add_entry(1);
	fake_flush(0);
	CHECK_STR(entry_text(0), "num_total: 0 num_failed: 1");
	journal.process_result = -EIO;
	fake_run();
	CHECK(fake_log_has("the journal cannot be watched any longer: "));
	CHECK(fake_log_has(strerror(EIO)));
	CHECK_INT(journal.closed, 1);
	end();
}

ORMA_TEST(a_machine_without_libsystemd_says_so_once)
{
	is_library_missing = true;
	begin("name: 'linux.systemd_journald'");
	fake_start(1, CONFIG("min_prio: 3"));
	fake_flush(1);
	CHECK_STR(
		orma_base_buf_cstr(&fake_log),
		"E: linux.systemd_journald: libsystemd is not usable: no such library; nothing is "
		"recorded\n");
	CHECK_INT(fake_packet_count, 0);
	end();
}

ORMA_TEST(a_library_that_is_missing_or_lacks_functions_is_not_used)
{
	const char *missing = NULL;
	CHECK(orma_journal_library_load_from("libno-such-library.so.0", &missing) == NULL);
	CHECK(missing != NULL && missing[0] != '\0');
	/* A library that is not libsystemd lacks its functions. */
	CHECK(orma_journal_library_load_from("libc.so.6", &missing) == NULL);
	CHECK(missing != NULL && missing[0] != '\0');
}

ORMA_TEST(a_configuration_that_does_not_decode_disables_the_instance)
{
	fake_env.load_journal = load_journal;
	fake_capture_log();
	fake_open(orma_probe_systemd_journald_new);
	fake_setup_bytes(0, "\xff", 1);
	CHECK(fake_source.instance_ctx[0] == NULL);
	orma_base_buf_done(&fake_source.config[0]);
	end();
}
