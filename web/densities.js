// densities.js - how busy a process was over time, for folded processes and for the map of the whole trace. A stretch three
// times as long as the screen is asked for, so that panning rarely asks again; until the answer is there, the last one is drawn.

const SCREENS = 3;
const BUCKETS = 2048;

/** @typedef {{ start: number, end: number, shares: Uint8Array }} Density */

export class Densities {
	/** @type {Map<number, Density>} */
	known = new Map();
	/** @type {Set<number>} */
	wanted = new Set();
	busy = false;

	/** @param {Source} source @param {number} end of the trace @param {() => void} changed */
	constructor(source, end, changed) {
		this.source = source;
		this.traceEnd = end;
		this.changed = changed;
	}

	/** What is known of a density; asks for what suits the scale if that is something else. @param {number} id @param {Scale} scale */
	get(id, scale) {
		const known = this.known.get(id);
		const start = Math.max(0, scale.start);
		const end = Math.min(this.traceEnd, scale.end);
		const span = end - start;
		const suits =
			known && known.start <= start && known.end >= end && known.end - known.start <= 2 * SCREENS * Math.max(span, 1);
		if (!suits && span > 0) this.wanted.add(id);
		return known;
	}

	/** Asks for what a frame lacked. @param {Scale} scale */
	async endFrame(scale) {
		if (this.busy || this.wanted.size === 0) return;
		const ids = [...this.wanted];
		this.wanted.clear();
		this.busy = true;
		const span = scale.end - scale.start;
		const beside = ((SCREENS - 1) / 2) * span;
		const start = Math.max(0, scale.start - beside);
		const end = Math.min(this.traceEnd, scale.end + beside);
		// If there is no answer, an empty strip is drawn, and it is asked for again when the range changes.
		const rows = await this.source.density(start, end, BUCKETS, ids).catch(() => []);
		ids.forEach((id, i) => this.known.set(id, { start, end, shares: rows[i] ?? new Uint8Array(1) }));
		this.busy = false;
		this.changed();
	}
}
