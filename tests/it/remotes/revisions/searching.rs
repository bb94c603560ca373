//! `rev:` in queries: by name, pattern and commit, together with other filters, and over several repositories.

use serde_json::{Value, json};

use super::{PATTERNS, Shop, TILL, found, found_files, index, search};
use crate::harness::{call, error, project, result};

/// The warning with this code of an answer.
fn warning<'a>(answer: &'a Value, code: &str) -> Option<&'a Value> {
    answer["_meta"]["warnings"].as_array()?.iter().find(|warning| warning["code"] == code)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_revision_is_searched_beside_the_default_branch() {
    let shop = Shop::new("searched").await;
    let report = shop.index_with(&PATTERNS).await;
    assert_eq!(report["files"], 4, "{report:#}");
    let mut indexed: Vec<&Value> = report["revisions"]["indexed"].as_array().unwrap().iter().collect();
    indexed.sort_by(|one, other| one["name"].as_str().cmp(&other["name"].as_str()));
    let names: Vec<_> = indexed.iter().map(|revision| (&revision["name"], &revision["kind"])).collect();
    let [branch, tag] = [json!("branch"), json!("tag")];
    let [one, two, version] = [json!("release/1.0"), json!("release/2.0"), json!("v1.0")];
    assert_eq!(names, [(&one, &branch), (&two, &branch), (&version, &tag)]);
    assert_eq!(indexed[2]["commit"], shop.first, "of an annotated tag, the commit that it is of");
    assert_eq!((&report["revisions"]["files"], &report["revisions"]["filesChanged"]), (&json!(3), &json!(3)));

    let answer = shop.search("\"only_in_one\" rev:release/1.0").await;
    assert_eq!(found_files(&answer), [found("legacy.py", &["release/1.0"])]);
    assert_eq!(answer["hits"][0]["commit"], shop.release, "{answer:#}");
    assert!(!shop.finds("only_in_one", "").await, "the default branch does not have it");
    assert!(!shop.finds("only_in_one", "rev:release/2.0").await);
    assert!(!shop.finds("only_on_main", "rev:release/1.0").await);
    assert!(shop.finds("count_drawer", "").await && !shop.finds("tally_slowly", "").await);
    assert!(!shop.finds("count_drawer", "rev:release/1.0").await);
    assert_eq!(shop.hits("\"tally_slowly\" rev:release/1.0").await, [found("till.py", &["release/1.0"])]);
}

#[tokio::test(flavor = "multi_thread")]
async fn revisions_are_named_in_many_ways() {
    let shop = Shop::indexed("named").await;
    let functions = async |conditions: &str| shop.hits(&format!("type:function {conditions}")).await;
    let of_main = [found("new.py", &[]), found("shared.py", &[]), found("till.py", &[])];
    assert_eq!(functions("").await, of_main);
    let head = shop.repository.head();
    for named in ["main", "HEAD", &head, &head[..10], &head[..10].to_uppercase()] {
        assert_eq!(functions(&format!("rev:{named}")).await, of_main, "{named}");
    }
    let of_releases = [
        found("future.py", &["release/2.0"]),
        found("legacy.py", &["release/1.0"]),
        found("shared.py", &["release/1.0", "release/2.0"]),
        found("till.py", &["release/1.0"]),
        found("till.py", &["release/2.0"]),
    ];
    for both in ["rev:release/*", "rev:release/?.0", "(rev:release/1.0 OR rev:release/2.0)"] {
        assert_eq!(functions(both).await, of_releases, "{both}");
    }
    let as_list = json!({ "query": "type:function", "rev": ["release/1.0", "release/2.0"] });
    assert_eq!(found_files(&search(&shop.app, &shop.project, as_list).await), of_releases);
    let of_one = [
        found("legacy.py", &["release/1.0"]),
        found("shared.py", &["release/1.0"]),
        found("till.py", &["release/1.0"]),
    ];
    for named in ["release/1.0", &shop.release, &shop.release[..7]] {
        assert_eq!(functions(&format!("rev:{named}")).await, of_one, "{named}");
    }
    let of_tag = [found("shared.py", &["v1.0"]), found("till.py", &["v1.0"])];
    assert_eq!(functions("rev:v1.0").await, of_tag);
    assert_eq!(functions(&format!("rev:{}", shop.first)).await, of_tag, "by the commit of the tag");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_revisions_share_is_one_hit() {
    let shop = Shop::indexed("shared").await;
    let all = ["release/1.0", "release/2.0", "v1.0"];
    for query in ["\"weigh_bullion\" (rev:release/* OR rev:v1.0)", "\"weigh_bullion\" rev:*"] {
        let answer = shop.search(query).await;
        assert_eq!(found_files(&answer), [found("shared.py", &all)], "{query}");
        assert_eq!(answer["hits"][0]["otherPlaces"], Value::Null, "{query}");
    }
    let answer = shop.search("\"weigh_bullion\"").await;
    assert_eq!(found_files(&answer), [found("shared.py", &[])], "{answer:#}");
    assert_eq!(answer["hits"][0]["otherPlaces"], Value::Null, "{answer:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn other_filters_hold_beside_it() {
    let shop = Shop::indexed("filtered").await;
    let functions = async |conditions: &str| shop.hits(&format!("type:function {conditions}")).await;
    let legacy = [found("legacy.py", &["release/1.0"])];
    assert_eq!(functions("rev:release/1.0 path:legacy lang:python").await, legacy);
    assert!(functions("rev:release/1.0 lang:go").await.is_empty());
    let readme = json!({ "query": "coins drawer night", "rev": "release/1.0", "mode": "prose" });
    let readme = search(&shop.app, &shop.project, readme).await;
    assert_eq!(found_files(&readme), [found("README.md", &["release/1.0"])], "{readme:#}");
    // Files of the revision are excluded, and no other revision is searched instead.
    let changed = [found("new.py", &[]), found("till.py", &[])];
    assert_eq!(functions("-rev:release/1.0").await, changed);
    assert_eq!(functions("rev:release/2.0 -rev:v1.0").await, [found("future.py", &["release/2.0"])]);
    assert_eq!(functions("-rev:v1.0 rev:release/2.0").await, [found("future.py", &["release/2.0"])]);
    let more = [
        found("future.py", &["release/2.0"]),
        found("new.py", &[]),
        found("shared.py", &["release/2.0"]),
        found("till.py", &["release/2.0"]),
    ];
    assert_eq!(functions("(rev:main OR rev:release/2.0)").await, more);
}

#[tokio::test(flavor = "multi_thread")]
async fn lines_are_found_on_revisions_too() {
    let shop = Shop::indexed("lines").await;
    let lines = async |arguments: Value| {
        let answer = search(&shop.app, &shop.project, arguments).await;
        let files = answer["matches"]["files"].as_array().unwrap().clone();
        let files: Vec<String> = files.iter().map(|file| file["file"].as_str().unwrap().to_owned()).collect();
        (files, answer["total"].as_u64().unwrap())
    };
    let pattern = r"only_in_\w+";
    let (files, total) = lines(json!({ "query": pattern, "regex": true, "rev": "release/*" })).await;
    assert_eq!((files.as_slice(), total), (["future.py", "legacy.py"].map(str::to_owned).as_slice(), 2));
    assert_eq!(lines(json!({ "query": pattern, "regex": true })).await, (vec![], 0));
    let line = TILL.lines().last().unwrap().trim();
    for (revision, expected) in [("v1.0", 1), ("release/1.0", 0), ("*", 1), ("main", 1)] {
        let found = lines(json!({ "query": line, "mode": "exact", "rev": revision })).await;
        assert_eq!(found.1, expected, "{revision}: {found:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_revision_is_reported_with_those_that_are_indexed() {
    let shop = Shop::indexed("unknown").await;
    for query in ["\"count_drawer\" rev:release/9", "\"count_drawer\" rev:release"] {
        let arguments = json!({ "query": query, "project_id": shop.project });
        let answer = call(&shop.app, "search", arguments).await;
        assert_eq!(answer["result"]["hits"], json!([]), "{query}: {answer:#}");
        let unknown = warning(&answer, "revision_unknown").unwrap_or_else(|| panic!("{query}: {answer:#}"));
        let indexed = ["main", "release/1.0", "release/2.0", "v1.0"];
        assert_eq!(unknown["details"]["revisions"], json!(indexed));
        assert!(unknown["message"].as_str().unwrap().contains("release/1.0"), "{unknown}");
    }
    let arguments = json!({ "query": "\"count_drawer\" rev:v1.0", "project_id": shop.project });
    assert_eq!(warning(&call(&shop.app, "search", arguments).await, "revision_unknown"), None);
    for wrong in ["a b", "a^", "-x"] {
        let arguments = json!({ "query": "coins", "rev": wrong, "project_id": shop.project });
        assert_eq!(error(&shop.app, "search", arguments).await["code"], "INVALID_REQUEST", "{wrong:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn repositories_without_the_revision_have_no_hits() {
    let shop = Shop::indexed("several").await;
    let bank = shop.host.repository("acme/bank");
    bank.commit(&[("till.py", TILL), ("vault.py", "def open_vault(code):\n    return code == 7\n")], "Begin");
    index(&shop.app, &shop.project, &bank.url(), None).await;
    let of = |answer: &Value| -> Vec<(String, String)> {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let hits = answer["hits"].as_array().unwrap().iter();
        let mut found: Vec<_> = hits.map(|hit| (text(&hit["repo"]), text(&hit["file"]))).collect();
        found.sort();
        found
    };
    let pair = |repo: &str, file: &str| (repo.to_owned(), file.to_owned());
    let release = shop.search("type:function rev:release/1.0").await;
    assert_eq!(of(&release), ["legacy.py", "shared.py", "till.py"].map(|file| pair("shop", file)));
    let main = shop.search("type:function rev:main").await;
    let both = ["till.py", "vault.py"].map(|file| pair("bank", file)).into_iter();
    let both = both.chain(["new.py", "shared.py", "till.py"].map(|file| pair("shop", file)));
    assert_eq!(of(&main), both.collect::<Vec<_>>());
    // Ranked over both, and in one of them.
    let ranked = shop.search("only in one coin rev:release/1.0").await;
    assert_eq!(of(&ranked).iter().filter(|(repo, _)| repo == "bank").count(), 0, "{ranked:#}");
    assert_eq!(ranked["hits"][0]["file"], "legacy.py", "{ranked:#}");
    let only_bank = json!({ "query": "type:function", "rev": "release/1.0", "repoPath": "bank" });
    assert_eq!(search(&shop.app, &shop.project, only_bank).await["hits"], json!([]));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_default_branch_is_ranked_as_if_it_were_alone() {
    let shop = Shop::indexed("beside").await;
    let alone = project("alone");
    index(&shop.app, &alone, &shop.repository.url(), None).await;
    for query in [
        "count the coins of the drawer",
        "weigh_bullion",
        "only_in_one",
        "tally slowly",
        "sum",
        "type:function",
        "total weight in grams lang:python",
        "calls:sum",
    ] {
        let mut answers = Vec::new();
        for id in [&shop.project, &alone] {
            let arguments = json!({ "query": query, "project_id": id, "top": 50 });
            let answer = result(&shop.app, "search", arguments).await;
            let hit = |hit: &Value| (hit["file"].clone(), hit["startLine"].clone(), hit["score"].clone());
            let hits: Vec<_> = answer["hits"].as_array().unwrap().iter().map(hit).collect();
            answers.push((hits, ["total", "totalRelation", "confidence"].map(|field| answer[field].clone())));
        }
        assert_eq!(answers[0], answers[1], "{query}");
    }
}

/// Other conditions beside a revision apply to the default branch and to that revision, and never to a third one.
#[tokio::test(flavor = "multi_thread")]
async fn alternatives_to_a_revision_show_no_other_one() {
    let shop = Shop::indexed("alternatives").await;
    let functions = async |conditions: &str| shop.hits(&format!("type:function {conditions}")).await;
    let of_tag = [found("shared.py", &["v1.0"]), found("till.py", &["v1.0"])];
    assert_eq!(functions("(rev:v1.0 OR path:legacy)").await, of_tag);
    let more = [
        found("future.py", &["release/2.0"]),
        found("new.py", &[]),
        found("shared.py", &["release/2.0"]),
        found("till.py", &["release/2.0"]),
    ];
    assert_eq!(functions("(rev:release/2.0 OR -rev:v1.0)").await, more);
    assert_eq!(functions("rev:release/1.0 branch:main path:legacy").await.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn contents_are_found_on_revisions_of_a_named_repository() {
    let shop = Shop::indexed("contents").await;
    for repository in [json!("shop"), json!(shop.repository.url()), json!("*")] {
        for (revision, expected) in [("release/1.0", 1), ("release/2.0", 0), ("main", 0)] {
            let query = format!("content:/only_in_one/ rev:{revision}");
            let arguments = json!({ "query": query, "repoPath": repository });
            let answer = search(&shop.app, &shop.project, arguments).await;
            assert_eq!(answer["hits"].as_array().unwrap().len(), expected, "{repository} {revision}");
        }
    }
}
