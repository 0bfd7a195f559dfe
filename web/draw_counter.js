// draw_counter.js - draws counters as areas of steps, and densities as strips.
import { POINT_F64 } from "./answers.js";
import { paint, setFont } from "./canvas.js";
import { valueText } from "./time.js";

const TOP_PAD = 4;

/** Ways of showing a counter; those that are shared have one scale with their siblings. */
export const COUNTER_MODES = /** @type {const} */ (["value", "log", "change", "rate", "shared"]);
/** @typedef {typeof COUNTER_MODES[number]} CounterMode */
/** @typedef {{ low: number, high: number }} Range */
/** @typedef {{ time: number, min: number, max: number, first: number, last: number }} Point */

/** The least and largest value of each counter that was seen so far, so that its scale changes rarely. */
export class Ranges {
	/** @type {Map<number, { min: number, max: number }>} */
	byLane = new Map();

	/** @param {number} lane @param {Tile} tile */
	learn(lane, tile) {
		const range = this.byLane.get(lane) ?? { min: Infinity, max: -Infinity };
		for (let i = 0; i < tile.count; i++) {
			const min = tile.f64[i * POINT_F64 + 1];
			const max = tile.f64[i * POINT_F64 + 2];
			if (min < range.min) range.min = min;
			if (max > range.max) range.max = max;
		}
		this.byLane.set(lane, range);
	}

	/** What the height of tracks with one scale stands for. @param {number[]} lanes */
	of(lanes) {
		const known = lanes.flatMap((lane) => this.byLane.get(lane) ?? []);
		return rangeOf({ min: Math.min(...known.map(({ min }) => min)), max: Math.max(...known.map(({ max }) => max)) });
	}
}

/** From zero, unless the values differ by less than a tenth. @param {{ min: number, max: number }} values @returns {Range} */
function rangeOf({ min, max }) {
	if (!(min <= max)) return { low: 0, high: 1 };
	const size = Math.max(Math.abs(min), Math.abs(max));
	if (max > min && max - min < size / 10 && min > 0) {
		const pad = (max - min) / 8;
		return { low: min - pad, high: max + pad };
	}
	return { low: Math.min(0, min), high: max > 0 ? max : min === max ? 1 : 0 };
}

/**
 * The points as a way of showing them has them. From its first value to that of the next point, the change of a point that stands for
 * several values is the sum of theirs. After the last one nothing changes.
 * @param {Point[]} points @param {CounterMode} mode @param {number} end when the trace ends @returns {Point[]}
 */
export function shownPoints(points, mode, end) {
	if (mode !== "change" && mode !== "rate") return points;
	return points.map(({ time, first, last }, i) => {
		const next = points[i + 1] ?? { time: end, first: last };
		const change = next.first - first;
		const value = mode === "change" ? change : (change * 1e9) / Math.max(1, next.time - time);
		return { time, min: value, max: value, first: value, last: value };
	});
}

/** How high a value is drawn, from 0 to 1. @param {number} value @param {Range} range @param {CounterMode} mode */
export function heightOfValue(value, { low, high }, mode) {
	// The size of small values beside the largest one stays visible over six powers of ten.
	const unit = Math.max(Math.abs(low), Math.abs(high)) / 1e6;
	const scaled = (/** @type {number} */ v) => (mode === "log" ? Math.sign(v) * Math.log10(1 + Math.abs(v) / unit) : v);
	return (scaled(value) - scaled(low)) / (scaled(high) - scaled(low) || 1);
}

/** @param {number} value @param {string | null | undefined} unit @param {CounterMode} mode */
export function counterLabel(value, unit, mode) {
	return `${mode === "change" ? "Δ " : ""}${valueText(value, unit)}${mode === "rate" ? "/s" : ""}`;
}

/**
 * @param {CanvasRenderingContext2D} context @param {Piece[]} pieces @param {Row} row
 * @param {Scale} scale @param {Range} values of the counter
 * @param {{ fill: string, edge: string, band: string }} colours @param {Theme} theme @param {number} end when the trace ends
 */
export function drawCounter(context, pieces, row, scale, values, colours, theme, end) {
	const { mode } = row;
	const points = shownPoints(pointsOf(pieces), mode, end);
	const lasts = points.map(({ last }) => last);
	const isChange = mode === "change" || mode === "rate";
	const range = isChange ? rangeOf({ min: Math.min(...lasts), max: Math.max(...lasts) }) : values;
	const height = row.height - TOP_PAD - 2;
	const bottom = row.y + row.height - 2;
	const yOf = (/** @type {number} */ value) => bottom - heightOfValue(value, range, mode) * height;
	const zero = Math.round(yOf(Math.max(range.low, Math.min(0, range.high))));
	const right = Math.min(scale.width, scale.x(end));
	for (const [i, { time, min, max, last }] of points.entries()) {
		const x0 = Math.max(-1, Math.round(scale.x(time)));
		const x1 = i + 1 < points.length ? Math.round(scale.x(points[i + 1].time)) : Math.round(right);
		if (x1 < 0 || x0 > scale.width || x1 < x0) continue;
		const w = Math.max(1, Math.min(x1, scale.width + 1) - x0);
		const y = Math.round(yOf(last));
		paint(context, colours.fill, x0, Math.min(y, zero), w, Math.max(1, Math.abs(zero - y)));
		if (max > min) {
			const top = Math.round(yOf(max));
			paint(context, colours.band, x0, top, Math.min(w, 2), Math.max(1, Math.round(yOf(min)) - top));
		}
		paint(context, colours.edge, x0, y, w, 1);
	}
	const largest = -range.low > range.high ? range.low : range.high;
	const text = counterLabel(largest, row.body?.unit, mode);
	setFont(context, theme.smallFont, "top");
	// The text lies on data, whose lines would strike it through.
	paint(context, theme.background, 1, row.y + 2, context.measureText(text).width + 6, 14, 0.85);
	context.fillStyle = theme.muted;
	context.fillText(text, 4, row.y + 4);
}

/** The points of pieces in order; each piece begins with the value that held before. @param {Piece[]} pieces */
export function pointsOf(pieces) {
	const points = [];
	for (const { tile, from, to } of pieces) {
		// The last point before a tile is in it; there may be more of them.
		let i = 0;
		while (i + 1 < tile.count && tile.f64[(i + 1) * POINT_F64] < from) i++;
		for (; i < tile.count; i++) {
			const [time, min, max, first, last] = tile.f64.subarray(i * POINT_F64, i * POINT_F64 + POINT_F64);
			if (time >= to) break;
			const before = points[points.length - 1];
			// The tile to the left, if there is one, has that point already.
			if (time < from && before) continue;
			if (before && time < before.time) continue;
			points.push({ time, min, max, first, last });
		}
	}
	return points;
}

/** What a way of showing a counter has at a time. @param {Piece[]} pieces @param {number} time @param {CounterMode} mode @param {number} end when the trace ends */
export function valueAt(pieces, time, mode, end) {
	return shownPoints(pointsOf(pieces), mode, end).findLast((point) => point.time <= time) ?? null;
}

/**
 * A strip whose columns are as high as the share of time that was busy.
 * @param {CanvasRenderingContext2D} context @param {Uint8Array} shares @param {string} colour
 * @param {number} x0 @param {number} x1 where the strip begins and ends @param {number} y @param {number} height
 * @param {number} width of the screen
 */
export function drawDensity(context, shares, colour, x0, x1, y, height, width) {
	context.fillStyle = colour;
	const step = (x1 - x0) / shares.length;
	const first = Math.max(0, Math.floor(-x0 / step));
	for (let i = first; i < shares.length; i++) {
		const left = Math.round(x0 + i * step);
		if (left > width) break;
		if (shares[i] === 0) continue;
		const h = Math.max(1, Math.round((shares[i] / 255) * height));
		context.fillRect(left, y + height - h, Math.max(1, Math.round(x0 + (i + 1) * step) - left), h);
	}
}
