/* SPDX-License-Identifier: Apache-2.0
 * regex_posix.c - POSIX extended expressions, for a service without another engine.
 *
 * The C library's engine has no limits, so they are enforced before it runs. It expands bounded
 * repeats and backtracks over references: the product of all bounds is limited, and references are
 * refused. Texts are limited in length. Configs are written for Perl-like engines; syntax that
 * means something else here, or nothing at all ("\d", "(?:", lazy repeats, escapes in brackets), is
 * refused as well: a rule that silently matches something else would reveal what it should hide.
 * Rejected: translating that syntax (half an engine), an engine of our own (a whole one).
 *
 * Whole matches are compiled as "^(" pattern ")$", so their groups are counted from 1 there.
 */
#include <errno.h>
#include <limits.h>
#include <regex.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error_message.h"
#include "base/macros.h"
#include "service/filter/regex.h"
#include "service/service_limits.h"

struct posix_regex {
	regex_t compiled;
	bool is_whole;
};

static bool is_alnum(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* *at is after "["; moves it past the "]". -EINVAL when other engines read the bracket
 * differently. */
static int skip_bracket(const char **at)
{
	const char *end = *at;

	if (*end == '^')
		end++;
	if (*end == ']')
		end++;
	for (; *end && *end != ']'; end++) {
		if (*end == '\\')
			return -EINVAL;
		if (*end == '[' && (end[1] == ':' || end[1] == '.' || end[1] == '=')) {
			char kind = end[1];

			for (end += 2; *end && !(*end == kind && end[1] == ']'); end++)
				;
			if (!*end)
				return -EINVAL;
			end++;
		}
	}
	*at = *end ? end + 1 : end;
	return 0;
}

/* *at is after "{"; multiplies the product by the largest bound. -EINVAL when it is too large. */
static int take_bounds(const char **at, uint64_t *product)
{
	uint64_t bound = 0, largest = 1;

	for (; **at && **at != '}'; (*at)++) {
		bound = **at >= '0' && **at <= '9' ? bound * 10 + (uint64_t)(**at - '0') : 0;
		largest = ORMA_MAX(largest, bound);
		if (largest > ORMA_SERVICE_REGEX_REPEAT_MAX)
			return -EINVAL;
	}
	if (**at)
		(*at)++;
	*product *= largest;
	return *product > ORMA_SERVICE_REGEX_REPEAT_MAX ? -EINVAL : 0;
}

static int check_pattern(const char *at, struct orma_error *reterr)
{
	uint64_t product = 1;
	bool follows_repeat = false;
	unsigned depth = 0;

	while (*at) {
		char c = *at++;
		bool is_repeat = c == '*' || c == '+' || c == '?' || c == '{';

		if (is_repeat && follows_repeat)
			return orma_base_error_set(reterr, -EINVAL,
						   "repeats of repeats are not supported here");
		if (c == '(' && *at == '?')
			return orma_base_error_set(reterr, -EINVAL,
						   "groups that begin with \"(?\" are not "
						   "supported here");
		if (c == ')' && depth == 0)
			return orma_base_error_set(reterr, -EINVAL, "a \")\" too many");
		if (c == '(')
			depth++;
		else if (c == ')')
			depth--;
		if (c == '\\' && is_alnum(*at))
			return orma_base_error_set(reterr, -EINVAL,
						   "\"\\%c\" is not supported here", *at);
		if (c == '\\' && *at)
			at++;
		if (c == '[' && skip_bracket(&at) < 0)
			return orma_base_error_set(reterr, -EINVAL,
						   "escapes in brackets are not supported here");
		if (c == '{' && take_bounds(&at, &product) < 0)
			return orma_base_error_set(reterr, -EINVAL, "repeats too often");
		follows_repeat = is_repeat;
	}
	return 0;
}

static int compile(void *ctx, const char *pattern, size_t size, bool is_whole, void **ret,
		   struct orma_error *reterr)
{
	char text[ORMA_SERVICE_REGEX_POSIX_BYTES_MAX + 8];
	struct posix_regex *regex;
	int r;

	(void)ctx;
	if (size > ORMA_SERVICE_REGEX_POSIX_BYTES_MAX)
		return orma_base_error_set(reterr, -EINVAL, "longer than %u bytes",
					   ORMA_SERVICE_REGEX_POSIX_BYTES_MAX);
	if (size && memchr(pattern, '\0', size))
		return orma_base_error_set(reterr, -EINVAL, "holds a NUL");
	snprintf(text, sizeof(text), "%.*s", (int)size, pattern);
	r = check_pattern(text, reterr);
	if (r < 0)
		return r;
	if (is_whole)
		snprintf(text, sizeof(text), "^(%.*s)$", (int)size, pattern);
	regex = orma_base_zalloc(sizeof(*regex));
	if (!regex)
		return -ENOMEM;
	regex->is_whole = is_whole;
	r = regcomp(&regex->compiled, text, REG_EXTENDED);
	if (r == 0) {
		*ret = regex;
		return (int)regex->compiled.re_nsub - is_whole;
	}
	orma_base_free(regex);
	return r == REG_ESPACE ? -ENOMEM
			       : orma_base_error_set(reterr, -EINVAL, "not a POSIX expression");
}

#ifdef REG_STARTEND
/* `text` contains no NUL and need not end with one; results are offsets from its begin. */
static int search(const regex_t *compiled, const char *text, size_t size, size_t offset,
		  regmatch_t *found, size_t count)
{
	found[0].rm_so = (regoff_t)offset;
	found[0].rm_eo = (regoff_t)size;
	return regexec(compiled, text, count, found, REG_STARTEND);
}
#else
static int search(const regex_t *compiled, const char *text, size_t size, size_t offset,
		  regmatch_t *found, size_t count)
{
	char copy[ORMA_SERVICE_REGEX_POSIX_TEXT_MAX + 1];
	int r;

	snprintf(copy, sizeof(copy), "%.*s", (int)size, text);
	r = regexec(compiled, copy + offset, count, found, offset ? REG_NOTBOL : 0);
	for (size_t i = 0; r == 0 && i < count; i++) {
		if (found[i].rm_so < 0)
			continue;
		found[i].rm_so += (regoff_t)offset;
		found[i].rm_eo += (regoff_t)offset;
	}
	return r;
}
#endif

static int match(void *opaque, const char *text, size_t size, size_t offset, uint32_t step_limit,
		 struct orma_regex_group *groups, size_t group_max)
{
	regmatch_t found[ORMA_SERVICE_REGEX_GROUPS_MAX + 2];
	struct posix_regex *regex = opaque;
	size_t count =
		group_max ? ORMA_MIN(group_max + regex->is_whole, ORMA_ARRAY_SIZE(found)) : 0;
	int r;

	(void)step_limit;
	/* Neither "." nor a bracket matches a NUL. */
	if (size > ORMA_SERVICE_REGEX_POSIX_TEXT_MAX || memchr(text, '\0', size))
		return -EMSGSIZE;
	r = search(&regex->compiled, text, size, offset, found, count);
	if (r != 0)
		return r == REG_NOMATCH ? 0 : -ENOMEM;
	for (size_t i = 0; i < group_max; i++) {
		size_t from = i + regex->is_whole;
		bool took_part =
			from < count && from <= regex->compiled.re_nsub && found[from].rm_so >= 0;

		groups[i].begin = took_part ? (size_t)found[from].rm_so : SIZE_MAX;
		groups[i].end = took_part ? (size_t)found[from].rm_eo : SIZE_MAX;
	}
	return 1;
}

static void release(void *opaque)
{
	struct posix_regex *regex = opaque;

	regfree(&regex->compiled);
	orma_base_free(regex);
}

const struct orma_regex_ops orma_service_regex_ops_posix = {
	.struct_size = sizeof(struct orma_regex_ops),
	.compile = compile,
	.match = match,
	.free = release,
};
