/* SPDX-License-Identifier: Apache-2.0
 * query_regex.c - PCRE2 with its compiler to machine code, and a limit on steps, because it backtracks.
 *
 * RE2 is what Perfetto's builds have, and never takes exponential time, but is a C++ library. Queries come from the
 * person at the keyboard, so machine code is no danger here, unlike in the daemon (tool/daemon/regex_pcre2.c).
 */
#include "sql/query_regex.h"

#include <errno.h>

#include "base/alloc.h"
#include "base/error_message.h"
#include "base/macros.h"

#ifdef ORMA_HAVE_PCRE2
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

enum { STEPS_MAX = 1000000, DEPTH_MAX = 10000, HEAP_MAX_KB = 4096, PARENTHESES_MAX = 250 };

struct orma_regex {
	pcre2_code *code;
	pcre2_match_data *data;
	pcre2_match_context *context;
};

static void *allocate(size_t size, void *ctx)
{
	(void)ctx;
	return orma_base_alloc(size);
}

static void release(void *memory, void *ctx)
{
	(void)ctx;
	orma_base_free(memory);
}

void orma_sql_regex_free(struct orma_regex *regex)
{
	if (!regex)
		return;
	pcre2_match_context_free(regex->context);
	pcre2_match_data_free(regex->data);
	pcre2_code_free(regex->code);
	orma_base_free(regex);
}

static int refuse(int error, size_t offset, struct orma_str pattern, struct orma_error *reterr)
{
	char text[128];
	if (error == PCRE2_ERROR_HEAP_FAILED)
		return -ENOMEM;
	if (pcre2_get_error_message(error, (PCRE2_UCHAR *)text, sizeof(text)) < 0)
		text[0] = '\0';
	return orma_base_error_set(
		reterr, -EINVAL, "not a regular expression: %.*s: %s at byte %zu",
		(int)ORMA_MIN(pattern.size, (size_t)200), pattern.data, text, offset);
}

static int compile(struct orma_regex *regex, struct orma_str pattern, bool ignores_case,
		   struct orma_error *reterr)
{
	pcre2_general_context *general = pcre2_general_context_create(allocate, release, NULL);
	pcre2_compile_context *compiling = general ? pcre2_compile_context_create(general) : NULL;
	int error = 0, r = -ENOMEM;
	size_t offset = 0;
	if (compiling) {
		(void)pcre2_set_parens_nest_limit(compiling, PARENTHESES_MAX);
		uint32_t options =
			PCRE2_UTF | PCRE2_MATCH_INVALID_UTF | (ignores_case ? PCRE2_CASELESS : 0);
		regex->code = pcre2_compile((PCRE2_SPTR)pattern.data, pattern.size, options, &error,
					    &offset, compiling);
		r = regex->code ? 0 : refuse(error, offset, pattern, reterr);
	}
	if (r == 0) {
		/* Without machine code, for want of memory or support, it is only slower. */
		(void)pcre2_jit_compile(regex->code, PCRE2_JIT_COMPLETE);
		regex->data = pcre2_match_data_create_from_pattern(regex->code, general);
		regex->context = pcre2_match_context_create(general);
		if (!regex->data || !regex->context)
			r = -ENOMEM;
	}
	pcre2_compile_context_free(compiling);
	pcre2_general_context_free(general);
	return r;
}

int orma_sql_regex_new(struct orma_str pattern, bool ignores_case, struct orma_regex **ret,
		       struct orma_error *reterr)
{
	struct orma_regex *regex = orma_base_zalloc(sizeof(*regex));
	int r = regex ? compile(regex, pattern, ignores_case, reterr) : -ENOMEM;
	if (r < 0) {
		orma_sql_regex_free(regex);
		return r;
	}
	(void)pcre2_set_match_limit(regex->context, STEPS_MAX);
	(void)pcre2_set_depth_limit(regex->context, DEPTH_MAX);
	(void)pcre2_set_heap_limit(regex->context, HEAP_MAX_KB);
	*ret = regex;
	return 0;
}

uint32_t orma_sql_regex_groups(const struct orma_regex *regex)
{
	uint32_t count = 0;
	(void)pcre2_pattern_info(regex->code, PCRE2_INFO_CAPTURECOUNT, &count);
	return count;
}

int orma_sql_regex_search(const struct orma_regex *regex, struct orma_str text, size_t offset,
			  struct orma_regex_span *spans, size_t span_count)
{
	int r = pcre2_match(regex->code, (PCRE2_SPTR)text.data, text.size, offset, 0, regex->data,
			    regex->context);
	if (r == PCRE2_ERROR_NOMATCH)
		return 0;
	if (r == PCRE2_ERROR_NOMEMORY)
		return -ENOMEM;
	if (r < 0)
		return -EOVERFLOW;
	const size_t *bounds = pcre2_get_ovector_pointer(regex->data);
	size_t count = pcre2_get_ovector_count(regex->data);
	for (size_t i = 0; i < span_count; i++) {
		bool took_part = i < count && bounds[2 * i] != PCRE2_UNSET &&
				 bounds[2 * i] <= bounds[2 * i + 1];
		spans[i].begin = took_part ? bounds[2 * i] : SIZE_MAX;
		spans[i].end = took_part ? bounds[2 * i + 1] : SIZE_MAX;
	}
	return 1;
}
#else
void orma_sql_regex_free(struct orma_regex *regex)
{
	(void)regex;
}

int orma_sql_regex_new(struct orma_str pattern, bool ignores_case, struct orma_regex **ret,
		       struct orma_error *reterr)
{
	(void)pattern;
	(void)ignores_case;
	(void)ret;
	return orma_base_error_set(reterr, -ENOTSUP,
				   "regular expressions need PCRE2, and orma is built without it");
}

uint32_t orma_sql_regex_groups(const struct orma_regex *regex)
{
	(void)regex;
	return 0;
}

int orma_sql_regex_search(const struct orma_regex *regex, struct orma_str text, size_t offset,
			  struct orma_regex_span *spans, size_t span_count)
{
	(void)regex, (void)text, (void)offset, (void)spans, (void)span_count;
	return 0;
}
#endif
