//! `bench scale` end to end, with small sizes: timings differ between runs, counts do not.

use std::process::Command;

use serde_json::Value;

use crate::harness::{PROGRAM, Repository, new_home};

/// Ten files of ten functions, in two languages.
fn corpus() -> Repository {
    let repository = Repository::new(&[]);
    for file in 0..10 {
        let (language, comment, head) = if file % 5 == 0 { ("py", "#", "def") } else { ("rs", "///", "fn") };
        let function = |at: usize| {
            let name = format!("keeps_ledger_{file}_{at}");
            let body: String = (0..12)
                .map(|line| format!("    balance{line} = account{at}.amount{file} + {line}\n"))
                .collect();
            format!(
                "{comment} Writes the balance of account {at} into ledger {file} once a day.\n{head} {name}()\n{body}\n"
            )
        };
        let text: String = (0..10).map(function).collect();
        repository.write(&format!("part{}/book{file}.{language}", file % 3), &text);
    }
    repository
}

#[test]
fn a_grown_corpus_is_counted_and_searched() {
    let (home, corpus) = (new_home("scale"), corpus());
    let measure = || -> Value {
        let output = Command::new(PROGRAM)
            .args([
                "bench", "scale", "--json", "--chunks", "300,600", "--projects", "1,2", "--questions", "6",
            ])
            .arg(corpus.path())
            .env("PAIROFCLEATS_HOME", &home)
            .env("PAIROFCLEATS_INDEXING__HNSW_ROWS_MIN", "500")
            .env("PAIROFCLEATS_SEARCH__EXACT_ROWS_MAX", "400")
            .output()
            .unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{stderr}");
        serde_json::from_slice::<Value>(&output.stdout).unwrap()["result"].take()
    };
    let report = measure();
    let sizes = report["sizes"].as_array().unwrap();
    let chunks: Vec<i64> = sizes.iter().map(|size| size["grown"]["chunks"].as_i64().unwrap()).collect();
    assert!((250..350).contains(&chunks[0]) && (550..650).contains(&chunks[1]), "{chunks:?}");
    for size in sizes {
        let (grown, searches) = (&size["grown"], size["asked"].as_array().unwrap());
        assert!(grown["vectors"].as_i64().unwrap() * 10 > grown["chunks"].as_i64().unwrap() * 9, "{grown}");
        let conditions: Vec<&str> =
            searches.iter().map(|search| search["condition"].as_str().unwrap()).collect();
        let expected = [
            "no filter", "folder", "repository", "10 repositories", "50 repositories", "path part",
            "language", "words alone",
        ];
        assert_eq!(conditions, expected);
        assert!(
            searches[..conditions.len() - 1]
                .iter()
                .all(|search| search["denseRecall"].as_f64().unwrap() > 0.9),
            "{searches:#?}"
        );
    }
    assert_eq!(sizes[0]["grown"]["hnswSeconds"], 0.0);
    assert_eq!(sizes[0]["asked"][0]["path"], serde_json::json!(["everything exact"]));
    assert_eq!(sizes[1]["asked"][0]["path"], serde_json::json!(["everything hnsw"]));
    assert_eq!(report["projects"].as_array().unwrap().len(), 2);
    assert_eq!(report["curves"]["projectsWarmP50Ms"].as_array().unwrap().len(), 2);

    let again = measure();
    let grown = |report: &Value| report["sizes"][1]["grown"].clone();
    assert_eq!(grown(&again), grown(&report), "a corpus that has the size already is not grown again");
}
