// Tests flame graphs of a selected range and the difference of two, results of SQL as tracks, scheduling, and gestures. Each is
// compared with the answer of `orma sql` about the same trace.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { LOOK_DIM, stateText } from "../../web/colour.js";
import { durationText } from "../../web/time.js";
import { Browser, findChromium } from "./cdp.mjs";
import { view } from "./orma_server.mjs";

const orma = process.env.ORMA_PROGRAM;
const skip = !findChromium() ? "no Chromium is installed" : orma ? false : "ORMA_PROGRAM does not name a binary with SQLite";
const CTRL = 2;
const SHIFT = 8;
const folder = mkdtempSync(join(tmpdir(), "orma-page-"));
const file = join(folder, "app.txt");
const schedule = join(folder, "schedule.txt");
/** @type {Browser} */
let page;
let server;
let scheduler;

/** What `perf script` prints: main calls work in the first half, and wait in the second. */
function makeProfile() {
	const stack = (name) => `\t 3000 ${name}+0x1 (/bin/app)\n\t 1000 main+0x1 (/bin/app)\n\n`;
	const at = (i) => `app 7/${8 + (i % 2)} [000] ${(100 + i / 1000).toFixed(6)}: 1 cycles:\n`;
	return Array.from({ length: 1000 }, (_, i) => at(i) + stack(i < 500 || i % 10 === 0 ? "work" : "wait")).join("");
}

/**
 * Writes a recording in the kernel's text form. Every 10 ms, a worker computes, asks a database and waits for the answer. It marks
 * its work with the nested slices "work" and "step", and has a counter.
 */
function makeSchedule() {
	const lines = [];
	const names = { 0: "<idle>", 11: "worker", 20: "database" };
	const line = (tid, us, event, text) =>
		lines.push(`${names[tid]}-${tid} [000] d..2 ${(100 + us / 1e6).toFixed(6)}: ${event}: ${text}`);
	const change = (us, from, state, to) =>
		line(
			from,
			us,
			"sched_switch",
			`prev_comm=${names[from]} prev_pid=${from} prev_prio=120 prev_state=${state} ==> next_comm=${names[to]} next_pid=${to} next_prio=120`,
		);
	const wake = (us, by, tid) => line(by, us, "sched_waking", `comm=${names[tid]} pid=${tid} prio=120 target_cpu=000`);
	for (let i = 0; i < 40; i++) {
		const at = 10_000 * i;
		const asked = at + 2000 + 100 * (i % 7);
		change(at, 0, "R", 11);
		line(11, at + 100, "tracing_mark_write", "B|11|work");
		line(11, at + 200, "tracing_mark_write", "B|11|step");
		line(11, at + 300, "tracing_mark_write", `C|11|queue|${i % 5}`);
		line(11, at + 1000, "tracing_mark_write", "E|11");
		change(asked, 11, i % 2 ? "S" : "D", 20);
		wake(asked + 1000, 20, 11);
		change(asked + 1500, 20, "S", 11);
		line(11, asked + 2000, "tracing_mark_write", "E|11");
		change(asked + 2500, 11, "S", 0);
	}
	return `# tracer: nop\n#\n${lines.join("\n")}\n`;
}

/** The rows of a query, as arrays of text. */
function sql(query, of = file) {
	const lines = execFileSync(orma, ["sql", "--csv", of, query], { encoding: "utf8" }).trimEnd().split("\n");
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
	await scheduler?.stop();
	rmSync(folder, { recursive: true, force: true });
});

async function press(text, selector = "#drawer button") {
	const found = `[...document.querySelectorAll(${JSON.stringify(selector)})].find((one) => one.innerText.trim() === ${JSON.stringify(text)})`;
	await page.run(`${found}.click()`);
	await page.idle();
}

/** Shows a part of the trace with scheduling. */
async function showSchedule(start, end) {
	await page.run(`(history.pushState(null, "", "#t=${start}-${end}"), dispatchEvent(new PopStateEvent("popstate")))`);
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

test("a graph that is upside down has its roots at the bottom", { skip }, async () => {
	await selectTimes(0.1, 0.9);
	await press("Flame graph");
	await press("Upside down");
	const { left, top, height } = await page.run("document.querySelector('.flame').getBoundingClientRect().toJSON()");
	const label = async (level) => {
		await page.move(left + 10, top + height - (level + 0.5) * 18);
		return page.text(".flame-label");
	};
	assert.match(await label(0), /^all /);
	assert.match(await label(1), /^main /);
	assert.match(await label(2), /^(work|wait) /);
	await page.press("Escape", "Escape");
});

/* --- scheduling ------------------------------------------------------------------------------- */

test("CPU lanes and strips of states are drawn as the engine has them", { skip }, async () => {
	writeFileSync(schedule, makeSchedule());
	scheduler = await view(orma, [schedule]);
	await page.open(scheduler.url);
	await showSchedule(100e6, 140e6);
	const boxes = (await page.boxes()).filter(({ count }) => count === 1);
	for (const table of ["sched", "thread_state"]) {
		const name = table === "sched" ? "t.name || ' ' || t.tid" : "x.state";
		const tids = table === "sched" ? "t.tid > 0" : "t.tid = 11";
		const expected = sql(
			`select x.id, x.ts - trace_start(), x.dur, ${name} from ${table} x join thread t using (utid) where ${tids} and x.dur > 0 and x.ts - trace_start() < 140000000 and x.ts + x.dur - trace_start() > 100000000`,
			schedule,
		);
		assert.ok(expected.length >= 8, `${expected.length} rows of ${table}`);
		for (const [id, ts, dur, text] of expected) {
			const box = boxes.find((one) => one.table === table && one.id === Number(id));
			assert.deepEqual(box && [box.start, box.end - box.start, box.name], [
				Number(ts),
				Number(dur),
				table === "sched" ? text : stateText(text),
			]);
		}
	}
});

test("an area's CPU time, states and counters are those of the engine", { skip }, async () => {
	await page.press("Digit0", "0");
	await page.idle();
	for (let i = 0; i < 2; i++) await page.press("KeyA", "a", CTRL);
	await page.idle();
	const until = "iif(dur < 0, trace_end(), ts + dur) - ts";
	const shown = async (tab, columns) => {
		await press(tab, "#tabs button");
		return page.run(
			`[...document.querySelectorAll("#panel .tr")].map((row) => ${JSON.stringify(columns)}.map((c) => row.children[c].title).join())`,
		);
	};
	const cpu = sql(
		`select t.name || ' (' || tid || ')', sum(${until}) from sched join thread t using (utid) where tid > 0 group by 1 order by 2 desc`,
		schedule,
	);
	const states = sql(
		`select t.name || ' (' || tid || ')', state, sum(${until}) from thread_state join thread t using (utid) where tid > 0 group by 1, 2`,
		schedule,
	);
	const drawn = await shown("CPU time", [0, 2]);
	for (const row of cpu) assert.ok(drawn.includes(row.join()), `${row} is not in ${drawn.join(" | ")}`);
	const told = await shown("States", [0, 2, 3]);
	for (const row of states) assert.ok(told.includes(row.join()), `${row} is not in ${told.join(" | ")}`);
	const counters = await shown("Counters", [0]);
	assert.ok(
		counters.some((row) => row.includes("queue")),
		counters.join(" | "),
	);
	await page.press("Escape", "Escape");
});

/** The rows of the table in an element, with the texts of their cells. */
function cellsOf(element) {
	return page.run(
		`[...${element}.querySelectorAll("tr")].map((row) => [...row.children].map(({ innerText }) => innerText.trim()))`,
	);
}

test("the query that a table of an area shows yields its rows", { skip }, async () => {
	await selectTimes(0.2, 0.71);
	// Where the name or thread is in the query's rows, then numbers of the table and of the query.
	const thread = "(select name || ' (' || tid || ')' from thread t where t.utid = q.utid)";
	const tables = [
		["Slices", "name, count, total, self, min, p50, p90, p99, max", [0, 1, 2, 3, 4, 6, 7, 8, 9]],
		["CPU time", `${thread}, total, runs`, [0, 2, 4]],
		["States", `${thread}, state, total, count`, [0, 2, 3, 4]],
		["Counters", "counter, min, max, first, last, delta", [0, 1, 2, 4, 5, 6]],
	];
	const check = async (tab, columns, places) => {
		const shown = await page.run(
			`[...document.querySelectorAll("#panel .tr")].map(({ children }) => ${JSON.stringify(places)}.map((c) => children[c].title))`,
		);
		const query = await page.run(`document.querySelector("#panel .query").textContent`);
		const rows = sql(`select ${columns} from (${query}) q`, schedule);
		const plain = (row) => row.map((cell) => (/^-?[\d.]+$/.test(cell) ? String(Number(cell)) : cell)).join();
		assert.ok(shown.length > 0, tab);
		assert.deepEqual(shown.map(plain).sort(), rows.map(plain).sort(), tab);
	};
	for (const [tab, columns, places] of tables) {
		await press(tab, "#tabs button");
		await check(tab, columns, places);
	}
	await press("Slices", "#tabs button");
	await press("Per thread", ".tabletools button");
	await check("per thread", `name, ${thread}, count, total, self, min, p50, p90, p99, max`, [0, 1, 3, 4, 5, 6, 8, 9, 10, 11]);
	await press("Per thread", ".tabletools button");
	await press("Flame graph", "#tabs button");
	await press("SQL", ".flame-tools button");
	const nodes = sql(await page.text(".flame-tools .query"), schedule);
	assert.deepEqual(nodes.map(([path]) => path).sort(), ["work", "work > step"]);
	const all = nodes.reduce((sum, [, , self]) => sum + Number(self), 0);
	assert.ok((await page.text(".flame-label")).startsWith(`all ${durationText(all)} `), await page.text(".flame-label"));
	await page.press("Escape", "Escape");
});

test("the query that a table about a slice shows yields its rows", { skip }, async () => {
	await showSchedule(80e6, 120e6);
	const cards = [
		["work", "Children by total", "total"],
		["step", "Parents", "dur"],
	];
	for (const [name, card, length] of cards) {
		const box = (await page.boxes()).find((one) => one.table === "slice" && one.name === name && one.count === 1);
		await page.click(box.x + 2, box.y + box.h / 2);
		await page.idle();
		const found = `[...document.querySelectorAll("#panel .card")].find((one) => one.firstChild.innerText === ${JSON.stringify(card)})`;
		const query = await page.run(`${found}.querySelector(".query").textContent`);
		const rows = sql(`select name, ${length} from (${query})`, schedule);
		assert.equal(rows.length, 1);
		assert.deepEqual(
			await cellsOf(found),
			rows.map(([other, dur]) => [other, durationText(Number(dur))]),
		);
	}
	await page.press("Escape", "Escape");
});

test("a slice's rank, its own time and where its time went are those of the engine", { skip }, async () => {
	await showSchedule(80e6, 200e6);
	const [id, dur] = sql("select id, dur from slice where name = 'work' order by ts limit 1 offset 10", schedule)[0].map(
		Number,
	);
	const box = (await page.boxes()).find((one) => one.table === "slice" && one.id === id);
	await page.click(box.x + 2, box.y + box.h / 2, { count: 2 });
	await page.idle();
	const { start, end, selection } = await page.state();
	assert.equal(selection.id, id);
	assert.ok(end - start < 3 * dur && start <= box.start && end >= box.end, "a double click zooms to it");
	const text = await page.text("#panel");
	const place = 1 + Number(sql(`select count(*) from slice where name = 'work' and dur > ${dur}`, schedule)[0][0]);
	assert.match(text, new RegExp(place === 1 ? "The longest of 40" : `No. ${place} by length of 40`));
	assert.match(text, new RegExp(`Self\\s+${((dur - 800e3) / 1e6).toFixed(2).replace(/0+$/, "")}`));
	const isDrawn = await page.run(
		"(({ width, height }, context) => context.getImageData(0, 0, width, height).data.some((byte) => byte > 0))(document.querySelector('.histogram'), document.querySelector('.histogram').getContext('2d'))",
	);
	assert.ok(isDrawn, "there is a histogram");
	const found = `[...document.querySelectorAll("#panel .card")].find((one) => one.firstChild.innerText === "Where the time went")`;
	const times = new Map(sql(await page.run(`${found}.querySelector(".query").textContent`), schedule));
	const words = await page.run(`${found}.querySelector("table").innerText`);
	assert.deepEqual([...times.keys()].sort(), ["D", "R", "Running"]);
	for (const ns of times.values()) assert.match(words, new RegExp(`\\b${ns / (ns < 1e6 ? 1e3 : 1e6)}\\s*(µs|ms)`));
	await page.press("Escape", "Escape");
});

test("a drag over the map chooses what is shown", { skip }, async () => {
	await page.press("Digit0", "0");
	await page.idle();
	const whole = await page.state();
	const map = await page.run("document.querySelector('#minimap canvas').getBoundingClientRect().toJSON()");
	await page.drag(map.left + map.width / 4, map.top + 20, map.left + map.width / 2, map.top + 20);
	await page.idle();
	const { start, end } = await page.state();
	const pixel = (whole.end - whole.start) / map.width;
	assert.ok(Math.abs(start - whole.end / 4) < 3 * pixel, `${start} of ${whole.end}`);
	assert.ok(Math.abs(end - whole.end / 2) < 3 * pixel, `${end} of ${whole.end}`);
});

test("what does not match the search is dimmed", { skip }, async () => {
	await showSchedule(100e6, 110e6);
	const dimmed = async () =>
		new Map(
			(await page.boxes()).filter(({ table }) => table === "slice").map(({ name, look }) => [name, look === LOOK_DIM]),
		);
	assert.deepEqual(
		await dimmed(),
		new Map([
			["work", false],
			["step", false],
		]),
	);
	await page.press("Slash", "/");
	await page.type("ste");
	await new Promise((resolve) => setTimeout(resolve, 300));
	await page.idle();
	assert.deepEqual(
		await dimmed(),
		new Map([
			["work", true],
			["step", false],
		]),
	);
	for (let i = 0; i < 2; i++) await page.press("Escape", "Escape");
});

test("the page is as dark as the system", { skip }, async () => {
	for (const dark of [true, false]) {
		await page.setDark(dark);
		await page.idle();
		assert.equal((await page.state()).dark, dark);
	}
	assert.deepEqual(page.errors, []);
});
