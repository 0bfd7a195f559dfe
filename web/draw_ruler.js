// draw_ruler.js - the ruler over the tracks, and above it the map of the whole trace.
import { paint, paintRound, setFont } from "./canvas.js";
import { PALETTE, colourOfProcess } from "./colour.js";
import { ticksOf } from "./time.js";

const LABEL_WIDTH = 110;

/** @typedef {import("./canvas.js").Context} Context */

/** The ticks of a scale, as many as have room for their labels. @param {Scale} scale */
function ticksFor({ start, end, width }) {
	return ticksOf(start, end, Math.max(2, width / LABEL_WIDTH));
}

/** @param {Context} context @param {Scale} scale @param {number} height @param {App} app */
export function drawRuler(context, scale, height, app) {
	const { theme, clock } = app;
	paint(context, theme.background, 0, 0, scale.width, height);
	if (app.hits) drawHits(context, scale, height, app);
	const { step, times, minor } = ticksFor(scale);
	setFont(context, theme.font);
	for (let time = (times[0] ?? 0) - step; time <= scale.end; time += step / minor)
		paint(context, theme.grid, Math.round(scale.x(time)), height - 5, 1, 4);
	for (const time of times) {
		const x = Math.round(scale.x(time));
		paint(context, theme.grid, x, height - 12, 1, 12);
		context.fillStyle = theme.muted;
		context.fillText(clock.tick(time, step), x + 4, height / 2);
	}
	paint(context, theme.line, 0, height - 1, scale.width, 1);
}

/** Where the labels of ticks begin and end. @param {Context} context @param {Scale} scale @param {App} app */
export function labelsOf(context, scale, { theme, clock }) {
	const { step, times } = ticksFor(scale);
	setFont(context, theme.font);
	return times.map((time) => {
		const x = Math.round(scale.x(time)) + 4;
		return [x, x + context.measureText(clock.tick(time, step)).width];
	});
}

/** Lines through the tracks at the ticks of the ruler. @param {Context} context @param {Scale} scale @param {number} top @param {number} height @param {Theme} theme */
export function drawGrid(context, scale, top, height, theme) {
	for (const time of ticksFor(scale).times) paint(context, theme.grid, Math.round(scale.x(time)), top, 1, height, 0.4);
}

/** Where there are hits of the search. @param {Context} context @param {Scale} scale @param {number} height @param {App} app */
function drawHits(context, scale, height, { hits, meta, theme }) {
	const density = hits?.density ?? [];
	const most = Math.max(1, ...density);
	const span = meta.end / (density.length || 1);
	const w = Math.max(1, span * scale.perNs);
	density.forEach((count, i) => {
		const x = scale.x(i * span);
		if (count > 0 && x + w >= 0 && x <= scale.width)
			paint(context, theme.select, Math.round(x), height - 3, Math.ceil(w), 3, 0.25 + 0.6 * (count / most));
	});
}

/**
 * The processes of a trace on top of one another, in their colours, with the range that is on screen.
 * @param {Context} context @param {number} width @param {number} height @param {App} app
 * @param {{ name: string, shares: Uint8Array }[]} layers
 */
export function drawMap(context, width, height, { theme, camera, meta }, layers) {
	paint(context, theme.background, 0, 0, width, height);
	drawLayers(context, width, height - 6, layers);
	const left = Math.max(0, (camera.start / meta.end) * width);
	const right = Math.max(left + 2, Math.min(width, (camera.end / meta.end) * width));
	paint(context, theme.background, 0, 0, left, height, 0.66);
	paint(context, theme.background, right, 0, width - right, height, 0.66);
	for (const x of [Math.round(left), Math.round(right) - 1]) {
		paint(context, theme.accent, x, 0, 1, height - 1);
		paintRound(context, theme.accent, x - 2, height / 2 - 8, 5, 15, 2);
	}
	paint(context, theme.line, 0, height - 1, width, 1);
}

/** @param {Context} context @param {number} width @param {number} height @param {{ name: string, shares: Uint8Array }[]} layers */
function drawLayers(context, width, height, layers) {
	const buckets = layers[0]?.shares.length ?? 0;
	const sums = new Float64Array(buckets);
	for (const { shares } of layers) for (let i = 0; i < buckets; i++) sums[i] += shares[i];
	const most = sums.reduce((a, b) => Math.max(a, b), 1);
	const below = new Float64Array(buckets);
	const bottom = height + 4;
	for (const { name, shares } of layers) {
		context.fillStyle = `#${PALETTE[colourOfProcess(name)]}`;
		for (let i = 0; i < buckets; i++) {
			if (shares[i] === 0) continue;
			const y0 = (below[i] / most) * height;
			below[i] += shares[i];
			const y1 = (below[i] / most) * height;
			const x = Math.round((i / buckets) * width);
			context.fillRect(x, bottom - y1, Math.max(1, Math.round(((i + 1) / buckets) * width) - x), Math.max(0.5, y1 - y0));
		}
	}
}
