//! Names that very many definitions have: as in generated code, and as `new` in a large project.

use std::time::{Duration, Instant};

use contract::clock::SystemClock;
use engine::navigation::{
    Certainty, NavigationPayload, NavigationRequest, Relation, Subject, navigate, present,
};
use languages::facts::DEFINED;
use languages::terms::squash;
use store::symbols::{symbol_id, used_name_id};
use store::{
    Certainty as StoredCertainty, ChunkWrite, DefinitionWrite, Fence, FileWrite, Project, UsePlace,
    UseTarget, UseWrite, UsedFor, fact_id, uses,
};

use crate::storage::database::{Fresh, file, repository, run, searching, write, writing};

/// Definitions of one file.
const PER_FILE: u32 = 20;

/// Types `T0`, `T1` …, each with a method `build`, and one definition `alone`.
struct Homonyms {
    fresh: Fresh,
    project: Project,
    count: u32,
}

fn path(number: u32) -> String {
    format!("src/generated/part_{:03}/m{number}.py", number % 300)
}

fn chunk(qualified: &str, name: &str, line: u32) -> ChunkWrite {
    let text = format!("def {name}(self):  # {qualified}\n    return 1\n");
    ChunkWrite {
        start_line: line,
        end_line: line + 1,
        kind: "function",
        name: Some(name.to_owned()),
        content_hash: *blake3::hash(text.as_bytes()).as_bytes(),
        content: text,
        definitions: vec![DefinitionWrite {
            name_id: Some(fact_id(DEFINED, &squash(name))),
            qualified: qualified.to_owned(),
            signature: Some(format!("def {name}(self)")),
            name: name.to_owned(),
            kind: "method",
            line,
            column: 5,
            start_line: line,
            end_line: line + 1,
            ..DefinitionWrite::default()
        }],
        ..ChunkWrite::default()
    }
}

impl Homonyms {
    async fn new(count: u32) -> Self {
        let fresh = Fresh::new().await;
        let project = fresh.project("p").await;
        let (fence, id) = repository(&fresh.store, &project).await;
        let mut tx = writing(&fresh.store, &project).await;
        let state = store::RepositoryState::Indexing;
        store::repositories::set_state(&mut tx, fence, id, state).await.unwrap();
        tx.commit().await.unwrap();
        let numbers: Vec<u32> = (0..count / PER_FILE).collect();
        for some in numbers.chunks(100) {
            let files: Vec<FileWrite> = some.iter().map(|number| Self::file(*number)).collect();
            write(&fresh.store, &project, fence, id, &files).await;
        }
        let alone = FileWrite {
            language: Some("python"),
            chunks: vec![chunk("alone", "alone", 1), chunk("Odd.build", "build", 3)],
            mode: "code",
            ..file("src/alone.py", &[])
        };
        write(&fresh.store, &project, fence, id, &[alone]).await;
        let homonyms = Self { fresh, project, count: count + 1 };
        homonyms.write_uses(fence, id).await;
        run(&mut homonyms.fresh.raw().await, "ANALYZE").await;
        homonyms
    }

    fn file(number: u32) -> FileWrite {
        let methods = (0..PER_FILE).map(|at| {
            let qualified = format!("T{}.build", number * PER_FILE + at);
            chunk(&qualified, "build", at * 3 + 1)
        });
        FileWrite {
            language: Some("python"),
            chunks: methods.collect(),
            mode: "code",
            ..file(&path(number), &[])
        }
    }

    /// Every method is used a few times, the last one most, and the name is used where it is not known which is meant.
    async fn write_uses(&self, fence: Fence, repository: i64) {
        let mut tx = searching(&self.fresh.store, &self.project).await;
        let files = store::files::manifest(&mut tx, repository).await.unwrap();
        tx.commit().await.unwrap();
        let unknown = used_name_id(repository, "python", "build");
        let last = symbol_id(repository, "src/alone.py", "Odd.build", 0);
        for some in files.chunks(100) {
            let of_file = |row: &store::FileRow| {
                let mut all = Vec::new();
                if let Some(number) =
                    row.path.rsplit_once("/m").and_then(|(_, name)| name.strip_suffix(".py"))
                {
                    let number: u32 = number.parse().unwrap();
                    for at in 0..PER_FILE {
                        let of_type = number * PER_FILE + at;
                        let target = symbol_id(repository, &row.path, &format!("T{of_type}.build"), 0);
                        all.push(used(
                            i64::from(at),
                            UseTarget::Symbol(target),
                            StoredCertainty::Resolved,
                            at + 1,
                        ));
                    }
                    all.push(used(100, UseTarget::Symbol(last), StoredCertainty::Resolved, 2));
                    all.push(used(101, UseTarget::Name(unknown), StoredCertainty::Name, 3));
                }
                (row.id, all)
            };
            let written: Vec<(i64, Vec<UseWrite>)> = some.iter().map(of_file).collect();
            let mut tx = writing(&self.fresh.store, &self.project).await;
            uses::replace(&mut tx, fence, &written).await.unwrap();
            tx.commit().await.unwrap();
        }
    }

    async fn ask(&self, symbol: &str, relation: Relation) -> Result<NavigationPayload, contract::Fault> {
        let request = NavigationRequest {
            subject: Subject::Name { symbol: symbol.to_owned(), file: None, line: None },
            relation,
            repository_roots: Vec::new(),
            depth: 3,
            limit: 50,
            offset: 0,
            certainty: Certainty::Resolved,
            kind: None,
        };
        let found = navigate(&self.fresh.store, &self.project, &SystemClock, &request).await;
        found.map(|found| present(found, 1 << 20))
    }
}

fn used(source: i64, target: UseTarget, certainty: StoredCertainty, line: u32) -> UseWrite {
    let places = vec![UsePlace { line, column: 5, kind: UsedFor::Call }];
    UseWrite { source, target, certainty, places }
}

#[tokio::test(flavor = "multi_thread")]
async fn counts_of_names_that_very_many_have_are_true() {
    let homonyms = Homonyms::new(3_000).await;
    let found = homonyms.ask("build", Relation::References).await.unwrap();
    assert!(
        found.total_relation.is_some() && found.total >= 2_000 && found.total <= 3_001,
        "{}",
        found.total
    );
    assert_eq!(found.candidates.len(), 20);
    for candidate in &found.candidates[1..] {
        assert_eq!(candidate.uses, Some(1), "{candidate:?}");
    }
    // The most used one is counted as a whole, and not only up to what the order needs.
    let first = &found.candidates[0];
    assert_eq!((first.qualified.as_str(), first.uses), ("Odd.build", Some(150)), "{first:?}");
    let one = homonyms.ask("T2999.build", Relation::References).await.unwrap();
    assert_eq!((one.symbol.unwrap().qualified.as_str(), one.total), ("T2999.build", 1));
    let unresolved = one.unresolved.unwrap();
    assert_eq!(unresolved.total, 150);
    assert!(
        unresolved.candidates_relation.is_some() && unresolved.candidates >= Some(2_000),
        "{:?} {:?}",
        unresolved.candidates,
        unresolved.candidates_relation
    );
    let unknown = homonyms.ask("Missing.build", Relation::References).await.unwrap_err();
    assert_eq!(unknown.code, contract::ErrorCode::NotFound, "{unknown}");
    homonyms.fresh.remove().await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "fills 20,000 definitions and prints times: cargo test --test it -- --ignored --nocapture a_name_that_20_000"]
async fn what_a_name_that_20_000_have_takes() {
    let homonyms = Homonyms::new(20_000).await;
    for (symbol, relation) in [
        ("alone", Relation::References),
        ("build", Relation::References),
        ("build", Relation::Definition),
        ("T19999.build", Relation::References),
        ("part_007.T7.build", Relation::Callers),
        ("Missing.build", Relation::References),
    ] {
        let mut times: Vec<Duration> = Vec::new();
        for _ in 0..20 {
            let started = Instant::now();
            let _ = homonyms.ask(symbol, relation).await;
            times.push(started.elapsed());
        }
        times.sort_unstable();
        println!("{symbol} {relation:?} among {}: p50 {:?}, p95 {:?}", homonyms.count, times[10], times[18]);
    }
    homonyms.fresh.remove().await;
}
