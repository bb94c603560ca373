//! Random edits of a large index: after each run every new word is found first in its file, no word that is gone is found, and in the
//! end the answers are those of an index that was made at once.

use std::collections::BTreeMap;
use std::sync::Arc;

use gate::app::App;
use serde_json::{Value, json};

use super::{assert_found, index, search};
use crate::harness::{Dice, Repository, app, project, result};

/// Files of the first run, each of one chunk.
const FILES: usize = 5_050;
const ROUNDS: usize = 5;
/// Words that many files share.
const COMMON: [&str; 12] = [
    "harbour", "lantern", "meadow", "orchard", "pebble", "quarry", "ripple", "saddle", "timber", "valley",
    "willow", "yonder",
];

/// The files of a repository, each with a word that no other file has.
struct Files {
    repository: Repository,
    dice: Dice,
    words: BTreeMap<String, String>,
    gone: Vec<String>,
    made: usize,
}

impl Files {
    fn new() -> Self {
        let mut files = Self {
            repository: Repository::new(&[]),
            dice: Dice(40),
            words: BTreeMap::new(),
            gone: Vec::new(),
            made: 0,
        };
        for _ in 0..FILES {
            files.add();
        }
        files
    }

    /// A word that was never there before, of letters only, because a number is not a part of a word by itself.
    fn new_word(&mut self) -> String {
        self.made += 1;
        let mut rest = self.made;
        let mut word = "zu".to_owned();
        for _ in 0..4 {
            word.push_str(
                ["ba", "ke", "di", "fo", "gu", "ly", "mi", "no", "pe", "ra", "si", "tu"][rest % 12],
            );
            rest /= 12;
        }
        word
    }

    fn text(&mut self, word: &str) -> (&'static str, String) {
        let mut common = || COMMON[usize::try_from(self.dice.roll(12)).unwrap()];
        let (a, b, c) = (common(), common(), common());
        match self.dice.roll(4) {
            0 => ("md", format!("The {a} of the {b} is near a {word} and its {c}.\n")),
            1 => ("py", format!("def {a}_{b}(value):\n    # {word} and {c}\n    return value\n")),
            2 => ("py", format!("def {word}(value):\n    return {a}({b}, {c})\n")),
            _ => ("txt", format!("{a} {b} {c}\n{word}\n")),
        }
    }

    /// Adds a file; returns its path.
    fn add(&mut self) -> String {
        let word = self.new_word();
        let (extension, text) = self.text(&word);
        let path = format!("part{}/f{}.{extension}", self.made % 40, self.made);
        self.repository.write(&path, &text);
        self.words.insert(path.clone(), word);
        path
    }

    fn any(&mut self) -> String {
        let at = usize::try_from(self.dice.next() % self.words.len() as u64).unwrap();
        self.words.keys().nth(at).unwrap().clone()
    }

    fn delete(&mut self) {
        let path = self.any();
        self.repository.remove(&path);
        self.gone.extend(self.words.remove(&path));
    }

    /// Changes some files, so that they have new words; returns the paths of all files that changed or moved.
    fn edit(&mut self) -> Vec<String> {
        let mut changed = vec![self.add(), self.add()];
        self.delete();
        // A new text, a further line, and another place.
        let path = self.any();
        let word = self.new_word();
        let (_, text) = self.text(&word);
        self.repository.write(&path, &text);
        self.gone.extend(self.words.insert(path.clone(), word));
        changed.push(path);
        let path = self.any();
        let (word, full) = (self.new_word(), self.repository.path().join(&path));
        let text = format!("{}\n# {word} was here\n", std::fs::read_to_string(&full).unwrap());
        self.repository.write(&path, &text.replace(&self.words[&path], "nothing"));
        self.gone.extend(self.words.insert(path.clone(), word));
        changed.push(path);
        let path = self.any();
        let moved = format!("moved{}/{path}", self.made);
        let text = std::fs::read_to_string(self.repository.path().join(&path)).unwrap();
        self.repository.write(&moved, &text);
        self.repository.remove(&path);
        let word = self.words.remove(&path).unwrap();
        self.words.insert(moved.clone(), word);
        changed.push(moved);
        changed.retain(|path| self.words.contains_key(path));
        changed
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn after_random_edits_every_word_is_found_as_in_an_index_made_at_once() {
    let (app, project, fresh) = (app(), project("edited"), project("fresh"));
    let mut files = Files::new();
    let root = files.repository.root();
    let report = index(&app, &project, &root).await;
    assert!(report["report"]["chunks"].as_u64().unwrap() >= 5_000, "{report:#}");
    for _ in 0..ROUNDS {
        let changed = files.edit();
        index(&app, &project, &root).await;
        for path in &changed {
            let word = &files.words[path];
            assert_found(&search(&app, &project, word, json!({ "ann": false })).await, path, word);
            let together = format!("where is the {} near {word}", COMMON[3]);
            let answer = search(&app, &project, &together, json!({ "ann": false, "explain": true })).await;
            assert_eq!(answer["explain"]["evidence"]["knownWords"], 1.0, "{together}: {answer:#}");
            let hits = answer["hits"].as_array().unwrap();
            assert!(hits.iter().any(|hit| hit["file"] == **path), "{together}: {answer:#}");
        }
        for word in &files.gone {
            let answer = search(&app, &project, word, json!({ "ann": false })).await;
            assert_eq!((&answer["confidence"], &answer["hits"]), (&json!("none"), &json!([])), "{word}");
        }
    }
    // By words alone: a text that moved keeps its vector, and the graph of so many vectors depends on their order.
    index(&app, &fresh, &root).await;
    for query in queries(&files) {
        let edited = shown(&app, &project, &query).await;
        assert_eq!(edited, shown(&app, &fresh, &query).await, "{query}");
    }
}

/// Words that are new, old, gone and common, alone and together.
fn queries(files: &Files) -> Vec<String> {
    let words: Vec<&String> = files.words.values().collect();
    let mut queries: Vec<String> = COMMON.iter().map(|word| (*word).to_owned()).collect();
    queries.extend(files.gone.iter().rev().take(3).cloned());
    queries.extend(words.iter().rev().take(6).map(|word| (*word).clone()));
    queries.push(format!("{} and {}", words[0], words[words.len() / 2]));
    for pair in COMMON.windows(2) {
        queries.push(format!("{}_{}", pair[0], pair[1]));
        queries.push(format!("the {} of a {} and its {}", pair[1], pair[0], words[7]));
    }
    queries.push("\"and its\" timber".to_owned());
    queries.push("lang:python valley".to_owned());
    queries
}

/// Returns the visible part of an answer, without the ids, which differ between projects.
async fn shown(app: &Arc<App>, project: &str, query: &str) -> Value {
    let arguments = json!({ "ann": false, "top": 50, "explain": true });
    let mut answer = search(app, project, query, arguments).await;
    for hit in answer["hits"].as_array_mut().unwrap() {
        hit.as_object_mut().unwrap().remove("id");
    }
    json!({ "hits": answer["hits"], "total": answer["total"], "confidence": answer["confidence"],
        "evidence": answer["explain"]["evidence"], "terms": answer["explain"]["terms"], "vectors": answer["vectors"] })
}

#[tokio::test(flavor = "multi_thread")]
async fn the_counts_follow_runs_of_one_mode_and_what_is_removed() {
    let app = app();
    let project = project("modes");
    let shop =
        Repository::new(&[("a.py", "def drawer():\n    return 'coins'\n"), ("a.md", "# Coins\n\nOld.\n")]);
    let bank = Repository::new(&[("b.py", "def vault():\n    return 'notes'\n")]);
    for repository in [&shop, &bank] {
        index(&app, &project, &repository.root()).await;
    }
    shop.write("a.py", "def drawer():\n    return 'zanzibar'\n");
    shop.write("a.md", "# Notes\n\nNewquux.\n");
    let prose = json!({ "repoPath": shop.root(), "project_id": project, "mode": "prose" });
    result(&app, "build_index", prose).await;
    super::assert_counted(&project).await;
    assert_found(&search(&app, &project, "newquux", json!({})).await, "a.md", "newquux");
    assert_eq!(search(&app, &project, "zanzibar", json!({ "ann": false })).await["hits"], json!([]));
    // A repository whose last file goes, and comes back.
    shop.remove("a.py");
    shop.remove("a.md");
    shop.write("c.md", "# Caravan\n\nfresh\n");
    index(&app, &project, &shop.root()).await;
    assert_found(&search(&app, &project, "caravan", json!({})).await, "c.md", "caravan");
    assert_eq!(search(&app, &project, "newquux", json!({ "ann": false })).await["hits"], json!([]));
}
