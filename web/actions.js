// actions.js - what the keys and buttons of the page do.
import { COLOUR_STATES, STATE } from "./colour.js";
import { announce, byId } from "./dom.js";
import { durationText } from "./time.js";
import { goToEnd } from "./live.js";

const MOST_TRACKS_TRIED = 100;

/** The time in the middle of the screen. @param {App} app */
export function centreOf(app) {
	return (app.camera.target.start + app.camera.target.end) / 2;
}

/** Parts of the page that actions open; main.js fills them in. */
export const openers = {
	/** @type {() => void} */ help: () => {},
	/** @type {() => void} */ sql: () => {},
	/** @type {() => void} */ drawer: () => {},
};

/** @type {Record<string, (app: App, line: Timeline) => unknown>} */
const ACTIONS = {
	fit: fitSelection,
	all: (app) => app.camera.go(0, app.meta.end),
	live: goToEnd,
	back: () => history.back(),
	next: (app, line) => step(app, line, 1),
	previous: (app, line) => step(app, line, -1),
	parent: (app, line) => climb(app, line, -1),
	child: (app, line) => climb(app, line, 1),
	"flow-out": (app, line) => follow(app, line, true),
	"flow-in": (app, line) => follow(app, line, false),
	"choose-out": (app) => chooseFlow(app, true),
	"choose-in": (app) => chooseFlow(app, false),
	area: areaOfSelection,
	"select-all": selectAll,
	clear,
	mark: (app, line) => mark(app, line, false),
	keep: (app, line) => mark(app, line, true),
	forget,
	pin,
	search: () => byId("search").focus(),
	filter: () => byId("filter").focus(),
	sql: () => openers.sql(),
	drawer: () => openers.drawer(),
	help: () => openers.help(),
	clock: (app) => {
		app.clock.next();
		app.emit("clock");
	},
};

/** @param {App} app @param {Timeline} line @param {string} action */
export function act(app, line, action) {
	ACTIONS[action]?.(app, line);
	line.redraw();
}

/** Shows what is selected; if it is on screen already, zooms to it. @param {App} app @param {Timeline} line */
function fitSelection(app, line) {
	const chosen = app.area ?? app.selection;
	if (!chosen) return;
	if (!app.area && app.selection) line.scrollTo(app.selection.lane);
	const { start, end } = app.camera.target;
	const first = (chosen.start + chosen.end - end + start) / 2;
	app.camera.go(first, first + end - start);
	// At an end of the trace, what is shown cannot be in the middle.
	const isThere = Math.abs(app.camera.target.start - start) < (end - start) / 100;
	if (isThere || app.area) app.camera.fit(chosen.start, chosen.end);
}

/** Selects the first slice on screen. @param {App} app @param {Timeline} line */
function selectFirst(app, line) {
	for (const pane of line.panes) {
		const { boxes, element } = pane;
		const top = element.scrollTop;
		// They are in the order of the rows.
		for (let i = 0; i < boxes.length; i++) {
			const isShown = boxes.y[i] >= top && boxes.y[i] < top + element.clientHeight && boxes.x[i] + boxes.w[i] > 0;
			if (isShown && boxes.colour[i] !== COLOUR_STATES + STATE.idle) return app.select(pane.selectionOf(i));
		}
	}
}

/** Selects what is nearest in time on the next track, or on the one before. @param {App} app @param {Timeline} line @param {Chosen} from @param {1 | -1} dir */
async function changeTrack(app, line, from, dir) {
	const lanes = app.model.rows
		.flatMap(({ strip, body }) => [strip?.lane ?? null, body?.lane ?? null])
		.filter((lane) => lane !== null);
	let at = lanes.indexOf(from.lane) + dir;
	for (let tries = 0; at >= 0 && at < lanes.length && tries < MOST_TRACKS_TRIED; at += dir, tries++) {
		const found = await app.tryAsk("neighbour", { lane: lanes[at], depth: 0, time: from.start, dir: 0 });
		if (found) return choose(app, line, found, lanes[at], 0);
	}
	announce("This is the last track");
}

/** Selects a neighbour of the selected slice. @param {App} app @param {Timeline} line @param {1 | -1} dir */
async function step(app, line, dir) {
	const from = app.selection;
	if (!from) return selectFirst(app, line);
	const { lane, depth, start: time } = from;
	const found = await app.tryAsk("neighbour", { lane, depth, time, dir });
	if (!found) return announce(dir > 0 ? "This is the last one" : "This is the first one");
	await choose(app, line, found, lane, depth);
}

/** Selects the slice around the selected one, or the first one in it; beyond them, one of the next track. @param {App} app @param {Timeline} line @param {1 | -1} down */
async function climb(app, line, down) {
	const from = app.selection;
	if (!from) return selectFirst(app, line);
	const depth = from.depth + down;
	if (depth < 0 || from.table !== "slice") return changeTrack(app, line, from, down);
	// Below, the first one that begins in the slice; above, the last one that began before it.
	const question = { lane: from.lane, depth, time: down > 0 ? from.start - 1 : from.start + 1, dir: down };
	const found = await app.tryAsk("neighbour", question);
	if (!found || (down > 0 && found.start >= from.end)) return changeTrack(app, line, from, down);
	await choose(app, line, found, from.lane, depth);
}

/** @param {App} app @param {Timeline} line @param {EventRef & { start: number, end: number, name?: string }} found @param {number} lane @param {number} depth */
async function choose(app, line, found, lane, depth) {
	app.camera.show(found.start, found.end);
	app.select({ ...found, lane, depth, name: found.name ?? "" });
	line.scrollTo(lane);
}

/** The flows out of the selected slice, or into it. @param {App} app @param {boolean} out */
function flowsAt(app, out) {
	const isOwn = (/** @type {FlowEnd} */ end) => end.id === app.selection?.id;
	const flows = app.flows.filter(({ from, to }) => (out ? isOwn(from) && !isOwn(to) : isOwn(to) && !isOwn(from)));
	if (app.selection && flows.length === 0) announce(`No flow ${out ? "leaves" : "reaches"} this slice`);
	return flows;
}

/** Chooses the next flow, which is drawn before the others and is the one that is followed. @param {App} app @param {boolean} out */
function chooseFlow(app, out) {
	const flows = flowsAt(app, out);
	if (flows.length === 0) return;
	const at = (flows.indexOf(app.flow ?? flows[0]) + 1) % flows.length;
	app.flow = flows[at];
	announce(`Flow ${at + 1} of ${flows.length}: ${app.flow[out ? "to" : "from"].name ?? ""}`);
}

/** @param {App} app @param {Timeline} line @param {boolean} out */
function follow(app, line, out) {
	const flows = flowsAt(app, out);
	const flow = flows.find((one) => one === app.flow) ?? flows[0];
	if (!flow) return;
	const end = flow[out ? "to" : "from"];
	app.reveal({ ...end, table: "slice", name: end.name ?? "" });
	line.scrollTo(end.lane);
}

/** @param {App} app */
function areaOfSelection(app) {
	const { selection } = app;
	if (!selection) return;
	const node = app.model.byLane.get(selection.lane);
	app.setArea({ start: selection.start, end: selection.end, nodes: node ? [node.id] : [] });
}

/** @param {App} app */
function selectAll(app) {
	const { start, end } = app.camera.target;
	const from = Math.max(0, start);
	const to = Math.min(app.meta.end, end);
	const isScreen = app.area && app.area.start === from && app.area.end === to;
	app.setArea(isScreen ? { start: 0, end: app.meta.end, nodes: [] } : { start: from, end: to, nodes: [] });
}

/** @param {App} app */
function clear(app) {
	if (app.area) app.setArea(null);
	else app.select(null);
	app.notes = app.notes.filter(({ kept }) => kept);
	app.emit("notes");
}

/** @param {App} app @param {Timeline} line @param {boolean} kept */
function mark(app, line, kept) {
	const chosen = app.area ?? app.selection;
	const time = chosen?.start ?? (line.hover.x >= 0 ? line.scale.time(line.hover.x) : centreOf(app));
	const text = kept
		? (app.selection?.name ?? `note ${app.notes.length + 1}`)
		: chosen
			? durationText(chosen.end - chosen.start)
			: "";
	app.addNote({ time, text, colour: app.notes.length % 24, kept });
	announce(kept ? `Note at ${app.clock.text(time)}` : `Mark at ${app.clock.text(time)}`);
}

/** @param {App} app */
function forget(app) {
	const time = app.selection?.start ?? app.area?.start ?? centreOf(app);
	const nearest = [...app.notes].sort((a, b) => Math.abs(a.time - time) - Math.abs(b.time - time))[0];
	if (nearest) app.removeNote(nearest);
}

/** @param {App} app @param {Timeline} line */
function pin(app, line) {
	const lane = app.selection?.lane;
	const row =
		line.hover.y >= 0 ? line.hit(line.hover.x, line.hover.y).row : lane === undefined ? null : app.model.rowOfLane(lane);
	if (!row) return;
	app.model.pin(row.node.id);
	app.emit("rows", "view");
}
