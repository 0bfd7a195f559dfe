/* SPDX-License-Identifier: Apache-2.0
 * json_request.c - a strict reader: what is not JSON by RFC 8259, or not flat, is refused.
 *
 * The whole body is checked once, in orma_json_request_init(). So a function that takes a value never meets one that is
 * malformed, and a mistake in the page shows at once. trace/json_scan.h, which reads traces, lets commas be missing and
 * strings hold any byte; only its decoding of what was checked here is used.
 */
#include "view/json_request.h"

#include <errno.h>

#include "base/utf8.h"
#include "trace/json_scan.h"

struct reader {
	const char *at, *end;
};

static void skip_blanks(struct reader *reader)
{
	while (reader->at < reader->end && *reader->at != '\0' && strchr(" \t\n\r", *reader->at))
		reader->at++;
}

/* Takes the sign, with blanks before it and behind. */
static bool take(struct reader *reader, char sign)
{
	skip_blanks(reader);
	if (reader->at == reader->end || *reader->at != sign)
		return false;
	reader->at++;
	skip_blanks(reader);
	return true;
}

static bool take_word(struct reader *reader, const char *word)
{
	size_t size = strlen(word);
	if ((size_t)(reader->end - reader->at) < size || memcmp(reader->at, word, size) != 0)
		return false;
	reader->at += size;
	return true;
}

static size_t take_digits(struct reader *reader)
{
	const char *begin = reader->at;
	while (reader->at < reader->end && (unsigned)(*reader->at - '0') <= 9)
		reader->at++;
	return (size_t)(reader->at - begin);
}

static bool take_one_of(struct reader *reader, char a, char b)
{
	if (reader->at == reader->end || (*reader->at != a && *reader->at != b))
		return false;
	reader->at++;
	return true;
}

static bool read_double(struct orma_str number, double *ret)
{
	struct orma_json_value value = {.kind = ORMA_JSON_STRING, .text = number};
	return orma_json_value_double(&value, ret);
}

/* Takes a number that a double can hold. */
static bool take_number(struct reader *reader, struct orma_str *ret)
{
	const char *begin = reader->at;
	double number;
	take_one_of(reader, '-', '-');
	const char *first = reader->at;
	size_t digits = take_digits(reader);
	if (digits == 0 || (digits > 1 && *first == '0'))
		return false;
	if (take_one_of(reader, '.', '.') && take_digits(reader) == 0)
		return false;
	if (take_one_of(reader, 'e', 'E')) {
		take_one_of(reader, '+', '-');
		if (take_digits(reader) == 0)
			return false;
	}
	*ret = (struct orma_str){begin, (size_t)(reader->at - begin)};
	return read_double(*ret, &number);
}

/* Takes what follows a backslash. */
static bool take_escape(struct reader *reader)
{
	if (reader->at == reader->end || *reader->at == '\0')
		return false;
	if (*reader->at != 'u')
		return strchr("\"\\/bfnrt", *reader->at++) != NULL;
	reader->at++;
	for (int i = 0; i < 4; i++, reader->at++)
		if (reader->at == reader->end || *reader->at == '\0' ||
		    !strchr("0123456789abcdefABCDEF", *reader->at))
			return false;
	return true;
}

/* Takes a string and decodes it. 0, -EINVAL or -ENOMEM. */
static int take_string(struct reader *reader, struct orma_arena *arena, struct orma_str *ret)
{
	struct orma_json_value value = {.kind = ORMA_JSON_STRING};
	if (!take_one_of(reader, '"', '"'))
		return -EINVAL;
	const char *begin = reader->at;
	while (reader->at < reader->end && *reader->at != '"') {
		struct orma_str rest = {reader->at, (size_t)(reader->end - reader->at)};
		size_t size = orma_base_utf8_size(rest);
		if (size == 0 || (unsigned char)*reader->at < 0x20)
			return -EINVAL;
		bool is_escape = *reader->at == '\\';
		reader->at += size;
		value.has_escapes = value.has_escapes || is_escape;
		if (is_escape && !take_escape(reader))
			return -EINVAL;
	}
	value.text = (struct orma_str){begin, (size_t)(reader->at - begin)};
	if (!take_one_of(reader, '"', '"'))
		return -EINVAL;
	*ret = orma_json_unescape(&value, arena);
	return ret->data ? 0 : -ENOMEM;
}

static bool take_numbers(struct reader *reader, struct orma_str *ret)
{
	struct orma_str number;
	if (!take(reader, '['))
		return false;
	const char *begin = reader->at;
	bool is_empty = reader->at < reader->end && *reader->at == ']';
	if (!is_empty)
		do {
			if (!take_number(reader, &number))
				return false;
		} while (take(reader, ','));
	*ret = (struct orma_str){begin, (size_t)(reader->at - begin)};
	return take_one_of(reader, ']', ']');
}

static int take_value(struct reader *reader, struct orma_arena *arena,
		      struct orma_json_request_field *ret)
{
	const char *begin = reader->at;
	if (reader->at == reader->end)
		return -EINVAL;
	switch (*reader->at) {
	case '"':
		ret->kind = ORMA_JSON_REQUEST_STRING;
		return take_string(reader, arena, &ret->value);
	case '[':
		ret->kind = ORMA_JSON_REQUEST_NUMBERS;
		return take_numbers(reader, &ret->value) ? 0 : -EINVAL;
	case 't':
	case 'f':
	case 'n':
		ret->kind = ORMA_JSON_REQUEST_WORD;
		if (!take_word(reader, "true") && !take_word(reader, "false") &&
		    !take_word(reader, "null"))
			return -EINVAL;
		ret->value = (struct orma_str){begin, (size_t)(reader->at - begin)};
		return 0;
	default:
		ret->kind = ORMA_JSON_REQUEST_NUMBER;
		return take_number(reader, &ret->value) ? 0 : -EINVAL;
	}
}

static const struct orma_json_request_field *find(const struct orma_json_request *request,
						  struct orma_str key)
{
	for (size_t i = 0; i < request->count; i++)
		if (orma_base_str_is_equal(request->fields[i].key, key))
			return &request->fields[i];
	return NULL;
}

static int take_field(struct reader *reader, struct orma_json_request *request)
{
	struct orma_json_request_field field = {.kind = ORMA_JSON_REQUEST_WORD};
	int r = request->count < ORMA_JSON_REQUEST_FIELDS_MAX
			? take_string(reader, &request->arena, &field.key)
			: -EINVAL;
	if (r == 0 && (!take(reader, ':') || find(request, field.key)))
		r = -EINVAL;
	if (r == 0)
		r = take_value(reader, &request->arena, &field);
	if (r == 0)
		request->fields[request->count++] = field;
	return r;
}

int orma_json_request_init(struct orma_json_request *request, struct orma_str body)
{
	struct reader reader = {body.data, body.data + body.size};
	*request = (struct orma_json_request){0};
	int r = take(&reader, '{') ? 0 : -EINVAL;
	bool is_empty = r == 0 && reader.at < reader.end && *reader.at == '}';
	if (r == 0 && !is_empty)
		do {
			r = take_field(&reader, request);
		} while (r == 0 && take(&reader, ','));
	if (r == 0 && (!take(&reader, '}') || reader.at != reader.end))
		r = -EINVAL;
	if (r < 0)
		orma_json_request_done(request);
	return r;
}

void orma_json_request_done(struct orma_json_request *request)
{
	orma_base_arena_done(&request->arena);
	request->count = 0;
}

static const struct orma_json_request_field *find_kind(const struct orma_json_request *request,
						       const char *key,
						       enum orma_json_request_kind kind)
{
	const struct orma_json_request_field *field = find(request, orma_base_str(key));
	return field && field->kind == kind ? field : NULL;
}

bool orma_json_request_string(const struct orma_json_request *request, const char *key,
			      struct orma_str *ret)
{
	const struct orma_json_request_field *field =
		find_kind(request, key, ORMA_JSON_REQUEST_STRING);
	if (field)
		*ret = field->value;
	return field != NULL;
}

bool orma_json_request_number(const struct orma_json_request *request, const char *key, double *ret)
{
	const struct orma_json_request_field *field =
		find_kind(request, key, ORMA_JSON_REQUEST_NUMBER);
	return field && read_double(field->value, ret);
}

size_t orma_json_request_numbers(const struct orma_json_request *request, const char *key,
				 double *ret, size_t max)
{
	const struct orma_json_request_field *field =
		find_kind(request, key, ORMA_JSON_REQUEST_NUMBERS);
	size_t count = 0;
	if (!field)
		return 0;
	struct reader reader = {field->value.data, field->value.data + field->value.size};
	struct orma_str number;
	double value;
	/* It was checked, so that it ends only at its end. */
	while (take_number(&reader, &number)) {
		if (count < max && read_double(number, &value))
			ret[count] = value;
		count++;
		take(&reader, ',');
	}
	return count;
}
