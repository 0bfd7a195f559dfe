/* SPDX-License-Identifier: Apache-2.0
 * traced_command.c - `orma traced`: the daemon's options, which are Perfetto's and some more.
 */
#include "tool/daemon/traced.h"

#include <errno.h>
#include <string.h>

#include "base/fd.h"
#include "base/log_message.h"
#include "base/str.h"
#include "tool/daemon/daemon_options.h"
#include "tool/print.h"
#include "tool/tool.h"

/* Parses "group:mode:group:mode" by cutting up the argument. */
static int parse_permissions(char *text, struct orma_traced_permissions *const ret[2])
{
	char *rest = text;
	for (int i = 0; i < 2; i++) {
		uint64_t mode;
		ret[i]->group = strsep(&rest, ":");
		const char *mode_text = strsep(&rest, ":");
		if (!ret[i]->group || !*ret[i]->group || !mode_text ||
		    orma_base_parse_u64(mode_text, 8, &mode) || mode > 0777)
			return -EINVAL;
		ret[i]->mode = (mode_t)mode;
	}
	return rest ? -EINVAL : 0;
}

static int parse_max(const char *text, uint32_t *ret)
{
	uint64_t number;

	if (orma_base_parse_u64(text, 10, &number) || number == 0 || number > UINT32_MAX)
		return -EINVAL;
	*ret = (uint32_t)number;
	return 0;
}

enum option_id {
	OPTION_PERMISSIONS = ORMA_OPTION_DAEMON_OTHERS,
	OPTION_USER,
	OPTION_GROUP,
	OPTION_SECCOMP,
	OPTION_OUTPUT_DIR,
	OPTION_REMOTE_CONSUMERS,
	OPTION_RELAY,
	OPTION_RELAY_ON,
	OPTION_MAX_CONNECTIONS,
};

static const struct orma_tool_option option_table[] = {
	{ORMA_OPTION_BACKGROUND, "background", NULL,
	 "Go on in the background once the daemon serves; if it cannot serve, say why and fail.",
	 NULL},
	{OPTION_PERMISSIONS, "set-socket-permissions", "GROUP:MODE:GROUP:MODE",
	 "Group and octal mode of the producer sockets, then of the consumer sockets.", NULL},
	{OPTION_USER, "user", "NAME",
	 "Once the sockets are open, change to this user, given by name or number, for good.",
	 ORMA_COMPLETE_USER},
	{OPTION_GROUP, "group", "NAME", "Use this group instead of the user's own; needs --user.",
	 ORMA_COMPLETE_GROUP},
	{OPTION_SECCOMP, "seccomp", "MODE",
	 "What happens to a system call that the daemon does not need: errno (it fails; default), "
	 "kill (the daemon ends) or off (nothing).",
	 "errno kill off"},
	{OPTION_OUTPUT_DIR, "output-dir", "DIR",
	 "Create files of output_path below DIR for users other than root and the daemon's own. "
	 "Without this option, configs of other users with output_path are refused.",
	 ORMA_COMPLETE_FOLDER},
	{OPTION_REMOTE_CONSUMERS, "allow-remote-consumers", NULL,
	 "Serve consumers on TCP and vsock addresses too, without authentication.", NULL},
	{OPTION_RELAY, "enable-relay-endpoint", NULL,
	 "Serve relays of other machines (traced_relay) on all producer sockets.", NULL},
	{OPTION_RELAY_ON, "enable-relay-endpoint-on", "SOCK",
	 "Serve relays on this producer socket; may be repeated.", NULL},
	{OPTION_MAX_CONNECTIONS, "max-connections-per-user", "N",
	 "The number of producers that one user may connect, and the number of consumers. "
	 "Default: 200.",
	 NULL},
	ORMA_TOOL_VERSION_OPTION,
	{0},
};

static int add_relay_address(struct orma_daemon_relays *relays, const char *address)
{
	if (relays->address_count == ORMA_DAEMON_RELAY_ADDRESSES_MAX)
		return -EMSGSIZE;
	relays->addresses[relays->address_count++] = address;
	return 0;
}

struct command_line {
	struct orma_traced_options traced;
	const char *user, *group;
};

static int take_option(void *ctx, int option, char *value)
{
	struct command_line *line = ctx;
	struct orma_traced_options *traced = &line->traced;
	struct orma_traced_permissions *const permissions[2] = {&traced->producers,
								&traced->consumers};

	switch (option) {
	case OPTION_PERMISSIONS:
		return parse_permissions(value, permissions)
			       ? orma_tool_usage_error(
					 "--set-socket-permissions takes GROUP:MODE:GROUP:MODE")
			       : -1;
	case OPTION_USER:
		line->user = value;
		return -1;
	case OPTION_GROUP:
		line->group = value;
		return -1;
	case OPTION_SECCOMP:
		traced->must_have_seccomp = true;
		return orma_seccomp_parse(value, &traced->seccomp)
			       ? orma_tool_usage_error("\"%s\" is not errno, kill or off", value)
			       : -1;
	case OPTION_OUTPUT_DIR:
		traced->output_dir = value;
		return -1;
	case OPTION_REMOTE_CONSUMERS:
		traced->allows_remote_consumers = true;
		return -1;
	case OPTION_RELAY:
		traced->relays.on_all = true;
		return -1;
	case OPTION_RELAY_ON:
		return add_relay_address(&traced->relays, value)
			       ? orma_tool_usage_error(
					 "--enable-relay-endpoint-on can be given %d times at most",
					 ORMA_DAEMON_RELAY_ADDRESSES_MAX)
			       : -1;
	case OPTION_MAX_CONNECTIONS:
		return parse_max(value, &traced->peers_per_uid_max)
			       ? orma_tool_usage_error("\"%s\" is not a number of connections",
						       value)
			       : -1;
	default:
		return ORMA_EXIT_USAGE;
	}
}

static int serve(int *parent_fd, void *ctx)
{
	struct command_line *line = ctx;

	return orma_traced_serve(&line->traced, parent_fd);
}

static int run(int argc, char **argv)
{
	struct command_line line = {.traced.seccomp = ORMA_SECCOMP_ERRNO};
	struct orma_daemon_command command = {
		.command = &orma_traced_command,
		.take_option = take_option,
		.serve = serve,
		.ctx = &line,
	};
	struct orma_error error = {0};
	int status = orma_daemon_take_options(&command, argc, argv);

	if (status >= 0)
		return status;
	if (orma_privileges_find(line.user, line.group, &line.traced.privileges, &error))
		return orma_tool_fail("%s", error.message);
	orma_tool_log_to_stderr(ORMA_LOG_INFO);
	/* Take the sockets before the fork, because the service manager passed them to the process
	 * that it started. */
	if (orma_systemd_take_sockets(&line.traced.sockets, &error))
		return orma_tool_fail("%s", error.message);
	return orma_daemon_serve(&command);
}

const struct orma_tool_command orma_traced_command = {
	.name = "traced",
	.summary = "the tracing daemon",
	.usage = "[OPTIONS]",
	.about = "The tracing daemon: producers and consumers connect to its sockets, and sessions "
		 "run in it.",
	.options = option_table,
	.notes = "Environment: PERFETTO_PRODUCER_SOCK_NAME (a comma-separated list), "
		 "PERFETTO_CONSUMER_SOCK_NAME, TRACED_NOTIFY_FD (gets \"1\" when the sockets are "
		 "open); a service manager's LISTEN_FDS, NOTIFY_SOCKET and WATCHDOG_USEC.",
	.run = run,
};
