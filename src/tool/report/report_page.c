/* SPDX-License-Identifier: Apache-2.0
 * report_page.c - takes the page apart that the binary has for `orma view`, and puts it into a report.
 *
 * A report has the body of that page as a template, which a browser does not show, and its style sheet switched off: without
 * JavaScript only the tables are there. The script is packed, which saves 70 KB of 110; a small one unpacks it. The policy allows
 * these two, by their hashes, so that no text of a trace can become one. Rejected: a nonce, which markup in the file could repeat.
 */
#include "tool/report/report_page.h"

#include <errno.h>
#include <string.h>

#include "base/macros.h"
#include "codec/compression.h"
#include "trace/base64.h"
#include "view/view_assets.h"

enum { ASSET_BYTES_MAX = 4 << 20 };

static const struct orma_view_asset *find_asset(const char *path)
{
	const struct orma_view_asset *asset = orma_view_assets;
	while (strcmp(asset->path, path) != 0)
		asset++;
	return asset;
}

static bool is_script_packed(void)
{
	return find_asset("report.js")->is_packed;
}

int orma_report_page_append_policy(struct orma_buf *html)
{
	const struct orma_str hash = {(const char *)orma_view_report_hash,
				      sizeof(orma_view_report_hash)};
	const struct orma_str loader = {(const char *)orma_view_loader_hash,
					sizeof(orma_view_loader_hash)};
	bool is_packed = is_script_packed();
	int r = orma_base_buf_append_str(
		html, "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
		      "script-src 'sha256-");
	if (r == 0)
		r = orma_base64_append(html, hash);
	if (r == 0 && is_packed)
		r = orma_base_buf_append_str(html, "' 'sha256-");
	if (r == 0 && is_packed)
		r = orma_base64_append(html, loader);
	return r ? r
		 : orma_base_buf_append_str(html, "'; style-src 'unsafe-inline'; base-uri 'none'; "
						  "form-action 'none'\">\n");
}

/* Unpacks an asset. The binary has it, so its content is known to be right. */
static int read_asset(const char *path, struct orma_buf *ret)
{
	const struct orma_view_asset *asset = find_asset(path);
	return asset->is_packed ? orma_tool_gunzip(asset->data, asset->size, ASSET_BYTES_MAX, ret)
				: orma_base_buf_append(ret, asset->data, asset->size);
}

/* Appends what is between the tags of the document's body. */
static int append_body(struct orma_buf *html)
{
	static const char begin[] = "<body>", end[] = "</body>";
	ORMA_AUTO(orma_base_buf_done) struct orma_buf document = {0};
	int r = read_asset("/", &document);
	if (r < 0)
		return r;
	const char *text = (const char *)document.data;
	const char *from = memmem(text, document.size, begin, strlen(begin));
	const char *to = memmem(text, document.size, end, strlen(end));
	if (!from || !to || to < from)
		return -ENOENT;
	from += strlen(begin);
	return orma_base_buf_append(html, from, (size_t)(to - from));
}

/* Appends a part of the script: as base64 in an element of its own, if it is packed, else as it is. */
static int append_part(struct orma_buf *html, unsigned part)
{
	static const char *const paths[] = {"/shared.js", "report.js"};
	const struct orma_view_asset *asset = find_asset(paths[part]);
	const struct orma_str script = {(const char *)asset->data, asset->size};
	if (!asset->is_packed)
		return orma_base_buf_append(html, script.data, script.size);
	int r = orma_base_buf_printf(
		html, "<script type=\"application/octet-stream\" id=\"orma-script-%u\">", part);
	if (r == 0)
		r = orma_base64_append(html, script);
	return r ? r : orma_base_buf_append_str(html, "</script>\n");
}

int orma_report_page_append_script(struct orma_buf *html)
{
	static const char begin[] = "<script type=\"module\">";
	bool is_packed = is_script_packed();
	int r = is_packed ? 0 : orma_base_buf_append_str(html, begin);
	if (r == 0)
		r = append_part(html, 0);
	if (r == 0)
		r = append_part(html, 1);
	if (r == 0 && is_packed)
		r = orma_base_buf_printf(html, "%s%s", begin, orma_view_loader);
	return r ? r : orma_base_buf_append_str(html, "</script>\n");
}

static int append_style(struct orma_buf *html, const char *attributes, const char *path)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf style = {0};
	int r = read_asset(path, &style);
	return r ? r
		 : orma_base_buf_printf(html, "<style %s>\n%.*s</style>\n", attributes,
					(int)style.size, (const char *)style.data);
}

int orma_report_page_append_style(struct orma_buf *html)
{
	return append_style(html, "id=\"report-style\"", "report.css");
}

int orma_report_page_append(struct orma_buf *html)
{
	int r = append_style(html, "id=\"view-style\" media=\"not all\"", "/style.css");
	if (r == 0)
		r = orma_base_buf_append_str(html, "<template id=\"orma-page\">");
	if (r == 0)
		r = append_body(html);
	if (r == 0)
		r = orma_base_buf_append_str(html, "</template>\n");
	return r ? r : orma_report_page_append_script(html);
}
