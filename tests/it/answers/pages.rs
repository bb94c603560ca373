//! `total` is the same on all pages, or is marked as a lower bound.

use serde_json::{Value, json};

use crate::filters::shop::{IndexedProject, index};
use crate::harness::{Repository, app, call, project};

#[tokio::test(flavor = "multi_thread")]
async fn a_lower_bound_is_marked_and_every_page_can_be_read() {
    let (app, project) = (app(), project("totals"));
    let repository = Repository::new(&[]);
    for n in 0..400 {
        repository.write(
            &format!("part{}/file{n:03}.rs", n % 7),
            &format!("pub fn count_apples_{n}(n: u32) -> u32 {{\n    n + {n}\n}}\n"),
        );
    }
    index(&app, &repository, &project).await;
    let indexed = IndexedProject::new(app, project, repository);
    let exact = indexed.search("lang:rust", json!({})).await;
    assert_eq!(
        (&exact["total"], exact.get("totalRelation")),
        (&json!(400), None),
        "the hits of a listing are counted exactly"
    );
    let few = indexed.search("count apples path:part3", json!({})).await;
    assert_eq!((&few["total"], few.get("totalRelation")), (&json!(57), None), "{few:#}");
    let mut exact = None;
    for offset in [0, 50, 100, 140, 150, 300, 390, 500] {
        let page = indexed.search("count apples", json!({ "offset": offset, "top": 10 })).await;
        let total = page["total"].as_u64().unwrap();
        match page.get("totalRelation").and_then(Value::as_str) {
            Some("gte") => assert!(total <= 400, "{offset}: {total}"),
            None => assert_eq!(*exact.get_or_insert(total), total, "{offset}"),
            other => panic!("{other:?}"),
        }
        if offset < 390 {
            assert_eq!(page["nextOffset"], offset + 10, "{offset}: of {total}");
        }
    }
    assert_eq!(exact, Some(400), "the total is exact once all candidates are compared");
    // Every announced page exists.
    let mut offset = json!(0);
    let mut hits = 0;
    while offset.is_number() {
        let page = indexed.search("count apples", json!({ "offset": offset, "top": 100 })).await;
        hits += page["hits"].as_array().unwrap().len();
        offset = page["nextOffset"].clone();
    }
    assert_eq!(hits, 400);
    let simple =
        call(&indexed.app, "search_code", json!({ "query": "count apples", "project_id": indexed.project }))
            .await;
    assert_eq!(simple["result"]["total_relation"], "gte", "{simple:#}");
}
