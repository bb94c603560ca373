#!/bin/sh
# Installs PairOfCleats @VERSION@ into ~/.local/bin (or PAIROFCLEATS_BIN): the archive of this release for this platform,
# verified by its checksum. Run `pairofcleats quickstart` afterwards.
set -eu

version=@VERSION@
releases=${PAIROFCLEATS_RELEASES:-@REPOSITORY@/releases/download/v$version}
bin=${PAIROFCLEATS_BIN:-$HOME/.local/bin}

fail() {
    echo "install.sh: $1" >&2
    exit 1
}

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

name=pairofcleats-$version-$target
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
for file in "$name.tar.xz" "$name.tar.xz.sha256"; do
    curl --fail --silent --show-error --location --retry 3 --output "$place/$file" "$releases/$file" ||
        fail "$releases/$file could not be downloaded"
done
cd "$place"
if command -v sha256sum >/dev/null 2>&1; then
    sha256sum --check --status "$name.tar.xz.sha256" || fail "the checksum of $name.tar.xz is wrong; nothing was installed"
else
    shasum -a 256 --check --status "$name.tar.xz.sha256" || fail "the checksum of $name.tar.xz is wrong; nothing was installed"
fi
tar -xJf "$name.tar.xz"
mkdir -p "$bin"
# Replaces a running program as well: the name changes, the old file stays until it ends.
cp "$name/pairofcleats" "$bin/.pairofcleats.$$"
chmod 755 "$bin/.pairofcleats.$$"
mv -f "$bin/.pairofcleats.$$" "$bin/pairofcleats"
echo "PairOfCleats $version is installed as $bin/pairofcleats."
case ":$PATH:" in
    *":$bin:"*) ;;
    *) echo "Add $bin to your PATH: export PATH=\"$bin:\$PATH\"" ;;
esac
echo "Next: pairofcleats quickstart /path/to/your/repository"
