// SPDX-License-Identifier: Apache-2.0
//
// trace_processor_agrees.mjs ORMA FOLDER TRACE...: compares what Perfetto's Trace Processor and `orma sql` answer, byte for
// byte: every table and view that both have, with the columns that both have, and the statements beside this file. Prints what
// differs. It fails, too, when Trace Processor has counted an error or a loss in one of the traces whose names begin with "own".
//
// Ids of arguments are numbers of each program's own, so that the arguments themselves are compared.
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { trace_processor } from './trace_processor.mjs';

// Columns and tables that are not compared as they are, with the reason.
const LEFT_OUT = new Map(Object.entries({
	args: 'compared where they are used',
	'counter_track.parent_id': 'Trace Processor leaves it empty in this view',
	'process_counter_track.parent_id': 'the same',
	'thread_counter_track.parent_id': 'the same',
	'cpu_counter_track.parent_id': 'the same',
	'counter_track.description': 'the texts about memory counters are each program\'s own',
	'process_counter_track.description': 'the same',
	metadata: 'a statement of its own compares it, in the order of names',
	'trace_bounds.end_ts': 'a slice without an end ends a nanosecond before its beginning in Trace Processor 55',
	trace_metrics: 'metrics of the first version, which upstream has deprecated',
}));
const RELATIONS = `select name from sqlite_master
	where type in ('table', 'view') and name not glob '_*' and name not glob 'sqlite_*' order by name`;
const MARK = 'a line between results 6f1c2a';
const [orma, folder, ...traces] = process.argv.slice(2);
const open = await trace_processor(folder);
const statements = readFileSync(new URL('trace_processor_statements.sql', import.meta.url), 'latin1')
	.split('\n\n').map((text) => text.trim()).filter((text) => text !== '');

/** What `orma sql` answers to each statement. */
function ask_orma(trace, queries) {
	const input = queries.map((sql) => `${sql};\nselect '${MARK}' as mark;\n`).join('');
	const { status, stdout, stderr } = spawnSync(orma, ['sql', '--csv', trace], { input, encoding: 'latin1', maxBuffer: 1 << 30 });
	if (status !== 0) throw new Error(`orma sql ended with ${status}: ${stderr}`);
	return stdout.split(`"mark"\n"${MARK}"\n`).slice(0, -1).map((text) => text.replace(/^\n/, '').replace(/\n\n$/, '\n'));
}

function first_difference(theirs, ours) {
	const [left, right] = [theirs.split('\n'), ours.split('\n')];
	const at = left.findIndex((line, i) => line !== right[i]);
	return `  line ${at + 1} of ${left.length - 1}, ours of ${right.length - 1}\n  theirs ${left[at]?.slice(0, 400)}\n  ours   ${right[at]?.slice(0, 400)}`;
}

/** The arguments of a set in one text, but for the descriptions above. */
const joined = (column) => `(select group_concat(flat_key || '=' || value_type || ':' || coalesce(display_value, 'NULL'), ' ')
	from (select * from args where arg_set_id = r."${column}" and flat_key != 'description' order by flat_key, key, id)) as "${column}"`;

function statement_of(relation, columns) {
	const list = columns.map((column) => (column.endsWith('arg_set_id') ? joined(column) : `"${column}"`));
	// Times that loading took, and counts of zero, which only one of both may list. Newer versions than 55 leave the work out of
	// the name of a worker's thread, as we do. The kernel gives -1 as the number of a thread that has ended; in the packet it has no
	// sign.
	const wheres = {
		stats: ` where value != 0 and name not glob '*_duration_ns'`,
		thread: ` where coalesce(name, '') not glob 'kworker/*' and tid not in (-1, 4294967295)`,
	};
	const where = wheres[relation] ?? '';
	// The order of rows of one time is not defined in this view.
	const order = relation === 'counters' ? ' order by ts, id' : '';
	return `select ${list.join(', ')} from ${relation} r${where}${order}`;
}

let compared = 0, rows = 0, bad = 0;
for (const path of traces) {
	const trace = await open(readFileSync(path));
	const ours = new Set(ask_orma(path, [RELATIONS])[0].split('\n').slice(1));
	const shared = [];
	for (const [name] of trace.query(RELATIONS).rows) {
		if (!ours.has(`"${name}"`) || LEFT_OUT.has(name)) continue;
		try {
			shared.push([name, trace.query(`select * from ${name} limit 0`).columns]);
		} catch {
			// This is a function that returns a table.
		}
	}
	const headers = ask_orma(path, shared.map(([name]) => `select * from ${name} limit 0`));
	const queries = shared.map(([name, columns], i) => {
		const of_orma = headers[i].trim().split(',');
		return statement_of(name, columns.filter((column) => of_orma.includes(`"${column}"`) && !LEFT_OUT.has(`${name}.${column}`)));
	}).concat(statements);
	const answers = ask_orma(path, queries);
	queries.forEach((sql, i) => {
		const theirs = trace.csv(sql).latin1Slice();
		compared++;
		rows += theirs.split('\n').length - 2;
		if (theirs === answers[i]) return;
		console.log(`${basename(path)}: ${sql.replace(/\s+/g, ' ')}\n${first_difference(theirs, answers[i])}`);
		bad++;
	});
	if (basename(path).startsWith('own'))
		for (const [name, value] of trace.query(`select name, value from stats where severity in ('error', 'data_loss') and value > 0`).rows) {
			console.log(`${basename(path)}: Trace Processor counts ${value} of ${name}`);
			bad++;
		}
}
console.log(`${compared} statements and ${rows} rows compared, ${bad} differ`);
process.exit(bad > 0 ? 1 : 0);
