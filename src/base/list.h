/* SPDX-License-Identifier: Apache-2.0
 * list.h - intrusive circular doubly linked list; the head of an empty list points at itself.
 *
 * Invariant: for every link, link->next->prev == link and link->prev->next == link. A link that is
 * not in a list points at itself.
 */
#ifndef ORMA_BASE_LIST_H
#define ORMA_BASE_LIST_H

#include <stdbool.h>

#include "base/assert.h"
#include "base/macros.h"

struct orma_list {
	struct orma_list *prev, *next;
};

static inline void orma_base_list_init(struct orma_list *head)
{
	head->prev = head->next = head;
}

static inline bool orma_base_list_is_empty(const struct orma_list *head)
{
	ORMA_ASSERT((head->next == head) == (head->prev == head));
	return head->next == head;
}

static inline void orma_base_list_insert_before(struct orma_list *at, struct orma_list *item)
{
	ORMA_ASSERT(item != at && at->prev->next == at && at->next->prev == at);
	item->prev = at->prev;
	item->next = at;
	at->prev->next = item;
	at->prev = item;
}

static inline void orma_base_list_append(struct orma_list *head, struct orma_list *item)
{
	orma_base_list_insert_before(head, item);
}

/* The item is an empty list afterwards, so removing it again is harmless. */
static inline void orma_base_list_remove(struct orma_list *item)
{
	ORMA_ASSERT(item->prev->next == item && item->next->prev == item);
	item->prev->next = item->next;
	item->next->prev = item->prev;
	item->prev = item->next = item;
}

#define ORMA_LIST_ENTRY(item, type, member) ORMA_CONTAINER_OF(item, type, member)

/* `var` is a `struct type *`. The body must not remove `var`; the _SAFE form allows it. */
#define ORMA_LIST_FOR_EACH(var, head, member)                                                      \
	for ((var) = ORMA_LIST_ENTRY((head)->next, __typeof__(*(var)), member);                    \
	     &(var)->member != (head);                                                             \
	     (var) = ORMA_LIST_ENTRY((var)->member.next, __typeof__(*(var)), member))

#define ORMA_LIST_FOR_EACH_SAFE(var, next_var, head, member)                                       \
	for ((var) = ORMA_LIST_ENTRY((head)->next, __typeof__(*(var)), member),                    \
	    (next_var) = ORMA_LIST_ENTRY((var)->member.next, __typeof__(*(var)), member);          \
	     &(var)->member != (head); (var) = (next_var),                                         \
	    (next_var) = ORMA_LIST_ENTRY((var)->member.next, __typeof__(*(var)), member))

#endif
