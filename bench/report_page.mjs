#!/usr/bin/env node
// report_page.mjs ORMA [SLICES]: writes a trace of 8 threads as Chrome's JSON, makes a report of it, and prints what the report's parts
// have and how long a headless Chromium takes to open it from disk, until all tracks are drawn. The gaps and lengths of slices are random from
// a microsecond to a millisecond, of three magnitudes, and the same in each run.
import { execFileSync } from "node:child_process";
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, statSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { Browser } from "../tests/browser/cdp.mjs";

const [orma, slices = "100000"] = process.argv.slice(2);
const THREADS = 8;
const NAMES = 200;
const RUNS = 9;

const print = (what, value) => console.log(`${what.padEnd(58)} ${value}`);
const kilobytes = (bytes) => `${(bytes / 1000).toFixed(0)} KB`;

let state = 1n;
/** A number from 0 to 1. */
function draw() {
	state = (state * 6364136223846793005n + 1442695040888963407n) & 0xffffffffffffffffn;
	return Number(state >> 40n) / 2 ** 24;
}

/** Nanoseconds from a microsecond to a millisecond: each magnitude is as likely as the others. */
const drawNs = () => Math.round(1000 * 1000 ** draw());

function writeTrace(path) {
	const fd = openSync(path, "w");
	writeSync(fd, '{"traceEvents":[');
	for (let tid = 1; tid <= THREADS; tid++) {
		let now = 0;
		for (let i = 0; i < Number(slices) / THREADS; i++) {
			const begin = now + drawNs();
			now = begin + drawNs();
			const event = {
				ph: "X",
				pid: 7,
				tid,
				ts: begin / 1000,
				dur: (now - begin) / 1000,
				name: `work ${Math.floor(draw() * NAMES)}`,
			};
			writeSync(fd, `${tid === 1 && i === 0 ? "" : ","}${JSON.stringify(event)}\n`);
		}
	}
	writeSync(fd, "]}");
	closeSync(fd);
}

/** The bytes of the elements whose id begins so. */
function elementBytes(html, id) {
	const found = html.matchAll(new RegExp(`<script type="application/octet-stream" id="${id}[^"]*">[^<]*</script>`, "g"));
	return [...found].reduce((sum, [element]) => sum + element.length, 0);
}

/** Milliseconds from the navigation until the timeline has been drawn and nothing is on its way. */
async function open(page, url) {
	await page.send("Page.navigate", { url: "about:blank" });
	const begun = performance.now();
	await page.open(url);
	return performance.now() - begun;
}

const folder = mkdtempSync(join(tmpdir(), "orma-report-"));
const trace = join(folder, "t.json");
const report = join(folder, "t.html");
writeTrace(trace);
const begun = performance.now();
execFileSync(orma, ["report", "--max-size", "100m", "-o", report, trace], { stdio: "pipe" });
print("orma report", `${(performance.now() - begun).toFixed(0)} ms`);
const html = readFileSync(report, "latin1");
print("the report", kilobytes(statSync(report).size));
print("its slices", kilobytes(elementBytes(html, "orma-data")));
print("its script", kilobytes(elementBytes(html, "orma-script")));
const page = await Browser.start({ width: 1920, height: 1080 });
const times = [];
for (let i = 0; i < RUNS; i++) times.push(await open(page, `${pathToFileURL(report).href}#all`));
times.sort((a, b) => a - b);
print(`until all tracks are drawn, median of ${RUNS}`, `${times[(RUNS - 1) / 2].toFixed(0)} ms`);
await page.stop();
rmSync(folder, { recursive: true });
