// camera.js - which part of the trace is on screen, and how it moves there. The range follows a target; it gets nearer to
// it by the same share in each frame, so that a key that is pressed again only moves the target.

const SHORTEST_NS = 20;
/** Which share of the way is left after one sixtieth of a second. */
const SHARE_LEFT = 0.6;
const FRAME_MS = 1000 / 60;
/** How much of the screen may show what lies outside the trace. */
const OUTSIDE = 0.05;

export class Camera {
	start = 0;
	last = 0;

	/** @param {number} end of the trace @param {() => boolean} isCalm whether movement is not wanted */
	constructor(end, isCalm) {
		this.traceEnd = Math.max(end, SHORTEST_NS);
		this.isCalm = isCalm;
		this.end = this.traceEnd;
		this.target = { start: this.start, end: this.end };
	}

	get moving() {
		return this.start !== this.target.start || this.end !== this.target.end;
	}

	/** The time in the middle of the screen. */
	get middle() {
		return (this.target.start + this.target.end) / 2;
	}

	/** @param {number} start @param {number} end @param {boolean} [soft] */
	go(start, end, soft = true) {
		const span = Math.min(this.traceEnd * 1.2, Math.max(SHORTEST_NS, end - start));
		const middle = (start + end) / 2;
		const low = -span * OUTSIDE;
		const high = this.traceEnd - span * (1 - OUTSIDE);
		const from = Math.min(Math.max(middle - span / 2, low), Math.max(low, high));
		this.target = { start: from, end: from + span };
		if (!soft || this.isCalm()) this.arrive();
	}

	arrive() {
		Object.assign(this, this.target);
	}

	/** Makes the range `factor` times as long, and leaves a time where it is on screen. @param {number} factor @param {number} time @param {boolean} [soft] */
	zoom(factor, time, soft = true) {
		const { start, end } = soft ? this.target : this;
		const span = end - start;
		const limited = Math.min(this.traceEnd * 1.2, Math.max(SHORTEST_NS, span * factor));
		const from = time - ((time - start) * limited) / span;
		this.go(from, from + limited, soft);
	}

	/** @param {number} share of the screen @param {boolean} [soft] */
	pan(share, soft = true) {
		const { start, end } = soft ? this.target : this;
		const by = (end - start) * share;
		this.go(start + by, end + by, soft);
	}

	/** Shows a stretch of time in the middle half of the screen. @param {number} start @param {number} end */
	fit(start, end) {
		const pad = Math.max((end - start) / 2, SHORTEST_NS / 2);
		this.go(start - pad, end + pad);
	}

	/** Moves so that a stretch is on screen, without zooming unless it has to. @param {number} start @param {number} end */
	show(start, end) {
		const { start: from, end: to } = this.target;
		const span = to - from;
		if (start >= from && end <= to) return;
		if (end - start > span) this.fit(start, end);
		else this.go((start + end - span) / 2, (start + end + span) / 2);
	}

	/** Goes on with a movement. @param {number} now in ms @returns {boolean} whether the range has changed */
	step(now) {
		const passed = Math.min(100, now - this.last);
		this.last = now;
		if (!this.moving) return false;
		const left = Math.pow(SHARE_LEFT, passed / FRAME_MS);
		this.start = this.target.start + (this.start - this.target.start) * left;
		this.end = this.target.end + (this.end - this.target.end) * left;
		const near = (this.target.end - this.target.start) / 4000;
		if (Math.abs(this.start - this.target.start) < near && Math.abs(this.end - this.target.end) < near) this.arrive();
		return true;
	}
}
