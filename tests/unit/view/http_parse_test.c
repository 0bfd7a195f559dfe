/* SPDX-License-Identifier: Apache-2.0
 * http_parse_test.c - heads of requests are read strictly.
 */
#include "view/http_parse.h"

#include "harness.h"

static int parse(const char *text, struct orma_http_request *ret)
{
	int status = 0;
	int r = orma_http_parse(orma_base_str(text), ret, &status);
	return r == -EBADMSG ? status : r;
}

ORMA_TEST(a_request_of_a_browser_is_read)
{
	static const char head[] = "POST /api/sql?a=b&c HTTP/1.1\r\n"
				   "hOST: 127.0.0.1:80\r\n"
				   "Content-Length:  12 \t\r\n"
				   "X-Orma-Token: abc\r\n"
				   "Accept: */*\r\n"
				   "Empty:\r\n"
				   "\r\n";
	struct orma_http_request request;
	char whole[sizeof(head) + 4];
	snprintf(whole, sizeof(whole), "%sbody", head);
	CHECK_INT(parse(whole, &request), 0);
	CHECK_INT(request.method, ORMA_HTTP_POST);
	CHECK(orma_base_str_is(request.path, "/api/sql"));
	CHECK(orma_base_str_is(request.query, "a=b&c"));
	CHECK(orma_base_str_is(request.fields[ORMA_HTTP_HOST], "127.0.0.1:80"));
	CHECK(orma_base_str_is(request.fields[ORMA_HTTP_TOKEN], "abc"));
	CHECK(!request.fields[ORMA_HTTP_ORIGIN].data);
	CHECK_INT(request.head_bytes, sizeof(head) - 1);
	CHECK_INT(request.body_bytes, 12);
	CHECK(request.keeps_alive);
}

ORMA_TEST(a_connection_stays_open_unless_the_client_or_its_version_says_otherwise)
{
	struct orma_http_request request;
	CHECK_INT(parse("GET / HTTP/1.1\r\nHost: a\r\nConnection: Close\r\n\r\n", &request), 0);
	CHECK(!request.keeps_alive);
	CHECK_INT(parse("GET / HTTP/1.0\r\n\r\n", &request), 0);
	CHECK(!request.keeps_alive);
	CHECK_INT(parse("DELETE / HTTP/1.1\r\nHost: a\r\n\r\n", &request), 0);
	CHECK_INT(request.method, ORMA_HTTP_OTHER);
}

ORMA_TEST(every_beginning_of_a_head_wants_more)
{
	static const char head[] = "GET /x HTTP/1.1\r\nHost: a\r\n\r\n";
	struct orma_http_request request;
	int status;
	for (size_t size = 0; size < sizeof(head) - 1; size++)
		CHECK_INT(orma_http_parse((struct orma_str){head, size}, &request, &status),
			  -ENODATA);
}

ORMA_TEST(what_is_malformed_or_not_supported_gets_its_status)
{
	static const struct {
		int status;
		const char *head;
	} cases[] = {
		{400, "\x16\x03\x01"}, /* TLS */
		{400, "\r\n\r\n"},
		{400, "GET /\r\n\r\n"},
		{400, "GET  / HTTP/1.1\r\nHost: a\r\n\r\n"},
		{400, "G(T / HTTP/1.1\r\nHost: a\r\n\r\n"},
		{400, "GET x HTTP/1.1\r\nHost: a\r\n\r\n"},
		{400, "GET http://a/ HTTP/1.1\r\nHost: a\r\n\r\n"},
		{400, "OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n"},
		{400, "GET /\x01 HTTP/1.1\r\nHost: a\r\n\r\n"},
		{400, "GET /\xc3\xa9 HTTP/1.1\r\nHost: a\r\n\r\n"},
		{400, "GET / HTTQ/1.1\r\nHost: a\r\n\r\n"},
		{400, "GET / HTTP/1.1\nHost: a\r\n\r\n"},
		{400, "GET / HTTP/1.1\r\nHost: a\nX: b\r\n\r\n"},
		{400, "GET / HTTP/1.1\r\nHost: a\r\n folded\r\n\r\n"},
		{400, "GET / HTTP/1.1\r\nHost : a\r\n\r\n"},
		{400, "GET / HTTP/1.1\r\nHost: a\r\n: b\r\n\r\n"},
		{400, "GET / HTTP/1.1\r\nHost: a\r\nno colon\r\n\r\n"},
		{400, "GET / HTTP/1.1\r\nHost: a\rb\r\n\r\n"},
		{400, "GET / HTTP/1.1\r\nHost: a\x7f\r\n\r\n"},
		{400, "GET / HTTP/1.1\r\nHost: a\r\nhost: a\r\n\r\n"},
		{400, "GET / HTTP/1.1\r\n\r\n"},
		{400, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n"},
		{400, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1, 1\r\n\r\n"},
		{400, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length:\r\n\r\n"},
		{400,
		 "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n"},
		{411, "POST / HTTP/1.1\r\nHost: a\r\n\r\n"},
		{411, "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"},
		{411,
		 "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: x\r\n\r\n"},
		{413, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1048577\r\n\r\n"},
		{413, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 18446744073709551617\r\n\r\n"},
		{417,
		 "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nExpect: 100-continue\r\n\r\n"},
		{505, "GET / HTTP/2.0\r\nHost: a\r\n\r\n"},
	};
	struct orma_http_request request;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		if (parse(cases[i].head, &request) != cases[i].status)
			orma_test_fail(__FILE__, __LINE__, "not %d: %s", cases[i].status,
				       cases[i].head);
}

ORMA_TEST(a_head_has_8_kb_at_most)
{
	static char head[ORMA_HTTP_HEAD_MAX_BYTES + 100];
	struct orma_http_request request;
	int size = snprintf(head, sizeof(head), "GET / HTTP/1.1\r\nHost: a\r\nX: ");
	memset(head + size, 'x', ORMA_HTTP_HEAD_MAX_BYTES - (size_t)size);
	memcpy(head + ORMA_HTTP_HEAD_MAX_BYTES - 4, "\r\n\r\n", 5);
	CHECK_INT(parse(head, &request), 0);
	memcpy(head + ORMA_HTTP_HEAD_MAX_BYTES - 4, "xxxx", 4);
	CHECK_INT(parse(head, &request), 431);
	memcpy(head + ORMA_HTTP_HEAD_MAX_BYTES - 2, "\r\n\r\n", 5);
	CHECK_INT(parse(head, &request), 431);
	head[ORMA_HTTP_HEAD_MAX_BYTES - 2] = '\0';
	CHECK_INT(parse(head, &request), -ENODATA);
}
