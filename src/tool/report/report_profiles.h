/* SPDX-License-Identifier: Apache-2.0
 * report_profiles.h - the profiles of a report: tables of functions, and the data of flame graphs.
 */
#ifndef ORMA_TOOL_REPORT_PROFILES_H
#define ORMA_TOOL_REPORT_PROFILES_H

#include "answers/profile_trees.h"
#include "base/buf.h"

/* Tells whether there is anything to show. */
bool orma_report_has_profiles(const struct orma_profile_trees *trees);
/* Appends a section with a table for each tree, and a place for its flame graph. With `is_comparison` both sides are in one table. At most
 * `top` functions. 0 or a negative errno value. */
int orma_report_append_profiles(const struct orma_profile_trees *trees, bool is_comparison,
				size_t top, struct orma_buf *html);
/* Appends the elements with the nodes of flame graphs, which docs/report-format.md describes. 0 or -ENOMEM. */
int orma_report_append_flames(const struct orma_profile_trees *trees, bool is_comparison,
			      struct orma_buf *html);

#endif
