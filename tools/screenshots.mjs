#!/usr/bin/env node
// screenshots.mjs ORMA TRACE REPORT OUT: makes the pictures of docs/pictures with a headless Chromium: the timeline of TRACE
// light and dark, details, an area, a flame graph, a phone, and pages that `orma report` has made: REPORT (of `make demo`), a
// made-up profile, and two profiles that are compared. tests/kernel/pictures records TRACE in a virtual machine, because scheduling
// is recorded by root only.
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { Browser } from "../tests/browser/cdp.mjs";
import { view } from "../tests/browser/orma_server.mjs";
import { samplesText } from "../tests/browser/shop.mjs";

const [orma, trace, report, out] = process.argv.slice(2);
const SHIFT = 8;

/** Selects the widest slice of the upper half of the screen, not where the recording begins and scheduling is not there yet. */
async function selectSlice(page) {
	const isFree = ({ x, y }) => x > 600 && y > 90 && y < 800;
	const boxes = (await page.boxes()).filter((box) => box.table === "slice" && box.count === 1 && isFree(box));
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
	await page.move(700, 20);
	await picture(page, "details");
	await page.press("Escape", "Escape");
	await page.press("Digit0", "0");
	await page.press("KeyQ", "q");
	await page.idle();
	await page.drag(400, box.y + 4, 1000, box.y + 24, { modifiers: 1 });
	await page.move(700, 20);
	await picture(page, "area");
	await page.run(`[...document.querySelectorAll('[role="tab"]')].find((tab) => /flame/i.test(tab.innerText))?.click()`);
	await picture(page, "flame");
});
await withPage({ width: 1440, height: 900, dark: true }, (page) => picture(page, "timeline-dark"));
await withPage({ width: 390, height: 844, scale: 2 }, (page) => picture(page, "phone"));

/** Samples of a shop's server before and after a change. */
const BEFORE = {
	"main,serve,parse_request,read_header": 120,
	"main,serve,parse_request,check_utf8": 60,
	"main,serve,route,match_path": 45,
	"main,serve,handle_order,query_db,send,write": 210,
	"main,serve,handle_order,query_db,wait_reply,poll": 330,
	"main,serve,handle_order,query_db,decode_row,strtod": 140,
	"main,serve,handle_order,render,escape_html": 180,
	"main,serve,handle_order,render,append,memcpy": 90,
	"main,serve,handle_order,render,append,grow,realloc": 70,
	"main,log_line,format": 60,
	"main,log_line,write": 40,
	"main,collect_garbage,mark,visit,visit,visit": 110,
	"main,collect_garbage,sweep": 50,
};
const AFTER = {
	...BEFORE,
	"main,serve,handle_order,render,escape_html": 60,
	"main,serve,handle_order,query_db,decode_row,strtod": 310,
	"main,serve,handle_order,query_db,decode_row,check_utf8": 170,
};

/** Draws a report from its top, or from the element that `selector` finds. */
async function reportPicture(page, file, name, selector = "") {
	const loaded = page.event("Page.loadEventFired");
	await page.send("Page.navigate", { url: pathToFileURL(resolve(file)).href });
	await loaded;
	if (selector) await page.run(`document.querySelector(${JSON.stringify(selector)}).scrollIntoView()`);
	await page.run("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))");
	writeFileSync(join(out, `${name}.png`), await page.picture());
}

const folder = mkdtempSync(join(tmpdir(), "orma-screenshots-"));
const [before, after, one, both] = ["before.txt", "after.txt", "one.html", "both.html"].map((name) => join(folder, name));
writeFileSync(before, samplesText(BEFORE));
writeFileSync(after, samplesText(AFTER));
execFileSync(orma, ["report", "-o", one, before]);
execFileSync(orma, ["report", "-o", both, before, after]);
const page = await Browser.start({ width: 1200, height: 1000 });
await reportPicture(page, report, "report");
await page.resize(1200, 800);
await reportPicture(page, one, "report-flame", "h2");
await page.setDark(true);
await reportPicture(page, both, "report-compare");
await page.setDark(false);
await page.resize(390, 844, 2);
await reportPicture(page, report, "report-phone");
await page.stop();
rmSync(folder, { recursive: true });
