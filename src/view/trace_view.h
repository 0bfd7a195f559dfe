/* SPDX-License-Identifier: Apache-2.0
 * trace_view.h - what the page of `orma view` asks about a trace: one function per question.
 *
 * No sockets and no threads here: a function takes the body of a request and appends the body of the answer.
 * view_server.h says on which thread each of them runs.
 */
#ifndef ORMA_VIEW_TRACE_VIEW_H
#define ORMA_VIEW_TRACE_VIEW_H

#include <orma/error.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"

struct orma_trace_database;
struct orma_view;

/*
 * `database` is borrowed and outlives the view; `title`, the name of the file, is copied. Runs on the worker's thread. 0 or
 * a negative errno value.
 */
int orma_view_new(struct orma_trace_database *database, const char *title, struct orma_view **ret);
void orma_view_free(struct orma_view *view);
/* Answers say which state of a trace they are of, and whether it grows; 0 and no at first. */
void orma_view_set_generation(struct orma_view *view, uint32_t generation, bool is_live);
/*
 * Questions that are not quick end with -ECANCELED within milliseconds of the time when *is_stopped becomes true. NULL, as at
 * first = nothing stops them. It is borrowed, and set on the worker's thread.
 */
void orma_view_set_stop(struct orma_view *view, const atomic_bool *is_stopped);

/*
 * Answers a request. `ret` is empty at first and is the answer's body at 0. The errors are -EINVAL (the request is wrong),
 * -ENOENT (it names something that is not there), -ECANCELED and -ENOMEM. An error without a text in reterr gets one.
 */
typedef int orma_view_fn(struct orma_view *view, struct orma_str request, struct orma_buf *ret,
			 struct orma_error *reterr);

struct orma_view_route {
	const char *name; /* /api/<name> */
	orma_view_fn *fn;
	/* It answers on the loop's thread: it takes milliseconds, uses no SQL, and only reads what does not change any more. */
	bool is_quick;
	bool is_json; /* its answer is JSON, else it is binary */
};

/* A route without a name ends the table. */
extern const struct orma_view_route orma_view_routes[];

#endif
