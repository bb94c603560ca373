//! Counts hits by their properties: repository, language, folder, last author, and facts of some fields.

use crate::postgres::sql;
use crate::transaction::ProjectTx;
use contract::Fault;

/// A value of a property, and the number of hits that have it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CountedValue {
    /// `repository`, `language`, `folder` (the first of the path), `author`, or the name that a field was given.
    pub property: String,
    /// The value.
    pub value: String,
    /// Number of hits that have it.
    pub hits: i64,
}

/// Counts the hits in chunks, given as chunk and number of hits, by each property; the most frequent values of a property come
/// first. `fields` are fields of facts that have few values, with the names of their properties. A fact of a flow from another
/// chunk counts as well, as it does for a filter.
pub async fn count(
    tx: &mut ProjectTx,
    hits: &[(i64, i64)],
    fields: &[(i16, &str)],
) -> Result<Vec<CountedValue>, Fault> {
    // The values of the fields are read once, because a chunk has dozens of other facts, and each would be looked up.
    let text = format!(
        "WITH counted AS MATERIALIZED (SELECT w.id, w.hits, k.ids, f.repository_id, f.path, f.language, f.last_author \
             FROM unnest($1::int8[], $2::int8[]) AS w (id, hits) \
             JOIN {facts} k ON k.chunk_id = w.id \
             JOIN {files} f ON f.id = k.file_id), \
           named AS MATERIALIZED (SELECT n.id, n.name, t.property \
             FROM unnest($3::int2[], $4::text[]) AS t (field, property) JOIN {names} n ON n.field = t.field), \
           found (id, hits, property, value) AS ( \
             SELECT c.id, c.hits, 'repository'::text, r.name \
             FROM counted c JOIN {repositories} r ON r.id = c.repository_id \
             UNION ALL SELECT c.id, c.hits, 'language', c.language FROM counted c \
             UNION ALL SELECT c.id, c.hits, 'folder', split_part(c.path, '/', 1) FROM counted c \
               WHERE position('/' in c.path) > 0 \
             UNION ALL SELECT c.id, c.hits, 'author', c.last_author FROM counted c \
             UNION ALL (SELECT c.id, c.hits, n.property, n.name \
                 FROM counted c CROSS JOIN LATERAL unnest(c.ids) AS u (id) JOIN named n ON n.id = u.id \
               UNION SELECT c.id, c.hits, n.property, n.name \
                 FROM counted c JOIN {flows} w ON w.chunk_id = c.id \
                 CROSS JOIN LATERAL unnest(w.ids) AS u (id) JOIN named n ON n.id = u.id)) \
         SELECT property, value, sum(hits)::int8 AS hits \
         FROM found \
         WHERE value <> '' \
         GROUP BY property, value \
         ORDER BY property, sum(hits) DESC, value",
        facts = tx.table("facts"),
        files = tx.table("files"),
        names = tx.table("names"),
        repositories = tx.table("repositories"),
        flows = tx.table("flows"),
    );
    let (chunks, counts): (Vec<i64>, Vec<i64>) = hits.iter().copied().unzip();
    let (codes, properties): (Vec<i16>, Vec<&str>) = fields.iter().copied().unzip();
    let query = sql(text).bind(chunks).bind(counts).bind(codes).bind(properties);
    let rows = tx.tx.all(query).await?;
    rows.iter()
        .map(|row| {
            Ok(CountedValue {
                property: row.try_get("property")?,
                value: row.try_get("value")?,
                hits: row.try_get("hits")?,
            })
        })
        .collect()
}
