#!/bin/sh
# Installs PairOfCleats @VERSION@ into ~/.local/bin (or PAIROFCLEATS_BIN): the archive of this release for this platform,
# verified by its checksum. Run `pairofcleats quickstart` afterwards.
set -eu

version=@VERSION@
releases=${PAIROFCLEATS_RELEASES:-@REPOSITORY@/releases/download/v$version}

fail() {
    echo "install.sh: $1" >&2
    exit 1
}

# Says why a command could not write, given its messages and the place.
fail_writing() {
    case "$1" in
        *"No space left"* | *"uota exceeded"*) fail "the disk of $2 is full; free some space there and run this again" ;;
        *) fail "$2 cannot be written: $1" ;;
    esac
}

# A folder for programs, as an absolute path: this script changes its own folder.
if [ -z "${PAIROFCLEATS_BIN:-}" ] && [ -z "${HOME:-}" ]; then
    fail "HOME is not set, so there is no ~/.local/bin; set PAIROFCLEATS_BIN to the folder for the program"
fi
bin=${PAIROFCLEATS_BIN:-$HOME/.local/bin}
case "$bin" in
    /*) ;;
    *) bin=$(pwd)/$bin ;;
esac

# The address may contain a user with a password, or a token as a parameter, which must not be printed.
shown=$(printf '%s' "$releases" | sed -e 's|://.*@|://|' -e 's|[?#].*||')

case "$(uname -s)-$(uname -m)" in
    Linux-x86_64) target=x86_64-unknown-linux-gnu ;;
    Linux-aarch64 | Linux-arm64) target=aarch64-unknown-linux-gnu ;;
    Darwin-arm64) target=aarch64-apple-darwin ;;
    *) fail "there is no package for $(uname -s) on $(uname -m); there are packages for Linux on x86_64 and arm64, and macOS on arm64. Build it from source." ;;
esac
if [ "$(uname -s)" = Linux ] && ! getconf GNU_LIBC_VERSION >/dev/null 2>&1; then
    fail "this Linux has no glibc (Alpine?), which the program needs. Use the container image, or build it from source."
fi
for program in curl tar xz; do
    command -v "$program" >/dev/null 2>&1 || fail "$program is missing; install it first"
done

# Nothing unfinished stays, however the script ends.
place=
part=
download=
clean() {
    [ -z "$download" ] || kill "$download" 2>/dev/null || true
    [ -z "$part" ] || rm -f "$part"
    [ -z "$place" ] || rm -rf "$place"
}
trap clean EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

name=pairofcleats-$version-$target
made=$(LC_ALL=C mktemp -d 2>&1) || fail_writing "$made" "${TMPDIR:-/tmp}"
place=$made
for file in "$name.tar.xz" "$name.tar.xz.sha256"; do
    # In the background, because a shell handles a signal only after the command in the foreground.
    LC_ALL=C curl --fail --silent --show-error --location --retry 3 --connect-timeout 20 --speed-limit 1000 --speed-time 30 \
        --output "$place/$file" "$releases/$file" 2>"$place/messages" &
    download=$!
    if wait "$download"; then
        download=
        continue
    else
        code=$?
    fi
    download=
    # 23: what arrived could not be written.
    [ "$code" != 23 ] || fail "the download cannot be written to $place; is its disk full?"
    sed -e 's|://[^ ]*@|://|g' -e 's|?[^ ]*||g' "$place/messages" >&2
    fail "$shown/$file could not be downloaded"
done
cd "$place"
if command -v sha256sum >/dev/null 2>&1; then
    sha256sum --check --status "$name.tar.xz.sha256" || fail "the checksum of $name.tar.xz is wrong; nothing was installed"
else
    shasum -a 256 --check --status "$name.tar.xz.sha256" || fail "the checksum of $name.tar.xz is wrong; nothing was installed"
fi
said=$(LC_ALL=C tar -xJf "$name.tar.xz" 2>&1) || fail_writing "$said" "$place"
said=$(LC_ALL=C mkdir -p "$bin" 2>&1) || fail_writing "$said" "$bin"
[ ! -d "$bin/pairofcleats" ] || fail "$bin/pairofcleats is a folder; move it away, or set PAIROFCLEATS_BIN to another place"
# Replaces a running program as well: the name changes, the old file stays until it ends.
part=$bin/.pairofcleats.$$
said=$(LC_ALL=C cp "$name/pairofcleats" "$part" 2>&1) || fail_writing "$said" "$bin"
chmod 755 "$part"
# Before it replaces one that works.
said=$("$part" --version 2>&1) || fail "the program does not run in $bin, so nothing was installed: $said"
mv -f "$part" "$bin/pairofcleats"
part=
said=$("$bin/pairofcleats" --version 2>&1) || fail "$bin/pairofcleats was installed but does not run: $said"
echo "PairOfCleats $version is installed as $bin/pairofcleats."
case ":$PATH:" in
    *":$bin:"*) ;;
    *) echo "Add $bin to your PATH: export PATH=\"$bin:\$PATH\"" ;;
esac
echo "Next: pairofcleats quickstart /path/to/your/repository"
