/* SPDX-License-Identifier: Apache-2.0
 * doctor_tracefs.c - examines whether events of the kernel can be recorded, and by which process.
 *
 * With a daemon, the process that records them is the one that offers linux.ftrace. Without a daemon,
 * it is `orma record`, a process of this user. The probes offer linux.ftrace even if they may not use
 * tracefs, so the offer alone says little. Whether another process may use a file is computed from its
 * user, its groups and its capabilities; no process can ask the kernel for another one.
 */
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "probes/probe_text.h"
#include "schema/gen/data_source_descriptor.pb.h"
#include "tool/doctor/doctor.h"
#include "tool/doctor/system_files.h"

#define EVENTS_LOST      "so kernel events (sched, irq, syscalls) cannot be recorded"
#define CAP_DAC_OVERRIDE 1u

enum { MAY_LIST = 5, MAY_READ_AND_WRITE = 6 }; /* bits of a mode, for one class of users */

/* The file or folder of tracefs that decides: the folder if its content is hidden from this user. */
struct gate {
	char tracefs[PATH_MAX]; /* without the root folder */
	struct stat info;
	unsigned wanted;
};

/* Returns false when tracefs is not mounted. */
static bool find_gate(const char *root, struct gate *ret)
{
	char path[(size_t)2 * PATH_MAX + sizeof("/tracing_on")];

	if (!orma_system_find_tracefs(root, ret->tracefs))
		return false;
	snprintf(path, sizeof(path), "%s%s", root, ret->tracefs);
	if (stat(path, &ret->info))
		return false;
	ret->wanted = MAY_LIST;
	snprintf(path, sizeof(path), "%s%s/tracing_on", root, ret->tracefs);
	if (access(path, F_OK) == 0 && stat(path, &ret->info) == 0)
		ret->wanted = MAY_READ_AND_WRITE;
	return true;
}

/* A user with its groups. */
struct identity {
	uid_t uid;
	struct orma_buf status; /* /proc/PID/status; empty = not known */
};

/* Returns the rest of the line of /proc/PID/status that begins with the key. */
static bool find_line(const struct identity *identity, const char *key, struct orma_str *ret)
{
	struct orma_str text = {(const char *)identity->status.data, identity->status.size};
	struct orma_str word;

	while (orma_probes_text_line(&text, ret))
		if (orma_probes_text_word(ret, &word) && orma_base_str_is(word, key))
			return true;
	return false;
}

static bool has_group(const struct identity *identity, gid_t gid)
{
	static const char *const keys[] = {"Gid:", "Groups:"};
	struct orma_str line;
	uint64_t number;

	for (size_t i = 0; i < ORMA_ARRAY_SIZE(keys); i++)
		for (bool more = find_line(identity, keys[i], &line);
		     more && orma_probes_text_next_u64(&line, &number);)
			if (number == gid)
				return true;
	return false;
}

/* Returns true for a process that passes every check of files. */
static bool has_override(const struct identity *identity)
{
	struct orma_str line;
	uint64_t bits;

	if (!find_line(identity, "CapEff:", &line) ||
	    !orma_probes_text_hex64(orma_probes_text_trim(line), &bits))
		return identity->uid == 0;
	return bits >> CAP_DAC_OVERRIDE & 1;
}

static bool may_pass(const struct identity *identity, const struct gate *gate)
{
	unsigned shift = gate->info.st_uid == identity->uid       ? 6
			 : has_group(identity, gate->info.st_gid) ? 3
								  : 0;

	return has_override(identity) ||
	       ((unsigned)gate->info.st_mode >> shift & gate->wanted) == gate->wanted;
}

static void read_identity(const char *root, const char *process, uid_t uid, struct identity *ret)
{
	char path[64];

	*ret = (struct identity){.uid = uid};
	snprintf(path, sizeof(path), "/proc/%s/status", process);
	(void)orma_system_file_read(root, path, &ret->status);
}

/* --- findings --------------------------------------------------------------------------------- */

static void report_not_mounted(struct orma_findings *findings)
{
	orma_findings_add(findings, "tracefs_not_mounted",
			  "tracefs is not mounted, " EVENTS_LOST ".");
	orma_findings_advise(findings, "sudo mount -t tracefs nodev /sys/kernel/tracing");
}

/* The sentence begins with `who`. In the advice, `join` follows the group's name in a command and says what
 * to do then, and `restart` is a command for root. */
static void report_refused(const char *root, const struct gate *gate, const char *who,
			   const char *join, const char *restart, struct orma_findings *findings)
{
	unsigned mode = (unsigned)gate->info.st_mode & 07777;
	char group[64];

	orma_system_name_group(root, gate->info.st_gid, group, sizeof(group));
	orma_findings_add(findings, "tracefs_unreadable",
			  "%s may not use %s (user id %u, group %s, mode %04o), " EVENTS_LOST ".",
			  who, gate->tracefs, (unsigned)gate->info.st_uid, group, mode);
	if (gate->info.st_gid != 0 && gate->wanted == MAY_READ_AND_WRITE &&
	    (mode >> 3 & gate->wanted) == gate->wanted)
		orma_findings_advise(findings,
				     "Join the group: sudo usermod -aG %s %s. Or as root: %s",
				     group, join, restart);
	else
		orma_findings_advise(findings, "Only root may. As root: %s", restart);
}

static void report_current_tracer(const char *root, const char *tracefs,
				  struct orma_findings *findings)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf content = {0};
	char path[PATH_MAX + sizeof("/current_tracer")];

	snprintf(path, sizeof(path), "%s/current_tracer", tracefs);
	if (orma_system_file_read(root, path, &content))
		return;
	struct orma_str name = orma_probes_text_trim((struct orma_str){
		(const char *)content.data, strnlen((const char *)content.data, content.size)});
	if (name.size > 0 && name.data[name.size - 1] == '\n')
		name.size--;
	if (name.size == 0 || orma_base_str_is(name, "nop"))
		return;
	orma_findings_add(findings, "tracer_in_use",
			  "Another tool uses ftrace: its tracer \"%.*s\" is active.",
			  (int)name.size, name.data);
	orma_findings_advise(findings, "Stop that tool, or: echo nop | sudo tee %s", path);
}

/* --- the process that records ----------------------------------------------------------------- */

/* Returns the process of this machine that offers linux.ftrace, or NULL. */
static const struct orma_pb_tracing_service_state_producer *
find_producer(const struct orma_pb_tracing_service_state *state)
{
	for (size_t i = 0; i < state->data_sources.count; i++) {
		const struct orma_pb_tracing_service_state_data_source *source =
			state->data_sources.items[i];
		if (!source->ds_descriptor ||
		    !orma_base_str_is(source->ds_descriptor->name, "linux.ftrace"))
			continue;
		for (size_t k = 0; k < state->producers.count; k++)
			if (state->producers.items[k]->id == source->producer_id &&
			    state->producers.items[k]->machine_id == 0)
				return state->producers.items[k];
	}
	return NULL;
}

static void report_producer(const char *root, const struct gate *gate,
			    const struct orma_pb_tracing_service_state_producer *producer,
			    struct orma_findings *findings)
{
	char process[16], join[80], who[160];
	struct identity identity;

	snprintf(process, sizeof(process), "%d", producer->pid);
	snprintf(join, sizeof(join), "$(id -nu %u), and start the process again",
		 (unsigned)producer->uid);
	snprintf(who, sizeof(who), "The process %s (%.*s, user id %u), which offers linux.ftrace,",
		 process, (int)ORMA_MIN(producer->name.size, (size_t)64), producer->name.data,
		 (unsigned)producer->uid);
	read_identity(root, process, (uid_t)producer->uid, &identity);
	if (may_pass(&identity, gate))
		orma_findings_add_note(findings, "ftrace",
				       "%s may use %s, so kernel events can be recorded.", who,
				       gate->tracefs);
	else
		report_refused(root, gate, who, join, "orma probes --background", findings);
	orma_base_buf_done(&identity.status);
}

static void report_this_user(const char *root, const struct gate *gate,
			     struct orma_findings *findings)
{
	struct identity identity;

	read_identity(root, "self", geteuid(), &identity);
	if (!may_pass(&identity, gate))
		report_refused(root, gate, "This user", "$USER, and log in again",
			       "orma record, or orma traced --background && orma probes "
			       "--background",
			       findings);
	orma_base_buf_done(&identity.status);
}

void orma_doctor_examine_tracefs(const char *root, const struct orma_doctor_daemon *daemon,
				 struct orma_findings *findings)
{
	const struct orma_pb_tracing_service_state *state = daemon->state;
	const struct orma_pb_tracing_service_state_producer *producer =
		state ? find_producer(state) : NULL;
	struct gate gate;

	/* A daemon to which nobody offers anything is a finding of its own. */
	if (state && !producer && state->data_sources.count > 0) {
		orma_findings_add(
			findings, "no_ftrace_source",
			"No process of this machine offers linux.ftrace to the daemon, " EVENTS_LOST
			".");
		orma_findings_advise(findings, "Start the probes: sudo orma probes --background");
	}
	if (!find_gate(root, &gate)) {
		report_not_mounted(findings);
		return;
	}
	if (producer)
		report_producer(root, &gate, producer, findings);
	else if (!state)
		report_this_user(root, &gate, findings);
	report_current_tracer(root, gate.tracefs, findings);
}
