/* SPDX-License-Identifier: Apache-2.0
 * ctf_track_class.h - how the events of a class become track events. Private to formats.
 */
#ifndef ORMA_FORMATS_CTF_TRACK_CLASS_H
#define ORMA_FORMATS_CTF_TRACK_CLASS_H

#include "formats/ctf_output.h"

enum orma_ctf_meaning {
	ORMA_CTF_IS_INSTANT,
	ORMA_CTF_IS_ENTRY,   /* a function is entered: a slice begins */
	ORMA_CTF_IS_EXIT,    /* the slice ends */
	ORMA_CTF_IS_MESSAGE, /* an instant whose name is the text */
};

/* A class of events, prepared once, so that its events need no search for names. The steps belong to the event's plan. */
struct orma_ctf_track_class {
	uint32_t category, name; /* in the trace's names; 0 = none */
	uint32_t generation;     /* the stream whose sequence has the names */
	enum orma_ctf_meaning meaning;
	bool has_level; /* the event's name is the level of a message */
	/* The steps that read these fields; NULL = the class has no such field. */
	const struct orma_ctf_step *pid, *tid, *thread_name, *text;
};

/* Adds the names of the class to `names`. 0 or -ENOMEM. */
int orma_ctf_track_class_init(struct orma_ctf_track_class *class, struct orma_ctf_names *names,
			      const struct orma_ctf_event *event);

#endif
