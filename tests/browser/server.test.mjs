// The page and `orma view` together: what is drawn, counted and told is what `orma sql` says of the same trace.
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
const file = join(folder, "orders.json");
/** @type {Browser} */
let page;
let server;
let origin;

/** A trace of two threads: requests with steps in them, a counter, arguments, and flows from one thread to the other. */
function makeTrace() {
	const events = [];
	const add = (tid, ph, ts, name, more) => events.push({ pid: 7, tid, ph, ts, name, cat: "shop", ...more });
	add(1, "M", 0, "process_name", { args: { name: "shop" } });
	add(1, "M", 0, "thread_name", { args: { name: "front" } });
	add(2, "M", 0, "thread_name", { args: { name: "back" } });
	for (let i = 0; i < 2000; i++) {
		const at = 200 * i;
		add(1, "X", at, "request", { dur: 160, args: { order: i, path: `/orders/<${i}>` } });
		add(1, "X", at + 10, "parse", { dur: 10 + (i % 7) });
		add(1, "s", at + 40, "ask", { id: i });
		add(2, "X", at + 50, "query", { dur: 30 + (i % 11) * 10, args: { rows: i % 11 } });
		add(2, "f", at + 60, "ask", { id: i, bp: "e" });
		add(1, "C", at, "open orders", { args: { value: i % 5 } });
	}
	return JSON.stringify({ traceEvents: events });
}

/** The rows of a query, as arrays of text. */
function sql(query) {
	const lines = execFileSync(orma, ["sql", "--csv", file, query], { encoding: "utf8" }).trimEnd().split("\n");
	return lines.slice(1).map((line) => line.split(",").map((cell) => cell.replace(/^"(.*)"$/, "$1")));
}
const number = (query) => Number(sql(query)[0][0]);

before(async () => {
	if (skip) return;
	writeFileSync(file, makeTrace());
	server = await view(orma, [file]);
	origin = new URL(server.url).origin;
	page = await Browser.start({ width: 1200, height: 900 });
	await page.send("Emulation.setEmulatedMedia", { features: [{ name: "prefers-reduced-motion", value: "reduce" }] });
	await page.open(server.url);
});

after(async () => {
	await page?.stop();
	const status = await server?.stop();
	rmSync(folder, { recursive: true, force: true });
	if (server) assert.equal(status, 0, server.messages.join(""));
});

/** Shows a part of the trace, in nanoseconds from its start. */
async function show(start, end) {
	await page.press("Escape", "Escape");
	await page.run(`(history.pushState(null, "", "#t=${start}-${end}"), dispatchEvent(new PopStateEvent("popstate")))`);
	await page.idle();
}

/** The box of a slice, by what orma sql calls it. */
async function boxOf(id) {
	return (await page.boxes()).find((box) => box.table === "slice" && box.id === id);
}

test("each slice of the window is drawn at its time, depth and name", { skip }, async () => {
	await show(100e6, 102e6);
	const { start, end } = await page.state();
	const expected = sql(
		`select id, ts - trace_start(), dur, depth, name from slice where ts - trace_start() < ${end} and ts - trace_start() + dur > ${start} order by id`,
	);
	const drawn = (await page.boxes()).filter(({ table, count }) => table === "slice" && count === 1);
	assert.ok(expected.length > 25);
	for (const [id, ts, dur, depth, name] of expected) {
		const box = drawn.find((at) => at.id === Number(id));
		assert.deepEqual(box && [box.start, box.end - box.start, box.depth, box.name], [
			Number(ts),
			Number(dur),
			Number(depth),
			name,
		]);
	}
});

test("merged boxes have as many slices as the engine", { skip }, async () => {
	await show(0, 400e6);
	const boxes = (await page.boxes()).filter(({ table }) => table === "slice");
	const drawn = boxes.reduce((sum, { count }) => sum + count, 0);
	assert.ok(boxes.some(({ count }) => count > 1));
	assert.equal(drawn, number("select count(*) from slice"));
});

test("a slice's details, arguments and flow are those of the engine", { skip }, async () => {
	await show(20e6, 21e6);
	const id = number("select id from slice where name = 'request' limit 1 offset 101");
	const box = await boxOf(id);
	await page.click(box.x + 3, box.y + box.h - 4);
	await page.idle();
	const text = await page.text("#panel");
	assert.match(text, /160\s*µs/);
	assert.match(text, /\/orders\/<101>/);
	assert.match(text, /shop/);
	assert.ok(text.includes(`select * from slice where id = ${id}`));
	assert.equal(await page.run("orma.test.counters().flows"), number(`select count(*) from flow where slice_out = ${id}`));
	await page.press("Escape", "Escape");
});

test("each table about a slice shows a query that yields it", { skip }, async () => {
	/** The text of a card of the details, and what its query yields. */
	const card = async (id, title) => {
		await page.run(`(history.pushState(null, "", "#s=slice.${id}"), dispatchEvent(new PopStateEvent("popstate")))`);
		await page.idle();
		const found = `[...document.querySelectorAll("#panel .card")].find((one) => one.firstChild.innerText === "${title}")`;
		const text = await page.run(`${found}.querySelector("table").innerText`);
		await page.run(`${found}.querySelector(":scope > button").click()`);
		return { text, rows: sql(await page.run(`${found}.querySelector(".query").innerText`)) };
	};
	const [id, parse] = ["request", "parse"].map((name) =>
		number(`select id from slice where name = '${name}' order by ts limit 1 offset 101`),
	);
	const children = await card(id, "Children by total");
	assert.deepEqual(children.rows, [["parse", "1", String(number(`select dur from slice where id = ${parse}`))]]);
	assert.match(children.text, new RegExp(`^parse\\s+${children.rows[0][2] / 1000}\\s*µs$`));
	const parents = await card(parse, "Parents");
	assert.deepEqual(parents.rows, [[String(id), "request", "160000"]]);
	assert.match(parents.text, /^request\s+160\s*µs$/);
	const flows = await card(parse, "Flows");
	assert.equal(flows.rows.length, 1);
	assert.match(flows.text, /^→ query back/);
	await page.press("Escape", "Escape");
});

test("the flows of a slice are there while the mouse rests on it", { skip }, async () => {
	await show(20e6, 21e6);
	const pointed = () => page.run("orma.test.counters().pointedFlows");
	const query = await boxOf(number("select id from slice where name = 'query' limit 1 offset 102"));
	await page.move(query.x + query.w / 2, query.y + query.h / 2);
	await new Promise((resolve) => setTimeout(resolve, 200));
	await page.idle();
	assert.equal(await pointed(), number(`select count(*) from flow where ${query.id} in (slice_out, slice_in)`));
	assert.equal(await pointed(), 1);
	await page.move(query.x + query.w / 2, 5);
	await page.move(query.x + query.w / 2, query.y + 60);
	assert.equal(await pointed(), 0);
});

test("zooming and panning shows the slices of the new window", { skip }, async () => {
	await show(100e6, 200e6);
	const inWindow = async () => {
		const { start, end } = await page.state();
		return number(`select count(*) from slice where ts - trace_start() < ${end} and ts - trace_start() + dur > ${start}`);
	};
	const drawn = async () => {
		const { start, end } = await page.state();
		const boxes = (await page.boxes()).filter((box) => box.table === "slice" && box.start < end && box.end > start);
		assert.ok(boxes.every(({ count }) => count === 1));
		return boxes.length;
	};
	await page.move(700, 500);
	for (let i = 0; i < 20; i++) await page.press("KeyW", "w");
	await page.idle();
	const zoomed = await page.state();
	assert.ok(zoomed.end - zoomed.start < 10e6, String(zoomed.end - zoomed.start));
	assert.equal(await drawn(), await inWindow());
	await page.press("KeyD", "d");
	await page.idle();
	assert.ok((await page.state()).start > zoomed.start);
	assert.equal(await drawn(), await inWindow());
});

test("all slices of a name are counted and listed", { skip }, async () => {
	await show(20e6, 21e6);
	const box = await boxOf(number("select id from slice where name = 'query' limit 1 offset 102"));
	await page.click(box.x + box.w / 2, box.y + box.h / 2);
	await page.idle();
	await page.run("[...document.querySelectorAll('#panel button')].find((b) => b.innerText === 'Find all').click()");
	await page.idle();
	const text = await page.text("#panel");
	assert.match(text, /Count\s+2\s000\s/);
	const [longest, sum] = ["max", "sum"].map((of) => number(`select ${of}(dur) from slice where name = 'query'`));
	assert.match(text, new RegExp(`Total\\s+${(sum / 1e6).toFixed(1)}\\s*ms`));
	assert.match(text, new RegExp(`${longest / 1000}\\s*µs`));
	await page.press("Escape", "Escape");
});

test("an area's table counts what the engine counts, and shows its query", { skip }, async () => {
	await show(0, 400e6);
	const { rows } = await page.state();
	const row = rows.find(({ kind }) => kind === "thread");
	const top = await page.run("document.querySelector('#tracks').getBoundingClientRect().top");
	await page.drag(500, top + row.y + 10, 800, top + row.y + 20, { modifiers: 1 });
	await page.idle();
	const { area } = await page.state();
	const counted = await page.run(
		"[...document.querySelectorAll('.tr')].map((row) => [row.children[0].innerText, Number(row.children[1].title)])",
	);
	const expected = sql(
		`select s.name, count(*) from slice s join thread_track t on s.track_id = t.id join thread using (utid) where tid = 1 and ts - trace_start() < ${area.end} and ts - trace_start() + dur > ${area.start} group by 1`,
	);
	assert.deepEqual(new Map(counted), new Map(expected.map(([name, count]) => [name, Number(count)])));
	const press = (text) =>
		page.run(`[...document.querySelectorAll("#panel button")].find((one) => one.innerText === "${text}").click()`);
	assert.equal(await page.run("document.querySelector('#panel .query').checkVisibility()"), false);
	await press("SQL");
	assert.equal(await page.run("document.querySelector('#panel .query').checkVisibility()"), true);
	const again = sql(await page.text("#panel .query"));
	assert.deepEqual(new Map(again.map(([name, count]) => [name, Number(count)])), new Map(counted));
	await page.send("Browser.grantPermissions", { permissions: ["clipboardReadWrite"], origin });
	await press("Copy");
	await page.until("document.querySelector('#live').innerText === 'Copied'");
	const copied = (await page.run("navigator.clipboard.readText()")).split("\n").map((line) => line.split("\t"));
	assert.deepEqual(
		copied.slice(1).map(([name, count]) => [name, Number(count)]),
		counted,
	);
	await page.press("Escape", "Escape");
});

test("the search finds as many as the engine has", { skip }, async () => {
	await page.press("Slash", "/");
	await page.type("quer");
	await new Promise((resolve) => setTimeout(resolve, 300));
	await page.idle();
	assert.equal((await page.state()).hits, number("select count(*) from slice where name glob '*quer*'"));
	await page.press("Escape", "Escape");
	await page.press("Escape", "Escape");
});

test("the search finds an argument by its value", { skip }, async () => {
	for (const text of ["order=1500", "/orders/<1500>"]) {
		await page.press("Slash", "/");
		await page.type(text);
		await new Promise((resolve) => setTimeout(resolve, 300));
		await page.idle();
		assert.equal((await page.state()).hits, 1, text);
		await page.press("Enter", "Enter");
		await page.idle();
		const { selection } = await page.state();
		assert.equal(selection.id, number("select id from slice where name = 'request' order by ts limit 1 offset 1500"));
		await page.press("Escape", "Escape");
		await page.press("Escape", "Escape");
		await page.idle();
	}
});

test("an argument in the details leads to all slices that have it", { skip }, async () => {
	await page.press("Digit0", "0");
	await page.idle();
	const id = number(
		"select min(s.id) from slice s join args using (arg_set_id) where s.name = 'query' and key = 'args.rows' and int_value = 7",
	);
	await page.run(`(history.pushState(null, "", "#s=slice.${id}"), dispatchEvent(new PopStateEvent("popstate")))`);
	await page.idle();
	const { x, y } = await page.run(
		`(({ x, y }) => ({ x: x + 2, y: y + 4 }))([...document.querySelectorAll("#panel .args .link")].find((link) => link.innerText === "7").getBoundingClientRect())`,
	);
	await page.click(x, y);
	await new Promise((resolve) => setTimeout(resolve, 300));
	await page.idle();
	const count = number("select count(*) from slice s join args using (arg_set_id) where key = 'args.rows' and int_value = 7");
	assert.equal((await page.state()).hits, count);
	for (let i = 0; i < 2; i++) await page.press("Escape", "Escape");
	await page.idle();
});

test("colours tell categories, which the engine knows", { skip }, async () => {
	const colours = async () =>
		new Set((await page.boxes()).filter(({ table }) => table === "slice").map(({ colour }) => colour));
	await page.press("Digit0", "0");
	await page.idle();
	assert.ok((await colours()).size > 1);
	await page.press("KeyC", "c");
	await page.idle();
	assert.equal((await colours()).size, 1, "all are of the category shop");
	for (let i = 0; i < 3; i++) await page.press("KeyC", "c");
	await page.idle();
});

test("SQL is answered by the engine, and its errors are shown", { skip }, async () => {
	const ask = async (query) => {
		await page.press("Semicolon", ":", SHIFT);
		await page.run(`document.querySelector('#sql-input').value = ${JSON.stringify(query)}`);
		await page.press("Enter", "Enter", CTRL);
		await page.idle();
		const text = await page.text("#panel");
		await page.run("document.activeElement.blur()");
		return text;
	};
	const sum = "select sum(dur) as total from slice where name = 'query'";
	assert.match(await ask(sum), new RegExp(`total\\s+${number(sum)}$`));
	assert.match(await ask("select nowhere from slice"), /^line 1, column 8: no such column: nowhere$/m);
	assert.match(await ask("attach 'x.db' as x"), /prohibited|not authorized/);
});

test("rows and details are there for screen readers", { skip }, async () => {
	const { nodes } = await page.send("Accessibility.getFullAXTree");
	const names = nodes.filter(({ ignored }) => !ignored).map(({ role, name }) => `${role?.value} ${name?.value ?? ""}`);
	for (const wanted of [/front/, /back/, /open orders/, /searchbox|textbox/]) {
		assert.ok(
			names.some((name) => wanted.test(name)),
			String(wanted),
		);
	}
});

test("a link in a new tab says what to do, and is followed once a new address is opened there", { skip }, async () => {
	const other = await view(orma, [file]);
	const tab = await page.newTab();
	try {
		await tab.goTo(`${new URL(other.url).origin}/#t=20000000-21000000`);
		await tab.until("document.querySelector('#notice h2')");
		assert.match(await tab.text("#notice"), /Press Enter in the terminal/);
		// Only the fragment changes, as with an address that somebody pastes into this tab.
		await tab.goTo(other.url);
		await tab.until("window.orma");
		await tab.idle();
		const { start, end } = await tab.state();
		assert.deepEqual([start, end], [20e6, 21e6]);
		assert.doesNotMatch(await tab.run("location.href"), /k=/);
	} finally {
		await tab.close();
		await other.stop();
	}
	page.urls = page.urls.filter((url) => !url.startsWith(new URL(other.url).origin));
});

test("the address works once, and nothing is asked of another machine", { skip }, async () => {
	const ticket = new URL(server.url).hash.slice("#k=".length);
	const { headers: given } = await fetch(origin);
	assert.match(given.get("content-security-policy"), /^default-src 'none'; script-src 'self'; .*frame-ancestors 'none'$/);
	assert.equal(given.get("x-content-type-options"), "nosniff");
	assert.equal(given.get("referrer-policy"), "no-referrer");
	assert.equal(given.get("cross-origin-resource-policy"), "same-origin");
	assert.equal(given.get("access-control-allow-origin"), null);
	const again = await fetch(`${origin}/api/hello`, { method: "POST", body: JSON.stringify({ ticket }) });
	assert.notEqual(again.status, 200);
	for (const headers of [{ Origin: "http://example.com" }, { "Sec-Fetch-Site": "cross-site" }, {}]) {
		const refused = await fetch(`${origin}/api/sql`, { method: "POST", body: "{}", headers });
		assert.ok([401, 403].includes(refused.status), String(refused.status));
	}
	// The browser reports the two wrong queries.
	assert.deepEqual(
		page.errors.filter((error) => !/status of 400.*\/api\/sql$/.test(error)),
		[],
	);
	for (const url of page.urls) assert.ok(url.startsWith(origin) || url === "about:blank", url);
});
