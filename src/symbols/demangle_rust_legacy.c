/* SPDX-License-Identifier: Apache-2.0
 * demangle_rust_legacy.c - the names that rustc wrote before 1.37. They look like that of a C++ function in nested namespaces whose
 * own name is a hash. Only the hash tells them from names of C++.
 */
#include <stdbool.h>
#include <string.h>

#include "base/str.h"
#include "symbols/demangle.h"

/* Escapes such as "$LT$" stand for characters that linkers do not allow. Returns the size of the escape; 0 = none. */
static size_t read_escape(const char *text, size_t size, const char **ret)
{
	static const char *const escapes[][2] = {
		{"$SP$", "@"},  {"$BP$", "*"},  {"$RF$", "&"},  {"$LT$", "<"},  {"$GT$", ">"},
		{"$LP$", "("},  {"$RP$", ")"},  {"$C$", ","},   {"$u20$", " "}, {"$u22$", "\""},
		{"$u27$", "'"}, {"$u2b$", "+"}, {"$u3b$", ";"}, {"$u5b$", "["}, {"$u5d$", "]"},
		{"$u7b$", "{"}, {"$u7d$", "}"}, {"$u7e$", "~"}, {"$u3d$", "="}, {"$u21$", "!"},
	};

	for (size_t i = 0; i < sizeof(escapes) / sizeof(escapes[0]); i++) {
		size_t escape_size = strlen(escapes[i][0]);
		if (escape_size <= size && memcmp(text, escapes[i][0], escape_size) == 0) {
			*ret = escapes[i][1];
			return escape_size;
		}
	}
	if (size >= 2 && memcmp(text, "..", 2) == 0) {
		*ret = "::";
		return 2;
	}
	return 0;
}

static int append_legacy_part(struct orma_str part, struct orma_buf *buf)
{
	int r = 0;

	/* An identifier cannot begin with an escape, so rustc puts an underscore before it. */
	if (part.size > 1 && part.data[0] == '_' && part.data[1] == '$')
		part = (struct orma_str){part.data + 1, part.size - 1};
	for (size_t at = 0; r == 0 && at < part.size;) {
		const char *text = NULL;
		size_t size = read_escape(part.data + at, part.size - at, &text);

		if (size > 0)
			r = orma_base_buf_append_str(buf, text);
		else
			r = orma_base_buf_append(buf, part.data + at, size = 1);
		at += size;
	}
	return r;
}

/* A hash is "h" and 16 hexadecimal digits. */
static bool is_hash(struct orma_str part)
{
	if (part.size != 17 || part.data[0] != 'h')
		return false;
	for (size_t i = 1; i < part.size; i++)
		if (!((part.data[i] >= '0' && part.data[i] <= '9') ||
		      (part.data[i] >= 'a' && part.data[i] <= 'f')))
			return false;
	return true;
}

/* Reads a part such as "5hello". False if there is none. */
static bool next_part(const char **at, struct orma_str *ret)
{
	size_t size = 0, digits = 0;

	for (; (*at)[digits] >= '0' && (*at)[digits] <= '9' && digits < 5; digits++)
		size = size * 10 + (size_t)((*at)[digits] - '0');
	if (size == 0 || strnlen(*at + digits, size) < size)
		return false;
	*ret = (struct orma_str){*at + digits, size};
	*at += digits + size;
	return true;
}

int orma_demangle_rust_legacy(const char *name, struct orma_buf *buf)
{
	struct orma_str part = {NULL, 0};
	size_t count = 0, before = buf->size;
	int r = 0;

	if (strncmp(name, "_ZN", 3) != 0)
		return 0;
	const char *at = name + 3;
	while (next_part(&at, &part))
		count++;
	if (count < 2 || *at != 'E' || (at[1] && at[1] != '.') || !is_hash(part))
		return 0;
	at = name + 3;
	for (size_t i = 0; r == 0 && i + 1 < count; i++) {
		(void)next_part(&at, &part);
		if (i > 0)
			r = orma_base_buf_append_str(buf, "::");
		if (r == 0)
			r = append_legacy_part(part, buf);
	}
	if (r < 0)
		buf->size = before;
	return r < 0 ? r : 1;
}
