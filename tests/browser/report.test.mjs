// A report, opened from disk: what it draws is what `orma sql` says of the trace, it asks nobody, and without JavaScript its
// tables are there.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { pathToFileURL } from "node:url";
import { Browser, findChromium } from "./cdp.mjs";
import { rowsOf, samplesText, shopTrace } from "./shop.mjs";

const orma = process.env.ORMA_PROGRAM;
const skip = !findChromium() ? "no Chromium is installed" : orma ? false : "ORMA_PROGRAM does not name a binary with SQLite";
const folder = mkdtempSync(join(tmpdir(), "orma-report-"));
const file = join(folder, "orders.json");
const report = join(folder, "report.html");
/** @type {Browser} */
let page;

const sql = (query) => rowsOf(orma, file, query);
const number = (query) => Number(sql(query)[0][0]);
const write = (path, ...options) => execFileSync(orma, ["report", "-o", path, ...options, file], { stdio: "pipe" });

async function open(path, fragment) {
	await page.send("Page.navigate", { url: "about:blank" });
	page.errors.length = page.urls.length = 0;
	await page.open(`${pathToFileURL(path)}${fragment}`);
}

before(async () => {
	if (skip) return;
	writeFileSync(file, shopTrace());
	write(report);
	page = await Browser.start({ width: 1200, height: 900 });
	await page.send("Emulation.setEmulatedMedia", { features: [{ name: "prefers-reduced-motion", value: "reduce" }] });
});

after(async () => {
	await page?.stop();
	rmSync(folder, { recursive: true, force: true });
});

test("the tables come first, and a button leads to the timeline and back", { skip }, async () => {
	await page.openReport(pathToFileURL(report).href);
	const seen = (selector) => page.run(`document.querySelector("${selector}")?.checkVisibility() ?? false`);
	assert.equal(await seen("#report table"), true);
	assert.equal(await seen("#timeline"), false);
	await page.run("document.querySelector('#open-timeline').click()");
	await page.run("new Promise((done) => { const wait = () => (window.orma ? done() : setTimeout(wait, 5)); wait(); })");
	await page.idle();
	assert.equal(await seen("#report table"), false);
	assert.equal(await seen("#timeline"), true);
	assert.equal(await seen("#sql-button"), false);
	assert.ok((await page.boxes()).length > 0);
	await page.run("[...document.querySelectorAll('#tools button')].find((b) => b.innerText === 'Tables').click()");
	assert.equal(await seen("#report table"), true);
	assert.equal(await seen("#timeline"), false);
});

test("each slice of the window is drawn at its time, depth and name, and nobody is asked", { skip }, async () => {
	await open(report, "#t=100000000-102000000");
	const { start, end } = await page.state();
	const expected = sql(
		`select ts - trace_start(), dur, depth, name from slice where ts - trace_start() < ${end} and ts - trace_start() + dur > ${start}`,
	);
	const drawn = (await page.boxes()).filter(({ table, count }) => table === "slice" && count === 1);
	const keys = new Set(drawn.map((box) => [box.start, box.end - box.start, box.depth, box.name].join()));
	assert.ok(expected.length > 25);
	for (const row of expected) assert.ok(keys.has(row.join()), `${row} is not drawn`);
	assert.deepEqual(page.errors, []);
	assert.deepEqual(
		page.urls.filter((url) => !url.startsWith(pathToFileURL(report).href)),
		[],
	);
});

test("merged boxes have as many slices as the engine, and areas the same counts and totals", { skip }, async () => {
	await open(report, "#a=0-600000000");
	const boxes = (await page.boxes()).filter(({ table }) => table === "slice");
	assert.ok(boxes.some(({ count }) => count > 1));
	assert.equal(
		boxes.reduce((sum, { count }) => sum + count, 0),
		number("select count(*) from slice"),
	);
	const counted = await page.run(
		"[...document.querySelectorAll('.tr')].map((row) => [0, 1, 2].map((i) => row.children[i].title || row.children[i].innerText))",
	);
	const expected = sql("select name, count(*), sum(dur) from slice group by name");
	for (const [name, count, total] of expected) {
		const row = counted.find((cells) => cells[0] === name);
		assert.ok(row && Number(row[1]) === Number(count) && Number(row[2]) === Number(total), `${name}: ${row}`);
	}
	assert.deepEqual(page.errors, []);
});

test("a slice's details have its arguments and what is around it", { skip }, async () => {
	await open(report, "#t=20000000-21000000");
	const request = (await page.boxes()).find(({ name, x }) => name === "request" && x > 500);
	await page.click(request.x + 3, request.y + request.h - 4);
	await page.idle();
	const text = await page.text("#panel");
	const order = Math.round(request.start / 200000);
	assert.match(text, /160\s*µs/);
	assert.ok(text.includes(`/orders/<${order}>`), text);
	assert.match(text, /of 3\D000/);
	assert.match(text, /<script>alert\(1\)<\/script>/);
	assert.match(text, /front \(1\)/);
	assert.deepEqual(page.errors, []);
});

test("a slice's flows are drawn and followed", { skip }, async () => {
	const [trace, html] = ["flow.json", "flow.html"].map((name) => join(folder, name));
	const slice = (name, tid, ts) => ({ ph: "X", name, pid: 1, tid, ts, dur: 50 });
	const end = { ph: "f", bp: "e", id: 7, name: "message", pid: 1, tid: 2, ts: 310 };
	writeFileSync(
		trace,
		JSON.stringify([slice("send", 1, 100), { ...end, ph: "s", tid: 1, ts: 120 }, slice("receive", 2, 300), end]),
	);
	execFileSync(orma, ["report", "-o", html, trace], { stdio: "pipe" });
	await open(html, "#t=0-250000");
	const send = (await page.boxes()).find(({ name }) => name === "send");
	await page.click(send.x + 3, send.y + send.h / 2);
	await page.idle();
	assert.equal(await page.run("orma.test.counters().flows"), 1);
	assert.match(await page.text("#panel"), /→ receive/);
	await page.press("BracketRight", "]");
	await page.idle();
	assert.match(await page.text("#panel h2"), /receive/);
	assert.match(await page.text("#panel"), /← send/);
	assert.deepEqual(page.errors, []);
});

test("what does not fit is joined, and the file says so", { skip }, async () => {
	const small = join(folder, "small.html");
	const data = /id="orma-data-0">([^<]*)/.exec(readFileSync(report, "utf8"))[1].length;
	const most = Math.floor((statSync(report).size - data / 2) / 1024);
	write(small, "--max-size", `${most}`);
	assert.ok(statSync(small).size <= most * 1024);
	assert.match(readFileSync(small, "utf8"), /<p class="missing">To keep the size that --max-size allows/);
	await open(small, "#t=0-600000000");
	const boxes = (await page.boxes()).filter(({ table }) => table === "slice");
	assert.equal(
		boxes.reduce((sum, { count }) => sum + count, 0),
		number("select count(*) from slice"),
	);
	assert.deepEqual(page.errors, []);
});

test("a report opens where its maker says, unless the address says otherwise", { skip }, async () => {
	const at = join(folder, "at.html");
	write(at, "--open-at", "100ms..102ms");
	await open(at, "");
	await page.idle();
	const { start, end } = await page.state();
	assert.deepEqual([start, end], [100e6, 102e6]);
	assert.ok((await page.boxes()).some(({ name, count }) => name === "request" && count === 1));
	await open(at, "#t=0-1000000");
	await page.idle();
	assert.equal((await page.state()).end, 1e6);
	write(at, "--open-at=-100ms");
	await open(at, "");
	await page.idle();
	const state = await page.state();
	const middle = number("select trace_dur()") - 100e6;
	assert.ok(Math.abs((state.start + state.end) / 2 - middle) < 1e3);
});

test("tables are sorted by a click, and long ones are filtered", { skip }, async () => {
	const tables = join(folder, "tables.html");
	write(tables, "-q", "Slices=select name, dur, id from slice order by id limit 40");
	await page.openReport(pathToFileURL(tables).href);
	const column = (i) =>
		page.run(
			`[...document.querySelectorAll("h3 ~ table")].at(-1).querySelectorAll("tbody tr:not([hidden]) td:nth-child(${i})").values().map((cell) => cell.dataset.value ?? cell.innerText).toArray()`,
		);
	const press = (i) =>
		page.run(`[...document.querySelectorAll("h3 ~ table")].at(-1).querySelector("th:nth-child(${i}) button").click()`);
	const lengths = (await column(2)).map(Number);
	assert.equal(lengths.length, 40);
	await press(2);
	assert.deepEqual(
		(await column(2)).map(Number),
		lengths.toSorted((a, b) => b - a),
	);
	await press(2);
	assert.deepEqual(
		(await column(2)).map(Number),
		lengths.toSorted((a, b) => a - b),
	);
	await press(1);
	const names = await column(1);
	assert.deepEqual(names, names.toSorted());
	await page.run("document.querySelector('.filter input').focus()");
	await page.type("QUERY");
	assert.deepEqual(new Set(await column(1)), new Set(["query"]));
	assert.match(await page.text(".filter"), /^\s*\d+ of 40$/);
	assert.deepEqual(page.errors, []);
});

/** Clicks on the canvas of the first flame graph, in pixels from its corner. */
async function clickFlame(x, y) {
	const { left, top } = await page.run(
		"(() => { const { left, top } = document.querySelector('.flame').getBoundingClientRect(); return { left, top }; })()",
	);
	await page.click(left + x, top + y);
}

test("a flame graph has the width of each function, and a click shows one alone", { skip }, async () => {
	const samples = join(folder, "samples.txt");
	const flames = join(folder, "flames.html");
	writeFileSync(samples, samplesText({ "main,</script><b>": 6, "main,render": 2 }));
	execFileSync(orma, ["report", "-o", flames, samples], { stdio: "pipe" });
	await page.openReport(pathToFileURL(flames).href);
	assert.match(await page.text(".flame-label"), /^all 8 samples \(100\.0 %\)/);
	const width = await page.run("document.querySelector('.flame').clientWidth");
	// Lines are 18 pixels high: all, the process, main, and what main calls.
	await page.move(0, 0);
	await clickFlame(width * 0.5, 3 * 18 + 9);
	assert.match(await page.text(".flame-label"), /^<\/script><b> 6 samples \(75\.0 %\), self 6 samples/);
	await clickFlame(width * 0.5, 9);
	await clickFlame(width * 0.9, 3 * 18 + 9);
	assert.match(await page.text(".flame-label"), /^render 2 samples \(25\.0 %\)/);
	assert.deepEqual(page.errors, []);
});

test("two profiles are one flame graph with what each of them has", { skip }, async () => {
	const [a, b, both] = ["a.txt", "b.txt", "both.html"].map((name) => join(folder, name));
	writeFileSync(a, samplesText({ "main,query": 6, "main,render": 2 }));
	writeFileSync(b, samplesText({ "main,query": 1, "main,render": 2, "main,sort": 1 }));
	execFileSync(orma, ["report", "-o", both, a, b], { stdio: "pipe" });
	await page.openReport(pathToFileURL(both).href);
	assert.match(await page.text(".flame-label"), /^all A 8 samples \(100\.0 %\), B 4 samples \(100\.0 %\)/);
	const width = await page.run("document.querySelector('.flame').clientWidth");
	// query has 75 % of A and 25 % of B: half of both.
	await clickFlame(width * 0.49, 3 * 18 + 9);
	assert.match(await page.text(".flame-label"), /^query A 6 samples \(75\.0 %\), B 1 samples \(25\.0 %\)/);
	assert.match(await page.text("#report"), /Orange takes more in B/);
	assert.deepEqual(page.errors, []);
});

test("without JavaScript the tables can be read", { skip }, async () => {
	await page.send("Emulation.setScriptExecutionDisabled", { value: true });
	await page.send("Page.navigate", { url: `${pathToFileURL(report)}?` });
	await page.event("Page.loadEventFired");
	const text = await page.text("body");
	await page.send("Page.navigate", { url: `${pathToFileURL(join(folder, "flames.html"))}?` });
	await page.event("Page.loadEventFired");
	const profile = await page.text("body");
	await page.send("Emulation.setScriptExecutionDisabled", { value: false });
	assert.match(profile, /<\/script><b>\s+6\s+75\.0%/);
	assert.doesNotMatch(profile, /Click a box|orma-flame/);
	assert.match(text, /Slices by total time/);
	assert.doesNotMatch(text, /Open the timeline|orma-data|Search/);
});
