# SPDX-License-Identifier: Apache-2.0
# orma.fish - completion for fish. What it offers is what `orma --help` and `orma COMMAND --help` print: a new option needs
# nothing here. An option whose value is called FILE or DIR takes those; the words of the line "Usage:" say what follows.

function __orma_options --description 'the text of --help, on standard input'
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
end

# Every local user can register a data source under any name. Only words without a meaning to a shell that are not options are offered.
function __orma_plain --description 'of the lines on standard input, the plain names'
    env LC_ALL=C sed -nE '\,^[A-Za-z0-9_][A-Za-z0-9_./:-]*$,p'
end

function __orma_commands
    command orma --help 2>/dev/null | sed -n '/^Commands:/,/^$/s/^  *\([a-z][a-z_]*\)  *\(.*\)/\1\t\2/p'
end

function __orma_sources
    command orma record --help 2>/dev/null | grep -oE 'linux\.[a-z_]+|track_event'
    timeout 1 orma query 2>/dev/null | env LC_ALL=C awk '
        /^DATA SOURCES/ { on = 1; next }
        /^[A-Z][A-Z ]*:/ { on = 0 }
        on && /^[a-z]/ { # a column of 40, or more for one that is longer
            name = length($1) > 40 ? $1 : substr($0, 1, 40)
            sub(/ +$/, "", name)
            print name
        }'
    sed 's,:,/,' /sys/kernel/tracing/available_events 2>/dev/null
end

function __orma_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    set -l command $words[2]
    if test -z "$command"
        printf '%s\n' --help --version
        return
    end
    set -l help (command orma $command --help 2>/dev/null | string collect)
    set -l options (printf '%s\n' $help | __orma_options)
    set -l value
    for option in $options
        set -l parts (string split \t -- $option)
        test "$parts[1]" = "$words[-1]"; and set value $parts[2]
    end
    if test -n "$value"
        switch "$words[-1] $value"
            case '--user *'
                __fish_complete_users
            case '--group *'
                __fish_complete_groups
            case '--seccomp *'
                printf '%s\n' errno kill off
            case '*FILE*' '*TRACE*' '*CONFIG*'
                __fish_complete_path $current
            case '*DIR*'
                __fish_complete_directories $current
        end
        return
    end
    if string match -q -- '-*' "$current"
        for option in $options
            set -l parts (string split \t -- $option)
            printf '%s\t%s\n' $parts[1] "$parts[3]"
        end
        return
    end
    switch (printf '%s\n' $help | sed -n 1p)
        case '*SOURCE*'
            __orma_sources | __orma_plain | sort -u
        case '*.proto*'
            __fish_complete_suffix .proto
        case '*FILE*' '*TRACE*'
            __fish_complete_path $current
    end
end

complete -c orma -f
complete -c orma -n 'test (count (commandline -opc)) -eq 1' -a '(__orma_commands)'
complete -c orma -n 'test (count (commandline -opc)) -gt 1; or string match -q -- "-*" (commandline -ct)' -a '(__orma_complete)'
