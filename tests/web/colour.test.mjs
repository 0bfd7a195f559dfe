// Colours of names and states: that they say what they mean, that text on them is legible, and that somebody who sees only two
// of the three primary colours tells them apart.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import {
	COLOUR_COUNT,
	COLOUR_NONE,
	COLOUR_STATES,
	LOOK_COUNT,
	LOOK_DIM,
	PALETTE,
	STATE,
	colourOfDuration,
	colourOfName,
	colourOfState,
	fillsOf,
	durationLegend,
	fnv1a,
	mixed,
	signOfCategory,
} from "../../web/colour.js";

/** How a colour looks to eyes without one kind of cones, in linear RGB: the matrices of Machado, Oliveira and Fernandes (2009). */
const EYES = {
	usual: [1, 0, 0, 0, 1, 0, 0, 0, 1],
	protanopia: [0.152286, 1.052583, -0.204868, 0.114503, 0.786281, 0.099216, -0.003882, -0.048116, 1.051998],
	deuteranopia: [0.367322, 0.860646, -0.227968, 0.280085, 0.672501, 0.047413, -0.01182, 0.04294, 0.968881],
	tritanopia: [1.255528, -0.076749, -0.178779, -0.078411, 0.930809, 0.147602, 0.004733, 0.691367, 0.3039],
};
/** OKLab, from linear RGB by way of what the three kinds of cones see. */
const TO_CONES = [0.41222147, 0.53633254, 0.05144599, 0.2119035, 0.68069954, 0.10739696, 0.08830246, 0.28171884, 0.6299787];
const TO_LAB = [0.21045426, 0.79361778, -0.00407205, 1.9779985, -2.42859221, 0.4505937, 0.02590404, 0.78277177, -0.80867577];

const product = (matrix, v) => [0, 3, 6].map((row) => matrix[row] * v[0] + matrix[row + 1] * v[1] + matrix[row + 2] * v[2]);

/** Linear red, green and blue of "rrggbb" or "#rrggbb", from 0 to 1. */
function linearOf(hex) {
	const parts = [0, 2, 4].map((at) => parseInt(hex.replace("#", "").slice(at, at + 2), 16) / 255);
	return parts.map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
}

function labOf(hex, eyes) {
	const seen = product(EYES[eyes], linearOf(hex)).map((c) => Math.min(1, Math.max(0, c)));
	return product(TO_LAB, product(TO_CONES, seen).map(Math.cbrt));
}

/** How far two colours are apart in OKLab: black and white are 1 apart. */
function distance(a, b, eyes) {
	const [one, other] = [labOf(a, eyes), labOf(b, eyes)];
	return Math.hypot(...one.map((part, i) => part - other[i]));
}

/** The contrast of two colours, from 1 to 21, as the Web Content Accessibility Guidelines define it. */
function contrast(a, b) {
	const [dark, light] = [a, b]
		.map((hex) => product([0.2126, 0.7152, 0.0722, 0, 0, 0, 0, 0, 0], linearOf(hex))[0])
		.sort((x, y) => x - y);
	return (light + 0.05) / (dark + 0.05);
}

const style = readFileSync(new URL("../../web/style.css", import.meta.url), "utf8");
const THEMES = ["light", "dark"].map((name, i) => {
	const colour = (variable) => style.match(`--${variable}: light-dark\\((#\\w+), (#\\w+)\\)`)[1 + i];
	return { name, background: colour("canvas"), muted: colour("muted") };
});
const BLACK = "#111418";

function assertApart(colours, least, eyes) {
	colours.forEach((a, i) => {
		for (const b of colours.slice(0, i)) {
			const apart = distance(a, b, eyes);
			assert.ok(apart >= least, `${a} and ${b} are ${apart.toFixed(3)} apart with ${eyes}`);
		}
	});
}

test("any two colours of the palette are told apart, also without one kind of cones", () => {
	for (const eyes of Object.keys(EYES)) assertApart(PALETTE, eyes === "usual" ? 0.06 : 0.035, eyes);
});

test("the states that are drawn are told apart without their hatching, also from the background", () => {
	const states = fillsOf("ffffff").slice(COLOUR_STATES, COLOUR_NONE);
	const drawn = ["running", "runnable", "diskSleep", "otherSleep", "other"].map((name) => states[STATE[name]]);
	for (const eyes of Object.keys(EYES)) {
		assertApart(drawn, 0.085, eyes);
		for (const { background } of THEMES)
			for (const colour of drawn) assert.ok(distance(colour, background, eyes) >= 0.13, `${colour} on ${background}`);
	}
	// The style sheet has the same ones, for legends.
	drawn.forEach((colour) => assert.ok(style.includes(colour), colour));
});

test("the steps of durations are told apart, also without one kind of cones", () => {
	const steps = durationLegend().map(([colour]) => colour);
	for (const eyes of Object.keys(EYES)) assertApart(steps, 0.06, eyes);
});

test("text is legible on single, merged and dimmed boxes of every colour, in both themes", () => {
	for (const { name, background, muted } of THEMES) {
		fillsOf(background.slice(1)).forEach((fill, i) => {
			const isState = i % COLOUR_COUNT >= COLOUR_STATES && i % COLOUR_COUNT < COLOUR_NONE;
			const ink = i >= LOOK_DIM * COLOUR_COUNT ? muted : BLACK;
			// Strips of states are too low for text.
			if (!isState) assert.ok(contrast(fill, ink) >= 4.5, `${fill}, ${name}: ${contrast(fill, ink).toFixed(2)}`);
		});
	}
});

test("names have the colour of their hash, and digits do not matter", () => {
	assert.equal(PALETTE.length, 24);
	assert.equal(fnv1a(""), 0x811c9dc5);
	assert.equal(fnv1a("a"), 0xe40c292c);
	assert.equal(fnv1a("foobar"), 0xbf9cf968);
	assert.equal(colourOfName("frame 17"), colourOfName("frame 4711"));
	const used = new Set(
		Array.from({ length: 500 }, (_, i) => colourOfName("name".repeat(1 + (i % 9)) + String.fromCharCode(97 + (i % 26)))),
	);
	assert.ok(used.size > 20);
});

test("the sign of a category is that of the server", () => {
	// tests/unit/view/tiles_test.c has the same numbers.
	const names = ["gpu", "cpu1", "cpu22", undefined, "Zähler 7", "описание", "計測🚀"];
	assert.deepEqual(names.map(signOfCategory), [138, 200, 200, 0, 245, 48, 237]);
});

test("durations have five colours, whose legend says where each begins", () => {
	const legend = durationLegend();
	assert.deepEqual(
		legend.map(([, text]) => text),
		["Less than 10 µs", "10 µs or longer", "100 µs or longer", "1 ms or longer", "10 ms or longer"],
	);
	const fills = fillsOf("ffffff");
	const fillOf = (ns) => fills[colourOfDuration(ns)];
	assert.deepEqual(
		[0, 9999, 10e3, 99e3, 1e5, 1e6, 5e9].map(fillOf),
		[0, 0, 1, 1, 2, 3, 4].map((i) => legend[i][0]),
	);
});

test("states have the colour of what they mean", () => {
	const expected = {
		Running: "running",
		R: "runnable",
		"R+": "runnable",
		S: "idle",
		I: "idle",
		D: "otherSleep",
		"D (IO)": "diskSleep",
		Z: "exited",
	};
	for (const [state, name] of Object.entries(expected)) assert.equal(colourOfState(state), STATE[name], state);
	assert.equal(colourOfState("K"), STATE.other);
});

test("there is a fill for each look of each colour", () => {
	assert.equal(fillsOf("ffffff").length, COLOUR_COUNT * LOOK_COUNT);
	assert.equal(mixed("000000", "ffffff", 0.5), "#808080");
});
