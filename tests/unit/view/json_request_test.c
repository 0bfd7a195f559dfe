/* SPDX-License-Identifier: Apache-2.0
 * json_request_test.c - bodies of requests are read strictly.
 */
#include "view/json_request.h"

#include <math.h>

#include "harness.h"

static int init(struct orma_json_request *request, const char *body)
{
	return orma_json_request_init(request, orma_base_str(body));
}

ORMA_TEST(the_values_of_an_object_are_found_by_their_keys_and_kinds)
{
	struct orma_json_request request;
	struct orma_str text;
	double number, numbers[2] = {0};
	CHECK_INT(init(&request, " { \"table\" : \"slice\" , \"id\":-7.5e1,\n\"nodes\":[ 1, 2 ,3],"
				 "\"none\":[ ],\"is\":true,\"x\":null}\r\n"),
		  0);
	CHECK(orma_json_request_string(&request, "table", &text));
	CHECK(orma_base_str_is(text, "slice"));
	CHECK(orma_json_request_number(&request, "id", &number) && number == -75);
	CHECK_INT(orma_json_request_numbers(&request, "nodes", numbers, 2), 3);
	CHECK(numbers[0] == 1 && numbers[1] == 2);
	CHECK_INT(orma_json_request_numbers(&request, "none", numbers, 2), 0);
	CHECK(!orma_json_request_string(&request, "id", &text));
	CHECK(!orma_json_request_number(&request, "table", &number));
	CHECK(!orma_json_request_number(&request, "is", &number));
	CHECK_INT(orma_json_request_numbers(&request, "id", numbers, 2), 0);
	CHECK(!orma_json_request_string(&request, "missing", &text));
	orma_json_request_done(&request);
}

ORMA_TEST(strings_are_decoded)
{
	struct orma_json_request request;
	struct orma_str text;
	CHECK_INT(init(&request,
		       "{\"\\u0061\":\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\ud83d\\ude00\xc3\xa9\","
		       "\"empty\":\"\"}"),
		  0);
	CHECK(orma_json_request_string(&request, "a", &text));
	CHECK(orma_base_str_is(text, "\"\\/\b\f\n\r\t\xf0\x9f\x98\x80\xc3\xa9"));
	CHECK(orma_json_request_string(&request, "empty", &text));
	CHECK_INT(text.size, 0);
	orma_json_request_done(&request);
}

ORMA_TEST(what_is_not_a_flat_object_of_json_is_refused)
{
	static const char *const bodies[] = {
		"",
		" ",
		"{",
		"[]",
		"1",
		"{}x",
		"{\"a\"}",
		"{\"a\":}",
		"{\"a\":1,}",
		"{,}",
		"{\"a\":1 \"b\":2}",
		"{\"a\":1}{}",
		"{a:1}",
		"{'a':1}",
		"{\"a\":{}}",
		"{\"a\":[1,]}",
		"{\"a\":[,1]}",
		"{\"a\":[1 2]}",
		"{\"a\":[[1]]}",
		"{\"a\":[\"x\"]}",
		"{\"a\":[1}",
		"{\"a\":01}",
		"{\"a\":+1}",
		"{\"a\":-}",
		"{\"a\":.5}",
		"{\"a\":1.}",
		"{\"a\":1e}",
		"{\"a\":1e999}",
		"{\"a\":0x10}",
		"{\"a\":nan}",
		"{\"a\":nul}",
		"{\"a\":truth}",
		"{\"a\":\"",
		"{\"a\":\"\n\"}",
		"{\"a\":\"\xff\"}",
		"{\"a\":\"\\x\"}",
		"{\"a\":\"\\u12g4\"}",
		"{\"a\":\"\\",
		"{\"a\":1,\"a\":2}",
		"{\"a\":1,\"\\u0061\":2}",
	};
	struct orma_json_request request;
	for (size_t i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++)
		if (init(&request, bodies[i]) != -EINVAL)
			orma_test_fail(__FILE__, __LINE__, "accepted: %s", bodies[i]);
	CHECK_INT(orma_json_request_init(&request, (struct orma_str){"{\"a\":\"\0\"}", 9}),
		  -EINVAL);
	CHECK_INT(orma_json_request_init(&request, (struct orma_str){"{\"a\0\":1}", 8}), -EINVAL);
}

ORMA_TEST(an_object_has_at_most_as_many_fields_as_there_is_room_for)
{
	struct orma_json_request request;
	char body[400] = "{\"0\":0";
	for (int i = 1; i <= ORMA_JSON_REQUEST_FIELDS_MAX; i++) {
		size_t size = strlen(body);
		snprintf(body + size, sizeof(body) - size, "}");
		CHECK_INT(init(&request, body), 0);
		orma_json_request_done(&request);
		snprintf(body + size, sizeof(body) - size, ",\"%d\":0", i);
	}
	snprintf(body + strlen(body), 2, "}");
	CHECK_INT(init(&request, body), -EINVAL);
}

ORMA_TEST(without_memory_a_string_with_escapes_cannot_be_read)
{
	struct orma_json_request request;
	orma_test_fail_allocation(1);
	CHECK_INT(init(&request, "{\"a\":\"\\n\"}"), -ENOMEM);
	CHECK(orma_test_allocation_failed());
}
