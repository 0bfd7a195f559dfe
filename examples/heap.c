/* SPDX-License-Identifier: Apache-2.0
 * heap.c - an allocator of the program's own that the heap profiler sees: a pool of messages.
 *
 *	cc heap.c $(pkg-config --cflags --libs orma-heap) -o heap && ./heap
 *
 * A recording of android.heapprofd with `heaps: "example.messages"` in its heapprofd_config shows which functions hold
 * messages. The reports cost almost nothing while nobody records.
 */
#include <orma-heap/heap_profile.h>
#include <stddef.h>
#include <stdio.h>

#define POOL_MESSAGES 64

struct message {
	struct message *next_free;
	char text[56];
};

static struct message messages[POOL_MESSAGES], *first_free;
static uint32_t heap;

static void pool_init(void)
{
	heap = orma_heap_register(orma_heap_new("example.messages"));
	for (size_t i = 0; i < POOL_MESSAGES; i++) {
		messages[i].next_free = first_free;
		first_free = &messages[i];
	}
}

static struct message *message_new(void)
{
	struct message *message = first_free;

	if (!message)
		return NULL;
	first_free = message->next_free;
	orma_heap_report_allocation(heap, (uintptr_t)message, sizeof(*message));
	return message;
}

/* The report comes first: afterwards another message may have the same address. */
static void message_free(struct message *message)
{
	orma_heap_report_free(heap, (uintptr_t)message);
	message->next_free = first_free;
	first_free = message;
}

int main(void)
{
	struct message *message;
	size_t held = 0;

	pool_init();
	for (unsigned i = 0; i < 1000; i++) {
		message = message_new();
		/* A program that leaks: of ten messages, nine are given back. */
		if (message && i % 10 != 0)
			message_free(message);
		else if (message)
			held++;
	}
	printf("%zu of %d messages are never freed\n", held, POOL_MESSAGES);
	return 0;
}
