// gaps.js - times in which data were lost: which rows they concern, and the bands that show them.
import { paint } from "./canvas.js";
import { paintHatch } from "./draw_slices.js";

/** Narrower bands are drawn as wide as this, so that no loss is invisible. */
const LEAST_BAND = 3;
/** Wider ones are torn at their edges. */
const LEAST_TORN = 10;
const TOOTH = 3;

export class Gaps {
	/** @type {Map<string, Gap[]>} */
	owned = new Map();

	/** @param {Gap[]} gaps of the trace, in any order */
	constructor(gaps) {
		this.all = [...gaps].sort((a, b) => a.start - b.start);
		for (const gap of this.all) {
			const owner = gap.utid !== null ? `t${gap.utid}` : `c${gap.cpu}`;
			const list = this.owned.get(owner);
			if (list) list.push(gap);
			else this.owned.set(owner, [gap]);
		}
	}

	/** The gaps that concern a row, by time. @param {{ node: TrackNode }} row @returns {Gap[]} */
	of({ node }) {
		if (node.kind === "losses") return this.all;
		const owner = node.kind === "sched" ? `c${node.cpu}` : `t${node.utid}`;
		return this.owned.get(owner) ?? [];
	}

	/** For how long data of a row were lost in a stretch of time. @param {{ node: TrackNode }} row @param {number} start @param {number} end */
	lostIn(row, start, end) {
		return this.of(row).reduce((sum, gap) => sum + Math.max(0, Math.min(end, gap.end) - Math.max(start, gap.start)), 0);
	}

	/** The gap of a row that is drawn at a place on the screen. @param {{ node: TrackNode }} row @param {number} x @param {Scale} scale */
	at(row, x, scale) {
		return this.of(row).find(({ start, end }) => {
			const [left, width] = bandOf(scale, start, end);
			return x >= left && x < left + width;
		});
	}
}

/** Where a band begins, and its width. @param {Scale} scale @param {number} start @param {number} end @returns {[number, number]} */
function bandOf(scale, start, end) {
	const left = scale.x(start);
	const width = Math.max(LEAST_BAND, scale.x(end) - left);
	return [left - (width === LEAST_BAND ? 1 : 0), width];
}

/**
 * Draws bands over a row. Those that lie in the same place are one.
 * @param {CanvasRenderingContext2D} context @param {Gap[]} gaps @param {{ y: number, height: number }} row
 * @param {Scale} scale @param {Theme} theme
 */
export function drawGaps(context, gaps, { y, height }, scale, theme) {
	let drawn = 0;
	for (const { start, end } of gaps) {
		const [left, width] = bandOf(scale, start, end);
		const from = Math.max(left, drawn);
		const to = Math.min(left + width, scale.width);
		if (to <= from) continue;
		drawBand(context, from, to, y, height - 1, theme);
		drawn = to;
	}
}

/**
 * What reaches over a band fades in it, and is torn at its edges: nobody knows whether it lasted.
 * @param {CanvasRenderingContext2D} context @param {number} from @param {number} to @param {number} y @param {number} height
 * @param {Theme} theme
 */
function drawBand(context, from, to, y, height, theme) {
	const tooth = to - from < LEAST_TORN ? 0 : TOOTH;
	context.save();
	context.beginPath();
	for (let at = 0; at <= height; at += TOOTH) context.lineTo(from + (at % 2) * tooth, y + at);
	for (let at = height - (height % TOOTH); at >= 0; at -= TOOTH) context.lineTo(to - (at % 2) * tooth, y + at);
	context.closePath();
	context.clip();
	paint(context, theme.background, from, y, to - from, height, 0.6);
	paint(context, theme.loss, from, y, to - from, height, 0.3);
	paintHatch(context, from, y, to - from, height);
	// Half of a line is outside of the shape.
	context.lineWidth = 2;
	context.strokeStyle = theme.loss;
	context.stroke();
	context.restore();
}
