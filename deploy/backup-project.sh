#!/bin/sh
# Backs up one project: its schema, and its rows in the control schema. The server keeps running; each dump is a
# consistent snapshot.
#
#   backup-project.sh PROJECT FOLDER        The database is set by PGHOST, PGPORT, PGUSER, PGDATABASE and PGPASSFILE.
set -eu
[ $# -eq 2 ] || { echo "usage: backup-project.sh PROJECT FOLDER" >&2; exit 2; }
project=$1 folder=$2
umask 077
mkdir -p "$folder"

schema=$(psql -XAtq -v ON_ERROR_STOP=1 -v id="$project" <<'SQL'
SELECT schema_name FROM pairofcleats.projects WHERE id = :'id';
SQL
)
[ -n "$schema" ] || { echo "There is no project $project." >&2; exit 1; }

pg_dump --format=custom --no-owner --schema="\"$schema\"" --file="$folder/schema.unfinished"

# restore-project.sh creates the role first, because the schema's privileges refer to it, and the rows last, because
# without its row a project does not exist.
psql -XAtq -v ON_ERROR_STOP=1 -v id="$project" > "$folder/role.unfinished" <<'SQL'
SELECT format('SELECT %L FROM (SELECT 1) one WHERE NOT EXISTS (SELECT 1 FROM pg_roles WHERE rolname = %L) \gexec',
              format('CREATE ROLE %I NOLOGIN', role_name), role_name)
FROM pairofcleats.projects WHERE id = :'id' AND role_name IS NOT NULL;
SELECT format('GRANT %I TO CURRENT_USER WITH INHERIT FALSE, SET TRUE;', role_name)
FROM pairofcleats.projects WHERE id = :'id' AND role_name IS NOT NULL;
SQL
psql -XAtq -v ON_ERROR_STOP=1 -v id="$project" > "$folder/rows.unfinished" <<'SQL'
SELECT format('INSERT INTO pairofcleats.projects SELECT * FROM json_populate_record(NULL::pairofcleats.projects, %L);', row_to_json(p))
FROM pairofcleats.projects p WHERE id = :'id';
SELECT format('INSERT INTO pairofcleats.project_modules SELECT * FROM json_populate_record(NULL::pairofcleats.project_modules, %L);', row_to_json(m))
FROM pairofcleats.project_modules m WHERE project_id = :'id';
SELECT format('INSERT INTO pairofcleats.source_repositories SELECT * FROM json_populate_record(NULL::pairofcleats.source_repositories, %L);', row_to_json(s))
FROM pairofcleats.source_repositories s WHERE project_id = :'id';
SQL

mv "$folder/schema.unfinished" "$folder/schema.dump"
mv "$folder/role.unfinished" "$folder/role.sql"
mv "$folder/rows.unfinished" "$folder/rows.sql"
