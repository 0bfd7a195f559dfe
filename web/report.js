// report.js - starts the timeline in a report. The tables can be read without it; a button leads from them to the timeline and
// back, each with its own style sheet. A link to a place in the trace begins with the timeline.
import { byId, h } from "./dom.js";
import { startPage } from "./page.js";
import { ReportSource } from "./source_report.js";

/** Shows the timeline or the tables. @param {boolean} isTimeline */
function showPart(isTimeline) {
	/** @type {HTMLStyleElement} */ (byId("view-style")).media = isTimeline ? "all" : "not all";
	/** @type {HTMLStyleElement} */ (byId("report-style")).media = isTimeline ? "not all" : "all";
	byId("report").hidden = isTimeline;
	byId("page").hidden = !isTimeline;
}

async function startReport() {
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
