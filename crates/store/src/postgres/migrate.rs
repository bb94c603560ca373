//! The migrations, embedded in the program, and how they are split into single statements.
//!
//! sqlx's own runner is not used, because it has a single lock for the whole database, which stays held after a failure.

/// One step of a module's schema.
#[derive(Debug, Clone, Copy)]
pub struct Migration {
    /// Counts from 1.
    pub version: i32,
    text: &'static str,
}

/// Migrations of the control schema, which every database has once.
pub(crate) const CONTROL: &[Migration] = &[
    Migration { version: 1, text: include_str!("../../migrations/control/0001_init.sql") },
    Migration { version: 2, text: include_str!("../../migrations/control/0002_access.sql") },
    Migration { version: 3, text: include_str!("../../migrations/control/0003_modules.sql") },
    Migration { version: 4, text: include_str!("../../migrations/control/0004_key_roots.sql") },
    Migration { version: 5, text: include_str!("../../migrations/control/0005_job_notes.sql") },
    Migration { version: 6, text: include_str!("../../migrations/control/0006_job_lanes.sql") },
    Migration { version: 7, text: include_str!("../../migrations/control/0007_sources.sql") },
    Migration { version: 8, text: include_str!("../../migrations/control/0008_writers.sql") },
];

/// Migrations of the search module, which every project's schema has.
pub(crate) const SEARCH: &[Migration] = &[
    Migration { version: 1, text: include_str!("../../migrations/project/search/0001_init.sql") },
    Migration { version: 2, text: include_str!("../../migrations/project/search/0002_facts.sql") },
    Migration { version: 3, text: include_str!("../../migrations/project/search/0003_dictionary.sql") },
    Migration { version: 4, text: include_str!("../../migrations/project/search/0004_embedded.sql") },
    Migration { version: 5, text: include_str!("../../migrations/project/search/0005_facts_missing.sql") },
    Migration { version: 6, text: include_str!("../../migrations/project/search/0006_definitions.sql") },
    Migration { version: 7, text: include_str!("../../migrations/project/search/0007_facts_tried.sql") },
    Migration { version: 8, text: include_str!("../../migrations/project/search/0008_due.sql") },
    Migration { version: 9, text: include_str!("../../migrations/project/search/0009_grams.sql") },
    Migration { version: 10, text: include_str!("../../migrations/project/search/0010_navigation.sql") },
    Migration { version: 11, text: include_str!("../../migrations/project/search/0011_scip.sql") },
    Migration {
        version: 12,
        text: include_str!("../../migrations/project/search/0012_repository_statistics.sql"),
    },
    Migration { version: 13, text: include_str!("../../migrations/project/search/0013_line_history.sql") },
    Migration { version: 14, text: include_str!("../../migrations/project/search/0014_revisions.sql") },
];

/// The tables that the migrations create, in the order of creation.
#[must_use]
pub(crate) fn tables_of(migrations: &[Migration]) -> Vec<&'static str> {
    const CREATE: &str = "CREATE TABLE IF NOT EXISTS {schema}.";
    let created = migrations.iter().flat_map(|migration| migration.text.split(CREATE).skip(1));
    created.filter_map(|rest| rest.split([' ', '(']).next()).collect()
}

/// Optional tables of a project's schema, created on the first use of a feature that needs them;
/// `pairofcleats.project_modules` lists the modules of each project.
#[derive(Debug, Clone, Copy)]
pub struct Module {
    /// Its name in the control table.
    pub name: &'static str,
    /// Its migrations, oldest first.
    pub migrations: &'static [Migration],
}

/// Security findings and decisions about them.
pub const TRIAGE: Module = Module {
    name: "triage",
    migrations: &[
        Migration { version: 1, text: include_str!("../../migrations/project/triage/0001_init.sql") },
        Migration { version: 2, text: include_str!("../../migrations/project/triage/0002_identity.sql") },
    ],
};

/// The instruction catalog.
pub const INSTRUCTIONS: Module = Module {
    name: "instructions",
    migrations: &[Migration {
        version: 1,
        text: include_str!("../../migrations/project/instructions/0001_init.sql"),
    }],
};

/// Launch runs.
pub const LAUNCH: Module = Module {
    name: "launch",
    migrations: &[
        Migration { version: 1, text: include_str!("../../migrations/project/launch/0001_init.sql") },
        Migration { version: 2, text: include_str!("../../migrations/project/launch/0002_watches.sql") },
    ],
};

/// All optional modules; search is not among them, because every project has it.
pub const MODULES: &[Module] = &[TRIAGE, INSTRUCTIONS, LAUNCH];

/// The version of the last migration; 0 without migrations.
#[must_use]
pub(crate) fn newest(migrations: &[Migration]) -> i32 {
    migrations.iter().map(|migration| migration.version).max().unwrap_or(0)
}

/// The statements that migrate from version `from` to the newest, with `{name}` placeholders replaced. Each must be sent in a
/// message of its own.
#[must_use]
pub(crate) fn statements(migrations: &[Migration], from: i32, placeholders: &[(&str, &str)]) -> Vec<String> {
    let due = migrations.iter().filter(|migration| migration.version > from);
    due.flat_map(|migration| split(migration.text, placeholders)).collect()
}

/// Splits a migration into statements. A statement ends with a `;` at the end of a line; comments are whole lines.
fn split(text: &str, placeholders: &[(&str, &str)]) -> Vec<String> {
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
            statements.push(replace_placeholders(current.trim(), placeholders));
            current.clear();
        }
    }
    statements
}

fn replace_placeholders(statement: &str, placeholders: &[(&str, &str)]) -> String {
    placeholders
        .iter()
        .fold(statement.to_owned(), |text, (name, value)| text.replace(&format!("{{{name}}}"), value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splits_at_line_ends_and_replaces_placeholders() {
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
            assert_eq!(tables_of(migrations).len(), made, "a table is created with another statement");
        }
    }

    #[test]
    fn every_migration_is_complete_and_counted() {
        let modules = MODULES.iter().map(|module| module.migrations);
        for module in [CONTROL, SEARCH].into_iter().chain(modules) {
            assert!(module.is_sorted_by(|one, next| one.version < next.version));
            for migration in module {
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
