//! The search page beside its hits: facets over all hits, colours of parts of texts, the repository in the box; and the file finder
//! when there are too many calls.

use contract::config::Required;
use reqwest::StatusCode;
use serde_json::json;
use tenancy::Scope;

use super::TestServer;
use super::access::issue_key_with;
use super::form_page::Visitor;
use super::pages::{check_markup, hidden, page};
use crate::harness::{Repository, git, git_as, project, result};

/// A value of a facet: its name, the number beside it, and the address of its link.
type Value = (String, usize, String);

/// The values of the facet with a label; empty if there is no such facet.
fn facet(html: &str, label: &str) -> Vec<Value> {
    let Some((_, rest)) = html.split_once(&format!("<span class=\"dim\">{label}: </span>")) else {
        return Vec::new();
    };
    let value = |link: &str| {
        let (address, rest) = link.split_once("\">").unwrap();
        let (name, rest) = rest.split_once("</a>").unwrap();
        let name = name.strip_prefix("<bdi>").unwrap().strip_suffix("</bdi>").unwrap();
        let count = rest.split_once("> ").unwrap().1.split(' ').next().unwrap();
        (name.to_owned(), count.parse::<usize>().unwrap(), address.replace("&amp;", "&"))
    };
    rest.split("</p>").next().unwrap().split("<a href=\"").skip(1).map(value).collect()
}

fn counts(values: &[Value]) -> Vec<(&str, usize)> {
    values.iter().map(|(name, count, _)| (name.as_str(), *count)).collect()
}

/// The number of all hits in the summary of a page.
fn total(html: &str) -> usize {
    let (_, rest) = html.split_once("hits, the best first, of ").unwrap_or_else(|| panic!("no hits: {html}"));
    rest.split(' ').next().unwrap().parse().unwrap_or_else(|_| panic!("no exact number: {html}"))
}

async fn index(server: &TestServer, id: &str, repository: &Repository) {
    result(&server.app, "build_index", json!({ "repoPath": repository.root(), "project_id": id })).await;
}

/// 30 files in Python by Ada and 25 in JavaScript by Bob, and a repository without git that has five more, one of them risky. Each has
/// one function.
async fn parcels(server: &TestServer, id: &str) -> (Repository, Repository) {
    let first = Repository::new(&[]);
    git(first.path(), &["init", "-q"]);
    for at in 0..30 {
        let text = format!("def parcel_{at}():\n    return 'parcel {at}'\n");
        first.write(&format!("parcels/parcel_{at}.py"), &text);
    }
    git(first.path(), &["add", "-A"]);
    git(first.path(), &["commit", "-qm", "first"]);
    for at in 0..25 {
        let text = format!("export function parcel{at}() {{\n  return 'parcel {at}';\n}}\n");
        first.write(&format!("web/parcel{at}.js"), &text);
    }
    git_as(first.path(), ("Bob", None), &["add", "-A"]);
    git_as(first.path(), ("Bob", None), &["commit", "-qm", "second"]);
    let other = Repository::new(&[(
        "src/run.py",
        "import os\n\n\ndef parcel_run(request):\n    os.system(request.args['parcel'])\n",
    )]);
    for at in 0..4 {
        other.write(&format!("src/other_{at}.py"), &format!("def parcel_other_{at}():\n    return {at}\n"));
    }
    index(server, id, &first).await;
    index(server, id, &other).await;
    (first, other)
}

fn name(repository: &Repository) -> String {
    repository.path().file_name().unwrap().to_string_lossy().into_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn facets_count_all_hits_and_lead_to_them() {
    let server = TestServer::start(|_| {}).await;
    let id = project("facets");
    let (first, other) = parcels(&server, &id).await;
    let (_, html) = page(&server, &format!("/?project={id}&q=parcel")).await;
    check_markup("facets", &html);
    let all = total(&html);
    assert!(all >= 60 && html.matches("<article").count() == 20, "{html}");
    let languages = facet(&html, "language");
    assert_eq!(counts(&languages), [("python", all - 25), ("javascript", 25)]);
    assert_eq!(counts(&facet(&html, "folder")), [("parcels", 30), ("web", 25), ("src", all - 55)]);
    assert_eq!(counts(&facet(&html, "author")), [("Ada", 30), ("Bob", 25)]);
    let repositories = facet(&html, "repository");
    assert_eq!(counts(&repositories), [(name(&first).as_str(), 55), (name(&other).as_str(), all - 55)]);
    assert!(facet(&html, "risk").iter().any(|(_, count, _)| *count == 1), "{html}");

    // Each number is that of the hits behind its link.
    let (_, javascript) = page(&server, &languages[1].2).await;
    assert_eq!((total(&javascript), hidden(&javascript, "q")), (25, "parcel lang:javascript".to_owned()));
    assert!(facet(&javascript, "language").is_empty(), "all are alike: {javascript}");
    let (_, of_first) = page(&server, &repositories[0].2).await;
    assert_eq!((total(&of_first), hidden(&of_first, "q")), (55, "parcel".to_owned()));
    assert!(of_first.contains(&format!("<option selected>{}</option>", name(&first))), "{of_first}");
    let (_, by_bob) = page(&server, &facet(&html, "author")[1].2).await;
    assert_eq!((total(&by_bob), hidden(&by_bob, "q")), (25, "parcel author:Bob".to_owned()));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn facets_count_all_matching_lines_and_narrow_the_pattern() {
    let server = TestServer::start(|_| {}).await;
    let id = project("facets-lines");
    let (first, other) = parcels(&server, &id).await;
    for (query, mode) in [("parcel", "regex"), ("parcel", "exact"), ("%2Fparcel%2F", "")] {
        let (_, html) = page(&server, &format!("/?project={id}&q={query}&mode={mode}")).await;
        check_markup(mode, &html);
        assert!(html.contains("116 matching lines in 60 files") && html.contains("offset=100"), "{html}");
        let languages = facet(&html, "language");
        assert_eq!(counts(&languages), [("python", 66), ("javascript", 50)], "{mode}");
        let repositories = facet(&html, "repository");
        assert_eq!(counts(&repositories), [(name(&first).as_str(), 110), (name(&other).as_str(), 6)]);
        let (_, python) = page(&server, &languages[0].2).await;
        assert!(python.contains("66 matching lines in 35 files"), "{python}");
        assert_eq!(hidden(&python, "q"), "/parcel/ lang:python");
        let (_, of_other) = page(&server, &repositories[1].2).await;
        assert!(of_other.contains("6 matching lines in 5 files"), "{of_other}");
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn facets_say_at_least_where_not_all_hits_are_known() {
    let server = TestServer::start(|config| {
        (config.search.candidates, config.search.exact_counted_max) = (20, 40);
    })
    .await;
    let id = project("facets-least");
    let _repositories = parcels(&server, &id).await;
    let (_, ranked) = page(&server, &format!("/?project={id}&q=parcel")).await;
    assert!(ranked.contains("of at least "), "{ranked}");
    let repositories = facet(&ranked, "repository, at least");
    assert!(repositories.iter().map(|(_, count, _)| count).sum::<usize>() > 20, "{ranked}");
    // One line more than the page is counted, in the order of paths.
    let (_, lines) = page(&server, &format!("/?project={id}&q=parcel&mode=regex")).await;
    assert!(lines.contains("at least 101 matching lines"), "{lines}");
    let languages = facet(&lines, "language, at least");
    assert_eq!(counts(&languages), [("python", 60), ("javascript", 41)]);
    // A list of everything that passes a filter is longer than the candidates of a ranking.
    let (_, listed) = page(&server, &format!("/?project={id}&q=NOT+lang%3Arust")).await;
    let all = total(&listed);
    assert_eq!(counts(&facet(&listed, "folder")), [("parcels", 30), ("web", 25), ("src", all - 55)]);
    assert!(facet(&listed, "language").is_empty(), "the query has that filter: {listed}");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_part_of_a_text_has_the_colours_of_the_whole() {
    let server = TestServer::start(|_| {}).await;
    let (id, repository) = (project("colours"), Repository::new(&[]));
    for name in ["a", "b", "c"] {
        let before: String = (0..9).map(|at| format!("    Paragraph {at} of the rules {name}.\n")).collect();
        let text = format!(
            "def rules_{name}():\n    text = '''\n{before}    On import there is a duty on glass bottles.\n    '''\n    return text\n"
        );
        repository.write(&format!("src/rules_{name}.py"), &text);
    }
    index(&server, &id, &repository).await;
    // `import` is in a string that begins above the snippet of a hit, and above the line that matches.
    let import = "<span class=\"str\"><mark>import</mark></span>";
    let (_, hits) = page(&server, &format!("/?project={id}&q=import+duty+glass+bottles")).await;
    assert!(hits.contains("<article") && hits.matches(import).count() == 3, "{hits}");
    let (_, lines) = page(&server, &format!("/?project={id}&q=import&mode=exact")).await;
    assert!(lines.contains("3 matching lines") && lines.matches(import).count() == 3, "{lines}");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_warns_of_the_invisible_characters_that_it_shows() {
    let server = TestServer::start(|_| {}).await;
    let (id, repository) = (project("invisible"), Repository::new(&[]));
    let between: String = (0..12).map(|at| format!("    step_{at} = {at}\n")).collect();
    let text = format!(
        "def odd():\n    import_duty = 1\n{between}    hidden = 'a\u{200b}b'\n    return hidden, import_duty\n"
    );
    repository.write("src/odd.py", &text);
    index(&server, &id, &repository).await;
    // Both lines are coloured by the same text.
    for (query, is_warned) in [("import_duty+%3D", false), ("hidden+%3D", true)] {
        let (_, html) = page(&server, &format!("/?project={id}&q={query}&mode=exact")).await;
        assert!(html.contains("1 matching line "), "{query}: {html}");
        assert_eq!(html.contains("invisible characters"), is_warned, "{query}: {html}");
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_word_in_the_box_chooses_the_repository() {
    let server = TestServer::start(|_| {}).await;
    let id = project("repo-word");
    let (_first, other) = parcels(&server, &id).await;
    let chosen = name(&other);
    let (_, html) = page(&server, &format!("/?project={id}&q=parcel+repo%3A{chosen}")).await;
    assert_eq!(hidden(&html, "q"), "parcel");
    assert!(html.contains(&format!("<option selected>{chosen}</option>")), "{html}");
    assert!(html.contains("src/other_0.py") && !html.contains("parcels/parcel_0.py"), "{html}");
    let (status, html) = page(&server, &format!("/?project={id}&q=parcel+repo%3Anone")).await;
    assert!(status == StatusCode::NOT_FOUND && html.contains("no index of <code>none</code>"), "{html}");
    // A qualified name is not a filter.
    let (status, html) = page(&server, &format!("/?project={id}&q=repo%3A%3Aparcel")).await;
    assert_eq!((status, hidden(&html, "q")), (StatusCode::OK, "repo::parcel".to_owned()), "{html}");
    // A pattern is taken as it is.
    let (_, html) = page(&server, &format!("/?project={id}&q=repo%3A{chosen}&mode=exact")).await;
    assert!(html.contains("0 matching lines"), "{html}");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_file_finder_says_that_there_were_too_many_calls() {
    let server = TestServer::start(|config| config.access.required = Required::Always).await;
    let (id, repository) = (project("find-limited"), Repository::new(&[("src/shop.py", "shop = 1\n")]));
    index(&server, &id, &repository).await;
    let (_, key) = issue_key_with(&server.app, &[&id], &[Scope::Search], |new| {
        new.calls_per_minute = Some(3);
    })
    .await;
    let visitor = Visitor::signed_in(&server, &key).await;
    let path = format!("/p/{id}/r/{}/find?q=shop", name(&repository));
    // Signing in is a call, and a page takes two, so the first one of the second page is refused.
    assert!(visitor.page(&path).await.contains("src/shop.py"));
    let (status, html) = visitor.get(&path).await;
    assert_eq!(status, StatusCode::TOO_MANY_REQUESTS, "{html}");
    assert!(html.contains("More than 3 calls a minute") && html.contains("RATE_LIMITED"), "{html}");
    server.stop().await;
}
