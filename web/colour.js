// colour.js - which colour a box has. The colours of boxes are the same in the light and the dark theme: black text is
// legible on all of them. The colours around the boxes come from the style sheet.
import { durationText } from "./time.js";

/** Three lightnesses of eight hues, moved so that any two are told apart without one kind of cones, too. */
export const PALETTE =
	"ce7785 d38d56 a3972f 67b271 11a5a1 50a9da 8c88da c37fbc f7988c dba651 b8c76d 67c599 4dc9dd 94c0fe ba9ff4 ee9dc9 f7c1ab ead393 cae9b5 97e7cc b4ebff c5cde0 e5c4ff fcd5e4".split(
		" ",
	);

/** The colours of thread states. They differ in lightness, and both D states are hatched as well. */
const STATE_COLOURS = ["2f9447", "c6e052", "f09c33", "a83d68", "d9dde3", "9a94a4", "9a94a4"];
export const STATE = { running: 0, runnable: 1, diskSleep: 2, otherSleep: 3, idle: 4, exited: 5, other: 6 };

export const COLOUR_STATES = PALETTE.length;
export const COLOUR_NONE = COLOUR_STATES + STATE_COLOURS.length;
/** The colours of durations of at least so many nanoseconds. @type {[number, string][]} */
const DURATION_COLOURS = [
	[-Infinity, "fdf3d0"],
	[10e3, "f8dd94"],
	[100e3, "f3bf6c"],
	[1e6, "ec9c62"],
	[10e6, "e27f72"],
];
const COLOUR_DURATIONS = COLOUR_NONE + 1;
export const COLOUR_COUNT = COLOUR_DURATIONS + DURATION_COLOURS.length;
/** A box is drawn in one of three ways: as itself, merged of several, or dimmed because it is not what is looked for. */
export const LOOK_PLAIN = 0;
export const LOOK_MERGED = 1;
export const LOOK_DIM = 2;
export const LOOK_COUNT = 3;

/** FNV-1a over the bytes of a text in UTF-8, as the server has it, in 32 bits. @param {string} text */
export function fnv1a(text) {
	let hash = 0x811c9dc5;
	for (const byte of new TextEncoder().encode(text)) hash = Math.imul(hash ^ byte, 0x01000193);
	return hash >>> 0;
}

/** The colour of a name. Names that differ in digits only have the same one. @param {string} name */
export function colourOfName(name) {
	return fnv1a(name.replace(/\d+/g, "")) % PALETTE.length;
}

/** The colour of the value of an argument. @param {string} text */
export function colourOfValue(text) {
	return text ? fnv1a(text) % PALETTE.length : COLOUR_NONE;
}

/** What stands for a category in boxes, as docs/view-protocol.md says. @param {string | undefined} category */
export function signOfCategory(category) {
	return category ? 1 + (fnv1a(category.replace(/\d+/g, "")) % 255) : 0;
}

/** The colour of a process, the same with any number behind its name. @param {string} name */
export function colourOfProcess(name) {
	return colourOfName(name.replace(/[\s\d]+$/, ""));
}

/** @param {number} ns */
export function colourOfDuration(ns) {
	return COLOUR_DURATIONS + DURATION_COLOURS.findLastIndex(([least]) => ns >= least);
}

/** What colours of slices can tell, besides the argument whose key is behind a dot. */
export const COLOURINGS = /** @type {const} */ (["name", "category", "duration", "process"]);
/** @typedef {typeof COLOURINGS[number] | `.${string}`} Colouring */

/** What the colours of durations stand for. @returns {[string, string][]} */
export function durationLegend() {
	return DURATION_COLOURS.map(([least, hex]) => [
		`#${hex}`,
		least > 0 ? `${durationText(least)} or longer` : "Less than 10 µs",
	]);
}

/** The states in the order of their colours, by their letters or by what the tracing system writes out. */
const STATE_PATTERNS = [
	/^running$/i,
	/^r\b|runnable/i,
	/^[dw].*io|uninterruptible.*io/i,
	/^[dw]|uninterruptible/i,
	/^[si]\b|sleep|idle/i,
	/^[xz]|dead|zombie|exit/i,
	/^/,
];

/** Which colour of states a state has. @param {string} state */
export function colourOfState(state) {
	return STATE_PATTERNS.findIndex((pattern) => pattern.test(state));
}

/** @type {Record<string, string>} */
const STATE_WORDS = {
	Running: "running",
	R: "runnable",
	"R+": "runnable (preempted)",
	S: "sleeping",
	D: "uninterruptible sleep",
	T: "stopped",
	t: "traced",
	X: "exited",
	Z: "zombie",
	P: "parked",
	I: "idle",
};

/** A state in words. @param {string} state */
export function stateText(state) {
	return STATE_WORDS[state] ?? state;
}

/** @param {string} hex @param {string} other @param {number} share how much of the other colour */
export function mixed(hex, other, share) {
	const channel = (/** @type {number} */ at) => {
		const [from, to] = [hex, other].map((colour) => parseInt(colour.slice(at, at + 2), 16));
		return Math.round(from + (to - from) * share)
			.toString(16)
			.padStart(2, "0");
	};
	return `#${[0, 2, 4].map(channel).join("")}`;
}

/** The fill of each look of each colour, before a background. @param {string} background */
export function fillsOf(background) {
	const hexes = [...PALETTE, ...STATE_COLOURS, "b8bec8", ...DURATION_COLOURS.map(([, hex]) => hex)];
	return [0, 0.15, 0.85].flatMap((share) => hexes.map((hex) => mixed(hex, background, share)));
}

/** Reads the variables of the style sheet; of light-dark(a, b) it takes the colour of this theme. @param {HTMLElement} root @returns {Theme} */
export function themeOf(root) {
	const style = getComputedStyle(root);
	const dark = (root.dataset.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "")) === "dark";
	const value = (/** @type {string} */ name) => {
		const text = style.getPropertyValue(`--${name}`).trim();
		return /^light-dark\((.*),\s*(.*)\)$/.exec(text)?.[dark ? 2 : 1] ?? text;
	};
	const names = "stripe line grid text muted accent loss select bar".split(" ");
	/** @type {any} */
	const colours = Object.fromEntries(names.map((name) => [name, value(name)]));
	const background = value("canvas");
	return {
		...colours,
		dark,
		background,
		accentSoft: value("accent-soft"),
		fills: fillsOf(background.slice(1)),
		inks: ["#111418", dark ? "#111418" : "#2a3037", colours.muted],
		font: `11px ${value("sans")}`,
		smallFont: `10px ${value("sans")}`,
	};
}
