# Stands in for rust:1.95-bookworm where images cannot be pulled: the toolchain that is installed on this machine, in `toolchain`, and
# Cargo's settings, in `cargo`. `deploy/try-containers --from-source` builds it.

FROM debian:bookworm-slim
RUN apt-get update \
    && apt-get install --yes --no-install-recommends build-essential pkg-config git \
    && rm -rf /var/lib/apt/lists/*
COPY toolchain /usr/local/rust
COPY cargo /usr/local/cargo
ENV CARGO_HOME=/usr/local/cargo PATH=/usr/local/rust/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
