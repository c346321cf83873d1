# shellcheck shell=bash
# Shared by the devtools scripts: sourced, never run.
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
export LC_ALL=C.UTF-8
logs=build-logs

say() { printf '==> %s\n' "$*"; }
die() {
    printf '%s: %s\n' "$(basename "$0")" "$*" >&2
    exit 1
}

# run_logged NAME COMMAND...: quiet while it works; when it fails the end of its output and where
# the rest is.
run_logged() {
    local name=$1 status=0
    shift
    mkdir -p "$logs"
    "$@" >"$logs/$name.log" 2>&1 </dev/null || status=$?
    if ((status != 0)); then
        tail -n 40 "$logs/$name.log" >&2
        printf '%s failed with status %d; all of its output: %s\n' \
            "$name" "$status" "$PWD/$logs/$name.log" >&2
    fi
    return "$status"
}

# The EAL loads no plug-in that has a world-writable folder above it (a clone below /tmp, for one).
# It looks at the real path, so there the build folder becomes a link into the user's cache.
place_build_dir() {
    local dir=$1 parent=$PWD home=${XDG_CACHE_HOME:-${HOME:-/root}/.cache}
    [[ -e $dir || -L $dir ]] && return
    while [[ -z $(find "$parent" -maxdepth 0 -perm -0002) ]]; do
        [[ $parent == / ]] && return
        parent=$(dirname "$parent")
    done
    local safe
    safe=$home/virtio-fit/$(printf %s "$PWD" | sha256sum | cut -c1-12)-$dir
    say "$parent is world-writable and the EAL loads no plug-in below it: $dir is a link to $safe"
    mkdir -p "$safe"
    ln -s "$safe" "$dir"
}

# configure DIR MESON-ARGUMENT...: starts afresh when the arguments or the installed DPDK changed,
# because meson keeps what it found out about a dependency.
configure() {
    local dir=$1 stamp dpdk
    shift
    place_build_dir "$dir"
    dpdk=$(pkg-config --modversion libdpdk)
    stamp="$* $dpdk $(cat ".sdk/$dpdk/VERSION" 2>/dev/null || true)"
    [[ -f $dir/build.ninja && "$(cat "$dir/.fit-stamp" 2>/dev/null)" == "$stamp" ]] && return
    say "configuring $dir"
    # Not meson setup --wipe, which keeps the options of the last time.
    [[ -d $dir ]] && find "$dir/" -mindepth 1 -delete
    run_logged "$dir-configure" meson setup "$dir" "$@" || return
    printf '%s\n' "$stamp" >"$dir/.fit-stamp"
}

# build DIR [TARGET...]
build() {
    local dir=$1
    shift
    say "building $dir"
    run_logged "$dir-build" ninja -C "$dir" "$@"
}

# Names the executables of the unit tests, one a line, relative to the build folder. meson is asked
# because the folder may hold what an earlier build left there.
unit_tests() {
    meson introspect "$1" --targets | /usr/bin/python3 -c '
import json, os, sys
for target in json.load(sys.stdin):
    if target["type"] == "executable" and target["name"].startswith("fit-unit"):
        print(os.path.relpath(target["filename"][0], os.path.realpath(sys.argv[1])))' "$1"
}
