/* SPDX-License-Identifier: Apache-2.0
 * kept_args_test.c - arguments that were kept when a trace was loaded are those that its packets have, for all kinds of them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/macros.h"
#include "harness.h"
#include "sql/engine_state.h"
#include "trace_fixture.h"

#define SEQUENCE "packet { trusted_packet_sequence_id: 1 "
#define NAMES                                                                                      \
	SEQUENCE "sequence_flags: 1 interned_data { event_names { iid: 1 name: 'x' } "             \
		 "debug_annotation_names { iid: 1 name: 'a' } debug_annotation_names { iid: 2 "    \
		 "name: 'b.c' } debug_annotation_names { iid: 3 name: 'b_c' } "                    \
		 "debug_annotation_names { iid: 70000 name: 'far' } } }\n"

/* @ stands for a number of four digits. */
static const char *const kinds[] = {
	"",
	"debug_annotations { name_iid: 1 int_value: @ }",
	"debug_annotations { name_iid: 1 int_value: -@ }",
	"debug_annotations { int_value: @ name_iid: 1 }",
	"debug_annotations { name_iid: 1 uint_value: 1844674407370954@ }",
	"debug_annotations { name_iid: 1 uint_value: 922337203860025@ }",
	"debug_annotations { name_iid: 1 bool_value: true } debug_annotations { name_iid: 2 "
	"pointer_value: @ }",
	"debug_annotations { name_iid: 2 int_value: @ } debug_annotations { name_iid: 3 "
	"int_value: 4 }",
	"debug_annotations { name_iid: 1 int_value: 5 } debug_annotations { name_iid: 1 int_value: "
	"@ }",
	"debug_annotations { name_iid: 70000 int_value: @ } debug_annotations { name_iid: 1 "
	"int_value: 6 }",
	"debug_annotations { name_iid: 9 int_value: @ } debug_annotations { name_iid: 1 "
	"int_value: 7 }",
	"debug_annotations { name_iid: 1 }",
	"debug_annotations { name: 'a' int_value: @ }",
	"debug_annotations { name: 'in_place' int_value: @ }",
	"debug_annotations { name: 'd' dict_entries { name: 'e' int_value: @ } } "
	"debug_annotations { name_iid: 1 array_values { int_value: 1 } array_values { int_value: 2 "
	"} "
	"}",
	"correlation_id: @ debug_annotations { name_iid: 1 int_value: 8 }",
	"flow_ids: 5 debug_annotations { name_iid: 1 int_value: @ }",
	"debug_annotations { name_iid: 1 int_value: 1 } debug_annotations { name_iid: 3 int_value: "
	"@ } debug_annotations { name: 'p' int_value: 1 }",
	"legacy_event { phase: 73 unscoped_id: 4 } debug_annotations { name_iid: 1 int_value: @ }",
};
/* An argument is no integer in these, or the one integer that stands for NULL in columns. */
static const char *const other_types[] = {
	"debug_annotations { name_iid: 1 int_value: -9223372035001586580 }",
	"debug_annotations { name_iid: 1 double_value: @.5 }",
	"debug_annotations { name_iid: 1 string_value: 'text @' } debug_annotations { name_iid: 2 "
	"int_value: 9 }",
	"debug_annotations { name_iid: 2 double_value: 1.25 } debug_annotations { name_iid: 1 "
	"int_value: @ }",
	"debug_annotations { name_iid: 1 legacy_json_value: '{\"k\": @}' }",
	"debug_annotations { name_iid: 2 string_value_iid: @ }",
};

static unsigned draw(unsigned limit)
{
	static unsigned long long state = 99;
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(state >> 33) % limit;
}

static int append(struct orma_buf *text, long long ts, const char *type, const char *form,
		  long long value)
{
	int r = orma_base_buf_printf(text,
				     SEQUENCE "sequence_flags: 2 timestamp: %lld track_event { "
					      "track_uuid: 5 %s ",
				     ts, type);
	for (; *form && r == 0; form++)
		r = *form == '@' ? orma_base_buf_printf(text, "%lld", value)
				 : orma_base_buf_append(text, form, 1);
	return r < 0 ? r : orma_base_buf_printf(text, " } }\n");
}

/* Opens a trace with slices of the first kinds, one in `rare` of them of a random kind. */
static struct orma_trace_database *open_trace(unsigned slices, unsigned rare, bool has_others)
{
	struct orma_buf text = {0};
	int r = orma_base_buf_printf(&text, NAMES);
	for (unsigned i = 0; i < slices && r == 0; i++) {
		bool is_rare = draw(rare) == 0;
		unsigned kind = is_rare ? draw(ORMA_ARRAY_SIZE(kinds)) : draw(3);
		const char *form = kinds[kind];
		if (is_rare && has_others && draw(4) == 0)
			form = other_types[draw(ORMA_ARRAY_SIZE(other_types))];
		bool is_slice = draw(4) == 0 && !strstr(form, "legacy_event");
		r = append(&text, 10LL * i,
			   is_slice ? "type: 1 name_iid: 1" : "type: 3 name_iid: 1", form,
			   1000 + draw(9000));
		if (is_slice && r == 0)
			r = append(&text, 10LL * i + 5, "type: 2",
				   is_rare && draw(2) == 0 ? kinds[draw(9)] : "",
				   1000 + draw(9000));
	}
	CHECK_INT(r, 0);
	struct orma_trace_database *database = fixture_open(orma_base_buf_cstr(&text));
	orma_base_buf_done(&text);
	return database;
}

#define OF_A "extract_arg(arg_set_id, 'debug.a')"
#define OF_C "extract_arg(slice.arg_set_id, 'debug.b_c')"

static const char *const queries[] = {
	"select s.id, a.* from slice s join args a using (arg_set_id) order by s.id, a.id",
	"select count(*), count(int_value), count(real_value), min(string_value) from args",
	"select distinct key from args",
	"select count(distinct flat_key) from args",
	"select key, count(*) from args group by key order by key",
	"select id, " OF_A ", typeof(" OF_A ") from slice",
	"select count(*), count(" OF_A "), min(" OF_A "), max(" OF_A ") from slice",
	"select count(" OF_C "), min(" OF_C ") from slice where ts < 6000",
	"select avg(" OF_A ") as mean, count(*) as number from slice where " OF_A
	" between -70 and "
	"4000 and dur = 0",
	"select count(*) from slice where " OF_A " = '7'",
	"select count(*) from slice where " OF_A " in ('7', 8)",
	"select count(*) from slice where " OF_A " > 7.5",
	"select count(*) from slice where " OF_A " is null",
	"select sum(extract_arg(arg_set_id, 'debug.far')), sum(extract_arg(arg_set_id, "
	"'debug.no')), "
	"sum(extract_arg(arg_set_id, 'it''s')) from slice",
	"select name, sum(" OF_A " / 1000000000000000) from slice group by name",
	"select " OF_A " as a, count(*) from slice group by a order by a limit 20",
};

/* Asks with the kept arguments, and as if there were none. */
static void compare(struct orma_trace_database *database)
{
	struct orma_kept_args *kept = &database->importer.kept_args;
	uint32_t shapes = kept->shape_count;
	CHECK(shapes > 3);
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(queries); i++) {
		kept->shape_count = 0;
		database->args_set = ORMA_CELL_NULL;
		char *packets = fixture_ask(database, queries[i]);
		kept->shape_count = shapes;
		database->args_set = ORMA_CELL_NULL;
		fixture_check(database, queries[i], packets);
		orma_base_free(packets);
	}
}

ORMA_TEST(kept_arguments_are_those_of_the_packets)
{
	struct orma_trace_database *database = open_trace(3000, 1, true);
	compare(database);
	fixture_close(database);
}

/* More rows than aggregates need that are computed natively. */
ORMA_TEST(sums_of_kept_arguments_are_those_that_sqlite_computes)
{
	struct orma_trace_database *database = open_trace(24000, 40, false);
	uint64_t made = database->sql->native_made;
	char *text = fixture_ask(database, queries[6]);
	CHECK_INT(database->sql->native_made, made + 1);
	orma_base_free(text);
	/* So that the reference is not the column that was found. */
	orma_arg_columns_free(database->arg_columns);
	database->arg_columns = NULL;
	compare(database);
	/* A function of the user's means something else. */
	fixture_check(database,
		      "create perfetto function extract_arg(set long, key string) returns long as "
		      "select 1; select min(extract_arg(arg_set_id, 'debug.a')) from slice",
		      "1\n");
	fixture_close(database);
}

ORMA_TEST(sums_of_kept_arguments_of_several_types_are_left_to_sqlite)
{
	struct orma_trace_database *database = open_trace(22000, 300, true);
	compare(database);
	fixture_close(database);
}

ORMA_TEST(kept_arguments_come_back_from_an_index)
{
	struct orma_trace_database *database = open_trace(9000, 8, true), *again;
	struct orma_trace_index index = {.fd = memfd_create("index", MFD_CLOEXEC), .key = "k"};
	int fd = database->input.fd;
	CHECK_INT(orma_trace_database_write_index(database, fd, &index), 0);
	CHECK_INT(orma_trace_database_open_index(fd, &index, NULL, &again, NULL), 0);
	close(index.fd);
	CHECK_INT(again->importer.kept_args.shape_count, database->importer.kept_args.shape_count);
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(queries); i++) {
		char *text = fixture_ask(database, queries[i]);
		fixture_check(again, queries[i], text);
		orma_base_free(text);
	}
	compare(again);
	orma_trace_database_free(again);
	fixture_close(database);
}

/* Numbers of all magnitudes take more than their share of the trace, so the later ones are read from the packets. */
ORMA_TEST(values_beyond_their_share_are_read_from_the_packets)
{
	struct orma_buf text = {0};
	int r = orma_base_buf_printf(&text, NAMES);
	for (int i = 0; i < 30000 && r == 0; i++) {
		long long value = (long long)draw(1u << 30) << 31 | draw(1u << 30);
		r = append(&text, i, "type: 3",
			   "debug_annotations { name_iid: 1 double_value: 0.@ } "
			   "debug_annotations { name_iid: 2 pointer_value: 7 }",
			   value);
	}
	CHECK_INT(r, 0);
	struct orma_trace_database *database = fixture_open(orma_base_buf_cstr(&text));
	orma_base_buf_done(&text);
	const struct orma_kept_args *kept = &database->importer.kept_args;
	CHECK(kept->has_no_room);
	CHECK_INT(kept->shape_count, 1);
	CHECK(orma_kept_args_value(kept, &kept->shapes[0], 0, 0) != ORMA_CELL_NULL);
	CHECK_INT(orma_kept_args_value(kept, &kept->shapes[0], 0, 29999), ORMA_CELL_NULL);
	fixture_check(
		database,
		"select count(*) from (select distinct key from args) where key glob 'debug.*'",
		"2\n");
	fixture_check(database,
		      "select sum(extract_arg(arg_set_id, 'debug.b_c')), "
		      "count(extract_arg(arg_set_id, 'debug.a')) from slice",
		      "210000,30000\n");
	fixture_close(database);
}

/* Each set has a key of its own: the later ones get no shape. */
ORMA_TEST(arguments_of_more_kinds_than_shapes_are_found)
{
	enum { KEYS = 400 };
	struct orma_buf text = {0};
	int r = orma_base_buf_printf(&text, SEQUENCE "sequence_flags: 1 interned_data { ");
	for (int i = 1; i <= KEYS && r == 0; i++)
		r = orma_base_buf_printf(&text, "debug_annotation_names { iid: %d name: 'k%d' } ",
					 i, i);
	if (r == 0)
		r = orma_base_buf_printf(&text, "} }\n");
	for (int i = 0; i < 3 * KEYS && r == 0; i++) {
		char form[80];
		snprintf(form, sizeof(form), "debug_annotations { name_iid: %d int_value: @ }",
			 i % KEYS + 1);
		r = append(&text, i, "type: 3", form, i);
	}
	CHECK_INT(r, 0);
	struct orma_trace_database *database = fixture_open(orma_base_buf_cstr(&text));
	orma_base_buf_done(&text);
	CHECK_INT(database->importer.kept_args.shape_count, ORMA_ARG_SHAPES_MAX);
	fixture_check(
		database,
		"select count(distinct key), count(*), sum(int_value) from args where key glob "
		"'debug.k*'",
		"400,1200,719400\n");
	fixture_check(
		database,
		"select count(*) from (select distinct key from args) where key glob 'debug.k*'",
		"400\n");
	compare(database);
	fixture_close(database);
}
