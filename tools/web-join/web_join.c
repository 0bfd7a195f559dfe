/* SPDX-License-Identifier: Apache-2.0
 * web_join.c - `web-join FOLDER OUTPUT`: makes the page of `orma view`, and the script of reports, a part of the binary.
 *
 * main.js and report.js begin two programs, which have most modules in common. Joins all modules to three scripts: those that both
 * import, those of the page alone, and those of reports alone. A module comes behind those that it imports. The scripts are written
 * with index.html, style.css and icon.svg as arrays of C, without comments, with short names, and packed. A name has the same short
 * name in all three, so that the page is the first and the second, and a report has the first and the third.
 *
 * A report allows no other scripts than its own, and one that unpacks it, whose hashes are written as well. The output depends on
 * nothing but the files.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#ifdef ORMA_HAVE_DEFLATE
#include <libdeflate.h>
#endif

#include "base/alloc.h"
#include "base/fd.h"
#include "js_module.h"
#include "sha256.h"
#include "shorten.h"
#include "strip.h"

enum { MODULES_MAX = 128, FILE_MAX_BYTES = 4 << 20, GZIP_LEVEL = 12 };
enum { SHARED, PAGE, REPORT, SCRIPT_COUNT };
enum { DOCUMENT, STYLE, ICON, REPORT_STYLE, FILE_COUNT };

struct page {
	int folder;
	struct js_module *modules[MODULES_MAX];
	size_t count;
	struct orma_buf joined;
	struct orma_buf scripts[SCRIPT_COUNT];
	struct orma_buf files[FILE_COUNT];
};

/* Each script begins with it, for the page's are no modules: they see each other's names. */
static const char directive[] = "\"use strict\";";

static bool read_source(const struct page *page, const char *file, struct orma_buf *ret)
{
	int r = orma_base_file_read(page->folder, file, FILE_MAX_BYTES, ret);
	if (r < 0)
		fprintf(stderr, "web/%s: %s\n", file, strerror(-r));
	return r == 0;
}

static struct js_module *find_module(const struct page *page, struct orma_str file)
{
	for (size_t i = 0; i < page->count; i++)
		if (orma_base_str_is(file, page->modules[i]->file))
			return page->modules[i];
	return NULL;
}

static bool add_module(struct page *page, struct orma_str file)
{
	struct js_module *module = orma_base_zalloc(sizeof(*module));
	if (!module || page->count == MODULES_MAX)
		return false;
	page->modules[page->count++] = module;
	module->file = orma_base_str_dup(file);
	return module->file && read_source(page, module->file, &module->source) &&
	       js_module_read(module);
}

/* Reads a module, and what it imports, and what that imports, and notes which program has them. */
static bool read_modules(struct page *page, struct orma_str file, unsigned program)
{
	struct js_module *module = find_module(page, file);
	if (!module && !add_module(page, file))
		return false;
	if (!module)
		module = page->modules[page->count - 1];
	if (module->programs & program)
		return true;
	module->programs |= program;
	for (size_t i = 0; i < module->import_count; i++)
		if (!read_modules(page, module->imports[i].file, program))
			return false;
	return true;
}

static bool check_imports(const struct page *page, const struct js_module *module)
{
	bool is_right = true;
	for (size_t i = 0; i < module->import_count; i++) {
		const struct js_import *import = &module->imports[i];
		const struct js_name *name =
			js_module_find(find_module(page, import->file), import->name);
		if (name && name->is_exported)
			continue;
		fprintf(stderr, "web/%s:%u: %.*s exports no %.*s\n", module->file, import->line,
			(int)import->file.size, import->file.data, (int)import->name.size,
			import->name.data);
		is_right = false;
	}
	return is_right;
}

/* No two modules have one name at their top. */
static bool check_names(const struct page *page, size_t idx)
{
	const struct js_module *module = page->modules[idx];
	bool is_right = true;
	for (size_t i = 0; i < module->name_count; i++)
		for (size_t other = 0; other < idx; other++) {
			struct orma_str name = module->names[i].text;
			const struct js_name *same = js_module_find(page->modules[other], name);
			if (!same)
				continue;
			fprintf(stderr, "web/%s:%u: %.*s is also declared in %s:%u\n", module->file,
				module->names[i].line, (int)name.size, name.data,
				page->modules[other]->file, same->line);
			is_right = false;
		}
	return is_right;
}

static bool is_ready(const struct page *page, const struct js_module *module)
{
	for (size_t i = 0; i < module->import_count; i++)
		if (!find_module(page, module->imports[i].file)->is_written)
			return false;
	return !module->is_written;
}

static unsigned script_of(const struct js_module *module)
{
	return module->programs == (1U << PAGE | 1U << REPORT) ? SHARED
	       : module->programs == 1U << PAGE                ? PAGE
							       : REPORT;
}

/* Finds the next module of a script whose imports are all there. */
static struct js_module *next_module(const struct page *page, unsigned script)
{
	/* The last ones that were found import the fewest. */
	for (size_t i = page->count; i-- > 0;)
		if (script_of(page->modules[i]) == script && is_ready(page, page->modules[i]))
			return page->modules[i];
	return NULL;
}

static bool append_modules(struct page *page, unsigned script)
{
	struct js_module *module;
	if (orma_base_buf_append_str(&page->joined, directive) < 0)
		return false;
	while ((module = next_module(page, script))) {
		module->is_written = true;
		if (orma_base_buf_append(&page->joined, module->joined.data, module->joined.size) <
		    0)
			return false;
	}
	return true;
}

/* A module that is not written waits for an import that waits for it. Names those modules. */
static bool check_written(const struct page *page)
{
	bool is_written = true;
	for (size_t i = 0; i < page->count; i++) {
		if (page->modules[i]->is_written)
			continue;
		fprintf(stderr, "%s %s", is_written ? "web: these modules import each other:" : "",
			page->modules[i]->file);
		is_written = false;
	}
	if (!is_written)
		fprintf(stderr, "\n");
	return is_written;
}

/* Joins the modules of all scripts to one text. */
static bool join(struct page *page)
{
	if (!read_modules(page, ORMA_STR("main.js"), 1U << PAGE) ||
	    !read_modules(page, ORMA_STR("report.js"), 1U << REPORT))
		return false;
	bool is_right = true;
	for (size_t i = 0; i < page->count; i++) {
		is_right = check_imports(page, page->modules[i]) && is_right;
		is_right = check_names(page, i) && is_right;
	}
	for (unsigned i = 0; is_right && i < SCRIPT_COUNT; i++)
		is_right = append_modules(page, i);
	return is_right && check_written(page);
}

/* Cuts the joined text where the scripts begin. */
static bool cut(struct page *page)
{
	const char *begin = (const char *)page->joined.data, *end = begin + page->joined.size;
	const size_t size = sizeof(directive) - 1;
	for (size_t i = 0; i < SCRIPT_COUNT; i++) {
		const char *next =
			memmem(begin + size, (size_t)(end - begin) - size, directive, size);
		if (!next)
			next = end;
		if (orma_base_buf_append(&page->scripts[i], begin, (size_t)(next - begin)) < 0)
			return false;
		begin = next;
	}
	if (begin != end)
		fprintf(stderr, "web: the scripts begin with %s, so that no module has it\n",
			directive);
	return begin == end;
}

/* Makes the document refer to the joined scripts, which run one after the other when the document is there, as modules do. */
static bool read_document(struct page *page)
{
	static const char from[] = "<script type=\"module\" src=\"main.js\"></script>",
			  to[] = "<script defer src=\"shared.js\"></script>"
				 "<script defer src=\"app.js\"></script>";
	struct orma_buf text = {0}, *ret = &page->files[DOCUMENT];
	if (!read_source(page, "index.html", &text))
		return false;
	const char *begin = (const char *)text.data, *end = begin + text.size;
	const char *found = text.size ? memmem(begin, text.size, from, sizeof(from) - 1) : NULL;
	bool is_written = found && orma_base_buf_append(ret, begin, (size_t)(found - begin)) == 0 &&
			  orma_base_buf_append_str(ret, to) == 0;
	if (is_written) {
		found += sizeof(from) - 1;
		is_written = orma_base_buf_append(ret, found, (size_t)(end - found)) == 0;
	} else
		fprintf(stderr, "web/index.html: it does not have %s\n", from);
	orma_base_buf_done(&text);
	return is_written;
}

/* Packs the text, if that can be done and makes it smaller. */
static bool pack(struct orma_buf *text)
{
#ifdef ORMA_HAVE_DEFLATE
	struct libdeflate_compressor *compressor = libdeflate_alloc_compressor(GZIP_LEVEL);
	struct orma_buf packed = {0};
	if (compressor && orma_base_buf_reserve(&packed, text->size) == 0)
		packed.size = libdeflate_gzip_compress(compressor, text->data, text->size,
						       packed.data, text->size);
	libdeflate_free_compressor(compressor);
	if (packed.size > 0) {
		orma_base_buf_done(text);
		*text = packed;
		return true;
	}
	orma_base_buf_done(&packed);
#endif
	(void)text;
	return false;
}

/* Packs the bytes, and writes them as an array. Returns "true" if they are packed, else "false". */
static const char *write_array(FILE *out, const char *name, struct orma_buf *bytes)
{
	enum { PER_LINE = 24 };
	bool is_packed = pack(bytes);
	fprintf(out, "static const unsigned char %s[] = {", name);
	for (size_t i = 0; i < bytes->size; i++)
		fprintf(out, "%s%u,", i % PER_LINE == 0 ? "\n" : "", bytes->data[i]);
	fprintf(out, "\n};\n");
	return is_packed ? "true" : "false";
}

/* Replaces a text by what `strip` leaves of it. */
static bool strip_text(struct orma_buf *text,
		       bool (*strip)(struct orma_str text, struct orma_buf *ret))
{
	struct orma_buf stripped = {0};
	bool is_stripped = strip(orma_base_buf_str(text), &stripped);
	orma_base_buf_done(text);
	*text = stripped;
	return is_stripped;
}

static void write_hash(FILE *out, const char *name, const void *text, size_t size)
{
	uint8_t hash[SHA256_BYTES];
	sha256(text, size, hash);
	fprintf(out, "const unsigned char orma_view_%s_hash[] = {", name);
	for (size_t i = 0; i < sizeof(hash); i++)
		fprintf(out, "%u,", hash[i]);
	fprintf(out, "};\n");
}

/* A report has its scripts packed, in elements of their own, and this one, which unpacks them and adds them to the document. */
static const char loader[] =
	"const unpack=(part)=>new Response(new Blob([Uint8Array.from(atob(part.textContent),"
	"(c)=>c.charCodeAt(0))]).stream().pipeThrough(new DecompressionStream('gzip'))).text();"
	"const parts=[...document.querySelectorAll('script[id^=orma-script]')].map(unpack);"
	"const script=document.createElement('script');script.type='module';"
	"script.textContent=(await Promise.all(parts)).join('');document.body.append(script);";

/* Writes the hashes of what a report runs. */
static bool write_report(FILE *out, const struct page *page)
{
	struct orma_buf script = {0};
	bool is_written = orma_base_buf_append(&script, page->scripts[SHARED].data,
					       page->scripts[SHARED].size) == 0 &&
			  orma_base_buf_append(&script, page->scripts[REPORT].data,
					       page->scripts[REPORT].size) == 0;
	/* The element's end must not be in it. */
	if (is_written && memmem(script.data, script.size, "</", 2)) {
		fprintf(stderr, "web: the script of reports has \"</\" in it\n");
		is_written = false;
	}
	write_hash(out, "report", script.data, script.size);
	write_hash(out, "loader", loader, sizeof(loader) - 1);
	fprintf(out, "const char orma_view_loader[] = \"%s\";\n", loader);
	orma_base_buf_done(&script);
	return is_written;
}

/* Writes the files of the page, and what only reports have, as C. */
static void write_assets(FILE *out, struct page *page)
{
	static const char script[] = "text/javascript; charset=utf-8",
			  style[] = "text/css; charset=utf-8";
	const struct {
		const char *path, *name, *type;
		struct orma_buf *bytes;
	} assets[] = {{"/", "document", "text/html; charset=utf-8", &page->files[DOCUMENT]},
		      {"/shared.js", "shared", script, &page->scripts[SHARED]},
		      {"/app.js", "app", script, &page->scripts[PAGE]},
		      {"/style.css", "style", style, &page->files[STYLE]},
		      {"/icon.svg", "icon", "image/svg+xml", &page->files[ICON]},
		      {"report.js", "report", script, &page->scripts[REPORT]},
		      {"report.css", "report_style", style, &page->files[REPORT_STYLE]}};
	enum { COUNT = sizeof(assets) / sizeof(assets[0]) };
	const char *are_packed[COUNT];
	for (size_t i = 0; i < COUNT; i++)
		are_packed[i] = write_array(out, assets[i].name, assets[i].bytes);
	fprintf(out, "const struct orma_view_asset orma_view_assets[] = {\n");
	for (size_t i = 0; i < COUNT; i++)
		fprintf(out, "\t{\"%s\", \"%s\", %s, sizeof(%s), %s},\n", assets[i].path,
			assets[i].type, assets[i].name, assets[i].name, are_packed[i]);
	fprintf(out, "\t{0},\n};\n");
}

static bool write_output(struct page *page, const char *output)
{
	FILE *out = fopen(output, "we");
	if (!out) {
		perror(output);
		return false;
	}
	fprintf(out, "/* tools/web-join made this from the files in web. */\n"
		     "#include \"view/view_assets.h\"\n\n");
	bool is_written = write_report(out, page);
	write_assets(out, page);
	is_written = is_written && fflush(out) == 0 && !ferror(out);
	return fclose(out) == 0 && is_written;
}

static bool make_page(struct page *page, const char *output)
{
	return join(page) && read_document(page) &&
	       read_source(page, "style.css", &page->files[STYLE]) &&
	       read_source(page, "icon.svg", &page->files[ICON]) &&
	       read_source(page, "report.css", &page->files[REPORT_STYLE]) &&
	       strip_text(&page->joined, strip_script) &&
	       strip_text(&page->joined, shorten_names) && cut(page) &&
	       strip_text(&page->files[STYLE], strip_style) &&
	       strip_text(&page->files[REPORT_STYLE], strip_style) && write_output(page, output);
}

static void done(struct page *page)
{
	for (size_t i = 0; i < page->count; i++) {
		orma_base_buf_done(&page->modules[i]->source);
		orma_base_buf_done(&page->modules[i]->joined);
		orma_base_free((void *)(uintptr_t)page->modules[i]->file);
		orma_base_free(page->modules[i]);
	}
	orma_base_buf_done(&page->joined);
	for (size_t i = 0; i < SCRIPT_COUNT; i++)
		orma_base_buf_done(&page->scripts[i]);
	for (size_t i = 0; i < FILE_COUNT; i++)
		orma_base_buf_done(&page->files[i]);
}

int main(int argc, char **argv)
{
	if (argc != 3) {
		fprintf(stderr, "usage: web-join FOLDER OUTPUT\n");
		return 2;
	}
	int folder = open(argv[1], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (folder < 0)
		perror(argv[1]);
	struct page page = {.folder = folder};
	bool is_made = folder >= 0 && make_page(&page, argv[2]);
	orma_base_fd_close(folder);
	done(&page);
	return is_made ? 0 : 1;
}
