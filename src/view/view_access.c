/* SPDX-License-Identifier: Apache-2.0
 * view_access.c - loopback is not a boundary: any page in the browser, and any user of the machine, can connect to it.
 *
 * Other pages can send us requests, and by DNS rebinding even read the answers: their own name resolves to 127.0.0.1. But the browser then sends that name in Host. So Host has to be an address of loopback or localhost; its
 * port is not compared, because `ssh -L` changes it. Origin and Sec-Fetch-Site have to say the same if the browser sends
 * them. There is no CORS field in any answer, and nothing changes by GET.
 *
 * Other users can connect as well. So all of /api but hello wants a token of 128 random bits in a field of its own, which no page can send
 * to another origin without asking first. It is no cookie, because cookies are shared by all ports of a host. The URL has a
 * ticket in its fragment, which browsers do not send. But a URL in the arguments of a browser is visible to all users in
 * /proc. Therefore a ticket is valid for a minute and can be exchanged for the token once. A thief who was faster is noticed,
 * because the page of the user gets nothing.
 */
#include "view/view_access.h"

#include <errno.h>
#include <strings.h>
#include <sys/random.h>

#define TICKET_NS UINT64_C(60000000000)

/* Writes random digits. */
static int make_secret(char ret[ORMA_VIEW_SECRET_CHARS + 1])
{
	static const char digits[] = "0123456789abcdef";
	uint8_t bytes[ORMA_VIEW_SECRET_BYTES];
	ssize_t size;
	do
		size = getrandom(bytes, sizeof(bytes), 0);
	while (size < 0 && errno == EINTR);
	if (size != sizeof(bytes))
		return size < 0 ? -errno : -EIO;
	for (size_t i = 0; i < sizeof(bytes); i++) {
		ret[2 * i] = digits[bytes[i] >> 4];
		ret[2 * i + 1] = digits[bytes[i] & 15];
	}
	ret[ORMA_VIEW_SECRET_CHARS] = '\0';
	return 0;
}

/* Compares in a time that does not depend on the content. */
static bool is_secret(struct orma_str text, const char *secret)
{
	unsigned difference = 0;
	if (text.size != ORMA_VIEW_SECRET_CHARS)
		return false;
	for (size_t i = 0; i < ORMA_VIEW_SECRET_CHARS; i++)
		difference |= (unsigned char)text.data[i] ^ (unsigned char)secret[i];
	return difference == 0;
}

int orma_view_access_init(struct orma_view_access *access, const char *address)
{
	struct orma_view_access made = {.address = address, .is_ticket_used = true};
	int r = make_secret(made.token);
	if (r == 0)
		*access = made;
	return r;
}

int orma_view_access_renew(struct orma_view_access *access, uint64_t now_ns)
{
	int r = make_secret(access->ticket);
	if (r < 0)
		return r;
	access->ticket_end_ns = now_ns + TICKET_NS;
	access->is_ticket_used = false;
	return 0;
}

enum orma_view_ticket orma_view_access_take(struct orma_view_access *access, struct orma_str ticket,
					    uint64_t now_ns)
{
	if (!access->ticket[0] || !is_secret(ticket, access->ticket))
		return ORMA_VIEW_TICKET_WRONG;
	if (access->is_ticket_used)
		return ORMA_VIEW_TICKET_USED;
	if (now_ns >= access->ticket_end_ns)
		return ORMA_VIEW_TICKET_LATE;
	access->is_ticket_used = true;
	return ORMA_VIEW_TICKET_OK;
}

bool orma_view_access_has_token(const struct orma_view_access *access,
				const struct orma_http_request *request)
{
	return is_secret(request->fields[ORMA_HTTP_TOKEN], access->token);
}

static bool is_name(struct orma_str host, const char *name)
{
	return host.size == strlen(name) && strncasecmp(host.data, name, host.size) == 0;
}

/* Removes ":port". The colons of an address of IPv6 are between brackets. False when the port is no number. */
static bool cut_port(struct orma_str *host)
{
	size_t digits = 0;
	while (digits < host->size && (unsigned)(host->data[host->size - 1 - digits] - '0') <= 9)
		digits++;
	if (digits == host->size || host->data[host->size - 1 - digits] != ':')
		return true;
	host->size -= digits + 1;
	return digits > 0;
}

static bool is_own_host(const struct orma_view_access *access, struct orma_str host)
{
	if (!host.data || !cut_port(&host))
		return false;
	return is_name(host, "127.0.0.1") || is_name(host, "[::1]") || is_name(host, "localhost") ||
	       (access->address && is_name(host, access->address));
}

bool orma_view_access_is_embedded(const struct orma_http_request *request)
{
	return request->method == ORMA_HTTP_GET && orma_base_str_is(request->path, "/") &&
	       orma_base_str_is(request->query, "embed=1");
}

static bool is_own_origin(struct orma_str origin, struct orma_str host)
{
	static const struct orma_str scheme = {"http://", 7};
	return origin.size == scheme.size + host.size &&
	       memcmp(origin.data, scheme.data, scheme.size) == 0 &&
	       memcmp(origin.data + scheme.size, host.data, host.size) == 0;
}

const char *orma_view_access_check(const struct orma_view_access *access,
				   const struct orma_http_request *request)
{
	struct orma_str host = request->fields[ORMA_HTTP_HOST];
	struct orma_str origin = request->fields[ORMA_HTTP_ORIGIN];
	struct orma_str site = request->fields[ORMA_HTTP_SEC_FETCH_SITE];
	if (!is_own_host(access, host))
		return "The field Host does not name this machine.";
	if (origin.data && !is_own_origin(origin, host))
		return "The request comes from another site.";
	if (!site.data || orma_base_str_is(site, "same-origin") || orma_base_str_is(site, "none"))
		return NULL;
	/* Pages of this machine are of one site, whatever their ports. */
	if (orma_base_str_is(site, "same-site") && orma_view_access_is_embedded(request))
		return NULL;
	return "The request comes from another site.";
}
