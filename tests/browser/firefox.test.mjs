// Reports from disk and the page of `orma view` in Firefox. One browser is started for all checks; what needs no second engine is
// checked in Chromium.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { pathToFileURL } from "node:url";
import { Firefox, findFirefox } from "./firefox.mjs";
import { view } from "./orma_server.mjs";
import { rowsOf, samplesText, shopTrace } from "./shop.mjs";

const orma = process.env.ORMA_PROGRAM;
const skip = !findFirefox() ? "no Firefox is installed" : orma ? false : "ORMA_PROGRAM does not name a binary with SQLite";
const folder = mkdtempSync(join(tmpdir(), "orma-firefox-test-"));
const file = join(folder, "orders.json");
const report = join(folder, "report.html");
/** @type {Firefox} */
let page;

const seen = (selector) => page.run(`document.querySelector("${selector}")?.checkVisibility() ?? false`);

/** Checks that each slice of the window is drawn at its time, depth and name. */
async function checkDrawn(boxes) {
	const { start, end } = await page.state();
	const expected = rowsOf(
		orma,
		file,
		`select ts - trace_start(), dur, depth, name from slice where ts - trace_start() < ${end} and ts - trace_start() + dur > ${start}`,
	);
	const drawn = boxes.filter(({ table, count }) => table === "slice" && count === 1);
	const keys = new Set(drawn.map((box) => [box.start, box.end - box.start, box.depth, box.name].join()));
	assert.ok(expected.length > 25);
	for (const row of expected) assert.ok(keys.has(row.join()), `${row} is not drawn`);
}

const showPart = (fragment) =>
	page.run(`(history.pushState(null, "", "#${fragment}"), dispatchEvent(new PopStateEvent("popstate")))`);
const pressTab = (title) =>
	page.run(`[...document.querySelectorAll("#tabs button")].find((one) => one.innerText === "${title}").click()`);

/** Checks details, the tables and the flame graph of an area, and SQL. */
async function checkPanel() {
	const one = (query) => rowsOf(orma, file, query)[0];
	const [id, rows] = one("select max(id), count(*) from slice where name = 'query'");
	await showPart(`s=slice.${id}`);
	await page.idle();
	assert.ok((await page.text("#panel")).includes(`select * from slice where id = ${id}`));
	await showPart("t=0-600000000&a=0-600000000");
	await page.idle();
	await pressTab("Slices");
	const counts = await page.run(
		"[...document.querySelectorAll('#panel .tr')].map(({ children }) => [children[0].innerText, children[1].title])",
	);
	assert.equal(new Map(counts).get("query"), rows);
	await pressTab("Flame graph");
	await page.idle();
	assert.match(await page.text(".flame-label"), /^all /);
	await pressTab("SQL");
	await page.run("document.querySelector('#sql-input').value = 'select sum(dur) as total from slice'");
	await page.run("document.querySelector('.sql-tools .primary').click()");
	await page.idle();
	assert.equal(await page.run("document.querySelector('#panel .tr').innerText"), one("select sum(dur) from slice")[0]);
}

before(async () => {
	if (skip) return;
	writeFileSync(file, shopTrace());
	execFileSync(orma, ["report", "-o", report, file], { stdio: "pipe" });
	page = await Firefox.start();
});

after(async () => {
	await page?.stop();
	rmSync(folder, { recursive: true, force: true });
});

test("a report from disk shows its tables, its timeline, and its tables again", { skip }, async () => {
	await page.openReport(pathToFileURL(report).href);
	assert.match(await page.text("#report"), /Slices by total time/);
	assert.equal(await seen("#timeline"), false);
	await page.run("document.querySelector('#open-timeline').click()");
	await page.run("new Promise((done) => { const wait = () => (window.orma ? done() : setTimeout(wait, 5)); wait(); })");
	await page.idle();
	assert.equal(await seen("#report table"), false);
	assert.ok((await page.boxes()).length > 0);
	await page.run("[...document.querySelectorAll('#tools button')].find((b) => b.innerText === 'Tables').click()");
	assert.equal(await seen("#report table"), true);
	assert.deepEqual(page.errors, []);
});

test("its timeline draws what the engine says, and a click shows details", { skip }, async () => {
	await page.open(`${pathToFileURL(report)}#t=100000000-102000000`);
	const boxes = await page.boxes();
	await checkDrawn(boxes);
	const request = boxes.find(({ name, x }) => name === "request" && x > 500);
	await page.click(request.x + 3, request.y + request.h - 4);
	await page.idle();
	const text = await page.text("#panel");
	assert.match(text, /160\s*µs/);
	assert.match(text, /<script>alert\(1\)<\/script>/);
	assert.deepEqual(page.errors, []);
});

test("its policy lets it ask nobody", { skip }, async () => {
	assert.equal(await page.run("fetch('data:,x').then(() => 'allowed', () => 'refused')"), "refused");
	assert.deepEqual(
		page.urls.filter((url) => !url.startsWith("file:") && !url.startsWith("data:")),
		[],
	);
});

test("profiles of two traces are a flame graph", { skip }, async () => {
	const [a, b, both] = ["a.txt", "b.txt", "both.html"].map((name) => join(folder, name));
	writeFileSync(a, samplesText({ "main,query": 6, "main,render": 2 }));
	writeFileSync(b, samplesText({ "main,query": 1, "main,render": 2, "main,sort": 1 }));
	execFileSync(orma, ["report", "-o", both, a, b], { stdio: "pipe" });
	await page.openReport(pathToFileURL(both).href);
	const { left, top, width } = await page.run(
		"(() => { const { left, top, width } = document.querySelector('.flame').getBoundingClientRect(); return { left, top, width }; })()",
	);
	await page.click(left + width * 0.49, top + 3 * 18 + 9);
	assert.match(await page.text(".flame-label"), /^query A 6 samples \(75\.0 %\), B 1 samples \(25\.0 %\)/);
	assert.deepEqual(page.errors, []);
});

test("the page of orma view draws, zooms, searches, and answers about slices, areas and SQL", { skip }, async () => {
	const server = await view(orma, [file]);
	try {
		await page.open(server.url);
		const whole = await page.state();
		assert.equal(
			(await page.boxes()).filter(({ table }) => table === "slice").reduce((sum, { count }) => sum + count, 0),
			Number(rowsOf(orma, file, "select count(*) from slice")[0][0]),
		);
		await page.press("w", "w");
		await page.idle();
		const near = await page.state();
		assert.ok(near.end - near.start < whole.end - whole.start);
		await page.press("/", ..."query", "\uE007");
		await page.idle();
		assert.match(await page.run("document.body.innerText"), /3\D?000/);
		await checkPanel();
		assert.deepEqual(page.errors, []);
	} finally {
		await server.stop();
	}
});
