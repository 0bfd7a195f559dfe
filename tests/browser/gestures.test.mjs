// Tests what the page does with a recording of a store: colours by an argument, counters on one scale, areas per thread, links,
// commands and touch. Each is compared with the answer of `orma sql` about the same trace.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { colourOfValue } from "../../web/colour.js";
import { Browser, findChromium } from "./cdp.mjs";
import { view } from "./orma_server.mjs";
import { rowsOf } from "./shop.mjs";

const orma = process.env.ORMA_PROGRAM;
const skip = !findChromium() ? "no Chromium is installed" : orma ? false : "ORMA_PROGRAM does not name a binary with SQLite";
const folder = mkdtempSync(join(tmpdir(), "orma-gestures-"));
const file = join(folder, "store.json");
const CTRL = 2;
const SHIFT = 8;
/** @type {Browser} */
let page;
let server;

/** Requests of three kinds on two threads, with steps in them that have no arguments, and two counters whose ranges differ. */
function makeStore() {
	const events = [];
	const add = (tid, ph, ts, name, more) => events.push({ pid: 7, tid, ph, ts, name, cat: "store", ...more });
	add(1, "M", 0, "process_name", { args: { name: "store" } });
	add(1, "M", 0, "thread_name", { args: { name: "front" } });
	add(2, "M", 0, "thread_name", { args: { name: "back" } });
	for (let i = 0; i < 60; i++) {
		const at = 1000 * i;
		const kind = ["read", "write", "scan"][i % 3];
		add(1 + (i % 2), "X", at, "request", { dur: 800, args: { kind, order: i, parts: { first: i % 4 } } });
		add(1 + (i % 2), "X", at + 100, "step", { dur: 300 + 5 * i });
		add(1, "C", at, "waiting", { args: { value: i % 5 } });
		add(1, "C", at, "served", { args: { value: 100 + 10 * i } });
	}
	return JSON.stringify({ traceEvents: events });
}

before(async () => {
	if (skip) return;
	writeFileSync(file, makeStore());
	server = await view(orma, [file]);
	page = await Browser.start({ width: 1200, height: 900 });
	// Movements that take time are tested without a browser.
	await page.send("Emulation.setEmulatedMedia", { features: [{ name: "prefers-reduced-motion", value: "reduce" }] });
	await page.open(server.url);
});

after(async () => {
	await page?.stop();
	await server?.stop();
	rmSync(folder, { recursive: true, force: true });
});

/** Opens an address in the same tab, as somebody who follows a link. */
async function follow(fragment) {
	await page.run(`(history.pushState(null, "", "#${fragment}"), dispatchEvent(new PopStateEvent("popstate")))`);
	await page.idle();
}

/** Where an element with a text is in the window. */
async function centreOf(selector, text = "") {
	const found = await page.run(`(() => {
		const element = [...document.querySelectorAll(${JSON.stringify(selector)})].find((one) => one.innerText.includes(${JSON.stringify(text)}));
		element?.scrollIntoView({ block: "nearest" });
		const box = element?.getBoundingClientRect();
		return box && [box.x + box.width / 2, box.y + box.height / 2];
	})()`);
	assert.ok(found, `there is ${selector} with ${text}`);
	return found;
}

async function clickOn(selector, text) {
	await page.click(...(await centreOf(selector, text)));
	await page.idle();
}

test("a click on an argument of a slice colours all slices by its value", { skip }, async () => {
	const values = new Map(rowsOf(orma, file, "select id, extract_arg(arg_set_id, 'args.kind') from slice"));
	assert.equal(values.size, 120);
	await follow("s=slice.0");
	await clickOn(".args .key", "kind");
	const { colouring } = await page.state();
	assert.equal(colouring, ".kind");
	const boxes = (await page.boxes()).filter(({ table }) => table === "slice");
	assert.equal(boxes.length, 120);
	for (const { id, colour } of boxes) {
		const value = values.get(String(id));
		assert.equal(colour, colourOfValue(value === "[NULL]" ? "" : value), `slice ${id}: ${value}`);
	}
	assert.equal(new Set(boxes.map(({ colour }) => colour)).size, 4);
	const { x, y, w, h } = boxes.find(({ id }) => values.get(String(id)) === "write");
	await page.move(x + w / 2, y + h / 2);
	assert.match(await page.text("#tooltip"), /kind: write/);
	await page.move(5, 5);
	// The menu has the argument as long as the page is open, and a link has it, too.
	await page.press("KeyC", "c");
	assert.equal((await page.state()).colouring, "name");
	await follow("c=.order");
	assert.equal(await page.run("document.querySelector('#colours').value"), ".order");
	const orders = new Map(rowsOf(orma, file, "select id, extract_arg(arg_set_id, 'args.order') from slice"));
	for (const { id, colour, table } of await page.boxes())
		if (table === "slice" && orders.get(String(id)) !== "[NULL]")
			assert.equal(colour, colourOfValue(orders.get(String(id))));
	assert.deepEqual(page.errors, []);
});

test("counters that share a scale are drawn on the range of all of them", { skip }, async () => {
	await follow("");
	const counters = async () => (await page.state()).rows.filter(({ kind }) => kind === "counter");
	assert.deepEqual(
		(await counters()).map(({ title, mode }) => [title, mode]),
		[
			["served value", "value"],
			["waiting value", "value"],
		],
	);
	const labelOf = async (row) => {
		const { x, y } = await page.run(
			"(({ x, y }) => ({ x, y }))(document.querySelector('#tracks').getBoundingClientRect())",
		);
		await page.move(x + 700, y + row.y + 12);
		return page.run(`orma.app.ranges.of(orma.app.model.alike(${row.id}).map(({ lane }) => lane))`);
	};
	const [, waiting] = await counters();
	await labelOf(waiting);
	for (let i = 0; i < 4; i++) await page.press("KeyV", "v");
	await page.idle();
	assert.deepEqual(
		(await counters()).map(({ mode }) => mode),
		["shared", "shared"],
	);
	const [[most]] = rowsOf(orma, file, "select max(value) from counter");
	assert.deepEqual(await labelOf(waiting), { low: 0, high: Number(most) });
	// The picture of the small one is low now: nothing is drawn in its upper half.
	const isDark = (y) =>
		page.run(`(() => {
			const { context } = orma.line.tracks;
			const ratio = devicePixelRatio;
			const row = orma.app.model.rows.find(({ node }) => node.id === ${waiting.id});
			const y = (row.y + ${y} * row.height - orma.line.tracks.top) * ratio;
			return [...context.getImageData(300, y, 600, 1).data].some((value, i) => i % 4 < 3 && value < 215);
		})()`);
	assert.equal(await isDark(0.5), false);
	await page.press("KeyV", "v");
	await page.idle();
	assert.equal(await isDark(0.5), true);
	assert.deepEqual(
		(await counters()).map(({ mode }) => mode),
		["value", "value"],
	);
});

test("the slices of an area are told per thread, too", { skip }, async () => {
	await follow("a=0-60000000");
	const names = async () =>
		page.run("[...document.querySelectorAll('.tr')].map((row) => [...row.children].map(({ title }) => title).slice(0, 4))");
	const count = async (columns) =>
		rowsOf(
			orma,
			file,
			`select ${columns}, count(*) from slice join thread_track on slice.track_id = thread_track.id join thread using (utid) group by ${columns} order by 1, 2`,
		);
	assert.deepEqual((await names()).map(([name, n]) => [name, n]).sort(), await count("slice.name"));
	await clickOn(".tabletools button", "Per thread");
	assert.deepEqual(
		(await names()).map(([name, thread, , n]) => [name, thread.split(" ")[0], n]).sort(),
		await count("slice.name, thread.name"),
	);
	assert.equal(await page.run("document.querySelector('.tabletools [aria-pressed]').ariaPressed"), "true");
	await clickOn(".tabletools button", "Per thread");
	assert.equal((await names()).length, 2);
});

test("a click on the ruler puts a note there, and Delete removes the one nearest to the mouse", { skip }, async () => {
	await follow("");
	const ruler = await page.run(
		"(({ x, y, width }) => ({ x, y, width }))(document.querySelector('#ruler canvas').getBoundingClientRect())",
	);
	const at = async (share) => page.click(ruler.x + share * ruler.width, ruler.y + 14);
	await at(0.25);
	await at(0.75);
	const { notes, start, end } = await page.state();
	const expected = [0.25, 0.75].map((share) => start + share * (end - start));
	assert.ok(
		notes.every(({ time, kept }, i) => kept && Math.abs(time - expected[i]) < (end - start) / 200),
		JSON.stringify(notes),
	);
	await page.press("Delete", "Delete");
	assert.deepEqual(
		(await page.state()).notes.map(({ text }) => text),
		["note 1"],
	);
	// A click on a note adds no other.
	await page.click(ruler.x + 0.25 * ruler.width + 6, ruler.y + 10);
	assert.equal((await page.state()).notes.length, 1);
	await page.press("Delete", "Delete");
	assert.deepEqual((await page.state()).notes, []);
});

test("Ctrl+Enter in the search pins the track of the hit", { skip }, async () => {
	await follow("");
	await page.press("Slash", "/");
	await page.type("request");
	await page.idle();
	await page.press("Enter", "Enter", CTRL);
	await page.idle();
	const { pins, selection } = await page.state();
	const [[track]] = rowsOf(
		orma,
		file,
		"select thread.name from slice join thread_track on slice.track_id = thread_track.id join thread using (utid) where slice.name = 'request' order by ts limit 1",
	);
	assert.equal(selection.name, "request");
	assert.match(await page.text("#pinned"), new RegExp(track));
	await page.press("Enter", "Enter", CTRL);
	assert.deepEqual((await page.state()).pins, pins);
	await page.press("Escape", "Escape");
	await page.press("Escape", "Escape");
	await follow("");
});

test("a drag snaps to the edge of a slice that is less than 15 pixels away, and not with Alt", { skip }, async () => {
	await follow("t=0-12000000");
	const box = (await page.boxes()).find(({ name, start }) => name === "request" && start === 4e6);
	const from = box.x + box.w + 40;
	const drag = async (pixels, modifiers = 0) => {
		await page.press("Escape", "Escape");
		await page.drag(from, box.y + 4, box.x + box.w + pixels, box.y + 4, { modifiers });
		await page.idle();
		return (await page.state()).area.start;
	};
	assert.equal(await drag(13), box.end);
	assert.ok((await drag(17)) > box.end);
	assert.ok((await drag(13, 1)) > box.end);
	await page.press("Escape", "Escape");
});

test("a link keeps folds, the place that is scrolled to, the clock, a selection and tracks of SQL", { skip }, async () => {
	await page.resize(1200, 500);
	await follow("");
	const { rows } = await page.state();
	const { lane } = rows.find(({ title }) => title === "back (2)");
	const [[id, start]] = rowsOf(
		orma,
		file,
		"select slice.id, slice.ts - trace_start() from slice join thread_track on slice.track_id = thread_track.id join thread using (utid) where slice.name = 'step' and thread.name = 'back' order by ts limit 1",
	);
	await page.run(`orma.app.showSql("select ts, dur, name from slice -- steps\\nwhere name = 'step'", "slices")`);
	await page.run(`orma.app.fold(orma.app.model.rows.find(({ title }) => title === "front (1)").node.id)`);
	await page.run(`orma.app.eventAt(${lane}, 1, ${start}).then((event) => orma.app.reveal(event))`);
	await clickOn("#clock", "");
	await page.idle();
	await page.run("orma.line.tracks.element.scrollTop = 50");
	await new Promise((resolve) => setTimeout(resolve, 400));
	const seen = async () => {
		const { scrollTop, clock, selection, rows: shown } = await page.state();
		const pinned = await page.text("#pinned");
		return { scrollTop, clock, selection: selection.id, folds: shown.map(({ open }) => open), pinned };
	};
	const before = await seen();
	assert.deepEqual([before.selection, before.clock], [Number(id), "ns"]);
	assert.match(before.pinned, /select ts, dur, name from slice -- steps/);
	assert.ok(before.scrollTop > 0 && before.folds.includes(false));
	const hash = await page.run("location.hash");
	await follow("");
	assert.deepEqual((await page.state()).pins, []);
	// A new page has none of it but the link.
	await page.goTo("about:blank");
	await page.open(`${server.url.replace(/#.*/, "")}${hash}`);
	assert.deepEqual(await seen(), before);
	const drawn = (await page.boxes()).filter(({ table }) => table === "query");
	assert.equal(drawn.length, 60);
	// A slice of such a track has no track that the engine knows: R selects its time on all tracks.
	await page.click(drawn[3].x + 2, drawn[3].y + 4);
	await page.press("KeyR", "r");
	await page.idle();
	assert.deepEqual((await page.state()).area, { start: drawn[3].start, end: drawn[3].end, nodes: [] });
	assert.match(await page.text("#panel"), /step/);
	await page.resize(1200, 900);
	await follow("");
	assert.deepEqual(page.errors, []);
});

test("> and Ctrl+Shift+P list the commands, which are found by what they are called and run", { skip }, async () => {
	await follow("");
	const isOpen = () => page.run("document.querySelector('#help').open");
	const listed = () =>
		page.run(
			"[...document.querySelectorAll('#help dt')].flatMap((key) => (key.offsetParent ? [[key.innerText.trim(), key.nextElementSibling.innerText]] : []))",
		);
	await page.press("Slash", "/");
	await page.type(">");
	assert.equal(await isOpen(), true);
	assert.equal(await page.run("document.querySelector('#search').value"), "");
	assert.ok((await listed()).some(([key, text]) => key === "W" && text.startsWith("Zoom in")));
	await page.type("colour slices");
	assert.deepEqual(await listed(), [["C", "Colour slices by something else"]]);
	// Titles of lists that are empty are not shown.
	assert.equal(
		await page.run("[...document.querySelectorAll('#help h3')].filter(({ offsetParent }) => offsetParent).length"),
		1,
	);
	await page.press("Enter", "Enter");
	await page.idle();
	assert.deepEqual([await isOpen(), (await page.state()).colouring], [false, "category"]);
	await page.press("KeyP", "P", CTRL | SHIFT);
	assert.equal(await isOpen(), true);
	await page.type("since the start");
	await clickOn("#help dd:not([hidden]) button", "Times since");
	assert.deepEqual([await isOpen(), (await page.state()).clock], [false, "ns"]);
	await page.press("Slash", "?", SHIFT);
	assert.ok((await listed()).length > 40, "what was typed is gone");
	await page.press("Escape", "Escape");
	assert.equal(await isOpen(), false);
	await follow("");
});

test("a colon in the search asks in SQL, and Ctrl+Enter pins the result", { skip }, async () => {
	await follow("");
	const query = "select ts, dur, name from slice where name = 'step'";
	await page.press("Slash", "/");
	await page.type(`:${query}`);
	await page.idle();
	assert.equal((await page.state()).hits, null, "it is not searched for");
	await page.press("Enter", "Enter");
	await page.idle();
	const cells =
		"[...document.querySelectorAll('.sql .tr')].slice(0, 3).map((row) => [...row.children].map(({ title }) => title))";
	assert.deepEqual(await page.run(cells), rowsOf(orma, file, `${query} limit 3`));
	assert.equal(await page.run("document.querySelector('#sql-input').value"), query);
	assert.deepEqual((await page.state()).pins, []);
	await page.press("Enter", "Enter", CTRL);
	await page.idle();
	assert.equal((await page.state()).pins.length, 1);
	assert.equal((await page.boxes()).filter(({ table }) => table === "query").length, 60);
	await page.press("Escape", "Escape");
	await follow("");
	assert.deepEqual(page.errors, []);
});

test("a finger moves through the time, two zoom, and a tap selects", { skip }, async () => {
	await follow("");
	const touch = async (type, ...points) =>
		page.send("Input.dispatchTouchEvent", { type, touchPoints: points.map(([x, y], id) => ({ x, y, id })) });
	const { x, width } = await page.run("(({ x, width }) => ({ x, width }))(orma.line.over.canvas.getBoundingClientRect())");
	const [box] = (await page.boxes()).filter(({ table, name }) => table === "slice" && name === "request");
	const y = box.y + box.h / 2;
	const time = ({ start, end }, at) => start + ((at - x) / width) * (end - start);
	const whole = await page.state();

	// Two fingers of which the second moves to the double distance. The time below the first one stays there.
	const [left, right] = [x + 200, x + 400];
	await touch("touchStart", [left, y], [right, y]);
	for (const step of [50, 100, 150, 200]) await touch("touchMove", [left, y], [right + step, y]);
	await touch("touchEnd");
	await page.idle();
	const near = await page.state();
	const pixel = (near.end - near.start) / width;
	assert.ok(Math.abs(near.end - near.start - (whole.end - whole.start) / 2) < 2 * pixel, "half of the time is on screen");
	assert.ok(Math.abs(time(near, left) - time(whole, left)) < 2 * pixel, "the time below the first finger stays there");
	assert.deepEqual([near.selection, near.area], [null, null]);

	// The time below one finger follows it.
	await touch("touchStart", [left, y]);
	for (const step of [20, 60, 100]) await touch("touchMove", [left + step, y]);
	await touch("touchEnd");
	await page.idle();
	const moved = await page.state();
	assert.ok(Math.abs(time(moved, left + 100) - time(near, left)) < 2 * pixel);
	assert.deepEqual([moved.selection, moved.area], [null, null]);

	const { x: begin, w, id } = (await page.boxes()).find((one) => one.name === "request" && one.x > x && one.count === 1);
	await touch("touchStart", [begin + w / 2, y]);
	await touch("touchEnd");
	await page.idle();
	assert.equal((await page.state()).selection.id, id);
	await page.press("Escape", "Escape");
	await follow("");
	assert.deepEqual(page.errors, []);
});
