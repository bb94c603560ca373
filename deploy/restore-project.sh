#!/bin/sh
# Brings a project back that backup-project.sh saved, into a database that does not have it. On a new database, run any
# command of pairofcleats first (`pairofcleats keys list`), which makes the control schema and the extension.
#
#   restore-project.sh FOLDER               The database is the one of PGHOST, PGPORT, PGUSER, PGDATABASE, PGPASSFILE.
set -eu
[ $# -eq 1 ] || { echo "usage: restore-project.sh FOLDER" >&2; exit 2; }
folder=$1

psql -Xq -v ON_ERROR_STOP=1 --file="$folder/role.sql"
# All or nothing: a project that is there already is left as it is.
pg_restore --exit-on-error --single-transaction --no-owner --dbname="${PGDATABASE:-}" "$folder/schema.dump"
psql -Xq -v ON_ERROR_STOP=1 --single-transaction --file="$folder/rows.sql"
