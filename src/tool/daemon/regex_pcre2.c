/* SPDX-License-Identifier: Apache-2.0
 * regex_pcre2.c - Perl-like regular expressions for the daemon, by PCRE2.
 *
 * The language is that of Perfetto's own configs; text is bytes, not UTF-8. A backtracking engine
 * can take exponential time, so each match has a limit on steps, depth and memory. PCRE2 itself
 * limits the cost of compiling (parentheses nest at most 250 deep, and the compiled form has at
 * most 64 KiB). PCRE2 counts steps from zero at each position where a match may begin, so a search
 * divides its steps among the positions, and the size of its texts is limited.
 *
 * Rejected: its JIT compiler (several times faster, but a daemon that reads hostile data should not
 * have memory that is writable and executable), and RE2 (never exponential, but C++).
 */
#include "tool/daemon/regex_pcre2.h"

#ifdef ORMA_HAVE_PCRE2
#define PCRE2_CODE_UNIT_WIDTH 8
#include <errno.h>
#include <pcre2.h>

#include "base/alloc.h"
#include "base/error_message.h"
#include "base/macros.h"

#define DEPTH_LIMIT         10000u
#define HEAP_LIMIT_KB       4096u
#define SEARCH_STEPS_MIN    100u /* at each position */
#define SEARCH_SUBJECT_MAX  (16u << 10)
#define PATTERN_PAREN_LIMIT 250u

struct pcre2_regex {
	pcre2_code *code;
	pcre2_match_data *data;
	pcre2_match_context *context;
	bool is_whole;
};

static void *allocate(size_t size, void *ctx)
{
	(void)ctx;
	return orma_base_alloc(size);
}

static void release_memory(void *memory, void *ctx)
{
	(void)ctx;
	orma_base_free(memory);
}

static void release(void *opaque)
{
	struct pcre2_regex *regex = opaque;

	pcre2_match_context_free(regex->context);
	pcre2_match_data_free(regex->data);
	pcre2_code_free(regex->code);
	orma_base_free(regex);
}

static int refuse(int error, size_t offset, struct orma_error *reterr)
{
	char text[128];

	if (error == PCRE2_ERROR_HEAP_FAILED)
		return -ENOMEM;
	if (pcre2_get_error_message(error, (PCRE2_UCHAR *)text, sizeof(text)) < 0)
		text[0] = '\0';
	return orma_base_error_set(reterr, -EINVAL, "not an expression: %s at byte %zu", text,
				   offset);
}

/* Allocates what matching needs besides the code. */
static int prepare(struct pcre2_regex *regex, pcre2_general_context *general)
{
	regex->data = pcre2_match_data_create_from_pattern(regex->code, general);
	regex->context = pcre2_match_context_create(general);
	if (!regex->data || !regex->context)
		return -ENOMEM;
	(void)pcre2_set_depth_limit(regex->context, DEPTH_LIMIT);
	(void)pcre2_set_heap_limit(regex->context, HEAP_LIMIT_KB);
	return 0;
}

static int compile(void *ctx, const char *pattern, size_t size, bool is_whole, void **ret,
		   struct orma_error *reterr)
{
	pcre2_general_context *general =
		pcre2_general_context_create(allocate, release_memory, NULL);
	struct pcre2_regex *regex = orma_base_zalloc(sizeof(*regex));
	pcre2_compile_context *compiling = general ? pcre2_compile_context_create(general) : NULL;
	uint32_t group_count = 0;
	int error = 0, r = -ENOMEM;
	size_t offset = 0;

	(void)ctx;
	if (general && regex && compiling) {
		(void)pcre2_set_parens_nest_limit(compiling, PATTERN_PAREN_LIMIT);
		regex->is_whole = is_whole;
		regex->code = pcre2_compile((PCRE2_SPTR)pattern, size, PCRE2_NEVER_UTF, &error,
					    &offset, compiling);
		r = regex->code ? prepare(regex, general) : refuse(error, offset, reterr);
	}
	pcre2_compile_context_free(compiling);
	pcre2_general_context_free(general);
	if (r < 0) {
		if (regex)
			release(regex);
		return r;
	}
	(void)pcre2_pattern_info(regex->code, PCRE2_INFO_CAPTURECOUNT, &group_count);
	*ret = regex;
	return (int)group_count;
}

static void copy_groups(const struct pcre2_regex *regex, struct orma_regex_group *groups,
			size_t group_max)
{
	const size_t *bounds = pcre2_get_ovector_pointer(regex->data);
	size_t count = pcre2_get_ovector_count(regex->data);

	for (size_t i = 0; i < group_max; i++) {
		bool took_part = i < count && bounds[2 * i] != PCRE2_UNSET &&
				 bounds[2 * i] <= bounds[2 * i + 1];

		groups[i].begin = took_part ? bounds[2 * i] : SIZE_MAX;
		groups[i].end = took_part ? bounds[2 * i + 1] : SIZE_MAX;
	}
}

static int match(void *opaque, const char *text, size_t size, size_t offset, uint32_t step_limit,
		 struct orma_regex_group *groups, size_t group_max)
{
	struct pcre2_regex *regex = opaque;
	uint32_t options = regex->is_whole ? PCRE2_ANCHORED | PCRE2_ENDANCHORED : 0;
	int r;

	if (!regex->is_whole) {
		if (size > SEARCH_SUBJECT_MAX)
			return -EMSGSIZE;
		step_limit = ORMA_MAX(step_limit / (uint32_t)(size - offset + 1), SEARCH_STEPS_MIN);
	}
	(void)pcre2_set_match_limit(regex->context, step_limit);
	r = pcre2_match(regex->code, (PCRE2_SPTR)text, size, offset, options, regex->data,
			regex->context);
	if (r == PCRE2_ERROR_NOMATCH)
		return 0;
	if (r == PCRE2_ERROR_NOMEMORY)
		return -ENOMEM;
	if (r < 0)
		return -EOVERFLOW;
	copy_groups(regex, groups, group_max);
	return 1;
}

static const struct orma_regex_ops pcre2_ops = {
	.struct_size = sizeof(pcre2_ops),
	.compile = compile,
	.match = match,
	.free = release,
};

const struct orma_regex_ops *const orma_tool_regex_ops = &pcre2_ops;
#else
const struct orma_regex_ops *const orma_tool_regex_ops = NULL;
#endif
