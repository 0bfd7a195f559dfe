/* SPDX-License-Identifier: Apache-2.0
 * options_test.c - option structs of older and newer programs.
 */
#include "base/options.h"

#include "harness.h"

struct options {
	size_t struct_size;
	int first, second;
};

struct newer_options {
	struct options known;
	int third, fourth;
};

ORMA_TEST(what_an_older_program_does_not_know_keeps_its_default)
{
	struct options own = {.first = 1, .second = 2};
	const struct options older = {
		.struct_size = offsetof(struct options, second), .first = 7, .second = 8};

	CHECK_INT(orma_base_options_copy(&own, sizeof(own), &older), 0);
	CHECK_INT(own.first, 7);
	CHECK_INT(own.second, 2);
	CHECK_INT(own.struct_size, sizeof(own));
}

ORMA_TEST(what_a_newer_program_leaves_at_zero_is_no_matter)
{
	struct options own = {0};
	struct newer_options newer = {.known = {sizeof(newer), 3, 4}};

	CHECK_INT(orma_base_options_copy(&own, sizeof(own), &newer), 0);
	CHECK_INT(own.first, 3);
	CHECK_INT(own.second, 4);
	newer.fourth = 1;
	newer.known.first = 5;
	CHECK_INT(orma_base_options_copy(&own, sizeof(own), &newer), -EINVAL);
	CHECK_INT(own.first, 3);
}

ORMA_TEST(sizes_that_nobody_set_are_refused)
{
	struct options own = {.first = 1};
	struct options options = {.struct_size = 0, .first = 7};

	CHECK_INT(orma_base_options_copy(&own, sizeof(own), &options), -EINVAL);
	options.struct_size = sizeof(size_t) - 1;
	CHECK_INT(orma_base_options_copy(&own, sizeof(own), &options), -EINVAL);
	options.struct_size = ORMA_BASE_OPTIONS_BYTES_MAX + 1;
	CHECK_INT(orma_base_options_copy(&own, sizeof(own), &options), -EINVAL);
	CHECK_INT(own.first, 1);
	CHECK_INT(orma_base_options_copy(&own, sizeof(own), NULL), 0);
	CHECK_INT(own.first, 1);
}
