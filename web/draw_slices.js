// draw_slices.js - draws the boxes of a frame: rectangles by colour, then marks, then text.
import { FLAG_INSTANT, FLAG_MERGED, FLAG_REAL_TIME, FLAG_UNFINISHED } from "./answers.js";
import { BOX_SCHED, BOX_SLICE, BOX_STATE } from "./boxes.js";
import { paint, paintShape, setFont } from "./canvas.js";
import { h } from "./dom.js";
import { COLOUR_COUNT, COLOUR_STATES, LOOK_COUNT, LOOK_DIM, STATE } from "./colour.js";

const MOST_LABELS = 800;
const LEAST_LABEL_WIDTH = 22;
const LABEL_PAD = 4;
const FADE_WIDTH = 32;
/** A thread that sleeps or has ended shows nothing. */
const IDLE_COLOUR = COLOUR_STATES + STATE.idle;
const EXITED_COLOUR = COLOUR_STATES + STATE.exited;
/** Such boxes are drawn in a way of their own. */
const MARKED = FLAG_INSTANT | FLAG_UNFINISHED;

/** The order in which boxes are drawn: by look and colour. @param {BoxList} boxes */
export function drawOrder(boxes) {
	const heads = new Uint32Array(COLOUR_COUNT * LOOK_COUNT + 1);
	for (let i = 0; i < boxes.length; i++) heads[fillOf(boxes, i) + 1]++;
	for (let key = 1; key < heads.length; key++) heads[key] += heads[key - 1];
	const order = new Uint32Array(boxes.length);
	for (let i = 0; i < boxes.length; i++) order[heads[fillOf(boxes, i)]++] = i;
	return order;
}

/** @param {BoxList} boxes @param {number} i */
function fillOf(boxes, i) {
	return boxes.look[i] * COLOUR_COUNT + boxes.colour[i];
}

/** @param {CanvasRenderingContext2D} context @param {BoxList} boxes @param {Theme} theme */
export function drawBoxes(context, boxes, theme) {
	const { x, y, w, h: height, colour, kind } = boxes;
	const marked = [];
	const hatched = [];
	let fill = -1;
	for (const i of drawOrder(boxes)) {
		if (colour[i] === IDLE_COLOUR || colour[i] === EXITED_COLOUR) continue;
		if (isHatched(boxes, i)) hatched.push(i);
		if (boxes.flags[i] & MARKED) {
			marked.push(i);
			continue;
		}
		const key = fillOf(boxes, i);
		if (key !== fill) context.fillStyle = theme.fills[(fill = key)];
		// Boxes that are wide enough are told apart by a gap.
		const gap = w[i] > 3 && kind[i] !== BOX_STATE ? 1 : 0;
		context.fillRect(x[i], y[i], w[i] - gap, height[i]);
	}
	drawMerged(context, boxes, theme);
	for (const i of marked) drawMark(context, boxes, i, theme);
	for (const i of hatched) paintHatch(context, x[i], y[i], w[i], height[i]);
}

/** Both D states and threads of real-time priority, whose colour alone does not tell enough. @param {BoxList} boxes @param {number} i */
function isHatched(boxes, i) {
	if (boxes.w[i] < 3) return false;
	const kind = boxes.kind[i];
	const state = boxes.colour[i] - COLOUR_STATES;
	if (kind === BOX_STATE) return state === STATE.diskSleep || state === STATE.otherSleep;
	return kind === BOX_SCHED && (boxes.flags[i] & FLAG_REAL_TIME) !== 0;
}

/** A dotted lower edge shows that a box stands for several events. @param {CanvasRenderingContext2D} context @param {BoxList} boxes @param {Theme} theme */
function drawMerged(context, boxes, theme) {
	const { x, y, w, h: height } = boxes;
	context.fillStyle = theme.background;
	for (let i = 0; i < boxes.length; i++) {
		if (!(boxes.flags[i] & FLAG_MERGED) || w[i] < 6 || boxes.kind[i] !== BOX_SLICE) continue;
		const end = x[i] + w[i] - 2;
		for (let at = x[i] + 1; at < end; at += 3) context.fillRect(at, y[i] + height[i] - 2, 1, 2);
	}
}

/** @type {CanvasPattern | null} */
let hatchPattern = null;

/** Diagonal lines. @param {CanvasRenderingContext2D} context @param {number} x @param {number} y @param {number} w @param {number} h */
export function paintHatch(context, x, y, w, h) {
	hatchPattern ??= makeHatch(context);
	if (hatchPattern) paint(context, hatchPattern, x, y, w, h);
}

/** @param {CanvasRenderingContext2D} context */
function makeHatch(context) {
	const tile = h("canvas", { width: 6, height: 6 });
	const lines = /** @type {CanvasRenderingContext2D} */ (tile.getContext("2d"));
	lines.strokeStyle = "rgba(0,0,0,0.42)";
	lines.lineWidth = 1.25;
	lines.beginPath();
	for (const shift of [-6, 0, 6]) {
		lines.moveTo(shift - 1, 7);
		lines.lineTo(shift + 7, -1);
	}
	lines.stroke();
	return context.createPattern(tile, "repeat");
}

/** @param {CanvasRenderingContext2D} context @param {BoxList} boxes @param {number} i @param {Theme} theme */
function drawMark(context, boxes, i, theme) {
	const [x, y, w, h] = [boxes.x[i], boxes.y[i], boxes.w[i], boxes.h[i]];
	const fill = theme.fills[fillOf(boxes, i)];
	if (boxes.flags[i] & FLAG_INSTANT) {
		paintShape(context, fill, [x + 0.5, y + h - 8], [x + 4.5, y + h], [x - 3.5, y + h]);
		paint(context, fill, x, y, 1, h);
	} else {
		const fade = context.createLinearGradient(Math.max(x, x + w - FADE_WIDTH), 0, x + w, 0);
		fade.addColorStop(0, fill);
		fade.addColorStop(1, theme.background);
		paint(context, fade, x, y, w, h);
	}
}

/**
 * Writes names into boxes, at the left of what is on screen of them.
 * @param {CanvasRenderingContext2D} context @param {BoxList} boxes @param {Theme} theme
 * @param {Cropper} cropper @param {(i: number) => string} nameOf @param {number} width of the screen
 */
export function drawLabels(context, boxes, theme, cropper, nameOf, width) {
	const { x, y, w, h: height } = boxes;
	setFont(context, theme.font);
	let ink = -1;
	let labels = 0;
	for (let i = 0; i < boxes.length && labels < MOST_LABELS; i++) {
		if (w[i] < LEAST_LABEL_WIDTH || height[i] < 12 || boxes.colour[i] === IDLE_COLOUR) continue;
		const left = Math.max(x[i], 0);
		const space = Math.min(x[i] + w[i], width) - left - 2 * LABEL_PAD;
		const text = boxes.flags[i] & FLAG_INSTANT ? "" : cropper.crop(nameOf(i), space);
		if (!text) continue;
		const look = boxes.look[i] === LOOK_DIM ? LOOK_DIM : 0;
		if (look !== ink) context.fillStyle = theme.inks[(ink = look)];
		context.fillText(text, left + LABEL_PAD, y[i] + height[i] / 2 + 0.5);
		labels++;
	}
	return labels;
}
