/* SPDX-License-Identifier: Apache-2.0
 * view_assets.h - the files of the page, which tools/web-join joins, packs and writes as C when the binary is built.
 */
#ifndef ORMA_VIEW_VIEW_ASSETS_H
#define ORMA_VIEW_VIEW_ASSETS_H

#include <stdbool.h>
#include <stddef.h>

struct orma_view_asset {
	const char *path; /* "/app.js" */
	const char *type; /* "text/javascript; charset=utf-8" */
	const unsigned char *data;
	size_t size;
	bool is_packed; /* with gzip */
};

/* An asset without a path ends the table. */
extern const struct orma_view_asset orma_view_assets[];

/* The script of reports, which is no file of the page, and its SHA-256. */
extern const struct orma_view_asset orma_view_report;
extern const unsigned char orma_view_report_hash[32];
/* The script that unpacks the other one, which is base64 in the element orma-script, if that is packed. */
extern const char orma_view_loader[];
extern const unsigned char orma_view_loader_hash[32];

#endif
