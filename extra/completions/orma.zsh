#compdef orma
# SPDX-License-Identifier: Apache-2.0
# orma.zsh - completion for zsh. What it offers is in the table that `orma --print-options` prints: a new option needs
# nothing here. Its lines are "command", name, arguments, summary, and "option", command, letter, name, value, completion, help;
# "-" is a field without content.

_orma_rows() # ORMA KIND [COMMAND]: prints the lines of the table
{
	$1 --print-options 2>/dev/null | awk -F '\t' -v kind="$2" -v command="${3-}" '$1 == kind && (command == "" || $2 == command)'
}

# Prints the lines of standard input that are words without a meaning to a shell, and are not options. Every local user can
# register a data source under any name.
_orma_plain()
{
	LC_ALL=C sed -nE '\,^[A-Za-z0-9_][A-Za-z0-9_./:-]*$,p'
}

# The sources of the table, data sources that the daemon knows, and the kernel's events as far as they may be read.
_orma_source_lines()
{
	_orma_rows $orma source | cut -f 2
	timeout 1 $orma status 2>/dev/null | LC_ALL=C awk '
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

_orma_action() # COMPLETION: prints what _arguments takes for it
{
	case $1 in
	@file) print -r -- ':_files' ;;
	@folder) print -r -- ':_files -/' ;;
	@proto) print -r -- ':_files -g "*.proto"' ;;
	@user) print -r -- ':_users' ;;
	@group) print -r -- ':_groups' ;;
	@source) print -r -- ':_orma_sources' ;;
	-) print -r -- ': ' ;;
	*) print -r -- ":($1)" ;;
	esac
}

_orma()
{
	local orma=$words[1] command=$words[2] kind owner letter name value completion text each
	local -a commands specs

	if (( CURRENT == 2 )) && [[ $words[2] = -* ]]; then
		_arguments '--help[show the commands]' '--version[print the version]'
		return
	elif (( CURRENT == 2 )); then
		commands=(${(f)"$(_orma_rows $orma command | awk -F '\t' '$4 != "-" { print $2 ":" $4 }')"})
		_describe command commands
		return
	fi
	while IFS=$'\t' read -r kind owner letter name value completion text; do
		text=${${${text//\\/}//\[/(}//\]/)}
		[[ $value != - ]] || value=
		for each in ${letter:#-} -$name; do
			specs+=("*-$each${value:+${${each:#-*}:+}${${(M)each:#-*}:+=}}[$text]${value:+:${value//:/ }$(_orma_action $completion)}")
		done
	done < <(_orma_rows $orma option $command)
	completion=$(_orma_rows $orma command $command | cut -f 3)
	[[ -z $completion || $completion = - ]] || specs+=("*:argument$(_orma_action $completion)")
	(( CURRENT-- ))
	shift words
	_arguments -s $specs
}

_orma "$@"
