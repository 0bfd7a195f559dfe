// draw_overlay.js - what lies over the boxes: cursor, selected area, notes, flows, outlines, measurements. It is a canvas of
// its own, so that a moving mouse redraws no box.
import { paint, paintLabel, paintShape, setFont } from "./canvas.js";
import { labelsOf } from "./draw_ruler.js";
import { durationText } from "./time.js";

const FLOW_BEND = 60;
const ARROW = 5;

/** @typedef {import("./canvas.js").Context} Context */
/** @typedef {{ x0: number, x1: number, y: number, h: number }} Spot where something is in the window of the tracks */

/** @param {Context} context @param {Spot} spot @param {string} colour @param {number} width */
export function drawOutline(context, { x0, x1, y, h }, colour, width) {
	context.strokeStyle = colour;
	context.lineWidth = width;
	const inset = width / 2 - 1;
	context.strokeRect(x0 + inset, y + inset, Math.max(1, x1 - x0 - 2 * inset - 1), h - 2 * inset);
}

/**
 * A range of time through all tracks; the tracks that belong to it are tinted.
 * @param {Context} context @param {Scale} scale @param {Area} area @param {number} bottom @param {{ y: number, h: number }[]} rows @param {App} app
 */
export function drawArea(context, scale, { start, end }, bottom, rows, app) {
	const { theme } = app;
	const [left, right] = [Math.max(-2, Math.round(scale.x(start))), Math.min(scale.width + 2, Math.round(scale.x(end)))];
	for (const { y, h } of rows) paint(context, theme.accentSoft, left, y, right - left, h);
	// Its length stands in the ruler in place of the ticks, and of those whose labels would be cut.
	let [from, to] = [left, right];
	for (const [x0, x1] of labelsOf(context, scale, app)) {
		if (x0 < left && x1 > left) from = x0;
		if (x0 < right && x1 > right) to = x1;
	}
	paint(context, theme.background, from, 0, to - from, 23);
	for (const x of [left, right - 1]) paint(context, theme.accent, x, 0, 1, bottom);
	drawSpan(context, Math.max(0, left), Math.min(scale.width, right), 10, durationText(end - start), theme);
}

/** A line with its length. @param {Context} context @param {number} x0 @param {number} x1 @param {number} y @param {string} label @param {Theme} theme */
export function drawSpan(context, x0, x1, y, label, theme) {
	const { accent, background } = theme;
	paint(context, accent, x0, y, x1 - x0, 1);
	const left = (/** @type {number} */ width) => Math.max(2, (x0 + x1 - width) / 2);
	paintLabel(context, theme, label, left, y - 9, { fill: accent, ink: background, pad: 6, radius: 9 });
}

/** @param {Context} context @param {Scale} scale @param {number} x @param {number} bottom @param {App} app */
export function drawCursor(context, scale, x, bottom, { theme, clock }) {
	const at = Math.round(x);
	paint(context, theme.muted, at, 0, 1, bottom, 0.6);
	const label = clock.text(scale.time(x), 1 / scale.perNs);
	const left = (/** @type {number} */ w) => Math.min(scale.width - w - 1, Math.max(1, at - w / 2));
	paintLabel(context, theme, label, left, 3, { fill: theme.text, ink: theme.background, pad: 5, radius: 3 });
}

/** @param {Context} context @param {Note} note @param {number} x @param {number} bottom @param {Theme} theme */
export function drawNote(context, note, x, bottom, theme) {
	const at = Math.round(x);
	const fill = note.kept ? theme.fills[note.colour] : theme.accent;
	paint(context, fill, at, 4, 1, bottom - 4, 0.8);
	if (note.text) paintLabel(context, theme, note.text, at, 2, { fill, ink: theme.inks[0], pad: 4, radius: [0, 3, 3, 0] });
	else paintShape(context, fill, [at, 2], [at + 10, 6], [at, 11]);
}

/**
 * An arrow from the end of one box to the beginning of another. An end that is off the screen becomes an arrow at the edge.
 * @param {Context} context @param {Spot} from @param {Spot} to @param {string} colour @param {number} width
 * @param {number} latency @param {Theme} theme
 */
export function drawFlow(context, from, to, colour, width, latency, theme) {
	if ((from.x1 < 0 && to.x0 < 0) || (from.x1 > width && to.x0 > width)) return;
	const onScreen = (/** @type {number} */ x) => Math.min(width, Math.max(0, x));
	const [x0, y0] = [onScreen(from.x1), from.y + from.h / 2];
	const [x1, y1] = [onScreen(to.x0), to.y + to.h / 2];
	const bend = Math.max(16, Math.min(FLOW_BEND, Math.abs(x1 - x0) / 2));
	const line = (/** @type {string} */ stroke, /** @type {number} */ lineWidth) => {
		context.strokeStyle = stroke;
		context.lineWidth = lineWidth;
		context.beginPath();
		context.moveTo(x0, y0);
		context.bezierCurveTo(x0 + bend, y0, x1 - bend, y1, x1 - ARROW, y1);
		context.stroke();
	};
	line(theme.background, 4);
	line(colour, 1.5);
	context.beginPath();
	context.arc(x0, y0, 2.5, 0, 2 * Math.PI);
	context.fillStyle = colour;
	context.fill();
	const tail = x1 - ARROW - 2;
	paintShape(context, colour, [x1, y1], [tail, y1 - ARROW + 1], [tail, y1 + ARROW - 1]);
	if (to.x0 > width) drawDistance(context, x1 - 8, y1, latency, theme);
	else if (from.x1 < 0) drawDistance(context, x0 + 8, y0, latency, theme);
}

/** @param {Context} context @param {number} x @param {number} y @param {number} latency @param {Theme} theme */
function drawDistance(context, x, y, latency, theme) {
	const text = `+${durationText(latency)}`;
	setFont(context, theme.smallFont, "bottom", x > 100 ? "right" : "left");
	context.lineWidth = 3;
	context.strokeStyle = theme.background;
	context.strokeText(text, x, y - 4);
	context.fillStyle = theme.text;
	context.fillText(text, x, y - 4);
}
