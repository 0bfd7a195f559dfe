// The page in a browser: real keys and a real mouse, then what was drawn is compared with the trace.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Browser, findChromium } from "./cdp.mjs";
import { END, boxesOf, makeTrace, serve } from "./fixture_server.mjs";

const skip = findChromium() ? false : "no Chromium is installed";
const CTRL = 2;
const SHIFT = 8;
const trace = makeTrace();
/** @type {Browser} */
let page;
let server;

before(async () => {
	if (skip) return;
	server = await serve(trace, new URL("../../web/", import.meta.url));
	page = await Browser.start({ width: 1200, height: 900 });
	// Movements that take time are tested without a browser.
	await page.send("Emulation.setEmulatedMedia", { features: [{ name: "prefers-reduced-motion", value: "reduce" }] });
	await page.open(`${server.url}#k=good`);
});

after(async () => {
	await page?.stop();
	server?.close();
});

/** Shows the whole trace, with nothing selected. */
async function reset() {
	await page.press("Escape", "Escape");
	await page.press("Escape", "Escape");
	await page.press("Digit0", "0");
	await page.idle();
}

/** Brings a slice of a length to the screen, and returns its box. */
async function boxOf(slice) {
	await page.run(
		`(history.pushState(null, "", "#t=${slice.start - 5e6}-${slice.end + 5e6}"), dispatchEvent(new PopStateEvent("popstate")))`,
	);
	await page.idle();
	return (await page.boxes()).find((box) => box.table === "slice" && box.id === slice.id);
}
const wideSlice = () => trace.slices.find(({ depth, start, end }) => depth === 1 && start > END / 4 && end - start > 4e6);

test("the ticket is gone from the address, and the token survives a reload", { skip }, async () => {
	assert.doesNotMatch(await page.run("location.href"), /k=/);
	await page.open(server.url);
	assert.equal((await page.state()).end, END);
});

test("what is drawn is what the trace has, merged as the level says", { skip }, async () => {
	await reset();
	const { level, rows } = await page.state();
	const boxes = await page.boxes();
	const lanes = rows.filter(({ kind, open }) => kind === "thread" && open).flatMap(({ lane, strip }) => [lane, strip]);
	assert.equal(lanes.length, 4);
	for (const lane of lanes) {
		const expected = new Map();
		for (let tile = 0; tile * 512 * 2 ** level <= END; tile++) {
			for (const box of boxesOf(trace.lanes[lane], level, tile)) expected.set(`${box.depth} ${box.start}`, box);
		}
		const drawn = boxes.filter((box) => box.lane === lane);
		assert.equal(drawn.length, expected.size);
		for (const { depth, start, end, count, x, w } of drawn) {
			const box = expected.get(`${depth} ${start}`);
			assert.deepEqual({ end, count }, { end: box.end, count: box.count });
			const left = 240 + (start / END) * (1200 - 240 - 15);
			assert.ok(Math.abs(x - left) < 16 && w >= 1, `${x} ${left}`);
		}
	}
});

test("zooming in shows single slices with their names, at their places", { skip }, async () => {
	const slice = wideSlice();
	const box = await boxOf(slice);
	assert.deepEqual([box.start, box.end, box.depth, box.count], [slice.start, slice.end, 1, 1]);
	assert.equal(box.name, trace.names[slice.name]);
	const { start, end } = await page.state();
	assert.ok(Math.abs(box.w / (slice.end - slice.start) - (1200 - 240 - 15) / (end - start)) * 1e6 < 2);
});

test("the length of what is shown is told, and is in the address, also when all tiles are there", { skip }, async () => {
	await reset();
	await page.move(700, 400);
	for (const [code, key] of [
		["KeyW", "w"],
		["Digit0", "0"],
		["KeyW", "w"],
		["Digit0", "0"],
	]) {
		await page.press(code, key);
		await page.idle();
	}
	assert.equal(await page.text("#range"), "2 s of 2 s");
	await new Promise((resolve) => setTimeout(resolve, 300));
	assert.match(await page.run("location.hash"), /^#t=0-2000000000/);
});

test("the wheel zooms where the mouse is, and Shift and the wheel pan", { skip }, async () => {
	await reset();
	const x = 700;
	const timeAt = ({ start, end }, width) => start + ((x - 240) / width) * (end - start);
	const width = await page.run("document.querySelector('#ruler canvas').clientWidth");
	const before = timeAt(await page.state(), width);
	await page.wheel(x, 400, 0, -240, CTRL);
	await page.idle();
	const zoomed = await page.state();
	assert.ok(zoomed.end - zoomed.start < END / 2);
	assert.ok(Math.abs(timeAt(zoomed, width) - before) < (zoomed.end - zoomed.start) / 500);
	await page.wheel(x, 400, 0, 100, SHIFT);
	await page.idle();
	assert.ok((await page.state()).start > zoomed.start);
});

test("a band shows where data were lost, and says what helps", { skip }, async () => {
	await reset();
	const { rows } = await page.state();
	const top = await page.run("document.querySelector('#tracks').getBoundingClientRect().top");
	const width = await page.run("document.querySelector('#ruler canvas').clientWidth");
	const [lossy, other] = rows.filter(({ kind, open }) => kind === "thread" && open);
	await page.move(240 + 0.61 * width, top + lossy.y + 12);
	assert.match(await page.text("#tooltip"), /Data were lost\s+40\.?0* ms\s+The buffer was full\./);
	await page.move(240 + 0.61 * width, top + other.y + 12);
	assert.doesNotMatch(String(await page.text("#tooltip")), /lost/);
	assert.match(await page.text("#status"), /data were lost: see the row Losses/);
});

test("W, A, S and D zoom and pan by their place on the keyboard", { skip }, async () => {
	await reset();
	await page.move(700, 400);
	await page.press("KeyW", "z");
	await page.idle();
	const zoomed = await page.state();
	assert.ok(zoomed.end - zoomed.start < END);
	await page.press("KeyD", "d");
	await page.idle();
	const moved = await page.state();
	assert.ok(moved.start > zoomed.start);
	await page.press("KeyA", "q");
	await page.press("KeyS", "s");
	await page.idle();
	const back = await page.state();
	assert.ok(Math.abs(back.end - back.start - END) < END / 1000);
});

test("a click selects, the panel says what it is, and markup in it is text", { skip }, async () => {
	const slice = wideSlice();
	const box = await boxOf(slice);
	await page.click(box.x + 4, box.y + 8);
	await page.idle();
	assert.equal((await page.state()).selection.id, slice.id);
	assert.match(await page.text("#panel"), /onerror=alert/);
	assert.equal(await page.text("#panel h2"), trace.names[slice.name]);
	assert.equal(await page.run("document.querySelectorAll('#panel img').length"), 0);
	assert.match(await page.run("location.hash + ''"), /^#t=/);
	assert.equal(await page.run("orma.test.counters().flows"), 2);
});

test("Ctrl+] chooses another flow, which ] then follows", { skip }, async () => {
	const [slice, { length }] = [wideSlice(), trace.slices];
	for (const [times, more] of [
		[0, 50],
		[1, 90],
		[2, 50],
	]) {
		const box = await boxOf(slice);
		await page.click(box.x + 4, box.y + 8);
		await page.idle();
		for (let i = 0; i < times; i++) await page.press("BracketRight", "]", 2);
		if (times === 1) assert.match(await page.text("#live"), /^Flow 2 of 2: /);
		await page.press("BracketRight", "]");
		await page.idle();
		assert.equal((await page.state()).selection.id, (slice.id + more) % length);
	}
});

test("F shows what is selected, and then zooms to it, also at the begin of the trace", { skip }, async () => {
	await reset();
	const slice = trace.slices.find(({ depth, end }) => depth === 0 && end > 4e6);
	await boxOf(slice);
	const box = (await page.boxes()).find(({ table, id }) => table === "slice" && id === slice.id);
	await page.click(box.x + box.w / 2, box.y + 8);
	await page.press("Digit0", "0");
	await page.idle();
	for (const _ of [1, 2]) await page.press("KeyF", "f");
	await page.idle();
	const { start, end } = await page.state();
	assert.ok(end - start < 10 * (slice.end - slice.start) && start < slice.start && end > slice.end);
	await reset();
});

test("dots and arrows go to the neighbours, up to what is around", { skip }, async () => {
	const slice = wideSlice();
	const box = await boxOf(slice);
	await page.click(box.x + 4, box.y + 8);
	await page.press("Period", ".");
	await page.idle();
	const row = trace.lanes[slice.lane].filter(({ depth }) => depth === 1);
	const next = row[row.indexOf(slice) + 1];
	assert.equal((await page.state()).selection.id, next.id);
	await page.press("Comma", ",");
	await page.idle();
	assert.equal((await page.state()).selection.id, slice.id);
	await page.press("ArrowUp", "ArrowUp");
	await page.idle();
	const parent = trace.slices[(await page.state()).selection.id];
	assert.ok(parent.depth === 0 && parent.start <= slice.start && parent.end >= slice.end);
});

test("a drag selects an area of the tracks it touches, and its slices are counted", { skip }, async () => {
	await reset();
	const { rows } = await page.state();
	const row = rows.find(({ kind }) => kind === "thread");
	const top = await page.run("document.querySelector('#tracks').getBoundingClientRect().top");
	await page.drag(500, top + row.y + 30, 800, top + row.y + 40, { modifiers: 1 });
	await page.idle();
	const { area } = await page.state();
	assert.equal(area.nodes.length, 2);
	const inside = trace.slices.filter(({ start, end }) => start < area.end && end > area.start);
	const sum = await page.run(
		"[...document.querySelectorAll('.tr')].reduce((n, row) => n + Number(row.children[1].title), 0)",
	);
	assert.equal(sum, inside.length);
	await page.press("Escape", "Escape");
	assert.equal((await page.state()).area, null);
});

test("middle drag and Shift+drag pan, and there and back is where it was", { skip }, async () => {
	await reset();
	await page.press("KeyW", "w");
	await page.idle();
	const before = await page.state();
	const boxes = JSON.stringify(await page.boxes());
	await page.drag(600, 400, 700, 400, { button: "middle" });
	await page.idle();
	assert.ok((await page.state()).start < before.start);
	await page.drag(700, 400, 600, 400, { modifiers: SHIFT });
	await page.idle();
	assert.ok(Math.abs((await page.state()).start - before.start) < 1000);
	assert.equal(JSON.parse(boxes).length, (await page.boxes()).length);
});

test("Shift and a click on another slice measures the gap between them", { skip }, async () => {
	const slice = wideSlice();
	const row = trace.lanes[slice.lane].filter(({ depth }) => depth === 1);
	const next = row[row.indexOf(slice) + 1];
	await page.run(
		`(history.pushState(null, "", "#t=${slice.start - 5e6}-${next.end + 5e6}"), dispatchEvent(new PopStateEvent("popstate")))`,
	);
	await page.idle();
	const boxOfId = async (id) => (await page.boxes()).find((box) => box.table === "slice" && box.id === id);
	const first = await boxOfId(slice.id);
	await page.click(first.x + 3, first.y + 8);
	await page.idle();
	const second = await boxOfId(next.id);
	await page.click(second.x + 2, second.y + 8, { modifiers: SHIFT });
	await page.idle();
	assert.equal((await page.state()).measured.id, next.id);
	const gap = next.start - slice.end;
	assert.ok((await page.text("#panel")).includes("Gap"));
	assert.equal(
		await page.run(
			"[...document.querySelectorAll('#panel dd')].find((dd) => dd.previousElementSibling.innerText === 'Gap').title.replace(/\\D/g, '')",
		),
		String(gap),
	);
	await reset();
});

test("the edges of an area snap to slices, with Alt they do not, and they can be moved", { skip }, async () => {
	const slice = wideSlice();
	const box = await boxOf(slice);
	const y = box.y + 8;
	await page.drag(box.x + 4, y, box.x + box.w - 5, y + 2);
	await page.idle();
	const { area } = await page.state();
	assert.deepEqual([area.start, area.end], [slice.start, slice.end]);
	await page.drag(box.x + box.w, y, box.x + box.w / 2, y, { modifiers: 1 });
	await page.idle();
	const moved = (await page.state()).area;
	assert.equal(moved.start, slice.start);
	assert.ok(moved.end < slice.end && moved.end > slice.start);
	await page.press("Escape", "Escape");
	await page.drag(box.x + 4, y, box.x + box.w - 5, y + 2, { modifiers: 1 });
	await page.idle();
	const free = (await page.state()).area;
	assert.ok(free.start > slice.start && free.end < slice.end);
	await page.press("Escape", "Escape");
	await page.click(box.x + 4, y);
	await page.press("KeyR", "r");
	await page.idle();
	const own = (await page.state()).area;
	assert.deepEqual([own.start, own.end], [slice.start, slice.end]);
	await reset();
});

test("Space and a drag pans", { skip }, async () => {
	await reset();
	await page.press("KeyW", "w");
	await page.idle();
	const before = await page.state();
	await page.keyDown("Space", " ");
	await page.drag(600, 400, 700, 400);
	await page.keyUp("Space", " ");
	await page.idle();
	const after = await page.state();
	assert.ok(after.start < before.start && after.area === null);
	await reset();
});

test("with forced colours, slices keep theirs and nothing fails", { skip }, async () => {
	await page.send("Emulation.setEmulatedMedia", {
		features: [
			{ name: "forced-colors", value: "active" },
			{ name: "prefers-reduced-motion", value: "reduce" },
		],
	});
	await reset();
	assert.equal(await page.run("getComputedStyle(document.querySelector('.boxes')).forcedColorAdjust"), "none");
	assert.ok((await page.boxes()).length > 0);
	await page.send("Emulation.setEmulatedMedia", { features: [{ name: "prefers-reduced-motion", value: "reduce" }] });
});

test("the search dims, counts and goes from hit to hit", { skip }, async () => {
	await reset();
	await page.press("Slash", "/");
	await page.type("lock_wait");
	await new Promise((resolve) => setTimeout(resolve, 300));
	await page.idle();
	const name = trace.names.indexOf("lock_wait");
	const hits = trace.slices.filter((slice) => slice.name === name).sort((a, b) => a.start - b.start);
	assert.equal((await page.state()).hits, hits.length);
	await page.press("Enter", "Enter");
	await page.idle();
	if (hits.length > 0) assert.equal(trace.slices[(await page.state()).selection.id].name, name);
	await page.press("Escape", "Escape");
	await page.press("Escape", "Escape");
	await page.idle();
	assert.equal((await page.state()).hits, null);
});

test("colours tell the name, the category, the duration or the process of slices", { skip }, async () => {
	await reset();
	await boxOf(wideSlice());
	const coloursBy = async (key) => {
		const groups = new Map();
		for (const box of (await page.boxes()).filter(({ table, count }) => table === "slice" && count === 1))
			groups.set(key(box), (groups.get(key(box)) ?? new Set()).add(box.colour));
		return groups;
	};
	const isOneEach = (groups) => [...groups.values()].every((colours) => colours.size === 1);
	const all = (groups) => new Set([...groups.values()].flatMap((colours) => [...colours]));
	const byName = await coloursBy(({ name }) => name);
	assert.ok(isOneEach(byName) && all(byName).size > 3);

	await page.press("KeyC", "c");
	await page.idle();
	assert.equal((await page.state()).colouring, "category");
	const byCategory = await coloursBy(({ id }) => trace.slices[id].category);
	assert.ok((await coloursBy(({ name }) => name)).get("parse").size > 1, "slices of one name have their own categories");
	assert.ok(isOneEach(byCategory) && all(byCategory).size === byCategory.size && byCategory.size >= 2);

	await page.run(
		`(document.querySelector("#colours").value = "duration", document.querySelector("#colours").dispatchEvent(new Event("change")))`,
	);
	await page.idle();
	const byDuration = await coloursBy(({ start, end }) => Math.min(4, Math.max(0, Math.floor(Math.log10(end - start)) - 3)));
	assert.ok(isOneEach(byDuration) && all(byDuration).size === byDuration.size && byDuration.size >= 2);

	await page.press("KeyC", "c");
	await page.idle();
	assert.equal(all(await coloursBy(() => 0)).size, 1, "the slices on screen are of one process");
	assert.equal(await page.run("document.querySelector('#colours').value"), "process");
	await page.press("KeyC", "c");
	await page.idle();
	assert.deepEqual(await coloursBy(({ name }) => name), byName);

	await page.press("Slash", "?", SHIFT);
	assert.match(await page.text("#help"), /Slices coloured by duration\s+Less than 10 µs\s+10 µs or longer/);
	await page.press("Escape", "Escape");
});

test("a counter is shown as its changes or rate, by a key and by the menu in its header", { skip }, async () => {
	await reset();
	const counter = async () => (await page.state()).rows.find(({ kind, title }) => kind === "counter" && title === "memory");
	const { id, y } = await counter();
	const top = await page.run("document.querySelector('#tracks').getBoundingClientRect().top");
	const values = [];
	for (const mode of ["value", "log", "change", "rate", "shared", "value"]) {
		assert.equal((await counter()).mode, mode);
		await page.move(700, top + y + 14);
		await page.idle();
		values.push(await page.text("#tooltip .number"));
		await page.press("KeyV", "v");
		await page.idle();
	}
	assert.match(values[0], /^1\.\d MiB$|KiB$/);
	assert.equal(values[1], values[0]);
	assert.notEqual(values[2], values[0]);
	assert.match(values[3], /B\/s$/);
	assert.equal(values[4], values[0]);
	assert.equal(values[5], values[0]);
	const menu = `document.querySelector('#tracks [data-node="${id}"] select')`;
	await page.run(`${menu}.focus()`);
	assert.equal(await page.run(`${menu}.getAttribute("aria-label")`), "How memory is shown");
	assert.equal(await page.run(`${menu}.value`), "log");
	for (let i = 0; i < 3; i++) await page.press("ArrowUp", "ArrowUp");
	await page.idle();
	assert.equal((await counter()).mode, "value");
	await page.run("document.activeElement.blur()");
});

test("tracks are filtered, folded and pinned", { skip }, async () => {
	await reset();
	await page.press("KeyP", "p", CTRL);
	await page.type("thread 3");
	await page.idle();
	assert.deepEqual(
		(await page.state()).rows.map(({ title }) => title),
		["process 200", "thread 3"],
	);
	await page.run(
		"(document.querySelector('#filter').value = '', document.querySelector('#filter').dispatchEvent(new Event('input')), document.activeElement.blur())",
	);
	await page.idle();
	const before = (await page.state()).rows.length;
	await page.run("document.querySelector('.head.process .fold').click()");
	await page.idle();
	assert.ok((await page.state()).rows.length < before);
	await page.run("document.querySelector('.head.process .fold').click()");
	await page.run("document.querySelector('.head.sched .pin').click()");
	await page.idle();
	assert.equal((await page.state()).pins.length, 1);
	assert.ok((await page.run("document.querySelector('#pinned').clientHeight")) > 0);
	await page.run("document.querySelector('#pinned .pin').click()");
});

test("notes are kept in the address, and Back goes back", { skip }, async () => {
	const slice = wideSlice();
	const box = await boxOf(slice);
	await page.click(box.x + 4, box.y + 8);
	await page.press("KeyM", "M", SHIFT);
	await new Promise((resolve) => setTimeout(resolve, 400));
	assert.match(await page.run("location.hash"), new RegExp(`n=${slice.start}`));
	await page.open((await page.run("location.href")).replace("#", "?x=1#"));
	const state = await page.state();
	assert.equal(state.notes[0].time, slice.start);
	assert.equal(state.selection.id, slice.id);
	await page.press("Delete", "Delete");
	assert.equal((await page.state()).notes.length, 0);
});

test("colours, modes of counters and the order of tracks are in the address", { skip }, async () => {
	await reset();
	await page.press("KeyC", "c");
	const top = await page.run("document.querySelector('#tracks').getBoundingClientRect().top");
	const before = (await page.state()).rows.map(({ title, y, height }) => ({ title, y: top + y + height / 2 }));
	const at = before.findIndex(({ title }) => title === "memory");
	await page.move(700, before[at].y);
	await page.press("KeyV", "v");
	await page.drag(60, before[at].y, 60, before[at + 1].y);
	await page.idle();
	await new Promise((resolve) => setTimeout(resolve, 400));
	const seen = ({ colouring, rows }) => ({ colouring, rows: rows.map(({ title, mode }) => `${title} ${mode}`) });
	const state = seen(await page.state());
	assert.equal(state.colouring, "category");
	assert.deepEqual(state.rows.slice(at, at + 2), [`${before[at + 1].title} value`, "memory log"]);
	await page.open((await page.run("location.href")).replace(/[?#]/, "?order=1#"));
	assert.deepEqual(seen(await page.state()), state);
	assert.equal(await page.run("document.querySelector('#colours').value"), "category");
	await page.open(server.url);
	assert.deepEqual(
		seen(await page.state()).rows,
		before.map(({ title }) => `${title} value`),
	);
});

test("the text of a note is changed by a double click on it, and by Enter", { skip }, async () => {
	await reset();
	await page.move(700, 400);
	await page.press("KeyM", "M", SHIFT);
	await page.idle();
	const time = (await page.state()).notes[0].time;
	const { left, top, width } = await page.run("document.querySelector('#ruler').getBoundingClientRect().toJSON()");
	const scroll = await page.run("document.querySelector('#ruler canvas').clientWidth");
	assert.ok(scroll <= width);
	await page.click(left + (time / END) * scroll + 6, top + 12, { count: 2 });
	assert.equal(await page.run("document.activeElement.getAttribute('aria-label')"), "Text of the note");
	assert.equal(await page.run("document.activeElement.value"), "note 1");
	await page.type("slow <b>start</b>");
	await page.press("Enter", "Enter");
	await page.idle();
	assert.equal((await page.state()).notes[0].text, "slow <b>start</b>");
	await page.press("Enter", "Enter");
	await page.type("another");
	await page.press("Escape", "Escape");
	await page.idle();
	assert.deepEqual(
		(await page.state()).notes.map(({ text, kept }) => [text, kept]),
		[["slow <b>start</b>", true]],
	);
	assert.equal(await page.run("document.querySelector('.note')"), null);
	await new Promise((resolve) => setTimeout(resolve, 300));
	assert.match(await page.run("decodeURIComponent(location.hash)"), /slow\+<b>start<\/b>/);
	await page.press("Delete", "Delete");
	await page.idle();
	assert.equal((await page.state()).notes.length, 0);
});

test("SQL is answered as a table", { skip }, async () => {
	await page.press("Semicolon", ":", SHIFT);
	await page.run("document.querySelector('#sql-input').value = 'SELECT 1'");
	await page.press("Enter", "Enter", CTRL);
	await page.idle();
	assert.match(await page.text("#panel .table"), /SELECT 1[\s\S]*NULL/);
	await page.run("document.activeElement.blur()");
});

test("the slices of the selected track are a list that the keyboard walks", { skip }, async () => {
	const slice = wideSlice();
	const box = await boxOf(slice);
	await page.click(box.x + 4, box.y + 8);
	await page.idle();
	await new Promise((resolve) => setTimeout(resolve, 400));
	const count = await page.run("document.querySelectorAll('#visible button').length");
	const drawn = (await page.boxes()).filter(({ lane }) => lane === slice.lane);
	assert.equal(count, Math.min(200, drawn.length));
	await page.run("document.querySelector('#visible button').focus()");
	await page.press("ArrowDown", "ArrowDown");
	assert.equal(await page.run("[...document.querySelectorAll('#visible button')].indexOf(document.activeElement)"), 1);
	assert.match(await page.text("#live"), /Selected|hits|Copied|Note/);
	await page.run("document.activeElement.blur()");
});

test("without a mouse, the arrows select the first slice, and go on to the tracks below and above", { skip }, async () => {
	await reset();
	await page.run("document.querySelector('#tracks').focus()");
	await page.press("ArrowRight", "ArrowRight");
	await page.idle();
	const first = (await page.state()).selection;
	const { rows } = await page.state();
	// Its counters have no values that the server of this test tells.
	const drawn = rows.filter(({ kind }) => kind !== "counter");
	const lanes = drawn.flatMap(({ strip, lane }) => [strip, lane]).filter((lane) => lane !== null);
	assert.equal(first.lane, lanes[0]);
	await page.press("ArrowDown", "ArrowDown");
	await page.idle();
	const below = (await page.state()).selection;
	assert.equal(below.lane, lanes[1]);
	assert.match(await page.text("#live"), /^Selected .*, of /);
	await page.press("ArrowUp", "ArrowUp");
	await page.idle();
	assert.equal((await page.state()).selection.lane, lanes[0]);
	await reset();
});

test("all that can be operated has a name, and the tracks are a list", { skip }, async () => {
	await reset();
	await page.press("KeyA", "a", CTRL);
	await page.idle();
	const { nodes } = await page.send("Accessibility.getFullAXTree");
	const shown = nodes.filter(({ ignored }) => !ignored).map(({ role, name }) => [role.value, name?.value ?? ""]);
	const roles = new Set(shown.map(([role]) => role));
	for (const role of ["button", "combobox", "searchbox", "tab", "tablist", "table", "list", "listitem"])
		assert.ok(roles.has(role), role);
	const operated = /^(button|combobox|searchbox|textbox|tab|tablist|tabpanel|table|list|application|region|slider)$/;
	assert.deepEqual(
		shown.filter(([role, name]) => operated.test(role) && !name.trim()),
		[],
	);
	await reset();
});

test("rows of tables are walked and opened by keys", { skip }, async () => {
	await reset();
	await page.press("KeyA", "a", CTRL);
	await page.idle();
	await page.run("document.querySelector('.table').focus()");
	await page.press("ArrowDown", "ArrowDown");
	await page.press("ArrowDown", "ArrowDown");
	const name = await page.run("document.activeElement.firstElementChild.title");
	assert.equal(await page.run("document.activeElement.getAttribute('aria-rowindex')"), "3");
	await page.press("Enter", "Enter");
	await page.idle();
	assert.equal(await page.text("#panel h2"), name);
	await page.run("document.activeElement.blur()");
	await reset();
});

test("dark and light follow the system, and the button", { skip }, async () => {
	const isDark = async () => (await page.state()).dark;
	assert.equal(await isDark(), false);
	await page.run("document.querySelector('#theme').click()");
	assert.equal(await isDark(), true);
	await page.run("document.querySelector('#theme').click()");
	assert.equal(await isDark(), false);
});

test("a frame has at most 8,000 boxes, and the page keeps its tiles within bounds", { skip }, async () => {
	await reset();
	const counters = await page.run("orma.test.counters()");
	assert.ok(counters.boxes <= 8000 && counters.tileBytes <= 32 << 20, JSON.stringify(counters));
});

test("embedded, there is only the picture", { skip }, async () => {
	await page.open(`${server.url}?embed=1`);
	assert.equal(await page.run("document.querySelector('#bar').offsetHeight"), 0);
	assert.ok((await page.boxes()).length > 0);
});

test("nothing was complained about, and nothing was asked of another machine", { skip }, async () => {
	assert.deepEqual(page.errors, []);
	assert.ok(page.urls.length > 10);
	for (const url of page.urls) assert.ok(url.startsWith(server.url) || url === "about:blank", url);
});

test("a ticket that was used is refused, and the page says what to do", { skip }, async () => {
	await page.run("sessionStorage.clear()");
	await page.send("Page.navigate", { url: `${server.url}?again=1#k=used` });
	for (let i = 0; i < 100 && !/works once/.test((await page.text("#notice").catch(() => "")) ?? ""); i++) {
		await new Promise((resolve) => setTimeout(resolve, 30));
	}
	assert.match(await page.text("#notice"), /Press Enter in the terminal/);
});
