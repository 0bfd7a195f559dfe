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
