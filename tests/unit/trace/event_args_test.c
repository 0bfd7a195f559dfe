/* SPDX-License-Identifier: Apache-2.0
 * event_args_test.c - arguments are read from the trace in any order of rows, whatever the number of sequences.
 */
#include <stdio.h>

#include "base/buf.h"
#include "import_fixture.h"

static struct import_fixture fixture;

enum { SEQUENCES = 150, ROUNDS = 20 };

/* An instant of each sequence in each round; the names of arguments differ from sequence to sequence. */
static void import_rounds(void)
{
	struct orma_buf text = {0};
	for (int i = 0; i < SEQUENCES; i++)
		CHECK_INT(orma_base_buf_printf(
				  &text,
				  "packet { trusted_packet_sequence_id: %d sequence_flags: 1 "
				  "interned_data {"
				  " debug_annotation_names { iid: 1 name: 'name_of_%d' } } }\n",
				  i + 1, i),
			  0);
	for (int round = 0; round < ROUNDS; round++)
		for (int i = 0; i < SEQUENCES; i++)
			CHECK_INT(
				orma_base_buf_printf(
					&text,
					"packet { trusted_packet_sequence_id: %d sequence_flags: 2 "
					"timestamp: %d "
					"track_event { type: TYPE_INSTANT track_uuid: 5 name: 'x' "
					"debug_annotations { name_iid: 1 int_value: %d } "
					"debug_annotations { "
					"name: 'padding' string_value: '%0*d' } } }\n",
					i + 1, round * SEQUENCES + i, round, 10 + i % 90, round),
				0);
	import_text(&fixture, orma_base_buf_cstr(&text));
	orma_base_buf_done(&text);
}

static void check_row(int row)
{
	char expected[200];
	int sequence = row % SEQUENCES, round = row / SEQUENCES;
	snprintf(expected, sizeof(expected), "debug.name_of_%d=%d debug.padding=%0*d", sequence,
		 round, 10 + sequence % 90, round);
	CHECK_STR(import_slice_args(&fixture, (uint64_t)row), expected);
}

ORMA_TEST(arguments_of_many_sequences_are_read_in_any_order)
{
	import_rounds();
	for (int row = 0; row < SEQUENCES * ROUNDS; row++)
		check_row(row);
	for (int row = SEQUENCES * ROUNDS; row-- > 0;)
		check_row(row);
	for (int i = 0; i < SEQUENCES * ROUNDS; i++)
		check_row((int)((unsigned)i * 7919u % (SEQUENCES * ROUNDS)));
	import_done(&fixture);
}

#define BEGIN_SEQUENCE(definitions)                                                                \
	"packet { trusted_packet_sequence_id: 1 sequence_flags: 1 interned_data { " definitions    \
	" } }\n"
#define EVENT(ts, fields)                                                                          \
	"packet { trusted_packet_sequence_id: 1 sequence_flags: 2 timestamp: " #ts                 \
	" track_event { type: TYPE_INSTANT track_uuid: 5 name: 'x' " fields " } }\n"
#define NAME(iid, name) "debug_annotation_names { iid: " #iid " name: '" name "' }"

/* All values are of annotations with interned names, and each is read in a way of its own. */
ORMA_TEST(arguments_of_all_plain_types)
{
	import_text(
		&fixture,
		BEGIN_SEQUENCE(NAME(1, "a.b[c]") NAME(2, "plain"))
			EVENT(1, "debug_annotations { name_iid: 1 int_value: -7 }") EVENT(
				2,
				"debug_annotations { name_iid: 1 uint_value: 18446744073709551615 }"
				"debug_annotations { name_iid: 2 bool_value: true }")
				EVENT(3, "debug_annotations { name_iid: 2 double_value: 1.5 }"
					 "debug_annotations { name_iid: 1 string_value: 'text' }")
					EVENT(4,
					      "debug_annotations { name_iid: 2 pointer_value: 255 }"
					      "debug_annotations { name_iid: 2 int_value: 8 }")
						EVENT(5,
						      "debug_annotations { name_iid: 2 "
						      "string_value: '' } timestamp_delta_us: 3"));
	static const char *const expected[] = {"debug.a_b_c_=-7", "debug.a_b_c_=-1 debug.plain=1",
					       "debug.plain=1.5 debug.a_b_c_=text", "debug.plain=8",
					       "debug.plain="};
	for (size_t row = 0; row < sizeof(expected) / sizeof(*expected); row++)
		CHECK_STR(import_slice_args(&fixture, row), expected[row]);
	import_done(&fixture);
}

/* The same id is another name when the state of the sequence was cleared in between. */
ORMA_TEST(arguments_have_the_names_of_their_generation)
{
	import_text(&fixture,
		    BEGIN_SEQUENCE(NAME(1, "first"))
			    EVENT(1, "debug_annotations { name_iid: 1 int_value: 1 }") EVENT(
				    2, "debug_annotations { name_iid: 1 int_value: 2 }")
				    BEGIN_SEQUENCE(NAME(1, "second")) EVENT(
					    3, "debug_annotations { name_iid: 1 int_value: 3 }"));
	struct orma_event_args args;
	struct orma_arg_list list = {.tables = &fixture.tables};
	static const char *const keys[] = {"debug.first", "debug.first", "debug.second"};
	orma_event_args_init(&args, &fixture.importer.index, &fixture.importer.types);
	for (int i = 0; i < 9; i++) {
		uint64_t row = (uint64_t)i * 2 % 3;
		int64_t entry =
			orma_store_column_get(orma_tables_column(&fixture.tables, ORMA_TABLE_SLICE,
								 ORMA_SLICE_BEGIN_PACKET),
					      row);
		orma_arg_list_clear(&list);
		CHECK_INT(orma_event_args_add(&args, (uint64_t)entry, &list), 0);
		CHECK_INT(list.count, 1);
		CHECK(orma_base_str_is_equal(orma_arg_list_key(&list, 0),
					     orma_base_str(keys[row])));
		CHECK_INT(list.args[0].value, (int64_t)row + 1);
	}
	orma_arg_list_done(&list);
	orma_event_args_done(&args);
	import_done(&fixture);
}

/* An annotation that says more than a name and a value keeps what the others of its event say. */
ORMA_TEST(arguments_beside_plain_ones)
{
	import_text(&fixture,
		    BEGIN_SEQUENCE(NAME(1, "one") NAME(2, "many")) EVENT(
			    1, "debug_annotations { name_iid: 1 int_value: 1 }"
			       "debug_annotations { name: 'named' int_value: 2 }")
			    EVENT(2, "debug_annotations { name_iid: 1 int_value: 3 }"
				     "debug_annotations { name_iid: 9 int_value: 4 }")
				    EVENT(3, "debug_annotations { name_iid: 1 int_value: 5 }"
					     "debug_annotations { name_iid: 2 array_values { "
					     "int_value: 6 } }")
					    EVENT(4,
						  "debug_annotations { name_iid: 1 int_value: 7 }"
						  "correlation_id: 8"));
	static const char *const expected[] = {"debug.one=1 debug.named=2", "debug.one=3",
					       "debug.one=5 debug.many[0]=6",
					       "correlation_id=tp:#8 debug.one=7"};
	for (size_t row = 0; row < sizeof(expected) / sizeof(*expected); row++)
		CHECK_STR(import_slice_args(&fixture, row), expected[row]);
	import_done(&fixture);
}
