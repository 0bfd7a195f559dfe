/* SPDX-License-Identifier: Apache-2.0
 * ftrace_text.c - to_ftrace(id): a kernel event as the line that the kernel itself would write into `trace`.
 *
 * Most events are written as ` field=value` for each field. The kernel writes some in another way; their layout is a text
 * in which `{field}` stands for a value, and `{name=field}` for ` name=value`, with `{=field}` for short. A field that an event
 * lacks is left out. A letter behind a comma says how a value is written; see write_value().
 */
#include <errno.h>

#include "answers/trace_database.h"
#include "base/buf.h"
#include "base/macros.h"
#include "sql/sqlite_error.h"
#include "trace/kernel_event.h"
#include "trace/task_state.h"

static const struct {
	const char *event, *layout;
} layouts[] = {
	{"sched_switch", "{=prev_comm}{=prev_pid}{=prev_prio}{=prev_state,S} ==>{=next_comm}"
			 "{=next_pid}{=next_prio}"},
	{"sched_wakeup", "{=comm}{=pid}{=prio}{=target_cpu,3}"},
	{"sched_blocked_reason", "{=pid}{iowait=io_wait}{=caller,k}"},
	{"print", " {buf,n}"},
	{"tracing_mark_write", " {trace_begin,B}|{pid}|{trace_name}"},
	{"clock_set_rate", " {name}{=state}{=cpu_id}"},
	{"clock_enable", " {name}{=state}{=cpu_id}"},
	{"clock_disable", " {name}{=state}{=cpu_id}"},
	{"clk_set_rate", " {name} {rate}"},
	{"binder_transaction",
	 " transaction={debug_id} dest_node={target_node} dest_proc={to_proc} "
	 "dest_thread={to_thread} reply={reply} flags=0x{flags,x} code=0x{code,x}"},
	{"binder_transaction_alloc_buf", " transaction={debug_id}{=data_size}{=offsets_size}"},
	{"binder_transaction_received", " transaction={debug_id}"},
	{"mm_filemap_add_to_page_cache",
	 " dev {s_dev,M}:{s_dev,m} ino {i_ino,x} page=0000000000000000 pfn={pfn} ofs={index,p}"},
	{"workqueue_activate_work", " work struct {work,x}"},
	{"workqueue_execute_start", " work struct {work,x}: function {function,k}"},
	{"workqueue_execute_end", " work struct {work,x}"},
	{"workqueue_queue_work",
	 " work struct={work,x}{=function,k}{=workqueue,x}{=req_cpu}{=cpu}"},
	{"irq_handler_entry", "{=irq}{=name}"},
	{"irq_handler_exit", "{=irq} ret={ret,h}"},
	{"softirq_entry", "{=vec} [action={vec,s}]"},
	{"softirq_exit", "{=vec} [action={vec,s}]"},
	{"softirq_raise", "{=vec} [action={vec,s}]"},
	{"cgroup_attach_task",
	 "{=dst_root}{=dst_id}{cgroup=cname}{=dst_level}{=dst_path}{=pid}{=comm}"},
	{"hrtimer_expire_entry", "{=function,k}"},
	{"i2c_write", " i2c-{adapter_nr} #{msg_nr}{a=addr,a}{f=flags,f}{l=len}"},
	{"i2c_read", " i2c-{adapter_nr} #{msg_nr}{a=addr,a}{f=flags,f}{l=len}"},
	{"i2c_reply", " i2c-{adapter_nr} #{msg_nr}{a=addr,a}{f=flags,f}{l=len}"},
	{"i2c_result", " i2c-{adapter_nr}{n=nr_msgs}{=ret}"},
};

struct line {
	struct orma_trace_database *database;
	const struct orma_arg_list *args;
	struct orma_buf text;
	int error;
};

__attribute__((format(printf, 2, 3))) static void append(struct line *line, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	if (line->error == 0)
		line->error = orma_base_buf_vprintf(&line->text, format, args);
	va_end(args);
}

static struct orma_str string_of(const struct line *line, int64_t cell)
{
	return cell == ORMA_CELL_NULL || cell < 0
		       ? (struct orma_str){"", 0}
		       : orma_store_pool_get(&line->database->tables.strings, (uint32_t)cell);
}

static void write_task_state(struct line *line, int64_t state)
{
	char letters[ORMA_TASK_STATE_BYTES];
	unsigned count = orma_task_state_letters(
		state, line->database->importer.sched.kernel_version, letters);
	for (unsigned i = 0; i < count; i++)
		append(line, "%s%c", i > 0 && letters[i] != '+' ? "|" : "", letters[i]);
}

static void write_plain(struct line *line, const struct orma_arg *arg)
{
	struct orma_str text;
	switch (arg->type) {
	case ORMA_ARG_NULL:
		append(line, "[NULL]");
		break;
	case ORMA_ARG_STRING:
	case ORMA_ARG_JSON:
		text = string_of(line, arg->value);
		append(line, "%.*s", (int)text.size, text.data);
		break;
	case ORMA_ARG_REAL:
		append(line, "%f", orma_store_double_of_cell(arg->value));
		break;
	case ORMA_ARG_BOOL:
		append(line, "%s", arg->value ? "true" : "false");
		break;
	case ORMA_ARG_UINT:
	case ORMA_ARG_POINTER:
		append(line, "%llu", (unsigned long long)arg->value);
		break;
	case ORMA_ARG_INT:
		append(line, "%lld", (long long)arg->value);
		break;
	}
}

static void write_value(struct line *line, const struct orma_arg *arg, char how)
{
	unsigned long long value = (unsigned long long)arg->value;
	struct orma_str text;
	if (arg->type == ORMA_ARG_STRING && how != 'n') {
		write_plain(line, arg);
		return;
	}
	switch (how) {
	case 'x': /* hexadecimal */
	case 'k': /* a function of the kernel whose name is not known */
		append(line, "%llx", value);
		break;
	case '3':
		append(line, "%03lld", (long long)value);
		break;
	case 'a':
		append(line, "%03llx", value);
		break;
	case 'f':
		append(line, "%04llx", value);
		break;
	case 'S': /* the state of a task */
		write_task_state(line, arg->value);
		break;
	case 'B': /* the begin of a slice, or its end */
		append(line, "%c", value ? 'B' : 'E');
		break;
	case 'M': /* the parts of a device's number */
		append(line, "%llu", value >> 20);
		break;
	case 'm':
		append(line, "%llu", value & 0xfffff);
		break;
	case 'p': /* the offset of a page */
		append(line, "%llu", value << 12);
		break;
	case 'h':
		append(line, "%s", value ? "handled" : "unhandled");
		break;
	case 's':
		append(line, "%s", orma_softirq_name(value) ? orma_softirq_name(value) : "?");
		break;
	case 'n': /* without the newline at its end */
		text = string_of(line, arg->value);
		text.size -= text.size > 0 && text.data[text.size - 1] == '\n';
		append(line, "%.*s", (int)text.size, text.data);
		break;
	default:
		write_plain(line, arg);
	}
}

static const struct orma_arg *find_arg(const struct line *line, struct orma_str field)
{
	for (uint32_t i = 0; i < line->args->count; i++)
		if (orma_base_str_is_equal(string_of(line, line->args->args[i].key), field))
			return &line->args->args[i];
	return NULL;
}

/* Writes a field: what is between the braces of `{name=field,how}`. */
static void write_field(struct line *line, struct orma_str place)
{
	const char *equals = memchr(place.data, '=', place.size);
	const char *comma = memchr(place.data, ',', place.size);
	const char *begin = equals ? equals + 1 : place.data;
	const char *end = comma ? comma : place.data + place.size;
	struct orma_str field = {begin, (size_t)(end - begin)};
	struct orma_str name = {place.data, equals ? (size_t)(equals - place.data) : 0};
	const struct orma_arg *arg = find_arg(line, field);
	if (!arg)
		return;
	if (equals)
		append(line, " %.*s=", (int)(name.size ? name.size : field.size),
		       name.size ? name.data : field.data);
	write_value(line, arg, (char)(comma ? comma[1] : '\0'));
}

static void write_layout(struct line *line, const char *layout)
{
	while (*layout) {
		size_t size = strcspn(layout, "{");
		append(line, "%.*s", (int)size, layout);
		layout += size;
		if (*layout != '{')
			return;
		size = strcspn(++layout, "}");
		write_field(line, (struct orma_str){layout, size});
		layout += size + 1;
	}
}

static void write_fields(struct line *line)
{
	for (uint32_t i = 0; i < line->args->count; i++) {
		const struct orma_arg *arg = &line->args->args[i];
		struct orma_str key = string_of(line, arg->key);
		append(line, " %.*s=", (int)key.size, key.data);
		/* The names of other flags depend on the kernel. */
		if (!orma_base_str_is(key, "gfp_flags") || arg->type != ORMA_ARG_UINT)
			write_plain(line, arg);
		else if (arg->value == 0)
			append(line, "GFP_NOWAIT");
		else
			append(line, "0x%llx", (unsigned long long)arg->value);
	}
}

static int64_t cell(const struct line *line, enum orma_table_id table, size_t column, int64_t row)
{
	struct orma_table *rows = &line->database->tables.all[table];
	return row >= 0 && (uint64_t)row < orma_store_table_rows(rows)
		       ? orma_store_column_get(&rows->columns[column], (uint64_t)row)
		       : ORMA_CELL_NULL;
}

/* `     comm-TID   ( TGID) [CPU] .... SECONDS.MICROSECONDS:` */
static void write_task_and_time(struct line *line, int64_t row)
{
	int64_t utid = cell(line, ORMA_TABLE_FTRACE_EVENT, ORMA_FTRACE_EVENT_UTID, row);
	int64_t ts = cell(line, ORMA_TABLE_FTRACE_EVENT, ORMA_FTRACE_EVENT_TS, row);
	int64_t ucpu = cell(line, ORMA_TABLE_FTRACE_EVENT, ORMA_FTRACE_EVENT_UCPU, row);
	int64_t tid = cell(line, ORMA_TABLE_THREAD, ORMA_THREAD_TID, utid);
	int64_t upid = cell(line, ORMA_TABLE_THREAD, ORMA_THREAD_UPID, utid);
	int64_t pid = cell(line, ORMA_TABLE_PROCESS, ORMA_PROCESS_PID, upid);
	int64_t cpu = cell(line, ORMA_TABLE_CPU, ORMA_CPU_CPU, ucpu);
	struct orma_str name =
		string_of(line, cell(line, ORMA_TABLE_THREAD, ORMA_THREAD_NAME, utid));
	if (tid == 0)
		name = ORMA_STR("<idle>");
	else if (name.size == 0)
		name = ORMA_STR("<unknown>");
	append(line, "%*s", (int)ORMA_MAX((int64_t)16 - (int64_t)name.size, (int64_t)0), "");
	/* A dash stands before the thread's id. */
	for (size_t i = 0; i < name.size; i++)
		append(line, "%c", name.data[i] == '-' ? '_' : name.data[i]);
	append(line, "-%-5lld (", (long long)tid);
	if (pid == ORMA_CELL_NULL || pid == 0)
		append(line, "-----");
	else
		append(line, "%5lld", (long long)pid);
	append(line, ") [%03lld] .... %lld.%06lld:", (long long)(cpu == ORMA_CELL_NULL ? 0 : cpu),
	       (long long)(ts / 1000000000), (long long)(ts % 1000000000 / 1000));
}

static void write_event(struct line *line, int64_t row)
{
	struct orma_str name =
		string_of(line, cell(line, ORMA_TABLE_FTRACE_EVENT, ORMA_FTRACE_EVENT_NAME, row));
	write_task_and_time(line, row);
	if (orma_base_str_is(name, "print"))
		append(line, " tracing_mark_write:");
	else
		append(line, " %.*s:", (int)name.size, name.data);
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(layouts); i++)
		if (orma_base_str_is(name, layouts[i].event)) {
			write_layout(line, layouts[i].layout);
			return;
		}
	write_fields(line);
}

static void to_ftrace(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	struct line line = {.database = sqlite3_user_data(context)};
	struct orma_error error = {0};
	int64_t row = sqlite3_value_int64(argv[0]);
	(void)argc;
	int r = orma_raw_events_finish(&line.database->importer.system.raw_events);
	if (r < 0) {
		orma_sql_result_refuse(context, r, &error);
		return;
	}
	if (sqlite3_value_type(argv[0]) != SQLITE_INTEGER || row < 0 ||
	    (uint64_t)row >=
		    orma_store_table_rows(&line.database->tables.all[ORMA_TABLE_FTRACE_EVENT])) {
		sqlite3_result_error(context, "to_ftrace: takes the id of an ftrace_event", -1);
		return;
	}
	line.error = orma_trace_database_args(line.database, ORMA_ARG_SET_OF_FTRACE_EVENT | row,
					      &line.args);
	if (line.error == 0)
		write_event(&line, row);
	if (line.error < 0)
		orma_sql_result_refuse(context, line.error, &error);
	else
		sqlite3_result_text64(context, (const char *)line.text.data, line.text.size,
				      SQLITE_TRANSIENT, SQLITE_UTF8);
	orma_base_buf_done(&line.text);
}

int orma_ftrace_text_add(struct orma_trace_database *database)
{
	return sqlite3_create_function(orma_sql_db(database->sql), "to_ftrace", 1,
				       SQLITE_UTF8 | SQLITE_DETERMINISTIC, database, to_ftrace,
				       NULL, NULL) == SQLITE_OK
		       ? 0
		       : -ENOMEM;
}
