// report.js - draws the flame graphs of a report, and starts its timeline. The tables can be read without it; a button leads from them to
// the timeline and back, each with its own style sheet. A link to a place in the trace begins with the timeline. A report that
// compares two traces has no timeline.
import { themeOf } from "./colour.js";
import { byId, h } from "./dom.js";
import { Flame } from "./flame.js";
import { startPage } from "./page.js";
import { jsonIn } from "./report_data.js";
import { improveTables } from "./report_tables.js";
import { ReportSource } from "./source_report.js";
import { Cropper } from "./text.js";

/** Shows the timeline or the tables. @param {boolean} isTimeline */
function showPart(isTimeline) {
	/** @type {HTMLStyleElement} */ (byId("view-style")).media = isTimeline ? "all" : "not all";
	/** @type {HTMLStyleElement} */ (byId("report-style")).media = isTimeline ? "not all" : "all";
	byId("report").hidden = isTimeline;
	byId("page").hidden = !isTimeline;
}

/** What flame graphs need of a page: the colours of the tables, and the width of letters. */
function makePainter() {
	const painter = { theme: themeOf(document.documentElement), cropper: new Cropper() };
	const context = h("canvas").getContext("2d");
	if (context) {
		context.font = painter.theme.font;
		painter.cropper.measure(context);
	}
	const on = (/** @type {unknown} */ _, /** @type {() => void} */ listener) =>
		matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
			painter.theme = themeOf(document.documentElement);
			listener();
		});
	return Object.assign(painter, { on });
}

function drawFlames() {
	const boxes = /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll("#report .flamebox"));
	if (boxes.length === 0) return;
	const painter = makePainter();
	for (const box of boxes) {
		/** @type {FlameAnswer} */
		const answer = jsonIn(`orma-${box.id}`);
		box.hidden = false;
		new Flame(painter, box, answer);
		const colours = answer.sides ? " Orange takes more in B, blue more in A; a box is as wide as both are." : "";
		box.append(h("p.flame-hint", `Click a box to make it as wide as the graph.${colours}`));
	}
}

async function startReport() {
	improveTables(byId("report"));
	drawFlames();
	if (!document.getElementById("orma-layout")) return;
	const template = /** @type {HTMLTemplateElement} */ (byId("orma-page"));
	const page = h("div", { id: "page", hidden: true }, template.content);
	document.body.append(page);
	byId("sql-button").hidden = true;
	const source = new ReportSource();
	const opener = byId("open-timeline");
	/** @type {Promise<void> | null} */
	let started = null;
	const open = async () => {
		showPart(true);
		// The parts measure their places, so they are made when they are on screen.
		started ??= source.open().then(() => startPage(source, source.metaData, source.tree, () => []));
		await started;
	};
	byId("tools").prepend(h("button", { onclick: () => showPart(false), title: "Show the tables" }, "Tables"));
	opener.addEventListener("click", () => void open().catch(tellFailure));
	byId("timeline-link").hidden = false;
	// The address says where to begin, or else the one who has made the report.
	if (location.hash.length <= 1 && source.layout.open) history.replaceState(null, "", `#${source.layout.open}`);
	if (location.hash.length > 1) await open();
}

/** @param {unknown} error */
function tellFailure(error) {
	showPart(false);
	byId("timeline-link").replaceChildren(`The timeline cannot be shown: ${error instanceof Error ? error.message : error}`);
}

startReport().catch(tellFailure);
// From here on the tables, the flame graphs and the button answer; before, they can only be read.
byId("report").dataset.ready = "";
