//! The migrations, embedded in the program, and how a text becomes single statements.
//!
//! sqlx's own runner is not used: its lock is one a database and stays held after a failure.

/// One step of a module's schema.
#[derive(Debug, Clone, Copy)]
pub struct Migration {
    /// Counts from 1.
    pub version: i32,
    text: &'static str,
}

/// The control schema, once a database.
pub const CONTROL: &[Migration] = &[
    Migration { version: 1, text: include_str!("../../migrations/control/0001_init.sql") },
    Migration { version: 2, text: include_str!("../../migrations/control/0002_access.sql") },
    Migration { version: 3, text: include_str!("../../migrations/control/0003_modules.sql") },
    Migration { version: 4, text: include_str!("../../migrations/control/0004_key_roots.sql") },
    Migration { version: 5, text: include_str!("../../migrations/control/0005_job_notes.sql") },
];

/// The search module of a project's schema.
pub const SEARCH: &[Migration] = &[
    Migration { version: 1, text: include_str!("../../migrations/project/search/0001_init.sql") },
    Migration { version: 2, text: include_str!("../../migrations/project/search/0002_facts.sql") },
    Migration { version: 3, text: include_str!("../../migrations/project/search/0003_dictionary.sql") },
    Migration { version: 4, text: include_str!("../../migrations/project/search/0004_embedded.sql") },
    Migration { version: 5, text: include_str!("../../migrations/project/search/0005_facts_missing.sql") },
    Migration { version: 6, text: include_str!("../../migrations/project/search/0006_definitions.sql") },
    Migration { version: 7, text: include_str!("../../migrations/project/search/0007_facts_tried.sql") },
    Migration { version: 8, text: include_str!("../../migrations/project/search/0008_due.sql") },
];

/// The tables that migrations make, in the order in which they make them.
#[must_use]
pub fn tables_of(migrations: &[Migration]) -> Vec<&'static str> {
    const MAKES: &str = "CREATE TABLE IF NOT EXISTS {schema}.";
    let made = migrations.iter().flat_map(|migration| migration.text.split(MAKES).skip(1));
    made.filter_map(|rest| rest.split([' ', '(']).next()).collect()
}

/// Tables of a project's schema that are made on the first use of what needs them; `pairofcleats.project_modules` says
/// which ones a project has.
#[derive(Debug, Clone, Copy)]
pub struct Module {
    /// As the control table names it.
    pub name: &'static str,
    /// Its steps.
    pub migrations: &'static [Migration],
}

/// Security findings and decisions about them.
pub const TRIAGE: Module = Module {
    name: "triage",
    migrations: &[Migration {
        version: 1,
        text: include_str!("../../migrations/project/triage/0001_init.sql"),
    }],
};

/// Every module besides search, which each project has.
pub const MODULES: &[Module] = &[TRIAGE];

/// The version a module is at when all of `migrations` ran.
#[must_use]
pub fn newest(migrations: &[Migration]) -> i32 {
    migrations.iter().map(|migration| migration.version).max().unwrap_or(0)
}

/// The statements that lead from version `from` to the newest, one a message, with `{name}` places filled.
#[must_use]
pub fn statements(migrations: &[Migration], from: i32, places: &[(&str, &str)]) -> Vec<String> {
    let due = migrations.iter().filter(|migration| migration.version > from);
    due.flat_map(|migration| split(migration.text, places)).collect()
}

/// A statement ends with a `;` at the end of a line; comments are whole lines.
fn split(text: &str, places: &[(&str, &str)]) -> Vec<String> {
    let mut statements = Vec::new();
    let mut current = String::new();
    for line in text.lines().filter(|line| !line.trim_start().starts_with("--")) {
        let (line, ends) = match line.trim_end().strip_suffix(';') {
            Some(line) => (line, true),
            None => (line, false),
        };
        current.push_str(line);
        current.push('\n');
        if ends {
            statements.push(fill(current.trim(), places));
            current.clear();
        }
    }
    statements
}

fn fill(statement: &str, places: &[(&str, &str)]) -> String {
    places
        .iter()
        .fold(statement.to_owned(), |text, (name, value)| text.replace(&format!("{{{name}}}"), value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splits_at_line_ends_and_fills_places() {
        let text = "-- why; not what\nCREATE TABLE {schema}.a (\n  b int\n);\nSELECT ';' AS c;\n";
        let expected = ["CREATE TABLE \"s\".a (\n  b int\n)", "SELECT ';' AS c"];
        assert_eq!(split(text, &[("schema", "\"s\"")]), expected);
    }

    #[test]
    fn the_tables_are_those_of_the_migrations() {
        let tables = tables_of(SEARCH);
        assert_eq!(tables[..4], ["index_state", "repositories", "files", "chunks"]);
        for migrations in MODULES.iter().map(|module| module.migrations).chain([SEARCH]) {
            let made: usize =
                migrations.iter().map(|migration| migration.text.matches("CREATE TABLE").count()).sum();
            assert_eq!(tables_of(migrations).len(), made, "a table is made in other words");
        }
    }

    #[test]
    fn every_migration_is_complete_and_counted() {
        let modules = MODULES.iter().map(|module| module.migrations);
        for module in [CONTROL, SEARCH].into_iter().chain(modules) {
            for (at, migration) in module.iter().enumerate() {
                assert_eq!(usize::try_from(migration.version), Ok(at + 1));
                let last = migration.text.trim_end().chars().last();
                assert_eq!(last, Some(';'), "the last statement would be lost");
            }
        }
        let filled = statements(SEARCH, 0, &[("schema", "\"s\""), ("dimensions", "384")]);
        assert!(
            filled.iter().all(|statement| !statement.contains("{schema}") && !statement.contains("{dim"))
        );
    }
}
