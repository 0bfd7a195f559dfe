/* SPDX-License-Identifier: Apache-2.0
 * http_parse.c - reads the head of a request strictly.
 *
 * Servers that read a sloppy head in different ways have been tricked into reading one request as two. So what RFC 9112
 * lets a server repair is refused here: a line that ends without a carriage return, a field on several lines, a blank before
 * a colon, a field that comes twice. Browsers and HTTP libraries send none of these. A body has the length that
 * Content-Length says. Chunked bodies are refused too, because the page sends none.
 *
 * The head is read again from its beginning when more bytes of it have come. It has 8 KB at most and comes in one piece
 * nearly always, so that a state machine that stops anywhere would be more code and no faster.
 */
#include "view/http_parse.h"

#include <errno.h>
#include <strings.h>

enum {
	STATUS_BAD_REQUEST = 400,
	STATUS_LENGTH_REQUIRED = 411,
	STATUS_CONTENT_TOO_LARGE = 413,
	STATUS_EXPECTATION_FAILED = 417,
	STATUS_HEAD_TOO_LARGE = 431,
	STATUS_VERSION_NOT_SUPPORTED = 505,
	LENGTH_MAX_DIGITS = 18,
};

static const char *const field_names[ORMA_HTTP_FIELD_COUNT] = {
	[ORMA_HTTP_CONNECTION] = "Connection",
	[ORMA_HTTP_CONTENT_LENGTH] = "Content-Length",
	[ORMA_HTTP_EXPECT] = "Expect",
	[ORMA_HTTP_GENERATION] = "X-Orma-Generation",
	[ORMA_HTTP_HOST] = "Host",
	[ORMA_HTTP_ORIGIN] = "Origin",
	[ORMA_HTTP_SEC_FETCH_SITE] = "Sec-Fetch-Site",
	[ORMA_HTTP_TOKEN] = "X-Orma-Token",
	[ORMA_HTTP_TRANSFER_ENCODING] = "Transfer-Encoding",
};

static bool is_equal_ignoring_case(struct orma_str text, const char *name)
{
	return text.size == strlen(name) && strncasecmp(text.data, name, text.size) == 0;
}

/* A character of methods and names of fields. */
static bool is_token_character(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       (c != '\0' && strchr("!#$%&'*+-.^_`|~", c));
}

static bool is_token(struct orma_str text)
{
	for (size_t i = 0; i < text.size; i++)
		if (!is_token_character(text.data[i]))
			return false;
	return text.size > 0;
}

/* Takes the text before the separator, and the separator. False when there is none. */
static bool take_until(struct orma_str *rest, char separator, struct orma_str *ret)
{
	const char *end = rest->size > 0 ? memchr(rest->data, separator, rest->size) : NULL;
	if (!end)
		return false;
	*ret = (struct orma_str){rest->data, (size_t)(end - rest->data)};
	*rest = (struct orma_str){end + 1, rest->size - ret->size - 1};
	return true;
}

/* Takes a line without its end. False when it ends in another way than with CR and LF. */
static bool take_line(struct orma_str *rest, struct orma_str *ret)
{
	if (!take_until(rest, '\n', ret) || ret->size == 0 || ret->data[ret->size - 1] != '\r')
		return false;
	ret->size--;
	return true;
}

/* Reads the first line. Returns 0 or the status of the refusal. */
static int read_request_line(struct orma_str line, struct orma_http_request *ret)
{
	struct orma_str method, target;
	if (!take_until(&line, ' ', &method) || !take_until(&line, ' ', &target) ||
	    !is_token(method))
		return STATUS_BAD_REQUEST;
	for (size_t i = 0; i < target.size; i++)
		if (target.data[i] <= ' ' || target.data[i] > '~')
			return STATUS_BAD_REQUEST;
	/* `OPTIONS *` is not of use here, and only proxies are sent whole URLs. */
	if (target.size == 0 || target.data[0] != '/')
		return STATUS_BAD_REQUEST;
	ret->keeps_alive = orma_base_str_is(line, "HTTP/1.1");
	if (!ret->keeps_alive && !orma_base_str_is(line, "HTTP/1.0"))
		return line.size == 8 && memcmp(line.data, "HTTP/", 5) == 0
			       ? STATUS_VERSION_NOT_SUPPORTED
			       : STATUS_BAD_REQUEST;
	ret->method = orma_base_str_is(method, "GET")    ? ORMA_HTTP_GET
		      : orma_base_str_is(method, "POST") ? ORMA_HTTP_POST
							 : ORMA_HTTP_OTHER;
	ret->path = target;
	ret->query = (struct orma_str){target.data + target.size, 0};
	struct orma_str rest = target;
	if (take_until(&rest, '?', &ret->path))
		ret->query = rest;
	return 0;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

/* Reads "Name: value". False when it is malformed, or is a field that came before. */
static bool read_field(struct orma_str line, struct orma_http_request *ret)
{
	struct orma_str name;
	if (!take_until(&line, ':', &name) || !is_token(name))
		return false;
	while (line.size > 0 && is_blank(line.data[0]))
		line = (struct orma_str){line.data + 1, line.size - 1};
	while (line.size > 0 && is_blank(line.data[line.size - 1]))
		line.size--;
	for (size_t i = 0; i < line.size; i++)
		if (((unsigned char)line.data[i] < ' ' && line.data[i] != '\t') ||
		    line.data[i] == 0x7f)
			return false;
	for (size_t i = 0; i < ORMA_HTTP_FIELD_COUNT; i++) {
		if (!is_equal_ignoring_case(name, field_names[i]))
			continue;
		if (ret->fields[i].data)
			return false;
		ret->fields[i] = line;
	}
	return true;
}

/* Reads the length of the body. Returns 0 or the status of the refusal. */
static int read_length(struct orma_http_request *ret)
{
	struct orma_str length = ret->fields[ORMA_HTTP_CONTENT_LENGTH];
	uint64_t bytes = 0;
	if (ret->fields[ORMA_HTTP_TRANSFER_ENCODING].data)
		return STATUS_LENGTH_REQUIRED;
	if (!length.data)
		return ret->method == ORMA_HTTP_POST ? STATUS_LENGTH_REQUIRED : 0;
	if (length.size == 0)
		return STATUS_BAD_REQUEST;
	for (size_t i = 0; i < length.size; i++) {
		if (length.data[i] < '0' || length.data[i] > '9')
			return STATUS_BAD_REQUEST;
		if (i >= LENGTH_MAX_DIGITS)
			return STATUS_CONTENT_TOO_LARGE;
		bytes = bytes * 10 + (uint64_t)(length.data[i] - '0');
	}
	ret->body_bytes = (size_t)bytes;
	return bytes > ORMA_HTTP_BODY_MAX_BYTES ? STATUS_CONTENT_TOO_LARGE : 0;
}

/* Reads what the fields mean together. Returns 0 or the status of the refusal. */
static int read_meaning(struct orma_http_request *ret)
{
	struct orma_str connection = ret->fields[ORMA_HTTP_CONNECTION];
	if (ret->keeps_alive && !ret->fields[ORMA_HTTP_HOST].data)
		return STATUS_BAD_REQUEST;
	/* A client of HTTP/1.0 that says keep-alive is answered, and the connection closed, which it has to expect. */
	if (connection.data && is_equal_ignoring_case(connection, "close"))
		ret->keeps_alive = false;
	if (ret->fields[ORMA_HTTP_EXPECT].data)
		return STATUS_EXPECTATION_FAILED;
	return read_length(ret);
}

/* Returns the size of the head with the empty line that ends it, or 0 when that has not come. */
static size_t find_head(struct orma_str input)
{
	static const char end[] = "\r\n\r\n";
	const char *found =
		input.size > 0 ? memmem(input.data, input.size, end, sizeof(end) - 1) : NULL;
	return found ? (size_t)(found - input.data) + sizeof(end) - 1 : 0;
}

static int refuse(int status, int *ret_status)
{
	*ret_status = status;
	return -EBADMSG;
}

int orma_http_parse(struct orma_str input, struct orma_http_request *ret, int *ret_status)
{
	struct orma_http_request request = {.head_bytes = find_head(input)};
	struct orma_str line;
	if (request.head_bytes > ORMA_HTTP_HEAD_MAX_BYTES ||
	    (request.head_bytes == 0 && input.size >= ORMA_HTTP_HEAD_MAX_BYTES))
		return refuse(STATUS_HEAD_TOO_LARGE, ret_status);
	/* A browser that was told https: begins with a byte that no method has. */
	if (input.size > 0 && !is_token_character(input.data[0]))
		return refuse(STATUS_BAD_REQUEST, ret_status);
	if (request.head_bytes == 0)
		return -ENODATA;
	struct orma_str rest = {input.data, request.head_bytes};
	if (!take_line(&rest, &line))
		return refuse(STATUS_BAD_REQUEST, ret_status);
	int status = read_request_line(line, &request);
	if (status)
		return refuse(status, ret_status);
	for (;;) {
		if (!take_line(&rest, &line))
			return refuse(STATUS_BAD_REQUEST, ret_status);
		if (line.size == 0)
			break;
		if (!read_field(line, &request))
			return refuse(STATUS_BAD_REQUEST, ret_status);
	}
	status = read_meaning(&request);
	if (status)
		return refuse(status, ret_status);
	*ret = request;
	return 0;
}
