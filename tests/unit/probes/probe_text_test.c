/* SPDX-License-Identifier: Apache-2.0
 * probe_text_test.c - cursors over text, numbers, paths, folders.
 */
#include "probes/probe_text.h"

#include "fake_api.h"
#include "probes/probe.h"
#include "probes/probe_files.h"

#define T(text) ((struct orma_str){(text), sizeof(text) - 1})

static void check_str(struct orma_str actual, const char *expected)
{
	CHECK_MEM(actual.data, actual.size, expected, strlen(expected));
}

ORMA_TEST(lines_end_at_newlines_and_at_the_end_of_the_text)
{
	struct orma_str rest = T("one\n\nthree"), line;
	CHECK(orma_probes_text_line(&rest, &line));
	check_str(line, "one");
	CHECK(orma_probes_text_line(&rest, &line));
	check_str(line, "");
	CHECK(orma_probes_text_line(&rest, &line));
	check_str(line, "three");
	CHECK(!orma_probes_text_line(&rest, &line));
}

ORMA_TEST(words_are_separated_by_spaces_and_tabs)
{
	struct orma_str rest = T("  a\t bc  "), word;
	CHECK(orma_probes_text_word(&rest, &word));
	check_str(word, "a");
	CHECK(orma_probes_text_word(&rest, &word));
	check_str(word, "bc");
	CHECK(!orma_probes_text_word(&rest, &word));
	rest = (struct orma_str){NULL, 0};
	CHECK(!orma_probes_text_word(&rest, &word));
	CHECK(!orma_probes_text_line(&rest, &word));
	CHECK(!orma_probes_text_until(&rest, ':', &word));
}

ORMA_TEST(a_separator_that_is_missing_takes_nothing)
{
	struct orma_str rest = T("key: value"), part;
	CHECK(orma_probes_text_until(&rest, ':', &part));
	check_str(part, "key");
	CHECK(!orma_probes_text_until(&rest, ':', &part));
	check_str(orma_probes_text_trim(rest), "value");
}

ORMA_TEST(the_name_of_a_process_may_contain_anything)
{
	struct orma_str stat = ORMA_STR("12 (a) (b c)) S 1 2"), word;
	struct orma_str other = ORMA_STR("12 name S 1"), empty = {0}, cut = ORMA_STR("12 (sh)");

	CHECK(orma_probes_text_skip_name(&stat));
	CHECK(orma_probes_text_word(&stat, &word) && orma_base_str_is(word, "S"));
	CHECK(!orma_probes_text_skip_name(&other) && !orma_probes_text_skip_name(&empty));
	CHECK(orma_probes_text_skip_name(&cut) && !orma_probes_text_word(&cut, &word));
}

ORMA_TEST(resident_memory_is_counted_in_the_pages_of_the_machine)
{
	uint64_t bytes = 7;
	CHECK(orma_probes_text_resident(T("1000 300 20 1 0 40 0\n"), 4096, &bytes));
	CHECK_INT(bytes, 300 * 4096);
	CHECK(orma_probes_text_resident(T("1000 300 20 1 0 40 0\n"), 65536, &bytes));
	CHECK_INT(bytes, 300 * 65536);
	CHECK(!orma_probes_text_resident(T("1000"), 4096, &bytes));
	CHECK(!orma_probes_text_resident(T("1000 -3"), 4096, &bytes));
	CHECK(!orma_probes_text_resident(T("1 18446744073709551615"), 4096, &bytes));
}

ORMA_TEST(numbers_are_whole_words_and_do_not_wrap)
{
	uint64_t u64 = 7;
	int64_t i64 = 7;
	uint32_t u32 = 7;
	CHECK(orma_probes_text_u64(T("18446744073709551615"), &u64));
	CHECK(u64 == UINT64_MAX);
	CHECK(!orma_probes_text_u64(T("18446744073709551616"), &u64));
	CHECK(!orma_probes_text_u64(T("99999999999999999999999"), &u64));
	CHECK(!orma_probes_text_u64(T("12x"), &u64));
	CHECK(!orma_probes_text_u64(T("-1"), &u64));
	CHECK(!orma_probes_text_u64(T("+1"), &u64));
	CHECK(!orma_probes_text_u64(T(""), &u64));
	CHECK(u64 == UINT64_MAX);
	CHECK(orma_probes_text_i64(T("-1000"), &i64));
	CHECK_INT(i64, -1000);
	CHECK(!orma_probes_text_i64(T("9223372036854775808"), &i64));
	CHECK(!orma_probes_text_i64(T("-"), &i64));
	CHECK(!orma_probes_text_u32(T("4294967296"), &u32));
	CHECK(orma_probes_text_hex32(T("0xd0b"), &u32));
	CHECK_INT(u32, 0xd0b);
	CHECK(orma_probes_text_hex32(T("FFFFffff"), &u32));
	CHECK(!orma_probes_text_hex32(T("0x"), &u32));
	CHECK(!orma_probes_text_hex32(T("100000000"), &u32));
	CHECK(!orma_probes_text_hex32(T("0xg"), &u32));
	struct orma_str rest = T(" 5992 kB");
	CHECK(orma_probes_text_next_u64(&rest, &u64));
	CHECK_INT(u64, 5992);
	CHECK(!orma_probes_text_next_u64(&rest, &u64));
}

ORMA_TEST(paths_are_put_together_and_cut_when_too_long)
{
	char path[ORMA_PROBES_PATH_BYTES], suffix[2 * ORMA_PROBES_PATH_BYTES];
	CHECK_STR(orma_probes_path(path, "cpu", 0, "/name"), "cpu0/name");
	CHECK_STR(orma_probes_path(path, "", UINT32_MAX, ""), "4294967295");
	memset(suffix, 'x', sizeof(suffix) - 1);
	suffix[sizeof(suffix) - 1] = '\0';
	CHECK_INT(strlen(orma_probes_path(path, "a", 12, suffix)), ORMA_PROBES_PATH_BYTES - 1);
}

ORMA_TEST(numbered_entries_come_in_ascending_order)
{
	struct orma_probes_numbers numbers = {0};
	char name[64];
	for (uint32_t i = 0; i < 300; i++) {
		snprintf(name, sizeof(name), "dir/cpu%u", i * 7919 % 1000);
		fake_put(name, "");
	}
	fake_put("dir/cpufreq", "");
	fake_put("dir/cpu1x", "");
	fake_put("dir/cpu", "");
	fake_put("dir/7", "");
	int dir = orma_probes_dir_open(AT_FDCWD, fake_root);
	CHECK_INT(orma_probes_dir_numbers(dir, "dir", "cpu", &numbers), 0);
	CHECK_INT(numbers.count, 300);
	for (size_t i = 1; i < numbers.count; i++)
		CHECK(numbers.items[i - 1] < numbers.items[i]);
	CHECK(orma_probes_numbers_has(&numbers, 0));
	CHECK(!orma_probes_numbers_has(&numbers, 1001));
	CHECK_INT(orma_probes_dir_numbers(dir, "dir", "", &numbers), 0);
	CHECK_INT(numbers.count, 1);
	CHECK_INT(orma_probes_dir_numbers(dir, "nothing", "", &numbers), -ENOENT);
	CHECK_INT(numbers.count, 0);
	orma_probes_numbers_done(&numbers);
	close(dir);
}

ORMA_TEST(files_of_any_size_are_read_whole)
{
	struct orma_buf buf = {0}, content = {0};
	struct orma_str text;
	uint64_t value;
	for (int i = 0; i < 300000; i++)
		orma_base_buf_append(&content, "x", 1);
	fake_put_bytes("large", content.data, content.size);
	fake_put("small", "42\n");
	fake_put("empty", "");
	fake_put("word", "many words\n");
	int dir = orma_probes_dir_open(AT_FDCWD, fake_root);
	CHECK_INT(orma_probes_file_read(dir, "large", &buf, &text), 0);
	CHECK_INT(text.size, 300000);
	CHECK_INT(orma_probes_file_read_record(dir, "large", &buf, &text), 0);
	CHECK_INT(text.size, 300000);
	CHECK_INT(orma_probes_file_read_record(dir, "empty", &buf, &text), 0);
	CHECK_INT(text.size, 0);
	CHECK_INT(orma_probes_file_read_u64(dir, "small", &value), 0);
	CHECK_INT(value, 42);
	CHECK_INT(orma_probes_file_read_u64(dir, "empty", &value), -EBADMSG);
	CHECK_INT(orma_probes_file_read_u64(dir, "word", &value), -EBADMSG);
	CHECK_INT(orma_probes_file_read_u64(dir, "gone", &value), -ENOENT);
	CHECK_INT(orma_probes_file_read(dir, "gone", &buf, &text), -ENOENT);
	orma_base_buf_done(&buf);
	orma_base_buf_done(&content);
	close(dir);
}

ORMA_TEST(polls_are_at_multiples_of_the_period)
{
	CHECK_INT(orma_probe_next_run_ns(0, 10), 10000000);
	CHECK_INT(orma_probe_next_run_ns(9999999, 10), 10000000);
	CHECK_INT(orma_probe_next_run_ns(10000000, 10), 20000000);
	CHECK_INT(orma_probe_next_run_ns(35000000, 10), 40000000);
	CHECK(orma_probe_next_run_ns(1, UINT32_MAX) == UINT32_MAX * UINT64_C(1000000));
}
