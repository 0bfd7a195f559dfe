/* SPDX-License-Identifier: Apache-2.0
 * mann_whitney.h - whether the values of two groups of runs differ by more than chance.
 */
#ifndef ORMA_ANSWERS_MANN_WHITNEY_H
#define ORMA_ANSWERS_MANN_WHITNEY_H

#include <stddef.h>

/* A group is at most this large. */
enum { ORMA_RUNS_MAX = 100 };

/*
 * The Mann-Whitney U test (Wilcoxon's rank-sum test), two-sided: how likely two groups from one distribution would differ
 * at least as much. Exact in groups of up to 10 values, else by the normal distribution with corrections for ties and
 * continuity. A value is a number. Returns NaN when a group has fewer than 2 values or more than ORMA_RUNS_MAX.
 */
double orma_mann_whitney(const double *a, size_t a_count, const double *b, size_t b_count);
/* The least result that groups of these sizes can have. */
double orma_mann_whitney_least(size_t a_count, size_t b_count);

#endif
