/* SPDX-License-Identifier: Apache-2.0
 * record_options.c - the options that two command lines share, and how both begin to record.
 *
 * The commands differ in how they report a mistake (exit status, hint at --help) and in all other
 * options. So each has its own table. Rejected: one table for both (each would have to refuse the
 * other's options again).
 */
#include "tool/record/record_options.h"

#include <errno.h>
#include <string.h>

#include "base/error_message.h"
#include "tool/tool.h"

#define BACKGROUND_WAIT_MS 30000

static int take_duration(const char *value, uint32_t *ret_ms, struct orma_error *reterr)
{
	uint32_t ms = 0;
	int r = orma_tool_parse_duration_ms(value, &ms);

	if (r == -ERANGE)
		return orma_base_error_set(
			reterr, r,
			"\"%s\" is too long; the limit is 1193h, and 168h (7 days) "
			"with orma's service",
			value);
	if (r < 0 || ms == 0)
		return orma_base_error_set(reterr, -EINVAL,
					   "\"%s\" is not a duration; try 500ms, 10s, 2m or 1h",
					   value);
	*ret_ms = ms;
	return 1;
}

static int take_size(const char *value, const char *what, uint64_t max_kb, uint64_t *ret_kb,
		     struct orma_error *reterr)
{
	uint64_t kb = 0;
	int r = orma_tool_parse_size_kb(value, &kb);

	if (r == -ERANGE || kb > max_kb)
		return orma_base_error_set(reterr, -ERANGE,
					   "\"%s\" is too large for a %s; the "
					   "limit is %llu kb",
					   value, what, (unsigned long long)max_kb);
	if (r < 0 || kb == 0)
		return orma_base_error_set(reterr, -EINVAL,
					   "\"%s\" is not a %s size; try 4096k, 32mb or 1g", value,
					   what);
	*ret_kb = kb;
	return 1;
}

int orma_record_take_option(struct orma_record_line *line, int option, const char *value,
			    struct orma_error *reterr)
{
	switch (option) {
	case 'c':
		line->wish.config_path = value;
		return 1;
	case 'o':
		line->options.out_path = value;
		return 1;
	case 't':
		return take_duration(value, &line->wish.duration_ms, reterr);
	case 'b':
		/* The largest buffer that a service makes. */
		return take_size(value, "buffer", (UINT64_C(4) << 20) - 4, &line->wish.buffer_kb,
				 reterr);
	case 's':
		return take_size(value, "file", UINT64_MAX >> 10, &line->wish.file_limit_kb,
				 reterr);
	case 'D':
		line->options.background_wait_ms = BACKGROUND_WAIT_MS;
		line->options.in_background = true;
		return 1;
	case 'd':
		line->options.in_background = true;
		return 1;
	case ORMA_OPTION_TXT:
		line->wish.format = ORMA_CONFIG_TEXT;
		return 1;
	case ORMA_OPTION_NO_CLOBBER:
		line->options.no_clobber = true;
		return 1;
	default:
		return 0;
	}
}

int orma_record_start(struct orma_record_line *line, struct orma_record_config *config)
{
	const char *out_path = line->options.out_path;
	int status;

	if (line->options.in_background && !line->options.mixes_output && out_path &&
	    strcmp(out_path, "-") == 0)
		return orma_tool_fail("in the background the trace needs a file: standard output "
				      "gets the process id");
	line->options.is_quiet |= line->options.in_background;
	line->options.config = config;
	status = orma_record_run(&line->options);
	line->options.config = NULL;
	return status;
}
