/* SPDX-License-Identifier: Apache-2.0
 * export_test.c - what `orma export` writes, as other programs read it: SQLite itself reads the database and the JSON.
 */
#include "tool/export/export.h"

#include <fcntl.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/fd.h"
#include "harness.h"
#include "proto/codec.h"
#include "schema/gen/trace.pb.h"
#include "tool/export/export_file.h"
#include "tool/tool.h"

#define SEQUENCE           "trusted_packet_sequence_id: 1 "
#define EVENT(ts, content) "packet { " SEQUENCE "timestamp: " #ts " track_event { " content " } } "
#define BEGIN                                                                                      \
	"packet { " SEQUENCE "sequence_flags: 1 timestamp: 1000 track_descriptor { uuid: 10 "      \
	"thread { pid: 7 tid: 8 thread_name: 'wor;ker' } } } "                                     \
	"packet { " SEQUENCE "timestamp: 1000 track_descriptor { uuid: 5 process { pid: 7 "        \
	"process_name: 'prog' } } } "                                                              \
	"packet { " SEQUENCE "timestamp: 1000 track_descriptor { uuid: 30 parent_uuid: 5 "         \
	"name: 'requests' } } "                                                                    \
	"packet { " SEQUENCE "timestamp: 1000 track_descriptor { uuid: 31 parent_uuid: 5 "         \
	"name: 'bytes' counter { unit: 3 } } } "
#define ON_THREAD "track_uuid: 10 categories: 'cat' "
#define ON_TRACK  "track_uuid: 30 categories: 'cat' "

static const char trace_text[] = BEGIN EVENT(
	100000, ON_THREAD "type: 1 name: 'outer \\\"x\\\"' debug_annotations { name: 'n' "
			  "int_value: 5 } flow_ids: 3")
	EVENT(200000, ON_THREAD "type: 1 name: 'inner'") EVENT(300500, ON_THREAD "type: 2") EVENT(
		400000, ON_THREAD "type: 3 name: 'mark'") EVENT(900000, ON_THREAD "type: 2")
		EVENT(250000, ON_TRACK "type: 1 name: 'long' terminating_flow_ids: 3")
			EVENT(250000, ON_TRACK "type: 1 name: 'short'")
				EVENT(260000, ON_TRACK "type: 2") EVENT(260000, ON_TRACK "type: 2")
					EVENT(260000, ON_TRACK "type: 1 name: 'next'")
						EVENT(270000, ON_TRACK "type: 3 name: 'tick'")
							EVENT(280000, "track_uuid: 31 type: 4 "
								      "counter_value: 77")
								EVENT(950000, "track_uuid: 10 "
									      "type: 3 "
									      "name: 'plain'");

static const char *in_folder(const char *name)
{
	static char paths[4][256];
	static unsigned at;
	char *path = paths[at++ % 4];
	CHECK((size_t)snprintf(path, sizeof(paths[0]), "%s/%s", orma_test_tmpdir(), name) <
	      sizeof(paths[0]));
	return path;
}

/* Writes the trace and loads it. */
static struct orma_ask *load(void)
{
	struct orma_arena arena = {0};
	struct orma_buf bytes = {0};
	struct orma_error error = {0};
	struct orma_pb_trace *trace;
	if (orma_proto_text_parse(&orma_pb_trace_desc, "trace", trace_text, strlen(trace_text), 0,
				  &arena, &trace, &error) < 0)
		orma_test_fail(__FILE__, __LINE__, "%s", error.message);
	CHECK_INT(orma_proto_encode(trace, &bytes), 0);
	int fd = open(in_folder("t.pftrace"), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	CHECK(fd >= 0);
	CHECK_INT(orma_base_fd_write_all(fd, bytes.data, bytes.size), 0);
	close(fd);
	orma_base_buf_done(&bytes);
	orma_base_arena_done(&arena);
	struct orma_ask *ask = orma_ask_load(in_folder("t.pftrace"), &(struct orma_ask_options){0});
	CHECK(ask);
	return ask;
}

static int export_to(struct orma_ask *ask, enum orma_export_kind kind, const char *path)
{
	struct orma_export_options options = {.kind = kind, .path = path};
	return orma_export_loaded(ask, &options);
}

static char *read_file(const char *path, struct orma_buf *ret)
{
	CHECK_INT(orma_base_file_read(AT_FDCWD, path, 1 << 24, ret), 0);
	return (char *)(uintptr_t)orma_base_buf_cstr(ret);
}

/* Compares the first columns of the rows, with line feeds between, to what is expected. */
static void check_rows(sqlite3 *db, const char *query, const char *argument, const char *expected)
{
	struct orma_buf text = {0};
	sqlite3_stmt *rows;
	if (sqlite3_prepare_v2(db, query, -1, &rows, NULL) != SQLITE_OK)
		orma_test_fail(__FILE__, __LINE__, "%s: %s", query, sqlite3_errmsg(db));
	if (argument)
		sqlite3_bind_text(rows, 1, argument, -1, SQLITE_STATIC);
	while (sqlite3_step(rows) == SQLITE_ROW) {
		const char *value = (const char *)sqlite3_column_text(rows, 0);
		CHECK_INT(orma_base_buf_printf(&text, "%s\n", value ? value : "-"), 0);
	}
	CHECK_INT(sqlite3_finalize(rows), SQLITE_OK);
	CHECK_STR(orma_base_buf_cstr(&text), expected);
	orma_base_buf_done(&text);
}

ORMA_TEST(a_database_has_all_tables_and_views)
{
	struct orma_ask *ask = load();
	sqlite3 *db;
	CHECK_INT(export_to(ask, ORMA_EXPORT_SQLITE, in_folder("out.db")), 0);
	CHECK_INT(sqlite3_open(in_folder("out.db"), &db), SQLITE_OK);
	check_rows(db, "select name from slice order by id limit 3", NULL,
		   "outer \"x\"\ninner\nlong\n");
	check_rows(db, "select typeof(ts) || typeof(name) from slice limit 1", NULL,
		   "integertext\n");
	check_rows(db, "select display_value from args where key = 'debug.n'", NULL, "5\n");
	check_rows(db, "select value from counter", NULL, "77.0\n");
	/* A view is still one, unless a function is in it that SQLite does not have. */
	check_rows(db, "select type from sqlite_master where name in ('slice', 'thread')", NULL,
		   "view\nview\n");
	check_rows(db, "select type from sqlite_master where name = 'counter_track'", NULL,
		   "table\n");
	check_rows(db, "select unit from counter_track", NULL, "bytes\n");
	/* Tables of other systems are there, for queries that name them. */
	check_rows(db, "select count(*) from android_logs union all select count(*) from gpu", NULL,
		   "0\n0\n");
	sqlite3_stmt *all;
	int count = 0;
	CHECK_INT(sqlite3_prepare_v2(db, "select name from sqlite_master", -1, &all, NULL),
		  SQLITE_OK);
	for (; sqlite3_step(all) == SQLITE_ROW; count++) {
		char *query = sqlite3_mprintf("select count(*) >= 0 from \"%w\"",
					      sqlite3_column_text(all, 0));
		check_rows(db, query, NULL, "1\n");
		sqlite3_free(query);
	}
	CHECK(count > 100);
	sqlite3_finalize(all);
	sqlite3_close(db);
	orma_ask_free(ask);
}

ORMA_TEST(a_choice_of_tables)
{
	struct orma_ask *ask = load();
	struct orma_export_options options = {.kind = ORMA_EXPORT_SQLITE,
					      .path = in_folder("two.db"),
					      .tables = {"slice", "thread"},
					      .table_count = 2};
	sqlite3 *db;
	CHECK_INT(orma_export_loaded(ask, &options), 0);
	CHECK_INT(sqlite3_open(in_folder("two.db"), &db), SQLITE_OK);
	check_rows(db, "select type || name from sqlite_master", NULL, "tableslice\ntablethread\n");
	sqlite3_close(db);
	options.tables[0] = "nothing";
	CHECK_INT(orma_export_loaded(ask, &options), ORMA_EXIT_FAILURE);
	orma_ask_free(ask);
}

ORMA_TEST(csv_has_quotes_and_empty_fields)
{
	struct orma_ask *ask = load();
	struct orma_buf text = {0};
	struct orma_export_options options = {.kind = ORMA_EXPORT_CSV,
					      .path = in_folder("csv"),
					      .tables = {"slice"},
					      .table_count = 1};
	CHECK_INT(orma_export_loaded(ask, &options), 0);
	const char *csv = read_file(in_folder("csv/slice.csv"), &text);
	CHECK(strncmp(csv, "\"id\",\"ts\",\"dur\",\"track_id\",", 26) == 0);
	CHECK(strstr(csv, "\r\n0,100000,800000,0,\"cat\",\"outer \"\"x\"\"\",0,,"));
	orma_base_buf_done(&text);
	/* All tables are many files; those of other systems are not among them. */
	CHECK_INT(export_to(ask, ORMA_EXPORT_CSV, in_folder("csv")), 0);
	CHECK_INT(access(in_folder("csv/thread.csv"), F_OK), 0);
	CHECK_INT(access(in_folder("csv/state.csv"), F_OK), 0);
	CHECK_INT(access(in_folder("csv/gpu.csv"), F_OK), -1);
	CHECK_INT(access(in_folder("csv/thread.csv.part"), F_OK), -1);
	orma_ask_free(ask);
}

ORMA_TEST(json_has_the_events_of_chrome)
{
	struct orma_ask *ask = load();
	struct orma_buf text = {0};
	sqlite3 *db;
	CHECK_INT(export_to(ask, ORMA_EXPORT_JSON, in_folder("out.json")), 0);
	const char *json = read_file(in_folder("out.json"), &text);
	CHECK_INT(sqlite3_open(":memory:", &db), SQLITE_OK);
	check_rows(db,
		   "select value -> 'args' ->> 'name' from json_each(?, '$.traceEvents') "
		   "where value ->> 'ph' = 'M' and value ->> 'pid' = 7 and value ->> 'name' glob "
		   "'*_name'",
		   json, "wor;ker\nprog\n");
	check_rows(db,
		   "select value from json_each(?, '$.traceEvents') where value ->> 'ph' in ('X', "
		   "'I')",
		   json,
		   "{\"name\":\"outer \\\"x\\\"\",\"cat\":\"cat\",\"ts\":100,\"pid\":7,\"tid\":8,"
		   "\"ph\":\"X\",\"dur\":800,\"args\":{\"n\":5}}\n"
		   "{\"name\":\"inner\",\"cat\":\"cat\",\"ts\":200,\"pid\":7,\"tid\":8,"
		   "\"ph\":\"X\",\"dur\":100,\"args\":{}}\n"
		   "{\"name\":\"mark\",\"cat\":\"cat\",\"ts\":400,\"pid\":7,\"tid\":8,"
		   "\"ph\":\"I\",\"s\":\"t\",\"args\":{}}\n");
	/* The events of other tracks: inner ends first, and ends before begins of the same time. */
	check_rows(db,
		   "select value ->> 'ph' || ' ' || (value ->> 'name') || ' ' || (value ->> 'ts') "
		   "from json_each(?, '$.traceEvents') where value ->> 'ph' in ('b', 'e', 'n')",
		   json,
		   "b long 250\nb short 250\ne short 260\ne long 260\nb next 260\nn tick 270\n");
	check_rows(db,
		   "select distinct value ->> 'pid' || (value -> 'id2' ->> 'local' glob '0x?*') "
		   "from json_each(?, '$.traceEvents') where value ->> 'ph' in ('b', 'e', 'n')",
		   json, "71\n");
	/* A flow to a slice of another track than a thread's cannot be written. */
	check_rows(db,
		   "select count(*) from json_each(?, '$.traceEvents') where value ->> 'ph' = 's'",
		   json, "0\n");
	check_rows(db,
		   "select json_extract(?, '$.metadata.trace_processor_stats.clock_sync_failure')",
		   json, "0\n");
	check_rows(db, "select json_type(?, '$.metadata.trace_processor_stats')", json, "object\n");
	sqlite3_close(db);
	orma_base_buf_done(&text);
	orma_ask_free(ask);
}

ORMA_TEST(stacks_of_slices_have_the_time_of_their_own)
{
	struct orma_ask *ask = load();
	struct orma_buf text = {0};
	CHECK_INT(export_to(ask, ORMA_EXPORT_COLLAPSED, in_folder("out.txt")), 0);
	const char *stacks = read_file(in_folder("out.txt"), &text);
	CHECK(strstr(stacks, "prog;wor:ker;outer \"x\" 699500\n"));
	CHECK(strstr(stacks, "prog;wor:ker;outer \"x\";inner 100500\n"));
	CHECK(strstr(stacks, "prog;requests;long;short 10000\n"));
	/* A slice without an end lasts as long as the trace. */
	CHECK(strstr(stacks, "prog;requests;next 690000\n"));
	CHECK(!strstr(stacks, "prog;requests;long 0"));
	orma_base_buf_done(&text);
	orma_ask_free(ask);
}

ORMA_TEST(a_disk_that_is_full_leaves_the_older_file)
{
	static const struct {
		enum orma_export_kind kind;
		const char *path, *file;
	} cases[] = {{ORMA_EXPORT_SQLITE, "full.db", "full.db"},
		     {ORMA_EXPORT_CSV, "csv", "csv/args.csv"},
		     {ORMA_EXPORT_PARQUET, "parquet", "parquet/args.parquet"},
		     {ORMA_EXPORT_JSON, "full.json", "full.json"},
		     {ORMA_EXPORT_COLLAPSED, "full.txt", "full.txt"}};
	struct orma_ask *ask = load();
	struct rlimit whole, tiny;
	signal(SIGXFSZ, SIG_IGN);
	CHECK_INT(getrlimit(RLIMIT_FSIZE, &whole), 0);
	tiny = (struct rlimit){.rlim_cur = 8, .rlim_max = whole.rlim_max};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct orma_buf before = {0}, after = {0};
		char part[300];
		CHECK_INT(export_to(ask, cases[i].kind, in_folder(cases[i].path)), 0);
		read_file(in_folder(cases[i].file), &before);
		CHECK_INT(setrlimit(RLIMIT_FSIZE, &tiny), 0);
		CHECK_INT(export_to(ask, cases[i].kind, in_folder(cases[i].path)),
			  ORMA_EXIT_FAILURE);
		CHECK_INT(setrlimit(RLIMIT_FSIZE, &whole), 0);
		read_file(in_folder(cases[i].file), &after);
		CHECK_INT(after.size, before.size);
		CHECK_INT(memcmp(after.data, before.data, before.size), 0);
		snprintf(part, sizeof(part), "%s.part", in_folder(cases[i].file));
		CHECK_INT(access(part, F_OK), -1);
		orma_base_buf_done(&before);
		orma_base_buf_done(&after);
	}
	orma_ask_free(ask);
}

ORMA_TEST(of_two_processes_that_write_one_file_the_later_one_does)
{
	struct orma_export_file first, second;
	struct orma_buf text = {0};
	char path[300];
	snprintf(path, sizeof(path), "%s", in_folder("both.json"));
	CHECK_INT(orma_export_file_open(&first, path), 0);
	CHECK_INT(orma_export_file_write(&first, "first", 5), 0);
	CHECK_INT(orma_export_file_open(&second, path), 0);
	CHECK_INT(orma_export_file_finish(&first), ORMA_EXIT_FAILURE);
	orma_export_file_done(&first);
	/* Nobody sees a file that is not whole. */
	CHECK_INT(access(path, F_OK), -1);
	CHECK_INT(orma_export_file_write(&second, "second", 6), 0);
	CHECK_INT(orma_export_file_finish(&second), 0);
	orma_export_file_done(&second);
	read_file(path, &text);
	CHECK_INT(text.size, 6);
	orma_base_buf_done(&text);
}

ORMA_TEST(outputs_that_cannot_be_made)
{
	struct orma_ask *ask = load();
	CHECK_INT(export_to(ask, ORMA_EXPORT_JSON, in_folder("no/such/folder.json")),
		  ORMA_EXIT_FAILURE);
	CHECK_INT(export_to(ask, ORMA_EXPORT_SQLITE, in_folder("no/such/folder.db")),
		  ORMA_EXIT_FAILURE);
	/* A file is where the folder should be. */
	CHECK_INT(export_to(ask, ORMA_EXPORT_CSV, in_folder("t.pftrace")), ORMA_EXIT_FAILURE);
	orma_ask_free(ask);
}
