/* SPDX-License-Identifier: Apache-2.0
 * view_access_test.c - which requests may be from the page, tickets and tokens.
 */
#include "view/view_access.h"

#include "harness.h"

#define MINUTE_NS UINT64_C(60000000000)

static struct orma_http_request request_from(const char *host, const char *origin, const char *site)
{
	struct orma_http_request request = {
		.method = ORMA_HTTP_POST, .path = ORMA_STR("/api/meta"), .query = ORMA_STR("")};
	request.fields[ORMA_HTTP_HOST] = orma_base_str(host);
	request.fields[ORMA_HTTP_ORIGIN] = orma_base_str(origin);
	request.fields[ORMA_HTTP_SEC_FETCH_SITE] = orma_base_str(site);
	return request;
}

static bool is_taken(const char *address, const char *host, const char *origin, const char *site)
{
	struct orma_view_access access;
	struct orma_http_request request = request_from(host, origin, site);
	CHECK_INT(orma_view_access_init(&access, address), 0);
	return orma_view_access_check(&access, &request) == NULL;
}

ORMA_TEST(the_host_is_this_machine_whatever_the_port)
{
	static const char *const own[] = {"127.0.0.1",   "127.0.0.1:80", "localhost",
					  "LocalHost:1", "[::1]",        "[::1]:65535"};
	static const char *const others[] = {"",
					     ":80",
					     "evil.example",
					     "127.0.0.1.evil.example",
					     "127.0.0.1:",
					     "127.0.0.1:x",
					     "127.0.0.2",
					     "localhost.",
					     "localhost.evil.example",
					     "xlocalhost",
					     "::1",
					     "[::1",
					     "192.0.2.7",
					     "user@127.0.0.1"};
	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
		CHECK(is_taken(NULL, own[i], NULL, NULL));
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		CHECK(!is_taken(NULL, others[i], NULL, NULL));
	CHECK(!is_taken(NULL, NULL, NULL, NULL));
	CHECK(is_taken("192.0.2.7", "192.0.2.7:80", NULL, NULL));
	CHECK(is_taken("192.0.2.7", "localhost:80", NULL, NULL));
	CHECK(!is_taken("192.0.2.7", "192.0.2.8:80", NULL, NULL));
}

ORMA_TEST(a_request_of_another_site_is_refused)
{
	CHECK(is_taken(NULL, "localhost:80", "http://localhost:80", "same-origin"));
	CHECK(is_taken(NULL, "localhost:80", NULL, "none"));
	CHECK(!is_taken(NULL, "localhost:80", "http://localhost:81", NULL));
	CHECK(!is_taken(NULL, "localhost:80", "https://localhost:80", NULL));
	CHECK(!is_taken(NULL, "localhost:80", "null", NULL));
	CHECK(!is_taken(NULL, "localhost:80", "", NULL));
	CHECK(!is_taken(NULL, "localhost:80", "http://evil.example", NULL));
	CHECK(!is_taken(NULL, "localhost:80", NULL, "cross-site"));
	CHECK(!is_taken(NULL, "localhost:80", NULL, "same-site"));
	CHECK(!is_taken(NULL, "localhost:80", NULL, ""));
}

ORMA_TEST(only_the_document_can_be_in_a_frame_of_another_page_of_this_machine)
{
	struct orma_view_access access;
	struct orma_http_request request = request_from("localhost:80", NULL, "same-site");
	CHECK_INT(orma_view_access_init(&access, NULL), 0);
	request.path = ORMA_STR("/");
	request.query = ORMA_STR("embed=1");
	CHECK(orma_view_access_check(&access, &request) != NULL);
	request.method = ORMA_HTTP_GET;
	CHECK(orma_view_access_check(&access, &request) == NULL);
	CHECK(orma_view_access_is_embedded(&request));
	request.path = ORMA_STR("/app.js");
	CHECK(orma_view_access_check(&access, &request) != NULL);
}

ORMA_TEST(a_ticket_is_taken_once_and_within_a_minute)
{
	struct orma_view_access access;
	CHECK_INT(orma_view_access_init(&access, NULL), 0);
	/* There is none yet. */
	CHECK_INT(orma_view_access_take(&access, orma_base_str(access.ticket), 0),
		  ORMA_VIEW_TICKET_WRONG);
	CHECK_INT(orma_view_access_renew(&access, 100), 0);
	struct orma_str ticket = orma_base_str(access.ticket);
	CHECK_INT(ticket.size, ORMA_VIEW_SECRET_CHARS);
	CHECK_INT(orma_view_access_take(&access, (struct orma_str){NULL, 0}, 100),
		  ORMA_VIEW_TICKET_WRONG);
	CHECK_INT(orma_view_access_take(&access, orma_base_str(access.token), 100),
		  ORMA_VIEW_TICKET_WRONG);
	CHECK_INT(orma_view_access_take(&access, ticket, 100 + MINUTE_NS), ORMA_VIEW_TICKET_LATE);
	CHECK_INT(orma_view_access_take(&access, ticket, 99 + MINUTE_NS), ORMA_VIEW_TICKET_OK);
	CHECK_INT(orma_view_access_take(&access, ticket, 101), ORMA_VIEW_TICKET_USED);
	char before[ORMA_VIEW_SECRET_CHARS + 1];
	memcpy(before, access.ticket, sizeof(before));
	CHECK_INT(orma_view_access_renew(&access, 200), 0);
	CHECK_INT(orma_view_access_take(&access, orma_base_str(before), 200),
		  ORMA_VIEW_TICKET_WRONG);
	CHECK_INT(orma_view_access_take(&access, orma_base_str(access.ticket), 200),
		  ORMA_VIEW_TICKET_OK);
}

ORMA_TEST(the_token_has_to_be_right_in_every_digit)
{
	struct orma_view_access access;
	struct orma_http_request request = request_from("localhost", NULL, NULL);
	char token[ORMA_VIEW_SECRET_CHARS + 2];
	CHECK_INT(orma_view_access_init(&access, NULL), 0);
	CHECK(!orma_view_access_has_token(&access, &request));
	for (size_t i = 0; i < ORMA_VIEW_SECRET_CHARS; i++) {
		memcpy(token, access.token, sizeof(access.token));
		token[i] ^= 1;
		request.fields[ORMA_HTTP_TOKEN] = orma_base_str(token);
		CHECK(!orma_view_access_has_token(&access, &request));
	}
	snprintf(token, sizeof(token), "%s0", access.token);
	request.fields[ORMA_HTTP_TOKEN] = orma_base_str(token);
	CHECK(!orma_view_access_has_token(&access, &request));
	request.fields[ORMA_HTTP_TOKEN] = orma_base_str(access.token);
	CHECK(orma_view_access_has_token(&access, &request));
}
