// histogram.js - how durations are spread, in buckets of powers of two.
import { paint, setFont } from "./canvas.js";
import { durationText } from "./time.js";

/**
 * @param {Theme} theme @param {HTMLCanvasElement} canvas @param {number[]} counts of durations in [2^i, 2^(i+1)) ns @param {number} [marked] a duration whose bucket is lit
 */
export function drawHistogram(theme, canvas, counts, marked) {
	const context = canvas.getContext("2d");
	if (!context || !counts.some(Boolean)) return;
	const first = Math.max(0, counts.findIndex(Boolean) - 1);
	const last = Math.min(counts.length - 1, counts.findLastIndex(Boolean) + 1);
	const most = Math.max(...counts);
	const [width, height] = [canvas.width, canvas.height - 28];
	const step = width / (last - first + 1);
	const lit = marked === undefined ? -1 : Math.floor(Math.log2(Math.max(1, marked)));
	context.clearRect(0, 0, width, canvas.height);
	for (let i = first; i <= last; i++) {
		// The square root keeps the few long ones visible beside the many short ones.
		const h = counts[i] > 0 ? Math.max(3, Math.sqrt(counts[i] / most) * height) : 0;
		const fill = i === lit ? theme.select : theme.bar;
		paint(context, fill, Math.round((i - first) * step), height - h, Math.ceil(step) - 2, h);
	}
	paint(context, theme.line, 0, height, width, 2);
	context.fillStyle = theme.muted;
	setFont(context, theme.font.replace("11", "20"), "bottom");
	context.fillText(durationText(2 ** first), 0, canvas.height);
	context.textAlign = "right";
	context.fillText(durationText(2 ** (last + 1)), width, canvas.height);
}
