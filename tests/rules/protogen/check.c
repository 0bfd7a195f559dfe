/* SPDX-License-Identifier: Apache-2.0
 * check.c - the tables of odd.proto and modern.proto compile and work.
 *
 * protogen-works builds and runs this with the generated files. Rejected: comparing these with
 * expected files (they would change with every improvement, and nobody would read the difference).
 */
#include <schema/gen/modern.pb.h> /* made by the test */
#include <schema/gen/odd.pb.h>
#include <stdio.h>
#include <stdlib.h>

#include "proto/wire.h"

#define CHECK(condition)                                                                           \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);            \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

static void check_absent(struct orma_pb_odd_things *odd)
{
	CHECK(odd->has_ == 0 && odd->half == 0 && odd->huge == 0 && !odd->yes && odd->kind == 0);
	CHECK(!orma_pb_odd_things_has_has(odd) && odd->linux_ == 0 && odd->base_.size == 0);
}

static void check_constants(void)
{
	CHECK(ORMA_PB_ODD_THINGS_LINUX == ORMA_PROTO_FIELD_ID_MAX);
	CHECK(ORMA_PB_ODD_THINGS_NAME_IID == 14 && ORMA_PB_ODD_THINGS_NAME_IID_ == 1);
	CHECK(ORMA_PB_ODD_THINGS_ABC_KIND_MINUS == -7);
	CHECK(strcmp(orma_pb_odd_things_abc_kind_enum.name, "OddThings.ABCKind") == 0);
}

static void check_text(struct orma_pb_odd_things *odd, struct orma_arena *arena)
{
	static const char expected[] =
		"int: \"x\"\npacked: -1\npacked: 2\ninner {\n  inner {\n  }\n}\n"
		"empty {\n}\ncounts {\n  key: \"k\"\n  value: 3\n}\nlinux: 1\n";
	struct orma_pb_odd_things_counts_entry *entry;
	struct orma_buf out = {0};

	orma_pb_odd_things_set_linux(odd, 1);
	orma_pb_odd_things_set_int(odd, ORMA_STR("x"));
	CHECK(orma_pb_odd_things_add_packed(odd, arena, -1) == 0);
	CHECK(orma_pb_odd_things_add_packed(odd, arena, 2) == 0);
	CHECK(orma_pb_odd_things_inner_add_inner(orma_pb_odd_things_set_new_inner(odd, arena),
						 arena) != NULL);
	orma_pb_odd_things_set_sa_handler(odd, ORMA_STR("y"));
	CHECK(orma_pb_odd_things_set_new_empty(odd, arena) != NULL);
	entry = orma_pb_odd_things_add_counts(odd, arena);
	orma_pb_odd_things_counts_entry_set_key(entry, ORMA_STR("k"));
	orma_pb_odd_things_counts_entry_set_value(entry, 3);
	CHECK(orma_proto_text_print(odd, 0, &out) == 0);
	CHECK(strcmp(orma_base_buf_cstr(&out), expected) == 0);
	orma_base_buf_done(&out);
}

static void check_proto3(struct orma_arena *arena)
{
	struct orma_pb_modern *modern = orma_pb_modern_new(arena);
	struct orma_buf out = {0};

	for (int32_t i = 0; i < 2; i++) {
		CHECK(orma_pb_modern_add_packed(modern, arena, i) == 0);
		CHECK(orma_pb_modern_add_unpacked(modern, arena, i) == 0);
		CHECK(orma_pb_modern_add_things(modern, arena) != NULL);
	}
	CHECK(orma_proto_encode(modern, &out) == 0);
	CHECK(out.size == 12 && memcmp(out.data, "\x0a\x02\0\1\x10\0\x10\1\x1a\0\x1a\0", 12) == 0);
	orma_base_buf_done(&out);
}

int main(void)
{
	struct orma_arena arena = {0};
	struct orma_pb_odd_things *odd = orma_pb_odd_things_new(&arena);

	check_absent(odd);
	check_constants();
	check_text(odd, &arena);
	check_proto3(&arena);
	orma_base_arena_done(&arena);
	return 0;
}
