/* SPDX-License-Identifier: Apache-2.0
 * findings.c - collects findings, and prints them as text or JSON.
 *
 * Texts quote names from traces, configs and other processes. The text form is printed by print.h,
 * which escapes control characters, as json.h does.
 */
#include "tool/doctor/findings.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/json_writer.h"
#include "base/str.h"
#include "tool/print.h"

static const char *format_text(struct orma_findings *findings, const char *format, va_list args)
	ORMA_PRINTF(2, 0);

static const char *format_text(struct orma_findings *findings, const char *format, va_list args)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf text = {0};
	const char *copy = NULL;

	if (orma_base_buf_vprintf(&text, format, args) == 0)
		copy = orma_base_arena_strdup(
			&findings->arena, (struct orma_str){(const char *)text.data, text.size});
	findings->is_out_of_memory |= !copy;
	return copy ? copy : "out of memory";
}

static void append(struct orma_findings *findings, struct orma_finding finding)
{
	if (orma_base_buf_append(&findings->items, &finding, sizeof(finding)))
		findings->is_out_of_memory = true;
	findings->problem_count += !finding.is_note;
}

void orma_findings_add(struct orma_findings *findings, const char *id, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	append(findings,
	       (struct orma_finding){.id = id, .text = format_text(findings, format, args)});
	va_end(args);
}

void orma_findings_add_note(struct orma_findings *findings, const char *id, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	append(findings, (struct orma_finding){.is_note = true,
					       .id = id,
					       .text = format_text(findings, format, args)});
	va_end(args);
}

static size_t count(const struct orma_findings *findings)
{
	return findings->items.size / sizeof(struct orma_finding);
}

static struct orma_finding *get(const struct orma_findings *findings, size_t i)
{
	return (struct orma_finding *)(void *)findings->items.data + i;
}

void orma_findings_advise(struct orma_findings *findings, const char *format, ...)
{
	va_list args;

	if (count(findings) == 0)
		return;
	va_start(args, format);
	get(findings, count(findings) - 1)->advice = format_text(findings, format, args);
	va_end(args);
}

void orma_findings_print(const struct orma_findings *findings, const char *subject)
{
	size_t problems = findings->problem_count;

	orma_tool_print_line(stdout, "%s:", subject);
	for (size_t i = 0; i < count(findings); i++) {
		const struct orma_finding *finding = get(findings, i);
		orma_tool_print_line(stdout, "  %s: %s", finding->is_note ? "note" : "problem",
				     finding->text);
		if (finding->advice)
			orma_tool_print_line(stdout, "    %s", finding->advice);
	}
	if (problems)
		orma_tool_print_line(stdout, "  %zu %s found.", problems,
				     orma_base_noun(problems, "problem was", "problems were"));
	else
		orma_tool_print_line(stdout, "  No problem was found.");
}

/* --- JSON ------------------------------------------------------------------------------------- */

static int append_finding(struct orma_buf *json, const struct orma_finding *finding)
{
	int r = orma_base_buf_printf(json, "{\"id\": \"%s\", \"severity\": \"%s\", \"text\": ",
				     finding->id, finding->is_note ? "note" : "problem");

	if (r == 0)
		r = orma_json_append_string(json, orma_base_str(finding->text));
	if (r == 0 && finding->advice) {
		r = orma_base_buf_append_str(json, ", \"advice\": ");
		if (r == 0)
			r = orma_json_append_string(json, orma_base_str(finding->advice));
	}
	return r ? r : orma_base_buf_append_str(json, "}");
}

int orma_findings_append_json(const struct orma_findings *findings, const char *subject,
			      struct orma_buf *json)
{
	int r = orma_base_buf_append_str(json, "{\"subject\": ");

	if (r == 0)
		r = orma_json_append_string(json, orma_base_str(subject));
	if (r == 0)
		r = orma_base_buf_printf(json, ", \"problems\": %zu, \"findings\": [",
					 findings->problem_count);
	for (size_t i = 0; r == 0 && i < count(findings); i++) {
		r = orma_base_buf_append_str(json, i ? ",\n  " : "\n  ");
		if (r == 0)
			r = append_finding(json, get(findings, i));
	}
	return r ? r : orma_base_buf_append_str(json, "]}");
}

void orma_findings_done(struct orma_findings *findings)
{
	orma_base_arena_done(&findings->arena);
	orma_base_buf_done(&findings->items);
}
