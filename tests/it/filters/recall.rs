//! Filters cost no recall: whichever way a filter is executed, the answer is the same as when every chunk is tested.

use serde_json::{Value, json};

use super::corpus::{CHUNKS, corpus, word};
use crate::harness::{Dice, app_with};

/// Filters from one that a handful of chunks pass to one that nearly all pass.
const FILTERS: &[&str] = &[
    "throws:panic",
    "async:true",
    "visibility:pub",
    "path:part_3",
    "path:/file_1.\\.rs/",
    "signature:\"pub async\" path:part_1",
    "branches:1",
    "-throws:panic",
    "async:false",
    "NOT (path:part_3 OR async:true)",
];

/// Queries whose words occur in the corpus, and queries that only vectors can answer.
fn queries() -> Vec<String> {
    let mut dice = Dice(4);
    let lexical = (0..4).map(|_| format!("{} {} {}", word(&mut dice), word(&mut dice), word(&mut dice)));
    let dense_only = (0..3).map(|n| format!("unsaid{n} never{n} nowhere{n} neither{n}"));
    lexical.chain(dense_only).collect()
}

fn ids(answer: &Value) -> Vec<i64> {
    answer["hits"].as_array().unwrap().iter().map(|hit| hit["id"].as_i64().unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn listing_passing_rows_and_testing_candidates_give_the_same_answer() {
    let listing = corpus(app_with(|config| config.search.filter_rows_max = 2 * CHUNKS)).await;
    let testing = corpus(app_with(|config| config.search.filter_rows_max = 3)).await;
    for filter in FILTERS {
        let all = listing.search(filter, json!({ "top": 1 })).await["total"].as_u64().unwrap();
        assert!(all > 3 && all < CHUNKS as u64, "{all} chunks pass {filter}");
        for words in queries() {
            for ann in [true, false] {
                let query = format!("{words} {filter}");
                let arguments = json!({ "top": 20, "ann": ann, "explain": true });
                let (listed, tested) = (
                    listing.search(&query, arguments.clone()).await,
                    testing.search(&query, arguments).await,
                );
                assert_eq!(listed["explain"]["within"], "listed", "{query}");
                assert_eq!(tested["explain"]["within"], "tested", "{query}");
                assert_eq!(listed["hits"], tested["hits"], "{query}");
                if ann {
                    assert_eq!(ids(&listed).len() as u64, all.min(20), "{query} fills the page");
                }
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_hnsw_index_finds_95_percent_of_the_nearest_chunks() {
    let exact = corpus(app_with(|config| config.search.exact_rows_max = u64::MAX)).await;
    let hnsw = corpus(app_with(|config| {
        config.search.exact_rows_max = 2;
        config.search.filter_rows_max = 2;
    }))
    .await;
    let (mut expected, mut found) = (0, 0);
    for filter in FILTERS.iter().chain(&[""]) {
        for words in queries() {
            let query = format!("{words} {filter}");
            let arguments = json!({ "top": 20 });
            let (all, some) =
                (exact.search(&query, arguments.clone()).await, hnsw.search(&query, arguments).await);
            assert_eq!((&all["vectors"], &some["vectors"]), (&json!("exact"), &json!("hnsw")), "{query}");
            let (all, some) = (ids(&all), ids(&some));
            assert_eq!(all.len(), some.len(), "{query} fills the page");
            expected += all.len();
            found += all.iter().filter(|id| some.contains(id)).count();
        }
    }
    let recall = f64::from(u32::try_from(found).unwrap()) / f64::from(u32::try_from(expected).unwrap());
    assert!(recall >= 0.95, "{found} of {expected}: {recall}");
}
