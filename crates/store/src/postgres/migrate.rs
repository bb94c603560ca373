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

/// The migrations of a folder below `migrations/`, by the names of their files, which begin with the version. Builds a list of
/// [`Migration`].
macro_rules! migrations {
    ($folder:literal: $($file:literal),+ $(,)?) => {
        &[$(Migration {
            version: version_of($file),
            text: include_str!(concat!(
                env!("CARGO_MANIFEST_DIR"), "/../../migrations/", $folder, "/", $file, ".sql"
            )),
        }),+]
    };
}

/// Returns the number that the name of a file begins with.
const fn version_of(file: &str) -> i32 {
    let (digits, mut at, mut version) = (file.as_bytes(), 0, 0);
    while at < digits.len() && digits[at].is_ascii_digit() {
        version = version * 10 + (digits[at] - b'0') as i32;
        at += 1;
    }
    version
}

/// Migrations of the control schema, which every database has once.
pub(crate) const CONTROL: &[Migration] = migrations![
    "control":
    "0001_init",
    "0002_access",
    "0003_modules",
    "0004_key_roots",
    "0005_job_notes",
    "0006_job_lanes",
    "0007_sources",
    "0008_writers",
];

/// Migrations of the search module, which every project's schema has.
pub(crate) const SEARCH: &[Migration] = migrations![
    "project/search":
    "0001_init",
    "0002_facts",
    "0003_dictionary",
    "0004_embedded",
    "0005_facts_missing",
    "0006_definitions",
    "0007_facts_tried",
    "0008_due",
    "0009_grams",
    "0010_navigation",
    "0011_scip",
    "0012_repository_statistics",
    "0013_line_history",
    "0014_revisions",
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
pub const TRIAGE: Module =
    Module { name: "triage", migrations: migrations!["project/triage": "0001_init", "0002_identity"] };

/// The instruction catalog.
pub const INSTRUCTIONS: Module =
    Module { name: "instructions", migrations: migrations!["project/instructions": "0001_init"] };

/// Launch runs.
pub const LAUNCH: Module =
    Module { name: "launch", migrations: migrations!["project/launch": "0001_init", "0002_watches"] };

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
    fn every_file_is_listed() {
        let mut folders = vec![std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../migrations")];
        let mut files = 0;
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
                if entry.is_dir() { folders.push(entry) } else { files += 1 }
            }
        }
        let listed: usize = MODULES.iter().map(|module| module.migrations.len()).sum();
        assert_eq!(files, CONTROL.len() + SEARCH.len() + listed);
    }

    #[test]
    fn every_migration_is_complete_and_counted() {
        let modules = MODULES.iter().map(|module| module.migrations);
        for module in [CONTROL, SEARCH].into_iter().chain(modules) {
            let expected = (1..).take(module.len());
            assert!(module.iter().map(|migration| migration.version).eq(expected), "versions count from 1");
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
