/* SPDX-License-Identifier: Apache-2.0
 * check_file.c - splits a file of checks at the lines that name one.
 */
#include "tool/ask/check_file.h"

#include <errno.h>
#include <strings.h>

#include "base/alloc.h"

void orma_check_file_done(struct orma_check_file *file)
{
	orma_base_buf_done(&file->text);
	orma_base_free(file->checks);
}

static struct orma_str skip_spaces(struct orma_str text)
{
	while (text.size > 0 && (*text.data == ' ' || *text.data == '\t'))
		text = (struct orma_str){text.data + 1, text.size - 1};
	while (text.size > 0 &&
	       (text.data[text.size - 1] == ' ' || text.data[text.size - 1] == '\t' ||
		text.data[text.size - 1] == '\r'))
		text.size--;
	return text;
}

/* True for a line like "-- check: NAME". */
static bool is_name(struct orma_str line, struct orma_str *ret)
{
	static const char word[] = "check:";
	const size_t size = sizeof(word) - 1;
	line = skip_spaces(line);
	if (line.size < 2 || memcmp(line.data, "--", 2) != 0)
		return false;
	line = skip_spaces((struct orma_str){line.data + 2, line.size - 2});
	if (line.size < size || strncasecmp(line.data, word, size) != 0)
		return false;
	*ret = skip_spaces((struct orma_str){line.data + size, line.size - size});
	return true;
}

static int add_check(struct orma_check_file *file, struct orma_str name, const char *sql,
		     unsigned line)
{
	struct orma_check *checks =
		orma_base_realloc_array(file->checks, file->check_count + 1, sizeof(*checks));
	if (!checks)
		return -ENOMEM;
	file->checks = checks;
	checks[file->check_count++] = (struct orma_check){name, {sql, 0}, line};
	return 0;
}

int orma_check_file_parse(struct orma_check_file *file)
{
	struct orma_str rest = {(const char *)file->text.data, file->text.size}, name;
	file->preamble = (struct orma_str){rest.data, 0};
	for (unsigned number = 1; rest.size > 0; number++) {
		const char *end = memchr(rest.data, '\n', rest.size);
		size_t size = end ? (size_t)(end - rest.data) + 1 : rest.size;
		if (is_name((struct orma_str){rest.data, size - (end != NULL)}, &name)) {
			if (add_check(file, name, rest.data + size, number + 1) < 0)
				return -ENOMEM;
		} else if (file->check_count == 0) {
			file->preamble.size += size;
		} else {
			file->checks[file->check_count - 1].sql.size += size;
		}
		rest = (struct orma_str){rest.data + size, rest.size - size};
	}
	return 0;
}
