//! Entries that an import makes of agents' current files.

use std::time::{Duration, Instant};

use super::super::import::FILE_BYTES_MAX;
use super::*;
use crate::levels::Requirement;

/// Id, title, body, requirement and categories.
type Row = (String, String, String, &'static str, String);

fn row(entry: &Stored) -> Row {
    let Instruction { id, title, body, requirement, categories, .. } = entry.instruction.clone();
    (id, title, body, requirement.as_str(), categories.join(" "))
}

fn assert_imports(path: &str, text: &str, expected: &[(&str, &str, &str, &str, &str)]) {
    let found: Vec<Row> = imported(path, text).iter().map(row).collect();
    let expected: Vec<Row> = expected
        .iter()
        .map(|(id, title, body, requirement, categories)| {
            let requirement = Requirement::parse(requirement).unwrap().as_str();
            ((*id).into(), (*title).into(), (*body).into(), requirement, (*categories).into())
        })
        .collect();
    assert_eq!(found, expected, "{path}");
}

#[test]
fn a_file_with_sections_becomes_an_entry_each() {
    let text = "\u{feff}# Our project\r\n\r\nWe build a shop.\r\n\r\n## Testing\r\n\r\nYou MUST run `make test`.\r\n\r\n\
                ### Slow tests\r\n\r\nAt night.\r\n\r\n## Größe & Stil\r\n```\r\n## no heading\r\n```\r\n\
                ## Never force-push\r\n";
    let all = [
        ("agents", "Our project", "We build a shop.", "recommended", "from:agents-md"),
        (
            "agents-testing",
            "Testing",
            "You MUST run `make test`.\n\n### Slow tests\n\nAt night.",
            "mandatory",
            "from:agents-md",
        ),
        ("agents-groesse-stil", "Größe & Stil", "```\n## no heading\n```", "recommended", "from:agents-md"),
        ("agents-never-force-push", "Never force-push", "Never force-push", "recommended", "from:agents-md"),
    ];
    assert_imports("AGENTS.md", text, &all);
    let in_folder = [("agents-web-a", "A", "a", "recommended", "from:agents-md scope:web/**")];
    assert_imports("web/AGENTS.md", "## A\na", &in_folder);
    let claude =
        [("claude-style", "Style", "x", "recommended", "file:.claude/%43%4c%41%55%44%45.md from:claude-md")];
    assert_imports(".claude/CLAUDE.md", "@AGENTS.md\n\n## Style\nx", &claude);
    assert_imports("CLAUDE.md", "@AGENTS.md\n@docs/style.md\n", &[]);
    let windsurf = [("windsurf", ".windsurfrules", "text", "recommended", "from:windsurf")];
    assert_imports(".windsurfrules", "text", &windsurf);
}

#[test]
fn front_matter_says_when_a_rule_applies() {
    let cursor = "---\ndescription: React: how we write it\nglobs: src/**/*.tsx,**/Button.ts\nalwaysApply: false\n---\n\nHooks\n";
    let categories = "from:cursor scope:**/%42utton.ts scope:src/**/*.tsx";
    let react = ("cursor-react", "React: how we write it", "Hooks", "recommended", categories);
    assert_imports(".cursor/rules/react.mdc", cursor, &[react]);
    let (cursor, copilot, windsurf) =
        (".cursor/rules/a.mdc", ".github/instructions/a.instructions.md", ".windsurf/rules/a.md");
    for (path, front_matter, categories) in [
        (cursor, "alwaysApply: true", "always from:cursor"),
        (cursor, "description: T", "from:cursor on-demand"),
        (cursor, "globs:\nalwaysApply: false", "from:cursor manual"),
        (".cursor/rules/A.mdc", "", "file:%41 from:cursor manual"),
        (
            "w/.cursor/rules/a.mdc",
            "alwaysApply: true",
            "always file:w/.cursor/rules/a.mdc from:cursor scope:w/**",
        ),
        (copilot, "applyTo: '**'", "always from:copilot-scoped"),
        (copilot, "applyTo: \"**/*.py, x\"", "from:copilot-scoped scope:**/*.py scope:x"),
        (copilot, "description: T", "from:copilot-scoped on-demand"),
        (copilot, "", "from:copilot-scoped manual"),
        (windsurf, "trigger: always_on", "always file:a from:windsurf"),
        (windsurf, "trigger: glob\nglobs: *.py", "from:windsurf scope:*.py"),
        (windsurf, "trigger: glob\nglob: '*.{a,b}'", "from:windsurf scope:*.{a,b}"),
        (windsurf, "trigger: model_decision\ndescription: T", "from:windsurf on-demand"),
        (windsurf, "trigger: manual", "from:windsurf manual"),
        (windsurf, "", "from:windsurf on-demand"),
    ] {
        let entries = imported(path, &format!("---\n{front_matter}\n---\n# T\nbody"));
        assert_eq!(row(&entries[0]).4, categories, "{path} {front_matter}");
        assert_eq!((entries.len(), entries[0].instruction.title.as_str()), (1, "T"));
        let format = AgentFormat::of_path(path).unwrap();
        assert_eq!(exported(format, &entries)[0].0, path, "it returns to its file");
    }
}

#[test]
fn a_skill_is_one_entry() {
    let text = "---\nname: pdf\ndescription: >\n  Reads PDF files.\nlicense: MIT\n---\n# PDF\n\n## Steps\nx\n## More\ny";
    let entries = imported("tools/skills/pdf/SKILL.md", text);
    let skill = &entries[0].instruction;
    assert_eq!(entries.len(), 1);
    assert_eq!(
        (skill.id.as_str(), skill.title.as_str(), skill.body.as_str()),
        ("skill-pdf", "PDF", "## Steps\nx\n## More\ny")
    );
    assert_eq!(skill.rationale.as_deref(), Some("Reads PDF files."));
    assert_eq!(skill.categories, ["file:tools/skills/pdf/%53%4b%49%4c%4c.md", "from:skill", "on-demand"]);
    let files = exported(&skill::FORMAT, &entries);
    let expected = format!(
        "---\nname: pdf\ndescription: Reads PDF files.\n---\n{MARKER}\n\n# PDF\n\n<!-- instruction: skill-pdf -->\n\n\
         ## Steps\nx\n## More\ny\n"
    );
    assert_eq!(files, [("tools/skills/pdf/SKILL.md".to_owned(), expected)]);
    let own = stored(
        json!({ "id": "a_b", "title": "T", "body": "x", "priority": 1, "audience": "all", "requirement": "optional" }),
    );
    assert_eq!(exported(&skill::FORMAT, &[own])[0].0, ".claude/skills/a-b/SKILL.md");
}

#[test]
fn the_words_of_a_skill_bind_only_those_who_use_it() {
    let text = "---\nname: pdf\ndescription: Reads PDFs.\n---\n# PDF\n\nYou MUST ALWAYS read all, and NEVER skip a page.\n";
    for path in ["SKILL.md", ".claude/skills/pdf/SKILL.md", "skills/a/b/SKILL.md"] {
        let entries = imported(path, text);
        let (requirement, categories) = (row(&entries[0]).3, row(&entries[0]).4);
        assert_eq!(requirement, "recommended", "{path}");
        assert!(categories.ends_with("from:skill on-demand"), "{path}: {categories}");
        // If people made it binding in the catalog, it stays so.
        let mut bound = entries[0].clone();
        bound.instruction.requirement = Requirement::Critical;
        let files = exported(&skill::FORMAT, &[bound]);
        assert!(files[0].1.contains("\nRequirement: critical\n"), "{files:?}");
        assert_eq!(row(&all_imported(&files)[0]).3, "critical");
    }
}

#[test]
fn files_that_cannot_be_imported_are_reported() {
    let long = "x".repeat(70_000);
    let scoped = |globs: &str| format!("---\nglobs: {globs}\n---\n# T\nbody");
    for (path, text, part) in [
        ("README.md", "x", "not a file of a known agent"),
        ("AGENTS.md", &format!("## A\nx\n## B\n{long}"), "Section \"B\": `body` has 70000 bytes"),
        ("AGENTS.md", &format!("# {}\nx", "x".repeat(100_000)), "`body` has"),
        ("AGENTS.md", &"x".repeat(FILE_BYTES_MAX + 1), "bytes; at most"),
        ("AGENTS.md", &"# A\nx\n".repeat(1001), "1001 sections"),
        (".cursor/rules/a.mdc", "---\na: [\n---\nx", "not valid YAML"),
        (".cursor/rules/a.mdc", "---\nglobs: *.ts\nnever closed", "front matter has no end"),
        (".cursor/rules/a.mdc", "---\na: &a [x]\nb: [*a, *a]\n---\nx", "not valid YAML"),
        (".cursor/rules/a.mdc", &scoped(&"a".repeat(250)), "is too long"),
        (
            ".cursor/rules/a.mdc",
            &scoped(&(0..40).map(|n| format!("f{n}")).collect::<Vec<_>>().join(",")),
            "names; at most 32",
        ),
    ] {
        let error = import(path, text).unwrap_err();
        assert!(error.contains(part) && error.ends_with('.') && error.len() < 800, "{error}");
    }
}

#[test]
fn what_agents_take_for_text_is_text() {
    let text = "---\n\nA separator, and then text.";
    assert_eq!(imported(".cursor/rules/a.mdc", text)[0].instruction.body, text);
    let long = format!("# {}\n\ntext", "word ".repeat(60));
    let entry = &imported("AGENTS.md", &long)[0].instruction;
    assert!(entry.title.ends_with('…') && entry.title.chars().count() == 200);
    assert!(entry.body.starts_with("word word") && entry.body.ends_with("word\n\ntext"));
    assert!(import("AGENTS.md", "").unwrap().entries.is_empty());
}

#[test]
fn a_line_that_only_includes_a_file_is_no_rule() {
    let read = |text: &str| {
        let rules = import("CLAUDE.md", text).unwrap();
        let bodies = |entry: &Value| entry["body"].as_str().unwrap().to_owned();
        (rules.entries.iter().map(bodies).collect::<Vec<_>>(), rules.notes)
    };
    let note = |names: &str| vec![format!("Lines that only include another file are left out: {names}.")];
    for (text, bodies, names) in [
        ("@AGENTS.md\n", &[][..], "@AGENTS.md"),
        ("# CLAUDE.md\n\n@AGENTS.md\n", &[], "@AGENTS.md"),
        ("## Shared\n\n- @docs/style.md\n- @README\n\n## Own\n\nx", &["x"], "@docs/style.md, @README"),
        (
            "# T\n\nRead this.\n@~/.claude/mine.md\n---\nEnd.",
            &["Read this.\n\n---\nEnd."],
            "@~/.claude/mine.md",
        ),
    ] {
        assert_eq!(
            read(text),
            (bodies.iter().map(|body| (*body).to_owned()).collect(), note(names)),
            "{text}"
        );
    }
    for text in ["See @AGENTS.md first.", "@alice", "```java\n@a.b.Override\n```", "@Override"] {
        assert_eq!(read(text), (vec![text.to_owned()], Vec::new()), "{text}");
    }
    let many: String = (0..7).map(|at| format!("@{at}.md\n")).collect();
    assert_eq!(read(&many).1, note("@0.md, @1.md, @2.md, @3.md, @4.md and 2 more"));
}

#[test]
fn an_empty_section_is_reported() {
    let rules = import("AGENTS.md", "## Never force-push\n\n## Tests\n\nRun them.\n").unwrap();
    assert_eq!(rules.entries.len(), 2);
    assert_eq!(rules.notes, ["Section \"Never force-push\" has no text, so its heading is the whole rule."]);
    let generated = format!("{MARKER}\n\n## A\n\n@AGENTS.md\n");
    let rules = import("AGENTS.md", &generated).unwrap();
    assert_eq!((rules.entries[0]["body"].as_str(), rules.notes.len()), (Some("@AGENTS.md"), 0));
}

#[test]
fn hostile_files_end_in_linear_time() {
    let size = 1 << 18;
    for text in [
        "#".repeat(FILE_BYTES_MAX),
        "# ".repeat(size / 2),
        "#\n".repeat(size / 2),
        "  - a\n".repeat(size / 6),
        (0..500).map(|depth| format!("{}- a\n", "  ".repeat(depth))).collect(),
        format!("```\n{}", "# a\n".repeat(size / 4)),
        format!("---\n{}", "a: [".repeat(size / 4)),
        "---\n".repeat(size / 4),
        "a\n===\n".repeat(size / 6),
        format!("# {}\n{}", "x".repeat(size), "## y\n".repeat(900)),
        format!("{MARKER}\n{}", "<!-- instruction: a -->\nRequirement: optional\n".repeat(size / 50)),
    ] {
        for path in ["AGENTS.md", ".cursor/rules/a.mdc", "a/SKILL.md"] {
            let started = Instant::now();
            let _ = import(path, &text);
            // Less than a second without optimisation; quadratic time would take minutes.
            assert!(started.elapsed() < Duration::from_secs(30), "{path} {}", &text[..20]);
        }
    }
}
