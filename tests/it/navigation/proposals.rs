//! Every name that an answer proposes is accepted by the call that it proposes it for.

use std::collections::BTreeSet;
use std::path::Path;

use languages::{ChunkLimits, Language, chunk};
use serde_json::{Value, json};

use super::Graph;
use crate::harness::call;

/// Definitions of each language that are asked for.
const ASKED_MAX: usize = 10;

/// The sample and the cases of each language as files, and the names that they define, those with marks first.
fn samples() -> (Vec<(String, String)>, Vec<String>) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("crates/languages/src");
    let (mut files, mut names) = (Vec::new(), Vec::new());
    for language in languages::all().filter(|language| language.is_code() && language.has_grammar()) {
        let Some(extension) = language.extensions.first() else { continue };
        let sample = std::fs::read_to_string(folder.join(language.id).join("sample.txt")).unwrap();
        let cases = std::fs::read_to_string(folder.join(language.id).join("facts.cases")).unwrap();
        let mut defined = defined(&sample, language);
        files.push((format!("{}/sample.{extension}", language.id), sample));
        for (number, source) in sources(&cases).into_iter().enumerate() {
            defined.extend(self::defined(&source, language));
            files.push((format!("{}/case{number}.{extension}", language.id), source));
        }
        let is_plain = |name: &String| name.chars().all(|c| c.is_alphanumeric() || c == '_');
        let (plain, marked): (Vec<String>, Vec<String>) = defined.into_iter().partition(is_plain);
        names.extend(marked.into_iter().take(ASKED_MAX));
        names.extend(plain.into_iter().take(ASKED_MAX));
    }
    (files, names)
}

/// The sources of the cases: what follows their heads.
fn sources(cases: &str) -> Vec<String> {
    let source = |case: &str| {
        let lines = case.lines().skip(1).skip_while(|line| line.starts_with(['+', '-']));
        lines.collect::<Vec<_>>().join("\n") + "\n"
    };
    cases.split("=== ").skip(1).map(source).collect()
}

fn defined(text: &str, language: &'static Language) -> BTreeSet<String> {
    let chunked = chunk(text, Some(language), &ChunkLimits::default());
    let all = chunked.chunks.into_iter().flat_map(|chunk| chunk.definitions);
    all.filter(|one| !one.forms().is_empty()).map(|one| one.name).collect()
}

/// Misspellings of a name: a letter less, and a letter more.
fn near_misses(name: &str) -> Vec<String> {
    let chars: Vec<char> = name.chars().collect();
    let middle = chars.len() / 2;
    let less = chars.iter().enumerate().filter(|(at, _)| *at != middle).map(|(_, c)| *c).collect();
    let more = chars[..middle].iter().chain(['q', 'q'].iter().take(1)).chain(&chars[middle..]).collect();
    if chars.len() < 4 { Vec::new() } else { vec![less, more] }
}

/// The names between backticks of a hint.
fn proposed(hint: &Value) -> Vec<String> {
    let hint = hint.as_str().unwrap_or_default();
    match hint.strip_prefix("Did you mean ") {
        // A name may have backticks of its own.
        Some(names) => {
            let names = names.trim_end_matches('?').split("` or `");
            names.map(|name| name.trim_matches('`').to_owned()).collect()
        }
        None => Vec::new(),
    }
}

/// The names that an answer is about.
fn answered(envelope: &Value) -> Vec<String> {
    let result = &envelope["result"];
    let symbols =
        std::iter::once(&result["symbol"]).chain(result["candidates"].as_array().into_iter().flatten());
    symbols.filter_map(|symbol| symbol["name"].as_str().map(str::to_owned)).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_proposal_is_accepted_by_the_call_that_it_proposes() {
    let (files, names) = samples();
    let shown: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let graph = Graph::new("proposals", &shown).await;
    let (mut followed, mut hinted, mut wrong) = (0, 0, Vec::new());
    for asked in names.iter().flat_map(|name| near_misses(name)) {
        let envelope = graph.ask(json!({ "symbol": asked, "relation": "definition" })).await;
        for name in proposed(&envelope["error"]["hint"]) {
            hinted += 1;
            let again = graph.ask(json!({ "symbol": name, "relation": "definition" })).await;
            let is_it = answered(&again).iter().any(|found| name == *found || name.ends_with(found.as_str()))
                || again["result"]["symbol"]["line"]
                    .as_u64()
                    .is_some_and(|line| name.ends_with(&format!(":{line}")));
            if !is_it {
                wrong.push(format!("{asked}: the hint {name}: {} {:?}", again["error"], answered(&again)));
            }
        }
        let next = envelope["_meta"]["next"].clone();
        if next["tool"].is_string()
            && matches!(next["tool"].as_str(), Some("navigate" | "search" | "show_file"))
        {
            followed += 1;
            let mut arguments = next["arguments"].clone();
            arguments["project_id"] = json!(graph.project);
            let again = call(&graph.app, next["tool"].as_str().unwrap(), arguments.clone()).await;
            let nearest = envelope["error"]["details"]["nearest"][0].as_str();
            let names = answered(&again);
            let is_found =
                nearest.is_none_or(|nearest| names.iter().any(|name| nearest.ends_with(name.as_str())));
            if again["ok"] != true || !is_found {
                wrong.push(format!("{asked}: {arguments}: {} {names:?}", again["error"]));
            }
        }
        // A search proposes names, too.
        let query = json!({ "query": asked, "project_id": graph.project, "top": 1 });
        let searched = call(&graph.app, "search", query).await;
        for name in searched["result"]["didYouMean"].as_array().into_iter().flatten() {
            let query = json!({ "query": name, "project_id": graph.project, "top": 3 });
            let again = call(&graph.app, "search", query).await;
            if again["ok"] != true || again["result"]["hits"][0].is_null() {
                wrong.push(format!("{asked}: search {name}: {}", again["error"]));
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {followed} and {hinted}: {wrong:#?}", wrong.len());
    assert!(followed > 200 && hinted > 200, "{followed} calls and {hinted} hints were followed");
}
