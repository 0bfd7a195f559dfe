/* SPDX-License-Identifier: Apache-2.0
 * perf_map_test.c - names of machine code from a text that the traced program writes.
 */
#include "base/alloc.h"
#include "harness.h"
#include "unwind/perf_map.h"

static struct orma_perf_map *parse(const char *text)
{
	struct orma_perf_map *map = NULL;

	CHECK_INT(orma_perf_map_parse(orma_base_str(text), &map), 0);
	return map;
}

static void check_name(const struct orma_perf_map *map, uint64_t address, const char *expected)
{
	struct orma_str name = orma_perf_map_find(map, address);

	if (!orma_base_str_is(name, expected))
		orma_test_fail(__FILE__, __LINE__, "name at %llx is %.*s",
			       (unsigned long long)address, (int)name.size, name.data);
}

ORMA_TEST(names_are_found_by_address)
{
	struct orma_perf_map *map = parse("2000 10 second one\n"
					  "0x1000 0x20 py::main:/a b.py\n"
					  "FFFFFFFFFFFFFF00 ff last\n");

	check_name(map, 0xfff, "");
	check_name(map, 0x1000, "py::main:/a b.py");
	check_name(map, 0x101f, "py::main:/a b.py");
	check_name(map, 0x1020, "");
	check_name(map, 0x200f, "second one");
	check_name(map, 0xffffffffffffffff, "");
	check_name(map, 0xfffffffffffffffe, "last");
	orma_perf_map_free(map);
}

ORMA_TEST(code_that_replaces_other_code_gets_its_own_name)
{
	struct orma_perf_map *map = parse("1000 20 old\n1000 10 new\n");

	check_name(map, 0x1008, "new");
	check_name(map, 0x1018, "");
	orma_perf_map_free(map);
}

ORMA_TEST(lines_that_make_no_sense_are_skipped)
{
	struct orma_perf_map *map = parse("\n"
					  "x 1 a\n"
					  "1000\n"
					  "1000 0 empty\n"
					  "1000 10\n"
					  "1000 10 \n"
					  "10000000000000000 1 too_far\n"
					  "1000 100000000 too_large\n"
					  "ffffffffffffffff 2 wraps\n"
					  "1000 10 good\n"
					  "1000 20 without_an_end");

	check_name(map, 0x100f, "good");
	check_name(map, 0x1010, "");
	orma_perf_map_free(map);
	CHECK_INT(orma_perf_map_parse(ORMA_STR("nothing\n"), &map), -ENODATA);
}

ORMA_TEST(long_names_are_cut)
{
	char text[2000];
	int size = snprintf(text, sizeof(text), "1000 10 ");

	memset(text + size, 'n', 1000);
	memcpy(text + size + 1000, "\n", 2);
	struct orma_perf_map *map = parse(text);
	CHECK_INT(orma_perf_map_find(map, 0x1000).size, 512);
	orma_perf_map_free(map);
}

ORMA_TEST(a_map_is_read_without_memory)
{
	struct orma_perf_map *map = NULL;

	for (uint64_t nth = 1; !map; nth++) {
		orma_base_alloc_fail_nth(nth);
		int r = orma_perf_map_parse(ORMA_STR("1000 10 a\n2000 10 b\n"), &map);
		CHECK_INT(r, orma_base_alloc_has_failed() ? -ENOMEM : 0);
	}
	orma_base_alloc_fail_nth(0);
	orma_perf_map_free(map);
}
