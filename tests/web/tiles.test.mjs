// The store of tiles: what it asks for, what it draws while something is missing, what it forgets.
import assert from "node:assert/strict";
import { test } from "node:test";
import { TileStore, tileSpan } from "../../web/tiles.js";
import { tileWith } from "./fixtures.mjs";

const settled = () => new Promise((resolve) => setTimeout(resolve, 0));

/** A source that answers when it is told to. */
function slowSource() {
	const requests = [];
	const boxes = (kind, level, pairs, signal) =>
		new Promise((resolve, reject) => {
			const answer = () => resolve(pairs.map(() => tileWith([])));
			requests.push({ kind, level, pairs, signal, answer, fail: () => reject(new Error("no")) });
			signal.addEventListener("abort", () => reject(new Error("aborted")));
		});
	return { boxes, requests };
}

function storeOf({ end = tileSpan(20) - 1, memory, ready = async () => {} } = {}) {
	const source = slowSource();
	return { source, store: new TileStore(source, end, ready, () => {}, memory) };
}

test("what a frame lacks is asked for once, then what lies beside it", async () => {
	const { store, source } = storeOf();
	const span = tileSpan(4);
	const draw = () => {
		const pieces = store.cover("tiles", 3, { level: 4, start: 2 * span, end: 4 * span - 1 });
		store.endFrame();
		return pieces;
	};
	assert.deepEqual(draw(), []);
	draw();
	assert.deepEqual(
		source.requests.map(({ pairs }) => pairs.map(({ tile }) => tile)),
		[[2, 3]],
	);
	source.requests[0].answer();
	await settled();
	assert.deepEqual(
		draw().map(({ from, to }) => [from / span, to / span]),
		[
			[2, 3],
			[3, 4],
		],
	);
	assert.deepEqual(
		source.requests[1].pairs.map(({ tile }) => tile),
		[1, 4],
	);
	source.requests[1].answer();
	await settled();
	draw();
	assert.equal(source.requests.length, 2);
	assert.ok(store.idle);
});

test("there are no tiles outside the trace", () => {
	const { store, source } = storeOf({ end: tileSpan(4) * 2 });
	store.cover("tiles", 3, { level: 4, start: -5 * tileSpan(4), end: 50 * tileSpan(4) });
	store.endFrame();
	assert.deepEqual(
		source.requests[0].pairs.map(({ tile }) => tile),
		[0, 1, 2],
	);
});

test("a coarser tile stands for missing ones, and is drawn once", () => {
	const { store } = storeOf();
	const coarse = tileWith([]);
	store.put("tiles:3:6:0", coarse);
	const span = tileSpan(4);
	const pieces = store.cover("tiles", 3, { level: 4, start: 0, end: 4 * span - 1 });
	assert.deepEqual(pieces, [{ tile: coarse, from: 0, to: 4 * span }]);
});

test("two finer tiles stand for a missing one before coarser ones do", () => {
	const { store } = storeOf();
	const halves = [tileWith([]), tileWith([])];
	store.put("tiles:3:5:0", tileWith([]));
	store.put("tiles:3:3:2", halves[0]);
	store.put("tiles:3:3:3", halves[1]);
	const pieces = store.cover("tiles", 3, { level: 4, start: tileSpan(4), end: 2 * tileSpan(4) - 1 });
	assert.deepEqual(
		pieces.map(({ tile }) => tile),
		halves,
	);
});

test("a request is given up when nothing of it is wanted any more", async () => {
	const { store, source } = storeOf();
	store.cover("tiles", 3, { level: 4, start: 0, end: 1 });
	store.endFrame();
	store.cover("tiles", 3, { level: 9, start: 0, end: 1 });
	store.endFrame();
	assert.equal(source.requests[0].signal.aborted, true);
	assert.equal(source.requests.length, 2);
	await settled();
	source.requests[1].answer();
	await settled();
	assert.ok(store.idle && store.get("tiles", 3, 9, 0));
});

test("a tile that failed is not asked for again at once", async () => {
	const { store, source } = storeOf();
	store.cover("tiles", 3, { level: 20, start: 0, end: 1 });
	store.endFrame();
	source.requests[0].fail();
	await settled();
	store.cover("tiles", 3, { level: 20, start: 0, end: 1 });
	store.endFrame();
	assert.equal(source.requests.length, 1);
});

test("the tiles that were not used for longest are forgotten first", () => {
	const { store } = storeOf({ memory: 2000 });
	for (let i = 0; i < 9; i++) store.put(`tiles:1:4:${i}`, tileWith([]));
	store.get("tiles", 1, 4, 0);
	for (let i = 9; i < 12; i++) store.put(`tiles:1:4:${i}`, tileWith([]));
	assert.ok(store.bytes <= 2000);
	assert.ok(store.get("tiles", 1, 4, 0) && store.get("tiles", 1, 4, 11));
	assert.equal(store.get("tiles", 1, 4, 1), undefined);
});
