// input.js - keys, wheel and mouse over the tracks become changes of the app. A gesture is chosen when the button goes down,
// and owns the mouse until the button goes up.
import { BOX_SLICE } from "./boxes.js";
import { act, centreOf } from "./actions.js";
import { byId, trackPointer } from "./dom.js";
import { HELD_ACTIONS, actionOf } from "./keymap.js";
import { hideTooltip, showTooltip } from "./tooltip.js";

const CLICK_PIXELS = 4;
const SNAP_PIXELS = 10;
const EDGE_PIXELS = 4;
const WHEEL_ZOOM = 0.0022;
/** A key moves by this share of the screen at once, and while it is held by this share per second, then faster. */
const FIRST_PAN = 0.08;
const FIRST_ZOOM = 0.8;
const PAN_PER_SECOND = 1.1;
const ZOOM_PER_SECOND = 0.12;
const FASTER_AFTER_MS = 400;

/** @param {App} app @param {Timeline} line */
export function listenToInput(app, line) {
	listenToKeys(app, line);
	for (const pane of line.panes) {
		pane.canvas.addEventListener("pointerdown", (event) => pointerDown(app, line, event));
		pane.canvas.addEventListener("dblclick", (event) => doubleClick(app, line, event));
		pane.canvas.addEventListener("pointermove", (event) => hoverAt(app, line, event));
		pane.canvas.addEventListener("pointerleave", () => leave(line));
		pane.element.addEventListener("wheel", (event) => wheel(app, line, event), { passive: false });
	}
	const ruler = byId("ruler");
	ruler.addEventListener("wheel", (event) => wheel(app, line, event), { passive: false });
	ruler.addEventListener("pointerdown", (event) => dragRange(app, line, event, null));
	ruler.addEventListener("pointermove", (event) => hoverAt(app, line, event));
	ruler.addEventListener("pointerleave", () => leave(line));
	const map = byId("minimap");
	map.addEventListener("pointerdown", (event) => dragMap(app, line, event));
	map.addEventListener("wheel", (event) => wheel(app, line, event), { passive: false });
}

/** A point of the page in the window of the tracks. @param {Timeline} line @param {{ clientX: number, clientY: number }} event */
function pointOf(line, event) {
	const box = line.over.canvas.getBoundingClientRect();
	return { x: event.clientX - box.left, y: event.clientY - box.top };
}

/** @param {App} app @param {Timeline} line @param {PointerEvent} event */
function hoverAt(app, line, event) {
	const { x, y } = pointOf(line, event);
	const { pane, box, row } = line.hit(x, y);
	line.hover = { x, y, pane, box };
	pane.canvas.style.cursor = isOnEdge(app, line, x) ? "ew-resize" : box >= 0 ? "pointer" : "";
	const { kind, count } = pane.boxes;
	app.point(box >= 0 && kind[box] === BOX_SLICE && count[box] === 1 && event.buttons === 0 ? pane.selectionOf(box) : null);
	line.redrawOver();
	if (event.buttons === 0) showTooltip(app, line, event, pane, box, row);
}

/** @param {Timeline} line */
function leave(line) {
	line.hover = { ...line.hover, x: -1, y: -1, box: -1 };
	hideTooltip();
	line.app.point(null);
	line.redrawOver();
}

/** Whether an edge of the selected area is under the mouse. @param {App} app @param {Timeline} line @param {number} x */
function isOnEdge(app, line, x) {
	const { area } = app;
	return area !== null && [area.start, area.end].some((time) => Math.abs(line.scale.x(time) - x) <= EDGE_PIXELS);
}

let isSpaceHeld = false;

/** @param {App} app @param {Timeline} line @param {PointerEvent} event */
function pointerDown(app, line, event) {
	hideTooltip();
	line.tracks.element.focus({ preventScroll: true });
	const point = pointOf(line, event);
	if (event.button === 1 || (event.button === 0 && isSpaceHeld)) dragView(app, line, event, true);
	else if (event.button !== 0) return;
	else if (event.shiftKey) dragView(app, line, event, false);
	else dragRange(app, line, event, isOnEdge(app, line, point.x) ? null : (line.hit(point.x, point.y).row?.node.id ?? null));
	event.preventDefault();
}

/** Moves what is on screen. @param {App} app @param {Timeline} line @param {PointerEvent} event @param {boolean} scrolls whether it moves up and down too */
function dragView(app, line, event, scrolls) {
	const { start, end } = app.camera;
	const perPixel = (end - start) / line.width;
	const top = line.tracks.element.scrollTop;
	let moved = 0;
	trackPointer(
		event,
		(now) => {
			moved = Math.max(moved, Math.hypot(now.clientX - event.clientX, now.clientY - event.clientY));
			const by = (event.clientX - now.clientX) * perPixel;
			app.camera.go(start + by, end + by, false);
			if (scrolls) line.tracks.element.scrollTop = top + event.clientY - now.clientY;
			line.redraw();
		},
		(_, cancelled) => {
			// Shift and a click measure the gap to what is selected.
			if (!cancelled && !scrolls && moved < CLICK_PIXELS) measureAt(app, line, event);
		},
	);
}

/** @param {App} app @param {Timeline} line @param {PointerEvent} event */
function measureAt(app, line, event) {
	const { x, y } = pointOf(line, event);
	const { pane, box } = line.hit(x, y);
	if (box < 0 || !app.selection) return;
	app.measured = pane.selectionOf(box);
	app.emit("selection", "over");
}

/**
 * Selects a range of time: through the tracks from the one where it began to the one where it ends, or through all.
 * @param {App} app @param {Timeline} line @param {PointerEvent} event @param {number | null} from the track where it began
 */
function dragRange(app, line, event, from) {
	const begin = pointOf(line, event);
	const old = app.area;
	const isEdge = isOnEdge(app, line, begin.x) && old !== null;
	// An edge that is dragged leaves the other one where it is.
	const anchor = isEdge ? otherEdge(line, old, begin.x) : snapped(line, begin, event.altKey);
	let isDrag = false;
	trackPointer(
		event,
		(now) => {
			const point = pointOf(line, now);
			isDrag ||= Math.hypot(point.x - begin.x, point.y - begin.y) >= CLICK_PIXELS;
			if (!isDrag) return;
			const time = snapped(line, point, now.altKey);
			const nodes = isEdge ? old.nodes : from === null ? null : nodesBetween(app, line, begin.y, point.y);
			line.draft = { start: Math.min(anchor, time), end: Math.max(anchor, time), nodes };
			line.hover = { ...line.hover, x: point.x, y: point.y, box: -1 };
			line.redrawOver();
		},
		(_, cancelled) => {
			const draft = line.draft;
			line.draft = null;
			if (cancelled) line.redrawOver();
			else if (draft && draft.end > draft.start)
				app.setArea({
					start: Math.max(0, draft.start),
					end: Math.min(app.meta.end, draft.end),
					nodes: draft.nodes ?? [],
				});
			else if (from !== null || !isEdge) clickAt(app, line, begin);
		},
	);
}

/** @param {Timeline} line @param {Area} area @param {number} x */
function otherEdge(line, area, x) {
	const isStart = Math.abs(line.scale.x(area.start) - x) < Math.abs(line.scale.x(area.end) - x);
	return isStart ? area.end : area.start;
}

/** A time, or the nearest edge of a drawn slice in the rows near the mouse. @param {Timeline} line @param {{ x: number, y: number }} point @param {boolean} isFree */
function snapped(line, { x, y }, isFree) {
	let best = line.scale.time(x);
	if (isFree) return best;
	let distance = SNAP_PIXELS;
	const { pane } = line.hit(x, y);
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

/** The nodes with lanes in the rows between two heights of the window. @param {App} app @param {Timeline} line @param {number} y0 @param {number} y1 */
function nodesBetween(app, line, y0, y1) {
	const [top, bottom] = [Math.min(y0, y1), Math.max(y0, y1)];
	/** @type {Set<number>} */
	const nodes = new Set();
	for (const pane of line.panes) {
		for (const row of pane.rowsOf()) {
			const y = line.windowY(pane, row.y);
			const isInWindow = pane === line.pinned || y + row.height > line.windowY(pane, pane.element.scrollTop);
			if (!isInWindow || y + row.height <= top || y > bottom) continue;
			const isContainer = row.kind === "group" || row.kind === "process";
			if (isContainer && !row.open) for (const id of app.model.lanesBelow(row.node.id)) nodes.add(id);
			if (row.strip) nodes.add(row.strip.id);
			// What SQL has made is nothing that the server knows.
			if (row.body && row.body.table !== "query") nodes.add(row.body.id);
		}
	}
	return [...nodes];
}

/** @param {App} app @param {Timeline} line @param {{ x: number, y: number }} point */
function clickAt(app, line, point) {
	const { pane, box, row } = line.hit(point.x, point.y);
	if (box >= 0) app.select(pane.selectionOf(box));
	else if (app.area) app.setArea(null);
	else app.select(null);
	if (box < 0 && row && (row.kind === "process" || row.kind === "group") && !row.open) {
		app.model.fold(row.node.id);
		app.emit("rows");
	}
}

/** @param {App} app @param {Timeline} line @param {MouseEvent} event */
function doubleClick(app, line, event) {
	const { x, y } = pointOf(line, event);
	const { pane, box } = line.hit(x, y);
	if (box < 0) return;
	const selection = pane.selectionOf(box);
	app.select(selection);
	app.camera.fit(selection.start, selection.end);
	line.redraw();
}

/** @param {App} app @param {Timeline} line @param {WheelEvent} event */
function wheel(app, line, event) {
	const lines = event.deltaMode === 1 ? 16 : 1;
	const [dx, dy] = [event.deltaX * lines, event.deltaY * lines];
	const { x } = pointOf(line, event);
	if (event.ctrlKey || event.metaKey) {
		const time = event.currentTarget === byId("minimap") ? centreOf(app) : line.scale.time(x);
		app.camera.zoom(Math.exp(Math.max(-240, Math.min(240, dy)) * WHEEL_ZOOM * 1.6), time);
	} else if (event.shiftKey || Math.abs(dx) > Math.abs(dy)) {
		app.camera.pan((event.shiftKey && dx === 0 ? dy : dx) / line.width, false);
	} else return;
	event.preventDefault();
	hideTooltip();
	line.redraw();
}

/** The map: its handles and its window are dragged, and a drag beside them chooses a new range. @param {App} app @param {Timeline} line @param {PointerEvent} event */
function dragMap(app, line, event) {
	const timeAt = (/** @type {PointerEvent} */ now) => (pointOf(line, now).x / line.width) * app.meta.end;
	const begin = timeAt(event);
	const { start, end } = app.camera;
	const near = (8 / line.width) * app.meta.end;
	const isWhole = end - start > app.meta.end * 0.9;
	const anchor = Math.abs(begin - start) < near ? end : Math.abs(begin - end) < near ? start : null;
	const isInside = anchor === null && !isWhole && begin > start && begin < end;
	trackPointer(event, (now) => {
		const time = timeAt(now);
		if (isInside) app.camera.go(start + time - begin, end + time - begin, false);
		else if (Math.abs(time - begin) > near / 4)
			app.camera.go(Math.min(anchor ?? begin, time), Math.max(anchor ?? begin, time), false);
		line.redraw();
	});
	if (!isInside && anchor === null && !isWhole) app.camera.go(begin - (end - start) / 2, begin + (end - start) / 2);
	line.redraw();
	event.preventDefault();
}

/** @param {App} app @param {Timeline} line */
function listenToKeys(app, line) {
	/** @type {Map<string, { action: string, since: number }>} */
	const held = new Map();
	let before = 0;
	document.addEventListener("keydown", (event) => {
		// A report shows its tables in place of the tracks.
		if (document.querySelector("dialog[open]") || line.element.clientHeight === 0) return;
		if (isTyping(event.target)) {
			if (event.code === "Escape") /** @type {HTMLElement} */ (event.target).blur();
			return;
		}
		if (event.code === "Space" && isOverTracks(event.target)) {
			isSpaceHeld = true;
			event.preventDefault();
			return;
		}
		const action = actionOf(event);
		if (!action || (event.code.startsWith("Arrow") && !isOverTracks(event.target))) return;
		event.preventDefault();
		if (!HELD_ACTIONS.includes(action)) return void act(app, line, action);
		if (held.has(event.code)) return;
		held.set(event.code, { action, since: performance.now() });
		before = performance.now();
		move(app, line, action, FIRST_PAN, FIRST_ZOOM);
		line.redraw();
	});
	document.addEventListener("keyup", (event) => {
		held.delete(event.code);
		if (event.code === "Space") isSpaceHeld = false;
	});
	addEventListener("blur", () => {
		held.clear();
		isSpaceHeld = false;
	});
	line.tick = (now) => {
		const passed = Math.min(0.1, Math.max(0, now - before) / 1000);
		before = now;
		for (const { action, since } of held.values()) {
			const faster = Math.min(3, 1 + Math.max(0, now - since - FASTER_AFTER_MS) / 600);
			if (now - since > FASTER_AFTER_MS / 2)
				move(app, line, action, PAN_PER_SECOND * passed * faster, Math.pow(ZOOM_PER_SECOND, passed * faster));
		}
		return held.size > 0;
	};
}

/** @param {App} app @param {Timeline} line @param {string} action @param {number} share @param {number} factor */
function move(app, line, action, share, factor) {
	const time = line.hover.x >= 0 ? line.scale.time(line.hover.x) : centreOf(app);
	if (action === "zoom-in") app.camera.zoom(factor, time);
	else if (action === "zoom-out") app.camera.zoom(1 / factor, time);
	else app.camera.pan(action === "pan-left" ? -share : share);
}

/** @param {EventTarget | null} target */
function isTyping(target) {
	return target instanceof Element && target.matches("input, textarea, select, [contenteditable]");
}

/** @param {EventTarget | null} target */
function isOverTracks(target) {
	return (
		target === document.body ||
		(target instanceof Element && target.closest("#timeline") !== null && !target.matches("button"))
	);
}
