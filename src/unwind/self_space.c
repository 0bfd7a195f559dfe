/* SPDX-License-Identifier: Apache-2.0
 * self_space.c - the modules of this process, published for walks that take no lock.
 *
 * Owns one snapshot, an array of modules with their tables. Once `current` points to it, nothing in it
 * changes but `is_wanted`. A refresh makes the next snapshot, publishes it, waits until no walk uses the
 * old one, and frees what only that one had.
 *
 * A walk borrows a walker (self_walkers.c), which has a cache of rules, and returns it at its end:
 *
 *   walk                                 refresh
 *   1. busy: 0 -> sp     (seq_cst)       a. current = new   (seq_cst)
 *   2. snapshot = current (seq_cst)      b. for each walker: wait until busy is 0, or `turn` has
 *   3. ... reads snapshot, tables ...       changed since a
 *   4. turn + 1, busy = 0 (release)      c. free old
 *
 * If b sees busy = 0 for a walker, a later walk with it does its step 1 after that load, so its step 2
 * sees the new snapshot. If b sees another value, the walk may have the old snapshot, and b waits for
 * its end. A walk takes less than a microsecond, unless its thread is preempted or stopped. After
 * WAIT_MS the old snapshot is kept in `retired`, and the next refresh tries again. So no snapshot is
 * freed while a walk uses it, and no thread waits longer than WAIT_MS.
 *
 * A module stays pending until a walk needs it, so that only tables which walks need take memory.
 *
 * Tables are made from memory, where PT_GNU_EH_FRAME leads to .eh_frame. No file is opened, because
 * another file may lie at the path of a module by now. The bytes are copied inside dl_iterate_phdr(),
 * where the dynamic loader's lock keeps the module loaded. The table is built after that. The mutex is
 * taken inside of the loader's lock, and never the other way round. So a function that the program runs
 * inside of dl_iterate_phdr() may walk, refresh and find.
 *
 * Rejected: hazard pointers with membarrier(), because sandboxes forbid that call (a walk would be 10 ns
 * faster); _dl_find_object() for each frame, which needs glibc 2.35 and takes 20 ns.
 */
#include "unwind/self_space.h"

#include <elf.h>
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/macros.h"
#include "unwind/self_image.h"
#include "unwind/self_modules.h"
#include "unwind/self_walkers.h"

#define MODULES_MAX     4096u
#define WAIT_MS         20u
#define TABLE_BYTES_MAX ((size_t)64 << 20)

/* An executable segment. Snapshots share it; the mutex guards the count. */
struct module {
	struct orma_self_module info;
	uint64_t bias;
	struct orma_unwind_table *table; /* NULL = not built, or there is none */
	uint32_t refs;
	bool is_built; /* also when that has failed */
};

struct snapshot {
	struct snapshot *next;    /* among the retired ones */
	uint64_t generation;      /* which rules in caches are valid */
	uint64_t code_generation; /* changes when a module goes */
	size_t count;
	struct orma_unwind_module *spans; /* the array for orma_unwind_walk() */
	struct module **modules;          /* modules[i] is spans[i] */
	_Atomic bool *is_wanted;          /* relaxed; set by walks, read by refreshes */
};

/* Written under the mutex, before and after walks as the preface says. */
static struct snapshot *_Atomic current;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
/* Guarded by mutex. */
static struct snapshot *retired;
static uint64_t last_module_serial, last_generation, code_generation;
static unsigned long long last_module_adds, last_module_subs;
static size_t table_bytes;

#if (defined(__x86_64__) && defined(__LP64__)) || defined(__aarch64__)
#define HAS_WALK true
#else
#define HAS_WALK false
#endif
#ifdef __aarch64__
#define OWN_MACHINE EM_AARCH64
#else
#define OWN_MACHINE EM_X86_64
#endif

/* --- walking ---------------------------------------------------------------------------------- */

/* The index of the span at an address, or SIZE_MAX. */
static size_t find_span(const struct snapshot *snapshot, uint64_t address)
{
	const struct orma_unwind_module *span =
		orma_unwind_find_module(snapshot->spans, snapshot->count, address);

	return span ? (size_t)(span - snapshot->spans) : SIZE_MAX;
}

static int judge(const struct snapshot *snapshot, const struct orma_unwind_result *result,
		 const uint64_t *addresses)
{
	size_t span;

	switch (result->end) {
	case ORMA_UNWIND_END_OUTERMOST:
	case ORMA_UNWIND_END_FRAMES_MAX:
		return 0;
	case ORMA_UNWIND_END_PENDING:
		span = find_span(snapshot, addresses[result->frame_count - 1]);
		atomic_store_explicit(&snapshot->is_wanted[span], true, memory_order_relaxed);
		return -ESTALE;
	case ORMA_UNWIND_END_NO_RULE:
		span = find_span(snapshot, addresses[result->frame_count - 1]);
		return span == SIZE_MAX ? -ESTALE : -ENODATA;
	case ORMA_UNWIND_END_NO_STACK:
	case ORMA_UNWIND_END_NO_GROWTH:
		break;
	}
	return -EFAULT;
}

static struct orma_unwind_space space_of(const struct snapshot *snapshot,
					 struct orma_self_walker *walker)
{
	return (struct orma_unwind_space){
		.modules = snapshot->spans,
		.module_count = snapshot->count,
#ifdef __aarch64__
		.is_arm64 = true,
#endif
		.generation = snapshot->generation,
		.cache = walker->cache,
		.cache_count = ORMA_SELF_CACHE_SLOTS,
		.memo = &walker->memo,
	};
}

int orma_self_walk(const struct orma_unwind_registers *registers,
		   const struct orma_self_stack *stack, uint64_t *ret_addresses, size_t max,
		   struct orma_self_frames *ret)
{
	const struct orma_unwind_stack bytes = {
		.address = registers->sp,
		.bytes = (const void *)(uintptr_t)registers->sp,
		.size = stack->high - (uintptr_t)registers->sp,
	};

	*ret = (struct orma_self_frames){0};
	if (!HAS_WALK)
		return -ENOTSUP;
	if (registers->sp < stack->low || registers->sp >= stack->high)
		return -EFAULT;
	struct orma_self_walker *walker;
	int r = orma_self_walker_borrow((uintptr_t)registers->sp, stack->low, stack->high, &walker);
	if (r < 0)
		return r;
	const struct snapshot *snapshot = atomic_load(&current);
	r = -ESTALE;
	if (snapshot) {
		struct orma_unwind_space space = space_of(snapshot, walker);
		struct orma_unwind_result result =
			orma_unwind_walk(&space, registers, &bytes, ret_addresses, max);

		*ret = (struct orma_self_frames){
			.count = result.frame_count,
			.fp_count = result.fp_count,
			.generation = snapshot->code_generation,
			.end = result.end,
		};
		r = judge(snapshot, &result, ret_addresses);
	}
	orma_self_walker_return(walker);
	return r;
}

/* --- memory; the mutex is held ---------------------------------------------------------------- */

static void unref_module(struct module *module)
{
	if (--module->refs > 0)
		return;
	if (module->table)
		table_bytes -= orma_unwind_table_facts(module->table).bytes;
	orma_unwind_table_free(module->table);
	orma_base_free(module);
}

static void free_snapshot(struct snapshot *snapshot)
{
	for (size_t i = 0; snapshot && i < snapshot->count; i++)
		unref_module(snapshot->modules[i]);
	if (!snapshot)
		return;
	orma_base_free(snapshot->spans);
	orma_base_free(snapshot->modules);
	orma_base_free(snapshot->is_wanted);
	orma_base_free(snapshot);
}

static struct snapshot *new_snapshot(size_t count)
{
	struct snapshot *snapshot = orma_base_zalloc(sizeof(*snapshot));

	if (!snapshot)
		return NULL;
	snapshot->spans = orma_base_alloc_array(count + 1, sizeof(*snapshot->spans));
	snapshot->modules = orma_base_alloc_array(count + 1, sizeof(struct module *));
	snapshot->is_wanted = orma_base_alloc_array(count + 1, sizeof(*snapshot->is_wanted));
	if (!snapshot->spans || !snapshot->modules || !snapshot->is_wanted) {
		free_snapshot(snapshot);
		return NULL;
	}
	return snapshot;
}

/* Publishes a snapshot, and frees those before it. */
static void publish(struct snapshot *snapshot)
{
	struct snapshot *old = atomic_load_explicit(&current, memory_order_relaxed);

	atomic_store(&current, snapshot);
	if (old) {
		old->next = retired;
		retired = old;
	}
	if (!retired || !orma_self_walkers_wait(WAIT_MS))
		return;
	while (retired) {
		old = retired;
		retired = old->next;
		free_snapshot(old);
	}
}

/* --- the dynamic loader's modules -------------------------------------------------------------- */

/* The .eh_frame of a module that a table is to be built for. */
struct wanted {
	struct module *module;
	struct orma_buf bytes;
	uint64_t address; /* in the file */
	int error;
};

struct visit {
	struct module **found; /* MODULES_MAX */
	size_t count, kept;
	const struct snapshot *old;
	bool has_mutex, has_news, has_wanted, is_first;
	unsigned long long adds, subs;
	struct wanted wanted[8]; /* the next refresh builds further ones */
	size_t wanted_count;
	int error;
};

static bool is_same(const struct orma_self_module *a, const struct orma_self_module *b)
{
	return a->start == b->start && a->end == b->end && a->offset == b->offset &&
	       a->load_bias == b->load_bias && a->build_id_size == b->build_id_size &&
	       memcmp(a->build_id, b->build_id, a->build_id_size) == 0 &&
	       strcmp(a->path, b->path) == 0;
}

/* Returns a reference to the module of this segment: that of the last snapshot, or a new one. */
static struct module *take_module(struct visit *visit, const struct dl_phdr_info *info,
				  const ElfW(Phdr) * segment, bool *ret_is_wanted)
{
	struct orma_self_module description;

	orma_self_image_describe(info, segment, &description);
	size_t idx = visit->old ? find_span(visit->old, description.start) : SIZE_MAX;
	if (idx != SIZE_MAX && is_same(&visit->old->modules[idx]->info, &description)) {
		struct module *known = visit->old->modules[idx];

		*ret_is_wanted =
			!known->is_built &&
			atomic_load_explicit(&visit->old->is_wanted[idx], memory_order_relaxed);
		known->refs++;
		visit->kept++;
		return known;
	}
	struct module *module = orma_base_zalloc(sizeof(*module));
	if (!module)
		return NULL;
	module->info = description;
	module->info.serial = ++last_module_serial;
	module->bias = info->dlpi_addr;
	module->refs = 1;
	visit->has_news = true;
	return module;
}

static bool has_wanted(const struct snapshot *snapshot)
{
	bool result = false;

	for (size_t i = 0; snapshot && i < snapshot->count; i++)
		result = result ||
			 atomic_load_explicit(&snapshot->is_wanted[i], memory_order_relaxed);
	return result;
}

/* Takes the mutex, which the caller of the visit releases. */
static void begin_visit(struct visit *visit)
{
	pthread_mutex_lock(&mutex);
	visit->has_mutex = true;
	visit->old = atomic_load_explicit(&current, memory_order_relaxed);
	visit->has_wanted = has_wanted(visit->old);
	visit->error = orma_self_walkers_make();
}

/* Runs while the dynamic loader's lock is held. Libraries change seldom, so it is compiled for size. */
__attribute__((cold)) static int visit_module(struct dl_phdr_info *info, size_t size, void *ctx)
{
	struct visit *visit = ctx;

	if (!visit->has_mutex)
		begin_visit(visit);
	if (visit->error < 0)
		return 1;
	if (visit->is_first && size >= offsetof(struct dl_phdr_info, dlpi_subs) + 8) {
		visit->adds = info->dlpi_adds;
		visit->subs = info->dlpi_subs;
		visit->is_first = false;
		/* The C library counts loads and unloads, and there was none. */
		if (visit->old && !visit->has_wanted && visit->adds == last_module_adds &&
		    visit->subs == last_module_subs)
			return 1;
	}
	if (!visit->found)
		visit->found = orma_base_alloc(MODULES_MAX * sizeof(struct module *));
	if (!visit->found) {
		visit->error = -ENOMEM;
		return 1;
	}
	for (uint32_t i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
		bool is_wanted = false;

		if (segment->p_type != PT_LOAD || !(segment->p_flags & PF_X) ||
		    visit->count == MODULES_MAX)
			continue;
		struct module *module = take_module(visit, info, segment, &is_wanted);
		if (!module) {
			visit->error = -ENOMEM;
			return 1;
		}
		visit->found[visit->count++] = module;
		if (!is_wanted || visit->wanted_count == ORMA_ARRAY_SIZE(visit->wanted))
			continue;
		struct wanted *wanted = &visit->wanted[visit->wanted_count++];
		wanted->module = module;
		wanted->error =
			orma_self_image_copy_eh_frame(info, &wanted->bytes, &wanted->address);
	}
	return 0;
}

/* --- refreshing ------------------------------------------------------------------------------- */

static void build_table(const struct wanted *wanted)
{
	struct module *module = wanted->module;
	struct orma_elf_file file = {
		.fd = -1,
		.image = wanted->bytes.data,
		.size = wanted->bytes.size,
		.machine = OWN_MACHINE,
		.eh_frame = {.size = wanted->bytes.size, .address = wanted->address},
	};

	int r = wanted->error;
	if (r == 0 && table_bytes >= TABLE_BYTES_MAX)
		r = -EFBIG;
	if (r == 0)
		r = orma_unwind_table_new(&file, &module->table);
	/* After -ENOMEM, the next refresh tries again. */
	module->is_built = r != -ENOMEM;
	if (r == 0)
		table_bytes += orma_unwind_table_facts(module->table).bytes;
}

static int compare_modules(const void *left, const void *right)
{
	const struct module *a = *(struct module *const *)left, *b = *(struct module *const *)right;

	return (a->info.start > b->info.start) - (a->info.start < b->info.start);
}

/* The snapshot takes over the references to the modules that were found. */
static struct snapshot *make_snapshot(struct visit *visit)
{
	struct snapshot *snapshot = new_snapshot(visit->count);

	if (!snapshot)
		return NULL;
	qsort(visit->found, visit->count, sizeof(struct module *), compare_modules);
	for (size_t i = 0; i < visit->count; i++) {
		struct module *module = visit->found[i];

		snapshot->modules[i] = module;
		snapshot->spans[i] = (struct orma_unwind_module){
			.start = module->info.start,
			.end = module->info.end,
			.bias = module->bias,
			.table_number = module->info.serial,
			.table = module->table,
			.is_pending = !module->is_built,
		};
	}
	snapshot->count = visit->count;
	if (visit->old && visit->kept < visit->old->count)
		code_generation++;
	snapshot->generation = ++last_generation;
	snapshot->code_generation = code_generation;
	last_module_adds = visit->adds;
	last_module_subs = visit->subs;
	return snapshot;
}

static int refresh_locked(struct visit *visit)
{
	if (visit->error < 0)
		return visit->error;
	bool is_same_code = visit->old && !visit->has_news && visit->kept == visit->old->count;
	if (visit->count == 0 || (is_same_code && visit->wanted_count == 0))
		return 0;
	for (size_t i = 0; i < visit->wanted_count; i++)
		build_table(&visit->wanted[i]);
	struct snapshot *snapshot = make_snapshot(visit);
	if (!snapshot)
		return -ENOMEM;
	visit->count = 0;
	publish(snapshot);
	return 1;
}

__attribute__((cold)) int orma_self_space_refresh(void)
{
	struct visit visit = {.is_first = true};

	if (!HAS_WALK)
		return -ENOTSUP;
	if (orma_self_modules_visit(visit_module, &visit) < 0 || !visit.has_mutex)
		return 0;
	int r = refresh_locked(&visit);
	for (size_t i = 0; i < visit.count; i++)
		unref_module(visit.found[i]);
	pthread_mutex_unlock(&mutex);
	for (size_t i = 0; i < visit.wanted_count; i++)
		orma_base_buf_done(&visit.wanted[i].bytes);
	orma_base_free(visit.found);
	return r;
}

__attribute__((cold)) void orma_self_space_forked(void)
{
	pthread_mutex_init(&mutex, NULL);
	orma_self_walkers_forked();
}

/* --- facts ------------------------------------------------------------------------------------ */

__attribute__((cold)) bool orma_self_space_find(uint64_t pc, struct orma_self_module *ret)
{
	pthread_mutex_lock(&mutex);
	const struct snapshot *snapshot = atomic_load_explicit(&current, memory_order_relaxed);
	size_t idx = snapshot ? find_span(snapshot, pc) : SIZE_MAX;
	if (idx != SIZE_MAX)
		*ret = snapshot->modules[idx]->info;
	pthread_mutex_unlock(&mutex);
	return idx != SIZE_MAX;
}

__attribute__((cold)) struct orma_self_space_facts orma_self_space_facts(void)
{
	struct orma_self_space_facts facts = {0};

	pthread_mutex_lock(&mutex);
	const struct snapshot *snapshot = atomic_load_explicit(&current, memory_order_relaxed);
	for (size_t i = 0; snapshot && i < snapshot->count; i++)
		facts.table_count += snapshot->modules[i]->table != NULL;
	facts.module_count = snapshot ? (uint32_t)snapshot->count : 0;
	facts.bytes = table_bytes + facts.module_count * (sizeof(struct module) + 64);
	pthread_mutex_unlock(&mutex);
	return facts;
}
