//! Files of agents: what a repository has is imported, and what a person wrote is never overwritten unasked.

use std::os::unix::fs::symlink;
use std::path::Path;

use rustix::fs::{CWD, Mode, mkfifoat};
use serde_json::json;

use super::{Files, ids, json_of, run};
use crate::harness::project;

/// A small repository with rules for several agents.
fn repository() -> Files {
    let agents = "# Rules\n\n## Tests\n\nRun the tests. You MUST NOT skip one.\n\n## Style\n\nBe brief.\n";
    let files = Files::new(&[
        ("AGENTS.md", agents),
        // The same rules for another agent.
        ("CLAUDE.md", agents),
        ("web/AGENTS.md", "## Components\n\nOne component a file.\n"),
        (
            ".cursor/rules/react.mdc",
            "---\ndescription: React\nglobs: web/**/*.tsx\nalwaysApply: false\n---\nUse hooks.\n",
        ),
        (".github/copilot-instructions.md", "Answer in English.\n"),
        (".claude/skills/pdf/SKILL.md", "---\nname: pdf\ndescription: Reads PDFs.\n---\nUse the tool.\n"),
        ("node_modules/x/AGENTS.md", "## Not ours\n\nx\n"),
    ]);
    symlink("AGENTS.md", Path::new(files.path()).join(".windsurfrules")).unwrap();
    mkfifoat(CWD, Path::new(files.path()).join("web/CLAUDE.md"), Mode::RWXU).unwrap();
    files
}

#[test]
fn rules_of_a_repository_reach_every_agent() {
    let project = project("cli-agents");
    let source = repository();
    let planned = run(&project, &["import-agents", source.path(), "--dry-run", "--json"]);
    assert_eq!((planned.code, &planned.result()["dryRun"]), (0, &json!(true)), "{}", planned.all());
    assert_eq!(run(&project, &["list"]).code, 1, "a dry run makes no project");
    let done = json_of(&project, &["import-agents", source.path()]);
    let paths: Vec<&str> =
        done["files"].as_array().unwrap().iter().map(|file| file["path"].as_str().unwrap()).collect();
    assert_eq!(
        paths,
        [
            ".claude/skills/pdf/SKILL.md",
            ".cursor/rules/react.mdc",
            ".github/copilot-instructions.md",
            "AGENTS.md",
            "CLAUDE.md",
            "web/AGENTS.md"
        ]
    );
    assert_eq!((&done["files"][4]["repeated"], &done["files"][4]["entries"]), (&json!(2), &json!([])));
    let passed: Vec<&str> =
        done["passedOver"].as_array().unwrap().iter().map(|file| file["path"].as_str().unwrap()).collect();
    assert_eq!(passed, [".windsurfrules", "web/CLAUDE.md"]);
    let count = done["imported"]["imported"].as_u64().unwrap();
    assert_eq!(count, json_of(&project, &["list"])["count"].as_u64().unwrap());

    // Into another repository, and from there into another catalog: the same rules.
    let target = Files::new(&[]);
    let exported = json_of(&project, &["export-agents", "all", target.path()]);
    assert_eq!(exported["formats"].as_array().unwrap().len(), 6);
    for path in [
        "AGENTS.md",
        "web/AGENTS.md",
        "CLAUDE.md",
        ".cursor/rules/react.mdc",
        ".github/copilot-instructions.md",
        ".claude/skills/pdf/SKILL.md",
    ] {
        assert!(target.read(path).contains("Generated from the instruction catalog"), "{path}");
    }
    assert!(
        target.read(".github/copilot-instructions.md").contains("Be brief."),
        "each agent gets every rule"
    );
    let back = json_of(&project, &["import-agents", target.path()]);
    assert_eq!(back["files"], json!([]), "generated files are passed over");
    assert!(
        back["passedOver"]
            .as_array()
            .unwrap()
            .iter()
            .all(|file| file["reason"] == "it was generated from a catalog")
    );
    let again = json_of(&project, &["export-agents", "all", target.path()]);
    assert!(again["files"].as_array().unwrap().iter().all(|file| file["action"] == "unchanged"), "{again:#}");

    // A rule that goes takes its generated files with it, and no others.
    target.0.write(".cursor/rules/mine.mdc", "Mine.\n");
    let gone: Vec<String> = ids(&done["files"][1]["entries"]).into_iter().map(str::to_owned).collect();
    assert_eq!(run(&project, &["remove", &gone[0]]).code, 0);
    let updated = json_of(&project, &["export-agents", "cursor", target.path()]);
    let removed: Vec<&str> = updated["files"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|file| file["action"] == "remove")
        .map(|file| file["path"].as_str().unwrap())
        .collect();
    assert_eq!(removed, [".cursor/rules/react.mdc"], "{updated:#}");
    assert_eq!(target.read(".cursor/rules/mine.mdc"), "Mine.\n");
}

#[test]
fn a_file_that_a_person_wrote_is_never_overwritten_unasked() {
    let project = project("cli-people");
    let source = repository();
    json_of(&project, &["import-agents", source.path()]);
    let mine = source.read("AGENTS.md");
    let refused = run(&project, &["export-agents", "agents-md", source.path()]);
    assert_eq!(refused.code, 1, "{}", refused.all());
    assert!(refused.stdout.contains("AGENTS.md: not written: a person wrote it"), "{}", refused.stdout);
    assert_eq!(source.read("AGENTS.md"), mine);
    let linked = run(&project, &["export-agents", "windsurf", source.path(), "--force"]);
    assert_eq!((linked.code, linked.stdout.contains("it is a link")), (1, true), "{}", linked.all());
    assert_eq!(source.read("AGENTS.md"), mine, "nothing is written through a link");
    let planned = run(&project, &["export-agents", "agents-md", source.path(), "--force", "--dry-run"]);
    assert!(planned.stdout.contains("AGENTS.md: to replace"), "{}", planned.stdout);
    assert_eq!(source.read("AGENTS.md"), mine);
    let forced = run(&project, &["export-agents", "agents-md", source.path(), "--force"]);
    assert_eq!(forced.code, 0, "{}", forced.all());
    assert!(forced.stdout.contains("AGENTS.md: replaced (copy: AGENTS.md.bak)"), "{}", forced.stdout);
    assert_eq!(source.read("AGENTS.md.bak"), mine);
    assert!(source.read("AGENTS.md").contains("You MUST NOT skip one."));
}
