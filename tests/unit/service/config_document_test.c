/* SPDX-License-Identifier: Apache-2.0
 * config_document_test.c - docs/config.md says of every field of a TraceConfig what becomes of it.
 */
#include <stdio.h>

#include "base/alloc.h"
#include "harness.h"
#include "proto/codec.h"
#include "schema/gen/data_source_config.pb.h"
#include "schema/gen/trace_config.pb.h"

#define MESSAGES_MAX 64

static const char *const classes[] = {"honoured", "refused", "recorder", "producer",
				      "service",  "Android", "no effect"};

static char *read_document(void)
{
	static char text[1 << 16];
	FILE *file = fopen(ORMA_SOURCE_DIR "/docs/config.md", "re");
	size_t size;

	CHECK(file);
	size = fread(text, 1, sizeof(text) - 1, file);
	CHECK(size > 0 && size < sizeof(text) - 1);
	text[size] = '\0';
	CHECK_INT(fclose(file), 0);
	return text;
}

static bool is_classified(const char *document, const char *message, const char *field)
{
	char row[256];
	const char *at;

	snprintf(row, sizeof(row), "\n| `%s.%s` | ", message, field);
	at = strstr(document, row);
	if (!at)
		return false;
	at += strlen(row);
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(classes); i++) {
		size_t size = strlen(classes[i]);

		if (strncmp(at, classes[i], size) == 0 && strncmp(at + size, " | ", 3) == 0)
			return true;
	}
	return false;
}

struct walk {
	const struct orma_proto_desc *messages[MESSAGES_MAX];
	size_t count, fields;
};

static void add_message(struct walk *walk, const struct orma_proto_desc *desc)
{
	for (size_t i = 0; i < walk->count; i++)
		if (walk->messages[i] == desc)
			return;
	CHECK(walk->count < MESSAGES_MAX);
	walk->messages[walk->count++] = desc;
}

/* What is inside the configs of single data sources is theirs. */
static bool is_followed(const struct orma_proto_desc *desc,
			const struct orma_proto_field_desc *field)
{
	return field->kind == ORMA_PROTO_KIND_MESSAGE &&
	       (desc != &orma_pb_data_source_config_desc ||
		field->id == ORMA_PB_DATA_SOURCE_CONFIG_PRIORITY_BOOST);
}

ORMA_TEST(every_field_of_a_config_is_classified_in_the_document)
{
	const char *document = read_document();
	struct walk walk = {0};
	size_t rows = 0;

	add_message(&walk, &orma_pb_trace_config_desc);
	for (size_t i = 0; i < walk.count; i++) {
		const struct orma_proto_desc *desc = walk.messages[i];

		for (size_t k = 0; k < desc->field_count; k++, walk.fields++) {
			const struct orma_proto_field_desc *field = &desc->fields[k];
			const char *name = orma_proto_field_name(desc, field);

			if (!is_classified(document, desc->name, name))
				orma_test_fail(__FILE__, __LINE__,
					       "docs/config.md does not classify %s.%s", desc->name,
					       name);
			if (is_followed(desc, field))
				add_message(&walk, desc->types[field->type_idx].message);
		}
	}
	/* And nothing that there is not. */
	for (const char *at = document; (at = strstr(at, "\n| `")); at++)
		rows++;
	CHECK_INT(rows, walk.fields);
}
