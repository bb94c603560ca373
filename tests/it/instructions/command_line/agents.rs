//! Files of agents: what a repository has is imported, and what a person wrote is never overwritten unasked.

use std::os::unix::fs::symlink;
use std::path::Path;

use rustix::fs::{CWD, Mode, mkfifoat};
use serde_json::json;

use super::{Files, ids, json_of, printed, program, run};
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

#[test]
fn a_skill_is_read_on_demand_wherever_it_goes() {
    let project = project("cli-skills");
    let steps = "You MUST ALWAYS read each page, and NEVER skip one.\n".repeat(60);
    let skill = format!("---\nname: pdf\ndescription: Reads PDFs.\n---\n# PDF\n\n{steps}");
    let source = Files::new(&[
        (".claude/skills/pdf/SKILL.md", &skill),
        ("AGENTS.md", "## Tests\n\nYou MUST run them.\n"),
    ]);
    json_of(&project, &["import-agents", source.path()]);
    let entry = json_of(&project, &["get", "skill-pdf"]);
    assert_eq!(entry["item"]["requirement"], "recommended", "{entry:#}");
    let applied = run(&project, &["apply", "rename a variable", "--path", "src/main.rs"]);
    assert!(
        applied.stdout.contains("agents-tests") && !applied.stdout.contains("skill-pdf"),
        "{}",
        applied.all()
    );
    let target = Files::new(&[]);
    json_of(&project, &["export-agents", "all", target.path()]);
    for path in ["AGENTS.md", "CLAUDE.md", ".github/copilot-instructions.md"] {
        let text = target.read(path);
        assert!(text.contains("- PDF (`skill-pdf`): Reads PDFs.\n") && text.len() < 2000, "{path}: {text}");
        assert!(text.contains("You MUST run them.") && !text.contains("each page"), "{path}: {text}");
    }
    let cursor = target.read(".cursor/rules/skill-pdf.mdc");
    assert!(cursor.starts_with("---\ndescription: Reads PDFs.\nalwaysApply: false\n---\n"), "{cursor}");
    assert!(target.read(".claude/skills/pdf/SKILL.md").contains("each page"));
}

#[test]
fn importing_again_says_what_became_of_the_sections() {
    let project = project("cli-again");
    let source = Files::new(&[
        (
            "AGENTS.md",
            "## Tests\n\nRun them.\n\n## Style\n\nBe brief.\n\n## Names\n\nBe clear.\n\n## Old\n\nGo.\n",
        ),
        (".cursor/rules/react.mdc", "---\nalwaysApply: true\n---\nUse hooks.\n"),
    ]);
    json_of(&project, &["import-agents", source.path()]);
    let quiet = json_of(&project, &["import-agents", source.path()]);
    assert!(quiet["changed"].is_null() && quiet["vanished"].is_null(), "{quiet:#}");

    // In the catalog, people change two entries, and what files cannot hold of a third.
    let folder = Files::new(&[]);
    json_of(&project, &["export", folder.path()]);
    for (id, from, to) in [
        ("agents-style", "Be brief.", "Be short."),
        ("agents-names", "Be clear.", "Be plain."),
        ("agents-tests", "audience: all", "audience: group"),
    ] {
        let path = format!("{id}.md");
        let text = folder.read(&path);
        assert!(text.contains(from), "{text}");
        let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with("sourceHash")).collect();
        folder.0.write(&path, &format!("{}\n", lines.join("\n").replace(from, to)));
    }
    assert_eq!(run(&project, &["import", folder.path(), "--overwrite"]).code, 0);
    // In the files, people change two sections, remove one, and a whole file.
    source.0.write(
        "AGENTS.md",
        "## Tests\n\nRun all of them.\n\n## Style\n\nBe kind.\n\n## Names\n\nBe clear.\n",
    );
    std::fs::remove_file(Path::new(source.path()).join(".cursor/rules/react.mdc")).unwrap();

    let again = json_of(&project, &["import-agents", source.path()]);
    let changed = json!([
        { "path": "AGENTS.md", "id": "agents-tests", "edited": false, "updated": false },
        { "path": "AGENTS.md", "id": "agents-style", "edited": true, "updated": false },
    ]);
    let vanished = json!([
        { "path": "AGENTS.md", "id": "agents-old" },
        { "path": ".cursor/rules/react.mdc", "id": "cursor-react" },
    ]);
    assert_eq!((&again["changed"], &again["vanished"]), (&changed, &vanished), "{again:#}");
    let body = |id: &str| json_of(&project, &["get", id])["item"].clone();
    assert_eq!(body("agents-tests")["body"], "Run them.", "nothing changes unasked");

    let text = run(&project, &["import-agents", source.path(), "--dry-run"]).stdout;
    for part in ["agents-tests was changed in the file", "agents-old is not in the file any more", "--update"]
    {
        assert!(text.contains(part), "{part}: {text}");
    }
    let updated = json_of(&project, &["import-agents", source.path(), "--update"]);
    assert_eq!(updated["changed"][0]["updated"], true, "{updated:#}");
    let tests = body("agents-tests");
    assert_eq!((&tests["body"], &tests["audience"]), (&json!("Run all of them."), &json!("group")));
    assert_eq!(body("agents-style")["body"], "Be short.", "what people decided stays");
    assert_eq!(
        (&body("agents-names")["body"], &body("agents-old")["body"]),
        (&json!("Be plain."), &json!("Go."))
    );
    let last = json_of(&project, &["import-agents", source.path()]);
    assert_eq!(last["changed"].as_array().unwrap().len(), 1, "{last:#}");
}

#[test]
fn a_switch_of_the_environment_does_not_open_what_the_operator_closed() {
    let home = crate::harness::new_home("instructions-closed");
    let file = home.join("config.toml");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, text.replace("mutation = true", "mutation = false")).unwrap();
    let source = Files::new(&[("AGENTS.md", "## Tests\n\nRun them.\n")]);
    let mut command =
        program(&["instructions", "import-agents", source.path(), "--project", &project("cli-shut")]);
    command.env("PAIROFCLEATS_HOME", &home).env("MCP_ENABLE_MUTATION", "1");
    let refused = printed(command, "");
    assert_eq!(refused.code, 1, "{}", refused.all());
    assert!(refused.all().contains("Mutation disabled."), "{}", refused.all());
}
