// input.js - keys, wheel and mouse over the tracks become changes of the app. A gesture is chosen when the button goes down,
// and owns the mouse until the button goes up.
import { BOX_SLICE } from "./boxes.js";
import { byId, listen, trackPointer } from "./dom.js";
import { HELD_ACTIONS, actionOf, editNote, mark } from "./actions.js";
import { hideTooltip, showTooltip } from "./tooltip.js";

const CLICK_PIXELS = 4;
const SNAP_PIXELS = 15;
const HANDLE_PIXELS = 8;
const WHEEL_ZOOM = 0.0035;
const MOST_WHEEL = 240;
/** A key that is held moves by this share of the screen per second, then faster. */
const PAN_PER_SECOND = 1.1;
const ZOOM_PER_SECOND = 0.12;
const FASTER_AFTER_MS = 400;

/** @typedef {{ x: number, y: number }} Point in the window of the tracks */

/** @param {Timeline} line */
export function listenToInput(line) {
	listenToKeys(line);
	line.element.onwheel = (event) => wheel(line, event);
	byId("minimap").onpointerdown = (event) => dragMap(line, event);
	for (const part of [byId("ruler"), ...line.panes.map(({ canvas }) => canvas)]) {
		listen(part, {
			pointerdown: (event) => pointerDown(line, event),
			pointermove: (event) => hoverAt(line, event),
			pointerleave: () => leave(line),
			dblclick: (event) => doubleClick(line, event),
		});
	}
}

/** @param {Timeline} line @param {{ clientX: number, clientY: number }} event @returns {Point} */
function pointOf(line, event) {
	const box = line.over.canvas.getBoundingClientRect();
	return { x: event.clientX - box.left, y: event.clientY - box.top };
}

/** @param {Timeline} line @param {PointerEvent} event */
function hoverAt(line, event) {
	const point = pointOf(line, event);
	const { pane, box, row } = line.hit(point);
	line.hover = { ...point, pane, box };
	pane.canvas.style.cursor = edgeAt(line, point) ? "ew-resize" : box >= 0 ? "pointer" : "";
	const { kind, count } = pane.boxes;
	const isSlice = box >= 0 && kind[box] === BOX_SLICE && count[box] === 1 && event.buttons === 0;
	line.app.point(isSlice ? pane.selectionOf(box) : null);
	line.redrawOver();
	if (event.buttons === 0) showTooltip(line, event, pane, box, row);
}

/** @param {Timeline} line */
function leave(line) {
	line.hover = { ...line.hover, x: -1, y: -1, box: -1 };
	hideTooltip();
	line.app.point(null);
	line.redrawOver();
}

/** The edge of the selected area that is under the mouse. @param {Timeline} line @param {Point} point @returns {"start" | "end" | undefined} */
function edgeAt(line, { x }) {
	const { area } = line.app;
	const edges = /** @type {const} */ (["start", "end"]);
	return edges.find((edge) => area && Math.abs(line.scale.x(area[edge]) - x) <= CLICK_PIXELS);
}

let isSpaceHeld = false;

/** @param {Timeline} line @param {PointerEvent} event */
function pointerDown(line, event) {
	hideTooltip();
	line.tracks.element.focus({ preventScroll: true });
	if (event.pointerType === "touch" && event.currentTarget !== byId("ruler")) touch(line, event);
	else if (event.button === 1 || (event.button === 0 && isSpaceHeld)) dragView(line, event, true);
	else if (event.button !== 0) return;
	else if (event.shiftKey) dragView(line, event, false);
	else dragRange(line, event);
}

/** Where the fingers are, by their pointers. @type {Map<number, number>} */
const fingers = new Map();

/** One finger moves through the time, two zoom, and a tap selects. The browser scrolls. @param {Timeline} line @param {PointerEvent} event */
function touch(line, event) {
	const { camera } = line.app;
	const begin = pointOf(line, event);
	let isTap = fingers.size === 0;
	fingers.set(event.pointerId, begin.x);
	trackPointer(
		event,
		(now) => {
			const { x, y } = pointOf(line, now);
			const last = fingers.get(now.pointerId) ?? x;
			const other = [...fingers].find(([id]) => id !== now.pointerId)?.[1];
			isTap &&= Math.hypot(x - begin.x, y - begin.y) < CLICK_PIXELS;
			fingers.set(now.pointerId, x);
			if (isTap) return;
			if (other === undefined) camera.pan((last - x) / line.width, false);
			else {
				const gap = Math.max(1, Math.abs(x - other));
				camera.zoom(Math.abs(last - other) / gap, line.scaleOf(camera).time(other), false);
			}
			line.redraw();
		},
		(_, cancelled) => {
			fingers.clear();
			if (isTap && !cancelled) clickAt(line, begin);
		},
	);
}

/** Moves what is on screen. @param {Timeline} line @param {PointerEvent} event @param {boolean} scrolls whether it moves up and down too */
function dragView(line, event, scrolls) {
	const { camera } = line.app;
	const { start, end } = camera;
	const { element } = line.tracks;
	const top = element.scrollTop;
	let moved = 0;
	trackPointer(
		event,
		(now) => {
			const [dx, dy] = [event.clientX - now.clientX, event.clientY - now.clientY];
			moved = Math.max(moved, Math.hypot(dx, dy));
			const by = (dx * (end - start)) / line.width;
			camera.go(start + by, end + by, false);
			if (scrolls) element.scrollTop = top + dy;
			line.redraw();
		},
		(_, cancelled) => {
			// Shift and a click measure the gap to what is selected.
			if (!cancelled && !scrolls && moved < CLICK_PIXELS) measureAt(line, pointOf(line, event));
		},
	);
}

/** @param {Timeline} line @param {Point} point */
function measureAt(line, point) {
	const { pane, box } = line.hit(point);
	if (box < 0 || !line.app.selection) return;
	line.app.measured = pane.selectionOf(box);
	line.app.emit("selection", "over");
}

/**
 * Selects a range of time: through the tracks from the one where it began to the one where it ends. A range that begins in the
 * ruler goes through all tracks. An edge of the selected area that is dragged leaves the other one where it is.
 * @param {Timeline} line @param {PointerEvent} event
 */
function dragRange(line, event) {
	const { app } = line;
	const begin = pointOf(line, event);
	const edge = edgeAt(line, begin);
	const old = edge && app.area;
	const isOnRuler = event.currentTarget === byId("ruler");
	const isInTracks = !isOnRuler && line.hit(begin).row !== undefined;
	const anchor = old ? old[edge === "start" ? "end" : "start"] : snapped(line, begin, event.altKey);
	let isDrag = false;
	trackPointer(
		event,
		(now) => {
			const point = pointOf(line, now);
			isDrag ||= Math.hypot(point.x - begin.x, point.y - begin.y) >= CLICK_PIXELS;
			if (!isDrag) return;
			const time = snapped(line, point, now.altKey);
			const nodes = old ? old.nodes : isInTracks ? nodesBetween(line, begin.y, point.y) : [];
			line.draft = { start: Math.min(anchor, time), end: Math.max(anchor, time), nodes };
			line.hover = { ...line.hover, ...point, box: -1 };
			line.redrawOver();
		},
		(_, cancelled) => {
			const { draft } = line;
			line.draft = null;
			if (cancelled) line.redrawOver();
			else if (draft && draft.end > draft.start)
				app.setArea({ ...draft, start: Math.max(0, draft.start), end: Math.min(app.meta.end, draft.end) });
			else if (!isOnRuler) clickAt(line, begin);
			else if (!noteAt(line, begin)) mark(line, true, anchor);
		},
	);
}

/** A time, or the nearest edge of a drawn slice in the rows near the mouse. @param {Timeline} line @param {Point} point @param {boolean} isFree */
function snapped(line, point, isFree) {
	const { x, y } = point;
	let best = line.scale.time(x);
	if (isFree) return best;
	let distance = SNAP_PIXELS;
	const { pane } = line.hit(point);
	const { boxes } = pane;
	for (let i = 0; i < boxes.length; i++) {
		const top = line.windowY(pane, boxes.y[i]);
		// The cursor does not snap to a box of several merged slices, because its edges are not those of one slice.
		if (y < top - 2 || y > top + boxes.h[i] + 2 || boxes.count[i] > 1) continue;
		for (const time of [boxes.start[i], boxes.end[i]]) {
			const away = Math.abs(line.scale.x(time) - x);
			if (away < distance) [distance, best] = [away, time];
		}
	}
	return best;
}

/** The nodes with lanes in the rows between two heights of the window. @param {Timeline} line @param {number} y0 @param {number} y1 */
function nodesBetween(line, y0, y1) {
	const [top, bottom] = [y0, y1].sort((a, b) => a - b);
	/** @type {Set<number>} */
	const nodes = new Set();
	const { model } = line.app;
	for (const pane of line.panes) {
		for (const row of pane.rowsOf()) {
			const y = line.windowY(pane, row.y);
			const isInWindow = pane === line.pinned || y + row.height > line.windowY(pane, pane.element.scrollTop);
			if (!isInWindow || y + row.height <= top || y > bottom) continue;
			// What SQL has made is nothing that the server knows.
			for (const id of model.nodesIn(row)) if (model.nodes[id].table !== "query") nodes.add(id);
		}
	}
	return [...nodes];
}

/** @param {Timeline} line @param {Point} point */
function clickAt(line, point) {
	const { app } = line;
	const { pane, box, row } = line.hit(point);
	if (box >= 0) return app.select(pane.selectionOf(box));
	app.select(null);
	if (row?.isContainer && !row.open) app.fold(row.node.id);
}

/** The note whose label is at a point of the ruler. @param {Timeline} line @param {Point} point */
function noteAt({ app, scale }, { x }) {
	return app.notes.findLast(({ time, text }) => {
		const left = scale.x(time);
		return x >= left && x < left + Math.max(12, text.length * app.cropper.letter + 8);
	});
}

/** @param {Timeline} line @param {MouseEvent} event */
function doubleClick(line, event) {
	const point = pointOf(line, event);
	const note = event.currentTarget === byId("ruler") && noteAt(line, point);
	if (note) return editNote(line, note);
	const { pane, box } = line.hit(point);
	if (box < 0) return;
	const selection = pane.selectionOf(box);
	line.app.select(selection);
	line.app.camera.fit(selection.start, selection.end);
	line.redraw();
}

/** @param {Timeline} line @param {WheelEvent} event */
function wheel(line, event) {
	const { camera } = line.app;
	const pixels = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? 16 : 1;
	const [dx, dy] = [event.deltaX * pixels, event.deltaY * pixels];
	if (event.ctrlKey || event.metaKey) {
		const isOnMap = byId("minimap").contains(/** @type {Node} */ (event.target));
		const time = isOnMap ? camera.middle : line.scale.time(pointOf(line, event).x);
		camera.zoom(Math.exp(Math.max(-MOST_WHEEL, Math.min(MOST_WHEEL, dy)) * WHEEL_ZOOM), time);
	} else if (event.shiftKey || Math.abs(dx) > Math.abs(dy)) {
		camera.pan((event.shiftKey && dx === 0 ? dy : dx) / line.width, false);
	} else return;
	event.preventDefault();
	hideTooltip();
	line.redraw();
}

/** The map: its handles and its window are dragged, and a drag beside them chooses a new range. @param {Timeline} line @param {PointerEvent} event */
function dragMap(line, event) {
	const { camera, meta } = line.app;
	const timeAt = (/** @type {PointerEvent} */ now) => (pointOf(line, now).x / line.width) * meta.end;
	const begin = timeAt(event);
	const { start, end } = camera;
	const near = (HANDLE_PIXELS / line.width) * meta.end;
	const isWhole = end - start > meta.end * 0.9;
	const anchor = Math.abs(begin - start) < near ? end : Math.abs(begin - end) < near ? start : null;
	const isInside = anchor === null && !isWhole && begin > start && begin < end;
	trackPointer(event, (now) => {
		const time = timeAt(now);
		const from = anchor ?? begin;
		if (isInside) camera.go(start + time - begin, end + time - begin, false);
		else if (Math.abs(time - begin) > near / 4) camera.go(Math.min(from, time), Math.max(from, time), false);
		line.redraw();
	});
	if (!isInside && anchor === null && !isWhole) camera.go(begin - (end - start) / 2, begin + (end - start) / 2);
	line.redraw();
}

/** @param {Timeline} line */
function listenToKeys(line) {
	/** @type {Map<string, { action: import("./actions.js").Action, since: number }>} */
	const held = new Map();
	let before = 0;
	listen(document, {
		keydown: (event) => {
			const { code } = event;
			const target = /** @type {HTMLElement} */ (event.target);
			// A report shows its tables in place of the tracks.
			if (document.querySelector("dialog[open]") || line.element.clientHeight === 0) return;
			if (target.matches("input, textarea, select")) return void (code === "Escape" && target.blur());
			const isOverTracks = target === document.body || (target.closest("#timeline") && !target.matches("button"));
			const action = actionOf(event);
			if (code === "Space" && isOverTracks) isSpaceHeld = true;
			else if (!action || (/^(Arrow|Enter)/.test(code) && !isOverTracks)) return;
			else if (!HELD_ACTIONS.includes(action)) line.act(action);
			else if (!held.has(code)) {
				before = performance.now();
				held.set(code, { action, since: before });
				line.act(action);
			}
			event.preventDefault();
		},
		keyup: ({ code }) => {
			held.delete(code);
			if (code === "Space") isSpaceHeld = false;
		},
	});
	addEventListener("blur", () => {
		held.clear();
		isSpaceHeld = false;
	});
	line.tick = (now) => {
		const passed = Math.min(0.1, Math.max(0, now - before) / 1000);
		before = now;
		for (const { action, since } of held.values()) {
			const past = passed * Math.min(3, 1 + Math.max(0, now - since - FASTER_AFTER_MS) / 600);
			if (now - since > FASTER_AFTER_MS / 2)
				action(line, { share: PAN_PER_SECOND * past, factor: Math.pow(ZOOM_PER_SECOND, past) });
		}
		return held.size > 0;
	};
}
