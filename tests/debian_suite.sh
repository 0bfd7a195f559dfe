# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
#
# debian_suite.sh - downloads packages of any Debian suite and unpacks them, without installing anything.
#
# fetch-perfetto and fetch-kernel source this. apt downloads the packages. Its sources file is derived
# from this machine's (same server, other suite), it uses the Debian keyring, and has state and cache
# folders of its own. The system's state of apt is neither read nor written.
#
# A script calls open_home, then update_lists and unpack_packages for each suite, and close_home at the
# end. All files are below $home, the folder of the script's results. Invariant: $home/stamp exists only
# when everything else there is complete. The script sets PROGRAM (its name in messages) and RECIPE (a
# number that it raises when a change of the script makes the results of older ones unusable), and has
# functions usage() and is_done().

readonly KEYRING=/usr/share/keyrings/debian-archive-keyring.gpg
readonly TRIES=3
readonly TIMEOUT_S=240

say() { printf '%s: %s\n' "$PROGRAM" "$*" >&2; }

die() {
	say "$*"
	exit 1
}

# Without network or on another distribution the tests are skipped, but CI must not skip them.
unavailable() {
	say "$*"
	[[ ${CI:-} == true ]] && exit 1
	exit 77
}

# Prints the URIs of all enabled binary entries with component main, each on a line with its suites. It
# reads files of both of apt's formats.
list_entries() {
	local file
	for file in "$@"; do
		[[ -r $file ]] || continue
		case $file in
		*.sources)
			# deb822 has stanzas between blank lines, with comments inside.
			awk '
				function flush_stanza(   i, n, uri) {
					if (types ~ /(^| )deb( |$)/ && comps ~ /(^| )main( |$)/ &&
					    tolower(enabled) !~ /^(no|false|0|off|without|disable)$/) {
						n = split(uris, uri, " ")
						for (i = 1; i <= n; i++)
							print uri[i], suites
					}
					types = uris = suites = comps = enabled = key = ""
				}
				/^#/ { next }
				/^[ \t]*$/ { flush_stanza(); next }
				/^[^ \t]/ { key = tolower($1); sub(/:.*/, "", key); sub(/^[^:]*:/, "") }
				{ $1 = $1 }
				key == "types" { types = types " " $0 }
				key == "uris" { uris = uris " " $0 }
				key == "suites" { suites = suites " " $0 }
				key == "components" { comps = comps " " $0 }
				key == "enabled" { enabled = $0 }
				END { flush_stanza() }
			' "$file"
			;;
		*)
			# The other format has an entry per line: deb [options] uri suite component...
			sed -e 's/#.*//' -e 's/\[[^]]*\]/ /' "$file" |
				awk '$1 == "deb" { for (i = 4; i <= NF; i++) if ($i == "main") print $2, $3 }'
			;;
		esac
	done
}

# Prints the URI of the Debian main archive that this machine uses. Archives of others may also have a
# suite with the name of the release and a component main, but another path. A wrong guess does not
# pass the check with Debian's keyring.
find_archive_uri() {
	local parts main uri suites
	eval "$(apt-config shell main Dir::Etc::sourcelist/f parts Dir::Etc::sourceparts/d)"
	while read -r uri suites; do
		[[ $suites == *-security* ]] && continue
		case $uri in
		*/debian | */debian/ | */debian.list)
			printf '%s\n' "$uri"
			return 0
			;;
		esac
	done < <(list_entries "$main" "$parts"/*.sources "$parts"/*.list)
	return 1
}

# Makes $apt_dir: an apt that has one sources entry (suite $2 of $1) and writes nowhere else. The
# machine's settings (proxies, certificates) apply, except for its hooks, which act on the system.
make_apt_dir() {
	local uri=$1 suite=$2 keyring=$3 parts main file
	eval "$(apt-config shell parts Dir::Etc::parts/d main Dir::Etc::main/f)"
	rm -rf "$apt_dir"
	mkdir -p "$apt_dir"/{conf.d,sources,lists/partial,cache/archives/partial}
	: >"$apt_dir/status"
	if [[ -n ${machine_apt_config:-} ]]; then
		ln -s "$machine_apt_config" "$apt_dir/conf.d/00environment.conf"
	fi
	for file in "$parts"/*; do
		[[ -f $file ]] && ln -s "$file" "$apt_dir/conf.d/"
	done
	[[ -f $main ]] && ln -s "$main" "$apt_dir/conf.d/zy-machine.conf"
	cat >"$apt_dir/conf.d/zz-orma.conf" <<-CONF
		#clear APT::Update::Pre-Invoke;
		#clear APT::Update::Post-Invoke;
		#clear APT::Update::Post-Invoke-Success;
		APT::Sandbox::User "$(id -un)";
		APT::Architecture "$arch";
		#clear APT::Architectures;
		APT::Architectures { "$arch"; };
		APT::Get::AllowUnauthenticated "false";
		Acquire::AllowInsecureRepositories "false";
		Acquire::AllowWeakRepositories "false";
		Acquire::Languages "none";
		Acquire::Retries "3";
		Acquire::http::Timeout "30";
		Acquire::https::Timeout "30";
		Dir::State "$apt_dir";
		Dir::State::lists "$apt_dir/lists";
		Dir::State::status "$apt_dir/status";
		Dir::Cache "$apt_dir/cache";
		Dir::Etc::sourcelist "/dev/null";
		Dir::Etc::sourceparts "$apt_dir/sources";
		Dir::Etc::preferences "/dev/null";
		Dir::Etc::preferencesparts "/dev/null";
	CONF
	cat >"$apt_dir/apt.conf" <<-CONF
		Dir::Etc::main "/dev/null";
		Dir::Etc::parts "$apt_dir/conf.d";
	CONF
	cat >"$apt_dir/sources/orma.sources" <<-SOURCES
		Types: deb
		URIs: $uri
		Suites: $suite
		Components: main
		Signed-By: $keyring
	SOURCES
}

private_apt() {
	APT_CONFIG=$apt_dir/apt.conf LC_ALL=C DEBIAN_FRONTEND=noninteractive \
		timeout "$TIMEOUT_S" apt-get -q -y "$@" </dev/null
}

private_apt_cache() { APT_CONFIG=$apt_dir/apt.conf LC_ALL=C apt-cache "$@"; }

# Runs private_apt until it succeeds, at most $TRIES times; its output goes to $log.
retry_apt() {
	local try
	for ((try = 1; try <= TRIES; try++)); do
		if private_apt "$@" >"$log" 2>&1; then
			return 0
		fi
		# A bad signature remains bad.
		signature_failed && return 1
		((try < TRIES)) && sleep "$((try * 2))"
	done
	return 1
}

signature_failed() {
	grep -qE 'NO_PUBKEY|EXPKEYSIG|REVKEYSIG|KEYEXPIRED|BADSIG|not signed|Missing key' "$log"
}

# The keys that sign unstable change about every two years, and the release's keyring package is updated
# then. This takes the newest one from the machine's own suites, verified with the installed keyring,
# and prints the new keyring's path.
fetch_newer_keyring() {
	local uri=$1 codename dir=$home/keyring
	# shellcheck source=/dev/null
	codename=$(. /etc/os-release && printf '%s' "${VERSION_CODENAME:-}")
	[[ -n $codename ]] || return 1
	make_apt_dir "$uri" "$codename $codename-updates" "$KEYRING"
	retry_apt --error-on=any update || return 1
	rm -rf "$dir" && mkdir -p "$dir"
	(cd "$dir" && retry_apt download debian-archive-keyring) || return 1
	dpkg-deb -x "$dir"/*.deb "$dir" || return 1
	[[ -s $dir$KEYRING ]] || return 1
	printf '%s\n' "$dir$KEYRING"
}

show_log() { sed 's/^/  apt: /' "$log" | tail -n 15 >&2; }

# update_lists SUITE - makes $apt_dir for the suite and downloads its lists.
update_lists() {
	local suite=$1 uri keyring
	[[ -r $KEYRING ]] || unavailable "$KEYRING is missing (package debian-archive-keyring)"
	uri=$(find_archive_uri) || unavailable "apt's sources on this machine name no Debian archive"
	make_apt_dir "$uri" "$suite" "$KEYRING"
	retry_apt --error-on=any update && return 0
	if signature_failed; then
		say "the installed keyring does not verify Debian $suite; trying the release's newest one"
		keyring=$(fetch_newer_keyring "$uri") || {
			show_log
			die "no newer debian-archive-keyring could be fetched from this machine's own suites"
		}
		make_apt_dir "$uri" "$suite" "$keyring"
		retry_apt --error-on=any update && return 0
		if signature_failed; then
			show_log
			die "Debian $suite does not verify with the release's newest keyring"
		fi
	fi
	show_log
	unavailable "Debian $suite cannot be reached"
}

# unpack_packages SUITE FOLDER PACKAGE... - downloads packages of the suite, unpacks them in $home/FOLDER, which it
# replaces, and appends their names and versions to $home/versions.
unpack_packages() {
	local suite=$1 root=$home/$2 debs=$home/debs deb
	shift 2
	rm -rf "$debs" "$root.new"
	mkdir -p "$debs" "$root.new"
	if ! (cd "$debs" && retry_apt download "$@"); then
		show_log
		grep -q 'Unable to locate package' "$log" && die "Debian $suite lacks one of: $*"
		unavailable "downloading from Debian $suite failed"
	fi
	for deb in "$debs"/*.deb; do
		dpkg-deb -x "$deb" "$root.new" || die "cannot unpack ${deb##*/}"
		dpkg-deb -f "$deb" Package Version | awk '{ printf "%s%s", $2, NR % 2 ? " " : "\n" }'
	done | sort >>"$home/versions"
	rm -rf "$debs" "$root"
	mv "$root.new" "$root"
}

# parse_options [--force] FOLDER - sets $force and $folder. The script's usage() prints its usage.
parse_options() {
	force=false
	while [[ ${1:-} == -* ]]; do
		case $1 in
		--force) force=true ;;
		-h | --help)
			usage
			exit 0
			;;
		*)
			usage >&2
			exit 2
			;;
		esac
		shift
	done
	if [[ $# -ne 1 || -z $1 ]]; then
		usage >&2
		exit 2
	fi
	# shellcheck disable=SC2034 # the script's
	folder=$1
}

# open_home FOLDER - sets $home, $arch and the paths that the functions above use, and locks the folder. Exits with
# status 0 when is_done() of the script finds the results there, unless $force is true.
open_home() {
	local tool
	for tool in apt-get apt-config dpkg dpkg-deb; do
		command -v "$tool" >/dev/null || unavailable "$tool is not on this machine; Debian only"
	done
	arch=$(dpkg --print-architecture)
	mkdir -p "$1" || die "cannot create $1"
	home=$(cd "$1" && pwd)

	# Without the lock, two test runs in one build folder would overwrite each other's files.
	exec 9>"$home/.lock"
	flock -w "$((TIMEOUT_S * 2))" 9 || die "another $PROGRAM holds $home/.lock"
	if ! $force && has_stamp && is_done; then
		exit 0
	fi
	apt_dir=$home/apt
	log=$home/log
	machine_apt_config=${APT_CONFIG:-}
	rm -f "$home/stamp" "$home/versions"
}

has_stamp() { [[ -r $home/stamp && $(head -n 1 "$home/stamp") == "recipe $RECIPE $arch" ]]; }

# close_home - writes the stamp and removes the files that only the download needed.
close_home() {
	rm -rf "$apt_dir" "$home/keyring" "$log"
	{
		printf 'recipe %s %s\n' "$RECIPE" "$arch"
		cat "$home/versions"
	} >"$home/stamp.new"
	rm -f "$home/versions"
	mv "$home/stamp.new" "$home/stamp"
	say "fetched $(sed 1d "$home/stamp" | paste -sd, | sed 's/,/, /g')"
}
