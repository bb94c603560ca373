//! The privileges of each project's database role: its own tables, and nothing else.

use serde_json::json;
use sqlx::{AssertSqlSafe, Row};

use crate::harness::{Repository, app, project, result};
use crate::upkeep::{raw, schema};

/// The rows of a query, each as text.
async fn row_texts(text: &str) -> Vec<String> {
    let text = format!("SELECT t::text FROM ({text}) t ORDER BY 1");
    let rows = sqlx::query(AssertSqlSafe(text.clone())).fetch_all(&mut raw().await).await;
    rows.unwrap_or_else(|error| panic!("{text}: {error}")).iter().map(|row| row.get(0)).collect()
}

#[tokio::test(flavor = "multi_thread")]
#[expect(clippy::too_many_lines, reason = "a list of privileges")]
async fn a_role_has_privileges_on_its_own_tables_only() {
    let (app, projects) = (app(), [project("one"), project("two")]);
    for id in &projects {
        let repository = Repository::new(&[("a.py", "def a():\n    return 1\n")]);
        result(&app, "build_index", json!({ "repoPath": repository.root(), "project_id": id })).await;
        let report = json!([{ "stableKey": "g", "title": "coins" }]);
        result(&app, "triage_ingest", json!({ "source": "manual", "payload": report, "project_id": id }))
            .await;
    }
    let schemas = projects.each_ref().map(|id| schema(id));
    let is_project_role =
        "r.rolname LIKE 'poc\\_%' AND r.rolname IN (SELECT role_name FROM pairofcleats.projects)";
    // Excludes the schemas of Postgres itself.
    let is_user_schema = "n.nspname NOT IN ('pg_catalog', 'information_schema', 'pg_toast') AND n.nspname NOT LIKE 'pg\\_temp%' \
        AND n.nspname NOT LIKE 'pg\\_toast\\_temp%'";
    let is_own_schema = "EXISTS (SELECT 1 FROM pairofcleats.projects p WHERE p.role_name = r.rolname AND p.schema_name = n.nspname)";

    let privileged_roles = row_texts(&format!(
        "SELECT r.rolname FROM pg_roles r WHERE {is_project_role} AND (rolsuper OR rolcreaterole OR rolcreatedb OR rolcanlogin OR \
         rolreplication OR rolbypassrls OR EXISTS (SELECT 1 FROM pg_auth_members m WHERE m.member = r.oid))"
    ))
    .await;
    assert_eq!(privileged_roles, Vec::<String>::new(), "no role has attributes or memberships");
    let owned = row_texts(&format!(
        "SELECT r.rolname, d.objid FROM pg_shdepend d JOIN pg_roles r ON r.oid = d.refobjid WHERE {is_project_role} AND d.deptype = 'o'"
    ))
    .await;
    assert_eq!(owned, Vec::<String>::new(), "no role owns an object");

    let privileges = ["SELECT", "INSERT", "UPDATE", "DELETE", "TRUNCATE", "REFERENCES", "TRIGGER"];
    for privilege in privileges {
        // By the lists of grants, because asking for each pair of a role and a table grows with the square of the projects: roles own
        // nothing and are members of nothing, and the rights of PUBLIC are checked below.
        let of_grants = |grants: &str| {
            format!(
                "SELECT r.rolname, n.nspname, c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace {grants} \
                 JOIN pg_roles r ON r.oid = a.grantee \
                 WHERE {is_project_role} AND {is_user_schema} AND c.relkind IN ('r', 'v', 'm', 'p', 'f') AND NOT {is_own_schema} \
                 AND NOT EXISTS (SELECT 1 FROM pg_depend x WHERE x.objid = c.oid AND x.deptype = 'e') \
                 AND a.privilege_type = '{privilege}'"
            )
        };
        let tables = of_grants("CROSS JOIN LATERAL aclexplode(c.relacl) a");
        let columns = of_grants(
            "JOIN pg_attribute u ON u.attrelid = c.oid AND u.attacl IS NOT NULL CROSS JOIN LATERAL aclexplode(u.attacl) a",
        );
        let foreign = row_texts(&format!("{tables} UNION ALL {columns}")).await;
        assert_eq!(foreign, Vec::<String>::new(), "{privilege} on foreign tables");
        let may = ["SELECT", "INSERT", "UPDATE", "DELETE"].contains(&privilege);
        let negation = if may { "NOT" } else { "" };
        // Only this test's projects: those of other tests may be incomplete.
        let wrong = row_texts(&format!(
            "SELECT r.rolname, n.nspname, c.relname FROM pg_roles r, pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace \
             WHERE {is_project_role} AND {is_own_schema} AND n.nspname IN ('{}', '{}') AND c.relkind IN ('r', 'p') \
             AND {negation} has_table_privilege(r.oid, c.oid, '{privilege}')",
            schemas[0], schemas[1]
        ))
        .await;
        assert_eq!(wrong, Vec::<String>::new(), "{privilege} on its own tables: {may}");
    }
    for privilege in ["USAGE", "SELECT", "UPDATE"] {
        let sequences = row_texts(&format!(
            "SELECT r.rolname, n.nspname, c.relname FROM pg_roles r, pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace \
             WHERE {is_project_role} AND {is_user_schema} AND c.relkind = 'S' AND NOT {is_own_schema} AND has_sequence_privilege(r.oid, c.oid, '{privilege}')"
        ))
        .await;
        assert_eq!(sequences, Vec::<String>::new(), "{privilege} on sequences");
    }
    let schemas = row_texts(&format!(
        "SELECT r.rolname, n.nspname FROM pg_roles r, pg_namespace n WHERE {is_project_role} AND {is_user_schema} AND \
         (has_schema_privilege(r.oid, n.oid, 'CREATE') OR \
          (NOT {is_own_schema} AND n.nspname <> 'public' AND NOT EXISTS (SELECT 1 FROM pg_extension e WHERE e.extnamespace = n.oid) AND has_schema_privilege(r.oid, n.oid, 'USAGE')))"
    ))
    .await;
    assert_eq!(schemas, Vec::<String>::new(), "schemas");
    let databases = row_texts(&format!(
        "SELECT r.rolname, d.datname FROM pg_roles r, pg_database d WHERE {is_project_role} AND d.datname = current_database() \
         AND has_database_privilege(r.oid, d.oid, 'CREATE')"
    ))
    .await;
    assert_eq!(databases, Vec::<String>::new(), "databases");
    // No functions are created: by default PUBLIC may execute them, and one could run with its owner's privileges.
    let functions = row_texts(&format!(
        "SELECT n.nspname, p.proname FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace WHERE {is_user_schema} \
         AND NOT EXISTS (SELECT 1 FROM pg_depend x WHERE x.objid = p.oid AND x.deptype = 'e')"
    ))
    .await;
    assert_eq!(functions, Vec::<String>::new(), "functions");
    let definers = row_texts(&format!(
        "SELECT n.nspname, p.proname FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace WHERE {is_user_schema} AND p.prosecdef"
    ))
    .await;
    assert_eq!(definers, Vec::<String>::new(), "functions that run as their owner");
    let public_grants = row_texts(&format!(
        "SELECT n.nspname, c.relname, a.privilege_type FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace, \
         LATERAL (SELECT * FROM aclexplode(c.relacl) UNION ALL \
           SELECT e.* FROM pg_attribute u, aclexplode(u.attacl) e WHERE u.attrelid = c.oid AND u.attacl IS NOT NULL) a \
         WHERE {is_user_schema} AND a.grantee = 0 AND NOT EXISTS (SELECT 1 FROM pg_depend x WHERE x.objid = c.oid AND x.deptype = 'e')"
    ))
    .await;
    assert_eq!(public_grants, Vec::<String>::new(), "tables and columns granted to PUBLIC");
    let default_privileges =
        row_texts("SELECT defaclrole::regrole::text, defaclobjtype, defaclacl::text FROM pg_default_acl")
            .await;
    assert_eq!(default_privileges, Vec::<String>::new(), "default privileges");
}
