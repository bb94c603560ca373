//! Tests of parsed pages: the collected parts, the targets of links, and hostile texts.

use std::time::{Duration, Instant};

use super::*;

fn page(text: &str) -> Page {
    Page::parse("guide/a.md", text.to_owned(), 10_000)
}

fn site(files: &[(&str, &str)], base: Option<&str>) -> Site {
    let files: MemoryFiles = files.iter().copied().collect();
    Site::read(&files, base, &SiteLimits::default())
}

#[test]
fn headings_links_and_code_have_their_lines() {
    let page = page(
        "---\ntitle: T\n---\n# One `x()` {#first}\n\nText with [a *link*](b.md#c) and ![pic](p.png).\nSee [ref][r] and `span`.\n\n\
         ```rust,ignore\nlet a = 1;\n```\n\n> ```\n> quoted\n> ```\n\n    indented\n\n[r]: ../r.md\n",
    );
    assert_eq!(page.title(), Some("T"));
    let heading = Heading { level: 1, text: "One x()".to_owned(), line: 4, id: Some("first".to_owned()) };
    assert_eq!(page.headings, [heading]);
    let links: Vec<_> =
        page.links.iter().map(|link| (link.line, link.target.as_str(), link.text.as_str())).collect();
    assert_eq!(links, [(6, "b.md#c", "a link"), (6, "p.png", "pic"), (7, "../r.md", "ref")]);
    assert_eq!(page.links[1].kind, LinkKind::Image);
    let blocks: Vec<_> = page
        .code_blocks
        .iter()
        .map(|block| (block.line, block.code_line, block.language(), block.code.as_str(), block.is_closed))
        .collect();
    assert_eq!(
        blocks,
        [
            (9, 10, Some("rust".to_owned()), "let a = 1;\n", true),
            (13, 14, None, "quoted\n", true),
            (17, 17, None, "indented\n", true)
        ]
    );
    let spans: Vec<_> = page.code_spans.iter().map(|span| (span.line, span.code.as_str())).collect();
    assert_eq!(spans, [(4, "x()"), (7, "span")]);
    let kinds: Vec<LineKind> = page.numbered_lines().map(|(_, kind, _)| kind).collect();
    assert_eq!(
        kinds[..4],
        [LineKind::FrontMatter, LineKind::FrontMatter, LineKind::FrontMatter, LineKind::Heading]
    );
    assert_eq!(
        (kinds[5], kinds[8], kinds[9], kinds[18]),
        (LineKind::Text, LineKind::Code, LineKind::Code, LineKind::Reference)
    );
}

#[test]
fn code_and_comments_are_masked_in_place() {
    let text = "a `__X_Y__` b <!-- {{c}} -->\n\n```\n{{d}}\n```\nü `é` {{e}}\n";
    let page = page(text);
    assert_eq!(page.masked.len(), text.len());
    assert!(!page.masked.contains("X_Y") && !page.masked.contains("{{c}}") && !page.masked.contains("{{d}}"));
    let at = page.masked.find("{{e}}").unwrap();
    assert_eq!((page.line_at(at), &text[at..at + 5]), (6, "{{e}}"));
    assert_eq!(page.comments, [Comment { text: "{{c}}".to_owned(), line: 1 }]);
}

#[test]
fn an_undefined_label_is_noted_and_a_bracket_is_not() {
    let page = page("See [text][label].\nAnd [REDACTED] or [this][].\n\n[text]: x.md\n");
    assert_eq!(page.undefined_references, [(1, "label".to_owned())]);
}

#[test]
fn an_open_fence_is_noted() {
    let is_closed = |text: &str| page(text).code_blocks[0].is_closed;
    assert!(is_closed("```\na\n```\n") && is_closed("- ```sh\n  a\n  ```\n") && is_closed("~~~\n```\n~~~"));
    assert!(!is_closed("```\na\n") && !is_closed("````\na\n```\n") && !is_closed("```"));
}

#[test]
fn the_language_is_the_first_word_of_the_info() {
    let language = |info: &str| page(&format!("```{info}\nx\n```\n")).code_blocks[0].language();
    for (info, expected) in [
        ("rust,no_run", Some("rust")),
        ("Python title=\"a\"", Some("python")),
        ("{.toml}", Some("toml")),
        ("", None),
    ] {
        assert_eq!(language(info).as_deref(), expected, "{info}");
    }
}

#[test]
fn links_lead_to_files_folders_and_the_repository() {
    let site = site(
        &[
            ("guide/a.md", "# A"),
            ("guide/b.md", "# B"),
            ("index.md", "# I"),
            ("img/x y.png", ""),
            ("api/README.md", "# R"),
        ],
        Some("docs"),
    );
    let page = site.page("guide/a.md").unwrap();
    let in_site = |path: &str, anchor: Option<&str>| {
        Ok(Target::InSite { path: path.to_owned(), anchor: anchor.map(str::to_owned) })
    };
    for (target, expected) in [
        ("b.md#über%20x", in_site("guide/b.md", Some("über x"))),
        ("#a", in_site("guide/a.md", Some("a"))),
        ("", in_site("guide/a.md", None)),
        ("b", in_site("guide/b.md", None)),
        ("../b/", in_site("guide/b.md", None)),
        ("./b.html?x=1", in_site("guide/b.md", None)),
        ("../img/x%20y.png", in_site("img/x y.png", None)),
        ("/index.html", in_site("index.md", None)),
        ("../api/", in_site("api", None)),
        ("https://example.com/x", Ok(Target::External)),
        ("mailto:a@b.c", Ok(Target::External)),
        ("//cdn/x.js", Ok(Target::External)),
        ("{{ site.url }}/x", Ok(Target::External)),
        ("JavaScript:alert(1)", Err(Unresolved::Code)),
        ("data:text/html,x", Err(Unresolved::Code)),
        ("gone.md", Err(Unresolved::NoFile("guide/gone.md".to_owned()))),
        ("gone", Err(Unresolved::NoRoute("guide/gone".to_owned()))),
    ] {
        assert_eq!(site.resolve(page, target), expected, "{target}");
    }
    let in_repository = |path: &str| Ok(Target::InRepository { path: path.to_owned(), anchor: None });
    assert_eq!(site.resolve(page, "../../src/lib.rs"), in_repository("src/lib.rs"));
    let from_root = |path: &str| Ok(Target::FromRoot { path: path.to_owned(), anchor: None });
    assert_eq!(site.resolve(page, "/LICENSE"), from_root("LICENSE"));
    assert_eq!(site.resolve(page, "@site/static/x.png"), from_root("static/x.png"));
    assert_eq!(
        site.resolve(page, "/b"),
        in_site("guide/b.md", None),
        "the folder of the page may be the root"
    );
    assert_eq!(
        site.resolve(page, "/docs/guide/b"),
        in_site("guide/b.md", None),
        "the site is served at its name"
    );
    assert_eq!(site.resolve(page, "../../../etc/passwd"), Ok(Target::External), "out of the repository");
    assert_eq!(site.page_shown_at("api").map(|page| page.path.as_str()), Some("api/README.md"));
    assert_eq!(site.in_repository("index.md").as_deref(), Some("docs/index.md"));
}

#[test]
fn what_is_too_much_is_left_out_and_said() {
    let long = format!("# {}", "x".repeat(2_000));
    let many = "[a](b.md) ".repeat(50);
    let files: MemoryFiles = [
        ("a.md", long.as_bytes()),
        ("b.md", &b"# B\xff"[..]),
        ("c.md", many.as_bytes()),
        ("d.md", &b"# D"[..]),
        ("e.md", &b"# E"[..]),
    ]
    .into_iter()
    .collect();
    let limits =
        SiteLimits { page_bytes_max: 1_000, items_per_page_max: 10, files_max: 4, ..SiteLimits::default() };
    let site = Site::read(&files, None, &limits);
    let problem = |path: &str, problem| (path.to_owned(), problem);
    assert_eq!(
        site.problems(),
        [
            problem("a.md", SiteProblem::PageTooLarge),
            problem("b.md", SiteProblem::PageNotText),
            problem("c.md", SiteProblem::PageTruncated),
            problem("e.md", SiteProblem::TooManyFiles),
        ]
    );
    assert_eq!(site.pages().len(), 2);
    assert_eq!(site.page("c.md").unwrap().links.len(), 10);
}

#[test]
fn hostile_pages_take_bounded_time() {
    let bytes = 512 << 10;
    let repeated = |text: &str| text.repeat(bytes / text.len());
    let brackets = repeated("[");
    let texts = [
        repeated("x"),
        brackets,
        repeated("[a](b.md)\n"),
        repeated("> "),
        repeated("`"),
        repeated("*a _b "),
        repeated("<a href=\""),
        repeated("<!--"),
        repeated("# a\n"),
        repeated("| a "),
        repeated("- - - "),
        repeated("[a][b]\n"),
        repeated("&#x26;"),
        repeated("![[["),
        format!("{}{}", "![a ".repeat(40_000), "](b)".repeat(40_000)),
    ];
    for text in texts {
        let begun = Instant::now();
        let parsed = page(&text);
        let took = begun.elapsed();
        assert!(took < Duration::from_secs(20), "{}: {took:?}", &text[..8]);
        assert!(parsed.links.len() <= 10_000 && parsed.headings.len() <= 10_000);
        assert_eq!(parsed.masked.len(), text.len());
        assert!(parsed.anchors(AnchorStyle::Any).len() <= 30_000);
    }
}

#[test]
fn pages_are_markdown_by_their_names() {
    for (path, expected) in [
        ("a.md", true),
        ("x/B.MD", true),
        ("a.markdown", true),
        (".md", false),
        ("a.mdx", false),
        ("md", false),
    ] {
        assert_eq!(is_page(path), expected, "{path}");
    }
}
