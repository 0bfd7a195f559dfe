# SPDX-License-Identifier: Apache-2.0
#
# lttng_flatten.awk - reads the text of `babeltrace2 --no-delta` with --clock-seconds or --clock-cycles, and prints each event as
#   TIME NAME KEY=VALUE KEY[0]=VALUE KEY.FIELD=VALUE
# Contexts and fields follow each other. An enumeration's value is its label. LTTng's lengths of sequences are left out.

function fail(what) {
	print FILENAME ":" NR ": " what ": " $0 >"/dev/stderr"
	exit 1
}

function skip_blanks() {
	while (substr(text, at, 1) == " ")
		at++
}

# Reads one value, without what is behind it.
function read_word(    begin) {
	begin = at
	if (substr(text, at, 1) == "\"") {
		for (at++; substr(text, at, 1) != "\""; at++) {
			if (at > length(text))
				fail("a string has no end")
			if (substr(text, at, 1) == "\\")
				at++
		}
		at++
	} else {
		while (at <= length(text) && index(" ,", substr(text, at, 1)) == 0)
			at++
	}
	return substr(text, begin, at - begin)
}

# ( "LABEL" : container = 3 ) or ( <unknown> : container = 3 )
function read_label(    label, number) {
	at++
	skip_blanks()
	label = read_word()
	if (!match(substr(text, at), /^ *: container = -?[0-9]+ \)/))
		fail("an enumeration is not understood")
	number = substr(text, at, RLENGTH)
	at += RLENGTH
	gsub(/[^-0-9]/, "", number)
	return label == "<unknown>" ? number : label
}

function add(key, value) {
	if (key !~ /^_[a-z_]*_length$/)
		line = line " " key "=" value
}

# Reads a structure or an array behind its bracket, up to the one that closes it.
function read_fields(prefix, is_array,    key, c) {
	for (;;) {
		skip_blanks()
		c = substr(text, at, 1)
		if (c == "}" || c == "]" && is_array) {
			at++
			return
		}
		if (c == ",") {
			at++
			continue
		}
		if (!match(substr(text, at), /^[^ =]+ = /))
			fail("no field is at " at)
		key = substr(text, at, RLENGTH - 3)
		at += RLENGTH
		key = prefix == "" ? key : is_array ? prefix key : prefix "." key
		c = substr(text, at, 1)
		if (c == "{" || c == "[") {
			at++
			read_fields(key, c == "[")
		} else {
			add(key, c == "(" ? read_label() : read_word())
		}
	}
}

{
	# [TIME] HOST PROVIDER:NAME: { ... }, { ... }
	if (!match($0, /^\[[0-9.]+\] [^ ]+ [^ ]+: /))
		fail("the line is not understood")
	time = $1
	gsub(/[][]/, "", time)
	if (time !~ /[.]/)
		sub(/^0+/, "", time)
	name = $3
	sub(/:$/, "", name)
	line = time " " name
	text = $0
	at = RLENGTH + 1
	while (at <= length(text)) {
		skip_blanks()
		if (substr(text, at, 1) == ",") {
			at++
			continue
		}
		if (substr(text, at, 1) != "{")
			fail("no structure is at " at)
		at++
		read_fields("", 0)
	}
	print line
}
