# SPDX-License-Identifier: Apache-2.0
# orma.fish - completion for fish. What it offers is in the table that `orma --print-options` prints: a new option needs
# nothing here. Its lines are "command", name, arguments, summary, and "option", command, letter, name, value, completion, help;
# "-" is a field without content.

function __orma_rows --argument-names kind command --description 'the lines of the table'
    command orma --print-options 2>/dev/null | awk -F '\t' -v kind=$kind -v command="$command" '$1 == kind && (command == "" || $2 == command)'
end

# Every local user can register a data source under any name. Only words without a meaning to a shell that are not options are offered.
function __orma_plain --description 'of the lines on standard input, the plain names'
    env LC_ALL=C sed -nE '\,^[A-Za-z0-9_][A-Za-z0-9_./:-]*$,p'
end

function __orma_commands
    __orma_rows command | awk -F '\t' '$4 != "-" { print $2 "\t" $4 }'
end

function __orma_sources
    __orma_rows source | cut -f 2
    timeout 1 orma status 2>/dev/null | env LC_ALL=C awk '
        /^DATA SOURCES/ { on = 1; next }
        /^[A-Z][A-Z ]*:/ { on = 0 }
        on && /^[a-z]/ { # a column of 40, or more for one that is longer
            name = length($1) > 40 ? $1 : substr($0, 1, 40)
            sub(/ +$/, "", name)
            print name
        }'
    sed 's,:,/,' /sys/kernel/tracing/available_events 2>/dev/null
end

function __orma_values --argument-names completion current
    switch $completion
        case @file
            __fish_complete_path $current
        case @folder
            __fish_complete_directories $current
        case @proto
            __fish_complete_suffix .proto
        case @user
            __fish_complete_users
        case @group
            __fish_complete_groups
        case @source
            __orma_sources | __orma_plain | sort -u
        case '*'
            string split ' ' -- $completion | string match -v -- -
    end
end

function __orma_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    set -l command $words[2]
    if test -z "$command"
        printf '%s\n' --help --version
        return
    end
    set -l options (__orma_rows option $command)
    set -l completion (printf '%s\n' $options | awk -F '\t' -v option="$words[-1]" '
        $5 != "-" && ("--" $4 == option || "-" $3 == option) { print $6; exit }')
    if test -z "$completion"; and string match -q -- '-*' "$current"
        printf '%s\n' $options | awk -F '\t' '$3 != "-" { print "-" $3 "\t" $7 } { print "--" $4 "\t" $7 }'
        return
    end
    test -n "$completion"; or set completion (__orma_rows command $command | cut -f 3)
    __orma_values "$completion" $current
end

complete -c orma -f
complete -c orma -n 'test (count (commandline -opc)) -eq 1' -a '(__orma_commands)'
complete -c orma -n 'test (count (commandline -opc)) -gt 1; or string match -q -- "-*" (commandline -ct)' -a '(__orma_complete)'
