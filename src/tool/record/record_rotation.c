/* SPDX-License-Identifier: Apache-2.0
 * record_rotation.c - the option --rotate of `orma record`.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/str.h"
#include "tool/record/record_options.h"
#include "tool/tool.h"

#define ROTATION_FILES_MAX 100
#define FILE_KB_MIN        66

/* Takes "100mx5" or "100m x 5". */
int orma_record_take_rotation(struct orma_record_wish *wish, char *value)
{
	char *times = strchr(value, 'x');
	uint64_t kb = 0, count = 0;
	int r = times ? 0 : -EINVAL;

	if (r == 0) {
		char *end = times;
		*times++ = '\0';
		while (end > value && end[-1] == ' ')
			*--end = '\0';
		times += strspn(times, " ");
		r = orma_tool_parse_size_kb(value, &kb);
	}
	if (r == 0)
		r = orma_base_parse_u64(times, 10, &count);
	if (r || kb == 0 || kb > UINT64_MAX >> 10 || count < 2 || count > ROTATION_FILES_MAX)
		return orma_tool_usage_error(
			"--rotate takes a size and a number of files from 2 to "
			"%d, like 100mx5",
			ROTATION_FILES_MAX);
	/* The service knows the exact limit, to which the config adds. */
	if (kb < FILE_KB_MIN)
		return orma_tool_usage_error(
			"--rotate: a file needs at least %dk, because each one "
			"begins with the config and the state of its sources",
			FILE_KB_MIN);
	wish->rotation_kb = kb;
	wish->file_count = (uint32_t)count;
	return -1;
}

int orma_record_join_rotation(int argc, char **argv, char *joined, size_t size)
{
	for (int i = 1; i + 3 < argc && strcmp(argv[i], "--") != 0; i++) {
		if (strcmp(argv[i], "--rotate") != 0 || strcmp(argv[i + 2], "x") != 0)
			continue;
		int length = snprintf(joined, size, "%s x %s", argv[i + 1], argv[i + 3]);
		if (length < 0 || (size_t)length >= size)
			break; /* too long to be right: the option is refused */
		argv[i + 1] = joined;
		memmove(argv + i + 2, argv + i + 4, (size_t)(argc - i - 3) * sizeof(*argv));
		return argc - 2;
	}
	return argc;
}

int orma_record_name_rotation(struct orma_record_line *line, char absolute[PATH_MAX])
{
	struct orma_record_options *options = &line->options;
	const char *path = options->out_path ? options->out_path : ORMA_RECORD_DEFAULT_PATH;
	char folder[PATH_MAX] = "";

	if (line->wish.file_count == 0)
		return -1;
	if (strcmp(path, "-") == 0 || options->no_clobber)
		return orma_tool_usage_error("--rotate goes with neither --out - nor --no-clobber");
	if (*path != '/' && !getcwd(folder, sizeof(folder)))
		return orma_tool_fail("the working directory: %s", strerror(errno));
	int length = snprintf(absolute, PATH_MAX, "%s%s%s", folder, *folder ? "/" : "", path);
	if (length < 0 || (size_t)length >= PATH_MAX)
		return orma_tool_fail("%s: %s", path, strerror(ENAMETOOLONG));
	line->wish.output_path = absolute;
	line->wish.file_limit_kb = line->wish.rotation_kb;
	options->is_rotation = true;
	options->out_path = NULL;
	return -1;
}
