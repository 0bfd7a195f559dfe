/* SPDX-License-Identifier: Apache-2.0
 * dwarf_lines.c - finds the functions at an address with libdw, which reads DWARF.
 *
 * A sorted list of ranges, which is made once, leads from an address to its compilation unit. (.debug_aranges would do the same, but
 * clang does not write it.) The functions of a unit are listed when the first address in it is looked up. So an address costs two
 * searches by halving and a walk through one function. Rejected: dwarf_getscopes(), which walks through the whole unit for each
 * address.
 *
 * libdw is loaded only when it is needed, because one of its constructors loads libdebuginfod and libcurl, which would slow down
 * `orma record`. DEBUGINFOD_URLS is removed from the environment before that, so nothing is fetched from a network.
 *
 * The files belong to traced programs, so they may be hostile. libdw checks offsets. `steps` limits how many entries are walked,
 * because an entry may name an earlier one as its sibling.
 */
#include "symbols/dwarf_lines.h"

#include <errno.h>

#ifdef ORMA_HAVE_DW
#include <dlfcn.h>
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/macros.h"

enum {
	DEPTH_MAX = 64,       /* nested namespaces and classes */
	INLINED_MAX = 128,    /* functions that are inlined into each other */
	RANGES_MAX = 4 << 20, /* units in a file, functions in a unit */
	STEPS_MAX = 64 << 20, /* entries that are walked for a file */
	OVERLAPS_MAX = 16,    /* ranges that are compared with an address */
};

#define LIBDW_FUNCTIONS(X)                                                                         \
	X(begin)                                                                                   \
	X(end)                                                                                     \
	X(get_units)                                                                               \
	X(ranges)                                                                                  \
	X(haspc)                                                                                   \
	X(child)                                                                                   \
	X(siblingof)                                                                               \
	X(tag)                                                                                     \
	X(attr)                                                                                    \
	X(attr_integrate)                                                                          \
	X(formstring)                                                                              \
	X(formudata)                                                                               \
	X(getsrc_die)                                                                              \
	X(lineno)                                                                                  \
	X(linesrc)                                                                                 \
	X(diename)                                                                                 \
	X(getsrcfiles)                                                                             \
	X(filesrc)

struct libdw {
#define DECLARE(name) __typeof__ (&dwarf_##name)(name);
	LIBDW_FUNCTIONS(DECLARE)
#undef DECLARE
};

struct range {
	uint64_t low, high;
	uint32_t unit;
	Dwarf_Die die;
};

struct unit {
	Dwarf_Die die;
	bool is_listed;
	struct orma_buf functions; /* struct range, sorted */
};

struct orma_dwarf {
	const struct libdw *dw;
	Dwarf *handle;
	struct orma_buf units;  /* struct unit */
	struct orma_buf ranges; /* struct range, sorted */
	unsigned steps;
};

static const struct libdw *load_libdw(void)
{
	static struct libdw dw;
	static enum { NOT_SOUGHT, FOUND, ABSENT } state = NOT_SOUGHT;

	if (state != NOT_SOUGHT)
		return state == FOUND ? &dw : NULL;
	state = ABSENT;
	unsetenv("DEBUGINFOD_URLS");
	void *library = dlopen("libdw.so.1", RTLD_LAZY | RTLD_LOCAL);
	if (!library)
		return NULL;
	state = FOUND;
#define FIND(name)                                                                                 \
	*(void **)&dw.name = dlsym(library, "dwarf_" #name);                                       \
	if (!dw.name)                                                                              \
		state = ABSENT;
	LIBDW_FUNCTIONS(FIND)
#undef FIND
	return state == FOUND ? &dw : NULL;
}

bool orma_dwarf_is_available(void)
{
	return load_libdw() != NULL;
}

static struct unit *unit_at(struct orma_dwarf *dwarf, uint32_t idx)
{
	return (struct unit *)(void *)dwarf->units.data + idx;
}

/* --- ranges ----------------------------------------------------------------------------------- */

static int compare_ranges(const void *left, const void *right)
{
	const struct range *a = left, *b = right;

	if (a->low != b->low)
		return a->low < b->low ? -1 : 1;
	/* A range comes before the ranges that are nested in it. */
	return (a->high < b->high) - (a->high > b->high);
}

/* Appends the ranges of an entry. 0 or -ENOMEM. */
static int add_ranges(struct orma_dwarf *dwarf, Dwarf_Die *die, uint32_t unit,
		      struct orma_buf *ranges)
{
	Dwarf_Addr base, low, high;
	ptrdiff_t offset = 0;
	int r = 0;

	while (r == 0 && ranges->size / sizeof(struct range) < RANGES_MAX &&
	       (offset = dwarf->dw->ranges(die, offset, &base, &low, &high)) > 0) {
		struct range range = {.low = low, .high = high, .unit = unit, .die = *die};

		/* The linker gives functions that it drops the address 0. */
		if (low < high && low > 0)
			r = orma_base_buf_append(ranges, &range, sizeof(range));
	}
	return r;
}

static void sort_ranges(struct orma_buf *ranges)
{
	if (ranges->size > 0)
		qsort(ranges->data, ranges->size / sizeof(struct range), sizeof(struct range),
		      compare_ranges);
}

/* Returns the innermost range that contains the address, or NULL. */
static struct range *find_range(const struct orma_buf *ranges, uint64_t address)
{
	struct range *all = (struct range *)(void *)ranges->data;
	size_t first = 0, count = ranges->size / sizeof(*all);

	while (count > 0) {
		size_t half = count / 2;
		bool is_before = all[first + half].low <= address;

		first = is_before ? first + half + 1 : first;
		count = is_before ? count - half - 1 : half;
	}
	for (unsigned i = 0; i < OVERLAPS_MAX && first > 0; i++)
		if (address < all[--first].high)
			return &all[first];
	return NULL;
}

static int list_units(struct orma_dwarf *dwarf)
{
	Dwarf_CU *unit = NULL;
	Dwarf_Die die, split;
	uint8_t type;
	int r = 0;

	while (r == 0 && dwarf->units.size / sizeof(struct unit) < RANGES_MAX &&
	       dwarf->dw->get_units(dwarf->handle, unit, &unit, NULL, &type, &die, &split) == 0) {
		struct unit listed = {.die = die};

		r = add_ranges(dwarf, &die, (uint32_t)(dwarf->units.size / sizeof(listed)),
			       &dwarf->ranges);
		if (r == 0)
			r = orma_base_buf_append(&dwarf->units, &listed, sizeof(listed));
	}
	sort_ranges(&dwarf->ranges);
	return r;
}

/* --- functions of a unit ---------------------------------------------------------------------- */

/* Goes to the next entry of the same parent. False at the end. */
static bool go_on(struct orma_dwarf *dwarf, Dwarf_Die *die)
{
	return ++dwarf->steps < STEPS_MAX && dwarf->dw->siblingof(die, die) == 0;
}

static bool has_functions_in_it(int tag)
{
	return tag == DW_TAG_namespace || tag == DW_TAG_class_type ||
	       tag == DW_TAG_structure_type || tag == DW_TAG_union_type || tag == DW_TAG_module ||
	       tag == DW_TAG_enumeration_type;
}

static int list_functions(struct orma_dwarf *dwarf, uint32_t idx, struct unit *unit)
{
	Dwarf_Die parents[DEPTH_MAX], die, child;
	size_t depth = 0;
	int r = 0;

	unit->is_listed = true;
	if (dwarf->dw->child(&unit->die, &die) != 0)
		return 0;
	for (;;) {
		int tag = dwarf->dw->tag(&die);

		if (tag == DW_TAG_subprogram)
			r = add_ranges(dwarf, &die, idx, &unit->functions);
		if (r < 0)
			return r;
		if (has_functions_in_it(tag) && depth < DEPTH_MAX &&
		    dwarf->dw->child(&die, &child) == 0) {
			parents[depth++] = die;
			die = child;
			continue;
		}
		while (!go_on(dwarf, &die)) {
			if (depth == 0 || dwarf->steps >= STEPS_MAX) {
				sort_ranges(&unit->functions);
				return 0;
			}
			die = parents[--depth];
		}
	}
}

/* --- an address ------------------------------------------------------------------------------- */

/* Returns the name that the linker knows, or else the name in the source. */
static const char *name_of(const struct libdw *dw, Dwarf_Die *die)
{
	Dwarf_Attribute attribute;
	const char *name = NULL;

	if (dw->attr_integrate(die, DW_AT_linkage_name, &attribute) ||
	    dw->attr_integrate(die, DW_AT_MIPS_linkage_name, &attribute))
		name = dw->formstring(&attribute);
	return name ? name : dw->diename(die);
}

/* Fills `chain` with the function and the functions that are inlined at the address, from the outermost to the innermost. Returns
 * their number. */
static size_t find_inlined(struct orma_dwarf *dwarf, Dwarf_Die *function, uint64_t address,
			   Dwarf_Die chain[INLINED_MAX])
{
	Dwarf_Die die = *function, child;
	size_t count = 0;

	chain[count++] = die;
	while (count < INLINED_MAX && dwarf->dw->child(&die, &child) == 0) {
		bool is_there = false;

		do {
			int tag = dwarf->dw->tag(&child);

			is_there =
				(tag == DW_TAG_inlined_subroutine || tag == DW_TAG_lexical_block) &&
				dwarf->dw->haspc(&child, address) > 0;
		} while (!is_there && go_on(dwarf, &child));
		if (!is_there)
			break;
		die = child;
		if (dwarf->dw->tag(&die) == DW_TAG_inlined_subroutine)
			chain[count++] = die;
	}
	return count;
}

/* Reads the place of the call that was replaced by the inlined function. */
static void read_call(const struct libdw *dw, Dwarf_Die *unit, Dwarf_Die *inlined,
		      struct orma_source_line *line)
{
	Dwarf_Attribute attribute;
	Dwarf_Word number;
	Dwarf_Files *files;
	size_t count;

	if (dw->attr(inlined, DW_AT_call_line, &attribute) &&
	    dw->formudata(&attribute, &number) == 0 && number <= UINT32_MAX)
		line->line = (uint32_t)number;
	if (dw->attr(inlined, DW_AT_call_file, &attribute) &&
	    dw->formudata(&attribute, &number) == 0 && dw->getsrcfiles(unit, &files, &count) == 0 &&
	    number < count)
		line->file = dw->filesrc(files, (size_t)number, NULL, NULL);
}

static void read_place(const struct libdw *dw, Dwarf_Die *unit, uint64_t address,
		       struct orma_source_line *line)
{
	Dwarf_Line *found = dw->getsrc_die(unit, address);
	int number;

	if (!found)
		return;
	line->file = dw->linesrc(found, NULL, NULL);
	if (dw->lineno(found, &number) == 0 && number > 0)
		line->line = (uint32_t)number;
}

int orma_dwarf_find(struct orma_dwarf *dwarf, uint64_t address, orma_source_line_fn *fn, void *ctx)
{
	const struct libdw *dw = dwarf->dw;
	const struct range *range = find_range(&dwarf->ranges, address);
	struct orma_source_line line = {.function = NULL};
	Dwarf_Die chain[INLINED_MAX];

	if (!range)
		return 0;
	struct unit *unit = unit_at(dwarf, range->unit);
	int r = unit->is_listed ? 0 : list_functions(dwarf, range->unit, unit);
	if (r < 0)
		return r;
	read_place(dw, &unit->die, address, &line);
	struct range *function = find_range(&unit->functions, address);
	if (!function)
		return line.file ? fn(ctx, &line) : 0;
	size_t count = find_inlined(dwarf, &function->die, address, chain);
	for (size_t i = count; i > 0 && r == 0; i--) {
		line.function = name_of(dw, &chain[i - 1]);
		r = fn(ctx, &line);
		line = (struct orma_source_line){.function = NULL};
		if (i > 1)
			read_call(dw, &unit->die, &chain[i - 1], &line);
	}
	return r;
}

/* --- files ------------------------------------------------------------------------------------ */

int orma_dwarf_open(int fd, struct orma_dwarf **ret)
{
	const struct libdw *dw = load_libdw();

	if (!dw)
		return -ENOTSUP;
	struct orma_dwarf *dwarf = orma_base_zalloc(sizeof(*dwarf));
	if (!dwarf)
		return -ENOMEM;
	dwarf->dw = dw;
	dwarf->handle = dw->begin(fd, DWARF_C_READ);
	int r = dwarf->handle ? list_units(dwarf) : -ENODATA;
	if (r == 0 && dwarf->ranges.size == 0)
		r = -ENODATA;
	if (r < 0)
		orma_dwarf_close(dwarf);
	else
		*ret = dwarf;
	return r;
}

void orma_dwarf_close(struct orma_dwarf *dwarf)
{
	if (!dwarf)
		return;
	for (size_t i = 0; i < dwarf->units.size / sizeof(struct unit); i++)
		orma_base_buf_done(&unit_at(dwarf, (uint32_t)i)->functions);
	orma_base_buf_done(&dwarf->units);
	orma_base_buf_done(&dwarf->ranges);
	if (dwarf->handle)
		dwarf->dw->end(dwarf->handle);
	orma_base_free(dwarf);
}
#else
bool orma_dwarf_is_available(void)
{
	return false;
}

int orma_dwarf_open(int fd, struct orma_dwarf **ret)
{
	(void)fd;
	(void)ret;
	return -ENOTSUP;
}

void orma_dwarf_close(struct orma_dwarf *dwarf)
{
	(void)dwarf;
}

int orma_dwarf_find(struct orma_dwarf *dwarf, uint64_t address, orma_source_line_fn *fn, void *ctx)
{
	(void)dwarf;
	(void)address;
	(void)fn;
	(void)ctx;
	return 0;
}
#endif
