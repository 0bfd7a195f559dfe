// live.js - follows a trace while it is recorded. The server tells when it has loaded the trace again; then a second App gets
// the new tracks, and the tiles for what is on screen, while the page still shows the old ones. When they are there, the App
// of the page takes over all of it, and the picture changes at once.
//
// A page whose right edge shows the end of the trace follows the end. One that was moved to an earlier time stays there.
import { goToEnd } from "./actions.js";
import { App } from "./app.js";
import { announce, byId, sleep } from "./dom.js";
import { durationText } from "./time.js";

const RETRY_NEWS_MS = 500;
const MOST_FAILURES = 6;
/** How long the old picture may stay for tiles of the new one. */
const PATIENCE_MS = 200;
/** How often the map of the whole trace is drawn anew. */
const MAP_MS = 1000;
/** How much of the trace's end may be beyond the screen while the page follows it. */
const NEAR_END = 0.02;

/** @param {App} app @param {Timeline} line @param {Queries} queries */
export function attachLive(app, line, queries) {
	const button = byId("live-button");
	const state = { ended: false, cut: false, lost: false, mapAt: 0 };
	button.hidden = false;
	const show = () => {
		const word = state.lost ? "Connection lost" : state.ended ? "Ended" : isFollowing(app) ? "● Live" : "Go live";
		if (button.textContent !== word) button.textContent = word;
		button.classList.toggle("is-live", word === "● Live");
		button.title = state.cut ? `The last ${durationText(app.meta.end)} are kept` : "Follow what is recorded (End)";
	};
	button.onclick = () => line.act(goToEnd);
	app.on("view", show);
	show();
	watch(app, line, queries, state, show);
}

/** @param {App} app */
function isFollowing(app) {
	const { start, end } = app.camera.target;
	return end >= app.meta.end - NEAR_END * (end - start);
}

/** @param {App} app @param {Timeline} line @param {Queries} queries @param {{ ended: boolean, cut: boolean, lost: boolean, mapAt: number }} state @param {() => void} show */
async function watch(app, line, queries, state, show) {
	let failures = 0;
	while (!state.ended && failures < MOST_FAILURES) {
		try {
			const { source, meta } = app;
			const news = await source.ask("news", { generation: meta.generation });
			state.cut = news.cut;
			if (news.generation !== meta.generation) await renew(app, line, queries, state);
			else if (news.ended) state.ended = true;
			failures = 0;
		} catch {
			failures++;
			await sleep(RETRY_NEWS_MS);
		}
		show();
	}
	state.lost = !state.ended;
	show();
	announce(state.lost ? "The connection is lost" : "The recording has ended");
}

/** @param {App} app @param {Timeline} line @param {Queries} queries @param {{ mapAt: number }} state */
async function renew(app, line, queries, state) {
	/** @type {Meta} */
	const meta = await app.source.at().ask("meta");
	// Rows and lanes have other numbers in each state of the trace, so that all questions are about one.
	const source = app.source.at(meta.generation);
	const next = new App(source, meta, await source.ask("tracks"));
	queries.moveTo(next);
	/** @type {IdsAfter} */
	const idsOf = (ids) => next.model.idsOf(ids.map((id) => app.model.keys[id] ?? ""));
	inherit(app, next, idsOf);
	const shift = Number(BigInt(meta.start_ns) - BigInt(app.meta.start_ns));
	const range = rangeAfter(app, meta.end, shift);
	await prefetch(next, line, range);
	next.on("view", () => app.emit("view"));
	const isSame = String(app.model.keys) === String(next.model.keys);
	moveMarks(app, next, idsOf, shift);
	app.adopt(next);
	app.camera.traceEnd = Math.max(meta.end, 1);
	Object.assign(app.camera, { start: range.start, end: range.end, target: { ...range } });
	if (!isSame) for (const pane of line.panes) pane.forgetHeaders();
	const now = performance.now();
	if (now - state.mapAt > MAP_MS) {
		state.mapAt = now;
		line.layersWidth = 0;
	}
	app.emit("rows", "notes");
}

/** What the camera shows of the longer trace. It is not moved softly: the picture would lag behind the recording. @param {App} app @param {number} end @param {number} shift */
function rangeAfter(app, end, shift) {
	const { target } = app.camera;
	const isWhole = target.start <= 0 && target.end >= app.meta.end;
	if (isWhole) return { start: 0, end };
	const by = isFollowing(app) ? end - target.end : -shift;
	return { start: target.start + by, end: target.end + by };
}

/** @typedef {(ids: number[]) => number[]} IdsAfter the tracks of the next App that are these ones */

/** Gives the next App what the user has done to the tracks, and what is known of counters. @param {App} app @param {App} next @param {IdsAfter} idsOf */
function inherit(app, next, idsOf) {
	const { model } = next;
	const old = app.model;
	for (const { id, lane } of old.nodes) {
		const [same] = idsOf([id]);
		if (same === undefined) continue;
		model.open[same] = old.open[id];
		const mode = old.modes.get(id);
		if (mode) model.modes.set(same, mode);
		const range = app.ranges.byLane.get(lane ?? -1);
		if (range) next.ranges.byLane.set(model.nodes[same].lane ?? -1, { ...range });
	}
	model.pins = idsOf(old.pins);
	model.filter = old.filter;
	model.order = old.order.map(([id, before]) => [idsOf([id])[0] ?? -1, idsOf([before])[0] ?? -1]);
	next.names.wanted = app.names.wanted;
	next.colourBy(app.colouring);
	next.densities.known = new Map(app.densities.known);
}

/** Moves what is selected and marked to the new times and tracks. @param {App} app @param {App} next @param {IdsAfter} idsOf @param {number} shift */
function moveMarks(app, next, idsOf, shift) {
	for (const chosen of [app.selection, app.measured]) {
		if (!chosen) continue;
		chosen.start -= shift;
		chosen.end -= shift;
		const [same] = idsOf([app.model.byLane.get(chosen.lane)?.id ?? -1]);
		chosen.lane = next.model.nodes[same]?.lane ?? chosen.lane;
	}
	const { area, selection } = app;
	if (area) Object.assign(area, { start: area.start - shift, end: area.end - shift, nodes: idsOf(area.nodes) });
	for (const note of app.notes) note.time -= shift;
	if (selection) findAgain(app, next, selection);
}

/** The row of a selected event has another id than before. @param {App} app @param {App} next @param {Chosen} selection */
async function findAgain(app, next, selection) {
	const { lane, depth, start } = selection;
	const found = await next.eventAt(lane, depth, start);
	if (app.selection === selection && found) Object.assign(selection, { id: found.id, end: found.end });
}

/** Gets the tiles of what is on screen, if they come soon. @param {App} next @param {Timeline} line @param {{ start: number, end: number }} range */
async function prefetch(next, line, range) {
	const until = performance.now() + PATIENCE_MS;
	line.askTiles(next, line.scaleOf(range));
	while (!next.tiles.idle && performance.now() < until) await sleep(4);
}
