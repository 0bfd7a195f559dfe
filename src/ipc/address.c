/* SPDX-License-Identifier: Apache-2.0
 * address.c - socket addresses as text, listening, connecting.
 *
 * Parsing is by syntax alone and never touches the network: resolving a host name may block for a
 * long time, and pulls the C library's name service into static binaries. A program that needs
 * names resolves them itself and passes numbers. As in upstream, a number after the last colon
 * makes an internet address, unless there is a slash before it; then the text is a path.
 *
 * A stale socket file is recognised by its type, so that a mistyped address cannot delete a file.
 * Rejected: binding to a temporary name and renaming it. That way the name would never be missing,
 * but upstream's clients watch the folder for the creation of the name, and would not notice the
 * new daemon.
 */
#include "ipc/address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/macros.h"
#include "base/str.h"

#define VSOCK_PREFIX "vsock://"

enum { LOCK_TRIES = 500, LOCK_PAUSE_MS = 2 };

/* The kernel's struct sockaddr_vm and VMADDR_CID_ANY. Its headers do not come with every C
 * library. */
#define VSOCK_CID_ANY UINT32_MAX
struct vsock_address {
	sa_family_t family;
	uint16_t reserved;
	uint32_t port;
	uint32_t cid;
	uint8_t flags;
	uint8_t zero[3];
};
_Static_assert(sizeof(struct vsock_address) == sizeof(struct sockaddr), "the kernel's layout");

/* The buffer for the text of an address fits the longest AF_UNIX path, a NUL, and a little more. */
_Static_assert(ORMA_IPC_ADDRESS_TEXT_BYTES > sizeof(((struct sockaddr_un *)0)->sun_path) + 1,
	       "a path must fit");

/* --- text ------------------------------------------------------------------------------------- */

static int parse_unix(const char *text, struct orma_ipc_address *ret)
{
	struct sockaddr_un *address = (struct sockaddr_un *)(void *)&ret->storage;
	size_t size = strlen(text);
	bool is_abstract = text[0] == '@';

	/* A path needs a NUL at its end, and an abstract name one at its beginning. */
	if (size >= sizeof(address->sun_path) + (is_abstract ? 1 : 0))
		return -ENAMETOOLONG;
	if (is_abstract && size == 1)
		return -EINVAL;
	address->sun_family = AF_UNIX;
	memcpy(address->sun_path, text, size);
	if (is_abstract)
		address->sun_path[0] = '\0';
	ret->size =
		(socklen_t)(offsetof(struct sockaddr_un, sun_path) + size + (is_abstract ? 0 : 1));
	return 0;
}

static int parse_number(const char *text, uint64_t max, uint32_t *ret)
{
	uint64_t number = 0;

	if (text[0] < '0' || text[0] > '9' || orma_base_parse_u64(text, 10, &number) < 0 ||
	    number > max)
		return -EINVAL;
	*ret = (uint32_t)number;
	return 0;
}

/* Copies [text, end) as a string. */
static int cut(char *part, size_t capacity, const char *text, const char *end)
{
	size_t size = (size_t)(end - text);

	if (size == 0 || size >= capacity)
		return -EINVAL;
	memcpy(part, text, size);
	part[size] = '\0';
	return 0;
}

static int parse_vsock(const char *text, struct orma_ipc_address *ret)
{
	struct vsock_address *address = (struct vsock_address *)(void *)&ret->storage;
	const char *colon = strrchr(text, ':');
	char cid_text[16];
	uint32_t cid, port;

	if (!colon || cut(cid_text, sizeof(cid_text), text, colon) < 0 ||
	    parse_number(colon + 1, UINT32_MAX, &port) < 0)
		return -EINVAL;
	if (strcmp(cid_text, "-1") == 0)
		cid = VSOCK_CID_ANY;
	else if (parse_number(cid_text, UINT32_MAX, &cid) < 0)
		return -EINVAL;
	address->family = AF_VSOCK;
	address->cid = cid;
	address->port = port;
	ret->size = sizeof(*address);
	return 0;
}

static int parse_inet(const char *text, const char *colon, struct orma_ipc_address *ret)
{
	struct sockaddr_in *address = (struct sockaddr_in *)(void *)&ret->storage;
	char host[INET_ADDRSTRLEN];
	uint32_t port;

	if (cut(host, sizeof(host), text, colon) < 0 ||
	    parse_number(colon + 1, UINT16_MAX, &port) < 0)
		return -EINVAL;
	if (inet_pton(AF_INET, strcmp(host, "localhost") == 0 ? "127.0.0.1" : host,
		      &address->sin_addr) != 1)
		return -EINVAL;
	address->sin_family = AF_INET;
	address->sin_port = htons((uint16_t)port);
	ret->size = sizeof(*address);
	return 0;
}

static int parse_inet6(const char *text, const char *colon, struct orma_ipc_address *ret)
{
	struct sockaddr_in6 *address = (struct sockaddr_in6 *)(void *)&ret->storage;
	char host[INET6_ADDRSTRLEN];
	uint32_t port;

	if (colon - text < 3 || colon[-1] != ']' ||
	    cut(host, sizeof(host), text + 1, colon - 1) < 0 ||
	    parse_number(colon + 1, UINT16_MAX, &port) < 0)
		return -EINVAL;
	if (inet_pton(AF_INET6, host, &address->sin6_addr) != 1)
		return -EINVAL;
	address->sin6_family = AF_INET6;
	address->sin6_port = htons((uint16_t)port);
	ret->size = sizeof(*address);
	return 0;
}

static bool ends_in_number(const char *colon)
{
	return colon && colon[1] != '\0' && strspn(colon + 1, "0123456789") == strlen(colon + 1);
}

int orma_ipc_address_parse(const char *text, struct orma_ipc_address *ret)
{
	struct orma_ipc_address address;
	const char *colon = strrchr(text, ':');
	int r;

	memset(&address, 0, sizeof(address));
	if (text[0] == '\0')
		return -EINVAL;
	if (strncmp(text, VSOCK_PREFIX, strlen(VSOCK_PREFIX)) == 0)
		r = parse_vsock(text + strlen(VSOCK_PREFIX), &address);
	else if (text[0] == '@' || strchr(text, '/') || !ends_in_number(colon))
		r = parse_unix(text, &address);
	else if (text[0] == '[')
		r = parse_inet6(text, colon, &address);
	else
		r = parse_inet(text, colon, &address);
	if (r == 0)
		*ret = address;
	return r;
}

int orma_ipc_address_list_next(const char **list, char item[ORMA_IPC_ADDRESS_TEXT_BYTES])
{
	const char *at = *list + strspn(*list, ",");
	size_t size = strcspn(at, ",");

	*list = at + size;
	if (size == 0)
		return 0;
	if (size >= ORMA_IPC_ADDRESS_TEXT_BYTES)
		return -ENAMETOOLONG;
	memcpy(item, at, size);
	item[size] = '\0';
	return 1;
}

static void format_unix(const struct orma_ipc_address *address,
			char text[ORMA_IPC_ADDRESS_TEXT_BYTES])
{
	const struct sockaddr_un *un = (const struct sockaddr_un *)(const void *)&address->storage;
	size_t size = address->size - offsetof(struct sockaddr_un, sun_path);

	if (address->size <= offsetof(struct sockaddr_un, sun_path))
		return;
	size = ORMA_MIN(size, sizeof(un->sun_path));
	memcpy(text, un->sun_path, size);
	text[size] = '\0';
	if (text[0] == '\0')
		text[0] = '@';
}

void orma_ipc_address_format(const struct orma_ipc_address *address,
			     char text[ORMA_IPC_ADDRESS_TEXT_BYTES])
{
	const void *raw = &address->storage;
	const struct sockaddr_in *in = raw;
	const struct sockaddr_in6 *in6 = raw;
	const struct vsock_address *vm = raw;
	char host[INET6_ADDRSTRLEN] = "?";

	snprintf(text, ORMA_IPC_ADDRESS_TEXT_BYTES, "unknown");
	switch (orma_ipc_address_family(address)) {
	case AF_UNIX:
		format_unix(address, text);
		break;
	case AF_INET:
		inet_ntop(AF_INET, &in->sin_addr, host, sizeof(host));
		snprintf(text, ORMA_IPC_ADDRESS_TEXT_BYTES, "%s:%u", host, ntohs(in->sin_port));
		break;
	case AF_INET6:
		inet_ntop(AF_INET6, &in6->sin6_addr, host, sizeof(host));
		snprintf(text, ORMA_IPC_ADDRESS_TEXT_BYTES, "[%s]:%u", host, ntohs(in6->sin6_port));
		break;
	case AF_VSOCK:
		snprintf(text, ORMA_IPC_ADDRESS_TEXT_BYTES, VSOCK_PREFIX "%u:%u", vm->cid,
			 vm->port);
		break;
	default:
		break;
	}
}

const char *orma_ipc_address_path(const struct orma_ipc_address *address)
{
	const struct sockaddr_un *un = (const struct sockaddr_un *)(const void *)&address->storage;

	if (orma_ipc_address_family(address) != AF_UNIX || un->sun_path[0] == '\0')
		return NULL;
	return un->sun_path;
}

int orma_ipc_address_family(const struct orma_ipc_address *address)
{
	return address->storage.ss_family;
}

/* --- sockets ---------------------------------------------------------------------------------- */

/* TCP_NODELAY: frames are whole messages, so waiting for more data only adds latency. Keep-alive:
 * when a machine vanishes, its connections end after a minute and three quarters, and no longer
 * count against the limits. */
void orma_ipc_set_tcp_options(int fd)
{
	static const struct {
		int level, option, value;
	} options[] = {
		{IPPROTO_TCP, TCP_NODELAY, 1},   {SOL_SOCKET, SO_KEEPALIVE, 1},
		{IPPROTO_TCP, TCP_KEEPIDLE, 60}, {IPPROTO_TCP, TCP_KEEPINTVL, 15},
		{IPPROTO_TCP, TCP_KEEPCNT, 3},
	};

	for (size_t i = 0; i < ORMA_ARRAY_SIZE(options); i++)
		(void)setsockopt(fd, options[i].level, options[i].option, &options[i].value,
				 sizeof(options[i].value));
}

static int new_socket(const struct orma_ipc_address *address)
{
	int family = orma_ipc_address_family(address);
	int one = 1;
	int fd = orma_base_fd_avoid_standard(
		socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));

	if (fd < 0)
		return -errno;
	if (family == AF_INET || family == AF_INET6) {
		orma_ipc_set_tcp_options(fd);
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	}
	return fd;
}

int orma_ipc_connect(const struct orma_ipc_address *address, bool *ret_is_pending)
{
	ORMA_AUTO(orma_base_fd_closep) int fd = new_socket(address);
	int r;

	if (fd < 0)
		return fd;
	/* Before it is connected: a child must not hold the connection of its parent. */
	orma_base_fd_set_close_on_fork(fd);
	if (connect(fd, (const struct sockaddr *)&address->storage, address->size) == 0)
		*ret_is_pending = false;
	else if (errno == EINPROGRESS || errno == EINTR)
		*ret_is_pending = true;
	else
		return -errno;
	r = fd;
	fd = -1;
	return r;
}

static bool is_somebody_listening(const struct orma_ipc_address *address)
{
	bool is_pending;
	int fd = orma_ipc_connect(address, &is_pending);

	if (fd < 0)
		return fd == -EAGAIN;
	orma_base_fd_close(fd);
	return true;
}

static int remove_stale_socket(const struct orma_ipc_address *address, unsigned flags)
{
	const char *path = orma_ipc_address_path(address);
	struct stat info;

	if (!path || lstat(path, &info) < 0 || !S_ISSOCK(info.st_mode))
		return 0;
	if ((flags & ORMA_IPC_LISTEN_KEEP_LIVE) && is_somebody_listening(address))
		return -EADDRINUSE;
	if (unlink(path) < 0 && errno != ENOENT)
		return -errno;
	return 0;
}

/* Two services that begin at the same time must not take each other's socket for a stale one: it
 * refuses connections between bind() and listen(). So the folder is locked from the check to
 * listen(). A lock that another user holds for good delays a service by a second and cannot stop it.
 * Rejected: a lock file, which would stay behind. Returns the folder, or -1 without a lock. */
static int lock_folder(const struct orma_ipc_address *address, unsigned flags)
{
	const char *path = orma_ipc_address_path(address);
	const char *slash = path ? strrchr(path, '/') : NULL;
	char folder[ORMA_IPC_ADDRESS_TEXT_BYTES] = ".";
	int fd;

	if (!path || !(flags & ORMA_IPC_LISTEN_KEEP_LIVE))
		return -1;
	if (slash)
		snprintf(folder, sizeof(folder), "%.*s", slash == path ? 1 : (int)(slash - path),
			 path);
	fd = orma_base_fd_avoid_standard(open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	for (int i = 0; fd >= 0 && i < LOCK_TRIES; i++) {
		if (flock(fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK)
			break;
		poll(NULL, 0, LOCK_PAUSE_MS);
	}
	return fd;
}

static int bind_and_listen(int fd, const struct orma_ipc_address *address, unsigned flags)
{
	int r = remove_stale_socket(address, flags);

	if (r < 0)
		return r;
	/* On Linux, bind() creates the file with the mode of the socket. */
	if (flags & ORMA_IPC_LISTEN_PRIVATE && orma_ipc_address_path(address) &&
	    fchmod(fd, S_IRUSR | S_IWUSR) < 0)
		return -errno;
	if (bind(fd, (const struct sockaddr *)&address->storage, address->size) < 0 ||
	    listen(fd, SOMAXCONN) < 0)
		return -errno;
	return 0;
}

int orma_ipc_listen(const struct orma_ipc_address *address, unsigned flags)
{
	int fd = new_socket(address);
	int lock_fd;
	int r;

	if (fd < 0)
		return fd;
	lock_fd = lock_folder(address, flags);
	r = bind_and_listen(fd, address, flags);
	if (lock_fd >= 0)
		close(lock_fd);
	if (r < 0) {
		close(fd);
		return r;
	}
	return fd;
}

/* --- defaults --------------------------------------------------------------------------------- */

static const char *wanted(const char *variable)
{
	const char *value = getenv(variable);

	return value && value[0] != '\0' ? value : NULL;
}

static const char *usual(const char *in_run, const char *in_tmp)
{
	return access("/run/perfetto/", X_OK) == 0 ? in_run : in_tmp;
}

const char *orma_ipc_producer_address_wanted(void)
{
	return wanted("PERFETTO_PRODUCER_SOCK_NAME");
}

const char *orma_ipc_producer_address_usual(void)
{
	return usual("/run/perfetto/traced-producer.sock", "/tmp/perfetto-producer");
}

const char *orma_ipc_producer_address(void)
{
	const char *address = orma_ipc_producer_address_wanted();

	return address ? address : orma_ipc_producer_address_usual();
}

const char *orma_ipc_consumer_address_wanted(void)
{
	return wanted("PERFETTO_CONSUMER_SOCK_NAME");
}

const char *orma_ipc_consumer_address(void)
{
	const char *address = orma_ipc_consumer_address_wanted();

	return address ? address
		       : usual("/run/perfetto/traced-consumer.sock", "/tmp/perfetto-consumer");
}
