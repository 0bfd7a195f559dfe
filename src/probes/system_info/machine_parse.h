/* SPDX-License-Identifier: Apache-2.0
 * machine_parse.h - parses /proc/cpuinfo and /proc/interrupts.
 */
#ifndef ORMA_PROBES_MACHINE_PARSE_H
#define ORMA_PROBES_MACHINE_PARSE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

/* The order is that of the fields of ArmCpuIdentifier. */
enum {
	ORMA_ARM_IMPLEMENTER,
	ORMA_ARM_ARCHITECTURE,
	ORMA_ARM_VARIANT,
	ORMA_ARM_PART,
	ORMA_ARM_REVISION,
	ORMA_ARM_COUNT
};

struct orma_probes_cpu {
	uint32_t number;
	struct orma_str processor; /* model text; "unknown" without one */
	uint32_t arm[ORMA_ARM_COUNT];
	uint32_t arm_present; /* bit per value */
	uint64_t features;    /* the protocol's bit mask */
};

/* Walks over the text of /proc/cpuinfo; strings point into it. */
struct orma_probes_cpuinfo {
	struct orma_str rest;
	struct orma_str
		processor; /* text of a "Processor" line, which describes all following CPUs */
};

bool orma_probes_cpuinfo_next(struct orma_probes_cpuinfo *cpuinfo, struct orma_probes_cpu *ret);

struct orma_probes_interrupt {
	uint32_t number;
	struct orma_str name; /* the names of its handlers; may have runs of spaces */
};

/* Walks over the text of /proc/interrupts. */
struct orma_probes_interrupts {
	struct orma_str rest;
	uint32_t cpu_count;
};

void orma_probes_interrupts_init(struct orma_probes_interrupts *interrupts, struct orma_str text);
/* Returns the next interrupt that has a number and a name; the kernel's own counts (NMI, LOC, ...)
 * are skipped. */
bool orma_probes_interrupts_next(struct orma_probes_interrupts *interrupts,
				 struct orma_probes_interrupt *ret);

#endif
