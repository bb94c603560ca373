//! A repository that is asked alone answers as if it were alone in its project, whatever else the project holds; and no other
//! repository changes the order of its hits where several are asked.

use std::fmt::Write as _;
use std::sync::Arc;

use contract::ProjectId;
use engine::search::{Ranking, SearchAnswer, SearchDeps, SearchRequest};
use gate::app::App;
use serde_json::{Value, json};
use sqlx::{Connection, PgConnection};
use store::Index;
use store::postgres::recorder;

use crate::harness::{self, Dice, Repository, app, app_with, project, result};
use crate::storage::database::run;

/// Words of names and comments. The frequencies of the first and of the last differ most between repositories.
const WORDS: &[&str] = &[
    "cart", "order", "price", "ledger", "invoice", "parser", "token", "socket", "route", "cache", "queue",
    "worker", "signal", "buffer", "stream", "cookie", "session", "schema", "record", "filter", "window",
    "widget", "vector", "matrix", "anchor", "bridge", "canvas", "degree", "engine", "fabric",
];
const VERBS: &[&str] = &["open", "close", "merge", "split", "check", "write", "count", "drain"];

/// Files of functions that are named after [`WORDS`]; `common` is the word that most comments contain.
fn files(dice: &mut Dice, count: usize, common: usize) -> Vec<(String, String)> {
    let word = |dice: &mut Dice| {
        let spread = 1 + dice.roll(WORDS.len() as u64);
        WORDS[(common + dice.roll(spread) as usize) % WORDS.len()]
    };
    let mut file = |number: usize| {
        let mut text = String::new();
        for _ in 0..3 {
            let verb = VERBS[dice.roll(VERBS.len() as u64) as usize];
            let (first, second) = (word(dice), word(dice));
            writeln!(text, "def {verb}_{first}_{second}({first}, limit):").unwrap();
            writeln!(text, "    \"\"\"{verb} the {first} of each {second}, and the {}.\"\"\"", word(dice))
                .unwrap();
            for _ in 0..6 + dice.roll(12) {
                let (left, right) = (word(dice), word(dice));
                writeln!(text, "    {left} = self.{right}.{}_{left}(limit)  # {}", VERBS[0], word(dice))
                    .unwrap();
            }
            text.push_str("    return limit\n\n\n");
        }
        let folder = ["src", "lib", "tests", "examples"][number % 4];
        (format!("{folder}/{}_{number}.py", word(dice)), text)
    };
    (0..count).map(&mut file).collect()
}

fn repository(files: &[(String, String)]) -> Repository {
    let repository = Repository::new(&[]);
    for (path, text) in files {
        repository.write(path, text);
    }
    repository
}

/// Questions of every kind, as arguments of `search`.
fn questions(dice: &mut Dice) -> Vec<Value> {
    let mut asked: Vec<Value> = Vec::new();
    let mut word = || WORDS[dice.roll(WORDS.len() as u64) as usize];
    for number in 0..24 {
        let (a, b, c) = (word(), word(), word());
        let verb = VERBS[number % VERBS.len()];
        let query = match number % 8 {
            0 => format!("where do we {verb} the {a} of each {b}"),
            1 => format!("{verb}_{a}_{b}"),
            2 => a.to_owned(),
            3 => format!("{a} {b} {c}"),
            4 => format!("{verb} {a} -{b}"),
            5 => format!("{verb}_{a}s_{b}x unheard"),
            6 => "cart order limit self return open".to_owned(),
            _ => format!("{a} OR {b}"),
        };
        asked.push(json!({ "query": query, "top": 100 }));
    }
    for (query, more) in [
        ("merge the ledger of each invoice", json!({ "mode": "extracted-prose" })),
        ("cart order", json!({ "mode": "prose" })),
        ("cart order", json!({ "mode": "code" })),
        ("cart order", json!({ "mode": "all", "offset": 120 })),
        ("split the price of each order", json!({ "offset": 200 })),
        ("cart price", json!({ "type": "function", "path": "src" })),
        ("cart price", json!({ "calls": "open_cart" })),
        ("type:function path:lib", json!({})),
        ("\"return limit\" cart", json!({})),
        ("check the cart", json!({ "ann": false })),
        ("zzgrbl frobnicate", json!({})),
        ("opne_cart_ordre", json!({})),
        ("cartt", json!({ "ann": false })),
    ] {
        let mut arguments = json!({ "query": query, "top": 60 });
        arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        asked.push(arguments);
    }
    asked
}

async fn index(app: &Arc<App>, project: &str, repository: &Repository) {
    result(app, "build_index", json!({ "repoPath": repository.root(), "project_id": project })).await;
}

async fn ask(app: &Arc<App>, project: &str, question: &Value, more: &Value) -> Value {
    let mut arguments = question.clone();
    arguments["project_id"] = json!(project);
    arguments["output"] = json!("json");
    arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let mut answer = result(app, "search", arguments).await;
    answer.as_object_mut().unwrap().remove("stats");
    answer
}

/// The answers of the repository alone, named.
async fn answers(app: &Arc<App>, project: &str, asked: &[Value], repository: &Repository) -> Vec<Value> {
    let named = json!({ "repoPath": repository.root() });
    let mut answers = Vec::new();
    for question in asked {
        answers.push(ask(app, project, question, &named).await);
    }
    answers
}

/// Differences of two lists of answers, each with its question.
fn differences(asked: &[Value], before: &[Value], after: &[Value]) -> Vec<String> {
    let mut all = Vec::new();
    for ((question, before), after) in asked.iter().zip(before).zip(after) {
        let fields = before.as_object().unwrap().iter().filter(|(name, value)| after[*name] != **value);
        all.extend(fields.map(|(name, _)| format!("{question}: {name}")));
    }
    all
}

#[tokio::test(flavor = "multi_thread")]
async fn neighbours_do_not_change_the_answers_of_a_repository() {
    let (app, project, mut dice) = (app(), project("neighbours"), Dice(5));
    let ours = files(&mut dice, 90, 0);
    let asked = questions(&mut dice);
    let repository_a = repository(&ours);
    index(&app, &project, &repository_a).await;
    let alone = answers(&app, &project, &asked, &repository_a).await;
    let found = alone.iter().filter(|answer| answer["hits"].as_array().unwrap().len() > 20).count();
    assert!(found > 20, "most questions find many hits: {found}");
    assert!(alone.iter().any(|answer| answer["didYouMean"].is_array()), "a name is suggested");
    // Named or not, it is the only one.
    let mut unnamed = Vec::new();
    for question in &asked {
        unnamed.push(ask(&app, &project, question, &json!({ "repoPath": "*" })).await);
    }
    for answers in [&mut unnamed] {
        for (answer, named) in answers.iter_mut().zip(&alone) {
            answer["explain"]["within"] = named["explain"]["within"].clone();
        }
    }
    assert_eq!(differences(&asked, &alone, &unnamed), Vec::<String>::new());

    // The same words at other frequencies, with records; some of our texts, twice; no word in common; one file.
    let mut other = files(&mut dice, 120, 9);
    other.push(("logs/run.log".to_owned(), "cart order failed\n".repeat(20)));
    let twice: Vec<(String, String)> = ours[..30]
        .iter()
        .flat_map(|(path, text)| {
            [(format!("one/{path}"), text.clone()), (format!("two/{path}"), text.clone())]
        })
        .collect();
    let strange = vec![("a.rs".to_owned(), "fn qqxv() { zzyk(); }\n".to_owned())];
    let single = vec![("only.py".to_owned(), ours[0].1.clone())];
    let neighbours = [repository(&other), repository(&twice), repository(&strange), repository(&single)];
    for neighbour in &neighbours {
        index(&app, &project, neighbour).await;
    }
    let among = answers(&app, &project, &asked, &repository_a).await;
    assert_eq!(differences(&asked, &alone, &among), Vec::<String>::new());

    for neighbour in &neighbours {
        let arguments = json!({ "repoPath": neighbour.root(), "project_id": project });
        result(&app, "clean_artifacts", arguments).await;
    }
    let again = answers(&app, &project, &asked, &repository_a).await;
    assert_eq!(differences(&asked, &alone, &again), Vec::<String>::new());
}

/// Ids of the hits of a repository, in their order.
fn ids_within(answer: &Value, name: &str) -> Vec<i64> {
    let hits = answer["hits"].as_array().unwrap().iter();
    hits.filter(|hit| hit["repo"] == name).map(|hit| hit["id"].as_i64().unwrap()).collect()
}

/// The ids of all hits, in their order.
fn ids(answer: &Value) -> Vec<i64> {
    answer["hits"].as_array().unwrap().iter().map(|hit| hit["id"].as_i64().unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_further_repository_never_reorders_the_hits_of_another() {
    further_repositories_keep_the_order(app()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_further_repository_never_reorders_the_hits_of_another_that_is_large() {
    // Too large to be searched together, or to list what passes a filter.
    let app = app_with(|config| {
        config.search.exact_rows_max = 10;
        config.search.filter_rows_max = 100;
    });
    further_repositories_keep_the_order(app).await;
}

async fn further_repositories_keep_the_order(app: Arc<App>) {
    let (project, mut dice) = (project("merged"), Dice(11));
    let asked: Vec<Value> = questions(&mut dice)
        .into_iter()
        .filter(|asked| {
            let query = asked["query"].as_str().unwrap();
            asked["offset"].is_null() && !query.starts_with("type:")
        })
        .collect();
    let contents = [files(&mut dice, 40, 0), files(&mut dice, 50, 7), files(&mut dice, 30, 15)];
    let repositories = contents.map(|files| repository(&files));
    let names = repositories.each_ref().map(|repository| {
        let root = repository.root();
        root.rsplit('/').next().unwrap().to_owned()
    });
    let (mut alone, mut merged): (Vec<Vec<Value>>, Vec<Vec<Value>>) = (Vec::new(), Vec::new());
    for repository in &repositories {
        index(&app, &project, repository).await;
        alone.push(answers(&app, &project, &asked, repository).await);
        let mut all = Vec::new();
        for question in &asked {
            all.push(ask(&app, &project, question, &json!({ "repoPath": "*" })).await);
        }
        merged.push(all);
    }
    let mut shared = 0;
    for (number, question) in asked.iter().enumerate() {
        // Each takes its places from the front of its own list, regardless of the others.
        for (together, answers) in merged.iter().enumerate().skip(1) {
            for member in 0..=together {
                let found = ids_within(&answers[number], &names[member]);
                let own = ids(&alone[member][number]);
                assert!(found.len() <= own.len() || own.len() == 100, "{question}");
                let compared = found.len().min(own.len());
                assert_eq!(found[..compared], own[..compared], "{question} of {}", names[member]);
                shared +=
                    usize::from(compared > 3 && compared < answers[number]["hits"].as_array().unwrap().len());
            }
        }
        // The order of two repositories among themselves is that without the third.
        let without = ids(&merged[1][number]);
        let with: Vec<i64> = ids(&merged[2][number]).into_iter().filter(|id| without.contains(id)).collect();
        assert!(without.starts_with(&with), "{question}: {without:?} {with:?}");
    }
    assert!(shared > 40, "most answers mix repositories: {shared}");
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_of_several_repositories_follow_one_another() {
    // Fewer candidates than chunks, so that later pages rank more of them than the first one.
    let app = app_with(|config| config.search.candidates = 30);
    let (project, mut dice) = (project("paged"), Dice(3));
    for common in [0, 12] {
        index(&app, &project, &repository(&files(&mut dice, 60, common))).await;
    }
    let mut seen: Vec<i64> = Vec::new();
    for offset in (0..300).step_by(25) {
        let question = json!({ "query": "open the cart of each order", "top": 25, "offset": offset });
        let page = ids(&ask(&app, &project, &question, &json!({ "repoPath": "*" })).await);
        assert!(page.iter().all(|id| !seen.contains(id)), "{offset}: {page:?}");
        seen.extend(page);
    }
    let first = json!({ "query": "open the cart of each order", "top": 100 });
    let first = ids(&ask(&app, &project, &first, &json!({ "repoPath": "*" })).await);
    assert_eq!(seen[..first.len()], first);
    assert!(seen.len() > 150, "{}", seen.len());
}

/// Searches without a task of its own, so that its statements are recorded; returns their number as well.
async fn count_statements(app: &Arc<App>, project: &str, query: &str) -> (SearchAnswer, usize) {
    let store = app.store().await.unwrap();
    let opened = tenancy::require(store, &ProjectId::parse(project).unwrap()).await.unwrap();
    let embedder = app.embedder().await.unwrap();
    let ranking = Ranking::default();
    let deps = SearchDeps {
        embedder: Some(embedder),
        dictionary: None,
        settings: &app.config.search,
        ranking: &ranking,
        clock: &*app.clock,
        on_stage: &|_| {},
    };
    let request = SearchRequest { query: query.to_owned(), top: 10, ..SearchRequest::default() };
    let search = engine::search::execute(deps, Index::Postgres(store, &opened), &request);
    let (answer, statements) = recorder::record(search).await;
    (answer.unwrap(), statements.len())
}

/// Copies a project's first repository, with all rows that a search reads, under these numbers.
async fn copy_repository(project: &str, numbers: std::ops::RangeInclusive<usize>) {
    let schema = ProjectId::parse(project).unwrap().schema_name();
    let mut raw = PgConnection::connect_with(&harness::server().connect_options()).await.unwrap();
    let one = format!("(SELECT min(id) FROM {schema}.repositories)");
    let with_ids = [
        ("repositories", format!("id = {one}"), &["id"][..]),
        ("files", format!("repository_id = {one}"), &["id", "repository_id"]),
        ("chunks", format!("repository_id = {one}"), &["id", "file_id", "repository_id"]),
        ("lexical", String::new(), &["chunk_id", "file_id"]),
        ("facts", String::new(), &["chunk_id", "file_id"]),
        ("definitions", String::new(), &["chunk_id", "file_id"]),
        ("terms", format!("repository_id = {one}"), &["repository_id"]),
    ];
    for (table, condition, ids) in with_ids {
        let condition = if condition.is_empty() {
            format!("file_id IN (SELECT id FROM {schema}.files WHERE repository_id = {one})")
        } else {
            condition
        };
        // Ids of copies are a million apart, far from those of the originals.
        let mut changes: Vec<String> =
            ids.iter().map(|id| format!("'{id}', (t.{id} + n.number * 1000000)")).collect();
        if table == "repositories" {
            changes.push("'root', t.root || '-' || n.number, 'name', t.name || '-' || n.number".to_owned());
        }
        let copy = format!(
            "INSERT INTO {schema}.{table} SELECT (jsonb_populate_record(NULL::{schema}.{table}, \
               to_jsonb(t) || jsonb_build_object({}))).* FROM {schema}.{table} t, \
               generate_series({}, {}) AS n (number) WHERE {condition}",
            changes.join(", "),
            numbers.start(),
            numbers.end()
        );
        run(&mut raw, &copy).await;
    }
    run(
        &mut raw,
        &format!("UPDATE {schema}.index_state SET chunks = (SELECT count(*) FROM {schema}.chunks)"),
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_number_of_statements_does_not_grow_with_the_repositories() {
    let (app, project) = (app(), project("many"));
    let file =
        |name: &str| Repository::new(&[("a.py", &format!("def {name}_ledger(limit):\n    return limit\n"))]);
    let names = ["open", "close", "merge", "split", "check", "write", "count", "drain", "fetch", "flush"];
    let repositories = names.map(file);
    for repository in &repositories {
        index(&app, &project, repository).await;
    }
    let queries = ["drain_ledger", "where is the limit of the ledger returned", "ledger"];
    let mut counts: Vec<Vec<usize>> = Vec::new();
    for numbers in [1..=90, 91..=1_990] {
        copy_repository(&project, numbers).await;
        let mut statements = Vec::new();
        for query in queries {
            let (answer, count) = count_statements(&app, &project, query).await;
            assert!(!answer.hits.is_empty() && answer.total_is_least, "{query}");
            println!("{query}: {count} statements, {:.1} ms", answer.took.total_ms);
            statements.push(count);
        }
        counts.push(statements);
    }
    for (few, many) in counts[0].iter().zip(&counts[1]) {
        // The terms of chosen repositories that are not among the largest take one more statement; the equal scores of copies
        // take one to read on, and two to order them by place.
        assert!(many.abs_diff(*few) <= 4, "{few} statements for 100 repositories, {many} for 2,000");
    }
    let (answer, _) = count_statements(&app, &project, "drain_ledger").await;
    assert_eq!(answer.hits[0].name.as_deref(), Some("drain_ledger"), "{:#?}", answer.hits[0]);
}
