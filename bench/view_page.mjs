#!/usr/bin/env node
// view_page.mjs ORMA TRACE: what somebody waits for who opens a trace in `orma view`, in a headless Chromium that draws with the CPU:
// the first picture, frames while the tracks are moved and zoomed, details, areas, and the memory of the page. TRACE has an index
// beside it after the first run, and is then opened once more.
import { existsSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { Browser } from "../tests/browser/cdp.mjs";
import { hook } from "../tests/browser/hooks.mjs";
import { view } from "../tests/browser/orma_server.mjs";

const [orma, trace] = process.argv.slice(2);
const WIDTH = 1920;
const HEIGHT = 1080;
const HELD_MS = 2000;

const print = (what, value) => console.log(`${what.padEnd(58)} ${value}`);
const ms = (value) => `${value.toFixed(value < 10 ? 1 : 0)} ms`;
const quantile = (values, share) => [...values].sort((a, b) => a - b)[Math.floor(share * (values.length - 1))] ?? NaN;

/** The time of the CPU that a process has used, in milliseconds: on a machine with other work, it says more than what passed. */
function cpuMs(pid) {
	const tasks = readdirSync(`/proc/${pid}/task`);
	return tasks.reduce(
		(sum, tid) => sum + Number(readFileSync(`/proc/${pid}/task/${tid}/schedstat`, "utf8").split(" ")[0]) / 1e6,
		0,
	);
}

/** Opens the trace in a browser that runs, and tells how long it took until something was drawn, and until all was. */
async function open(page, options) {
	const begun = performance.now();
	const server = await view(orma, [trace], options);
	await page.send("Page.navigate", { url: server.url });
	let first = 0;
	for (;;) {
		const isThere = await page
			.run("document.querySelector('#notice')?.hidden === false || window.orma !== undefined")
			.catch(() => false);
		if (isThere && first === 0) first = performance.now() - begun;
		if (await page.run("window.orma !== undefined").catch(() => false)) break;
		await new Promise((resolve) => setTimeout(resolve, 5));
	}
	await page.idle();
	return { server, first, full: performance.now() - begun, cpu: cpuMs(server.child.pid) };
}

/** Holds a key, and returns how long the page worked for each frame, how far frames were apart, and the boxes of the fullest. */
async function hold(page, code, key) {
	await page.run(`(() => {
		const seen = (window.seen = { work: [], apart: [], boxes: 0, on: true });
		let before = performance.now(), frames = orma.test.counters().frames;
		const look = (now) => {
			const counters = orma.test.counters();
			if (counters.frames !== frames) seen.work.push(counters.frameMs);
			seen.apart.push(now - before);
			[before, frames] = [now, counters.frames];
			seen.boxes = Math.max(seen.boxes, counters.boxes);
			if (seen.on) requestAnimationFrame(look);
		};
		requestAnimationFrame(look);
	})()`);
	await page.keyDown(code, key);
	await new Promise((resolve) => setTimeout(resolve, HELD_MS));
	await page.keyUp(code, key);
	await page.run("seen.on = false");
	await page.idle();
	return page.run("({ work: seen.work, apart: seen.apart, boxes: seen.boxes })");
}

async function measureFrames(page) {
	await page.move(1000, 500);
	const all = { work: [], apart: [], boxes: 0 };
	for (const [code, key] of [
		["KeyW", "w"],
		["KeyD", "d"],
		["KeyA", "a"],
		["KeyS", "s"],
	]) {
		const seen = await hold(page, code, key);
		all.work.push(...seen.work);
		all.apart.push(...seen.apart);
		all.boxes = Math.max(all.boxes, seen.boxes);
	}
	print("work of the page per frame, p50", ms(quantile(all.work, 0.5)));
	print("work of the page per frame, p99", ms(quantile(all.work, 0.99)));
	print("between two frames, p50", ms(quantile(all.apart, 0.5)));
	print("boxes of the fullest frame", all.boxes);
}

/** Bytes and requests for a screen that has not been there before. */
async function measureScreen(page) {
	const before = await page.run(hook("counters"));
	await page.run(
		`(({ end }) => { history.pushState(null, "", "#t=" + Math.round(end * 0.31) + "-" + Math.round(end * 0.36)); dispatchEvent(new PopStateEvent("popstate")); })(orma.test.state())`,
	);
	await page.idle();
	const after = await page.run(hook("counters"));
	const own = await page.run(`(({ app, line }) => {
		const { start, end, level } = line.scale;
		const { scrollTop, clientHeight } = line.tracks.element;
		const span = 512 * 2 ** level;
		const rows = app.model.rows.filter(({ y, height }) => y + height > scrollTop && y < scrollTop + clientHeight);
		const lanes = rows.flatMap(({ strip, body }) => [strip, body]).filter((node) => node?.lane != null);
		return lanes.flatMap(({ kind, lane }) => {
			const tiles = [];
			for (let index = Math.floor(start / span); index <= Math.floor(end / span); index++)
				tiles.push(app.tiles.tiles.get((kind === "counter" ? "counters:" : "tiles:") + lane + ":" + level + ":" + index)?.bytes ?? 0);
			return tiles;
		});
	})(orma)`);
	print(
		"a screen that is new: bytes of the tiles on it",
		own.reduce((sum, bytes) => sum + bytes, 0),
	);
	print("a screen that is new: how many tiles these are", own.length);
	print("a screen that is new: bytes, with the tiles beside it", after.bytes - before.bytes);
	print("a screen that is new: requests", after.requests - before.requests);
}

/** From a click until the panel tells what was clicked. */
async function measureDetails(page, pid) {
	// The panel covers the lower ones.
	const isFree = ({ x, y }) => x > 300 && y > 120 && y < HEIGHT / 2;
	const boxes = (await page.boxes())
		.filter((box) => box.table === "slice" && box.count === 1 && box.w > 4 && isFree(box))
		.slice(0, 20);
	const times = [];
	const before = cpuMs(pid);
	for (const box of boxes) {
		await page.run(
			"(window.shown = new Promise((resolve) => new MutationObserver((_, it) => document.querySelector('#panel h2') && (it.disconnect(), resolve(performance.now()))).observe(document.querySelector('#panel'), { childList: true, subtree: true })), addEventListener('pointerdown', () => (window.pressed = performance.now()), { capture: true, once: true }))",
		);
		await page.click(box.x + box.w / 2, box.y + box.h / 2);
		times.push(await page.run("shown.then((at) => at - pressed)"));
		await page.press("Escape", "Escape");
	}
	// It opens the panel, so that everything is laid out and drawn anew.
	print("click to details, the first one", ms(times.shift() ?? NaN));
	print("click to details, p50", ms(quantile(times, 0.5)));
	print("click to details, most", ms(Math.max(...times)));
	print("click to details, orma's time of the CPU, mean", ms((cpuMs(pid) - before) / boxes.length));
}

/** A range with about a million slices: from the release of the mouse until the table is there. */
async function measureArea(page, pid) {
	await page.press("Digit0", "0");
	await page.idle();
	const { left, top, width } = await page.run(
		"(({ left, top, width }) => ({ left, top, width }))(document.querySelector('#ruler canvas').getBoundingClientRect())",
	);
	const slices = Number((await page.text("#status")).replace(/\s/g, "").match(/(\d+)slices/)?.[1] ?? 0);
	const share = Math.min(0.9, 1e6 / Math.max(1, slices));
	await page.run("document.querySelector('#tabs').textContent = ''");
	await page.run(
		"(window.shown = new Promise((resolve) => new MutationObserver((_, it) => document.querySelector('#tab-slices') && (it.disconnect(), resolve(performance.now()))).observe(document.querySelector('#tabs'), { childList: true })), addEventListener('pointerup', () => (window.pressed = performance.now()), { capture: true, once: true }))",
	);
	const before = cpuMs(pid);
	await page.drag(left + 50, top + 10, left + 50 + share * width, top + 10, { modifiers: 1 });
	print("area of about 1,000,000 slices", ms(await page.run("shown.then((at) => at - pressed)")));
	print("area of about 1,000,000 slices, orma's time of the CPU", ms(cpuMs(pid) - before));
}

const page = await Browser.start({ width: WIDTH, height: HEIGHT });
const index = `${trace}.orma-index`;
if (existsSync(index)) rmSync(index);
const fresh = await open(page, ["--index"]);
print("without an index: first frame, with the progress", ms(fresh.first));
print("without an index: whole picture", ms(fresh.full));
await fresh.server.stop();
const again = [];
for (let run = 0; run < 5; run++) {
	if (again.length > 0) await again[again.length - 1].server.stop();
	again.push(await open(page, ["--index"]));
}
print("with an index: whole picture, best of 5", ms(Math.min(...again.map(({ full }) => full))));
print(
	"with an index: whole picture, median",
	ms(
		quantile(
			again.map(({ full }) => full),
			0.5,
		),
	),
);
print(
	"with an index: of this, orma's time of the CPU, median",
	ms(
		quantile(
			again.map(({ cpu }) => cpu),
			0.5,
		),
	),
);
await measureScreen(page);
await measureFrames(page);
const { pid } = again[again.length - 1].server.child;
await measureDetails(page, pid);
await measureArea(page, pid);
await page.send("HeapProfiler.collectGarbage");
await page.send("Performance.enable");
const { metrics } = await page.send("Performance.getMetrics");
print(
	"memory of the page's scripts",
	`${(metrics.find(({ name }) => name === "JSHeapUsedSize").value / 2 ** 20).toFixed(1)} MiB`,
);
print("bytes of tiles", (await page.run(hook("counters"))).tileBytes);
await page.stop();
await again[again.length - 1].server.stop();
