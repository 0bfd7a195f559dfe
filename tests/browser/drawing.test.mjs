// Tests the pixels of boxes, bands and arrows, which the page's own modules draw into a canvas of the test. It also tests the keys
// that only change how things are shown.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { FLAG_INSTANT, FLAG_MERGED, FLAG_REAL_TIME, FLAG_UNFINISHED } from "../../web/answers.js";
import { BOX_SCHED, BOX_SLICE, BOX_STATE } from "../../web/boxes.js";
import { COLOUR_STATES, LOOK_MERGED, LOOK_PLAIN, STATE } from "../../web/colour.js";
import { Browser, findChromium } from "./cdp.mjs";
import { END, makeTrace, serve } from "./fixture_server.mjs";

const skip = findChromium() ? false : "no Chromium is installed";
const SHIFT = 8;
const WIDTH = 200;
const HEIGHT = 40;
const trace = makeTrace();
/** @type {Browser} */
let page;
let server;

before(async () => {
	if (skip) return;
	server = await serve(trace, new URL("../../web/", import.meta.url));
	page = await Browser.start({ width: 1200, height: 900 });
	await page.send("Emulation.setEmulatedMedia", { features: [{ name: "prefers-reduced-motion", value: "reduce" }] });
	await page.open(`${server.url}#k=good`);
});

after(async () => {
	await page?.stop();
	server?.close();
});

/**
 * Draws on a canvas of one colour in the page. The statements have its `context`, the `theme` and the functions of a module. Returns
 * the rows of pixels, as "rrggbb", with the texts that were written and the colours of the theme.
 */
async function drawn(module, statements) {
	const { pixels, texts, background, fills } = await page.run(`(async () => {
		const names = await import("/${module}.js");
		const theme = orma.app.theme;
		const canvas = Object.assign(document.createElement("canvas"), { width: ${WIDTH}, height: ${HEIGHT} });
		const context = canvas.getContext("2d");
		const texts = [];
		context.fillText = (text, x, y) => texts.push({ text, x, y });
		context.strokeText = () => {};
		context.fillStyle = theme.background;
		context.fillRect(0, 0, ${WIDTH}, ${HEIGHT});
		((context, theme, names) => { ${statements} })(context, theme, names);
		const { data } = context.getImageData(0, 0, ${WIDTH}, ${HEIGHT});
		return { pixels: [...data], texts, background: theme.background, fills: theme.fills };
	})()`);
	const hex = (at) => `#${[0, 1, 2].map((i) => pixels[at + i].toString(16).padStart(2, "0")).join("")}`;
	const rows = Array.from({ length: HEIGHT }, (_, y) => Array.from({ length: WIDTH }, (_, x) => hex(4 * (y * WIDTH + x))));
	return { rows, texts, background, fills };
}

/** Draws boxes; what they do not say is that of a slice. */
function drawnBoxes(...boxes) {
	const usual = { x: 20, y: 10, w: 100, h: 17, kind: BOX_SLICE, colour: 3, look: LOOK_PLAIN, flags: 0, count: 1 };
	const all = boxes.map((box) => ({ ...usual, ...box }));
	const columns = Object.fromEntries(Object.keys(usual).map((name) => [name, all.map((box) => box[name])]));
	const list = JSON.stringify({ ...columns, length: all.length });
	return drawn("draw_slices", `names.drawBoxes(context, ${list}, theme)`);
}

/** The colours of a part of a picture, with how many pixels have them. */
function coloursOf(rows, x, y, w, h) {
	const counts = new Map();
	for (const row of rows.slice(y, y + h))
		for (const colour of row.slice(x, x + w)) counts.set(colour, (counts.get(colour) ?? 0) + 1);
	return counts;
}

const brightness = (hex) => [1, 3, 5].reduce((sum, at) => sum + parseInt(hex.slice(at, at + 2), 16), 0);

test("a finished slice is one rectangle of its colour, with a gap behind it", { skip }, async () => {
	const { rows, background, fills } = await drawnBoxes({});
	assert.deepEqual(coloursOf(rows, 20, 10, 99, 17), new Map([[fills[3], 99 * 17]]));
	assert.deepEqual([...coloursOf(rows, 119, 0, 81, HEIGHT).keys()], [background]);
});

test("threads that wait in the kernel and those of real-time priority are hatched, others are not", { skip }, async () => {
	const state = (name) => ({ kind: BOX_STATE, colour: COLOUR_STATES + STATE[name], h: 8 });
	const cases = [
		[state("running"), false],
		[state("runnable"), false],
		[state("diskSleep"), true],
		[state("otherSleep"), true],
		[{ ...state("otherSleep"), w: 2 }, false],
		[{ kind: BOX_SCHED, flags: FLAG_REAL_TIME }, true],
		[{ kind: BOX_SCHED }, false],
		[{ kind: BOX_SLICE, flags: FLAG_REAL_TIME }, false],
	];
	for (const [box, isHatched] of cases) {
		const { rows, fills } = await drawnBoxes(box);
		const colours = coloursOf(rows, 20, 10, (box.w ?? 99) - 1 || 1, box.h ?? 17);
		const plain = colours.get(fills[box.colour ?? 3]) ?? 0;
		const all = [...colours.values()].reduce((sum, count) => sum + count, 0);
		const darker = [...colours.keys()].filter((colour) => brightness(colour) < brightness(fills[box.colour ?? 3]) - 60);
		assert.equal(plain < all, isHatched, JSON.stringify(box));
		// Both the lines and the colour between them are seen.
		if (isHatched) assert.ok(darker.length > 0 && plain > 0.3 * all && plain < 0.9 * all, `${plain} of ${all}`);
	}
});

test("sleeping and exited threads leave their strip empty", { skip }, async () => {
	for (const name of ["idle", "exited"]) {
		const { rows, background } = await drawnBoxes({ kind: BOX_STATE, colour: COLOUR_STATES + STATE[name] });
		assert.deepEqual([...coloursOf(rows, 0, 0, WIDTH, HEIGHT).keys()], [background]);
	}
});

test("an unfinished slice fades at its end, and an unfinished wait is hatched as well", { skip }, async () => {
	const { rows, background, fills } = await drawnBoxes({ flags: FLAG_UNFINISHED });
	const row = rows[15];
	assert.deepEqual(new Set(row.slice(20, 87)), new Set([fills[3]]));
	const fade = row.slice(88, 120).map(brightness);
	for (let i = 1; i < fade.length; i++) assert.ok(fade[i] >= fade[i - 1], fade.join());
	assert.ok(new Set(fade).size > 8 && brightness(background) - fade.at(-1) < 20, fade.join());
	const wait = await drawnBoxes({ kind: BOX_STATE, colour: COLOUR_STATES + STATE.otherSleep, flags: FLAG_UNFINISHED });
	assert.ok(coloursOf(wait.rows, 20, 10, 60, 8).size > 2);
});

test("an instant is a line on a triangle", { skip }, async () => {
	const { rows, background, fills } = await drawnBoxes({ x: 50, w: 1, flags: FLAG_INSTANT });
	const widths = rows.slice(10, 27).map((row) => row.filter((colour) => colour !== background).length);
	assert.deepEqual(new Set(widths.slice(0, 8)), new Set([1]));
	assert.ok(widths.at(-1) >= 6 && widths.at(-1) <= 9, widths.join());
	for (let i = 10; i < widths.length; i++) assert.ok(widths[i] >= widths[i - 1], widths.join());
	assert.equal(rows[26][50], fills[3]);
});

test("a box of several slices is lighter, with dots along its lower edge", { skip }, async () => {
	const { rows, background, fills } = await drawnBoxes({ flags: FLAG_MERGED, look: LOOK_MERGED, count: 9 });
	const merged = fills[fills.length / 3 + 3];
	assert.equal(rows[12][60], merged);
	assert.ok(brightness(merged) > brightness(fills[3]));
	const dots = [...rows[26].slice(21, 118)].flatMap((colour, i) => (colour === background ? [i] : []));
	assert.ok(dots.length > 25, String(dots.length));
	dots.forEach((at, i) => assert.equal(at, 3 * i));
	const narrow = await drawnBoxes({ flags: FLAG_MERGED, look: LOOK_MERGED, w: 5 });
	assert.deepEqual([...coloursOf(narrow.rows, 20, 10, 4, 17).keys()], [merged]);
	const state = await drawnBoxes({ flags: FLAG_MERGED, kind: BOX_STATE, colour: COLOUR_STATES + STATE.running });
	assert.equal(coloursOf(state.rows, 20, 10, 100, 17).size, 1);
});

test("a band of lost data is torn at its edges, and covers what is below it", { skip }, async () => {
	const { rows, background } = await drawn(
		"gaps",
		`context.fillStyle = "#00ff00";
		context.fillRect(0, 0, ${WIDTH}, ${HEIGHT});
		const scale = { x: (time) => time, width: ${WIDTH} };
		names.drawGaps(context, [{ start: 60, end: 120 }, { start: 150, end: 150 }], { y: 0, height: ${HEIGHT} }, scale, theme);`,
	);
	const firsts = rows.slice(0, HEIGHT - 2).map((row) => row.findIndex((colour) => colour !== "#00ff00"));
	assert.ok(Math.max(...firsts) - Math.min(...firsts) >= 2 && Math.min(...firsts) >= 58, firsts.join());
	assert.ok(coloursOf(rows, 65, 2, 45, 30).size > 2);
	assert.equal(coloursOf(rows, 65, 2, 45, 30).get("#00ff00") ?? 0, 0);
	// One of no length is still seen.
	assert.ok(coloursOf(rows, 149, 2, 3, 30).size >= 1 && !coloursOf(rows, 150, 2, 1, 30).has("#00ff00"));
	assert.ok(!coloursOf(rows, 130, 0, 10, HEIGHT).has(background));
});

/** Draws a flow from one x to another, in the middle of the canvas. */
function drawnFlow(from, to, latency = 3.2e6) {
	const spot = (x) => JSON.stringify({ x0: x, x1: x, y: 20, h: 10 });
	return drawn("draw_overlay", `names.drawFlow(context, ${spot(from)}, ${spot(to)}, "#ff0000", ${WIDTH}, ${latency}, theme)`);
}

test("a flow that leaves the screen ends in an arrow at the edge, with how far it is", { skip }, async () => {
	const columnsOf = (rows) => {
		const red = (row) => row.flatMap((colour, x) => (colour === "#ff0000" ? [x] : []));
		const all = rows.flatMap(red);
		return [Math.min(...all), Math.max(...all)];
	};
	const inside = await drawnFlow(40, 150);
	assert.deepEqual(inside.texts, []);
	const [first, last] = columnsOf(inside.rows);
	assert.ok(first >= 37 && first <= 40 && last >= 147 && last <= 150, `${first} ${last}`);
	const right = await drawnFlow(40, 900);
	assert.ok(columnsOf(right.rows)[1] >= WIDTH - 3);
	// The head of the arrow is wider than its line.
	const heights = [WIDTH - 7, WIDTH - 30].map((x) => right.rows.filter((row) => row[x] !== right.background).length);
	assert.ok(heights[0] > heights[1] - 3 && coloursOf(right.rows, WIDTH - 7, 10, 4, 30).get("#ff0000") >= 12, heights.join());
	assert.equal(right.texts.length, 1);
	assert.equal(right.texts[0].text, "+3.2 ms");
	assert.ok(right.texts[0].x > WIDTH - 20);
	const left = await drawnFlow(-500, 120);
	assert.ok(columnsOf(left.rows)[0] <= 2);
	assert.deepEqual(
		left.texts.map(({ text, x }) => [text, x < 20]),
		[["+3.2 ms", true]],
	);
	for (const [from, to] of [
		[-50, -20],
		[300, 400],
	]) {
		const away = await drawnFlow(from, to);
		assert.deepEqual([...coloursOf(away.rows, 0, 0, WIDTH, HEIGHT).keys()], [away.background]);
	}
});

test("a histogram has a bar for each power of two, and lights the one of the slice", { skip }, async () => {
	const counts = [0, 0, 0, 0, 100, 25, 0, 4];
	const { rows, texts } = await drawn(
		"histogram",
		`names.drawHistogram({ ...theme, bar: "#0000ff", select: "#ff0000" }, context.canvas, ${JSON.stringify(counts)}, 40);`,
	);
	// Buckets 3 to 7 are drawn, above 28 pixels for the texts; the root of a share of the most is its height.
	const step = WIDTH / 5;
	const heights = [3, 4, 5, 6, 7].map((_, i) => {
		const x = Math.round(i * step + step / 2);
		return rows.filter((row) => row[x] === "#0000ff" || row[x] === "#ff0000").length;
	});
	assert.deepEqual(heights, [0, 12, 6, 0, 3]);
	const lit = [3, 4, 5, 6, 7].map((_, i) => rows[11][Math.round(i * step + step / 2)]);
	assert.equal(lit[2], "#ff0000");
	assert.equal(lit[1], "#0000ff");
	assert.deepEqual(
		texts.map(({ text }) => text),
		["8 ns", "256 ns"],
	);
});

/** Shows a range of the trace, as a link does. */
async function show(start, end) {
	await page.run(`(history.pushState(null, "", "#t=${start}-${end}"), dispatchEvent(new PopStateEvent("popstate")))`);
	await page.idle();
}

test("while tiles are on their way, the coarser ones are drawn in their place", { skip }, async () => {
	await show(0, END);
	const lanes = () =>
		page.boxes().then((boxes) => new Set(boxes.filter(({ table }) => table === "slice").map(({ lane }) => lane)));
	const before = await lanes();
	assert.ok(before.size >= 2);
	const held = server.hold();
	try {
		await page.move(700, 400);
		for (let i = 0; i < 6; i++) await page.press("KeyW", "w");
		await page.run("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))");
		assert.ok((await page.state()).end < END);
		assert.ok(held.count() > 0, "tiles are waited for");
		assert.deepEqual(await lanes(), before);
	} finally {
		held.release();
		await page.idle();
	}
	assert.deepEqual(await lanes(), before);
});

test("pinned tracks take at most 40 % of the height, and scroll", { skip }, async () => {
	await show(0, END);
	const { rows } = await page.state();
	for (const { kind, id } of rows) if (kind !== "process" && kind !== "group") await page.run(`orma.app.pin(${id})`);
	const turnFolds = "document.querySelectorAll('#tracks .head.process .fold').forEach((fold) => fold.click())";
	await page.run(turnFolds);
	await page.idle();
	for (const { kind, id } of (await page.state()).rows)
		if (kind === "thread" && !(await page.state()).pins.includes(id)) await page.run(`orma.app.pin(${id})`);
	await page.idle();
	const sizes = await page.run(
		"(({ clientHeight, scrollHeight }, whole) => ({ clientHeight, scrollHeight, whole }))(document.querySelector('#pinned'), orma.line.element.clientHeight)",
	);
	assert.ok(sizes.scrollHeight > sizes.clientHeight, JSON.stringify(sizes));
	assert.ok(sizes.clientHeight <= 0.4 * sizes.whole && sizes.clientHeight > 0.38 * sizes.whole, JSON.stringify(sizes));
	for (const id of (await page.state()).pins) await page.run(`orma.app.pin(${id})`);
	await page.run(turnFolds);
	await page.idle();
});

test("in the search, Enter goes to the next hit and Shift+Enter back", { skip }, async () => {
	await show(0, END);
	await page.press("Slash", "/");
	await page.type("write");
	await page.until("orma.app.hits !== null");
	await page.idle();
	const name = trace.names.indexOf("write");
	const hits = trace.slices.filter((slice) => slice.name === name).sort((a, b) => a.start - b.start);
	const chosen = async (modifiers) => {
		await page.press("Enter", "Enter", modifiers);
		await page.idle();
		return (await page.state()).selection.id;
	};
	assert.equal(await chosen(0), hits[0].id);
	assert.equal(await chosen(0), hits[1].id);
	assert.equal(await chosen(0), hits[2].id);
	assert.equal(await chosen(SHIFT), hits[1].id);
	assert.equal(await chosen(SHIFT), hits[0].id);
	for (let i = 0; i < 3; i++) await page.press("Escape", "Escape");
	await page.idle();
});

test("Backspace shows what was shown before", { skip }, async () => {
	await show(1e8, 2e8);
	await show(5e8, 6e8);
	await page.press("Backspace", "Backspace");
	await page.until("Math.round(orma.app.camera.start) === 1e8");
	await page.idle();
	const { start, end } = await page.state();
	assert.deepEqual([Math.round(start), Math.round(end)], [1e8, 2e8]);
});

test("T changes the clock of the ruler and of details, and comes back to the first one", { skip }, async () => {
	await show(0, END);
	const slice = trace.slices.find(({ depth, start, end }) => depth === 0 && start > 1e6 && end - start > 1e7);
	await show(slice.start - 1e6, slice.end + 1e6);
	const box = (await page.boxes()).find(({ table, id }) => table === "slice" && id === slice.id);
	await page.click(box.x + 20, box.y + 8);
	await page.idle();
	const startOf = () =>
		page.run(
			"[...document.querySelectorAll('#panel dt')].find((term) => term.innerText === 'Start').nextElementSibling.innerText",
		);
	const seen = [];
	for (let i = 0; i < 4; i++) {
		seen.push([(await page.state()).clock, await startOf()]);
		await page.press("KeyT", "t");
		await page.idle();
	}
	const clocks = seen.map(([clock]) => clock);
	const again = clocks.indexOf(clocks[0], 1);
	assert.ok(again >= 2, clocks.join());
	assert.equal(seen[again][1], seen[0][1]);
	assert.equal(new Set(seen.slice(0, again).map(([, text]) => text)).size, again, JSON.stringify(seen));
	const ns = seen.find(([, text]) => text.replace(/\D/g, "") === String(slice.start));
	assert.ok(ns, JSON.stringify(seen));
});

test("nothing was complained about", { skip }, async () => assert.deepEqual(page.errors, []));
