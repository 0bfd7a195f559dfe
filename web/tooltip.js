// tooltip.js - says what is under the mouse.
import { BOX_SCHED } from "./boxes.js";
import { byId, h, refill } from "./dom.js";
import { counterLabel, valueAt } from "./draw_counter.js";
import { durationText, grouped } from "./time.js";

const AWAY = 14;

/** @param {Timeline} line @param {PointerEvent} event @param {Pane} pane @param {number} box @param {Row | undefined} row */
export function showTooltip(line, event, pane, box, row) {
	const { app } = line;
	const gap = row && app.gaps.at(row, line.hover.x, line.scale);
	const content = gap ? gapContent(gap) : box >= 0 ? boxContent(app, pane, box) : counterContent(line, row);
	if (!content) return hideTooltip();
	const element = byId("tooltip");
	refill(element, ...content);
	element.hidden = false;
	const { offsetWidth: w, offsetHeight: hh } = element;
	const { clientX, clientY } = event;
	const x = Math.max(4, Math.min(clientX + AWAY, innerWidth - w - 4));
	const y = clientY + AWAY + hh < innerHeight ? clientY + AWAY : clientY - AWAY - hh;
	element.style.transform = `translate(${x}px, ${y}px)`;
}

export function hideTooltip() {
	byId("tooltip").hidden = true;
}

/** @param {Gap} gap */
function gapContent({ start, end, what }) {
	return [h("b", "Data were lost"), h("span.number", durationText(end - start)), h("small", what)];
}

/** @param {App} app @param {Pane} pane @param {number} i */
function boxContent(app, pane, i) {
	const { name, start, end, lane, id } = pane.selectionOf(i);
	const [kind, count] = [pane.boxes.kind[i], pane.boxes.count[i]];
	const duration = durationText(end - start);
	const node = app.model.byLane.get(lane);
	const key = app.argumentOf(lane);
	return [
		h("b", name || "(no name)"),
		h("span.number", count > 1 ? `within ${duration}` : duration),
		count > 1 && h("small", `${grouped(count)} events, the longest is this`),
		key && h("small", `${key}: ${app.values.get(id)?.text || "–"}`),
		node && kind !== BOX_SCHED && h("small", app.model.titleOf(node)),
	];
}

/** @param {Timeline} line @param {Row | undefined} row */
function counterContent({ app, hover, scale }, row) {
	const lane = row?.body?.kind === "counter" ? row.body.lane : null;
	if (!row || lane === null) return null;
	const pieces = app.tiles.cover("counters", lane, scale);
	const point = valueAt(pieces, scale.time(hover.x), row.mode, app.meta.end);
	if (!point) return null;
	const text = (/** @type {number} */ value) => counterLabel(value, row.body?.unit, row.mode);
	return [
		h("b", row.title),
		h("span.number", text(point.last)),
		point.max > point.min && h("small", `${text(point.min)} to ${text(point.max)} in this pixel`),
	];
}
