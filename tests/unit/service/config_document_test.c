/* SPDX-License-Identifier: Apache-2.0
 * config_document_test.c - docs/config.md says of every field of a TraceConfig what becomes of it.
 */
#include <stdio.h>

#include "fixture.h"

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

/* The configs of single data sources are documented elsewhere. */
static bool is_followed(const struct orma_proto_desc *desc,
			const struct orma_proto_field_desc *field)
{
	return field->kind == ORMA_PROTO_KIND_MESSAGE &&
	       (desc != &orma_pb_data_source_config_desc ||
		field->id == ORMA_PB_DATA_SOURCE_CONFIG_PRIORITY_BOOST);
}

/* `row` begins with "\n| `MESSAGE.FIELD`". */
static bool is_row_of(const char *row, const struct walk *walk)
{
	size_t size = strcspn(row + 4, ".");

	for (size_t i = 0; i < walk->count; i++)
		if (strlen(walk->messages[i]->name) == size &&
		    strncmp(walk->messages[i]->name, row + 4, size) == 0)
			return true;
	return false;
}

/* A row about the config of a data source names a message that DataSourceConfig has, and a field of it. A name that
 * begins with an asterisk stands for several fields. */
static void check_source_row(const char *row)
{
	const struct orma_proto_desc *config = &orma_pb_data_source_config_desc;
	struct orma_str message = {row + 4, strcspn(row + 4, ".")};
	struct orma_str field = {message.data + message.size + 1, 0};

	field.size = strcspn(field.data, "`");
	for (size_t i = 0; i < config->field_count; i++) {
		const struct orma_proto_field_desc *source = &config->fields[i];
		const struct orma_proto_desc *desc;

		if (source->kind != ORMA_PROTO_KIND_MESSAGE)
			continue;
		desc = config->types[source->type_idx].message;
		if (orma_base_str_is(message, desc->name) &&
		    (field.data[0] == '*' || orma_proto_desc_find_name(desc, field)))
			return;
	}
	orma_test_fail(__FILE__, __LINE__,
		       "docs/config.md has a row for %.*s, which does not exist",
		       (int)(message.size + 1 + field.size), message.data);
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
	for (const char *at = document; (at = strstr(at, "\n| `")); at++) {
		if (is_row_of(at, &walk))
			rows++;
		else
			check_source_row(at);
	}
	CHECK_INT(rows, walk.fields);
}

/* The next row "| number | `name` |" of the table of unknown fields; 0 = there is none. */
static uint32_t next_unknown(const char **at, char name[64])
{
	while ((*at = strchr(*at, '\n'))) {
		unsigned number;

		if (sscanf(++*at, "| %u | `%63[a-z0-9_]` |", &number, name) == 2)
			return number;
	}
	return 0;
}

ORMA_TEST(fields_that_the_document_calls_unknown_reach_the_data_source_untouched)
{
	const char *document = read_document(), *at = document;
	struct orma_proto_heap_writer heap;
	struct orma_proto_nested source, config;
	struct orma_buf bytes = {0}, expected = {0};
	struct world world;
	struct producer producer;
	struct consumer consumer;
	char name[64];
	size_t count = 0;
	uint32_t id;

	orma_proto_heap_writer_init(&heap, &expected);
	while ((id = next_unknown(&at, name))) {
		CHECK(!orma_proto_desc_find(&orma_pb_data_source_config_desc, id));
		orma_proto_write_bytes(&heap.writer, id, name, strlen(name));
		count++;
	}
	CHECK_INT(orma_proto_heap_writer_finish(&heap), 0);
	CHECK_INT(count, 29);
	bytes = encode_text(&orma_pb_trace_config_desc, "buffers { size_kb: 4 }");
	orma_proto_heap_writer_init(&heap, &bytes);
	orma_proto_nested_begin(&heap.writer, &source, ORMA_PB_TRACE_CONFIG_DATA_SOURCES);
	orma_proto_nested_begin(&heap.writer, &config, ORMA_PB_TRACE_CONFIG_DATA_SOURCE_CONFIG);
	orma_proto_write_string(&heap.writer, ORMA_PB_DATA_SOURCE_CONFIG_NAME, "test");
	orma_proto_write_raw(&heap.writer, expected.data, expected.size);
	orma_proto_nested_end(&heap.writer, &config);
	orma_proto_nested_end(&heap.writer, &source);
	CHECK_INT(orma_proto_heap_writer_finish(&heap), 0);

	world_open(&world);
	producer_open(&world, &producer, "p");
	consumer_open(&world, &consumer);
	CHECK_INT(register_source(&producer, "name: 'test'"), 0);
	CHECK_INT(orma_consumer_port_enable(consumer.port, bytes.data, bytes.size, -1,
					    &consumer.error),
		  0);
	CHECK(memmem(producer.config.data, producer.config.size, expected.data, expected.size));
	orma_base_buf_done(&bytes);
	orma_base_buf_done(&expected);
	consumer_close(&consumer);
	producer_close(&producer);
	world_close(&world);
}
