//! Filters cost no recall: however a filter is carried out, the answer is that of looking at every chunk.

use serde_json::{Value, json};

use super::corpus::{CHUNKS, corpus, word};
use crate::harness::{Dice, app_with};

/// From a filter that lets a handful through to one that lets nearly all.
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

/// Questions whose words the corpus says, and such that only vectors can answer.
fn questions() -> Vec<String> {
    let mut dice = Dice(4);
    let said = (0..4).map(|_| format!("{} {} {}", word(&mut dice), word(&mut dice), word(&mut dice)));
    let unsaid = (0..3).map(|n| format!("unsaid{n} never{n} nowhere{n} neither{n}"));
    said.chain(unsaid).collect()
}

fn ids(answer: &Value) -> Vec<i64> {
    answer["hits"].as_array().unwrap().iter().map(|hit| hit["id"].as_i64().unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn listing_what_passes_and_testing_each_candidate_give_the_same_answer() {
    let listing = corpus(app_with(|config| config.search.filter_rows_max = 2 * CHUNKS)).await;
    let testing = corpus(app_with(|config| config.search.filter_rows_max = 3)).await;
    for filter in FILTERS {
        let all = listing.ask(filter, json!({ "top": 1 })).await["total"].as_u64().unwrap();
        assert!(all > 3 && all < CHUNKS as u64, "{filter} lets {all} through");
        for question in questions() {
            for ann in [true, false] {
                let asked = format!("{question} {filter}");
                let arguments = json!({ "top": 20, "ann": ann, "explain": true });
                let (listed, tested) =
                    (listing.ask(&asked, arguments.clone()).await, testing.ask(&asked, arguments).await);
                assert_eq!(listed["explain"]["within"], "listed", "{asked}");
                assert_eq!(tested["explain"]["within"], "tested", "{asked}");
                assert_eq!(listed["hits"], tested["hits"], "{asked}");
                if ann {
                    assert_eq!(ids(&listed).len() as u64, all.min(20), "{asked} fills the page");
                }
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_vector_index_finds_what_comparing_every_vector_finds() {
    let exact = corpus(app_with(|config| config.search.exact_rows_max = u64::MAX)).await;
    let hnsw = corpus(app_with(|config| {
        config.search.exact_rows_max = 2;
        config.search.filter_rows_max = 2;
    }))
    .await;
    let (mut wanted, mut found) = (0, 0);
    for filter in FILTERS.iter().chain(&[""]) {
        for question in questions() {
            let asked = format!("{question} {filter}");
            let arguments = json!({ "top": 20 });
            let (all, some) = (exact.ask(&asked, arguments.clone()).await, hnsw.ask(&asked, arguments).await);
            assert_eq!((&all["vectors"], &some["vectors"]), (&json!("exact"), &json!("hnsw")), "{asked}");
            let (all, some) = (ids(&all), ids(&some));
            assert_eq!(all.len(), some.len(), "{asked} fills the page");
            wanted += all.len();
            found += all.iter().filter(|id| some.contains(id)).count();
        }
    }
    let recall = f64::from(u32::try_from(found).unwrap()) / f64::from(u32::try_from(wanted).unwrap());
    assert!(recall >= 0.95, "{found} of {wanted}: {recall}");
}
