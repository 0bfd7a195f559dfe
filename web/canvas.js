// canvas.js - what is drawn on canvases again and again: rectangles, shapes, texts, labels.

/** @typedef {CanvasRenderingContext2D} Context */

/**
 * Makes a canvas fit its place on this screen; `top` is what its upper edge shows.
 * @param {Context} context @param {number} width @param {number} height @param {number} [top]
 * @returns {number} device pixels per pixel
 */
export function sizeCanvas(context, width, height, top = 0) {
	const { canvas } = context;
	const ratio = devicePixelRatio || 1;
	const [w, h] = [Math.round(width * ratio), Math.round(height * ratio)];
	if (canvas.width !== w || canvas.height !== h) {
		Object.assign(canvas, { width: w, height: h });
		Object.assign(canvas.style, { width: `${width}px`, height: `${height}px` });
	}
	context.setTransform(ratio, 0, 0, ratio, 0, -top * ratio);
	return ratio;
}

/** @param {Context} context @param {string | CanvasPattern | CanvasGradient} fill @param {number} x @param {number} y @param {number} w @param {number} h @param {number} [alpha] */
export function paint(context, fill, x, y, w, h, alpha = 1) {
	context.globalAlpha = alpha;
	context.fillStyle = fill;
	context.fillRect(x, y, w, h);
	context.globalAlpha = 1;
}

/** @param {Context} context @param {string} fill @param {...[number, number]} corners */
export function paintShape(context, fill, ...corners) {
	context.fillStyle = fill;
	context.beginPath();
	for (const [x, y] of corners) context.lineTo(x, y);
	context.fill();
}

/** @param {Context} context @param {string} fill @param {number} x @param {number} y @param {number} w @param {number} h @param {number | number[]} radius */
export function paintRound(context, fill, x, y, w, h, radius) {
	context.fillStyle = fill;
	context.beginPath();
	context.roundRect(x, y, w, h, radius);
	context.fill();
}

/** @param {Context} context @param {string} font @param {CanvasTextBaseline} [baseline] @param {CanvasTextAlign} [align] */
export function setFont(context, font, baseline = "middle", align = "left") {
	context.font = font;
	context.textBaseline = baseline;
	context.textAlign = align;
}

/**
 * A text on a rounded background of its width; `x` is its left edge, or says where that is when the text is so wide.
 * @param {Context} context @param {Theme} theme @param {string} text @param {number | ((width: number) => number)} x @param {number} y
 * @param {{ fill: string, ink: string, pad: number, radius: number | number[] }} look
 */
export function paintLabel(context, theme, text, x, y, { fill, ink, pad, radius }) {
	setFont(context, theme.font);
	const width = context.measureText(text).width + 2 * pad;
	const left = typeof x === "number" ? x : x(width);
	paintRound(context, fill, left, y, width, 18, radius);
	context.fillStyle = ink;
	context.fillText(text, left + pad, y + 9.5);
}
