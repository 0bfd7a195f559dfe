/* SPDX-License-Identifier: Apache-2.0
 * callstacks.c - walks the stack of the calling thread, and gives each stack of the process an id.
 *
 *   orma_callstack():  walk (self_space.c) -> hash of the addresses -> slot -> id
 *
 * As with names (interned_name.c), an id means the same in all sequences, and one bit for each sequence says that the reader
 * knows it. Stacks, frames (a module and an address in it) and modules have ids, from 1. They live as long as the process,
 * because readers may know them. They are found without a lock, and added under the mutex. track_limits.h limits them. A stack
 * beyond the limits has id 0, and its event is written without it.
 *
 * A stack is found by its addresses and the generation of the code, because the addresses of a closed library may be used again.
 * Its frames name modules by serial number. So stacks that differ in the generation alone share their frames.
 *
 * The first walk through a module fails, because its table is missing. Then this thread makes the table
 * (orma_self_space_refresh()) and walks again, so the first stack of a program takes milliseconds. Code outside of all modules,
 * such as that of a JIT compiler, makes every walk fail. The loader is then asked at most ten times a second, and the stack ends
 * at that code.
 *
 * Rejected: tables that the library's thread makes, because the first stacks would be missing, which are often the interesting
 * ones; addresses in the event, which take 330 bytes instead of 4.
 */
#include "track/callstacks.h"

#include <errno.h>
#include <orma/event_item.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "base/clock_ns.h"
#include "base/macros.h"
#include "schema/gen/interned_data.pb.h"
#include "schema/gen/profile_common.pb.h"
#include "unwind/self_space.h"

#define SLOTS            (ORMA_TRACK_STACKS_MAX * (size_t)2)
#define FRAME_SLOTS      (ORMA_TRACK_STACK_FRAMES_MAX * (size_t)2)
#define WALKS_MAX        16 /* each may find one more module without a table */
#define REFRESH_PAUSE_NS UINT64_C(100000000)
#define FACTOR           UINT64_C(0xff51afd7ed558ccd)

struct stack {
	uint64_t hash, generation;
	uint32_t count;
	uint32_t *frames; /* ids, innermost first; frames without a module are omitted */
	uint32_t frame_count;
	uint64_t addresses[];
};

struct frame {
	uint64_t rel_pc;
	uint32_t module; /* id */
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
/* `slots` has the ids by hash. Written under the mutex with release, and read by any thread with acquire. */
static struct stack *_Atomic stacks[ORMA_TRACK_STACKS_MAX];
static _Atomic uint32_t slots[SLOTS];
/* When the loader was asked in vain. Relaxed, because a thread that reads an older value only asks once
 * more. */
static _Atomic uint64_t refused_ns;
/* True if a limit was reached. Relaxed, because a thread that reads an older value only searches once
 * more. */
static _Atomic bool is_full;
/* Guarded by the mutex until their id is returned. Constant after that. */
static uint32_t stack_count, frame_count, module_count;
static struct frame frames[ORMA_TRACK_STACK_FRAMES_MAX];
static uint32_t frame_slots[FRAME_SLOTS];
static struct orma_self_module *modules[ORMA_TRACK_STACK_MODULES_MAX];

/* The bounds of this thread's stack; `high` 0 = not known yet. */
static __thread struct orma_self_stack own __attribute__((tls_model("initial-exec")));
/* True while this thread is in the slow part, where a traced allocator may emit events. */
static __thread bool is_inside __attribute__((tls_model("initial-exec")));

/* --- adding; the mutex is held ---------------------------------------------------------------- */

/* Returns the id of a module; 0 without memory, or if there are too many. */
static uint32_t add_module(const struct orma_self_module *module)
{
	for (uint32_t id = module_count; id > 0; id--)
		if (modules[id]->serial == module->serial)
			return id;
	if (module_count + 1 == ORMA_TRACK_STACK_MODULES_MAX)
		return 0;
	struct orma_self_module *copy = orma_base_memdup(module, sizeof(*module));
	if (!copy)
		return 0;
	modules[++module_count] = copy;
	return module_count;
}

static uint32_t add_frame(uint32_t module, uint64_t rel_pc)
{
	size_t at = (size_t)((rel_pc ^ (uint64_t)module << 40) * FACTOR >> 32) % FRAME_SLOTS;

	for (; frame_slots[at] > 0; at = (at + 1) % FRAME_SLOTS) {
		const struct frame *frame = &frames[frame_slots[at]];

		if (frame->module == module && frame->rel_pc == rel_pc)
			return frame_slots[at];
	}
	if (frame_count + 1 == ORMA_TRACK_STACK_FRAMES_MAX)
		return 0;
	frames[++frame_count] = (struct frame){rel_pc, module};
	frame_slots[at] = frame_count;
	return frame_count;
}

static struct stack *new_stack(uint64_t hash, uint64_t generation, const uint64_t *addresses,
			       uint32_t count)
{
	if (stack_count + 1 == ORMA_TRACK_STACKS_MAX)
		return NULL;
	size_t size = sizeof(struct stack) + count * (sizeof(uint64_t) + sizeof(uint32_t));
	struct stack *stack = orma_base_alloc(size);

	if (!stack)
		return NULL;
	*stack = (struct stack){.hash = hash, .generation = generation, .count = count};
	memcpy(stack->addresses, addresses, count * sizeof(uint64_t));
	stack->frames = (uint32_t *)(stack->addresses + count);
	for (uint32_t i = 0; i < count; i++) {
		struct orma_self_module module;

		if (!orma_self_space_find(addresses[i], &module))
			continue;
		uint32_t id = add_module(&module);
		uint32_t frame = id == 0 ? 0
					 : add_frame(id, addresses[i] - module.start +
								 module.offset + module.load_bias);
		if (frame == 0) {
			orma_base_free(stack);
			return NULL;
		}
		stack->frames[stack->frame_count++] = frame;
	}
	/* Readers refuse a stack without frames. */
	if (stack->frame_count > 0)
		return stack;
	orma_base_free(stack);
	return NULL;
}

/* --- finding ---------------------------------------------------------------------------------- */

/* Hashes in four lanes, whose multiplications do not wait for each other. */
static uint64_t hash_of(uint64_t generation, const uint64_t *addresses, uint32_t count)
{
	uint64_t lanes[4] = {generation, count, 2, 3};
	uint32_t i = 0;

	for (; i + 4 <= count; i += 4)
		for (uint32_t lane = 0; lane < 4; lane++)
			lanes[lane] = (lanes[lane] ^ addresses[i + lane]) * FACTOR;
	for (; i < count; i++)
		lanes[0] = (lanes[0] ^ addresses[i]) * FACTOR;
	uint64_t hash = lanes[0];
	for (uint32_t lane = 1; lane < 4; lane++)
		hash = (hash ^ hash >> 32 ^ lanes[lane]) * FACTOR;
	return hash ^ hash >> 32;
}

/* Returns the id of a stack, or 0. *ret_slot is the slot where it is or belongs. */
static uint32_t find(uint64_t hash, uint64_t generation, const uint64_t *addresses, uint32_t count,
		     size_t *ret_slot)
{
	uint32_t id;
	size_t at = hash % SLOTS;

	while ((id = atomic_load_explicit(&slots[at], memory_order_acquire)) > 0) {
		const struct stack *stack = atomic_load_explicit(&stacks[id], memory_order_relaxed);

		if (stack->hash == hash && stack->generation == generation &&
		    stack->count == count &&
		    memcmp(stack->addresses, addresses, count * sizeof(*addresses)) == 0)
			break;
		at = (at + 1) % SLOTS;
	}
	*ret_slot = at;
	return id;
}

static __attribute__((cold, noinline)) uint32_t add(uint64_t hash, uint64_t generation,
						    const uint64_t *addresses, uint32_t count)
{
	size_t slot;

	pthread_mutex_lock(&mutex);
	uint32_t id = find(hash, generation, addresses, count, &slot);
	struct stack *stack = id == 0 ? new_stack(hash, generation, addresses, count) : NULL;
	if (stack) {
		id = ++stack_count;
		atomic_store_explicit(&stacks[id], stack, memory_order_relaxed);
		atomic_store_explicit(&slots[slot], id, memory_order_release);
	}
	if (stack_count + 1 == ORMA_TRACK_STACKS_MAX ||
	    frame_count + 1 == ORMA_TRACK_STACK_FRAMES_MAX)
		atomic_store_explicit(&is_full, true, memory_order_relaxed);
	pthread_mutex_unlock(&mutex);
	return id;
}

/* --- the stack here --------------------------------------------------------------------------- */

/* Makes the tables that the walk lacked. True if another walk may succeed. */
static __attribute__((cold, noinline)) bool prepare(int error)
{
	uint64_t now_ns = orma_base_clock_ns(CLOCK_MONOTONIC);
	uint64_t refused = atomic_load_explicit(&refused_ns, memory_order_relaxed);
	bool may_succeed = false;

	if (error != -ESTALE || is_inside || now_ns - refused < REFRESH_PAUSE_NS)
		return false;
	is_inside = true;
	atomic_signal_fence(memory_order_seq_cst);
	may_succeed = orma_self_space_refresh() > 0;
	atomic_signal_fence(memory_order_seq_cst);
	is_inside = false;
	if (!may_succeed)
		atomic_store_explicit(&refused_ns, now_ns, memory_order_relaxed);
	return may_succeed;
}

static __attribute__((cold, noinline)) bool find_own_stack(void)
{
	struct orma_self_stack stack;

	if (is_inside)
		return false;
	is_inside = true;
	atomic_signal_fence(memory_order_seq_cst);
	int r = orma_self_stack_find(&stack);
	if (r == 0)
		own = stack;
	atomic_signal_fence(memory_order_seq_cst);
	is_inside = false;
	return r == 0;
}

static __attribute__((cold, noinline)) uint32_t
add_outside(uint64_t hash, uint64_t generation, const uint64_t *addresses, uint32_t count)
{
	if (is_inside || atomic_load_explicit(&is_full, memory_order_relaxed))
		return 0;
	is_inside = true;
	atomic_signal_fence(memory_order_seq_cst);
	uint32_t id = add(hash, generation, addresses, count);
	atomic_signal_fence(memory_order_seq_cst);
	is_inside = false;
	return id;
}

/* The walk begins in this function. Its own frame is omitted. */
__attribute__((noinline)) uint64_t orma_callstack(void)
{
	uint64_t addresses[ORMA_TRACK_STACK_DEPTH_MAX + 1];
	struct orma_unwind_registers registers;
	struct orma_self_frames walked;
	int saved_errno = errno, r;
	uint32_t id = 0;
	size_t slot;

	if (ORMA_UNLIKELY(own.high == 0) && !find_own_stack())
		return 0;
	orma_self_registers(&registers);
	for (int i = 0; i < WALKS_MAX; i++) {
		r = orma_self_walk(&registers, &own, addresses, ORMA_ARRAY_SIZE(addresses),
				   &walked);
		if (ORMA_LIKELY(r == 0) || !prepare(r))
			break;
	}
	/* A part of a stack is better than none. */
	if (walked.count > 1) {
		const uint64_t *first = addresses + 1;
		uint32_t count = (uint32_t)walked.count - 1;
		uint64_t hash = hash_of(walked.generation, first, count);

		id = find(hash, walked.generation, first, count, &slot);
		if (ORMA_UNLIKELY(id == 0))
			id = add_outside(hash, walked.generation, first, count);
	}
	errno = saved_errno;
	return id;
}

void orma_track_stacks_forked(void)
{
	/* The thread that may have held the mutex does not exist here. At worst an id is lost. */
	pthread_mutex_init(&mutex, NULL);
	orma_self_space_forked();
}

/* --- declaring -------------------------------------------------------------------------------- */

bool orma_track_stack_exists(uint64_t id)
{
	return id > 0 && id < ORMA_TRACK_STACKS_MAX &&
	       atomic_load_explicit(&stacks[id], memory_order_acquire) != NULL;
}

static void write_text(struct orma_proto_writer *writer, uint32_t field, uint32_t id,
		       const void *bytes, size_t size)
{
	struct orma_proto_nested nested;

	orma_proto_nested_begin(writer, &nested, field);
	orma_proto_write_varint(writer, ORMA_PB_INTERNED_STRING_IID, id);
	orma_proto_write_bytes(writer, ORMA_PB_INTERNED_STRING_STR, bytes, size);
	orma_proto_nested_end(writer, &nested);
}

/* The texts of a module have its id, too. */
static void write_module(struct orma_proto_writer *writer, uint32_t id)
{
	const struct orma_self_module *module = modules[id];
	struct orma_proto_nested nested;

	write_text(writer, ORMA_PB_INTERNED_DATA_BUILD_IDS, id, module->build_id,
		   module->build_id_size);
	write_text(writer, ORMA_PB_INTERNED_DATA_MAPPING_PATHS, id, module->path,
		   strlen(module->path));
	orma_proto_nested_begin(writer, &nested, ORMA_PB_INTERNED_DATA_MAPPINGS);
	orma_proto_write_varint(writer, ORMA_PB_MAPPING_IID, id);
	orma_proto_write_varint(writer, ORMA_PB_MAPPING_BUILD_ID, id);
	orma_proto_write_varint(writer, ORMA_PB_MAPPING_START_OFFSET, module->offset);
	orma_proto_write_varint(writer, ORMA_PB_MAPPING_START, module->start);
	orma_proto_write_varint(writer, ORMA_PB_MAPPING_END, module->end);
	orma_proto_write_varint(writer, ORMA_PB_MAPPING_LOAD_BIAS, module->load_bias);
	orma_proto_write_varint(writer, ORMA_PB_MAPPING_PATH_STRING_IDS, id);
	orma_proto_write_varint(writer, ORMA_PB_MAPPING_EXACT_OFFSET, module->offset);
	orma_proto_nested_end(writer, &nested);
}

static void write_frame(struct orma_proto_writer *writer, uint32_t id)
{
	struct orma_proto_nested nested;

	orma_proto_nested_begin(writer, &nested, ORMA_PB_INTERNED_DATA_FRAMES);
	orma_proto_write_varint(writer, ORMA_PB_FRAME_IID, id);
	orma_proto_write_varint(writer, ORMA_PB_FRAME_MAPPING_ID, frames[id].module);
	orma_proto_write_varint(writer, ORMA_PB_FRAME_REL_PC, frames[id].rel_pc);
	orma_proto_nested_end(writer, &nested);
}

/* A frame or module that occurs twice in a stack is written twice, which readers accept. */
void orma_track_stack_write(const struct orma_track_sequence *sequence, uint64_t id,
			    struct orma_proto_writer *writer)
{
	const struct stack *stack = atomic_load_explicit(&stacks[id], memory_order_acquire);
	const struct orma_track_known_stacks *known = sequence->stacks;
	struct orma_proto_nested nested;
	uint32_t last_module = 0;

	for (uint32_t i = 0; i < stack->frame_count; i++) {
		uint32_t frame = stack->frames[i], module = frames[frame].module;

		if (module != last_module &&
		    (!known || !orma_track_has_bit(known->mappings, module)))
			write_module(writer, module);
		last_module = module;
		if (!known || !orma_track_has_bit(known->frames, frame))
			write_frame(writer, frame);
	}
	orma_proto_nested_begin(writer, &nested, ORMA_PB_INTERNED_DATA_CALLSTACKS);
	orma_proto_write_varint(writer, ORMA_PB_CALLSTACK_IID, id);
	for (uint32_t i = stack->frame_count; i > 0; i--)
		orma_proto_write_varint(writer, ORMA_PB_CALLSTACK_FRAME_IDS, stack->frames[i - 1]);
	orma_proto_nested_end(writer, &nested);
}

void orma_track_stack_commit(struct orma_track_sequence *sequence, uint64_t id)
{
	const struct stack *stack = atomic_load_explicit(&stacks[id], memory_order_acquire);

	if (!sequence->stacks)
		sequence->stacks = orma_base_zalloc(sizeof(*sequence->stacks));
	if (!sequence->stacks)
		return;
	orma_track_set_bit(sequence->stacks->stacks, (uint32_t)id);
	for (uint32_t i = 0; i < stack->frame_count; i++) {
		orma_track_set_bit(sequence->stacks->frames, stack->frames[i]);
		orma_track_set_bit(sequence->stacks->mappings, frames[stack->frames[i]].module);
	}
}
