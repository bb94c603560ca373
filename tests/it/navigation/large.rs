//! Large graphs: a symbol with very many uses, and what a navigation takes among many chunks.

use std::time::{Duration, Instant};

use contract::clock::SystemClock;
use engine::navigation::{
    Certainty, NavigationPayload, NavigationRequest, Relation, Subject, navigate, present,
};
use languages::facts::DEFINED;
use languages::terms::squash;
use store::symbols::symbol_id;
use store::{
    Certainty as StoredCertainty, ChunkWrite, DefinitionWrite, Fence, FileWrite, Project, UsePlace,
    UseTarget, UseWrite, UsedFor, fact_id, uses,
};

use crate::harness::Dice;
use crate::storage::database::{Fresh, file, repository, searching, write, writing};

/// A graph of functions `f0`, `f1` … without texts of their own.
struct SyntheticGraph {
    fresh: Fresh,
    project: Project,
    fence: Fence,
    repository: i64,
    functions_per_file: u64,
}

impl SyntheticGraph {
    async fn new(functions_per_file: u64) -> Self {
        let fresh = Fresh::new().await;
        let project = fresh.project("p").await;
        let (fence, repository) = repository(&fresh.store, &project).await;
        let mut tx = writing(&fresh.store, &project).await;
        store::repositories::set_state(&mut tx, fence, repository, store::RepositoryState::Indexing)
            .await
            .unwrap();
        tx.commit().await.unwrap();
        Self { fresh, project, fence, repository, functions_per_file }
    }

    fn path(number: u64) -> String {
        format!("src/m{number}.py")
    }

    fn symbol(&self, function: u64) -> i64 {
        symbol_id(
            self.repository,
            &Self::path(function / self.functions_per_file),
            &format!("f{function}"),
            0,
        )
    }

    /// Writes the functions of some files, each a chunk of ten lines.
    async fn write_files(&self, numbers: std::ops::Range<u64>) {
        let one = |number: u64| {
            let chunk = |at: u64| {
                let name = format!("f{}", number * self.functions_per_file + at);
                let first = u32::try_from(at * 10 + 1).unwrap();
                let text = format!("def {name}():\n{}", "    call()\n".repeat(9));
                ChunkWrite {
                    start_line: first,
                    end_line: first + 9,
                    kind: "function",
                    name: Some(name.clone()),
                    content_hash: *blake3::hash(text.as_bytes()).as_bytes(),
                    content: text,
                    definitions: vec![DefinitionWrite {
                        name_id: Some(fact_id(DEFINED, &squash(&name))),
                        qualified: name.clone(),
                        signature: Some(format!("def {name}()")),
                        name,
                        kind: "function",
                        line: first,
                        column: 5,
                        start_line: first,
                        end_line: first + 9,
                        ..DefinitionWrite::default()
                    }],
                    ..ChunkWrite::default()
                }
            };
            let chunks = (0..self.functions_per_file).map(chunk).collect();
            FileWrite { language: Some("python"), chunks, mode: "code", ..file(&Self::path(number), &[]) }
        };
        let files: Vec<FileWrite> = numbers.map(one).collect();
        write(&self.fresh.store, &self.project, self.fence, self.repository, &files).await;
    }

    /// Ids of the files, by number.
    async fn file_ids(&self) -> Vec<i64> {
        let mut tx = searching(&self.fresh.store, &self.project).await;
        let rows = store::files::manifest(&mut tx, self.repository).await.unwrap();
        let mut ids: Vec<(u64, i64)> = rows
            .iter()
            .map(|row| {
                (row.path.trim_start_matches("src/m").trim_end_matches(".py").parse().unwrap(), row.id)
            })
            .collect();
        ids.sort_unstable();
        ids.into_iter().map(|(_, id)| id).collect()
    }

    async fn write_uses(&self, files: &[(i64, Vec<UseWrite>)]) {
        let mut tx = writing(&self.fresh.store, &self.project).await;
        uses::replace(&mut tx, self.fence, files).await.unwrap();
        tx.commit().await.unwrap();
    }

    async fn navigate(&self, function: u64, relation: Relation, offset: usize) -> NavigationPayload {
        let request = NavigationRequest {
            subject: Subject::Name { symbol: format!("f{function}"), file: None, line: None },
            relation,
            repository_roots: Vec::new(),
            depth: 3,
            limit: 50,
            offset,
            certainty: Certainty::Resolved,
            kind: None,
        };
        let found = navigate(&self.fresh.store, &self.project, &SystemClock, &request).await.unwrap();
        present(found, 1 << 20)
    }
}

fn call(source: i64, target: i64, line: u32) -> UseWrite {
    let places = vec![UsePlace { line, column: 5, kind: UsedFor::Call }];
    UseWrite { source, target: UseTarget::Symbol(target), certainty: StoredCertainty::Resolved, places }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_symbol_with_very_many_uses_is_bounded() {
    let graph = SyntheticGraph::new(5).await;
    graph.write_files(0..40).await;
    let ids = graph.file_ids().await;
    let hot = graph.symbol(0);
    let many = |number: usize, id: i64| {
        let source = |at: u32| i64::try_from(number).unwrap() * 10_000 + i64::from(at);
        (id, (0..2_500).map(|at| call(source(at), hot, at % 50 + 1)).collect())
    };
    let files: Vec<(i64, Vec<UseWrite>)> =
        ids.iter().enumerate().map(|(number, id)| many(number, *id)).collect();
    graph.write_uses(&files).await;
    let found = graph.navigate(0, Relation::Callers, 0).await;
    assert!(found.total_relation.is_some() && found.total > 0, "{} {:?}", found.total, found.total_relation);
    assert_eq!(found.files.iter().map(|file| file.places.len()).sum::<usize>(), 50);
    assert_eq!(found.next_offset, Some(50));
    let next = graph.navigate(0, Relation::Callers, 50).await;
    assert_ne!(found.files, next.files);
    let impact = graph.navigate(0, Relation::Impact, 0).await;
    let stopped = impact.stopped.unwrap();
    assert_eq!((stopped.depth, impact.total), (0, 2_000));
    assert!(stopped.total_relation.is_some() && stopped.remaining > 0, "{stopped:?}");
    graph.fresh.remove().await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "fills 100,000 chunks and prints times: cargo test --test it -- --ignored --nocapture a_navigation_takes"]
async fn what_a_navigation_takes_at_100_000_chunks() {
    let graph = SyntheticGraph::new(10).await;
    let (files, functions) = (10_000u64, 100_000u64);
    for first in (0..files).step_by(500) {
        graph.write_files(first..first + 500).await;
    }
    let ids = graph.file_ids().await;
    let mut dice = Dice(11);
    for (batch, some) in ids.chunks(250).enumerate() {
        let mut written = Vec::new();
        for (at, id) in some.iter().enumerate() {
            let number = (batch * 250 + at) as u64;
            let mut rows = Vec::new();
            for within in 0..10 {
                let function = number * 10 + within;
                for line in 0..5 {
                    // Few functions are used widely: the product of two dice leans to small numbers.
                    let target = dice.roll(functions) * (dice.roll(1000) + 1) / 1000;
                    let line = u32::try_from(within * 10 + line + 2).unwrap();
                    rows.push(call(graph.symbol(function), graph.symbol(target), line));
                }
            }
            written.push((*id, rows));
        }
        graph.write_uses(&written).await;
    }
    let mut raw = graph.fresh.raw().await;
    crate::storage::database::run(&mut raw, "ANALYZE").await;
    for relation in
        [Relation::References, Relation::Callers, Relation::Callees, Relation::Definition, Relation::Impact]
    {
        let mut times: Vec<Duration> = Vec::new();
        let mut places = 0;
        for _ in 0..200 {
            let function = dice.roll(functions) * (dice.roll(1000) + 1) / 1000;
            let started = Instant::now();
            places += graph.navigate(function, relation, 0).await.total;
            times.push(started.elapsed());
        }
        times.sort_unstable();
        let (p50, p95) = (times[100], times[190]);
        println!(
            "{relation:?}: p50 {p50:?}, p95 {p95:?}, {:.1} places",
            f64::from(u32::try_from(places).unwrap()) / 200.0
        );
    }
    graph.fresh.remove().await;
}
