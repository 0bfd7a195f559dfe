/* SPDX-License-Identifier: Apache-2.0
 * peer_user.c - asks the kernel (sock_diag) for the owner of the socket at the other end of a connection.
 *
 * Both ends are on this machine, so that the other end is a socket whose own address is our peer's. `ssh -L` connects as the
 * user who is logged in. The answer comes during the question, because the kernel makes it in sendto().
 */
#include "view/peer_user.h"

#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/str.h"

union address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

struct question {
	struct nlmsghdr header;
	struct inet_diag_req_v2 body;
};

static void set_end(const union address *address, __be16 *port, __be32 ip[4])
{
	if (address->any.sa_family == AF_INET6) {
		*port = address->v6.sin6_port;
		memcpy(ip, &address->v6.sin6_addr, sizeof(address->v6.sin6_addr));
	} else {
		*port = address->v4.sin_port;
		memcpy(ip, &address->v4.sin_addr, sizeof(address->v4.sin_addr));
	}
}

/* Writes the question for the socket at `from` that is connected to `to`. */
static struct question make_question(const union address *from, const union address *to)
{
	struct question question = {
		.header = {.nlmsg_len = sizeof(question),
			   .nlmsg_type = SOCK_DIAG_BY_FAMILY,
			   .nlmsg_flags = NLM_F_REQUEST},
		.body = {.sdiag_family = (uint8_t)from->any.sa_family,
			 .sdiag_protocol = IPPROTO_TCP,
			 .idiag_states = UINT32_MAX,
			 .id.idiag_cookie = {INET_DIAG_NOCOOKIE, INET_DIAG_NOCOOKIE}}};
	set_end(from, &question.body.id.idiag_sport, question.body.id.idiag_src);
	set_end(to, &question.body.id.idiag_dport, question.body.id.idiag_dst);
	return question;
}

/* Returns false when the kernel does not tell. */
static bool ask(const struct question *question, uid_t *ret)
{
	struct {
		struct nlmsghdr header;
		struct inet_diag_msg body;
		char attributes[4096];
	} reply;
	int fd = orma_base_fd_avoid_standard(
		socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG));
	if (fd < 0)
		return false;
	ssize_t size = -1;
	if (send(fd, question, sizeof(*question), 0) == sizeof(*question))
		size = recv(fd, &reply, sizeof(reply), MSG_DONTWAIT);
	orma_base_fd_close(fd);
	if (size < (ssize_t)(sizeof(reply.header) + sizeof(reply.body)) ||
	    reply.header.nlmsg_type != SOCK_DIAG_BY_FAMILY)
		return false;
	*ret = reply.body.idiag_uid;
	return true;
}

static bool may_ask(uid_t user)
{
	const char *sudo = getenv("SUDO_UID");
	uint64_t sudo_user;
	if (user == 0 || user == geteuid() || user == getuid())
		return true;
	return geteuid() == 0 && sudo && orma_base_parse_u64(sudo, 10, &sudo_user) == 0 &&
	       sudo_user == user;
}

bool orma_view_peer_is_welcome(int fd)
{
	union address here = {0}, there = {0};
	socklen_t size = sizeof(here), peer_size = sizeof(there);
	uid_t user;
	if (getsockname(fd, &here.any, &size) < 0 || getpeername(fd, &there.any, &peer_size) < 0 ||
	    (here.any.sa_family != AF_INET && here.any.sa_family != AF_INET6))
		return true;
	struct question question = make_question(&there, &here);
	return !ask(&question, &user) || may_ask(user);
}
