/* SPDX-License-Identifier: Apache-2.0
 * web_join.c - `web-join FOLDER OUTPUT`: makes the page of `orma view`, and the script of reports, a part of the binary.
 *
 * Reads main.js and the modules that it imports, joins them so that each comes behind those that it imports, and writes
 * them with index.html, style.css and icon.svg as arrays of C, without comments, with short names, and packed. So it does with
 * report.js. Its hash is written as well, and the script that unpacks it with its own hash, because a report allows no other scripts.
 * The output depends on nothing but the files.
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

enum { MODULES_MAX = 128, FILE_MAX_BYTES = 4 << 20, GZIP_LEVEL = 12, FILE_COUNT = 4 };

struct page {
	int folder;
	struct js_module *modules[MODULES_MAX];
	size_t count;
	struct orma_buf app;
};

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

/* Reads a module, and what it imports, and what that imports. */
static bool read_modules(struct page *page, struct orma_str root)
{
	if (!add_module(page, root))
		return false;
	for (size_t i = 0; i < page->count; i++) {
		const struct js_module *module = page->modules[i];
		for (size_t n = 0; n < module->import_count; n++) {
			struct orma_str file = module->imports[n].file;
			if (!find_module(page, file) && !add_module(page, file))
				return false;
		}
	}
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

/* Appends the first module whose imports are all there. False when there is none. */
static bool append_next(struct page *page)
{
	/* The last ones that were found import the fewest. */
	for (size_t i = page->count; i-- > 0;) {
		struct js_module *module = page->modules[i];
		if (!is_ready(page, module))
			continue;
		module->is_written = true;
		return orma_base_buf_append(&page->app, module->joined.data, module->joined.size) ==
		       0;
	}
	fprintf(stderr, "web: these modules import each other:");
	for (size_t i = 0; i < page->count; i++)
		if (!page->modules[i]->is_written)
			fprintf(stderr, " %s", page->modules[i]->file);
	fprintf(stderr, "\n");
	return false;
}

static bool join(struct page *page, struct orma_str root)
{
	if (!read_modules(page, root))
		return false;
	bool is_right = true;
	for (size_t i = 0; i < page->count; i++) {
		is_right = check_imports(page, page->modules[i]) && is_right;
		is_right = check_names(page, i) && is_right;
	}
	for (size_t i = 0; is_right && i < page->count; i++)
		is_right = append_next(page);
	return is_right;
}

/* Makes the document refer to the joined file. */
static bool read_document(const struct page *page, struct orma_buf *ret)
{
	static const char from[] = "main.js", to[] = "app.js";
	struct orma_buf text = {0};
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
		fprintf(stderr, "web/index.html: it does not refer to main.js\n");
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

static void write_array(FILE *out, const char *name, const struct orma_buf *bytes)
{
	enum { PER_LINE = 24 };
	fprintf(out, "static const unsigned char %s[] = {", name);
	for (size_t i = 0; i < bytes->size; i++)
		fprintf(out, "%s%u,", i % PER_LINE == 0 ? "\n" : "", bytes->data[i]);
	fprintf(out, "\n};\n");
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

/* Writes the page as C. */
static bool write_page(FILE *out, struct orma_buf texts[FILE_COUNT])
{
	static const struct {
		const char *path, *name, *type;
	} files[] = {{"/", "document", "text/html; charset=utf-8"},
		     {"/app.js", "app", "text/javascript; charset=utf-8"},
		     {"/style.css", "style", "text/css; charset=utf-8"},
		     {"/icon.svg", "icon", "image/svg+xml"}};
	bool are_packed[FILE_COUNT];
	fprintf(out, "/* tools/web-join made this from the files in web. */\n"
		     "#include \"view/view_assets.h\"\n\n");
	for (size_t i = 0; i < FILE_COUNT; i++) {
		are_packed[i] = pack(&texts[i]);
		write_array(out, files[i].name, &texts[i]);
	}
	fprintf(out, "const struct orma_view_asset orma_view_assets[] = {\n");
	for (size_t i = 0; i < FILE_COUNT; i++)
		fprintf(out, "\t{\"%s\", \"%s\", %s, sizeof(%s), %s},\n", files[i].path,
			files[i].type, files[i].name, files[i].name,
			are_packed[i] ? "true" : "false");
	fprintf(out, "\t{0},\n};\n");
	return fflush(out) == 0 && !ferror(out);
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

/* A report has its script packed, and this one, which unpacks it and adds it to the document. */
static const char loader[] =
	"const bytes=Uint8Array.from(atob(document.getElementById('orma-script').textContent),"
	"(c)=>c.charCodeAt(0));"
	"const script=document.createElement('script');script.type='module';"
	"script.textContent=await new Response(new Blob([bytes]).stream()"
	".pipeThrough(new DecompressionStream('gzip'))).text();document.body.append(script);";

/* Writes the script of reports as C. */
static bool write_report(FILE *out, struct page *report)
{
	if (!join(report, ORMA_STR("report.js")) || !strip_text(&report->app, strip_script) ||
	    !strip_text(&report->app, shorten_names))
		return false;
	/* The element's end must not be in it. */
	if (memmem(report->app.data, report->app.size, "</", 2)) {
		fprintf(stderr, "web: the script of reports has \"</\" in it\n");
		return false;
	}
	write_hash(out, "report", report->app.data, report->app.size);
	write_hash(out, "loader", loader, sizeof(loader) - 1);
	fprintf(out, "const char orma_view_loader[] = \"%s\";\n", loader);
	bool is_packed = pack(&report->app);
	write_array(out, "report", &report->app);
	fprintf(out,
		"const struct orma_view_asset orma_view_report = {\"report.js\", "
		"\"text/javascript\", report, sizeof(report), %s};\n",
		is_packed ? "true" : "false");
	return fflush(out) == 0 && !ferror(out);
}

static bool make_page(struct page *page, struct page *report, const char *output)
{
	struct orma_buf texts[FILE_COUNT] = {{0}};
	bool is_made = join(page, ORMA_STR("main.js")) && read_document(page, &texts[0]) &&
		       read_source(page, "style.css", &texts[2]) &&
		       read_source(page, "icon.svg", &texts[3]);
	texts[1] = page->app;
	page->app = (struct orma_buf){0};
	is_made = is_made && strip_text(&texts[1], strip_script) &&
		  strip_text(&texts[1], shorten_names) && strip_text(&texts[2], strip_style);
	FILE *out = is_made ? fopen(output, "we") : NULL;
	if (is_made && !out)
		perror(output);
	is_made = out && write_page(out, texts) && write_report(out, report);
	if (out && fclose(out) != 0)
		is_made = false;
	for (size_t i = 0; i < FILE_COUNT; i++)
		orma_base_buf_done(&texts[i]);
	return is_made;
}

static void done(struct page *page)
{
	for (size_t i = 0; i < page->count; i++) {
		orma_base_buf_done(&page->modules[i]->source);
		orma_base_buf_done(&page->modules[i]->joined);
		orma_base_free((void *)(uintptr_t)page->modules[i]->file);
		orma_base_free(page->modules[i]);
	}
	orma_base_buf_done(&page->app);
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
	struct page page = {.folder = folder}, report = {.folder = folder};
	bool is_made = folder >= 0 && make_page(&page, &report, argv[2]);
	orma_base_fd_close(folder);
	done(&page);
	done(&report);
	return is_made ? 0 : 1;
}
