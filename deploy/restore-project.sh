#!/bin/sh
# Restores a project that backup-project.sh backed up, into a database that does not contain it. On a new database, first
# run any command of pairofcleats (`pairofcleats keys list`), which creates the control schema and the extension.
#
#   restore-project.sh FOLDER               The database is set by PGHOST, PGPORT, PGUSER, PGDATABASE and PGPASSFILE.
set -eu
[ $# -eq 1 ] || { echo "usage: restore-project.sh FOLDER" >&2; exit 2; }
folder=$1

psql -Xq -v ON_ERROR_STOP=1 --file="$folder/role.sql"
# All or nothing: a project that already exists is left unchanged.
pg_restore --exit-on-error --single-transaction --no-owner --dbname="${PGDATABASE:-}" "$folder/schema.dump"
psql -Xq -v ON_ERROR_STOP=1 --single-transaction --file="$folder/rows.sql"
