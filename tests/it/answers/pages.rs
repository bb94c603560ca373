//! `total` agrees between pages, or says that it is a lower bound.

use serde_json::{Value, json};

use crate::filters::shop::{Shop, index};
use crate::harness::{Repository, app, call, project};

#[tokio::test(flavor = "multi_thread")]
async fn a_total_that_is_a_lower_bound_says_so_and_pages_go_on() {
    let (app, project) = (app(), project("totals"));
    let repository = Repository::new(&[]);
    for n in 0..400 {
        repository.write(
            &format!("part{}/file{n:03}.rs", n % 7),
            &format!("pub fn count_apples_{n}(n: u32) -> u32 {{\n    n + {n}\n}}\n"),
        );
    }
    index(&app, &repository, &project).await;
    let shop = Shop::of(app, project, repository);
    let exact = shop.ask("lang:rust", json!({})).await;
    assert_eq!((&exact["total"], exact.get("totalRelation")), (&json!(400), None), "a listing is counted");
    let few = shop.ask("count apples path:part3", json!({})).await;
    assert_eq!((&few["total"], few.get("totalRelation")), (&json!(57), None), "{few:#}");
    let mut exact = None;
    for offset in [0, 50, 100, 140, 150, 300, 390, 500] {
        let page = shop.ask("count apples", json!({ "offset": offset, "top": 10 })).await;
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
    assert_eq!(exact, Some(400), "with all candidates compared, it is counted");
    // Every promised page can be asked for.
    let mut offset = json!(0);
    let mut seen = 0;
    while offset.is_number() {
        let page = shop.ask("count apples", json!({ "offset": offset, "top": 100 })).await;
        seen += page["hits"].as_array().unwrap().len();
        offset = page["nextOffset"].clone();
    }
    assert_eq!(seen, 400);
    let simple =
        call(&shop.app, "search_code", json!({ "query": "count apples", "project_id": shop.project })).await;
    assert_eq!(simple["result"]["total_relation"], "gte", "{simple:#}");
}
