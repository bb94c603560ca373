//! A text that several files have is one hit, with its other places counted: a vendored copy, a work tree, a fork.

use std::collections::BTreeSet;
use std::sync::Arc;

use contract::ProjectId;
use gate::app::App;
use serde_json::{Value, json};
use sqlx::{Connection, PgConnection};

use crate::harness::{self, Repository, app, app_with, git, project, result};
use crate::storage::database::run;

/// A function of some lines, as long as most chunks.
fn function(name: &str, about: &str) -> String {
    format!(
        "def {name}(valve, limit):\n    \"\"\"{about}, and report how much was left behind in it.\"\"\"\n    \
         left = valve.capacity - limit\n    for step in range(limit):\n        left = left - valve.open(step)\n    \
         return left\n"
    )
}

async fn index(app: &Arc<App>, project: &str, root: &str) {
    result(app, "build_index", json!({ "repoPath": root, "project_id": project })).await;
}

async fn search(app: &Arc<App>, project: &str, query: &str, more: Value) -> Value {
    let mut arguments =
        json!({ "query": query, "project_id": project, "repoPath": "*", "output": "json", "top": 50 });
    arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let mut answer = result(app, "search", arguments).await;
    answer.as_object_mut().unwrap().remove("stats");
    answer
}

fn hits(answer: &Value) -> &[Value] {
    answer["hits"].as_array().unwrap()
}

fn texts(answer: &Value) -> Vec<&str> {
    hits(answer).iter().map(|hit| hit["content"].as_str().unwrap()).collect()
}

/// The hits with this text.
fn with_text<'a>(answer: &'a Value, text: &str) -> Vec<&'a Value> {
    hits(answer).iter().filter(|hit| hit["content"].as_str().unwrap().trim() == text.trim()).collect()
}

fn files<'a>(hits: impl IntoIterator<Item = &'a Value>) -> BTreeSet<&'a str> {
    hits.into_iter().map(|hit| hit["file"].as_str().unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_copied_file_is_one_hit_with_its_other_place() {
    let (app, project) = (app(), project("copied"));
    let drain = function("drain_overflow", "Drain the overflow of a valve");
    let close = function("close_overflow", "Close the overflow of a valve");
    let short = "def overflow(self):\n    return self._overflow\n";
    let repository = Repository::new(&[
        ("src/drain.py", &drain),
        ("extra/copied/drain.py", &drain),
        ("src/close.py", &close),
        ("src/tank.py", short),
        ("src/valve.py", short),
    ]);
    index(&app, &project, &repository.root()).await;

    let answer = search(&app, &project, "drain the overflow of a valve", json!({})).await;
    let found = with_text(&answer, &drain);
    assert_eq!(found.len(), 1, "{answer:#}");
    let places = BTreeSet::from(["src/drain.py", "extra/copied/drain.py"]);
    let other = &found[0]["otherPlaces"];
    assert_eq!((&other["total"], other["totalRelation"].is_null()), (&json!(1), true), "{other:#}");
    assert_eq!(other["first"][0]["line"], 1);
    let named = [found[0], &other["first"][0]];
    assert_eq!(files(named), places);
    assert!(with_text(&answer, &close)[0]["otherPlaces"].is_null());
    let short_files = files(with_text(&answer, short));
    assert_eq!(
        short_files,
        BTreeSet::from(["src/tank.py", "src/valve.py"]),
        "short texts are hits of their own"
    );
    assert_eq!((&answer["total"], hits(&answer).len()), (&json!(4), 4));
    assert!(answer["totalRelation"].is_null() && answer["nextOffset"].is_null());

    // A place that the filters exclude is not counted.
    let narrowed = search(&app, &project, "drain the overflow -path:copied", json!({})).await;
    assert!(with_text(&narrowed, &drain)[0]["otherPlaces"].is_null(), "{narrowed:#}");
    let both = search(&app, &project, "drain the overflow path:drain", json!({})).await;
    assert_eq!((hits(&both).len(), &hits(&both)[0]["otherPlaces"]["total"]), (1, &json!(1)));

    // Lists and lines show every place.
    let listed = search(&app, &project, "type:function path:drain", json!({})).await;
    assert_eq!(files(hits(&listed)), places);
    assert!(hits(&listed).iter().all(|hit| hit["otherPlaces"].is_null()));
    let lines = search(&app, &project, "def drain_overflow", json!({ "regex": true })).await;
    assert_eq!(files(lines["matches"]["files"].as_array().unwrap()), places);

    // Chunks that are similar to a chunk are not only its copies.
    let id = found[0]["id"].as_i64().unwrap();
    let similar = search(&app, &project, &format!("chunk:{id}"), json!({})).await;
    assert_eq!(with_text(&similar, &drain).len(), 1, "{similar:#}");
    assert!(!with_text(&similar, &close).is_empty(), "{similar:#}");

    let compact = json!({ "output": "compact" });
    let compact = search(&app, &project, "drain the overflow of a valve", compact).await;
    let other = hits(&compact).iter().find(|hit| hit["otherPlaces"]["total"] == 1).unwrap();
    assert!(other["otherPlaces"]["first"][0]["repo"].is_null(), "one repository is not named: {other:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_portable_file_folds_the_same_texts() {
    let (app, project) = (app(), project("copied-file"));
    let text = |number: usize| function(&format!("drain_{number}"), "Drain the overflow of a valve");
    let repository = Repository::new(&[("src/short.py", "def overflow(self):\n    return self.overflow\n")]);
    repository.write("lib/short.py", "def overflow(self):\n    return self.overflow\n");
    for (number, folders) in [&["a", "b", "c", "d", "e"][..], &["a", "c"], &["b"]].iter().enumerate() {
        folders.iter().for_each(|folder| repository.write(&format!("{folder}/{number}.py"), &text(number)));
    }
    index(&app, &project, &repository.root()).await;
    result(&app, "build_sqlite_index", json!({ "project_id": project })).await;
    for (query, places) in [("drain the overflow of a valve", 2), ("drain the overflow -path:c", 1)] {
        let postgres = search(&app, &project, query, json!({})).await;
        let file = search(&app, &project, query, json!({ "backend": "sqlite" })).await;
        assert_eq!(file["backend"], "sqlite");
        let copied = hits(&postgres).iter().filter(|hit| hit["otherPlaces"].is_object());
        assert_eq!(copied.count(), places, "{query}: {postgres:#}");
        let counted = |answer: &Value| {
            let of_hit = |hit: &Value| (hit["id"].clone(), hit["otherPlaces"].clone());
            (answer["total"].clone(), hits(answer).iter().map(of_hit).collect::<Vec<_>>())
        };
        assert_eq!(counted(&postgres), counted(&file), "{query}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_text_of_very_many_places_is_counted_up_to_a_limit() {
    let (app, project) = (app(), project("copied-often"));
    let drain = function("drain_overflow", "Drain the overflow of a valve");
    let close = function("close_overflow", "Close the overflow of a valve");
    let repository = Repository::new(&[("drain.py", &drain), ("close.py", &close)]);
    index(&app, &project, &repository.root()).await;
    let few = Repository::new(&[("x.py", &drain), ("y.py", &drain), ("z.py", &drain)]);
    index(&app, &project, &few.root()).await;
    let chunks = format!("{}.chunks", ProjectId::parse(&project).unwrap().schema_name());
    let mut raw = PgConnection::connect_with(&harness::server().connect_options()).await.unwrap();
    run(
        &mut raw,
        &format!(
            "INSERT INTO {chunks} SELECT (jsonb_populate_record(NULL::{chunks}, to_jsonb(c) || \
               jsonb_build_object('id', c.id + n.number * 100000))).* \
             FROM {chunks} c, generate_series(1, 11000) AS n (number) \
             WHERE c.content LIKE 'def drain%' AND c.repository_id = (SELECT min(repository_id) FROM {chunks})"
        ),
    )
    .await;
    let answer = search(&app, &project, "drain the overflow of a valve", json!({})).await;
    assert_eq!((with_text(&answer, &drain).len(), with_text(&answer, &close).len()), (1, 1), "{answer:#}");
    let other = &with_text(&answer, &drain)[0]["otherPlaces"];
    assert_eq!((&other["total"], &other["totalRelation"]), (&json!(10_000), &json!("gte")), "{other:#}");
    assert_eq!(other["first"].as_array().unwrap().len(), 3);
    // However many there are elsewhere, those of the repository that is asked are all counted.
    let answer = search(&app, &project, "drain the overflow", json!({ "repoPath": few.root() })).await;
    assert_eq!(with_text(&answer, &drain).len(), 1, "{answer:#}");
    assert_eq!(with_text(&answer, &drain)[0]["otherPlaces"]["total"], 2, "{answer:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_work_tree_and_a_clone_are_one_hit_with_the_original() {
    let (app, project) = (app(), project("clones"));
    let names = ["drain", "close", "open", "flush", "check"];
    let text = |name: &str| function(&format!("{name}_overflow"), &format!("{name} the overflow of a valve"));
    let original = Repository::new(&[]);
    names.iter().for_each(|name| original.write(&format!("src/{name}.py"), &text(name)));
    git(original.path(), &["init", "--quiet"]);
    git(original.path(), &["add", "."]);
    git(original.path(), &["commit", "--quiet", "-m", "valves"]);
    index(&app, &project, &original.root()).await;
    let asked = ["drain the overflow of a valve", "check_overflow", "valve capacity limit", "flush -drain"];
    let alone = json!({ "repoPath": original.root() });
    let mut before = Vec::new();
    for query in asked {
        before.push(search(&app, &project, query, alone.clone()).await);
    }
    assert!(before.iter().all(|answer| hits(answer).len() > 1), "{before:#?}");

    let (near, far) = (Repository::new(&[]), Repository::new(&[]));
    let (tree, clone) = (near.path().join("tree"), far.path().join("clone"));
    git(original.path(), &["worktree", "add", "--quiet", tree.to_str().unwrap(), "-b", "other"]);
    git(far.path(), &["clone", "--quiet", original.path().to_str().unwrap(), "clone"]);
    let changed =
        text("drain").replace("left = valve.capacity - limit", "left = valve.overflow_capacity - limit");
    std::fs::write(clone.join("src/drain.py"), &changed).unwrap();
    for root in [&tree, &clone] {
        index(&app, &project, root.canonicalize().unwrap().to_str().unwrap()).await;
    }

    let answer = search(&app, &project, "drain the overflow of a valve", json!({})).await;
    for name in names {
        let found = with_text(&answer, &text(name));
        let others = if name == "drain" { 1 } else { 2 };
        assert_eq!(
            (found.len(), &found[0]["otherPlaces"]["total"]),
            (1, &json!(others)),
            "{name}: {answer:#}"
        );
        let named = found[0]["otherPlaces"]["first"].as_array().unwrap();
        let repositories: BTreeSet<&str> =
            named.iter().chain([found[0]]).map(|place| place["repo"].as_str().unwrap()).collect();
        assert_eq!(repositories.len(), 1 + others, "each is another repository: {found:#?}");
    }
    let own = with_text(&answer, &changed);
    assert_eq!((own.len(), &own[0]["repo"]), (1, &json!("clone")), "a changed file is a hit of its own");
    assert!(own[0]["otherPlaces"].is_null(), "{own:#?}");
    assert_eq!((&answer["total"], hits(&answer).len()), (&json!(6), 6), "{answer:#}");

    // A repository that is asked alone names no other, and answers as before.
    let mut after = Vec::new();
    for query in asked {
        after.push(search(&app, &project, query, alone.clone()).await);
    }
    assert_eq!(before, after);
    assert!(after.iter().flat_map(hits).all(|hit| hit["otherPlaces"].is_null()));
}

/// All hits, page by page.
async fn pages(app: &Arc<App>, project: &str, query: &str, top: usize) -> Vec<Value> {
    let (mut all, mut offset) = (Vec::new(), Some(0));
    while let Some(at) = offset {
        let page = search(app, project, query, json!({ "top": top, "offset": at })).await;
        let next = page["nextOffset"].as_u64();
        assert!(next.is_none_or(|next| next > at), "{next:?} after {at}");
        all.extend_from_slice(hits(&page));
        offset = next;
    }
    all
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_of_folded_hits_follow_one_another() {
    // A first page ranks 30 candidates of each retriever: five texts, because equal ones are next to each other.
    let app = app_with(|config| config.search.candidates = 30);
    let project = project("folded-pages");
    let text = |number: usize| function(&format!("drain_{number}"), "Drain the overflow of a valve");
    let (copies, fork) = (Repository::new(&[]), Repository::new(&[]));
    for number in 0..36 {
        for copy in 0..6 {
            copies.write(&format!("part{number}/drain_{copy}.py"), &text(number));
        }
        fork.write(&format!("src/drain_{}.py", number + 18), &text(number + 18));
    }
    let expected = |count: usize| -> BTreeSet<String> {
        (0..count).map(|number| text(number).trim().to_owned()).collect()
    };
    for (repository, count) in [(&copies, 36), (&fork, 54)] {
        index(&app, &project, &repository.root()).await;
        let mut seen: Vec<Vec<i64>> = Vec::new();
        for top in [5, 12, 50] {
            let all = pages(&app, &project, "drain the overflow of a valve", top).await;
            let found: BTreeSet<String> =
                all.iter().map(|hit| hit["content"].as_str().unwrap().trim().to_owned()).collect();
            assert_eq!(all.len(), found.len(), "no text is on two pages of {top}");
            assert_eq!(found, expected(count), "no text is lost on pages of {top}");
            seen.push(all.iter().map(|hit| hit["id"].as_i64().unwrap()).collect());
        }
        assert!(
            seen.windows(2).all(|pair| pair[0] == pair[1]),
            "the size of pages changes no order: {seen:?}"
        );
    }
    let last = search(&app, &project, "drain the overflow of a valve", json!({ "offset": 50 })).await;
    assert_eq!((&last["total"], texts(&last).len()), (&json!(54), 4), "{last:#}");
    assert!(last["totalRelation"].is_null());
}

#[tokio::test(flavor = "multi_thread")]
async fn copies_of_a_repository_do_not_displace_another() {
    let (app, project) = (app(), project("ten-copies"));
    let copied = Repository::new(&[]);
    for number in 0..24 {
        let about = "Drain the drain of the overflow valve of an overflow valve drain";
        copied.write(
            &format!("src/drain_overflow_valve_{number}.py"),
            &function(&format!("drain_{number}"), about),
        );
    }
    // Few chunks contain these words, so that each of them selects candidates.
    let about = "Rinse the sieve, rinse the sieve, and rinse the rinsed sieve";
    copied.write("src/rinse_sieve.py", &function("rinse", about));
    let other = Repository::new(&[
        ("lib/plumber.py", &function("plumb", "Mentions once a drain among many other things")),
        ("lib/cook.py", &function("cook", "Mentions once a sieve among many other things")),
    ]);
    index(&app, &project, &copied.root()).await;
    let copies: Vec<Repository> = (0..9).map(|_| Repository::new(&[])).collect();
    for copy in &copies {
        for file in std::fs::read_dir(copied.path().join("src")).unwrap() {
            let file = file.unwrap();
            let name = file.file_name().into_string().unwrap();
            copy.write(&format!("src/{name}"), &std::fs::read_to_string(file.path()).unwrap());
        }
        index(&app, &project, &copy.root()).await;
    }
    index(&app, &project, &other.root()).await;
    // Among a few candidates each repository has one; among many, the copies fill the list.
    for (query, file, copied) in [("rinse the sieve", "lib/cook.py", 1), ("the drain", "lib/plumber.py", 24)]
    {
        let answer = search(&app, &project, query, json!({ "ann": false })).await;
        assert!(files(hits(&answer)).contains(file), "{query}: {:?}", files(hits(&answer)));
        let (named, unnamed): (Vec<_>, Vec<_>) =
            hits(&answer).iter().partition(|hit| hit["otherPlaces"]["total"] == 9);
        assert_eq!((named.len(), files(unnamed)), (copied, BTreeSet::from([file])), "{query}");
    }
}
