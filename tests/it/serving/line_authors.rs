//! The authors of the lines of a file, on its page: line by line, as of the last run, and omitted if they are not known.

use history::FoundRepository;
use reqwest::StatusCode;
use serde_json::{Value, json};

use super::TestServer;
use super::pages::{check_markup, page};
use crate::harness::{Repository, app_with, git_as, project, result};

/// A name for commits, and their time.
type Author = (&'static str, Option<&'static str>);

const ANN: Author = ("Ann", Some("2021-03-01T12:00:00+00:00"));
const BOB: Author = ("Bob", Some("2022-06-15T12:30:00+00:00"));
const CEM: Author = ("Cem", Some("2024-02-29T23:59:00+00:00"));

const FILE: &str = "src/till.py";
const TEXT: &str = "def drawer(coins):\n    total = sum(coins)\n    return total\n";
/// The same function with a line more, the third.
const ROUNDED: &str =
    "def drawer(coins):\n    total = sum(coins)\n    total = round(total)\n    return total\n";

/// A repository with one file, and a server that shows it.
struct Till {
    server: TestServer,
    repository: Repository,
    project: String,
}

impl Till {
    async fn open(name: &str) -> Self {
        let till = Self {
            server: TestServer::start(|_| {}).await,
            repository: Repository::new(&[]),
            project: project(name),
        };
        git_as(till.repository.path(), ANN, &["init", "--quiet"]);
        till
    }

    /// Commits a text of the file. Returns the commit.
    fn commit(&self, author: Author, text: &str) -> String {
        self.repository.write(FILE, text);
        git_as(self.repository.path(), author, &["add", "--all"]);
        git_as(self.repository.path(), author, &["commit", "--quiet", "--message", "A change"]);
        let found = FoundRepository::find(self.repository.path(), &|_| true).unwrap();
        found.head().unwrap().commit.clone()
    }

    async fn index(&self) {
        result(&self.server.app, "build_index", self.build()).await;
    }

    /// The arguments of a run.
    fn build(&self) -> Value {
        json!({ "repoPath": self.repository.root(), "project_id": self.project })
    }

    /// The page of the file.
    async fn page(&self, parameters: &str) -> String {
        let name = self.repository.path().file_name().unwrap().to_str().unwrap();
        let path = format!("/p/{}/r/{name}/-/{FILE}{parameters}", self.project);
        let (status, html) = page(&self.server, &path).await;
        assert_eq!(status, StatusCode::OK, "{html}");
        check_markup(&path, &html);
        html
    }
}

/// The column of a page: the line beside each label, and the author, or the text in its place.
fn column(html: &str) -> Vec<(u32, &str)> {
    let labels = html.split("<span class=\"by\"").skip(1);
    let column = labels.map(|label| {
        let (label, line) = label.split_once("</span><span class=\"l\" id=\"L").unwrap();
        let author = match label.split_once("<bdi>") {
            Some((_, rest)) => rest.split("</bdi>").next().unwrap(),
            None => label.trim_start_matches('>').trim(),
        };
        (line.split('"').next().unwrap().parse().unwrap(), author)
    });
    column.collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn each_line_of_a_function_has_its_own_author() {
    let till = Till::open("line-authors").await;
    let (first, second) = (till.commit(ANN, TEXT), till.commit(BOB, ROUNDED));
    till.index().await;
    let html = till.page("?authors=1").await;
    assert_eq!(column(&html), [(1, "Ann"), (3, "Bob"), (4, "Ann")], "{html}");
    for (commit, minute, author, day) in [
        (&first, "2021-03-01 12:00 UTC", "Ann", "2021-03-01"),
        (&second, "2022-06-15 12:30 UTC", "Bob", "2022-06-15"),
    ] {
        assert!(html.contains(&format!("title=\"Commit {commit}, {minute}, by {author}\"")), "{html}");
        assert!(html.contains(&format!(">{day}</time>")), "{html}");
    }
    assert!(!html.contains("by: "), "the authors of the part are not said again: {html}");
    // It is switched on and off.
    let plain = till.page("").await;
    assert!(column(&plain).is_empty() && plain.contains("?authors=1\""), "{plain}");
    assert!(plain.contains(">Authors</a>") && html.contains(">Hide authors</a>"), "{plain}");
    // A page that begins within a run.
    assert_eq!(column(&till.page("?authors=1&from=2").await), [(2, "Ann"), (3, "Bob"), (4, "Ann")]);

    // Another commit, and a line that is not committed.
    let third = ROUNDED.replace("(coins)", "(coins, bills)").replace("sum(coins, bills)", "sum(coins)");
    let third_commit = till.commit(CEM, &third);
    till.repository.write(FILE, &format!("{third}# Count again.\n"));
    till.index().await;
    let html = till.page("?authors=1").await;
    let expected = [(1, "Cem"), (2, "Ann"), (3, "Bob"), (4, "Ann"), (5, "not committed")];
    assert_eq!(column(&html), expected, "{html}");
    assert!(
        html.contains(&format!("title=\"Commit {third_commit}, 2024-02-29 23:59 UTC, by Cem\"")),
        "{html}"
    );
    // Committing the line does not change the text.
    till.commit(BOB, &format!("{third}# Count again.\n"));
    till.index().await;
    let expected = [(1, "Cem"), (2, "Ann"), (3, "Bob"), (4, "Ann"), (5, "Bob")];
    assert_eq!(column(&till.page("?authors=1").await), expected);

    // After a change the lines are others than those that were indexed; what is known of the parts has a warning.
    till.repository.write(FILE, &format!("import os\n\n\n{third}"));
    let html = till.page("?authors=1").await;
    assert!(column(&html).is_empty() && html.contains("<span class=\"above\">by: "), "{html}");
    assert!(html.contains("has changed since it was indexed"), "{html}");
    till.server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn lines_whose_history_was_not_read_in_time_are_nobodys() {
    let till = Till::open("late-authors").await;
    till.commit(ANN, TEXT);
    till.index().await;
    assert_eq!(column(&till.page("?authors=1").await), [(1, "Ann")]);

    // The process that reads the history takes longer than a millisecond to start.
    till.repository.write(FILE, ROUNDED);
    let hurried = app_with(|config| config.indexing.history_ms_max = 1);
    result(&hurried, "build_index", till.build()).await;
    for parameters in ["", "?authors=1"] {
        let html = till.page(parameters).await;
        assert!(html.contains("who wrote its lines is not known yet"), "{html}");
        assert!(
            column(&html).is_empty() && !html.contains("by: ") && !html.contains("authors=1\""),
            "{html}"
        );
    }

    // A later run has the time.
    till.index().await;
    let html = till.page("?authors=1").await;
    assert_eq!(column(&html), [(1, "Ann"), (3, "not committed"), (4, "Ann")], "{html}");
    assert!(!html.contains("not known"), "{html}");
    till.server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_outside_of_git_is_nobodys() {
    let till = Till::open("no-authors").await;
    let elsewhere = Repository::new(&[(FILE, TEXT)]);
    let till = Till { repository: elsewhere, ..till };
    till.index().await;
    let plain = till.page("").await;
    assert!(!plain.contains("authors=1\"") && !plain.contains("who wrote"), "{plain}");
    let asked = till.page("?authors=1").await;
    assert!(column(&asked).is_empty() && asked.contains("who wrote its lines is not known"), "{asked}");
    till.server.stop().await;
}
