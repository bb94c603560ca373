//! What the database itself lets each project's role do: its own tables, and nothing else anywhere.

use serde_json::json;
use sqlx::{AssertSqlSafe, Row};

use crate::harness::{Repository, app, project, result};
use crate::upkeep::{raw, schema};

/// The rows of a query, each as one line.
async fn lines(text: &str) -> Vec<String> {
    let text = format!("SELECT t::text FROM ({text}) t ORDER BY 1");
    let rows = sqlx::query(AssertSqlSafe(text.clone())).fetch_all(&mut raw().await).await;
    rows.unwrap_or_else(|error| panic!("{text}: {error}")).iter().map(|row| row.get(0)).collect()
}

#[tokio::test(flavor = "multi_thread")]
#[expect(clippy::too_many_lines, reason = "a list of rights")]
async fn a_role_reaches_its_own_tables_and_nothing_else() {
    let (app, projects) = (app(), [project("one"), project("two")]);
    for id in &projects {
        let repository = Repository::new(&[("a.py", "def a():\n    return 1\n")]);
        result(&app, "build_index", json!({ "repoPath": repository.root(), "project_id": id })).await;
        let report = json!([{ "stableKey": "g", "title": "coins" }]);
        result(&app, "triage_ingest", json!({ "source": "manual", "payload": report, "project_id": id }))
            .await;
    }
    let schemas = projects.each_ref().map(|id| schema(id));
    let ours = "r.rolname LIKE 'poc\\_%' AND r.rolname IN (SELECT role_name FROM pairofcleats.projects)";
    // What belongs to no Postgres and no extension.
    let of_us = "n.nspname NOT IN ('pg_catalog', 'information_schema', 'pg_toast') AND n.nspname NOT LIKE 'pg\\_temp%' \
        AND n.nspname NOT LIKE 'pg\\_toast\\_temp%'";
    let own = "EXISTS (SELECT 1 FROM pairofcleats.projects p WHERE p.role_name = r.rolname AND p.schema_name = n.nspname)";

    let held = lines(&format!(
        "SELECT r.rolname FROM pg_roles r WHERE {ours} AND (rolsuper OR rolcreaterole OR rolcreatedb OR rolcanlogin OR \
         rolreplication OR rolbypassrls OR EXISTS (SELECT 1 FROM pg_auth_members m WHERE m.member = r.oid))"
    ))
    .await;
    assert_eq!(held, Vec::<String>::new(), "a role is no more than a name");
    let owned = lines(&format!(
        "SELECT r.rolname, d.objid FROM pg_shdepend d JOIN pg_roles r ON r.oid = d.refobjid WHERE {ours} AND d.deptype = 'o'"
    ))
    .await;
    assert_eq!(owned, Vec::<String>::new(), "a role owns nothing");

    let rights = ["SELECT", "INSERT", "UPDATE", "DELETE", "TRUNCATE", "REFERENCES", "TRIGGER"];
    for right in rights {
        let columns = match right {
            "SELECT" | "INSERT" | "UPDATE" | "REFERENCES" => {
                format!("has_any_column_privilege(r.oid, c.oid, '{right}')")
            }
            _ => "false".to_owned(),
        };
        let foreign = lines(&format!(
            "SELECT r.rolname, n.nspname, c.relname FROM pg_roles r, pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace \
             WHERE {ours} AND {of_us} AND c.relkind IN ('r', 'v', 'm', 'p', 'f') AND NOT {own} \
             AND NOT EXISTS (SELECT 1 FROM pg_depend x WHERE x.objid = c.oid AND x.deptype = 'e') \
             AND (has_table_privilege(r.oid, c.oid, '{right}') OR {columns})"
        ))
        .await;
        assert_eq!(foreign, Vec::<String>::new(), "{right} on what is not its own");
        let may = ["SELECT", "INSERT", "UPDATE", "DELETE"].contains(&right);
        let differs = if may { "NOT" } else { "" };
        // Of the projects of this test: others may be half made.
        let wrong = lines(&format!(
            "SELECT r.rolname, n.nspname, c.relname FROM pg_roles r, pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace \
             WHERE {ours} AND {own} AND n.nspname IN ('{}', '{}') AND c.relkind IN ('r', 'p') \
             AND {differs} has_table_privilege(r.oid, c.oid, '{right}')",
            schemas[0], schemas[1]
        ))
        .await;
        assert_eq!(wrong, Vec::<String>::new(), "{right} on its own tables: {may}");
    }
    for right in ["USAGE", "SELECT", "UPDATE"] {
        let sequences = lines(&format!(
            "SELECT r.rolname, n.nspname, c.relname FROM pg_roles r, pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace \
             WHERE {ours} AND {of_us} AND c.relkind = 'S' AND NOT {own} AND has_sequence_privilege(r.oid, c.oid, '{right}')"
        ))
        .await;
        assert_eq!(sequences, Vec::<String>::new(), "{right} on sequences");
    }
    let schemas = lines(&format!(
        "SELECT r.rolname, n.nspname FROM pg_roles r, pg_namespace n WHERE {ours} AND {of_us} AND \
         (has_schema_privilege(r.oid, n.oid, 'CREATE') OR \
          (NOT {own} AND n.nspname <> 'public' AND NOT EXISTS (SELECT 1 FROM pg_extension e WHERE e.extnamespace = n.oid) AND has_schema_privilege(r.oid, n.oid, 'USAGE')))"
    ))
    .await;
    assert_eq!(schemas, Vec::<String>::new(), "schemas");
    let databases = lines(&format!(
        "SELECT r.rolname, d.datname FROM pg_roles r, pg_database d WHERE {ours} AND d.datname = current_database() \
         AND has_database_privilege(r.oid, d.oid, 'CREATE')"
    ))
    .await;
    assert_eq!(databases, Vec::<String>::new(), "databases");
    // Functions of ours would run for whoever may call them; nobody would notice one that runs as its owner.
    let functions = lines(&format!(
        "SELECT n.nspname, p.proname FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace WHERE {of_us} \
         AND NOT EXISTS (SELECT 1 FROM pg_depend x WHERE x.objid = p.oid AND x.deptype = 'e')"
    ))
    .await;
    assert_eq!(functions, Vec::<String>::new(), "functions");
    let definers = lines(&format!(
        "SELECT n.nspname, p.proname FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace WHERE {of_us} AND p.prosecdef"
    ))
    .await;
    assert_eq!(definers, Vec::<String>::new(), "functions that run as their owner");
    let everybody = lines(&format!(
        "SELECT n.nspname, c.relname, a.privilege_type FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace, \
         aclexplode(c.relacl) a WHERE {of_us} AND a.grantee = 0 \
         AND NOT EXISTS (SELECT 1 FROM pg_depend x WHERE x.objid = c.oid AND x.deptype = 'e')"
    ))
    .await;
    assert_eq!(everybody, Vec::<String>::new(), "tables of everybody");
    let later =
        lines("SELECT defaclrole::regrole::text, defaclobjtype, defaclacl::text FROM pg_default_acl").await;
    assert_eq!(later, Vec::<String>::new(), "rights on what is made later");
}
