/* SPDX-License-Identifier: Apache-2.0
 * printk_formats.c - parses printk_formats.
 *
 * Owns a copy of the text, in which each string's closing quote is replaced by a NUL, and a map from addresses to the
 * beginnings of the strings. Invariant: every value of the map points to a string that ends within the copy. Escapes
 * stay as the kernel prints them. Rejected: an allocation per string; the file has hundreds.
 */
#include "probes/ftrace/printk_formats.h"

#include <errno.h>

#include "base/alloc.h"
#include "base/macros.h"
#include "probes/probe_text.h"

/* Returns the text between the quotes, or an empty string. */
static struct orma_str unquote(struct orma_str text)
{
	text = orma_probes_text_trim(text);
	if (text.size < 2 || text.data[0] != '"' || text.data[text.size - 1] != '"')
		return (struct orma_str){0};
	return (struct orma_str){text.data + 1, text.size - 2};
}

static int add_line(struct orma_printk_formats *formats, struct orma_str line)
{
	struct orma_str address_text;
	uint64_t address;

	if (!orma_probes_text_until(&line, ':', &address_text) ||
	    !orma_probes_text_hex64(orma_probes_text_trim(address_text), &address))
		return 0;
	struct orma_str string = unquote(line);
	if (!string.data || address == 0)
		return 0;
	size_t size = ORMA_MIN(string.size, (size_t)ORMA_PRINTK_FORMAT_BYTES_MAX);
	char *begin = formats->text + (string.data - formats->text);
	begin[size] = '\0';
	return orma_base_map_put(&formats->strings, address, begin);
}

int orma_printk_formats_parse(struct orma_str text, struct orma_printk_formats *ret)
{
	struct orma_str line;

	*ret = (struct orma_printk_formats){.text = orma_base_memdup(text.data, text.size)};
	if (text.size == 0)
		return 0;
	if (!ret->text)
		return -ENOMEM;
	struct orma_str rest = {ret->text, text.size};
	while (orma_probes_text_line(&rest, &line)) {
		if (add_line(ret, line) < 0) {
			orma_printk_formats_done(ret);
			return -ENOMEM;
		}
	}
	return 0;
}

void orma_printk_formats_done(struct orma_printk_formats *formats)
{
	orma_base_map_done(&formats->strings);
	orma_base_free(formats->text);
	*formats = (struct orma_printk_formats){0};
}

struct orma_str orma_printk_formats_find(const struct orma_printk_formats *formats,
					 uint64_t address)
{
	const char *string = orma_base_map_get(&formats->strings, address);

	return orma_base_str(string);
}
