// Tests of the modules that draw boxes, counters and flame graphs, and of keys, links, sorted tables and the camera.
import assert from "node:assert/strict";
import { test } from "node:test";
import { BoxList, MOST_BOXES_DRAWN } from "../../web/boxes.js";
import { Camera } from "../../web/camera.js";
import { LOOK_DIM, LOOK_MERGED } from "../../web/colour.js";
import { Ranges, counterLabel, drawCounter, heightOfValue, pointsOf, shownPoints, valueAt } from "../../web/draw_counter.js";
import { drawOrder } from "../../web/draw_slices.js";
import { colourOfChange, flameBoxes, flameTree } from "../../web/flame.js";
import { KEYMAP, actionOf } from "../../web/actions.js";
import { followLink, linkTo } from "../../web/links.js";
import { Model } from "../../web/model.js";
import { compareCells, tsvOf } from "../../web/table.js";
import { Scale } from "../../web/time.js";
import { nodeOf, pointsWith, tileWith } from "./fixtures.mjs";

const box = (start, end, more = {}) => ({ start, end, name: 1, row: start, count: 1, depth: 0, flags: 0, ...more });
const painter = (name) => ({ colour: name % 24, lit: name !== 9 });
const place = { lane: 3, y: 100, rowHeight: 18, boxHeight: 17, depths: 8, kind: 0, painter };
const spanOf = ({ start, end }) => end - start;
const piece = (boxes, from, to) => ({ tile: tileWith(boxes), from, to });

function drawn(pieces, scale = new Scale(0, 1000, 1000)) {
	const boxes = new BoxList();
	boxes.begin();
	boxes.add(pieces, place, scale, 1);
	return boxes;
}
const column = (boxes, name) => [...boxes[name].slice(0, boxes.length)];

test("a box that reaches over tiles is drawn once, with its true length", () => {
	const long = box(100, 900, { row: 7 });
	const boxes = drawn([piece([long], 0, 512), piece([long, box(950, 960)], 512, 1024)]);
	assert.deepEqual(column(boxes, "id"), [7, 950]);
	assert.deepEqual(column(boxes, "w"), [800, 10]);
});

test("a box that comes from the left of the screen is drawn although its own tile is not", () => {
	const boxes = drawn([piece([box(100, 900)], 512, 1024)], new Scale(600, 1600, 1000));
	assert.equal(boxes.length, 1);
	assert.equal(boxes.start[0], 100);
	assert.ok(boxes.x[0] < 0 && boxes.x[0] > -20);
});

test("boxes lie in the row of their depth, and those too deep for the row are left out", () => {
	const boxes = drawn([piece([box(0, 10), box(0, 10, { depth: 2 }), box(0, 10, { depth: 8 })], 0, 1024)]);
	assert.deepEqual(column(boxes, "y"), [100, 136]);
});

test("short boxes are a pixel wide, and hit beside it", () => {
	const boxes = drawn([piece([box(50, 50.1), box(300, 400)], 0, 1024)]);
	assert.equal(boxes.w[0], 1);
	assert.equal(boxes.at(52, 105), 0);
	assert.equal(boxes.at(56, 105), -1);
	assert.equal(boxes.at(399, 116), 1);
	assert.equal(boxes.at(399, 118), -1);
});

test("too many boxes are joined, and none is lost", () => {
	const many = Array.from({ length: 20000 }, (_, i) => box(i, i + 0.5));
	const pieces = [piece(many, 0, 20000)];
	const boxes = new BoxList();
	const scale = new Scale(0, 20000, 20000);
	do {
		boxes.begin();
		boxes.add(pieces, place, scale, 1);
	} while (boxes.isTooFull);
	assert.ok(boxes.length <= MOST_BOXES_DRAWN, String(boxes.length));
	assert.equal(
		column(boxes, "count").reduce((a, b) => a + b, 0),
		20000,
	);
	assert.equal(boxes.look[0], LOOK_MERGED);
});

test("a screen of short boxes with gaps between them has no more than are drawn", () => {
	const scale = new Scale(0, 1680, 1680);
	const sparse = [
		piece(
			Array.from({ length: 336 }, (_, i) => box(i * 5, i * 5 + 1)),
			0,
			1680,
		),
	];
	const boxes = new BoxList();
	do {
		boxes.begin();
		for (let lane = 0; lane < 73; lane++) boxes.add(sparse, { ...place, lane }, scale, 1);
	} while (boxes.isTooFull);
	assert.ok(boxes.length <= MOST_BOXES_DRAWN, String(boxes.length));
	assert.equal(
		column(boxes, "count").reduce((a, b) => a + b, 0),
		336 * 73,
	);
});

test("boxes are drawn by look and colour", () => {
	const boxes = drawn([
		piece([box(0, 5, { name: 9 }), box(10, 15, { name: 2 }), box(20, 25, { flags: 1 }), box(30, 35, { name: 2 })], 0, 1024),
	]);
	assert.equal(boxes.look[0], LOOK_DIM);
	assert.deepEqual([...drawOrder(boxes)], [1, 3, 2, 0]);
});

test("a counter holds its value until the next one, over the edges of tiles", () => {
	const raw = (...points) => pointsWith(points.map(([time, value]) => [time, value - 1, value + 1, value, value]));
	const pieces = [
		{ tile: raw([0, 5], [400, 6]), from: 0, to: 512 },
		{ tile: raw([400, 6], [600, 7]), from: 512, to: 1024 },
	];
	assert.deepEqual(
		pointsOf(pieces).map(({ time, last }) => [time, last]),
		[
			[0, 5],
			[400, 6],
			[600, 7],
		],
	);
	assert.equal(valueAt(pieces, 599, "value", 1024).last, 6);
	assert.equal(valueAt(pieces, -1, "value", 1024), null);
	const ranges = new Ranges();
	ranges.learn(1, pieces[0].tile);
	assert.deepEqual(ranges.of([1]), { low: 0, high: 7 });
	const narrow = new Ranges();
	narrow.learn(1, raw([0, 1000]));
	assert.ok(narrow.of([1]).low > 900);
});

test("a counter is shown as change, as rate, and on a logarithmic scale", () => {
	const at = (time, last) => ({ time, min: last - 1, max: last + 1, first: last, last });
	const points = [at(0, 5), at(1e9, 9), at(3e9, 1)];
	const lasts = (mode) => shownPoints(points, mode, 4e9).map(({ last }) => last);
	assert.deepEqual(lasts("value"), [5, 9, 1]);
	assert.deepEqual(lasts("change"), [4, -8, 0]);
	assert.deepEqual(lasts("rate"), [4, -4, 0]);
	assert.deepEqual(shownPoints(points, "rate", 4e9)[0], { time: 0, min: 4, max: 4, first: 4, last: 4 });
	assert.deepEqual(shownPoints([at(7, 1), at(7, 3)], "rate", 7)[1].last, 0);
	assert.equal(counterLabel(4, "requests", "rate"), "4 requests/s");
	const range = { low: 0, high: 1e6 };
	assert.equal(heightOfValue(5e5, range, "value"), 0.5);
	assert.equal(heightOfValue(0, range, "log"), 0);
	assert.equal(heightOfValue(1e6, range, "log"), 1);
	assert.ok(Math.abs(heightOfValue(1e3, range, "log") - 0.5) < 0.001);
	assert.ok(
		heightOfValue(-10, { low: -10, high: 10 }, "log") === 0 && heightOfValue(0, { low: -10, high: 10 }, "log") === 0.5,
	);
});

test("the change and the rate of joined values are the sum and the mean of theirs, at each level", () => {
	const random = (() => {
		let state = 5;
		return (/** @type {number} */ most) => (state = (state * 1103515245 + 12345) % 2 ** 31) % most;
	})();
	const values = [];
	for (let time = 0; time < 1 << 16; time += 1 + random(300)) values.push({ time, value: random(1000) - 400 });
	const end = 1 << 16;
	for (const level of [0, 3, 6, 9, 12]) {
		const points = [];
		for (const { time, value } of values) {
			const point = points.at(-1);
			if (point && point[0] >> level === time >> level) point[4] = value;
			else points.push([time, 0, 0, value, value]);
		}
		// Two tiles, the second of which begins with the last value before it.
		const cut = end / 2;
		const before = values.findLast(({ time }) => time < cut);
		const [left, right] = [points.filter(([time]) => time < cut), points.filter(([time]) => time >= cut)];
		const pieces = [
			{ tile: pointsWith(left), from: 0, to: cut },
			{ tile: pointsWith([[before.time, 0, 0, before.value, before.value], ...right]), from: cut, to: end },
		];
		const shown = pointsOf(pieces);
		const changes = shownPoints(shown, "change", end);
		const rates = shownPoints(shown, "rate", end);
		shown.forEach(({ time }, i) => {
			const to = shown[i + 1]?.time ?? end;
			let [change, weighted] = [0, 0];
			values.forEach((one, k) => {
				const next = values[k + 1] ?? { time: end, value: one.value };
				if (one.time < time || one.time >= to) return;
				const rate = ((next.value - one.value) * 1e9) / (next.time - one.time);
				change += next.value - one.value;
				weighted += rate * (next.time - one.time);
			});
			assert.equal(changes[i].last, change);
			assert.ok(Math.abs(rates[i].last - weighted / (to - time)) < 1e-6 * Math.abs(rates[i].last) + 1e-6);
		});
	}
});

test("changes of a counter are drawn up and down from zero", () => {
	const tile = pointsWith([
		[0, 10, 10, 10, 10],
		[500, 30, 30, 30, 30],
		[750, 20, 20, 20, 20],
	]);
	const rects = [];
	const context = {
		fillRect: (...rect) => rects.push([context.fillStyle, ...rect]),
		measureText: () => ({ width: 9 }),
		fillText() {},
	};
	const row = { y: 0, height: 36, mode: "change", body: { unit: "" } };
	const colours = { fill: "fill", edge: "edge", band: "band" };
	const pieces = [{ tile, from: 0, to: 1024 }];
	drawCounter(
		context,
		pieces,
		row,
		new Scale(0, 1000, 1000),
		{ low: 0, high: 99 },
		colours,
		{ background: "", muted: "" },
		1000,
	);
	// 20 up, 10 down, then nothing: zero is at a third of 30 pixels above the lower end.
	assert.deepEqual(
		rects.filter(([fill]) => fill === "fill"),
		[
			["fill", 0, 4, 500, 20],
			["fill", 500, 24, 250, 10],
			["fill", 750, 24, 250, 1],
		],
	);
});

test("a flame graph is as wide as its focus, and children are inside their parents", () => {
	const root = flameTree([
		[0, -1, "main", 10, 100, 1],
		[1, 0, "a", 60, 60, 2],
		[2, 0, "b", 30, 30, 3],
		[3, -1, "other", 50, 50, 1],
	]);
	assert.equal(root.total, 150);
	const boxes = flameBoxes(root, 300);
	assert.deepEqual(
		boxes.map(({ node, x, w }) => [node.name, x, w]).sort(([, a, v], [, b, w]) => a - b || w - v),
		[
			["all", 0, 300],
			["main", 0, 200],
			["a", 0, 120],
			["b", 120, 60],
			["other", 200, 100],
		],
	);
	const deep = flameTree(Array.from({ length: 60000 }, (_, i) => [i, i - 1, "again", 0, 100, 1]));
	assert.equal(flameBoxes(deep, 300).length, 60001);
	const zoomed = flameBoxes(root.children[0].children[0], 300);
	assert.deepEqual(
		zoomed.map(({ node, w }) => [node.name, w]),
		[
			["main", 300],
			["all", 300],
			["a", 300],
		],
	);
});

test("keys are places for letters, characters for signs", () => {
	const key = (code, name, more = {}) =>
		actionOf({ code, key: name, ctrlKey: false, metaKey: false, shiftKey: false, altKey: false, ...more });
	const textOf = (action) =>
		Object.values(KEYMAP)
			.flat()
			.find((row) => row[2] === action)?.[1];
	assert.match(textOf(key("KeyW", "z")), /^Zoom in/);
	assert.match(textOf(key("KeyA", "q")), /^Move left/);
	assert.match(textOf(key("KeyA", "a", { ctrlKey: true })), /^Select all/);
	assert.match(textOf(key("KeyM", "M", { shiftKey: true })), /keep the note/);
	assert.match(textOf(key("Digit7", "/", { shiftKey: true })), /Search/);
	assert.match(textOf(key("Slash", "?", { shiftKey: true })), /This list/);
	assert.match(textOf(key("Period", ">", { shiftKey: true })), /This list/);
	assert.match(textOf(key("KeyP", "P", { ctrlKey: true, shiftKey: true })), /This list/);
	assert.match(textOf(key("KeyP", "p", { ctrlKey: true })), /Filter/);
	assert.match(textOf(key("ArrowUp", "ArrowUp")), /above/);
	assert.match(textOf(key("Escape", "Escape")), /nothing/);
	assert.match(textOf(key("Digit0", "0")), /whole/);
	assert.equal(key("KeyW", "w", { altKey: true }), undefined);
	assert.equal(key("KeyW", "W", { shiftKey: true }), undefined);
	const labels = Object.values(KEYMAP).flatMap((rows) => rows.map(([label]) => label));
	assert.equal(new Set(labels).size, labels.length);
});

/** What links read and write of a page, with a process that has a thread, two counters of one name, and a folded group. */
function pageWith(more = [], start_ns = "100") {
	const events = [{ table: "slice", id: 7, start: 40, end: 60, lane: 1, depth: 2, name: "work" }];
	const app = {
		model: new Model({
			nodes: [
				...more,
				...[
					["process", "server 7", -1, null],
					["slices", "main 7", 0, 1],
					["counter", "load", 0, 2],
					["counter", "load", 0, 3],
					["group", "Kernel", -1, null],
				].map(([kind, name, parent, lane], i) => {
					const id = more.length + i;
					return nodeOf(id, parent < 0 ? -1 : more.length + parent, kind, name, { lane, open: kind !== "group" });
				}),
			],
		}),
		meta: { end: 1000, start_ns, live: true },
		clock: { mode: "start" },
		camera: new Camera(1000, () => true),
		notes: [],
		selection: null,
		area: null,
		asked: [],
		emit: () => {},
		colourBy: (colouring) => (app.colouring = colouring),
		select: (selection) => Object.assign(app, { selection, area: null }),
		setArea: (area) => Object.assign(app, { area, selection: null }),
		reveal: (event) => app.select(event),
		revealId: async (table, id) => app.select({ table, id, lane: 1, depth: 2, start: 40 }),
		eventAt: async (lane, depth, start) =>
			events.find((event) => event.lane === lane && event.depth === depth && event.start === start) ?? null,
		showSql: async (sql, kind) => void app.model.pin(app.model.addNode({ kind, name: "", lane: 99, table: "query", sql })),
	};
	globalThis.requestAnimationFrame = (run) => run();
	const line = { tracks: { element: { scrollTop: 0 } }, scrollTo: () => {} };
	return { app, line, link: () => linkTo(app, line).slice(1), follow: (link) => followLink(app, line, link) };
}

test("a link says what is shown, also in a trace whose numbers are others and that begins later", async () => {
	const one = pageWith();
	const { app, line } = one;
	await one.follow("");
	app.model.pin(3);
	await app.showSql("select 1 -- or\n2-3", "slices");
	app.model.fold(4);
	app.model.fold(0);
	app.model.setFilter("/l&?o|ma in|ver/");
	app.model.modes.set(2, "rate");
	app.model.move(3, 1, false);
	app.camera.go(5, 900);
	app.select({ table: "slice", id: 7, lane: 1, depth: 2, start: 40 });
	app.notes = [
		{ time: 12, text: "x=1-2", colour: 0, kept: true },
		{ time: 13, text: "", kept: false },
	];
	Object.assign(app, { colouring: ".n-1", clock: { mode: "ns" } });
	line.tracks.element.scrollTop = 30;
	const link = one.link();

	const other = pageWith([nodeOf(0, -1, "process", "earlier 3", { open: true })], "90");
	await other.follow(link);
	const { model } = other.app;
	assert.deepEqual(
		model.pins.map((id) => [id, model.nodes[id].sql]),
		[
			[4, undefined],
			[6, "select 1 -- or\n2-3"],
		],
	);
	assert.deepEqual(model.folds, [1, 5]);
	assert.deepEqual([model.filter, other.app.colouring, other.app.clock.mode], ["/l&?o|ma in|ver/", ".n-1", "ns"]);
	assert.deepEqual([...model.modes], [[3, "rate"]]);
	assert.deepEqual(model.order, [[4, -1]]);
	assert.deepEqual(
		other.app.notes.map(({ time, text }) => [time, text]),
		[[22, "x=1-2"]],
	);
	assert.deepEqual(other.app.camera.target, { start: 15, end: 910 });
	assert.equal(other.app.selection, null, "nothing begins there 10 ns later");

	// Back in the same trace, all of it is as it was.
	const same = pageWith();
	await same.follow(link);
	assert.equal(same.app.selection.id, 7);
	assert.equal(same.line.tracks.element.scrollTop, 30);
	assert.equal(same.link(), link);
	await same.follow("s=slice.9");
	assert.equal(same.app.selection.id, 9);
	assert.deepEqual([same.app.model.pins, same.app.model.folds, same.app.clock.mode], [[], [], "start"]);
});

test("an area in a link has its tracks, and nonsense is ignored", async () => {
	const { app, link, follow } = pageWith();
	app.setArea({ start: 1, end: 9, nodes: [2, 3] });
	const area = link();
	await follow("t=9-5&s=slice&a=x-1&p=a-b&g=c&n=zz&v=rate&o=7&q=table-select&y=1&b=x");
	assert.equal(app.area, null);
	assert.deepEqual([app.notes, app.model.pins, app.model.folds, app.model.nodes.length], [[], [], [], 5]);
	assert.deepEqual(app.camera.target, { start: 0, end: 1000 });
	await follow(area);
	assert.deepEqual(app.area, { start: 1, end: 9, nodes: [2, 3] });
});

test("tables sort numbers before texts, and what is missing last", () => {
	assert.deepEqual(["b", null, 10, 9, "a"].sort(compareCells), [9, 10, "a", "b", null]);
	assert.equal(
		tsvOf(
			["a", "b"],
			[
				[1, "x\ty\nz"],
				[null, ""],
			],
		),
		"a\tb\n1\tx y z\n\t",
	);
});

test("zooming leaves the time under the mouse where it is, while it moves and when it arrives", () => {
	const camera = new Camera(1e9, () => false);
	const x = (time) => (time - camera.start) / (camera.end - camera.start);
	camera.zoom(0.25, 3e8);
	for (let now = 0; camera.moving; now += 16) {
		camera.step(now);
		assert.ok(Math.abs(x(3e8) - 0.3) < 1e-9);
	}
	assert.equal(Math.round(spanOf(camera)), 2.5e8);
});

test("the camera stays at the trace, and arrives at once if movement is not wanted", () => {
	const camera = new Camera(1e6, () => true);
	camera.go(-1e9, -9e8);
	assert.ok(camera.start >= -1e6 && camera.end <= 2e6 && !camera.moving);
	camera.zoom(1e-12, 500);
	assert.ok(spanOf(camera) >= 20);
	camera.zoom(1e12, 500);
	assert.ok(spanOf(camera) <= 1.2e6);
});

test("what two profiles have of a function is its colour: equal is grey, more and less are different", () => {
	const channels = (hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
	assert.equal(colourOfChange(0, 0), colourOfChange(7, 7));
	const [moreRed, , moreBlue] = channels(colourOfChange(0, 5));
	const [lessRed, , lessBlue] = channels(colourOfChange(5, 0));
	assert.ok(moreRed > moreBlue && lessBlue > lessRed);
	assert.notEqual(colourOfChange(1, 2), colourOfChange(0, 5));
	const root = flameTree([[0, -1, "main", 0, 2, 10, 4, 6]]);
	assert.deepEqual(root.children[0].sides, [4, 6]);
});
