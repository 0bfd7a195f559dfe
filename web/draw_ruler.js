// draw_ruler.js - the ruler over the tracks, and above it the map of the whole trace.
import { PALETTE, colourOfName } from "./colour.js";
import { ticksOf } from "./time.js";

const LABEL_WIDTH = 110;

/**
 * @param {CanvasRenderingContext2D} context @param {Scale} scale @param {number} height
 * @param {App} app
 */
export function drawRuler(context, scale, height, app) {
	const { theme, clock } = app;
	context.fillStyle = theme.background;
	context.fillRect(0, 0, scale.width, height);
	if (app.hits) drawHits(context, scale, height, app);
	const { step, times, minor } = ticksOf(scale.start, scale.end, Math.max(2, scale.width / LABEL_WIDTH));
	context.font = theme.font;
	context.textBaseline = "middle";
	context.textAlign = "left";
	context.fillStyle = theme.grid;
	const part = step / minor;
	for (let time = (times[0] ?? 0) - step; time <= scale.end; time += part) {
		context.fillRect(Math.round(scale.x(time)), height - 5, 1, 4);
	}
	for (const time of times) {
		const x = Math.round(scale.x(time));
		context.fillStyle = theme.grid;
		context.fillRect(x, height - 12, 1, 12);
		context.fillStyle = theme.muted;
		context.fillText(clock.tick(time, step), x + 4, height / 2);
	}
	context.fillStyle = theme.line;
	context.fillRect(0, height - 1, scale.width, 1);
}

/** Lines through the tracks at the ticks of the ruler. @param {CanvasRenderingContext2D} context @param {Scale} scale @param {number} top @param {number} height @param {Theme} theme */
export function drawGrid(context, scale, top, height, theme) {
	context.fillStyle = theme.grid;
	context.globalAlpha = 0.4;
	const { times } = ticksOf(scale.start, scale.end, Math.max(2, scale.width / LABEL_WIDTH));
	for (const time of times) context.fillRect(Math.round(scale.x(time)), top, 1, height);
	context.globalAlpha = 1;
}

/** Where there are hits of the search. @param {CanvasRenderingContext2D} context @param {Scale} scale @param {number} height @param {App} app */
function drawHits(context, scale, height, app) {
	const density = app.hits?.density ?? [];
	const most = Math.max(1, ...density);
	const span = app.meta.end / (density.length || 1);
	context.fillStyle = app.theme.select;
	density.forEach((count, i) => {
		if (count === 0) return;
		const x0 = scale.x(i * span);
		const w = Math.max(1, span * scale.perNs);
		if (x0 + w < 0 || x0 > scale.width) return;
		context.globalAlpha = 0.25 + 0.6 * (count / most);
		context.fillRect(Math.round(x0), height - 3, Math.ceil(w), 3);
	});
	context.globalAlpha = 1;
}

/**
 * The processes of a trace on top of one another, in their colours, with the range that is on screen.
 * @param {CanvasRenderingContext2D} context @param {number} width @param {number} height @param {App} app
 * @param {{ name: string, shares: Uint8Array }[]} layers
 */
export function drawMap(context, width, height, app, layers) {
	const { theme, camera, meta } = app;
	context.fillStyle = theme.background;
	context.fillRect(0, 0, width, height);
	drawLayers(context, width, height - 6, layers);
	const x0 = Math.max(0, (camera.start / meta.end) * width);
	const x1 = Math.min(width, (camera.end / meta.end) * width);
	const right = Math.max(x1, x0 + 2);
	context.fillStyle = theme.background;
	context.globalAlpha = 0.66;
	context.fillRect(0, 0, x0, height);
	context.fillRect(right, 0, width - right, height);
	context.globalAlpha = 1;
	context.fillStyle = theme.accent;
	context.fillRect(Math.round(x0), 0, 1, height - 1);
	context.fillRect(Math.round(right) - 1, 0, 1, height - 1);
	for (const x of [Math.round(x0) - 2, Math.round(right) - 3]) {
		context.beginPath();
		context.roundRect(x, height / 2 - 8, 5, 15, 2);
		context.fill();
	}
	context.fillStyle = theme.line;
	context.fillRect(0, height - 1, width, 1);
}

/** @param {CanvasRenderingContext2D} context @param {number} width @param {number} height @param {{ name: string, shares: Uint8Array }[]} layers */
function drawLayers(context, width, height, layers) {
	const buckets = layers[0]?.shares.length ?? 0;
	if (buckets === 0) return;
	const sums = new Float64Array(buckets);
	for (const { shares } of layers) for (let i = 0; i < buckets; i++) sums[i] += shares[i];
	const most = Math.max(
		1,
		sums.reduce((a, b) => Math.max(a, b), 0),
	);
	const below = new Float64Array(buckets);
	const bottom = height + 4;
	for (const { name, shares } of layers) {
		context.fillStyle = `#${PALETTE[colourOfName(name)]}`;
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
