//! Typical folders for MkDocs, Docusaurus, VitePress, Sphinx, Hugo and code hosts: they have no errors.

use super::*;
use crate::evidence::UnindexedPaths;

/// Checks a site by itself, whose folder is `base`, in a repository with these files.
fn report(base: Option<&str>, site: &[(&str, &str)], repository: &[&str]) -> ValidationReport {
    let files: MemoryFiles = site.iter().copied().collect();
    let site = Site::read(&files, base, &SiteLimits::default());
    let snippets = parsed(&site);
    let mut all = vec![("LICENSE", MIT)];
    all.extend(repository.iter().map(|path| (*path, "")));
    let facts = evidence(Questions::new(&site, &snippets, None), &all, &[]);
    check_with(&site, &facts)
}

fn check_with(site: &Site, facts: &RepositoryFacts) -> ValidationReport {
    check(&GateInput {
        site,
        snippets: &parsed(site),
        evidence: Ok(facts),
        claims: None,
        run: None,
        secrets: &Words,
        profile: Profile::Local,
    })
}

/// Returns code and severity of the issues that are worse than `info`.
fn worse(report: &ValidationReport) -> Vec<(&str, Severity)> {
    let issues = report.issues.iter().filter(|issue| issue.severity < Severity::Info);
    issues.map(|issue| (issue.code.as_str(), issue.severity)).collect()
}

#[test]
fn targets_at_the_root_of_a_site_are_found_where_generators_look() {
    let docusaurus = [
        (
            "intro.md",
            "# Intro\n\n[a](/docs/guide/setup) [b](/docs/guide/setup.md) ![c](/img/x.png) ![d](@site/static/img/x.png)\n",
        ),
        ("guide/setup.mdx", "# Set up\n"),
    ];
    let files = ["website/docs/intro.md", "website/docs/guide/setup.mdx", "website/static/img/x.png"];
    let found = report(Some("website/docs"), &docusaurus, &files);
    assert_eq!(
        worse(&found),
        [("dead_link", Severity::Warning)],
        "setup.md is setup.mdx: {}",
        found.to_json()
    );

    let vitepress = [
        ("index.md", "# Shop\n\n![logo](/logo.png) [guide](/guide/start) [s](/guide/start.html#top)\n"),
        ("guide/start.md", "# Start\n\n![logo](/logo.png) <img src=\"/logo.png\" alt=\"logo\">\n"),
        ("public/logo.png", ""),
    ];
    assert!(worse(&report(Some("docs"), &vitepress, &["docs/index.md"])).is_empty());
    // The site as a part of its repository.
    let below: Vec<(String, &str)> =
        vitepress.iter().map(|(path, text)| (format!("docs/{path}"), *text)).collect();
    let below: Vec<(&str, &str)> = below.iter().map(|(path, text)| (path.as_str(), *text)).collect();
    assert!(worse(&report(Some(""), &below, &[])).is_empty());
}

#[test]
fn an_unknown_target_at_the_root_may_be_known_to_the_generator() {
    let text = "# P\n\n[a](/docs/gone) ![b](/img/gone.png) [c](@site/gone.js)\n";
    for base in [None, Some("docs"), Some("")] {
        let report = report(base, &[("p.md", text)], &["docs/p.md"]);
        assert_eq!(worse(&report), [("dead_link", Severity::Warning); 3], "{base:?}: {}", report.to_json());
    }
    let own = report(
        None,
        &[("p.md", "# P\n\n[a](@/x.md) [b](~/x.png) [c](~@img/x.png) <img src={logo} alt=\"x\">\n")],
        &[],
    );
    assert!(worse(&own).is_empty(), "{}", own.to_json());
}

#[test]
fn only_what_is_named_like_a_file_is_certainly_dead() {
    for (target, severity) in [
        ("v1.2", Severity::Warning),
        ("numpy.array", Severity::Warning),
        ("guide.html", Severity::Warning),
        ("../blog/first", Severity::Warning),
        ("gone.png", Severity::Error),
        ("gone.PDF", Severity::Error),
        ("gone.rs", Severity::Error),
        ("../gone.yaml", Severity::Error),
    ] {
        let text = format!("# P\n\n[a]({target})\n");
        let report = report(Some("docs"), &[("p.md", &text)], &["docs/p.md"]);
        assert_eq!(worse(&report), [("dead_link", severity)], "{target}: {}", report.to_json());
    }
}

#[derive(Debug)]
struct Disk;

impl UnindexedPaths for Disk {
    fn exists(&self, path: &str) -> bool {
        ["docs/shared", "docs/shared/a.md", "generated/api.md"].contains(&path)
    }
}

#[test]
fn links_to_what_the_index_leaves_out_are_not_dead() {
    let text = "# P\n\n[a](../third_party/x/LICENSE) [b](../node_modules/y/README.md) [c](../libs/z/README.md)\n\n\
        `third_party/x/gone.c` `libs/z/gone.c`\n";
    let on_disk = "# Q\n\n[d](shared/a.md) [e](../generated/api.md) [f](../generated/gone.md)\n";
    let files: MemoryFiles = [("p.md", text), ("q.md", on_disk)].into_iter().collect();
    let site = Site::read(&files, Some("docs"), &SiteLimits::default());
    let modules = "[submodule \"z\"]\n\tpath = libs/z\n\turl = https://example.com/z\n";
    let repository = [("LICENSE", MIT), ("docs/p.md", text), (".gitmodules", modules), ("libs/own.c", "")];
    let facts = || evidence(Questions::new(&site, &[], None), &repository, &[]);
    let dead = |report: &ValidationReport| {
        let issues = report.issues.iter().filter(|issue| issue.severity < Severity::Info);
        issues.map(|issue| (issue.path.clone().unwrap_or_default(), issue.line)).collect::<BTreeSet<_>>()
    };
    let of_index = check_with(&site, &facts());
    assert_eq!(dead(&of_index), BTreeSet::from([("q.md".to_owned(), Some(3))]), "{}", of_index.to_json());
    assert_eq!(worse(&of_index), [("dead_link", Severity::Error); 3]);
    let with_disk = check_with(&site, &facts().with_unindexed(Box::new(Disk)));
    assert_eq!(worse(&with_disk), [("dead_link", Severity::Error)], "{}", with_disk.to_json());
}

#[test]
fn files_that_a_reader_makes_need_not_exist() {
    let severity = |text: &str| {
        let report =
            report(Some("docs"), &[("p.md", &format!("# P\n\n{text}\n"))], &["docs/p.md", "apps/web/a.ts"]);
        report.issues.iter().find(|issue| issue.code == "missing_path").map(|issue| issue.severity)
    };
    for text in [
        "Create `apps/web/settings.json` first.",
        "Keys are in `apps/web/.env.local`.",
        "It writes `apps/web/out.json`.",
    ] {
        assert_eq!(severity(text), Some(Severity::Warning), "{text}");
    }
    for text in ["See `apps/web/gone.ts`.", "Stored in `apps/web/created.ts`."] {
        assert_eq!(severity(text), Some(Severity::Error), "{text}");
    }
    assert_eq!(severity("See `apps/web/a.ts`."), None);
}

#[test]
fn extensions_of_markdown_are_not_faults() {
    let mkdocs = "# Guide { #guide }\n\n!!! note \"Mind\"\n    Read [this](#setup) and [that](#guide).\n\n--8<-- \"snippets/a.md\"\n\n\
        ??? tip\n    [x](other.md){ .md-button #button }\n\nSee [Store][shop.store.Store] and [b](#button).\n\n## Set up {: #setup }\n\n\
        | a | b |\n|---|---|\n| 1 | 2 |\n\n*[HTML]: Hyper Text\n";
    let docusaurus = "---\nid: a\n---\n\nimport Tabs from '@theme/Tabs';\n\n# A\n\n:::note[Mind]\n\nText.\n\n:::\n\n<Tabs>\n  <TabItem value=\"x\">\n\n\
        ```js title=\"a.js\" {1}\nlet a = 1;\n```\n\n  </TabItem>\n</Tabs>\n\n{/* a comment */}\n\n<details>\n<summary>More</summary>\n\nText.\n\n</details>\n";
    let hugo = "+++\ntitle = 'H'\n+++\n\n{{< note >}}Text{{< /note >}} [a]({{<ref>}}) <a href=\"{{< ref \"a.md\" >}}\">b</a>\n";
    let sphinx = "# S\n\n(my-target)=\n## Part\n\n```{note}\nText.\n```\n\n{doc}`guide` and [x](#my-target), [y](project:#z)\n";
    let vitepress = "# V\n\n[[toc]]\n\n::: tip\nText with a flag: \u{1f3f4}\u{e0067}\u{e0062}\u{e0073}\u{e0063}\u{e0074}\u{e007f}.\n:::\n\n<<< @/a.js\n\n\
        ## Part {#part}\n\n[x](#part) [[Wiki page]] ![[image.png]]\n";
    let host = "# R\n\n[![build](https://ci.example.com/x.svg)](../../actions) [issues](../../issues)\n\n> [!NOTE]\n> Text[^1].\n\n[^1]: A note.\n\n- [ ] open\n";
    let other = "# Other\n";
    let pages = [
        ("mkdocs.md", mkdocs),
        ("docusaurus.md", docusaurus),
        ("hugo.md", hugo),
        ("sphinx.md", sphinx),
        ("vitepress.md", vitepress),
        ("host.md", host),
        ("other.md", other),
    ];
    let report = report(Some("docs"), &pages, &["docs/host.md"]);
    assert!(worse(&report).is_empty(), "{}", report.to_json());
}

#[test]
fn other_hidden_letters_of_flags_are_found() {
    let flag = |letters: &str| {
        let hidden: String = letters.chars().filter_map(|c| char::from_u32(0xe0000 + u32::from(c))).collect();
        let text = format!("# P\n\n\u{1f3f4}{hidden}\u{e007f}\n");
        worse(&report(None, &[("p.md", &text)], &[])).len()
    };
    assert_eq!((flag("gbeng"), flag("gbwls"), flag("hide"), flag("gbengx")), (0, 0, 1, 1));
}
