// draw_overlay.js - what lies over the boxes: cursor, selected area, notes, flows, outlines, measurements. It is a canvas of
// its own, so that a moving mouse redraws no box.
import { durationText } from "./time.js";

const FLOW_BEND = 60;
const ARROW = 5;

/**
 * Where something is in the window of the tracks.
 * @typedef {{ x0: number, x1: number, y: number, h: number }} Spot
 */

/** @param {CanvasRenderingContext2D} context @param {Spot} spot @param {string} colour @param {number} width */
export function drawOutline(context, spot, colour, width) {
	context.strokeStyle = colour;
	context.lineWidth = width;
	const inset = width / 2 - 1;
	context.strokeRect(spot.x0 + inset, spot.y + inset, Math.max(1, spot.x1 - spot.x0 - 2 * inset - 1), spot.h - 2 * inset);
}

/**
 * A range of time through all tracks; the tracks that belong to it are tinted.
 * @param {CanvasRenderingContext2D} context @param {number} x0 @param {number} x1 @param {number} top @param {number} bottom
 * @param {{ y: number, h: number }[]} rows @param {Theme} theme @param {string} label @param {number} width
 */
export function drawArea(context, x0, x1, top, bottom, rows, theme, label, width) {
	const [left, right] = [Math.max(-2, Math.round(x0)), Math.min(width + 2, Math.round(x1))];
	context.fillStyle = theme.accentSoft;
	for (const { y, h } of rows) context.fillRect(left, y, right - left, h);
	// Its length stands in the ruler in place of the ticks.
	context.fillStyle = theme.background;
	context.fillRect(left, top, right - left, 23);
	context.fillStyle = theme.accent;
	context.fillRect(left, top, 1, bottom - top);
	context.fillRect(right - 1, top, 1, bottom - top);
	drawSpan(context, Math.max(0, left), Math.min(width, right), top + 10, label, theme);
}

/** A line with arrows at both ends, and its length. @param {CanvasRenderingContext2D} context @param {number} x0 @param {number} x1 @param {number} y @param {string} label @param {Theme} theme */
export function drawSpan(context, x0, x1, y, label, theme) {
	context.font = theme.font;
	context.textBaseline = "middle";
	context.textAlign = "center";
	const width = context.measureText(label).width + 12;
	context.fillStyle = theme.accent;
	context.fillRect(x0, y, x1 - x0, 1);
	const middle = Math.max(width / 2 + 2, (x0 + x1) / 2);
	context.beginPath();
	context.roundRect(middle - width / 2, y - 9, width, 18, 9);
	context.fill();
	context.fillStyle = theme.background;
	context.fillText(label, middle, y + 0.5);
	context.textAlign = "left";
}

/** @param {CanvasRenderingContext2D} context @param {number} x @param {number} top @param {number} bottom @param {string} label @param {Theme} theme @param {number} width */
export function drawCursor(context, x, top, bottom, label, theme, width) {
	const at = Math.round(x);
	context.fillStyle = theme.muted;
	context.globalAlpha = 0.6;
	context.fillRect(at, top, 1, bottom - top);
	context.globalAlpha = 1;
	context.font = theme.font;
	context.textBaseline = "middle";
	const w = context.measureText(label).width + 10;
	const left = Math.min(width - w - 1, Math.max(1, at - w / 2));
	context.fillStyle = theme.text;
	context.beginPath();
	context.roundRect(left, top + 3, w, 18, 3);
	context.fill();
	context.fillStyle = theme.background;
	context.fillText(label, left + 5, top + 12.5);
}

/** @param {CanvasRenderingContext2D} context @param {Note} note @param {number} x @param {number} top @param {number} bottom @param {Theme} theme */
export function drawNote(context, note, x, top, bottom, theme) {
	const at = Math.round(x);
	const colour = note.kept ? theme.fills[note.colour] : theme.accent;
	context.fillStyle = colour;
	context.globalAlpha = 0.8;
	context.fillRect(at, top + 4, 1, bottom - top - 4);
	context.globalAlpha = 1;
	context.beginPath();
	context.moveTo(at, top + 2);
	context.lineTo(at + 10, top + 6);
	context.lineTo(at, top + 11);
	context.fill();
	if (!note.text) return;
	context.font = theme.font;
	context.textBaseline = "middle";
	const width = context.measureText(note.text).width + 8;
	context.beginPath();
	context.roundRect(at, top + 2, width, 18, [0, 3, 3, 0]);
	context.fill();
	context.fillStyle = theme.inks[0];
	context.fillText(note.text, at + 4, top + 11.5);
}

/**
 * An arrow from the end of one box to the beginning of another. An end that is off the screen becomes an arrow at the edge.
 * @param {CanvasRenderingContext2D} context @param {Spot} from @param {Spot} to @param {string} colour @param {number} width
 * @param {number} latency @param {Theme} theme
 */
export function drawFlow(context, from, to, colour, width, latency, theme) {
	const [x0, y0] = [clamp(from.x1, width), from.y + from.h / 2];
	const [x1, y1] = [clamp(to.x0, width), to.y + to.h / 2];
	if ((from.x1 < 0 && to.x0 < 0) || (from.x1 > width && to.x0 > width)) return;
	const bend = Math.max(16, Math.min(FLOW_BEND, Math.abs(x1 - x0) / 2));
	for (const [stroke, line] of /** @type {[string, number][]} */ ([
		[theme.background, 4],
		[colour, 1.5],
	])) {
		context.strokeStyle = stroke;
		context.lineWidth = line;
		context.beginPath();
		context.moveTo(x0, y0);
		context.bezierCurveTo(x0 + bend, y0, x1 - bend, y1, x1 - ARROW, y1);
		context.stroke();
	}
	context.fillStyle = colour;
	context.beginPath();
	context.arc(x0, y0, 2.5, 0, 2 * Math.PI);
	context.moveTo(x1, y1);
	context.lineTo(x1 - ARROW - 2, y1 - ARROW + 1);
	context.lineTo(x1 - ARROW - 2, y1 + ARROW - 1);
	context.fill();
	if (from.x1 < 0 || to.x0 > width)
		drawDistance(context, to.x0 > width ? x1 - 8 : x0 + 8, to.x0 > width ? y1 : y0, latency, theme);
}

/** @param {CanvasRenderingContext2D} context @param {number} x @param {number} y @param {number} latency @param {Theme} theme */
function drawDistance(context, x, y, latency, theme) {
	const text = `+${durationText(latency)}`;
	context.font = theme.smallFont;
	context.textBaseline = "bottom";
	context.textAlign = x > 100 ? "right" : "left";
	context.lineWidth = 3;
	context.strokeStyle = theme.background;
	context.strokeText(text, x, y - 4);
	context.fillStyle = theme.text;
	context.fillText(text, x, y - 4);
	context.textAlign = "left";
}

/** @param {number} x @param {number} width */
function clamp(x, width) {
	return Math.min(width, Math.max(0, x));
}
