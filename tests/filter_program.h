/* SPDX-License-Identifier: Apache-2.0
 * filter_program.h - writes the programs and overlays of trace filters, word by word.
 */
#ifndef ORMA_TESTS_FILTER_PROGRAM_H
#define ORMA_TESTS_FILTER_PROGRAM_H

#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/map.h"
#include "proto/wire.h"

#define END      0
#define F(id)    ((id) << 3 | 1) /* simple field */
#define R(id, n) ((id) << 3 | 2), (n)
#define N(id, m) ((id) << 3 | 3), (m)
#define S(id)    ((id) << 3 | 4)
#define T(id, t) ((id) << 3 | 5), (t)
/* Overlay entries; END is for what must not be there. */
#define OVER(message, word, argument) (message), (word), (argument)

#define WORDS(...)                                                                                 \
	(const uint32_t[]){__VA_ARGS__}, sizeof((const uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t)

static inline uint32_t program_checksum(const uint32_t *words, size_t count)
{
	uint64_t hash = ORMA_FNV1A_INIT;

	for (size_t i = 0; i < count; i++) {
		uint8_t bytes[4] = {(uint8_t)words[i], (uint8_t)(words[i] >> 8),
				    (uint8_t)(words[i] >> 16), (uint8_t)(words[i] >> 24)};

		hash = orma_base_fnv1a(hash, bytes, sizeof(bytes));
	}
	return (uint32_t)hash;
}

static inline void program_put(struct orma_buf *to, uint64_t word)
{
	uint8_t bytes[ORMA_PROTO_VARINT_MAX];
	size_t size = (size_t)(orma_proto_put_varint(bytes, word) - bytes);

	if (orma_base_buf_append(to, bytes, size) < 0)
		abort();
}

/* The words with their checksum. */
static inline struct orma_buf program(const uint32_t *words, size_t count)
{
	struct orma_buf bytes = {0};

	for (size_t i = 0; i < count; i++)
		program_put(&bytes, words[i]);
	program_put(&bytes, program_checksum(words, count));
	return bytes;
}

static inline struct orma_str program_str(const struct orma_buf *bytes)
{
	return (struct orma_str){(const char *)bytes->data, bytes->size};
}

/* The bytes as they stand between quotes of a text config. */
static inline const char *program_text(const struct orma_buf *bytes)
{
	static char text[480];

	if (bytes->size * 4 >= sizeof(text))
		abort();
	for (size_t i = 0; i < bytes->size; i++)
		snprintf(&text[4 * i], 5, "\\%03o", bytes->data[i]);
	return text;
}

#endif
