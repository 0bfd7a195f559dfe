/* SPDX-License-Identifier: Apache-2.0
 * message_fields_test.c - which fields of a message are kept.
 */
#include "harness.h"
#include "trace/message_fields.h"

ORMA_TEST(the_last_of_equal_fields_counts)
{
	struct orma_message message;

	orma_message_read(&message, ORMA_STR("\x08\x01\x12\x02"
					     "ab"
					     "\x08\x07"));
	CHECK_INT(orma_message_number(&message, 1), 7);
	CHECK(orma_message_bytes(&message, 2).size == 2);
	CHECK(!orma_message_has(&message, 3) && !orma_message_bytes(&message, 1).data);
}

/* The fields 32 and 33 are in the message. A shift by 32 would say what the fields 0 and 1 are. */
ORMA_TEST(a_field_with_a_large_number_is_absent)
{
	struct orma_message message;

	orma_message_read(&message, ORMA_STR("\x08\x05\x80\x02\x05\x88\x02\x05"));
	CHECK_INT(orma_message_number(&message, 1), 5);
	for (uint32_t field = ORMA_MESSAGE_FIELDS_MAX; field < 100; field++)
		CHECK(!orma_message_has(&message, field) &&
		      orma_message_number(&message, field) == 0 &&
		      !orma_message_bytes(&message, field).data);
}
