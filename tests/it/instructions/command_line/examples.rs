//! The examples of `docs/examples` do what they say.

use std::fs;
use std::path::Path;

use serde_json::json;

use super::{Files, copy, json_of, printed, program, run};
use crate::harness::project;

fn examples() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/examples"))
}

#[test]
fn the_example_catalog_is_what_an_export_writes() {
    let project = project("cli-example");
    let folder = Files::new(&[]);
    copy(&examples().join("instructions"), Path::new(folder.path()));
    let imported = run(&project, &["import", folder.path()]);
    assert_eq!((imported.code, imported.stderr.as_str()), (0, ""), "{}", imported.stdout);
    assert!(imported.stdout.starts_with("✓ 5 entries: 5 new"), "{}", imported.stdout);
    let exported = json_of(&project, &["export", folder.path()]);
    assert_eq!((&exported["written"], &exported["unchanged"]), (&json!([]), &json!(8)), "{exported:#}");
    let gates = run(&project, &["gates"]);
    assert_eq!(
        (gates.code, gates.stdout.contains("3 gates: 0 errors, 0 warnings")),
        (0, true),
        "{}",
        gates.all()
    );
    let applied = run(&project, &["apply", "add an endpoint", "--path", "src/api/orders.rs"]);
    assert!(applied.stdout.contains("(`api-errors`, recommended, for these files)"), "{}", applied.stdout);
}

#[test]
fn the_example_workflow_names_commands_that_exist_and_fails_on_a_failed_gate() {
    let text = fs::read_to_string(examples().join("instructions-check.yml")).unwrap();
    let commands: Vec<Vec<&str>> = text
        .lines()
        .filter_map(|line| line.trim().strip_prefix("run: uvx pairofcleats "))
        .map(|command| command.split(' ').collect())
        .collect();
    assert_eq!(commands.len(), 6, "{text}");
    for command in &commands {
        let help = printed(program(&[&command[..], &["--help"]].concat()), "");
        assert_eq!((help.code, help.stderr.as_str()), (0, ""), "{command:?}");
    }
    for variable in ["MCP_ENABLE_MUTATION: \"1\"", "PAIROFCLEATS_INSTRUCTIONS__SEMANTIC: \"false\""] {
        assert!(text.contains(variable), "{variable}");
    }
    let workplace = Files::new(&[
        ("instructions/README.md", ""),
        // The files that the rules name.
        ("docs/errors.md", "# Codes\n"),
        ("docs/setup.md", "# Variables\n"),
    ]);
    copy(&examples().join("instructions"), &Path::new(workplace.path()).join("instructions"));
    let codes = |project: &str| -> Vec<i32> {
        let steps = commands.iter().filter(|command| command[0] != "bootstrap");
        steps
            .map(|step| {
                let mut command = program(&[&step[..], &["--project", project]].concat());
                command.current_dir(workplace.path());
                printed(command, "").code
            })
            .collect()
    };
    assert_eq!(codes(&project("cli-workflow")), [0, 0, 0, 0, 0]);
    // Without its critical rule, the catalog fails a gate; with a rule that was changed without its hash, the import fails.
    workplace.0.remove("instructions/no-secrets.md");
    assert_eq!(codes(&project("cli-workflow-gate")), [0, 0, 0, 1, 0]);
    let path = "instructions/api-errors.md";
    workplace.0.write(path, &workplace.read(path).replace("stable code", "code"));
    assert_eq!(codes(&project("cli-workflow-hash"))[1], 1);
}
