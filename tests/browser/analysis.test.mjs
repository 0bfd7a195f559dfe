// What the page makes of a range and of SQL: flame graphs of profiles, how two of them differ, and results as tracks. All is
// compared with what `orma sql` says of the same trace.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { Browser, findChromium } from "./cdp.mjs";
import { view } from "./orma_server.mjs";

const orma = process.env.ORMA_PROGRAM;
const skip = !findChromium() ? "no Chromium is installed" : orma ? false : "ORMA_PROGRAM does not name a binary with SQLite";
const CTRL = 2;
const SHIFT = 8;
const folder = mkdtempSync(join(tmpdir(), "orma-page-"));
const file = join(folder, "app.txt");
/** @type {Browser} */
let page;
let server;

/** What `perf script` prints: main calls work in the first half, and wait in the second. */
function makeProfile() {
	const stack = (name) => `\t 3000 ${name}+0x1 (/bin/app)\n\t 1000 main+0x1 (/bin/app)\n\n`;
	const at = (i) => `app 7/${8 + (i % 2)} [000] ${(100 + i / 1000).toFixed(6)}: 1 cycles:\n`;
	return Array.from({ length: 1000 }, (_, i) => at(i) + stack(i < 500 || i % 10 === 0 ? "work" : "wait")).join("");
}

/** The rows of a query, as arrays of text. */
function sql(query) {
	const lines = execFileSync(orma, ["sql", "--csv", file, query], { encoding: "utf8" }).trimEnd().split("\n");
	return lines.slice(1).map((line) => line.split(",").map((cell) => cell.replace(/^"(.*)"$/, "$1")));
}

before(async () => {
	if (skip) return;
	writeFileSync(file, makeProfile());
	server = await view(orma, [file]);
	page = await Browser.start({ width: 1200, height: 900 });
	await page.send("Emulation.setEmulatedMedia", { features: [{ name: "prefers-reduced-motion", value: "reduce" }] });
	await page.open(server.url);
});

after(async () => {
	await page?.stop();
	await server?.stop();
	rmSync(folder, { recursive: true, force: true });
});

async function press(text, selector = "#drawer button") {
	const found = `[...document.querySelectorAll(${JSON.stringify(selector)})].find((one) => one.innerText.trim() === ${JSON.stringify(text)})`;
	await page.run(`${found}.click()`);
	await page.idle();
}

/** Asks in SQL, as a person does. */
async function ask(query) {
	await page.press("Semicolon", ":", SHIFT);
	await page.run(`document.querySelector('#sql-input').value = ${JSON.stringify(query)}`);
	await page.press("Enter", "Enter", CTRL);
	await page.idle();
	await page.run("document.activeElement.blur()");
}

/** Selects a share of the trace by a drag along the ruler. */
async function selectTimes(from, to) {
	await page.press("Escape", "Escape");
	const ruler = await page.run(
		"(({ left, top, width }) => ({ left, top, width }))(document.querySelector('#ruler canvas').getBoundingClientRect())",
	);
	await page.drag(ruler.left + from * ruler.width, ruler.top + 10, ruler.left + to * ruler.width, ruler.top + 10, {
		modifiers: 1,
	});
	await page.idle();
	return (await page.state()).area;
}

test("a trace of samples only has a flame graph of all of it", { skip }, async () => {
	assert.match(await page.text(".flame-label"), /^all 1\s000 samples \(100\.0 %\)/);
	await press("SQL", ".flame-tools button");
	const samples = sql(await page.text(".flame-tools .query"));
	assert.equal(
		samples.reduce((sum, row) => sum + Number(row.at(-1)), 0),
		1000,
	);
});

test("the graph of one range is compared with that of another", { skip }, async () => {
	const first = await selectTimes(0.1, 0.4);
	await press("Flame graph");
	const inside = ({ start, end }) =>
		Number(
			sql(
				`select count(*) from stack_sample where ts - trace_start() >= ${Math.floor(start)} and ts - trace_start() <= ${Math.ceil(end)}`,
			)[0][0],
		);
	assert.match(await page.text(".flame-label"), new RegExp(`^all ${inside(first)} samples`));
	await press("Keep to compare");
	const second = await selectTimes(0.6, 0.9);
	await press("Flame graph");
	await page.run(
		"[...document.querySelectorAll('.flame-tools button')].find((one) => /^Compare with/.test(one.innerText)).click()",
	);
	await page.idle();
	const [before, now] = [inside(first), inside(second)];
	assert.match(
		await page.text(".flame-label"),
		new RegExp(`^all before ${before} samples \\(100\\.0 %\\), now ${now} samples`),
	);
	// Below main, which is as wide as the graph, are the two functions: the wider one is the one that shrank less.
	const canvas = await page.run(
		"(({ left, top, width }) => ({ left, top, width }))(document.querySelector('.flame').getBoundingClientRect())",
	);
	await page.move(canvas.left + 10, canvas.top + 2.5 * 18);
	assert.match(await page.text(".flame-label"), /^work before \d+ samples \(100\.0 %\), now \d+ samples \(\d+\.\d %\)/);
	await page.move(canvas.left + canvas.width - 10, canvas.top + 2.5 * 18);
	assert.match(await page.text(".flame-label"), /^wait before 0 samples \(0\.0 %\), now \d+ samples \((89|90)\.\d %\)/);
	assert.ok(second.start > first.end);
	await page.press("Escape", "Escape");
});

test("the keyboard goes through a flame graph", { skip }, async () => {
	const { start } = await selectTimes(0.5, 0.9);
	await press("Flame graph");
	const label = () => page.text(".flame-label");
	const walk = async (...keys) => {
		for (const key of keys) await page.press(key, key);
		return label();
	};
	await page.run("document.querySelector('.flame').focus()");
	assert.match(await page.run("document.activeElement.getAttribute('aria-label')"), /arrows go through it/);
	assert.match(await walk("ArrowDown"), /^main /);
	const wide = await walk("ArrowDown");
	assert.match(wide, /^(work|wait) /);
	const other = await walk("ArrowRight");
	assert.match(other, wide.startsWith("work") ? /^wait / : /^work /);
	// At the end of a row, and in the last one, there is nothing to go to.
	assert.equal(await walk("ArrowRight", "ArrowRight"), other);
	assert.equal(await walk("ArrowLeft"), wide);
	assert.match(await walk("ArrowUp"), /^main /);
	await walk("ArrowDown", "ArrowRight", "Enter");
	// The function is as wide as the graph now.
	const { left, top, width } = await page.run("document.querySelector('.flame').getBoundingClientRect().toJSON()");
	for (const x of [left + 3, left + width - 3]) {
		await page.move(x, top + 2.5 * 18);
		assert.equal((await label()).split(" ")[0], other.split(" ")[0]);
	}
	await page.move(5, 5);
	assert.match(await walk("Escape"), /^all /);
	assert.equal((await page.state()).area.start, start, "Escape has not left the area");
	await page.press("Escape", "Escape");
});

test("rows of SQL are shown as slices, and a click tells what is in them", { skip }, async () => {
	await page.press("Digit0", "0");
	const query =
		"select ts, 800000 as dur, name from (select s.ts, f.name from stack_sample s join stack_profile_callsite c on c.id = s.callsite_id join stack_profile_frame f on f.id = c.frame_id)";
	await ask(query);
	await press("Show as slices");
	const boxes = (await page.boxes()).filter(({ table }) => table === "query");
	assert.equal(
		boxes.reduce((sum, { count }) => sum + count, 0),
		1000,
	);
	// The pins are a part of the address, which is written after a moment.
	await new Promise((resolve) => setTimeout(resolve, 400));
	await page.run(
		`(history.pushState(null, "", location.hash.replace(/t=[^&]*/, "t=500000000-520000000")), dispatchEvent(new PopStateEvent("popstate")))`,
	);
	await page.idle();
	const drawn = (await page.boxes()).filter(({ table }) => table === "query");
	const expected = sql(
		`select ts - trace_start(), name from (${query}) where ts - trace_start() between 500000000 and 520000000`,
	);
	for (const [ts, name] of expected) {
		const box = drawn.find(({ start }) => start === Number(ts));
		assert.deepEqual(box && [box.name, box.end - box.start, box.count], [name, 800000, 1]);
	}
	await page.click(drawn[5].x + 3, drawn[5].y + 5);
	await page.idle();
	assert.match(await page.text("#panel"), /800\s*µs/);
	assert.ok((await page.text("#panel")).includes("800000 as dur"));
	await page.press("Escape", "Escape");
});

test("rows of SQL are shown as a counter, and unpinning takes them away", { skip }, async () => {
	const pins = (await page.state()).pins.length;
	await ask("select ts, id % 7 as value from stack_sample");
	await press("Show as counter");
	assert.equal((await page.state()).pins.length, pins + 1);
	for (let left = pins; left >= 0; left--) {
		await page.run("document.querySelector('#pinned .pin').click()");
		await page.idle();
		assert.equal((await page.state()).pins.length, left);
	}
	assert.deepEqual(page.errors, []);
});
