//! Tests of the distribution of claims over pages.

use serde_json::json;

use super::*;
use crate::published::{KeptReason, page_sha256};
use crate::site::MemoryFiles;
use crate::worker::scene::{CODE, README, Scene, config};
use crate::worker::{facts, scout, snippets};

fn plan(scene: &mut Scene) -> Result<PagePlan, WorkerError> {
    for worker in [&scout::WORKER, &facts::WORKER, &snippets::WORKER] {
        scene.run(worker, "").unwrap();
    }
    scene.run(&WORKER, "")?;
    Ok(serde_json::from_value(scene.json(PAGE_PLAN)).unwrap())
}

fn paths(plan: &PagePlan) -> Vec<&str> {
    plan.pages.iter().map(|page| page.output_path.as_str()).collect()
}

#[test]
fn each_section_gets_its_pages() {
    let mut scene = Scene::new();
    let plan = plan(&mut scene).unwrap();
    assert_eq!(paths(&plan), ["content/docs/shop/getting-started.md", "content/docs/reference/shop/api.md"]);
    let [start, api] = &plan.pages[..] else { panic!("{plan:#?}") };
    assert_eq!(
        start.required_headings,
        ["Overview", "Installation", "Usage", "Example", "Limitations", "Licence", "See also"]
    );
    let names: Vec<&str> = api.blocks.iter().map(|block| block.heading.as_str()).collect();
    assert_eq!(names, ["shopkit/cash.py", "drawer", "Limitations", "Licence", "See also"]);
    assert_eq!(api.blocks[1].items.len(), 2, "the comment and what it is: {api:#?}");
    assert_eq!((start.format, start.title.as_str()), (None, "Getting started with ShopKit"));
}

#[test]
fn a_section_without_facts_is_reported() {
    let mut scene = Scene::new();
    scene.definitions.clear();
    let error = plan(&mut scene).unwrap_err();
    assert_eq!(error.0.code, "PLAN_INCOMPLETE");
    assert!(error.0.message.contains("`reference`"), "{error}");
}

#[test]
fn front_matter_without_a_known_value_is_reported() {
    let mut scene = Scene::new();
    for number in 0..6 {
        let page = format!("---\ntitle: T{number}\nauthor: A{number}\n---\nText.\n");
        scene.base.insert(format!("content/docs/{number}.md"), page);
    }
    let error = plan(&mut scene).unwrap_err();
    assert!(error.0.code == "PLAN_INCOMPLETE" && error.0.message.contains("`author`"), "{error}");
}

#[test]
fn a_description_means_nothing_but_text() {
    let mut scene = Scene::new();
    for number in 0..6 {
        let page = format!("---\ntitle: T{number}\ndescription: D{number}\n---\nText.\n");
        scene.base.insert(format!("content/docs/{number}.md"), page);
    }
    scene.write(
        "pyproject.toml",
        "[project]\nname = \"shopkit\"\ndescription = \"Renders `<script>alert(1)</script>` tags\"\nlicense = \"MIT\"\n",
    );
    let plan = plan(&mut scene).unwrap();
    let facts: ProductFacts = serde_json::from_value(scene.json(PRODUCT_FACTS)).unwrap();
    assert!(facts.claims[0].text.starts_with("Renders `<script>"), "{facts:#?}");
    let described: Vec<&serde_json::Value> =
        plan.pages.iter().map(|page| &page.front_matter["description"]).collect();
    assert_eq!(described, ["ShopKit counts the coins in a drawer.", "Adds the values of all coins."]);
}

#[test]
fn an_optional_page_is_omitted_if_its_front_matter_is_not_known() {
    let mut scene = Scene::new();
    for name in ["a", "b"] {
        let code = format!("from shopkit.cash import drawer\n\n{name} = drawer([3])\nprint({name})\n");
        scene.write(&format!("examples/{name}.py"), &code);
    }
    let examples = "content/docs/shop/examples.md".to_owned();
    let all: Vec<String> = paths(&plan(&mut scene).unwrap()).into_iter().map(str::to_owned).collect();
    assert!(all.contains(&examples), "{all:?}");
    // The pages of this section have descriptions, which are claims, and its own page makes no claim.
    for number in 0..6 {
        let page = format!("---\ntitle: T{number}\ndescription: D{number}\n---\nText.\n");
        scene.base.insert(format!("content/docs/{number}.md"), page);
    }
    let described = plan(&mut scene).unwrap();
    let others: Vec<&String> = all.iter().filter(|path| **path != examples).collect();
    assert_eq!(paths(&described), others);
}

#[test]
fn pages_of_people_keep_their_place() {
    let start = "content/docs/shop/getting-started.md";
    for (path, text, reason) in [
        (start, "# Mine\n", KeptReason::Foreign),
        ("content/docs/shop/getting-started/_index.md", "# Mine\n", KeptReason::AddressTaken),
        (start, "# Old\n\nSaid before. <!-- claim_id: x -->\n", KeptReason::Edited),
        (start, "# Old\n\n<!-- launch_page -->\n", KeptReason::Edited),
    ] {
        let mut scene = Scene::new();
        let all = plan(&mut scene).unwrap();
        scene.base.insert(path, text);
        let plan = plan(&mut scene).unwrap();
        let kept: Vec<(&str, KeptReason)> =
            plan.kept.iter().map(|kept| (kept.output_path.as_str(), kept.reason)).collect();
        assert_eq!(kept, [(start, reason)]);
        assert_eq!(plan.kept[0].unsaid, usize::from(text.contains("claim_id")));
        let others: Vec<&str> = paths(&all).into_iter().filter(|path| *path != start).collect();
        assert_eq!(paths(&plan), others);
        // Other pages link to a page that is still there, and not to one that was replaced.
        let planned = serde_json::to_string(&plan.pages).unwrap();
        assert_eq!(planned.contains(start), reason == KeptReason::Edited, "{planned}");
    }
}

#[test]
fn a_page_that_is_written_again_keeps_its_fields() {
    let start = "content/docs/shop/getting-started.md";
    let mut scene = Scene::new();
    let said = "ShopKit counts the coins in a drawer.";
    let front = format!("title: Old\ndescription: {said}\nweight: 7\ntags: [a, b]\ndate: 2020-01-02\n");
    let text = format!("---\n{front}---\n\nText. <!-- claim_id: x -->\n");
    scene.base.insert(start, text.as_str());
    let known = PublishedPages {
        unchanged: BTreeMap::from([(start.to_owned(), page_sha256(&text))]),
        ..PublishedPages::default()
    };
    scene.artifacts.insert(PUBLISHED_PAGES.to_owned(), stable_json(&known).into_bytes());
    let plan = plan(&mut scene).unwrap();
    assert!(plan.kept.is_empty(), "{plan:?}");
    let page = plan.pages.iter().find(|page| page.output_path == start).unwrap();
    let expected = json!({ "title": "Getting started with ShopKit", "description": said, "weight": 7, "tags": ["a", "b"],
        "date": "2020-01-02" });
    assert_eq!((json!(page.front_matter), page.format.is_some()), (expected, true));
}

#[test]
fn claims_in_which_a_gate_finds_something_are_not_planned() {
    let mut scene = Scene::new();
    scene.write(
        "README.md",
        &format!("{README}\nShopKit calls `count_all_notes()` each night.\n\nShopKit lies in `shopkit/data/gone.csv` too.\n"),
    );
    let plan = plan(&mut scene).unwrap();
    let planned = serde_json::to_string(&plan).unwrap();
    let facts: ProductFacts = serde_json::from_value(scene.json(PRODUCT_FACTS)).unwrap();
    let gone: Vec<&Claim> = facts
        .claims
        .iter()
        .filter(|claim| claim.text.contains("count_all_notes") || claim.text.contains("gone.csv"))
        .collect();
    assert_eq!(gone.len(), 2, "{facts:#?}");
    for claim in gone {
        assert!(!planned.contains(&claim.claim_id), "{claim:?}");
    }
}

#[test]
fn a_small_budget_leaves_out_what_is_least_needed() {
    let mut scene = Scene::new();
    let many: String = (0..40).map(|number| format!("\n\ndef price_{number}(x):\n    return x\n")).collect();
    scene.write("shopkit/cash.py", &format!("{CODE}{many}"));
    let names: Vec<&'static str> =
        (0..40).map(|number| &*Box::leak(format!("price_{number}").into_boxed_str())).collect();
    let first = u32::try_from(CODE.lines().count()).unwrap() + 3;
    scene
        .definitions
        .extend(names.iter().zip(0..).map(|(name, at)| ("shopkit/cash.py", first + at * 4, *name)));
    scene.config = config(&json!({ "budgets": { "max_files_changed": 9, "max_lines_per_file": 60 } }));
    let plan = plan(&mut scene).unwrap();
    let api = plan.pages.iter().find(|page| page.section == Section::Reference).unwrap();
    let definitions = api.blocks.iter().filter(|block| block.level == 3).count();
    assert!((1..20).contains(&definitions), "{definitions}");
    assert!(api.required_headings.contains(&"Limitations".to_owned()));
    scene.config = config(
        &json!({ "launch_tier": "rich", "budgets": { "max_files_changed": 2, "max_lines_per_file": 300 } }),
    );
    scene.write("examples/a.py", "from shopkit.cash import drawer\n\ndrawer([3])\n");
    scene.base = MemoryFiles::default();
    let plan = self::plan(&mut scene).unwrap();
    assert_eq!(plan.pages.len(), 2, "{:?}", paths(&plan));
}
