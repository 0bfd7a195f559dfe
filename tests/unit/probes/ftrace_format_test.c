/* SPDX-License-Identifier: Apache-2.0
 * ftrace_format_test.c - the kernel's descriptions of records and pages, of several kernels and broken.
 */
#include "probes/ftrace/ftrace_format.h"

#include "base/macros.h"
#include "harness.h"
#include "probes/ftrace/print_filter.h"
#include "probes/ftrace/printk_formats.h"

#define FIELD(declaration, offset, size, is_signed)                                                \
	"\tfield:" declaration ";\toffset:" #offset ";\tsize:" #size ";\tsigned:" #is_signed ";\n"
#define COMMON                                                                                     \
	FIELD("unsigned short common_type", 0, 2, 0)                                               \
	FIELD("unsigned char common_flags", 2, 1, 0)                                               \
	FIELD("unsigned char common_preempt_count", 3, 1, 0) FIELD("int common_pid", 4, 4, 1) "\n"
#define FORMAT(fields) "name: made_up\nID: 77\nformat:\n" COMMON fields "\nprint fmt: \"\"\n"

static struct orma_arena arena;
static struct orma_ftrace_format format;

static int parse(const char *text)
{
	orma_base_arena_done(&arena);
	return orma_ftrace_format_parse(orma_base_str(text), &arena, &format);
}

/* Parses a format with this one field of its own. */
static const struct orma_ftrace_field *field(const char *line)
{
	char text[1024];
	snprintf(text, sizeof(text), FORMAT("%s"), line);
	static char copy[1024];
	memcpy(copy, text, sizeof(copy));
	CHECK_INT(parse(copy), 0);
	CHECK_INT(format.field_count, 5);
	return &format.fields[4];
}

static void check_kind(const char *line, enum orma_ftrace_kind kind)
{
	if (field(line)->kind != kind)
		orma_test_fail(__FILE__, __LINE__, "%s is of kind %d", line, field(line)->kind);
}

ORMA_TEST(a_format_has_its_name_id_and_fields)
{
	CHECK_INT(parse(FORMAT(FIELD("char comm[16]", 8, 16, 0) FIELD("pid_t pid", 24, 4, 1))), 0);
	CHECK(orma_base_str_is(format.name, "made_up"));
	CHECK_INT(format.id, 77);
	CHECK_INT(format.common_count, 4);
	CHECK_INT(format.field_count, 6);
	CHECK_INT(format.record_bytes, 28);
	CHECK(orma_base_str_is(format.fields[4].name, "comm"));
	CHECK_INT(format.fields[4].offset, 8);
	CHECK_INT(format.fields[4].size, 16);
	CHECK_INT(format.fields[5].kind, ORMA_FTRACE_PID);
	CHECK(format.fields[5].is_signed);
	orma_base_arena_done(&arena);
}

ORMA_TEST(declarations_tell_what_the_bytes_are)
{
	check_kind(FIELD("unsigned int x", 8, 4, 0), ORMA_FTRACE_INTEGER);
	check_kind(FIELD("enum zone_type x", 8, 4, 0), ORMA_FTRACE_INTEGER);
	check_kind(FIELD("bool x", 8, 1, 0), ORMA_FTRACE_INTEGER);
	check_kind(FIELD("gfp_t x", 8, 4, 0), ORMA_FTRACE_INTEGER);
	check_kind(FIELD("pid_t x", 8, 4, 1), ORMA_FTRACE_PID);
	check_kind(FIELD("dev_t x", 8, 4, 0), ORMA_FTRACE_DEVICE);
	check_kind(FIELD("ino_t x", 8, 8, 0), ORMA_FTRACE_INODE);
	check_kind(FIELD("void * x", 8, 8, 0), ORMA_FTRACE_ADDRESS);
	check_kind(FIELD("const void *x", 8, 4, 0), ORMA_FTRACE_ADDRESS);
	check_kind(FIELD("struct page * x", 8, 8, 0), ORMA_FTRACE_ADDRESS);
	check_kind(FIELD("const char * x", 8, 8, 0), ORMA_FTRACE_TEXT_POINTER);
	check_kind(FIELD("char *x", 8, 8, 0), ORMA_FTRACE_TEXT_POINTER);
	check_kind(FIELD("char x[16]", 8, 16, 0), ORMA_FTRACE_TEXT);
	check_kind(FIELD("char x[TASK_COMM_LEN]", 8, 16, 0), ORMA_FTRACE_TEXT);
	check_kind(FIELD("char x[]", 8, 0, 0), ORMA_FTRACE_TEXT_TAIL);
	check_kind(FIELD("char x", 8, 0, 0), ORMA_FTRACE_TEXT_TAIL);
	check_kind(FIELD("char x", 8, 1, 1), ORMA_FTRACE_INTEGER);
	check_kind(FIELD("unsigned long x[6]", 8, 48, 0), ORMA_FTRACE_ARRAY);
	check_kind(FIELD("__u8 x[4]", 8, 4, 0), ORMA_FTRACE_ARRAY);
	check_kind(FIELD("__data_loc char[] x", 8, 4, 0), ORMA_FTRACE_DYNAMIC_TEXT);
	check_kind(FIELD("__rel_loc char[] x", 8, 4, 0), ORMA_FTRACE_DYNAMIC_TEXT);
	check_kind(FIELD("__data_loc char[] x", 8, 8, 0), ORMA_FTRACE_DYNAMIC_TEXT);
	check_kind(FIELD("__data_loc u32[] x", 8, 4, 0), ORMA_FTRACE_DYNAMIC_ARRAY);
	check_kind(FIELD("__data_loc cpumask_t x", 8, 4, 0), ORMA_FTRACE_DYNAMIC_ARRAY);
	CHECK_INT(field(FIELD("__data_loc u32[] x", 8, 4, 0))->element_bytes, 4);
	CHECK_INT(field(FIELD("__data_loc unsigned long[] x", 8, 4, 0))->element_bytes, 1);
	CHECK_INT(field(FIELD("unsigned long x[6]", 8, 24, 0))->element_bytes, 4);
	CHECK(field(FIELD("__rel_loc char[] x", 8, 4, 0))->is_relative);
	CHECK(field(FIELD("__data_loc s16[] x", 8, 4, 0))->is_signed);
	orma_base_arena_done(&arena);
}

ORMA_TEST(a_size_that_does_not_fit_the_type_makes_a_field_unknown)
{
	check_kind(FIELD("int x", 8, 3, 1), ORMA_FTRACE_UNKNOWN);
	check_kind(FIELD("struct thing x", 8, 8, 0), ORMA_FTRACE_UNKNOWN);
	check_kind(FIELD("union bpf_thing x", 8, 4, 0), ORMA_FTRACE_UNKNOWN);
	check_kind(FIELD("void * x", 8, 2, 0), ORMA_FTRACE_UNKNOWN);
	check_kind(FIELD("u16 x[3]", 8, 7, 0), ORMA_FTRACE_UNKNOWN);
	check_kind(FIELD("struct thing x[3]", 8, 36, 0), ORMA_FTRACE_UNKNOWN);
	check_kind(FIELD("unsigned long caller[]", 8, 0, 0), ORMA_FTRACE_UNKNOWN);
	check_kind(FIELD("__data_loc char[] x", 8, 2, 0), ORMA_FTRACE_UNKNOWN);
	orma_base_arena_done(&arena);
}

ORMA_TEST(broken_formats_are_refused)
{
	static const char *const broken[] = {
		"",
		"name: x\n",
		"name: x\nID: 3\nformat:\n",
		"name: x\nID: 0\nformat:\n" COMMON,
		"name: x\nID: 65536\nformat:\n" COMMON,
		"name: x\nID: -3\nformat:\n" COMMON,
		"name:\nID: 3\nformat:\n" COMMON,
		"ID: 3\nformat:\n" COMMON,
		"name: x\nID: 3\nsomething else\nformat:\n" COMMON,
		FORMAT("\tnot a field\n"),
		FORMAT("\tfield:int x;\toffset:8;\tsize:4;\n"),
		FORMAT("\tfield:int x;\toffset:8\tsize:4;\tsigned:1;\n"),
		FORMAT(FIELD("x", 8, 4, 0)),
		FORMAT(FIELD("int ", 8, 4, 0)),
		FORMAT(FIELD("int x]", 8, 4, 0)),
		FORMAT(FIELD("int x", -8, 4, 0)),
		FORMAT(FIELD("int x", 65533, 4, 0)),
		FORMAT(FIELD("int x", 8, 99999999999999999999, 0)),
		FORMAT(FIELD("int x", 8, 4, 2)),
		/* A field of all events behind one of its own. */
		FORMAT(FIELD("int x", 8, 4, 1) FIELD("int common_tgid", 12, 4, 1)),
		/* common_type is where nobody looks for it. */
		"name: x\nID: 3\nformat:\n" FIELD("unsigned short common_type", 2, 2, 0),
		"name: x\nID: 3\nformat:\n" FIELD("unsigned int common_type", 0, 4, 0),
	};

	for (size_t i = 0; i < ORMA_ARRAY_SIZE(broken); i++) {
		if (parse(broken[i]) != -EBADMSG)
			orma_test_fail(__FILE__, __LINE__, "accepted: %s", broken[i]);
	}
	orma_base_arena_done(&arena);
}

ORMA_TEST(a_format_with_too_many_fields_is_refused)
{
	struct orma_buf text = {0};
	orma_base_buf_append_str(&text, "name: x\nID: 3\nformat:\n" COMMON);
	for (int i = 4; i <= ORMA_FTRACE_FIELDS_MAX; i++) {
		struct orma_str all = {(const char *)text.data, text.size};
		orma_base_arena_done(&arena);
		CHECK_INT(orma_ftrace_format_parse(all, &arena, &format), 0);
		orma_base_buf_printf(&text, FIELD("int x%d", 8, 4, 1), i);
	}
	struct orma_str all = {(const char *)text.data, text.size};
	orma_base_arena_done(&arena);
	CHECK_INT(orma_ftrace_format_parse(all, &arena, &format), -EBADMSG);
	orma_base_arena_done(&arena);
	orma_base_buf_done(&text);
}

#define PAGE(commit, data_offset, data_size)                                                       \
	"\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n"                                 \
	"\tfield: local_t commit;\toffset:8;\tsize:" #commit ";\tsigned:1;\n"                      \
	"\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n"                                 \
	"\tfield: char data;\toffset:" #data_offset ";\tsize:" #data_size ";\tsigned:0;\n"

ORMA_TEST(the_layout_of_a_page_follows_the_kernel)
{
	struct orma_ftrace_page_layout layout;
	CHECK_INT(orma_ftrace_page_layout_parse(orma_base_str(PAGE(8, 16, 4080)), &layout), 0);
	CHECK_INT(layout.page_bytes, 4096);
	CHECK_INT(layout.commit_bytes, 8);
	CHECK_INT(layout.commit_offset, 8);
	CHECK_INT(layout.data_offset, 16);
	CHECK_INT(orma_ftrace_page_layout_parse(orma_base_str(PAGE(4, 12, 4084)), &layout), 0);
	CHECK_INT(layout.commit_bytes, 4);
	CHECK_INT(layout.data_offset, 12);
	CHECK_INT(orma_ftrace_page_layout_parse(orma_base_str(PAGE(8, 16, 65520)), &layout), 0);
	CHECK_INT(layout.page_bytes, 65536);
}

ORMA_TEST(a_layout_that_cannot_be_is_refused)
{
	struct orma_ftrace_page_layout layout;
	CHECK_INT(orma_ftrace_page_layout_parse(orma_base_str(""), &layout), -EBADMSG);
	CHECK_INT(orma_ftrace_page_layout_parse(orma_base_str("nonsense\n"), &layout), -EBADMSG);
	CHECK_INT(orma_ftrace_page_layout_parse(orma_base_str(PAGE(2, 16, 4080)), &layout),
		  -EBADMSG);
	CHECK_INT(orma_ftrace_page_layout_parse(orma_base_str(PAGE(8, 12, 4084)), &layout),
		  -EBADMSG);
	CHECK_INT(orma_ftrace_page_layout_parse(orma_base_str(PAGE(8, 16, 4000)), &layout),
		  -EBADMSG);
}

/* ---- printk_formats and print filters ---- */

ORMA_TEST(strings_of_the_kernel_are_found_by_address)
{
	static const char text[] = "0xffffffff82000000 : \"Start GP\"\n"
				   "0xffffffff82000010 : \"quote \\\" inside\"\n"
				   "0x0 : \"null\"\nno line\n0xzz : \"x\"\n"
				   "ffffffff82000020 : \"\"\n0xffffffff82000030 : unquoted\n";
	struct orma_printk_formats formats;
	CHECK_INT(orma_printk_formats_parse(orma_base_str(text), &formats), 0);
	CHECK(orma_base_str_is(orma_printk_formats_find(&formats, 0xffffffff82000000), "Start GP"));
	CHECK(orma_base_str_is(orma_printk_formats_find(&formats, 0xffffffff82000010),
			       "quote \\\" inside"));
	CHECK_INT(orma_printk_formats_find(&formats, 0).size, 0);
	CHECK_INT(orma_printk_formats_find(&formats, 0xffffffff82000020).size, 0);
	CHECK_INT(orma_printk_formats_find(&formats, 0xffffffff82000030).size, 0);
	CHECK_INT(formats.strings.count, 3);
	orma_printk_formats_done(&formats);
	for (int i = 1; i < 3; i++) {
		orma_test_fail_allocation((uint64_t)i);
		CHECK_INT(orma_printk_formats_parse(orma_base_str(text), &formats), -ENOMEM);
		CHECK(orma_test_allocation_failed());
	}
}

static struct orma_print_filter print_filter(const char *text)
{
	struct orma_pb_ftrace_config_print_filter *config;
	struct orma_print_filter filter;
	struct orma_error error = {0};
	if (orma_proto_text_parse(&orma_pb_ftrace_config_print_filter_desc, "filter", text,
				  strlen(text), 0, &arena, &config, &error) < 0)
		orma_test_fail(__FILE__, __LINE__, "%s", error.message);
	CHECK_INT(orma_print_filter_init(&filter, config), 0);
	orma_base_arena_done(&arena);
	return filter;
}

ORMA_TEST(the_first_rule_that_matches_a_print_decides)
{
	struct orma_print_filter filter = print_filter(
		"rules { prefix: \"B|no\" allow: false } rules { prefix: \"B|\" allow: true } "
		"rules { atrace_msg { type: \"C\" prefix: \"keep\" } allow: true } "
		"rules { prefix: \"\" allow: false }");
	static const struct {
		const char *text;
		bool is_kept;
	} cases[] = {
		{"B|12|x", true},     {"B|no", false},   {"C|12|keep this", true},
		{"C|12|x", false},    {"C||keep", true}, {"C|1x|keep", false},
		{"C|12", false},      {"C", false},      {"", false},
		{"D|12|keep", false},
	};
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(cases); i++)
		CHECK_INT(orma_print_filter_allows(&filter, orma_base_str(cases[i].text)),
			  cases[i].is_kept);
	orma_print_filter_done(&filter);
	filter = print_filter("");
	CHECK(orma_print_filter_allows(&filter, ORMA_STR("anything")));
	orma_print_filter_done(&filter);
}
