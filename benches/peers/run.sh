#!/bin/sh
# run.sh FOLDER OUT.json: indexes FOLDER with every peer, one after another, and writes their figures into one file.
# The programs and models are kept below the user's cache folder, so that only the first run fetches anything.
#   PEERS      which: any of semble semble-workers fastembed sentence-transformers (default: all)
#   THREADS    threads per peer (default 2)
#   QUERIES    JSON list of questions (default: from the files' own words)
#   DATABASE   URL of a Postgres with pgvector (default: one is started)
#   PYTHON     Python that creates the environment (default python3)
set -eu
[ $# -eq 2 ] || { sed -n '2,8s/^# *//p' "$0" >&2; exit 2; }
folder=$1 out=$2
here=$(cd "$(dirname "$0")" && pwd)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/pairofcleats-peers
python=$cache/venv/bin/python
threads=${THREADS:-2}
export PYTHONDONTWRITEBYTECODE=1 HF_HUB_OFFLINE=1

# Created once, and again when a pinned version has changed.
if ! cmp -s "$here/requirements.txt" "$cache/venv/requirements.txt"; then
    rm -rf "$cache/venv"
    "${PYTHON:-python3}" -m venv "$cache/venv"
    "$python" -m pip install --quiet --requirement "$here/requirements.txt"
    cp "$here/requirements.txt" "$cache/venv/requirements.txt"
fi
"$python" -W ignore "$here/models.py" "$cache"

parts=$(mktemp -d)
trap 'rm -rf "$parts"' EXIT
for peer in ${PEERS:-semble semble-workers fastembed sentence-transformers}; do
    echo "$peer" >&2
    case $peer in
        semble) set -- semble_peer.py ;;
        semble-workers) set -- semble_peer.py --workers "$threads" ;;
        *) set -- python_pipeline.py --embedder "$peer" ${DATABASE:+--database "$DATABASE"} ;;
    esac
    program=$1
    shift
    "$python" "$here/$program" "$folder" --cache "$cache" --threads "$threads" --out "$parts/$peer.json" \
        ${QUERIES:+--queries "$QUERIES"} "$@"
done
"$python" "$here/measure.py" "$folder" "$parts" "$out"
