# SPDX-License-Identifier: Apache-2.0
# orma.bash - completion for bash. What it offers is in the table that `orma --print-options` prints: a new option needs
# nothing here. Its lines are "command", name, arguments, summary, and "option", command, letter, name, value, completion, help;
# "-" is a field without content.

_orma_rows() # ORMA KIND [COMMAND]: prints the lines of the table
{
	"$1" --print-options 2>/dev/null | awk -F '\t' -v kind="$2" -v command="${3-}" '$1 == kind && (command == "" || $2 == command)'
}

# Prints the lines of standard input that are words without a meaning to a shell, and are not options. Every local user can
# register a data source under any name. bash inserts an
# offered word as it is, so other names could run commands.
_orma_plain()
{
	LC_ALL=C sed -nE '\,^[A-Za-z0-9_][A-Za-z0-9_./:-]*$,p'
}

# Prints the lines of standard input that begin with PREFIX. `compgen -W` would expand its words, and run what is in `$(...)`.
_orma_beginning() # PREFIX
{
	local prefix=${1#[\"\']} word
	while IFS= read -r word; do
		[[ $word != "$prefix"* ]] || printf '%s\n' "$word"
	done
}

# The sources of the table, data sources that the daemon knows, and the kernel's events as far as they may be read.
_orma_sources() # ORMA
{
	_orma_rows "$1" source | cut -f 2
	timeout 1 "$1" status 2>/dev/null | LC_ALL=C awk '
		/^DATA SOURCES/ { on = 1; next }
		/^[A-Z][A-Z ]*:/ { on = 0 }
		on && /^[a-z]/ { # a column of 40, or more for one that is longer
			name = length($1) > 40 ? $1 : substr($0, 1, 40)
			sub(/ +$/, "", name)
			print name
		}'
	sed 's,:,/,' /sys/kernel/tracing/available_events 2>/dev/null
}

_orma_values() # ORMA COMPLETION: what a value or an argument may be
{
	case $2 in
	@file) compopt -o filenames; compgen -f -- "$cur" ;;
	@folder) compopt -o filenames; compgen -d -- "$cur" ;;
	@proto) compopt -o filenames; compgen -d -- "$cur"; compgen -f -X '!*.proto' -- "$cur" ;;
	@user) compgen -u -- "$cur" | _orma_plain ;;
	@group) compgen -g -- "$cur" | _orma_plain ;;
	@source) _orma_sources "$1" | _orma_plain | sort -u | _orma_beginning "$cur" ;;
	*) tr ' ' '\n' <<<"$2" | grep -vx -- - | _orma_beginning "$cur" ;;
	esac
}

_orma()
{
	local orma=$1 cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} command= options completion i
	COMPREPLY=()
	# --option=value is three words here.
	if [[ $cur = "=" ]]; then
		cur=
	elif [[ $prev = "=" ]]; then
		prev=${COMP_WORDS[COMP_CWORD - 2]}
	fi
	for ((i = 1; i < COMP_CWORD; i++)); do
		if [[ -z $command && ${COMP_WORDS[i]} != -* ]]; then
			command=${COMP_WORDS[i]}
		elif [[ $command = record && ${COMP_WORDS[i]} = -- ]]; then
			compopt -o default -o filenames # so that names are quoted
			[[ $((i + 1)) -lt $COMP_CWORD ]] || mapfile -t COMPREPLY < <(compgen -c -- "$cur")
			return
		fi
	done
	if [[ -z $command ]]; then
		mapfile -t COMPREPLY < <({ _orma_rows "$orma" command | awk -F '\t' '$4 != "-" { print $2 }'; printf '%s\n' --help --version; } |
			_orma_beginning "$cur")
		return
	fi
	options=$(_orma_rows "$orma" option "$command")
	# The completion of the value of the option before the cursor; nothing = it takes none.
	completion=$(awk -F '\t' -v option="$prev" '$5 != "-" && ("--" $4 == option || "-" $3 == option) { print $6; exit }' <<<"$options")
	if [[ -z $completion && $cur = -* ]]; then
		mapfile -t COMPREPLY < <(awk -F '\t' '$3 != "-" { print "-" $3 } { print "--" $4 }' <<<"$options" | sort -u | _orma_beginning "$cur")
		return
	fi
	completion=${completion:-$(_orma_rows "$orma" command "$command" | cut -f 3)}
	_orma_values "$orma" "$completion" >/dev/null # compopt acts in this shell only
	mapfile -t COMPREPLY < <(_orma_values "$orma" "$completion" 2>/dev/null)
}

complete -F _orma orma
