#!/usr/bin/env node
// screenshots.mjs ORMA TRACE REPORT OUT: makes the pictures of docs/pictures with a headless Chromium: the timeline of TRACE
// (as `make demo` records it) light and dark, details, an area, a flame graph, a phone, and the page that `orma report` has made.
import { mkdirSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { Browser } from "../tests/browser/cdp.mjs";
import { view } from "../tests/browser/orma_server.mjs";

const [orma, trace, report, out] = process.argv.slice(2);
const SHIFT = 8;

/** Selects the widest slice of the upper half of the screen. */
async function selectSlice(page) {
	const boxes = (await page.boxes()).filter(({ table, count, y }) => table === "slice" && count === 1 && y > 90 && y < 800);
	const box = boxes.reduce((best, at) => (at.w > best.w && at.w < 900 ? at : best));
	await page.click(box.x + box.w / 2, box.y + box.h / 2);
	await page.idle();
	return box;
}

async function picture(page, name) {
	await page.idle();
	writeFileSync(join(out, `${name}.png`), await page.picture());
}

/** Calls fn with the page of the trace in a window of this kind. */
async function withPage(options, fn) {
	const server = await view(orma, [trace]);
	const page = await Browser.start(options);
	await page.open(server.url);
	await fn(page);
	await page.stop();
	await server.stop();
}

mkdirSync(out, { recursive: true });
await withPage({ width: 1440, height: 900 }, async (page) => {
	await picture(page, "timeline-light");
	const box = await selectSlice(page);
	for (const _ of [1, 2]) {
		await page.press("KeyF", "f");
		await page.idle();
	}
	await page.press("KeyS", "s");
	await picture(page, "details");
	await page.press("Escape", "Escape");
	await page.press("Digit0", "0");
	await page.press("KeyQ", "q");
	await page.idle();
	await page.drag(400, box.y + 4, 1000, box.y + 24, { modifiers: 1 });
	await picture(page, "area");
	await page.run(`[...document.querySelectorAll('[role="tab"]')].find((tab) => /flame/i.test(tab.innerText))?.click()`);
	await picture(page, "flame");
});
await withPage({ width: 1440, height: 900, dark: true }, (page) => picture(page, "timeline-dark"));
await withPage({ width: 390, height: 844, scale: 2 }, (page) => picture(page, "phone"));
const page = await Browser.start({ width: 1200, height: 1000 });
const loaded = page.event("Page.loadEventFired");
await page.send("Page.navigate", { url: pathToFileURL(resolve(report)).href });
await loaded;
writeFileSync(join(out, "report.png"), await page.picture());
await page.stop();
