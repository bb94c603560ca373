//! Stock SQLite reads the file: the program `sqlite3` where it is installed, and Python's own module everywhere.

use std::path::Path;
use std::process::Command;

use super::exported_shop;
use crate::harness::app;

/// What a SELECT gives, rows as lines and columns between bars.
type Ask = fn(&Path, &str) -> String;

fn by_program(file: &Path, statement: &str) -> String {
    said(Command::new("sqlite3").arg("-readonly").arg(file).arg(statement))
}

fn by_python(file: &Path, statement: &str) -> String {
    let script = "import sqlite3, sys\n\
                  file = sqlite3.connect(f'file:{sys.argv[1]}?mode=ro', uri=True)\n\
                  for row in file.execute(sys.argv[2]):\n    print('|'.join(str(value) for value in row))\n";
    said(Command::new("python3").args(["-c", script]).arg(file).arg(statement))
}

fn said(command: &mut Command) -> String {
    let output = command.output().expect("these tests need `python3` on the PATH");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{command:?}: {said}{}", String::from_utf8_lossy(&output.stderr));
    said.trim_end().to_owned()
}

/// Every stock SQLite of this machine. Python's is one of the tests' needs already.
fn readers() -> Vec<Ask> {
    let program =
        Command::new("sqlite3").arg("--version").output().is_ok_and(|output| output.status.success());
    if program { vec![by_python, by_program] } else { vec![by_python] }
}

#[tokio::test(flavor = "multi_thread")]
async fn stock_sqlite_checks_and_searches_it() {
    let (shop, file) = exported_shop(app(), "stock").await;
    for ask in readers() {
        assert_eq!(ask(&file, "PRAGMA integrity_check"), "ok");
        let found = ask(
            &file,
            "SELECT path, snippet(search, 3, '[', ']', '…', 6) FROM search WHERE search MATCH 'charges AND receipt' ORDER BY rank",
        );
        assert!(found.starts_with("src/billing/charge.rs|") && found.contains("[Charges]"), "{found}");
        assert_eq!(
            ask(&file, "SELECT path FROM search WHERE search MATCH 'name : fetch_wares'"),
            "src/stock/walk.rs"
        );
        assert_eq!(ask(&file, "SELECT count(*) FROM chunks"), "12");
        assert_eq!(ask(&file, "SELECT value FROM meta WHERE key = 'project'"), shop.project);
        // Vectors are little-endian floats, as sqlite-vec reads them.
        let bytes = ask(&file, "SELECT DISTINCT length(embedding) FROM vectors");
        let dimensions = ask(&file, "SELECT value FROM meta WHERE key = 'modelDimensions'");
        assert_eq!(bytes.parse::<u32>().unwrap(), 4 * dimensions.parse::<u32>().unwrap());
        // The statements of docs/portable.md.
        for statement in documented() {
            assert!(!ask(&file, &statement).is_empty(), "{statement}");
        }
    }
    let text = String::from_utf8_lossy(&std::fs::read(&file).unwrap()).into_owned();
    assert!(!text.contains(&shop.main.root()), "no path of this machine is in the file");
}

/// The statements that the documentation shows, with what it says of their values.
fn documented() -> Vec<String> {
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
