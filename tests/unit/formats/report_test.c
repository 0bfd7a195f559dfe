/* SPDX-License-Identifier: Apache-2.0
 * report_test.c - pages of `orma report` become traces again.
 */
#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "convert_fixture.h"
#include "trace/base91.h"

#define HEAD                                                                                       \
	"<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"                  \
	"<meta http-equiv=\"Content-Security-Policy\" content=\"x\">\n"
#define META(more) "{\"start_ns\":\"1000\",\"end\":500,\"realtime_start_ns\":null" more "}"
#define THREADS                                                                                    \
	"\"threads\":[[0,0,\"swapper\",0],[1,10,\"app\",1],[2,11,\"work\\u0065r\",1]],"            \
	"\"processes\":[[0,0,\"swapper\"],[1,10,\"app\"]],\"states\":[\"Running\",\"S\",\"R\","    \
	"\"D\"]"
#define NODE(lane, kind, utid, name, cpu)                                                          \
	"{\"id\":1,\"lane\":" #lane ",\"utid\":" #utid ",\"upid\":1,\"cpu\":" #cpu                 \
	",\"kind\":\"" kind "\",\"name\":\"" name "\",\"unit\":null}"
#define TRACKS(nodes) "{\"nodes\":[" nodes "]," THREADS "}"

/* Builds a page whose data are not packed. */
static void build(struct orma_buf *page, const char *meta, const char *tracks, const char *columns,
		  const void *data, size_t size)
{
	struct orma_buf all = {0};
	CHECK_INT(orma_base_buf_append(&all, data, size), 0);
	CHECK_INT(orma_base_buf_append_str(&all, tracks), 0);
	CHECK_INT(orma_base_buf_printf(
			  page,
			  HEAD "<p>tables</p>\n<script type=\"application/json\" "
			       "id=\"orma-meta\">%s</script>\n<script "
			       "type=\"application/json\" id=\"orma-layout\">{\"format\":1,"
			       "\"deflate\":false,\"blocks\":1,\"bytes\":%zu,\"columns\":[%s%s"
			       "[\"tracks\",1,%zu]]}</script>\n<script "
			       "type=\"application/octet-stream\" id=\"orma-data-0\">",
			  meta, all.size, columns, *columns ? "," : "", strlen(tracks)),
		  0);
	CHECK_INT(orma_base91_append(page, orma_base_buf_str(&all)), 0);
	CHECK_INT(orma_base_buf_append_str(page, "</script>\n</html>\n"), 0);
	orma_base_buf_done(&all);
}

static void convert_page(struct import_fixture *fixture, const char *meta, const char *tracks,
			 const char *columns, const void *data, size_t size)
{
	struct orma_buf page = {0};
	struct orma_error error = {0};
	build(&page, meta, tracks, columns, data, size);
	CHECK_INT(convert_bytes(fixture, page.data, page.size, &error), 1);
	orma_base_buf_done(&page);
}

static void refuse_page(const char *tracks, const char *columns, const void *data, size_t size,
			const char *part)
{
	static struct import_fixture fixture;
	struct orma_buf page = {0};
	struct orma_error error = {0};
	build(&page, META(""), tracks, columns, data, size);
	int r = convert_bytes(&fixture, page.data, page.size, &error);
	CHECK_INT(r, -EBADMSG);
	CHECK(strstr(error.message, part));
	import_done(&fixture);
	orma_base_buf_done(&page);
}

#define NAMES "[\"outer\",\"in\",\"cat\"]"
#define ARGS                                                                                       \
	"[[{\"key\":\"debug\",\"children\":[{\"key\":\"n\",\"value\":7},"                          \
	"{\"key\":\"s\",\"value\":\"x\\\"y\"}]}]]"

/* "outer" [0, 100) with "in" [10, 30) and [30, 30), and an unfinished "outer" from 200 on. */
ORMA_TEST(slices_come_back_with_their_depth_category_and_arguments)
{
	static struct import_fixture fixture;
	static const char data[] = "\4\4"
				   "\0\1"
				   "\2\2"
				   "\0\144\12\0"
				   "\144\0\24\0"
				   "\1\1\2\2"
				   "\0\4\0\2"
				   "\0\0\3\0"
				   "\1\0\0\0" NAMES ARGS;
	char columns[512];
	snprintf(columns, sizeof(columns),
		 "[\"slice.line_lane\",1,2],[\"slice.line_depth\",1,2],[\"slice.line_count\",1,2],"
		 "[\"slice.gap\",1,4],[\"slice.length\",1,4],[\"slice.name\",1,4],[\"slice.flags\","
		 "1,4],[\"slice.more\",0,4],[\"slice.category\",1,4],[\"slice.args\",1,4],"
		 "[\"names\",1,%zu],[\"args\",1,%zu]",
		 strlen(NAMES), strlen(ARGS));
	convert_page(&fixture, META(""), TRACKS(NODE(4, "slices", 2, "worker", null)), columns,
		     data, sizeof(data) - 1);
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_SLICE, "ts dur name category depth"),
		  "1000 100 outer - 0\n1010 20 in cat 1\n1030 0 in - 1\n1200 -1 outer - 0\n");
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_TRACK, "utid"), "2\n");
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_THREAD, "tid name"),
		  "0 swapper\n10 app\n11 worker\n");
	import_done(&fixture);
}

/* CPU 0: worker [0, 20), app [20, 30), a gap, worker [40, 50). The worker is woken at 35. */
ORMA_TEST(scheduling_comes_back_with_states)
{
	static struct import_fixture fixture;
	static const char columns[] =
		"[\"sched.line_lane\",1,1],[\"sched.line_depth\",0,1],[\"sched.line_count\",1,1],"
		"[\"sched.gap\",1,3],[\"sched.length\",1,3],[\"sched.name\",1,3],[\"sched.flags\","
		"0,3],[\"sched.more\",0,3],[\"thread_state.line_lane\",1,1],[\"thread_state.line_"
		"depth\",0,1],[\"thread_state.line_count\",1,1],[\"thread_state.gap\",0,4],"
		"[\"thread_state.length\",1,4],[\"thread_state.name\",1,4],[\"thread_state.flags\","
		"0,4],[\"names\",1,2],[\"args\",1,2]";
	static const char data[] = "\1\3"
				   "\0\0\12"
				   "\24\12\12"
				   "\2\1\2"
				   "\2\4"
				   "\24\17\5\12"
				   "\0\3\2\0"
				   "[][]";
	convert_page(
		&fixture, META(""),
		TRACKS(NODE(1, "sched", null, "CPU 0", 0) "," NODE(2, "states", 2, "worker", null)),
		columns, data, sizeof(data) - 1);
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_SCHED, "ts dur utid end_state"),
		  "1000 20 2 D\n1020 10 1 S\n1030 10 0 R\n1040 10 2 S\n1050 -1 0 -\n");
	import_done(&fixture);
}

ORMA_TEST(values_of_counters_and_losses_come_back)
{
	static struct import_fixture fixture;
	static const char columns[] =
		"[\"counter.line_lane\",1,1],[\"counter.line_count\",1,1],[\"counter.gap\",1,2],"
		"[\"counter.last\",8,2],[\"names\",1,2],[\"args\",1,2]";
	/* 1.0 is 0x3ff0000000000000, and 2.0 is 0x4000000000000000. */
	static const char data[] = "\7\2"
				   "\5\6"
				   "\0\0\0\0\0\0\0\0\0\0\0\0"
				   "\360\0\77\100"
				   "[][]";
	convert_page(&fixture,
		     META(",\"losses\":[{\"count\":3,\"stat\":\"traced_buf_chunks_overwritten\"},"
			  "{\"count\":4,\"stat\":\"no such thing\"}]"),
		     TRACKS(NODE(7, "counter", null, "queue", null)), columns, data,
		     sizeof(data) - 1);
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_COUNTER, "ts value"), "1005 1\n1011 2\n");
	CHECK_INT(import_stat(&fixture, "traced_buf_chunks_overwritten"), 3);
	import_done(&fixture);
}

ORMA_TEST(a_slice_that_ends_closes_those_below_it)
{
	static struct import_fixture fixture;
	/* A joined box [50, 120) in [0, 100). */
	static const char columns[] =
		"[\"slice.line_lane\",1,2],[\"slice.line_depth\",1,2],[\"slice.line_count\",1,2],"
		"[\"slice.gap\",1,2],[\"slice.length\",1,2],[\"slice.name\",1,2],[\"slice.more\",1,"
		"2],[\"names\",1,9],[\"args\",1,2]";
	static const char data[] = "\4\4"
				   "\0\1"
				   "\1\1"
				   "\0\62"
				   "\144\106"
				   "\1\2"
				   "\0\1"
				   "[\"a\",\"b\"][]";
	convert_page(&fixture, META(""), TRACKS(NODE(4, "slices", 2, "worker", null)), columns,
		     data, sizeof(data) - 1);
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_SLICE, "ts dur name depth"),
		  "1000 100 a 0\n1050 50 b 1\n");
	import_done(&fixture);
}

/* "b" [0, 20) of one thread; "a" [0, 10) and "c" [20, 30) of another. Flows: a to c, and a to b, which comes first. */
ORMA_TEST(flows_come_back_also_between_slices_of_the_same_begin)
{
	static struct import_fixture fixture;
	static const char columns[] =
		"[\"slice.line_lane\",1,2],[\"slice.line_depth\",0,2],[\"slice.line_count\",1,2],"
		"[\"slice.gap\",1,3],[\"slice.length\",1,3],[\"slice.name\",1,3],[\"slice."
		"stack\",1,3],[\"names\",1,13],[\"args\",1,2],[\"stacks\",1,21],[\"flow.from\","
		"1,2],[\"flow.to\",1,2]";
	static const char data[] = "\4\5"
				   "\1\2"
				   "\0\0\12"
				   "\24\12\12"
				   "\2\1\3"
				   "\0\1\0"
				   "[\"a\",\"b\",\"c\"][][[\"f  f.c:7\",\"main\"]]"
				   "\1\0"
				   "\0\2";
	convert_page(
		&fixture, META(""),
		TRACKS(NODE(4, "slices", 1, "app", null) "," NODE(5, "slices", 2, "worker", null)),
		columns, data, sizeof(data) - 1);
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_SLICE, "ts dur name"),
		  "1000 20 b\n1000 10 a\n1020 10 c\n");
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_FLOW, "slice_out slice_in"), "1 0\n1 2\n");
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_STACK_SYMBOL, "name source_file line_number"),
		  "main - -\nf f.c 7\n");
	import_done(&fixture);
}

ORMA_TEST(flows_of_boxes_that_are_not_there_are_refused)
{
	static const char one[] =
		"[\"slice.line_lane\",1,1],[\"slice.line_count\",1,1],[\"slice.gap\",1,1],"
		"[\"flow.from\",1,1],[\"flow.to\",1,1]";
	refuse_page(TRACKS(""), one, "\4\1\0\1\0", 5, "its layout");
	refuse_page(TRACKS(""), one, "\4\1\0\0\1", 5, "its layout");
	refuse_page(TRACKS(""), "[\"flow.from\",1,1],[\"flow.to\",1,1]", "\0\0", 2, "its layout");
	refuse_page(TRACKS(""), "[\"flow.from\",1,1]", "\0", 1, "its layout");
	refuse_page(TRACKS(""), "[\"stacks\",1,2]", "[[", 2, "its layout");
}

ORMA_TEST(keys_of_arguments_that_are_no_texts_are_taken_as_they_stand)
{
	static struct import_fixture fixture;
	static const char columns[] =
		"[\"slice.line_lane\",1,1],[\"slice.line_count\",1,1],[\"slice.gap\",1,1],"
		"[\"slice.args\",1,1],[\"names\",1,2],[\"args\",1,47]";
	static const char data[] = "\4\1\0\1[]"
				   "[[{\"key\":null,\"value\":3},{\"key\":5,\"value\":{}}]]";
	convert_page(&fixture, META(""), TRACKS(NODE(4, "slices", 2, "worker", null)), columns,
		     data, sizeof(data) - 1);
	CHECK_STR(import_slice_args(&fixture, 0), "debug.null=3");
	import_done(&fixture);
}

ORMA_TEST(damage_is_told)
{
	static const char line[] =
		"[\"slice.line_lane\",1,1],[\"slice.line_count\",1,1],[\"slice.gap\",1,1]";
	refuse_page(TRACKS(""), "[\"slice.gap\",9,1]", "abc", 3, "its layout");
	refuse_page(TRACKS(""), "[\"slice.gap\",1,400]", "abc", 3, "its layout");
	refuse_page(TRACKS(""), "[\"slice.gap\",0,4000000000]", "abc", 3, "its layout");
	refuse_page(TRACKS(""), "[\"slice.gap\"]", "abc", 3, "its layout");
	refuse_page(TRACKS(""), line, "\1\2\1", 3, "its layout");
	refuse_page("{\"nodes\":[{\"lane\":-3}]}", "", "", 0, "its tracks");
	refuse_page("[", "", "", 0, "its tracks");
}

static int convert_short(const char *text, char message[128])
{
	static struct import_fixture fixture;
	struct orma_error error = {0};
	int r = convert_bytes(&fixture, text, strlen(text), &error);
	snprintf(message, 128, "%s", error.message);
	if (r == -EBADMSG)
		import_done(&fixture);
	return r;
}

ORMA_TEST(other_pages_are_refused)
{
	char message[128];
	CHECK_INT(convert_short(HEAD "<p>nothing</p>\n", message), -EPROTONOSUPPORT);
	CHECK(strstr(message, "this page has no data"));
	CHECK_INT(convert_short(HEAD "<script type=\"application/json\" id=\"orma-layout\">"
				     "{\"format\":2,\"bytes\":0}</script>\n",
				message),
		  -EPROTONOSUPPORT);
	CHECK(strstr(message, "format 2"));
	CHECK_INT(convert_short(HEAD "<script type=\"application/json\" id=\"orma-layout\">"
				     "{\"format\":1,\"bytes\":5}</script>\n",
				message),
		  -EBADMSG);
	CHECK(strstr(message, "it is cut"));
}

/* All bytes, and each length of the bits behind the last pair. */
ORMA_TEST(base91_is_read_as_it_is_written)
{
	char bytes[300];
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (char)(i * 7);
	for (size_t size = 0; size < sizeof(bytes); size++) {
		struct orma_buf text = {0}, back = {0};
		CHECK_INT(orma_base91_append(&text, (struct orma_str){bytes, size}), 0);
		CHECK_INT(orma_base91_read(&back, orma_base_buf_str(&text)), 0);
		CHECK_INT((int)back.size, (int)size);
		CHECK(size == 0 || memcmp(back.data, bytes, size) == 0);
		for (size_t i = 0; i < text.size; i++)
			CHECK(text.data[i] > ' ' && text.data[i] < 127 &&
			      !strchr("&<>", text.data[i]));
		orma_base_buf_done(&text);
		orma_base_buf_done(&back);
	}
}

ORMA_TEST(what_is_no_base91_is_refused)
{
	static const char *const texts[] = {"a<", "&a", "a>", "a ", "a\177", "a\n", "~~", "ab~"};
	struct orma_buf back = {0};
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		CHECK_INT(orma_base91_read(&back, (struct orma_str){texts[i], strlen(texts[i])}),
			  -EBADMSG);
	back.size = 0;
	CHECK_INT(orma_base91_read(&back, ORMA_STR("!!\"")), 0);
	CHECK_INT((int)back.size, 2);
	orma_base_buf_done(&back);
}
