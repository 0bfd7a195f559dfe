/* SPDX-License-Identifier: Apache-2.0
 * view_server_test.c - who is answered what: the page's files, tickets, tokens, a trace that is loaded, and SQL.
 */
#include "view/view_server.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock_ns.h"
#include "base/macros.h"
#include "harness.h"
#include "http_client.h"
#include "unit/answers/trace_fixture.h"

#define ENDLESS                                                                                    \
	"with recursive c(x) as (select 1 union all select x + 1 from c) select count(*) from c"

struct fixture {
	struct orma_loop *loop;
	struct orma_view_server *server;
	uint16_t port;
	int gate[2]; /* the loading waits for a byte, and fails if it is 'e' */
	struct orma_trace_database *database;
	const char *trace; /* NULL = one event */
	int loaded_result, loaded_count, warnings;
	int load_count, unload_count;
	const char *generation; /* the field of requests; NULL = none */
	char token[ORMA_VIEW_SECRET_CHARS + 1];
	struct orma_buf head, body;
};

static const unsigned char script[] = {0x1f, 0x8b, 'x'};
static const struct orma_view_asset assets[] = {
	{"/", "text/html; charset=utf-8", (const unsigned char *)"<p>", 3, false},
	{"/app.js", "text/javascript; charset=utf-8", script, sizeof(script), true},
	{0},
};

static int load(void *ctx, int (*progress)(void *ctx, uint64_t read_bytes, uint64_t all_bytes),
		void *progress_ctx, struct orma_view_trace *ret)
{
	struct fixture *f = ctx;
	struct pollfd gate = {.fd = f->gate[0], .events = POLLIN};
	char byte;
	int r;
	do
		r = progress(progress_ctx, 5, 10);
	while (r == 0 && poll(&gate, 1, 1) == 0);
	if (r < 0)
		return r;
	CHECK_INT(read(f->gate[0], &byte, 1), 1);
	CHECK_INT(progress(progress_ctx, 10, 10), 0);
	if (byte == 'e')
		return -EBADMSG;
	if (!f->database)
		f->database = fixture_open(
			f->trace
				? f->trace
				: "packet { timestamp: 5 trusted_packet_sequence_id: 1 "
				  "track_event { type: TYPE_INSTANT name: \"x\" track_uuid: 1 } }");
	*ret = (struct orma_view_trace){f->database, f};
	return 0;
}

static void unload(void *ctx, void *owner)
{
	struct fixture *f = ctx;
	CHECK(owner == f);
	f->unload_count++;
}

static void on_loaded(void *ctx, int result)
{
	struct fixture *f = ctx;
	f->loaded_result = result;
	f->loaded_count++;
}

static void on_warning(void *ctx, const char *text)
{
	struct fixture *f = ctx;
	CHECK(strstr(text, "second time"));
	f->warnings++;
}

static void set_up_waiting(struct fixture *f, uint64_t query_ns, uint64_t wait_ns, bool is_live)
{
	struct orma_view_server_options options = {.title = "t",
						   .program = "orma test",
						   .assets = assets,
						   .ctx = f,
						   .is_live = is_live,
						   .load = load,
						   .unload = unload,
						   .loaded = on_loaded,
						   .warn = on_warning,
						   .query_ns = query_ns,
						   .wait_ns = wait_ns};
	*f = (struct fixture){0};
	CHECK_INT(pipe(f->gate), 0);
	CHECK_INT(orma_base_loop_new(&f->loop), 0);
	CHECK_INT(orma_view_server_new(f->loop, &options, &f->server), 0);
	CHECK_INT(orma_view_server_listen(f->server, http_listen(&f->port)), 0);
	CHECK_INT(orma_view_server_load(f->server), 0);
	f->load_count = 1;
}

static void set_up_trace(struct fixture *f, uint64_t query_ns, bool is_live)
{
	set_up_waiting(f, query_ns, 0, is_live);
}

static void set_up(struct fixture *f, uint64_t query_ns)
{
	set_up_trace(f, query_ns, false);
}

static void tear_down(struct fixture *f)
{
	orma_view_server_free(f->server);
	close(f->gate[1]);
	CHECK_INT(f->loaded_count, f->load_count);
	orma_base_loop_free(f->loop);
	if (f->database)
		fixture_close(f->database);
	close(f->gate[0]);
	orma_base_buf_done(&f->head);
	orma_base_buf_done(&f->body);
}

/* Sends a request. Returns the connection. */
static int ask(struct fixture *f, const char *line, const char *fields, const char *body)
{
	struct orma_buf text = {0};
	int fd = http_connect(f->port);
	CHECK_INT(orma_base_buf_printf(
			  &text,
			  "%s HTTP/1.1\r\nContent-Length: %zu\r\nConnection: close\r\n%s\r\n%s",
			  line, strlen(body), fields, body),
		  0);
	http_send(f->loop, fd, text.data, text.size);
	orma_base_buf_done(&text);
	return fd;
}

static int receive(struct fixture *f, int fd)
{
	int status = http_receive(f->loop, fd, &f->head, &f->body);
	http_wait_for_end(f->loop, fd);
	close(fd);
	return status;
}

/* Asks and returns the status; the answer is in f->body. */
static int request(struct fixture *f, const char *line, const char *fields, const char *body)
{
	return receive(f, ask(f, line, fields, body));
}

static int ask_api(struct fixture *f, const char *name, const char *body)
{
	char line[64], fields[192];
	int size;
	snprintf(line, sizeof(line), "POST /api/%s", name);
	size = snprintf(fields, sizeof(fields), "Host: localhost\r\nX-Orma-Token: %s\r\n",
			f->token);
	if (f->generation)
		snprintf(fields + size, sizeof(fields) - (size_t)size, "X-Orma-Generation: %s\r\n",
			 f->generation);
	return ask(f, line, fields, body);
}

static int api(struct fixture *f, const char *name, const char *body)
{
	return receive(f, ask_api(f, name, body));
}

static int hello(struct fixture *f, const char *ticket)
{
	char body[128];
	snprintf(body, sizeof(body), "{\"ticket\":\"%s\"}", ticket);
	return request(f, "POST /api/hello", "Host: localhost\r\n", body);
}

static void log_in(struct fixture *f)
{
	const char *ticket;
	CHECK_INT(orma_view_server_renew(f->server, &ticket), 0);
	CHECK_INT(hello(f, ticket), 200);
	CHECK_INT(sscanf((char *)f->body.data, "{\"token\":\"%32[0-9a-f]\"", f->token), 1);
	CHECK(strstr((char *)f->body.data, ",\"version\":1,\"program\":\"orma test\"}"));
}

static void end_loading(struct fixture *f, const char *byte)
{
	CHECK_INT(write(f->gate[1], byte, 1), 1);
	while (f->loaded_count == 0)
		CHECK(orma_base_loop_turn(f->loop, 2) >= 0);
}

static void finish_loading(struct fixture *f)
{
	end_loading(f, "x");
}

ORMA_TEST(files_are_served_with_their_types_and_a_policy)
{
	struct fixture f;
	set_up(&f, 0);
	CHECK_INT(request(&f, "GET /", "Host: localhost\r\n", ""), 200);
	CHECK_STR((char *)f.body.data, "<p>");
	const char *head = (char *)f.head.data;
	CHECK(strstr(head, "Content-Type: text/html; charset=utf-8\r\n"));
	CHECK(strstr(head, "Content-Security-Policy: default-src 'none'; script-src 'self';"));
	CHECK(strstr(head, "frame-ancestors 'none'\r\n"));
	CHECK(strstr(head, "X-Content-Type-Options: nosniff\r\n"));
	CHECK(strstr(head, "Cache-Control: no-store\r\n"));
	CHECK(!strstr(head, "Content-Encoding") && !strstr(head, "Access-Control"));
	CHECK_INT(request(&f, "GET /app.js?v=1", "Host: localhost\r\n", ""), 200);
	CHECK(strstr((char *)f.head.data, "Content-Encoding: gzip\r\n"));
	CHECK_INT(request(&f, "GET /?embed=1", "Host: localhost\r\n", ""), 200);
	CHECK(strstr((char *)f.head.data,
		     "frame-ancestors http://127.0.0.1:* http://localhost:*\r\n"));
	CHECK_INT(request(&f, "GET /other", "Host: localhost\r\n", ""), 404);
	CHECK_INT(request(&f, "GET /../etc/passwd", "Host: localhost\r\n", ""), 404);
	CHECK_INT(request(&f, "POST /", "Host: localhost\r\n", ""), 405);
	CHECK(strstr((char *)f.head.data, "Allow: GET\r\n"));
	CHECK_INT(request(&f, "HEAD /", "Host: localhost\r\n", ""), 405);
	CHECK_INT(request(&f, "GET /", "Host: evil.example\r\n", ""), 403);
	CHECK_INT(request(&f, "GET /", "Host: localhost\r\nOrigin: http://evil.example\r\n", ""),
		  403);
	CHECK_INT(request(&f, "GET /", "Host: localhost\r\nSec-Fetch-Site: cross-site\r\n", ""),
		  403);
	finish_loading(&f);
	tear_down(&f);
}

ORMA_TEST(a_ticket_is_exchanged_once_for_the_token_that_every_question_needs)
{
	struct fixture f;
	const char *ticket;
	set_up(&f, 0);
	CHECK_INT(orma_view_server_renew(f.server, &ticket), 0);
	CHECK_INT(hello(&f, "00000000000000000000000000000000"), 403);
	CHECK_INT(request(&f, "POST /api/hello", "Host: localhost\r\n", "nonsense"), 403);
	CHECK_INT(orma_view_server_last_use_ns(f.server), 0);
	CHECK_INT(f.warnings, 0);
	CHECK_INT(hello(&f, ticket), 200);
	CHECK(orma_view_server_last_use_ns(f.server) > 0);
	CHECK_INT(hello(&f, ticket), 403);
	CHECK_INT(f.warnings, 1);
	log_in(&f);
	CHECK_INT(api(&f, "progress", ""), 200);
	f.token[0] ^= 1;
	CHECK_INT(api(&f, "progress", ""), 403);
	CHECK_INT(request(&f, "POST /api/progress", "Host: localhost\r\n", ""), 403);
	CHECK_INT(request(&f, "POST /api/nonsense", "Host: localhost\r\n", ""), 403);
	f.token[0] ^= 1;
	CHECK_INT(api(&f, "nonsense", ""), 404);
	CHECK_INT(request(&f, "GET /api/progress", "Host: localhost\r\n", ""), 405);
	CHECK(strstr((char *)f.head.data, "Allow: POST\r\n"));
	CHECK_INT(request(&f, "GET /api/hello", "Host: localhost\r\n", ""), 405);
	finish_loading(&f);
	tear_down(&f);
}

ORMA_TEST(a_question_about_a_trace_that_takes_long_is_answered_with_the_progress)
{
	struct fixture f;
	set_up_waiting(&f, 0, 20 * ORMA_NS_PER_MS, false);
	log_in(&f);
	do
		CHECK_INT(api(&f, "progress", ""), 200);
	while (strstr((char *)f.body.data, "\"all_bytes\":0"));
	CHECK_STR((char *)f.body.data, "{\"loading\":true,\"read_bytes\":5,\"all_bytes\":10,"
				       "\"error\":null}");
	CHECK_INT(api(&f, "sql", "{\"sql\":\"select 1\"}"), 503);
	CHECK_STR((char *)f.body.data, "{\"loading\":true,\"read_bytes\":5,\"all_bytes\":10,"
				       "\"error\":null}");
	finish_loading(&f);
	CHECK_INT(f.loaded_result, 0);
	CHECK_INT(api(&f, "progress", ""), 200);
	CHECK(strstr((char *)f.body.data, "{\"loading\":false,"));
	CHECK_INT(api(&f, "sql", "{\"sql\":\"select count(*) n from slice\"}"), 200);
	CHECK(strstr((char *)f.body.data,
		     "{\"columns\":[\"n\"],\"rows\":[[1]],\"total\":1,\"ms\":"));
	tear_down(&f);
}

static void turn_some(struct fixture *f)
{
	for (int i = 0; i < 10; i++)
		CHECK(orma_base_loop_turn(f->loop, 1) >= 0);
}

ORMA_TEST(questions_wait_until_the_trace_is_loaded)
{
	struct fixture f;
	set_up(&f, 0);
	log_in(&f);
	int meta = ask_api(&f, "meta", "{}"), gone = ask_api(&f, "meta", "{}"),
	    names = ask_api(&f, "names", "\1\1\1\1"),
	    sql = ask_api(&f, "sql", "{\"sql\":\"select 7\"}"),
	    tiles = ask_api(&f, "tiles", "nonsense");
	turn_some(&f);
	close(gone);
	turn_some(&f);
	finish_loading(&f);
	CHECK_INT(receive(&f, meta), 200);
	CHECK(strstr((char *)f.body.data, "\"title\":\"t\""));
	CHECK(!strstr((char *)f.body.data, "\"live\""));
	CHECK_INT(receive(&f, names), 200);
	CHECK_STR((char *)f.body.data, "{\"names\":[null]}");
	CHECK_INT(receive(&f, sql), 200);
	CHECK(strstr((char *)f.body.data, "\"rows\":[[7]]"));
	CHECK_INT(receive(&f, tiles), 400);
	tear_down(&f);
}

ORMA_TEST(a_question_that_waits_for_the_trace_ends_with_the_server)
{
	struct fixture f;
	set_up(&f, 0);
	log_in(&f);
	int fd = ask_api(&f, "meta", "{}");
	turn_some(&f);
	tear_down(&f);
	close(fd);
}

ORMA_TEST(a_trace_that_cannot_be_loaded_is_reported)
{
	struct fixture f;
	set_up(&f, 0);
	end_loading(&f, "e");
	CHECK_INT(f.loaded_result, -EBADMSG);
	tear_down(&f);
}

ORMA_TEST(the_loading_is_stopped_by_the_end_of_the_server)
{
	struct fixture f;
	set_up(&f, 0);
	tear_down(&f);
	CHECK_INT(f.loaded_result, -ECANCELED);
}

/* Loads the trace once more. */
static void load_again(struct fixture *f)
{
	f->load_count++;
	CHECK_INT(orma_view_server_load(f->server), 0);
	CHECK_INT(write(f->gate[1], "x", 1), 1);
	while (f->loaded_count < f->load_count)
		CHECK(orma_base_loop_turn(f->loop, 2) >= 0);
}

ORMA_TEST(pages_of_a_live_trace_are_told_when_it_has_grown)
{
	struct fixture f;
	set_up_trace(&f, 0, true);
	log_in(&f);
	CHECK_INT(api(&f, "news", "{\"generation\":0}"), 503);
	finish_loading(&f);
	CHECK_INT(api(&f, "news", "{}"), 400);
	int gone = ask_api(&f, "news", "{\"generation\":0}"),
	    fd = ask_api(&f, "news", "{\"generation\":0}");
	turn_some(&f);
	close(gone);
	load_again(&f);
	CHECK_INT(receive(&f, fd), 200);
	CHECK_STR((char *)f.body.data, "{\"generation\":1,\"ended\":false,\"cut\":false}");
	CHECK_INT(f.unload_count, 0);
	CHECK_INT(api(&f, "meta", "{}"), 200);
	CHECK(strstr((char *)f.body.data, "\"generation\":1,"));
	CHECK(strstr((char *)f.body.data, "\"live\":true,"));
	/* A page that is behind is told at once. */
	CHECK_INT(api(&f, "news", "{\"generation\":0}"), 200);
	fd = ask_api(&f, "news", "{\"generation\":1}");
	turn_some(&f);
	orma_view_server_set_live(f.server, true, true);
	CHECK_INT(receive(&f, fd), 200);
	CHECK_STR((char *)f.body.data, "{\"generation\":1,\"ended\":true,\"cut\":true}");
	CHECK_INT(api(&f, "news", "{\"generation\":1}"), 200);
	tear_down(&f);
	CHECK_INT(f.unload_count, 2);
}

ORMA_TEST(a_page_that_waits_long_for_news_is_answered_without)
{
	struct fixture f;
	set_up_waiting(&f, 0, 20 * ORMA_NS_PER_MS, true);
	log_in(&f);
	finish_loading(&f);
	CHECK_INT(api(&f, "news", "{\"generation\":0}"), 200);
	CHECK_STR((char *)f.body.data, "{\"generation\":0,\"ended\":false,\"cut\":false}");
	tear_down(&f);
}

ORMA_TEST(a_question_is_answered_by_the_generation_that_it_names)
{
	static const char *const wrong[] = {"0", "5", "", "x", "-1", "99999999999999999999"};
	struct fixture f;
	set_up_trace(&f, 0, true);
	log_in(&f);
	finish_loading(&f);
	load_again(&f);
	load_again(&f);
	f.generation = "0";
	CHECK_INT(api(&f, "meta", "{}"), 200);
	CHECK(strstr((char *)f.body.data, "\"generation\":0,"));
	CHECK_INT(api(&f, "sql", "{\"sql\":\"select 1\"}"), 200);
	f.generation = "1";
	CHECK_INT(api(&f, "tracks", "{}"), 200);
	CHECK(strstr((char *)f.body.data, "\"generation\":1,"));
	CHECK_INT(f.unload_count, 0);
	/* The next one puts the first one out. A question to it that is under way is still answered. */
	f.generation = "0";
	int fd = ask_api(&f, "sql", "{\"sql\":\"select 1\"}");
	f.generation = NULL;
	load_again(&f);
	CHECK_INT(receive(&f, fd), 200);
	CHECK_INT(f.unload_count, 1);
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(wrong); i++) {
		f.generation = wrong[i];
		CHECK_INT(api(&f, "meta", "{}"), 410);
		CHECK_INT(api(&f, "sql", "{\"sql\":\"select 1\"}"), 410);
	}
	f.generation = NULL;
	CHECK_INT(api(&f, "meta", "{}"), 200);
	CHECK(strstr((char *)f.body.data, "\"generation\":3,"));
	tear_down(&f);
	CHECK_INT(f.unload_count, 4);
}

ORMA_TEST(a_page_that_waits_for_news_ends_with_the_server)
{
	struct fixture f;
	set_up_trace(&f, 0, true);
	log_in(&f);
	finish_loading(&f);
	int fd = ask_api(&f, "news", "{\"generation\":0}");
	turn_some(&f);
	tear_down(&f);
	close(fd);
}

ORMA_TEST(rows_of_sql_are_json)
{
	struct fixture f;
	set_up(&f, 0);
	log_in(&f);
	finish_loading(&f);
	CHECK_INT(api(&f, "sql",
		      "{\"sql\":\"select 9007199254740992 a, -9007199254740993 b, 0.1 c, 9e999 d, "
		      "null e, "
		      "x'00ff' f, 'q\\\"\\n' g\"}"),
		  200);
	CHECK(strstr(
		(char *)f.body.data,
		"{\"columns\":[\"a\",\"b\",\"c\",\"d\",\"e\",\"f\",\"g\"],\"rows\":[["
		"9007199254740992,"
		"\"-9007199254740993\",0.1,null,null,\"00ff\",\"q\\\"\\u000a\"]],\"total\":1,"));
	CHECK_INT(api(&f, "sql",
		      "{\"sql\":\"select 7; with recursive c(x) as (select 1 union all select x + "
		      "1 from c "
		      "limit 50) select x from c\",\"limit\":2}"),
		  200);
	CHECK(strstr((char *)f.body.data,
		     "{\"columns\":[\"x\"],\"rows\":[[1],[2]],\"total\":50,\"ms\":"));
	CHECK(strstr((char *)f.body.data, "\"truncated\":true}"));
	CHECK_INT(api(&f, "sql", "{\"sql\":\"\"}"), 200);
	CHECK(strstr((char *)f.body.data, "{\"columns\":[],\"rows\":[],\"total\":0,"));
	CHECK_INT(api(&f, "sql", "{\"sql\":\"select 1;\\nselect foo\"}"), 400);
	CHECK(strstr((char *)f.body.data, "no such column: foo"));
	CHECK(strstr((char *)f.body.data, ",\"line\":2,\"column\":8}"));
	CHECK_INT(api(&f, "sql", "{}"), 400);
	CHECK_INT(api(&f, "sql", "nonsense"), 400);
	tear_down(&f);
}

ORMA_TEST(sql_of_a_page_changes_no_files)
{
	struct fixture f;
	char body[400];
	set_up(&f, 0);
	log_in(&f);
	finish_loading(&f);
	snprintf(body, sizeof(body), "{\"sql\":\"attach '%s/x.db' as x\"}", orma_test_tmpdir());
	CHECK_INT(api(&f, "sql", body), 400);
	snprintf(body, sizeof(body), "{\"sql\":\"vacuum into '%s/x.db'\"}", orma_test_tmpdir());
	CHECK_INT(api(&f, "sql", body), 400);
	CHECK_INT(api(&f, "sql", "{\"sql\":\"select load_extension('x')\"}"), 400);
	snprintf(body, sizeof(body), "%s/x.db", orma_test_tmpdir());
	CHECK(access(body, F_OK) < 0);
	tear_down(&f);
}

ORMA_TEST(a_query_ends_with_its_connection)
{
	struct fixture f;
	set_up(&f, 0);
	log_in(&f);
	finish_loading(&f);
	/* The first ones may be stopped before they have begun. */
	for (int turns = 0; turns < 40; turns += 5) {
		int running = ask_api(&f, "sql", "{\"sql\":\"" ENDLESS "\"}");
		int waiting = ask_api(&f, "sql", "{\"sql\":\"" ENDLESS "\"}");
		for (int i = 0; i < turns; i++)
			CHECK(orma_base_loop_turn(f.loop, 1) >= 0);
		close(waiting);
		close(running);
		CHECK_INT(api(&f, "sql", "{\"sql\":\"select 1\"}"), 200);
	}
	/* And with the server. */
	int fd = ask_api(&f, "sql", "{\"sql\":\"" ENDLESS "\"}");
	for (int i = 0; i < 20; i++)
		CHECK(orma_base_loop_turn(f.loop, 1) >= 0);
	tear_down(&f);
	close(fd);
}

/* Events of different names, each of which takes milliseconds to match the expression below. */
static struct orma_buf make_slow_trace(void)
{
	struct orma_buf text = {0};
	for (int i = 0; i < 2000; i++)
		CHECK_INT(
			orma_base_buf_printf(
				&text,
				"packet { timestamp: 5 trusted_packet_sequence_id: 1 track_event { "
				"type: TYPE_INSTANT name: \"aaaaaaaaaaaaaaaaa %d\" track_uuid: 1 } "
				"}",
				i),
			0);
	return text;
}

ORMA_TEST(a_question_without_sql_ends_with_its_connection_too)
{
	static const char slow[] = "{\"text\":\"/(a+)+[bc]/\"}";
	struct fixture f;
	struct orma_buf text = make_slow_trace();
	set_up(&f, 300 * ORMA_NS_PER_MS);
	f.trace = orma_base_buf_cstr(&text);
	log_in(&f);
	finish_loading(&f);
	/* It would take longer than it may. */
	CHECK_INT(api(&f, "search", slow), 503);
	tear_down(&f);

	/* Each one would take a second or more, so that all of them would be too late for this test. */
	set_up(&f, 0);
	f.trace = orma_base_buf_cstr(&text);
	log_in(&f);
	finish_loading(&f);
	for (int i = 0; i < 100; i++) {
		int fd = ask_api(&f, "search", slow);
		for (int turns = 0; turns < 5; turns++)
			CHECK(orma_base_loop_turn(f.loop, 1) >= 0);
		close(fd);
		CHECK_INT(api(&f, "find", "{\"name\":\"x\"}"), 200);
	}
	tear_down(&f);
	orma_base_buf_done(&text);
}

ORMA_TEST(a_query_that_takes_too_long_is_stopped)
{
	struct fixture f;
	set_up(&f, 100 * ORMA_NS_PER_MS);
	log_in(&f);
	finish_loading(&f);
	CHECK_INT(api(&f, "sql", "{\"sql\":\"" ENDLESS "\"}"), 503);
	CHECK(strstr((char *)f.body.data, "took too long"));
	CHECK_INT(api(&f, "sql", "{\"sql\":\"select 1\"}"), 200);
	tear_down(&f);
}

static bool is_answered(int fd)
{
	char byte;
	return recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) >= 0;
}

ORMA_TEST(a_page_is_drawn_while_a_query_runs)
{
	struct fixture f;
	struct orma_buf text = make_slow_trace();
	set_up(&f, 0);
	f.trace = orma_base_buf_cstr(&text);
	log_in(&f);
	finish_loading(&f);
	int query = ask_api(&f, "sql", "{\"sql\":\"" ENDLESS "\"}");
	for (int i = 0; i < 20; i++)
		CHECK(orma_base_loop_turn(f.loop, 1) >= 0);
	int next_query = ask_api(&f, "sql", "{\"sql\":\"select 1\"}");
	CHECK_INT(api(&f, "meta", ""), 200);
	CHECK_INT(api(&f, "tracks", ""), 200);
	CHECK_INT(api(&f, "detail", "{\"table\":\"slice\",\"id\":0}"), 200);
	/* A question that nobody needs any more takes only itself along. */
	int gone = ask_api(&f, "search", "{\"text\":\"/(a+)+[bc]/\"}");
	for (int i = 0; i < 20; i++)
		CHECK(orma_base_loop_turn(f.loop, 1) >= 0);
	close(gone);
	CHECK_INT(api(&f, "find", "{\"name\":\"x\"}"), 200);
	CHECK(!is_answered(query));
	CHECK(!is_answered(next_query));
	close(query);
	CHECK_INT(receive(&f, next_query), 200);
	tear_down(&f);
	orma_base_buf_done(&text);
}

/* Each answer keeps other sites out, and tells no browser that another site may read it. */
static void check_fields(const struct fixture *f)
{
	static const char *const wanted[] = {
		"X-Content-Type-Options: nosniff\r\n", "Referrer-Policy: no-referrer\r\n",
		"Cross-Origin-Resource-Policy: same-origin\r\n",
		"Cross-Origin-Opener-Policy: same-origin\r\n", "Cache-Control: no-store\r\n"};
	const char *head = (char *)f->head.data;
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(wanted); i++)
		CHECK(strstr(head, wanted[i]));
	CHECK(!strstr(head, "Access-Control") && !strstr(head, "Set-Cookie"));
}

ORMA_TEST(every_answer_keeps_other_sites_out)
{
	struct fixture f;
	const char *ticket;
	set_up(&f, 0);
	CHECK_INT(request(&f, "GET /", "Host: localhost\r\n", ""), 200);
	check_fields(&f);
	CHECK(strstr((char *)f.head.data,
		     "Content-Security-Policy: default-src 'none'; script-src 'self'; style-src "
		     "'self'; connect-src 'self'; img-src 'self' data: blob:; base-uri 'none'; "
		     "form-action 'none'; frame-ancestors 'none'\r\n"));
	CHECK_INT(request(&f, "GET /other", "Host: localhost\r\n", ""), 404);
	check_fields(&f);
	CHECK_INT(request(&f, "GET /", "Host: evil.example\r\n", ""), 403);
	check_fields(&f);
	CHECK_INT(request(&f, "nonsense", "Host: localhost\r\n", ""), 400);
	check_fields(&f);
	CHECK_INT(orma_view_server_renew(f.server, &ticket), 0);
	CHECK_INT(hello(&f, ticket), 200);
	check_fields(&f);
	CHECK_INT(hello(&f, ticket), 403);
	check_fields(&f);
	log_in(&f);
	finish_loading(&f);
	CHECK_INT(api(&f, "meta", "{}"), 200);
	check_fields(&f);
	CHECK_INT(api(&f, "tiles", "nonsense"), 400);
	check_fields(&f);
	tear_down(&f);
}

ORMA_TEST(a_browser_that_asks_for_another_site_gets_no_permission)
{
	struct fixture f;
	set_up(&f, 0);
	log_in(&f);
	finish_loading(&f);
	CHECK_INT(request(&f, "OPTIONS /api/sql",
			  "Host: localhost\r\nOrigin: http://evil.example\r\n"
			  "Access-Control-Request-Method: POST\r\n"
			  "Access-Control-Request-Headers: x-orma-token\r\n",
			  ""),
		  403);
	check_fields(&f);
	/* A preflight from the page's own origin is refused as well, because a page never has to send one. */
	CHECK_INT(request(&f, "OPTIONS /api/sql", "Host: localhost\r\n", ""), 405);
	check_fields(&f);
	tear_down(&f);
}

ORMA_TEST(the_token_counts_in_its_own_field_only)
{
	static const char *const fields[] = {"Cookie: token=", "Cookie: X-Orma-Token=",
					     "Authorization: Bearer ", "X-Orma-Ticket: "};
	struct fixture f;
	char text[192];
	set_up(&f, 0);
	log_in(&f);
	snprintf(text, sizeof(text), "POST /api/progress?token=%s", f.token);
	CHECK_INT(request(&f, text, "Host: localhost\r\n", ""), 403);
	snprintf(text, sizeof(text), "{\"token\":\"%s\"}", f.token);
	CHECK_INT(request(&f, "POST /api/progress", "Host: localhost\r\n", text), 403);
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(fields); i++) {
		snprintf(text, sizeof(text), "Host: localhost\r\n%s%s\r\n", fields[i], f.token);
		CHECK_INT(request(&f, "POST /api/progress", text, ""), 403);
	}
	CHECK_INT(api(&f, "progress", ""), 200);
	finish_loading(&f);
	tear_down(&f);
}

ORMA_TEST(a_new_address_ends_the_one_before)
{
	struct fixture f;
	const char *ticket;
	char first[ORMA_VIEW_SECRET_CHARS + 1];
	set_up(&f, 0);
	CHECK_INT(orma_view_server_renew(f.server, &ticket), 0);
	snprintf(first, sizeof(first), "%s", ticket);
	CHECK_INT(orma_view_server_renew(f.server, &ticket), 0);
	CHECK_INT(hello(&f, first), 403);
	CHECK_INT(hello(&f, ticket), 200);
	finish_loading(&f);
	tear_down(&f);
}

ORMA_TEST(a_file_is_sent_whole_whatever_range_is_asked_for)
{
	struct fixture f;
	set_up(&f, 0);
	CHECK_INT(request(&f, "GET /", "Host: localhost\r\nRange: bytes=1-1\r\n", ""), 200);
	CHECK_STR((char *)f.body.data, "<p>");
	finish_loading(&f);
	tear_down(&f);
}

ORMA_TEST(rows_of_sql_end_at_32_mb)
{
	struct fixture f;
	set_up(&f, 0);
	log_in(&f);
	finish_loading(&f);
	CHECK_INT(api(&f, "sql",
		      "{\"sql\":\"with recursive c(x) as (select 1 union all select x + 1 from c "
		      "limit 40) select zeroblob(1000000) from c\",\"limit\":1e300}"),
		  200);
	CHECK(f.body.size > 32 << 20 && f.body.size < 36 << 20);
	CHECK(strstr((char *)f.body.data + f.body.size - 80, "\"total\":40,"));
	CHECK(strstr((char *)f.body.data + f.body.size - 80, "\"truncated\":true}"));
	tear_down(&f);
}

ORMA_TEST(without_memory_there_is_no_server)
{
	struct orma_view_server_options options = {.title = "t", .assets = assets, .load = load};
	struct orma_view_server *server;
	struct orma_loop *loop;
	CHECK_INT(orma_base_loop_new(&loop), 0);
	for (uint64_t n = 1;; n++) {
		orma_test_fail_allocation(n);
		int r = orma_view_server_new(loop, &options, &server);
		bool has_failed = orma_test_allocation_failed();
		orma_test_fail_allocation(0);
		CHECK_INT(r, has_failed ? -ENOMEM : 0);
		if (r == 0)
			break;
	}
	orma_view_server_free(server);
	orma_base_loop_free(loop);
}
