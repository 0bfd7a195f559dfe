# SPDX-License-Identifier: Apache-2.0
# orma.bash - completion for bash. What it offers is what `orma --help` and `orma COMMAND --help` print: a new option needs
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

_orma_commands() # ORMA
{
	"$1" --help 2>/dev/null | sed -n '/^Commands:/,/^$/s/^  *\([a-z][a-z_]*\) .*/\1/p'
}

# Data sources that the daemon knows, those that --help names, and the kernel's events as far as they may be read.
_orma_sources() # ORMA
{
	"$1" record --help 2>/dev/null | grep -oE 'linux\.[a-z_]+|track_event'
	timeout 1 "$1" query 2>/dev/null | LC_ALL=C awk '
		/^DATA SOURCES/ { on = 1; next }
		/^[A-Z][A-Z ]*:/ { on = 0 }
		on && /^[a-z]/ { # a column of 40, or more for one that is longer
			name = length($1) > 40 ? $1 : substr($0, 1, 40)
			sub(/ +$/, "", name)
			print name
		}'
	sed 's,:,/,' /sys/kernel/tracing/available_events 2>/dev/null
}

_orma_values() # ORMA OPTION VALUE: what the value of an option may be
{
	case $2 in
	--user) compgen -u -- "$cur" | _orma_plain ;;
	--group) compgen -g -- "$cur" | _orma_plain ;;
	--seccomp) printf '%s\n' errno kill off | _orma_beginning "$cur" ;;
	*) case $3 in
		*FILE* | *TRACE* | *CONFIG*) compopt -o filenames; compgen -f -- "$cur" ;;
		*DIR*) compopt -o filenames; compgen -d -- "$cur" ;;
		esac ;;
	esac
}

_orma()
{
	local orma=$1 cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} command= help options usage value i
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
		mapfile -t COMPREPLY < <({ _orma_commands "$orma"; printf '%s\n' --help --version; } | _orma_beginning "$cur")
		return
	fi
	help=$("$orma" "$command" --help 2>/dev/null) || return
	options=$(_orma_options <<<"$help")
	value=$(awk -F '\t' -v option="$prev" '$1 == option { print $2; exit }' <<<"$options")
	if [[ -n $value ]]; then
		_orma_values "$orma" "$prev" "$value" >/dev/null # compopt acts in this shell only
		mapfile -t COMPREPLY < <(_orma_values "$orma" "$prev" "$value" 2>/dev/null)
	elif [[ $cur = -* ]]; then
		mapfile -t COMPREPLY < <(cut -f 1 <<<"$options" | sort -u | _orma_beginning "$cur")
	else
		usage=$(sed -n 's/^Usage: *orma *[a-z_]* *//p' <<<"$help")
		case $usage in
		*SOURCE*) mapfile -t COMPREPLY < <(_orma_sources "$orma" | _orma_plain | sort -u | _orma_beginning "$cur") ;;
		*.proto*) compopt -o filenames; mapfile -t COMPREPLY < <(compgen -d -- "$cur"; compgen -f -X '!*.proto' -- "$cur") ;;
		*FILE* | *TRACE*) compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$cur") ;;
		esac
	fi
}

complete -F _orma orma
