//! Stock SQLite reads the file: the program `sqlite3` where it is installed, and Python's SQLite module everywhere.

use std::path::Path;
use std::process::Command;

use super::shop_with_index_file;
use crate::harness::app;

/// Runs a SELECT on a file: one row per line, columns separated by `|`.
type QueryFile = fn(&Path, &str) -> String;

fn query_by_program(file: &Path, statement: &str) -> String {
    stdout_of(Command::new("sqlite3").arg("-readonly").arg(file).arg(statement))
}

fn query_by_python(file: &Path, statement: &str) -> String {
    let script = "import sqlite3, sys\n\
                  file = sqlite3.connect(f'file:{sys.argv[1]}?mode=ro', uri=True)\n\
                  for row in file.execute(sys.argv[2]):\n    print('|'.join(str(value) for value in row))\n";
    stdout_of(Command::new("python3").args(["-c", script]).arg(file).arg(statement))
}

/// The standard output of a command, which must succeed.
fn stdout_of(command: &mut Command) -> String {
    let output = command.output().expect("these tests need `python3` on the PATH");
    let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{command:?}: {stdout}{}", String::from_utf8_lossy(&output.stderr));
    stdout.trim_end().to_owned()
}

/// Every stock SQLite of this machine. The tests require Python anyway; the program `sqlite3` may be missing.
fn readers() -> Vec<QueryFile> {
    let program =
        Command::new("sqlite3").arg("--version").output().is_ok_and(|output| output.status.success());
    if program { vec![query_by_python, query_by_program] } else { vec![query_by_python] }
}

#[tokio::test(flavor = "multi_thread")]
async fn stock_sqlite_verifies_and_searches_a_file() {
    let (shop, file) = shop_with_index_file(app(), "stock").await;
    for query in readers() {
        assert_eq!(query(&file, "PRAGMA integrity_check"), "ok");
        let found = query(
            &file,
            "SELECT path, snippet(search, 3, '[', ']', '…', 6) FROM search WHERE search MATCH 'charges AND receipt' ORDER BY rank",
        );
        assert!(found.starts_with("src/billing/charge.rs|") && found.contains("[Charges]"), "{found}");
        assert_eq!(
            query(&file, "SELECT path FROM search WHERE search MATCH 'name : fetch_wares'"),
            "src/stock/walk.rs"
        );
        assert_eq!(query(&file, "SELECT count(*) FROM chunks"), "12");
        assert_eq!(query(&file, "SELECT value FROM meta WHERE key = 'project'"), shop.project);
        // Vectors are little-endian floats, as sqlite-vec reads them.
        let bytes = query(&file, "SELECT DISTINCT length(embedding) FROM vectors");
        let dimensions = query(&file, "SELECT value FROM meta WHERE key = 'modelDimensions'");
        assert_eq!(bytes.parse::<u32>().unwrap(), 4 * dimensions.parse::<u32>().unwrap());
        // The statements of docs/portable.md.
        for statement in documented_statements() {
            assert!(!query(&file, &statement).is_empty(), "{statement}");
        }
    }
    let text = String::from_utf8_lossy(&std::fs::read(&file).unwrap()).into_owned();
    assert!(!text.contains(&shop.repository.root()), "the file contains a path of this machine");
}

/// The SQL statements of docs/portable.md.
fn documented_statements() -> Vec<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/portable.md");
    let text = std::fs::read_to_string(path).unwrap();
    let blocks: Vec<&str> =
        text.split("```sql\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
    let statements: Vec<String> = blocks
        .iter()
        .flat_map(|block| block.split(";\n"))
        .map(|statement| statement.trim().to_owned())
        .filter(|statement| !statement.is_empty())
        .collect();
    assert!(statements.len() >= 3, "{statements:?}");
    statements
}
