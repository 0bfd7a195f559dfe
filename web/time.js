// time.js - the scale between time and pixels, the ticks of the ruler, and times as text.

/** Which stretch of time is on screen, and over how many pixels. */
export class Scale {
	/** @param {number} start @param {number} end @param {number} width */
	constructor(start, end, width) {
		this.start = start;
		this.end = end;
		this.width = width;
		this.perNs = width / (end - start);
	}

	/** @param {number} time */
	x(time) {
		return (time - this.start) * this.perNs;
	}

	/** @param {number} x */
	time(x) {
		return this.start + x / this.perNs;
	}

	/** The level of the tiles that suit this scale: a bucket, of 2^level ns, is one to two pixels wide. */
	get level() {
		return Math.max(0, Math.ceil(Math.log2(1 / this.perNs)));
	}
}

const STEPS_ABOVE_SECONDS = [1, 2, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 7200, 21600, 43200, 86400].map((s) => s * 1e9);

/** The smallest round step of which at most `most` fit into `span`. @param {number} span @param {number} most */
export function niceStep(span, most) {
	const least = span / most;
	if (least > 1e9) return STEPS_ABOVE_SECONDS.find((step) => step >= least) ?? Math.ceil(least / 86400e9) * 86400e9;
	const power = Math.pow(10, Math.floor(Math.log10(Math.max(least, 1))));
	return power * ([1, 2, 5].find((factor) => power * factor >= least) ?? 10);
}

/**
 * The ticks of [start, end]: the labelled ones are `step` apart, and each step has `minor` parts.
 * @param {number} start @param {number} end @param {number} most
 */
export function ticksOf(start, end, most) {
	const step = niceStep(end - start, most);
	const times = [];
	// A multiple of the step has no error that adds up.
	for (let i = Math.ceil(start / step); i * step <= end; i++) times.push(i * step);
	const lead = Number(step.toPrecision(1)[0]);
	return { step, times, minor: step < 10 ? 1 : lead === 2 ? 4 : 5 };
}

/** @type {[number, string][]} */
const UNITS = [
	[1e9, "s"],
	[1e6, "ms"],
	[1e3, "µs"],
	[1, "ns"],
];

/** A duration in the unit that suits it, with four digits at most. @param {number} ns */
export function durationText(ns) {
	if (!Number.isFinite(ns)) return "–";
	const sign = ns < 0 ? "−" : "";
	const size = Math.abs(ns);
	if (size >= 60e9) return sign + longText(size);
	const [unit, name] = UNITS.find(([least]) => size >= least) ?? [1, "ns"];
	return `${sign}${unit === 1 ? Math.round(size) : Number((size / unit).toPrecision(4))} ${name}`;
}

/** @param {number} ns at least a minute */
function longText(ns) {
	const all = Math.round(ns / 1e9);
	const hours = Math.floor(all / 3600);
	const minutes = Math.floor(all / 60) % 60;
	const seconds = all % 60;
	return hours > 0 ? `${hours} h ${minutes} min` : `${minutes} min ${seconds} s`;
}

/** Every digit of a duration: 1 234 567 ns. @param {number} ns */
export function exactText(ns) {
	return `${grouped(Math.round(ns))} ns`;
}

/** @param {number} share */
export function percentText(share) {
	return `${(100 * share).toFixed(1)} %`;
}

/** A number with thin spaces between groups of three digits. @param {number | string} value */
export function grouped(value) {
	const text = String(value);
	return text.replace(/^(-?\d+)/, (digits) => digits.replace(/\B(?=(\d{3})+$)/g, "\u2009"));
}

/** A count with its noun. @param {number} count @param {string} noun */
export function countText(count, noun) {
	return `${grouped(count)} ${noun}${count === 1 ? "" : "s"}`;
}

/** How the page writes points in time; there is one for all of it. */
export class Clock {
	/** @type {bigint | null} */
	wallStart = null;
	end = 0;

	constructor() {
		/** @type {"start" | "ns" | "wall"} */
		this.mode = "start";
	}

	/** Goes on to the next way that this trace has. */
	next() {
		const modes = /** @type {const} */ (["start", "ns", "wall"]);
		const usable = modes.filter((mode) => mode !== "wall" || this.wallStart !== null);
		this.mode = usable[(usable.indexOf(this.mode) + 1) % usable.length] ?? "start";
	}

	/** @param {number} time @param {number} [step] how far apart the times are that must differ; 1 ns if it is left out */
	text(time, step = 1) {
		if (this.mode === "ns") return grouped(Math.round(time));
		if (this.mode === "wall" && this.wallStart !== null) return wallText(this.wallStart, time, step);
		return sinceText(time, step);
	}

	/** The label of a tick. @param {number} time @param {number} step */
	tick(time, step) {
		return this.mode === "start" ? durationOfTick(time, step) : this.text(time, step);
	}
}

/** How many digits behind the second tell times apart that differ by a step. @param {number} step */
function digitsOf(step) {
	return Math.min(9, Math.max(0, -Math.floor(Math.log10(step / 1e9) + 1e-9)));
}

/** What stands behind the second, in groups of three digits. @param {string} all @param {number} digits */
function fractionText(all, digits) {
	return digits > 0 ? `.${all.slice(0, digits).replace(/(\d{3})(?=\d)/g, "$1\u2009")}` : "";
}

/** Seconds with groups of three behind the point. @param {number} time @param {number} step */
function sinceText(time, step) {
	const digits = digitsOf(step);
	const all = Math.round(Math.abs(time) / 10 ** (9 - digits));
	const rest = String(all % 10 ** digits).padStart(digits, "0");
	return `${time < 0 ? "−" : ""}${grouped(Math.floor(all / 10 ** digits))}${fractionText(rest, digits)} s`;
}

/** The label of a tick in the largest unit that needs few digits. @param {number} time @param {number} step */
function durationOfTick(time, step) {
	if (time === 0) return "0";
	if (step >= 60e9) return longText(time);
	const [unit, name] = UNITS.find(([least]) => step >= least) ?? [1, "ns"];
	const value = Math.round(time / unit);
	if (value < 10000) return `${grouped(value)} ${name}`;
	return sinceText(time, step);
}

/** @param {bigint} start @param {number} time @param {number} step */
function wallText(start, time, step) {
	const ns = start + BigInt(Math.round(time));
	const date = new Date(Number(ns / 1000000n));
	const day = date.toISOString().slice(11, 19);
	return day + fractionText(String(ns % 1000000000n).padStart(9, "0"), digitsOf(step));
}

/** A count of bytes. @param {number} bytes */
export function bytesText(bytes) {
	const units = ["B", "KiB", "MiB", "GiB", "TiB"];
	const unit = Math.min(4, Math.floor(Math.log2(Math.abs(bytes) || 1) / 10));
	const value = Math.abs(bytes) / 1024 ** Math.max(0, unit);
	const text = unit === 0 || value >= 100 ? value.toFixed(0) : value.toFixed(1);
	return `${bytes < 0 ? "−" : ""}${text} ${units[unit]}`;
}

/** A value of a counter with the prefix that suits it. @param {number} value @param {string | null | undefined} unit */
export function valueText(value, unit) {
	if (!Number.isFinite(value)) return "–";
	if (/^b(ytes)?$/i.test(unit ?? "")) return bytesText(value);
	if (/^ns$/i.test(unit ?? "")) return durationText(value);
	const size = Math.abs(value);
	const rounded = size >= 1e15 ? value.toExponential(3) : String(Number(value.toFixed(size >= 1000 ? 1 : 3)));
	return unit ? `${grouped(rounded)} ${unit}` : grouped(rounded);
}
