// headers.js - the headers of tracks, to the left of the boxes: name, fold, pin, and moving a track by dragging its name.
import { h, trackPointer } from "./dom.js";
import { COUNTER_MODES } from "./draw_counter.js";
import { rowIndexAt } from "./model.js";
import { grouped } from "./time.js";

const DRAG_PIXELS = 6;

/** @param {App} app @param {Row} row @param {() => Row[]} rowsOf the pane's rows */
export function makeHeader(app, row, rowsOf) {
	const { node } = row;
	const toggle = () => app.fold(node.id);
	const events = node.events || row.body?.events;
	const name = h("span.name", { title: row.title + (events ? `\n${grouped(events)} events` : "") }, row.title);
	const element = h(
		`div.head.${row.kind}`,
		{ "data-node": node.id, role: "listitem" },
		row.foldable ? h("button.fold", { onclick: toggle }) : h("span.fold"),
		name,
		node.unit && h("span.unit", node.unit),
		row.kind === "counter" && modeMenu(app, row),
		h("button.pin", { title: "Pin to the top", "aria-label": `Pin ${row.title}`, onclick: () => app.pin(node.id) }),
	);
	name.addEventListener(row.isContainer ? "click" : "dblclick", toggle);
	if (!row.pinned) name.onpointerdown = (event) => startMove(app, event, element, node, rowsOf);
	return element;
}

/** How a counter is shown. @param {App} app @param {Row} row */
function modeMenu(app, { node, title }) {
	const onchange = () => app.showCounter(node.id, /** @type {CounterMode} */ (select.value));
	const options = COUNTER_MODES.map((value) => h("option", { value }, value));
	const props = { title: "How the counter is shown (V)", "aria-label": `How ${title} is shown`, onchange };
	const select = h("select.mode", props, ...options);
	return select;
}

/** @param {HTMLElement} element @param {Row} row */
export function updateHeader(element, row) {
	element.style.top = `${row.y}px`;
	element.style.height = `${row.height}px`;
	element.style.setProperty("--indent", String(row.indent));
	const fold = /** @type {HTMLElement} */ (element.firstElementChild);
	if (row.foldable) {
		fold.ariaExpanded = String(row.open);
		fold.ariaLabel = `${row.open ? "Fold" : "Unfold"} ${row.title}`;
	}
	const menu = element.querySelector("select");
	if (menu) menu.value = row.mode;
	menu?.classList.toggle("is-set", row.mode !== "value");
}

/** Moves a track among its siblings. @param {App} app @param {PointerEvent} event @param {HTMLElement} element @param {TrackNode} node @param {() => Row[]} rowsOf */
function startMove(app, event, element, node, rowsOf) {
	if (event.button !== 0) return;
	const from = event.clientY;
	let moved = 0;
	trackPointer(
		event,
		(now) => {
			const by = now.clientY - from;
			moved = Math.abs(by) > DRAG_PIXELS ? by : 0;
			element.style.transform = `translateY(${moved}px)`;
			element.classList.toggle("is-dragged", moved !== 0);
		},
		(_, cancelled) => {
			element.style.transform = "";
			element.classList.remove("is-dragged");
			const rows = rowsOf();
			const own = rows.find((row) => row.node === node);
			if (cancelled || moved === 0 || !own) return;
			const target = siblingAt(app, node, rows, own.y + moved + own.height / 2);
			if (target !== null) app.model.move(node.id, target, moved > 0);
			app.emit("rows");
		},
	);
}

/** The sibling of a node at a height: the one itself, or the one that contains what is there. @param {App} app @param {TrackNode} node @param {Row[]} rows @param {number} y */
function siblingAt(app, node, rows, y) {
	const row = rows[Math.min(rows.length - 1, rowIndexAt(rows, Math.max(0, y)))];
	let id = row?.node.id ?? -1;
	while (id >= 0 && app.model.nodes[id].parent !== node.parent) id = app.model.nodes[id].parent;
	return id < 0 || id === node.id ? null : id;
}
