/* SPDX-License-Identifier: Apache-2.0
 * doctor.h - the three examinations of `orma doctor`. Each adds what it finds.
 */
#ifndef ORMA_TOOL_DOCTOR_H
#define ORMA_TOOL_DOCTOR_H

#include <orma/error.h>

#include "base/str.h"
#include "schema/gen/service_state.pb.h"
#include "tool/doctor/findings.h"

/* The state of the running daemon, if there is one. */
struct orma_doctor_daemon {
	int error;                 /* 0, or why there is no state: an error of orma_session_new() */
	struct orma_error message; /* its text; may be empty */
	void *data;                /* `state` points into it */
	struct orma_arena arena;
	struct orma_pb_tracing_service_state *state; /* NULL = not known */
};

void orma_doctor_daemon_ask(struct orma_doctor_daemon *ret);
bool orma_doctor_daemon_offers(const struct orma_doctor_daemon *daemon, struct orma_str source);
void orma_doctor_daemon_done(struct orma_doctor_daemon *daemon);

/* Examines this machine: the daemon, tracefs, kernel settings, clocks and memory. `root` precedes
 * /proc and /sys; "" = this machine. */
void orma_doctor_examine_system(const char *root, const struct orma_doctor_daemon *daemon,
				struct orma_findings *findings);
/* The part of it that concerns events of the kernel. */
void orma_doctor_examine_tracefs(const char *root, const struct orma_doctor_daemon *daemon,
				 struct orma_findings *findings);
/* Examines a trace (file or pipe). */
void orma_doctor_examine_trace(int fd, struct orma_findings *findings);
/* Examines a config (text or binary; "-" = standard input). */
void orma_doctor_examine_config(const char *path, const char *root,
				const struct orma_doctor_daemon *daemon,
				struct orma_findings *findings);

#endif
