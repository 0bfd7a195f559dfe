#compdef orma
# SPDX-License-Identifier: Apache-2.0
# orma.zsh - completion for zsh. What it offers is what `orma --help` and `orma COMMAND --help` print: a new option needs
# nothing here. An option whose value is called FILE or DIR takes those; the words of the line "Usage:" say what follows.

_orma_options() # the text of --help, on standard input
{
	# Of each option: its name, what its value is called, what it is for; with tabs between.
	awk '
	function flush(    i) {
		for (i = 1; i <= count; i++) print names[i] "\t" values[i] "\t" text
		count = 0
	}
	/^ +-/ {
		flush()
		text = ""
		sub(/^ +/, "")
		if (match($0, /  +/)) {
			text = substr($0, RSTART + RLENGTH)
			$0 = substr($0, 1, RSTART - 1)
		}
		for (word = 1; word <= NF; word++) {
			name = $word
			gsub(/[][,:]/, "", name)
			if (name ~ /^--?[A-Za-z][A-Za-z0-9_-]*$/) {
				names[++count] = name
				values[count] = ""
			} else if (name ~ /^[A-Z][A-Z=]*$/) {
				for (i = count; i > 0 && values[i] == ""; i--) values[i] = name
			} else {
				if (text == "") for (; word <= NF; word++) text = text (text == "" ? "" : " ") $word
				break
			}
		}
		next
	}
	count > 0 && text == "" { sub(/^ +/, ""); text = $0 }
	{ flush() }
	END { flush() }'
}

# Prints the lines of standard input that are words without a meaning to a shell, and are not options. Every local user can
# register a data source under any name.
_orma_plain()
{
	LC_ALL=C sed -nE '\,^[A-Za-z0-9_][A-Za-z0-9_./:-]*$,p'
}

# Data sources that the daemon knows, those that --help names, and the kernel's events as far as they may be read.
_orma_source_lines()
{
	$orma record --help 2>/dev/null | grep -oE 'linux\.[a-z_]+|track_event'
	timeout 1 $orma query 2>/dev/null | LC_ALL=C awk '
		/^DATA SOURCES/ { on = 1; next }
		/^[A-Z][A-Z ]*:/ { on = 0 }
		on && /^[a-z]/ { # a column of 40, or more for one that is longer
			name = length($1) > 40 ? $1 : substr($0, 1, 40)
			sub(/ +$/, "", name)
			print name
		}'
	sed 's,:,/,' /sys/kernel/tracing/available_events 2>/dev/null
}

_orma_sources()
{
	local -aU sources
	sources=(${(f)"$(_orma_source_lines | _orma_plain)"})
	compadd -a sources
}

_orma()
{
	local orma=$words[1] command=$words[2] help action name value text usage
	local -a commands specs

	if (( CURRENT == 2 )) && [[ $words[2] = -* ]]; then
		_arguments '--help[show the commands]' '--version[print the version]'
		return
	elif (( CURRENT == 2 )); then
		commands=(${(f)"$($orma --help 2>/dev/null | sed -n '/^Commands:/,/^$/s/^  *\([a-z][a-z_]*\)  *\(.*\)/\1:\2/p')"})
		_describe command commands
		return
	fi
	help="$($orma $command --help 2>/dev/null)" || return
	# Fields may be empty, which tabs do not show.
	while IFS=$'\037' read -r name value text; do
		case $name$value in
		--user*) action=:_users ;;
		--group*) action=:_groups ;;
		--seccomp*) action=':(errno kill off)' ;;
		*FILE* | *TRACE* | *CONFIG*) action=:_files ;;
		*DIR*) action=':_files -/' ;;
		*) action=': ' ;;
		esac
		text=${${${text//\\/}//\[/(}//\]/)}
		specs+=("*$name${value:+${${name:#-?}:+=}}[$text]${value:+:$value$action}")
	done < <(_orma_options <<<"$help" | tr '\t' '\037')
	usage=${${(M)${(f)help}:#Usage:*}[1]}
	case $usage in
	*SOURCE*) specs+=('*:source:_orma_sources') ;;
	*.proto*) specs+=('*:file:_files -g "*.proto"') ;;
	*FILE* | *TRACE*) specs+=('*:file:_files') ;;
	esac
	(( CURRENT-- ))
	shift words
	_arguments -s $specs
}

_orma "$@"
