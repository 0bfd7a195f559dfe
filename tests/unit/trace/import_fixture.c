/* SPDX-License-Identifier: Apache-2.0
 * import_fixture.c - cells as text, so that a test states what a table shows.
 */
#include "import_fixture.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../../import_run.h"
#include "schema/gen/trace.pb.h"

void import_bytes(struct import_fixture *fixture, const void *data, size_t size)
{
	int fd = memfd_create("trace", MFD_CLOEXEC);
	struct orma_error error = {0};
	CHECK(fd >= 0);
	CHECK_INT(write(fd, data, size), (long long)size);
	CHECK_INT(lseek(fd, 0, SEEK_SET), 0);
	fixture->input = (struct orma_trace_bytes){.fd = -1, .spool_fd = -1};
	CHECK_INT(orma_trace_bytes_open(&fixture->input, fd, NULL), 0);
	CHECK_INT(orma_tables_init(&fixture->tables, 0, NULL), 0);
	fixture->result =
		import_run(&fixture->importer, &fixture->tables, &fixture->input, NULL, &error);
}

void import_text(struct import_fixture *fixture, const char *text)
{
	struct orma_arena arena = {0};
	struct orma_buf bytes = {0};
	struct orma_pb_trace *trace;
	struct orma_error error = {0};
	if (orma_proto_text_parse(&orma_pb_trace_desc, "trace", text, strlen(text), 0, &arena,
				  &trace, &error) < 0)
		orma_test_fail(__FILE__, __LINE__, "%s", error.message);
	CHECK_INT(orma_proto_encode(trace, &bytes), 0);
	import_bytes(fixture, bytes.data, bytes.size);
	CHECK_INT(fixture->result, 0);
	orma_base_buf_done(&bytes);
	orma_base_arena_done(&arena);
}

void import_done(struct import_fixture *fixture)
{
	int fd = fixture->input.fd;
	orma_importer_done(&fixture->importer);
	orma_tables_done(&fixture->tables);
	orma_trace_bytes_done(&fixture->input);
	close(fd);
}

static size_t add_cell(struct import_fixture *fixture, size_t size, enum orma_column_type type,
		       int64_t cell)
{
	char *at = fixture->text + size;
	size_t room = sizeof(fixture->text) - size;
	if (cell == orma_store_null_of(type))
		return size + (size_t)snprintf(at, room, "-");
	if (type == ORMA_COLUMN_DOUBLE)
		return size + (size_t)snprintf(at, room, "%.10g", orma_store_double_of_cell(cell));
	if (type == ORMA_COLUMN_INT)
		return size + (size_t)snprintf(at, room, "%lld", (long long)cell);
	struct orma_str text = orma_store_pool_get(&fixture->tables.strings, (uint32_t)cell);
	return size + (size_t)snprintf(at, room, "%.*s", (int)text.size, text.data);
}

static size_t find_column(const struct orma_table *table, const char *name, size_t size)
{
	for (size_t i = 0; i < table->column_count; i++)
		if (strlen(table->specs[i].name) == size &&
		    memcmp(table->specs[i].name, name, size) == 0)
			return i;
	orma_test_fail(__FILE__, __LINE__, "no column %.*s", (int)size, name);
}

const char *import_rows(struct import_fixture *fixture, enum orma_table_id id, const char *columns)
{
	const struct orma_table *table = &fixture->tables.all[id];
	size_t size = 0;
	fixture->text[0] = '\0';
	if (id == ORMA_TABLE_THREAD_STATE || id == ORMA_TABLE_SPURIOUS_WAKEUP)
		CHECK_INT(orma_thread_states_finish(&fixture->importer.sched.states), 0);
	if (id == ORMA_TABLE_FTRACE_EVENT)
		CHECK_INT(orma_raw_events_finish(&fixture->importer.system.raw_events), 0);
	for (uint64_t row = 0; row < orma_store_table_rows(table); row++) {
		for (const char *name = columns; *name;) {
			size_t length = strcspn(name, " ");
			if (length == 2 && memcmp(name, "id", 2) == 0) {
				size = add_cell(fixture, size, ORMA_COLUMN_INT, (int64_t)row);
			} else {
				size_t column = find_column(table, name, length);
				size = add_cell(
					fixture, size, table->specs[column].type,
					orma_store_column_get(&table->columns[column], row));
			}
			name += length + (name[length] == ' ');
			CHECK(size + 100 < sizeof(fixture->text));
			fixture->text[size++] = *name ? ' ' : '\n';
			fixture->text[size] = '\0';
		}
	}
	return fixture->text;
}

static const char *show_list(struct import_fixture *fixture, const struct orma_arg_list *list)
{
	size_t size = 0;
	fixture->text[0] = '\0';
	for (uint32_t i = 0; i < list->count; i++) {
		const struct orma_arg *arg = &list->args[i];
		bool is_text = arg->type == ORMA_ARG_STRING;
		if (i > 0)
			fixture->text[size++] = ' ';
		size = add_cell(fixture, size, ORMA_COLUMN_STRING, arg->key);
		fixture->text[size++] = '=';
		size = add_cell(fixture, size,
				is_text                      ? ORMA_COLUMN_STRING
				: arg->type == ORMA_ARG_REAL ? ORMA_COLUMN_DOUBLE
							     : ORMA_COLUMN_INT,
				arg->value);
	}
	return fixture->text;
}

const char *import_args(struct import_fixture *fixture, int64_t arg_set_id)
{
	const struct orma_table *table = &fixture->tables.all[ORMA_TABLE_ARGS];
	size_t size = 0;
	fixture->text[0] = '\0';
	for (uint64_t row = 0; row < orma_store_table_rows(table); row++) {
		if (orma_store_column_get(&table->columns[ORMA_ARGS_ARG_SET_ID], row) != arg_set_id)
			continue;
		int64_t text = orma_store_column_get(&table->columns[ORMA_ARGS_STRING_VALUE], row);
		int64_t number = orma_store_column_get(&table->columns[ORMA_ARGS_INT_VALUE], row);
		if (size > 0)
			fixture->text[size++] = ' ';
		size = add_cell(fixture, size, ORMA_COLUMN_STRING,
				orma_store_column_get(&table->columns[ORMA_ARGS_KEY], row));
		fixture->text[size++] = '=';
		size = text != ORMA_CELL_NULL ? add_cell(fixture, size, ORMA_COLUMN_STRING, text)
					      : add_cell(fixture, size, ORMA_COLUMN_INT, number);
	}
	return fixture->text;
}

static int64_t cell(struct import_fixture *fixture, enum orma_table_id table, size_t column,
		    uint64_t row)
{
	return orma_store_column_get(&fixture->tables.all[table].columns[column], row);
}

const char *import_slice_args(struct import_fixture *fixture, uint64_t row)
{
	struct orma_kernel_args args = {.system = &fixture->importer.system};
	struct orma_event_args event_args;
	struct orma_arg_list list = {.tables = &fixture->tables};
	int64_t set = cell(fixture, ORMA_TABLE_SLICE, ORMA_SLICE_ARG_SET_ID, row);
	int64_t ends[] = {cell(fixture, ORMA_TABLE_SLICE, ORMA_SLICE_BEGIN_PACKET, row),
			  cell(fixture, ORMA_TABLE_SLICE, ORMA_SLICE_END_PACKET, row)};
	if (set != ORMA_CELL_NULL)
		return import_args(fixture, set);
	orma_event_args_init(&event_args, &fixture->importer.index, &fixture->importer.types);
	for (int i = 0; i < 2; i++)
		if (ends[i] == ORMA_CELL_NULL)
			continue;
		else if (ends[i] & ORMA_KERNEL_EVENT_BIT)
			CHECK_INT(orma_kernel_args_add_slice(&args, ends[i], &list), 0);
		else
			CHECK_INT(orma_event_args_add(&event_args, (uint64_t)ends[i], &list), 0);
	show_list(fixture, &list);
	orma_arg_list_done(&list);
	orma_kernel_args_done(&args);
	orma_event_args_done(&event_args);
	return fixture->text;
}

const char *import_event_args(struct import_fixture *fixture, uint64_t row)
{
	struct orma_kernel_args args = {.system = &fixture->importer.system};
	struct orma_arg_list list = {.tables = &fixture->tables};
	CHECK_INT(orma_raw_events_finish(&fixture->importer.system.raw_events), 0);
	CHECK_INT(orma_kernel_args_add(&args, row, &list), 0);
	show_list(fixture, &list);
	orma_arg_list_done(&list);
	orma_kernel_args_done(&args);
	return fixture->text;
}

int64_t import_stat(struct import_fixture *fixture, const char *name)
{
	const struct orma_table *table = &fixture->tables.all[ORMA_TABLE_STATS];
	for (uint64_t row = 0; row < orma_store_table_rows(table); row++) {
		int64_t id = cell(fixture, ORMA_TABLE_STATS, ORMA_STATS_NAME, row);
		if (orma_base_str_is(orma_store_pool_get(&fixture->tables.strings, (uint32_t)id),
				     name))
			return cell(fixture, ORMA_TABLE_STATS, ORMA_STATS_VALUE, row);
	}
	return -1;
}

const char *import_counters(struct import_fixture *fixture)
{
	const struct orma_table *tracks = &fixture->tables.all[ORMA_TABLE_TRACK];
	const struct orma_table *counters = &fixture->tables.all[ORMA_TABLE_COUNTER];
	size_t size = 0;
	fixture->text[0] = '\0';
	for (uint64_t track = 0; track < orma_store_table_rows(tracks); track++) {
		size = add_cell(fixture, size, ORMA_COLUMN_STRING,
				cell(fixture, ORMA_TABLE_TRACK, ORMA_TRACK_NAME, track));
		fixture->text[size++] = ':';
		for (uint64_t row = 0; row < orma_store_table_rows(counters); row++) {
			if (cell(fixture, ORMA_TABLE_COUNTER, ORMA_COUNTER_TRACK_ID, row) !=
			    (int64_t)track)
				continue;
			fixture->text[size++] = ' ';
			size = add_cell(fixture, size, ORMA_COLUMN_DOUBLE,
					cell(fixture, ORMA_TABLE_COUNTER, ORMA_COUNTER_VALUE, row));
			CHECK(size + 100 < sizeof(fixture->text));
		}
		fixture->text[size++] = '\n';
		fixture->text[size] = '\0';
	}
	return fixture->text;
}
