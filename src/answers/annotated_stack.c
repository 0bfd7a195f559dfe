/* SPDX-License-Identifier: Apache-2.0
 * annotated_stack.c - experimental_annotated_callstack(id): a call stack of Android from its leaf to its root, which says how
 * each method of Java was run, and which frames are only the runtime's own.
 */
#include <errno.h>
#include <inttypes.h>

#include "answers/operators.h"
#include "answers/trace_database.h"
#include "base/alloc.h"
#include "base/buf.h"
#include "base/error_message.h"
#include "base/macros.h"

enum map_kind { OTHER, RUNTIME, INTERPRETED, JUST_IN_TIME, AHEAD_OF_TIME };

/* Stacks are read from the root to the leaf. */
enum state {
	NATIVE,     /* no method of Java was seen */
	MANAGED,    /* frames of the runtime are of no interest */
	BEHIND_JNI, /* the next frame is what Java called, though it may be in the runtime */
};

static bool begins_with(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

static enum map_kind classify(const char *path)
{
	static const struct {
		const char *suffix;
		enum map_kind kind;
	} suffixes[] = {{".so", OTHER},          {".dex", INTERPRETED}, {".vdex", INTERPRETED},
			{".jar", INTERPRETED},   {".apk", INTERPRETED}, {".oat", AHEAD_OF_TIME},
			{".odex", AHEAD_OF_TIME}};
	const char *slash = strrchr(path, '/'), *dot = strrchr(path, '.');
	if (begins_with(path, "/memfd:jit-cache") || begins_with(path, "/memfd:jit-zygote-cache"))
		return JUST_IN_TIME;
	if (slash && (begins_with(slash, "/libart.so") || begins_with(slash, "/libartd.so")))
		return RUNTIME;
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(suffixes) && dot; i++)
		if (begins_with(dot, suffixes[i].suffix))
			return suffixes[i].kind;
	return OTHER;
}

/* Functions of the interpreter run the method that is above them. */
static bool is_interpreter(const char *name)
{
	static const char *const prefixes[] = {"nterp_", "Nterp", "ExecuteNterp",
					       "ExecuteSwitchImpl", "_ZN3art11interpreter"};
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(prefixes); i++)
		if (begins_with(name, prefixes[i]))
			return true;
	return false;
}

/* Returns the annotation of the next frame, or NULL. */
static const char *annotate(enum state *state, const char *name, const char *path)
{
	static const char *const managed[] = {
		[INTERPRETED] = "interp", [JUST_IN_TIME] = "jit", [AHEAD_OF_TIME] = "aot"};
	if (*state == BEHIND_JNI) {
		*state = MANAGED;
		return NULL;
	}
	if (strcmp(name, "art_jni_trampoline") == 0) {
		*state = BEHIND_JNI;
		return "common-frame";
	}
	enum map_kind kind = classify(path);
	if (kind >= INTERPRETED) {
		*state = MANAGED;
		return managed[kind];
	}
	if (*state == MANAGED && kind == RUNTIME)
		return is_interpreter(name) ? "common-frame-interp" : "common-frame";
	return NULL;
}

static int64_t cell(const struct orma_trace_database *database, enum orma_table_id table,
		    size_t column, int64_t row)
{
	return orma_trace_database_cell(database, table, column, (uint64_t)row);
}

static const char *text(const struct orma_trace_database *database, int64_t cell)
{
	struct orma_str text = orma_trace_database_text(database, cell);
	return text.data ? text.data : "";
}

static int add_row(struct orma_row_call *call, int64_t site, const char *annotation)
{
	const struct orma_trace_database *database = call->ctx;
	int r = orma_row_set_add_ints(call->ret,
				      (int64_t[]){site,
						  cell(database, ORMA_TABLE_STACK_CALLSITE,
						       ORMA_STACK_CALLSITE_DEPTH, site),
						  cell(database, ORMA_TABLE_STACK_CALLSITE,
						       ORMA_STACK_CALLSITE_PARENT_ID, site),
						  cell(database, ORMA_TABLE_STACK_CALLSITE,
						       ORMA_STACK_CALLSITE_FRAME_ID, site),
						  ORMA_CELL_NULL});
	uint32_t id;
	if (r == 0 && annotation) {
		r = orma_store_pool_add(call->ret->pool, orma_base_str(annotation), &id);
		if (r == 0)
			orma_row_set_put(call->ret, 4, SQLITE_TEXT, id);
	}
	return r;
}

static int add_rows(struct orma_row_call *call, const int64_t *sites, size_t count)
{
	const struct orma_trace_database *database = call->ctx;
	ORMA_AUTO(orma_base_freep)
	const char **annotations = orma_base_alloc_array(count, sizeof(*annotations));
	enum state state = NATIVE;
	int r = annotations ? 0 : -ENOMEM;
	for (size_t i = count; i-- > 0 && r == 0;) {
		int64_t frame = cell(database, ORMA_TABLE_STACK_CALLSITE,
				     ORMA_STACK_CALLSITE_FRAME_ID, sites[i]);
		int64_t mapping =
			cell(database, ORMA_TABLE_STACK_FRAME, ORMA_STACK_FRAME_MAPPING, frame);
		annotations[i] = annotate(&state,
					  text(database, cell(database, ORMA_TABLE_STACK_FRAME,
							      ORMA_STACK_FRAME_NAME, frame)),
					  text(database, cell(database, ORMA_TABLE_STACK_MAPPING,
							      ORMA_STACK_MAPPING_NAME, mapping)));
	}
	for (size_t i = 0; i < count && r == 0; i++)
		r = add_row(call, sites[i], annotations[i]);
	return r;
}

static int run(struct orma_row_call *call)
{
	const struct orma_trace_database *database = call->ctx;
	sqlite3_value *value = call->argc > 0 ? call->argv[0] : NULL;
	ORMA_AUTO(orma_base_buf_done) struct orma_buf sites = {0};
	if (!value || sqlite3_value_type(value) == SQLITE_NULL)
		return 0;
	if (sqlite3_value_type(value) != SQLITE_INTEGER)
		return orma_base_error_set(call->reterr, -EINVAL,
					   "the id of a callsite must be an integer");
	int64_t site = sqlite3_value_int64(value);
	if ((uint64_t)site >=
	    orma_store_table_rows(&database->tables.all[ORMA_TABLE_STACK_CALLSITE]))
		return orma_base_error_set(call->reterr, -EINVAL, "there is no callsite %" PRId64,
					   site);
	int r = 0;
	/* A callsite comes behind its parent. */
	while (site != ORMA_CELL_NULL && r == 0) {
		r = orma_base_buf_append(&sites, &site, sizeof(site));
		site = cell(database, ORMA_TABLE_STACK_CALLSITE, ORMA_STACK_CALLSITE_PARENT_ID,
			    site);
	}
	return r < 0 ? r
		     : add_rows(call, (const int64_t *)(const void *)sites.data,
				sites.size / sizeof(site));
}

const struct orma_row_operator orma_annotated_stack = {
	.name = "experimental_annotated_callstack",
	.columns = "id, depth, parent_id, frame_id, annotation",
	.column_count = 5,
	.arg_count = 1,
	.rows = 30,
	.run = run,
};
