//! The paths and texts of exported entries.

use super::*;
use crate::scope::scopes;

#[test]
fn entries_go_where_their_scope_or_origin_says() {
    let entries = [
        scoped("all", &[]),
        scoped("app", &["scope:Web/[[]slug[]]/**"]),
        scoped("both", &["scope:api/**", "scope:web/**"]),
        scoped("broken", &["scope:["]),
        scoped("demand", &["on-demand"]),
        scoped("escape", &["scope:../x/**"]),
        scoped("file", &["scope:**/Dockerfile", "file:.cursor/rules/Docker.mdc", "file:../AGENTS.md"]),
        scoped("web", &["scope:web/**"]),
    ];
    for (format, expected) in [
        (
            "agents-md",
            &["AGENTS.md: all both escape file", "Web/[slug]/AGENTS.md: app", "web/AGENTS.md: web"][..],
        ),
        ("copilot", &[".github/copilot-instructions.md: all app both escape file web"]),
        (
            "windsurf",
            &[
                ".windsurf/rules/app.md: app",
                ".windsurf/rules/both.md: both",
                ".windsurf/rules/demand.md: demand",
                ".windsurf/rules/escape.md: escape",
                ".windsurf/rules/file.md: file",
                ".windsurf/rules/web.md: web",
                ".windsurfrules: all",
            ],
        ),
    ] {
        let files = exported(AgentFormat::by_name(format).unwrap(), &entries);
        let found: Vec<String> = files
            .iter()
            .map(|(path, text)| {
                let ids = text
                    .lines()
                    .filter_map(|line| line.strip_prefix("<!-- instruction: ")?.split(' ').next());
                format!("{path}: {}", ids.collect::<Vec<_>>().join(" "))
            })
            .collect();
        assert_eq!(found, expected, "{format}");
    }
    let agents = &exported(&plain::AGENTS_MD, &entries)[0].1;
    assert!(agents.contains("Applies to: `api/**`, `web/**`\n\ntext\n"), "{agents}");
    assert!(agents.contains("Applies to: `**/Dockerfile`\n"), "{agents}");
}

#[test]
fn what_is_read_on_demand_is_only_named_where_all_is_read() {
    let text = format!(
        "---\nname: pdf\ndescription: Reads\n  PDF files.\n---\n# PDF\n\nYou MUST NOT skip a page.\n{}",
        "x ".repeat(9000)
    );
    let mut entries = imported(".claude/skills/pdf/SKILL.md", &text);
    entries.extend(imported(
        ".cursor/rules/wide.mdc",
        "---\ndescription: Wide tables\nalwaysApply: false\n---\nALWAYS wrap.\n",
    ));
    entries.push(scoped("by-name", &["manual"]));
    entries.push(scoped("all", &[]));
    for format in [&plain::AGENTS_MD, &plain::CLAUDE_MD, &copilot::ALL_FILES] {
        let files = exported(format, &entries);
        let [(_, file)] = &files[..] else { panic!("{files:?}") };
        assert!(file.len() < 1000, "{}: {file}", format.name);
        for part in [
            "\n## all\n",
            "\n## On demand\n\n<!-- instructions on demand -->\n",
            "\n- by-name (`by-name`, only when a person names it)\n- Wide tables (`cursor-wide`)\n- PDF (`skill-pdf`): Reads PDF files.\n",
        ] {
            assert!(file.contains(part), "{}: {part}: {file}", format.name);
        }
        for part in ["skip a page", "wrap", "mandatory"] {
            assert!(!file.contains(part), "{}: {part}: {file}", format.name);
        }
        let back: Vec<String> = all_imported(&files).into_iter().map(|entry| entry.instruction.id).collect();
        assert_eq!(back, ["all"], "a name is no rule");
    }
    let only = exported(&plain::AGENTS_MD, &entries[..1]);
    assert!(only[0].1.contains("\n## On demand\n") && all_imported(&only).is_empty(), "{only:?}");
    let cursor = exported(&cursor::FORMAT, &entries[..1]);
    assert!(
        cursor[0].1.starts_with("---\ndescription: Reads PDF files.\nalwaysApply: false\n---\n"),
        "{}",
        cursor[0].1
    );
    let windsurf = exported(&windsurf::FORMAT, &entries[..1]);
    assert!(windsurf[0].1.starts_with("---\ntrigger: model_decision\n"), "{}", windsurf[0].1);
}

#[test]
fn a_generated_file_has_one_form() {
    let mandatory = stored(
        json!({ "id": "no-secrets", "title": "Secrets #", "body": "# Why\nLeaks.", "priority": 1, "audience": "all",
        "requirement": "critical", "rationale": "Keys: they\nleak", "categories": [r"scope:**/*.ts", "scope:src/**"] }),
    );
    let style = entry_of("style", "MUST fit.\n```\nopen");
    let old = stored(
        json!({ "id": "old", "title": "Old", "body": "x", "priority": 1, "audience": "all", "requirement": "deprecated",
        "deprecatedBy": "style" }),
    );
    let entries = [style, old, mandatory];
    let secrets = |hashes: &str, applies: &str| {
        format!(
            "{hashes} Secrets # #\n\n<!-- instruction: no-secrets; priority: 1; headings: +{} -->\nRequirement: critical\n\
             {applies}\n{hashes}# Why\nLeaks.\n",
            hashes.len()
        )
    };
    let style = |hashes: &str| {
        format!(
            "{hashes} T\n\n<!-- instruction: style -->\nRequirement: recommended\n\nMUST fit.\n```\nopen\n```\n"
        )
    };
    let agents =
        format!("{MARKER}\n\n{}\n{}", secrets("##", "Applies to: `**/*.ts`, `src/**`\n"), style("##"));
    assert_eq!(exported(&plain::AGENTS_MD, &entries), [("AGENTS.md".to_owned(), agents)]);
    let cursor = [
        (
            ".cursor/rules/no-secrets.mdc".to_owned(),
            format!(
                "---\ndescription: \"Keys: they leak\"\nglobs: **/*.ts,src/**\nalwaysApply: false\n---\n{MARKER}\n\n{}",
                secrets("#", "")
            ),
        ),
        (
            ".cursor/rules/style.mdc".to_owned(),
            format!("---\nalwaysApply: true\n---\n{MARKER}\n\n{}", style("#")),
        ),
    ];
    assert_eq!(exported(&cursor::FORMAT, &entries), cursor);
    let copilot = exported(&copilot::SCOPED, &entries);
    assert!(
        copilot[0]
            .1
            .starts_with("---\ndescription: \"Keys: they leak\"\napplyTo: \"**/*.ts,src/**\"\n---\n<!-- Gen"),
        "{}",
        copilot[0].1
    );
    assert!(copilot[1].1.starts_with("---\napplyTo: \"**\"\n---\n"));
}

#[test]
fn only_generated_files_are_marked() {
    for text in [
        MARKER,
        &format!("{MARKER}\r\n"),
        &format!("\u{feff}---\r\na: b\r\n---\r\n\r\n{MARKER}\r\nx"),
        &format!("\n{MARKER}\n"),
    ] {
        assert!(is_generated(text), "{text:?}");
    }
    for text in [
        "",
        "# A",
        &format!("# A\n{MARKER}"),
        &format!("{MARKER} x"),
        &format!("---\n{MARKER}"),
        &MARKER[..20],
    ] {
        assert!(!is_generated(text), "{text:?}");
    }
    for format in FORMATS {
        for (path, text) in exported(format, &[entry_of("a", "b")]) {
            assert!(is_generated(&text) && text.matches(MARKER).count() == 1 && text.ends_with("b\n"));
            let again = exported(format, &imported(&path, &text.replace('\n', "\r\n")));
            assert_eq!(again, [(path, text)]);
        }
    }
}

#[test]
fn rules_of_one_file_return_to_it() {
    let text = "---\nglobs: *.ts\nalwaysApply: false\n---\n# T\nintro\n## B\nb\n## A\na\n";
    let mut entries = imported(".cursor/rules/ts.mdc", text);
    let files = exported(&cursor::FORMAT, &entries);
    assert_eq!(files.len(), 1);
    assert!(
        files[0].1.contains("\n## T\n")
            && files[0].1.contains("\n## A\n")
            && files[0].0 == ".cursor/rules/ts.mdc"
    );
    // A rule with another scope needs another file.
    entries[1] = scoped("z", &["scope:*.js", "file:.cursor/rules/ts.mdc"]);
    let paths: Vec<String> = exported(&cursor::FORMAT, &entries).into_iter().map(|(path, _)| path).collect();
    assert_eq!(paths, [".cursor/rules/ts.mdc", ".cursor/rules/z.mdc"]);
    // A path that another rule has taken, in any case, is not written twice.
    let taken = [scoped("a", &["scope:x", "file:.cursor/rules/B.mdc"]), scoped("b", &["scope:y"])];
    let paths: Vec<String> = exported(&cursor::FORMAT, &taken).into_iter().map(|(path, _)| path).collect();
    assert_eq!(paths, [".cursor/rules/b-2.mdc", ".cursor/rules/b.mdc"]);
}

#[test]
fn a_generated_file_says_no_more_to_an_agent_than_to_a_person() {
    let hidden = "\u{1b}[2J\u{9b}x\u{202e}\u{e0049}\u{200b}\u{feff}";
    let entry = stored(
        json!({ "id": "a", "title": format!("T{hidden}"), "body": format!("B{hidden}\n\n👩\u{200d}💻"),
        "priority": 50, "audience": "all", "requirement": "recommended", "rationale": format!("R{hidden}"),
        "categories": [encoded(SCOPE_PREFIX, "web\u{202e}/**"), "file:.cursor/rules/q\u{2066}.mdc"] }),
    );
    assert!(has_hidden_text(&entry.instruction));
    for format in FORMATS {
        let files = exported(format, std::slice::from_ref(&entry));
        let [(path, text)] = &files[..] else { panic!("{files:?}") };
        let without_emoji = text.replace("👩\u{200d}💻", "");
        assert!(without_emoji.len() < text.len(), "{}: {text}", format.name);
        for shown in [path, &without_emoji] {
            assert_eq!(contract::escaped(shown), *shown, "{}", format.name);
        }
        assert!(text.contains("B\\u{1b}[2J\\u{9b}x\\u{202e}\\u{e0049}\\u{200b}\\u{feff}"), "{text}");
        let again = imported(path, text);
        assert_eq!(scopes(&again[0].instruction), ["web?/**"], "{}: {text}", format.name);
        assert_eq!(exported(format, &again), files, "{}", format.name);
    }
    assert!(!has_hidden_text(&entry_of("b", "می\u{200c}خواهم 👩\u{200d}💻").instruction));
}
