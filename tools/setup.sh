# Set-up shared by ./demo, ./test, ./bench and .ci/run. Source it; it defines functions and does nothing by itself.
#
#   set_up [all]      system packages, .venv, the package linked into .venv; quick and off-line when nothing changed. With `all`
#                     also what only tests, benchmarks and the site want
#   configure PRESET  configures build/PRESET, once
#   build PRESET [TARGET...]

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
python=$root/.venv/bin/python
log=$root/build/setup.log
jobs=$(nproc)

say() { printf '%s\n' "$*" >&2; }

die() {
    say "$@"
    exit 1
}

# Stops with the message, which says what to do, below the end of the log and what it calls an error before that.
die_with_log() {
    say "--- the end of $log"
    tail -n 30 "$log" | cut -c 1-300 >&2 || true
    say "--- and the errors in it"
    grep -E '(error|Error|ERROR|FAILED)[: ]' "$log" | cut -c 1-300 | head -n 20 >&2 || true
    say "---"
    die "$@"
}

# quietly WHAT COMMAND...: output goes to the log; WHAT is printed when the command takes longer than a second.
quietly() {
    local what=$1 status=0
    shift
    mkdir -p "$(dirname "$log")"
    printf '\n== %s: %s\n' "$what" "$*" >>"$log"
    { sleep 1 >/dev/null 2>&1 && say "$what ..."; } &
    local announcer=$!
    "$@" >>"$log" 2>&1 </dev/null || status=$?
    kill "$announcer" 2>/dev/null || true
    wait "$announcer" 2>/dev/null || true
    return "$status"
}

fingerprint() { cat "$@" | sha256sum | cut -d ' ' -f 1; }

# --- system packages

# Names from tools/packages.txt: `packages needed`, `packages wanted`, or `packages all`: those that are wanted by anything.
packages() {
    case $1 in
        needed) sed -e 's/#.*//' -e '/^[?+]/d' "$root/tools/packages.txt" ;;
        wanted) sed -n -e 's/#.*//' -e 's/^? *//p' "$root/tools/packages.txt" ;;
        all) sed -n -e 's/#.*//' -e 's/^[?+] *//p' "$root/tools/packages.txt" ;;
    esac | tr -s '[:space:]' '\n' | sed '/^$/d'
}

# Those of the named packages that are not installed.
missing_packages() {
    local name
    for name in "$@"; do
        [[ $(dpkg-query -W -f '${Status}' "$name" 2>/dev/null) == "install ok installed" ]] || printf '%s\n' "$name"
    done
}

as_root() {
    if [ "$(id -u)" -eq 0 ]; then "$@"; else sudo "$@"; fi
}

apt_install() {
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
        -o DPkg::Lock::Timeout=300 -o Acquire::Retries=3 "$@"
}

can_become_root() { [ "$(id -u)" -eq 0 ] || { command -v sudo >/dev/null && sudo -v; }; }

# Fails when apt knows no version of the package, as off-line or with a component of the archive switched off.
apt_offers() { [[ $(apt-cache policy "$1" 2>/dev/null) =~ Candidate:\ [^\(] ]]; }

# Where there is no apt, all that can be done is to look for the commands and to name what is missing.
check_commands() {
    local name missing=()
    for name in git g++ cmake ninja pkg-config python3; do
        command -v "$name" >/dev/null || missing+=("$name")
    done
    [ ${#missing[@]} -eq 0 ] || die "Not found: ${missing[*]}. This is not a Debian or Ubuntu system, so please install them" \
        "by hand, and the counterparts of what tools/packages.txt lists."
}

# set_up_system wanted|all
set_up_system() {
    if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
        check_commands
        return
    fi
    local missing wanted name unavailable=() left_out=()
    mapfile -t missing < <(missing_packages $(packages needed))
    mapfile -t wanted < <(missing_packages $(packages "$1"))
    # What was found impossible to install once is not tried again until the list changes.
    local skipped=$root/build/skipped-packages stamp
    stamp="$1 $(fingerprint "$root/tools/packages.txt")"
    if [ ${#missing[@]} -eq 0 ] && { [ ${#wanted[@]} -eq 0 ] || grep -qsxF "$stamp" "$skipped"; }; then return; fi

    if ! can_become_root; then
        [ ${#missing[@]} -gt 0 ] || return 0
        die "These packages are missing, and installing them needs root or sudo. Ask somebody who may to run:" \
            $'\n'"    apt-get install ${missing[*]} ${wanted[*]}"
    fi
    quietly "Refreshing the package lists" as_root apt-get update || true
    for name in "${missing[@]}"; do apt_offers "$name" || unavailable+=("$name"); done
    [ ${#unavailable[@]} -eq 0 ] || die_with_log "apt knows no package called: ${unavailable[*]}." \
        "Is the network there? On Ubuntu, do the sources of apt name the component 'universe' beside 'main'?"
    if [ ${#missing[@]} -gt 0 ]; then
        quietly "Installing ${missing[*]}" apt_install "${missing[@]}" ||
            die_with_log "apt could not install what is missing: ${missing[*]}. Is the network there?"
    fi
    local offered=()
    for name in "${wanted[@]}"; do
        if apt_offers "$name"; then offered+=("$name"); else left_out+=("$name"); fi
    done
    # All at once is quicker; one that cannot be installed keeps none of the others out.
    if [ ${#offered[@]} -gt 0 ] && ! quietly "Installing ${offered[*]}" apt_install "${offered[@]}"; then
        for name in "${offered[@]}"; do
            quietly "Installing $name" apt_install "$name" || left_out+=("$name")
        done
    fi
    if [ ${#left_out[@]} -gt 0 ]; then
        say "Going on without ${left_out[*]} (apt could not install it): tools/packages.txt says what is left out."
        mkdir -p "$root/build" && printf '%s\n' "$stamp" >>"$skipped"
    fi
}

# --- Python

system_python() {
    if [ -x /usr/bin/python3 ]; then echo /usr/bin/python3; else command -v python3; fi
}

# install_python_packages LIST
install_python_packages() {
    quietly "Installing the Python packages of $1 into .venv" \
        "$python" -m pip install --disable-pip-version-check --no-input -r "$root/tools/$1" ||
        die_with_log "pip could not install what tools/$1 lists. Is the network there?"
}

# set_up_python wanted|all
set_up_python() {
    local base stamp wanted
    base=$(system_python)
    stamp=$root/.venv/setup-stamp
    wanted="$(fingerprint "$root/tools/requirements.txt") $("$base" --version) $root"
    if [ "$(cat "$stamp" 2>/dev/null)" != "$wanted" ]; then
        quietly "Making the virtual environment .venv" "$base" -m venv --clear "$root/.venv" ||
            die_with_log "Could not make .venv with $base."
        install_python_packages requirements.txt
        printf '%s' "$wanted" >"$stamp"
    fi
    stamp=$root/.venv/tests-stamp
    wanted=$(fingerprint "$root/tools/requirements-tests.txt")
    if [ "$1" = all ] && [ "$(cat "$stamp" 2>/dev/null)" != "$wanted" ]; then
        install_python_packages requirements-tests.txt
        printf '%s' "$wanted" >"$stamp"
    fi
    # Links python/penstock and its command into .venv; CMake puts the extension module beside the sources.
    stamp=$root/.venv/package-stamp
    wanted=$(fingerprint "$root/pyproject.toml")
    if [ "$(cat "$stamp" 2>/dev/null)" != "$wanted" ] || [ ! -x "$root/.venv/bin/penstock" ]; then
        quietly "Linking the package into .venv" "$python" -m pip install --disable-pip-version-check --no-input --no-index \
            --no-build-isolation --no-deps --force-reinstall \
            --config-settings wheel.cmake=false --config-settings wheel.py-api=py3 \
            --config-settings editable.mode=inplace --editable "$root" ||
            die_with_log "Could not install the package penstock into .venv."
        printf '%s' "$wanted" >"$stamp"
    fi
}

set_up() {
    mkdir -p "$root/build"
    : >"$log"
    set_up_system "${1-wanted}"
    set_up_python "${1-wanted}"
}

# --- the build

# The release build holds the Python extension; the others hold C++ only. PENSTOCK_UNITY=ON in the environment: a build that is
# made once, in less time (cmake/PenstockPrecompile.cmake).
configure() {
    local preset=$1 options=() wanted stamp=$root/build/$1/configure-stamp
    if [ "$preset" = release ]; then options=(-DPENSTOCK_PYTHON=ON "-DPython_EXECUTABLE=$python"); fi
    options+=("-DPENSTOCK_UNITY=${PENSTOCK_UNITY-OFF}")
    wanted="$(fingerprint "$root/CMakePresets.json") ${options[*]-} $(missing_packages $(packages all) 2>/dev/null | tr '\n' ' ')"
    [ "$(cat "$stamp" 2>/dev/null)" != "$wanted" ] || [ ! -f "$root/build/$preset/build.ninja" ] || return 0
    (cd "$root" && quietly "Configuring build/$preset" cmake --fresh --preset "$preset" "${options[@]}") ||
        die_with_log "CMake could not configure build/$preset."
    printf '%s' "$wanted" >"$stamp"
}

build() {
    local preset=$1 targets=()
    shift
    configure "$preset"
    [ $# -eq 0 ] || targets=(--target "$@")
    quietly "Building build/$preset" cmake --build "$root/build/$preset" --parallel "$jobs" "${targets[@]}" ||
        die_with_log "The build in build/$preset failed."
    if grep -q ' warning: ' "$log"; then say "The compiler warned: see $log"; fi
}
