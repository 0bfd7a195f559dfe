/* SPDX-License-Identifier: Apache-2.0
 * ftrace_net.c - bytes of network interfaces, states of TCP sockets, dropped packets.
 */
#include <errno.h>
#include <stdio.h>

#include "base/macros.h"
#include "schema/gen/ftrace_net.pb.h"
#include "trace/kernel_event.h"

enum {
	ADDRESS_IP4 = 2,
	ADDRESS_IP6 = 10,
	PROTOCOL_TCP = 6,
	ETHERNET_IP4 = 0x800,
	ETHERNET_IP6 = 0x86dd,
	TCP_IS_ESTABLISHED = 1,
	TCP_HAS_SENT_SYN = 2,
};

static struct orma_arg_list *new_args(const struct orma_kernel_call *call)
{
	call->system->args.tables = call->system->tables;
	orma_arg_list_clear(&call->system->args);
	return &call->system->args;
}

/* The kilobytes of an interface so far. */
static int add_traffic(const struct orma_kernel_call *call, const struct orma_track_kind *kind,
		       char what, struct orma_str interface, uint64_t bytes)
{
	int64_t name = orma_system_text(call->system, interface);
	int64_t *sum =
		orma_kernel_sum(&call->system->kernel, what, call->machine_idx, (uint64_t)name);
	if (!sum)
		return -ENOMEM;
	*sum = (int64_t)((uint64_t)*sum + (uint32_t)bytes);
	uint64_t kilobytes = (uint64_t)*sum / 1024;
	struct orma_arg_list *args = new_args(call);
	orma_arg_list_add(args, ORMA_STR("cpu"), ORMA_STR("cpu"), ORMA_ARG_UINT, call->cpu);
	orma_arg_list_add(args, ORMA_STR("len"), ORMA_STR("len"), ORMA_ARG_UINT, (uint32_t)bytes);
	return orma_system_count(call->system, call->machine_idx, call->ts, kind, &name,
				 (double)kilobytes, orma_system_take_args(call->system));
}

int orma_ftrace_net_receive(const struct orma_kernel_call *call)
{
	static const struct orma_track_kind kind = {.type = "net_receive",
						    .name = "%0 Received KB",
						    .dimensions = {{"network_interface", true}},
						    .is_counter = true};
	return add_traffic(call, &kind, 'r',
			   orma_kernel_text(call, ORMA_PB_NETIF_RECEIVE_SKB_FTRACE_EVENT_NAME),
			   orma_kernel_number(call, ORMA_PB_NETIF_RECEIVE_SKB_FTRACE_EVENT_LEN));
}

int orma_ftrace_net_transmit(const struct orma_kernel_call *call)
{
	static const struct orma_track_kind kind = {.type = "net_transmit",
						    .name = "%0 Transmitted KB",
						    .dimensions = {{"network_interface", true}},
						    .is_counter = true};
	/* The driver refused it. */
	if (orma_kernel_number(call, ORMA_PB_NET_DEV_XMIT_FTRACE_EVENT_RC) != 0)
		return 0;
	return add_traffic(call, &kind, 't',
			   orma_kernel_text(call, ORMA_PB_NET_DEV_XMIT_FTRACE_EVENT_NAME),
			   orma_kernel_number(call, ORMA_PB_NET_DEV_XMIT_FTRACE_EVENT_LEN));
}

static int64_t state_name(const struct orma_kernel_call *call, const char *name, uint64_t state)
{
	char text[96];
	int size;
	if (state == TCP_HAS_SENT_SYN)
		size = snprintf(text, sizeof(text), "%s(pid=%u)", name, (uint32_t)call->tid);
	else if (state == TCP_IS_ESTABLISHED)
		size = snprintf(text, sizeof(text), "%s(sport=%u,dport=%u)", name,
				(uint32_t)orma_kernel_number(
					call, ORMA_PB_INET_SOCK_SET_STATE_FTRACE_EVENT_SPORT),
				(uint32_t)orma_kernel_number(
					call, ORMA_PB_INET_SOCK_SET_STATE_FTRACE_EVENT_DPORT));
	else
		size = snprintf(text, sizeof(text), "%s", name);
	return orma_system_text(call->system, (struct orma_str){text, (size_t)size});
}

int orma_ftrace_socket_state(const struct orma_kernel_call *call)
{
	static const struct orma_track_kind kind = {.type = "net_socket_set_state",
						    .name = "TCP stream#%0",
						    .dimensions = {{"tcp_stream_idx", false}}};
	static const char *const names[] = {"TCP_UNKNOWN",     "TCP_ESTABLISHED", "TCP_SYN_SENT",
					    "TCP_SYN_RECV",    "TCP_FIN_WAIT1",   "TCP_FIN_WAIT2",
					    "TCP_TIME_WAIT",   "TCP_CLOSE",       "TCP_CLOSE_WAIT",
					    "TCP_LAST_ACK",    "TCP_LISTEN",      "TCP_CLOSING",
					    "TCP_NEW_SYN_RECV"};
	uint64_t family = orma_kernel_number(call, ORMA_PB_INET_SOCK_SET_STATE_FTRACE_EVENT_FAMILY);
	uint64_t protocol =
		orma_kernel_number(call, ORMA_PB_INET_SOCK_SET_STATE_FTRACE_EVENT_PROTOCOL);
	uint64_t new = orma_kernel_number(call, ORMA_PB_INET_SOCK_SET_STATE_FTRACE_EVENT_NEWSTATE);
	uint64_t old = orma_kernel_number(call, ORMA_PB_INET_SOCK_SET_STATE_FTRACE_EVENT_OLDSTATE);
	if (protocol != PROTOCOL_TCP || (family != ADDRESS_IP4 && family != ADDRESS_IP6) ||
	    new >= ORMA_ARRAY_SIZE(names) || old >= ORMA_ARRAY_SIZE(names))
		return 0;
	int64_t *stream = orma_kernel_sum(
		&call->system->kernel, 's', call->machine_idx,
		orma_kernel_number(call, ORMA_PB_INET_SOCK_SET_STATE_FTRACE_EVENT_SKADDR));
	if (!stream)
		return -ENOMEM;
	if (*stream == 0)
		*stream = (int64_t)++call->system->kernel.tcp_streams;
	int64_t track = orma_system_track(call->system, call->machine_idx, &kind, stream);
	int r = orma_kernel_end(call, track, ORMA_CELL_NULL, ORMA_CELL_NULL);
	return r < 0 ? r
		     : orma_kernel_begin(
			       call, track,
			       orma_tables_string(call->system->tables, ORMA_STR("tcp_state")),
			       state_name(call, names[new], new), ORMA_CELL_NULL);
}

int orma_ftrace_kfree_skb(const struct orma_kernel_call *call)
{
	static const struct orma_track_kind kind = {
		.type = "net_kfree_skb", .name = "Kfree Skb IP Prot", .is_counter = true};
	uint64_t protocol = orma_kernel_number(call, ORMA_PB_KFREE_SKB_FTRACE_EVENT_PROTOCOL);
	if (protocol != ETHERNET_IP4 && protocol != ETHERNET_IP6)
		return 0;
	int64_t *count = orma_kernel_sum(&call->system->kernel, 'k', call->machine_idx, 0);
	if (!count)
		return -ENOMEM;
	++*count;
	orma_arg_list_add_string(new_args(call), "protocol",
				 protocol == ETHERNET_IP4 ? ORMA_STR("IP") : ORMA_STR("IPV6"));
	return orma_system_count(call->system, call->machine_idx, call->ts, &kind, NULL,
				 (double)*count, orma_system_take_args(call->system));
}
