//! Answers state their confidence; a query without a relevant hit is answered without hits.

use serde_json::{Value, json};

use crate::harness::{Repository, app, app_with_model, project, result};

/// A project large enough for meaningful term frequencies.
const LIBRARY: &[(&str, &str)] = &[
    (
        "src/sessions.py",
        "class SessionInterface:\n    \"\"\"Loads and saves the session cookie.\"\"\"\n\n    def open_session(self, request):\n        \
         \"\"\"Verifies the signature of the session cookie and loads what it holds.\"\"\"\n        \
         return self.signer.unsign(request.cookies['session'])\n\n    def save_session(self, session, response):\n        \
         response.set_cookie('session', self.signer.sign(session))\n",
    ),
    (
        "src/blueprints.py",
        "class Blueprint:\n    \"\"\"A group of routes that is registered on an application later.\"\"\"\n\n    \
         def register_blueprint(self, app, url_prefix):\n        for rule in self.rules:\n            \
         app.add_url_rule(url_prefix + rule)\n",
    ),
    (
        "src/templating.py",
        "def render_template(name, **context):\n    \"\"\"Renders a template by name with the given context.\"\"\"\n    \
         return environment.get_template(name).render(context)\n",
    ),
    (
        "src/config.py",
        "def from_object(config, source):\n    for key in dir(source):\n        if key.isupper():\n            \
         config[key] = getattr(source, key)\n",
    ),
    ("README.md", "# Library\n\nA small framework for web applications.\n\n## Installing\n\nUse pip.\n"),
];

async fn indexed(app: &std::sync::Arc<gate::app::App>, name: &str) -> (Repository, String) {
    let (repository, project) = (Repository::new(LIBRARY), project(name));
    result(app, "build_index", json!({ "repoPath": repository.root(), "project_id": project })).await;
    (repository, project)
}

fn scores(answer: &Value) -> Vec<f64> {
    answer["hits"].as_array().unwrap().iter().map(|hit| hit["score"].as_f64().unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_query_without_a_relevant_hit_has_confidence_none_and_no_hits() {
    let app = app_with_model();
    let (_repository, project) = indexed(&app, "absent").await;
    for query in ["zzzz qqqq", "wavelet decomposition of seismograms"] {
        let answer = result(&app, "search", json!({ "query": query, "project_id": project })).await;
        assert_eq!(answer["confidence"], "none", "{query}: {answer:#}");
        assert_eq!((&answer["hits"], &answer["total"]), (&json!([]), &json!(0)), "{query}");
        let simple = result(&app, "search_code", json!({ "query": query, "project_id": project })).await;
        assert_eq!((&simple["confidence"], &simple["results"]), (&json!("none"), &json!([])), "{query}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn relevant_hits_have_confidence_and_scores_from_0_to_1() {
    let app = app_with_model();
    let (_repository, project) = indexed(&app, "present").await;
    for (query, file) in [
        ("verify the signature of the session cookie", "src/sessions.py"),
        ("Blueprint", "src/blueprints.py"),
        ("render_template", "src/templating.py"),
        ("how is a template rendered by its name", "src/templating.py"),
    ] {
        for ann in [true, false] {
            let answer =
                result(&app, "search", json!({ "query": query, "ann": ann, "project_id": project })).await;
            assert!(
                ["high", "medium"].contains(&answer["confidence"].as_str().unwrap()),
                "{query}: {answer:#}"
            );
            assert_eq!(answer["hits"][0]["file"], file, "{query}");
            let scores = scores(&answer);
            assert!(scores.iter().all(|score| (0.0..=1.0).contains(score)), "{query}: {scores:?}");
            assert!(scores.windows(2).all(|pair| pair[0] >= pair[1]), "{query}: {scores:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_misspelt_name_is_answered_with_the_nearest_names() {
    let app = app_with_model();
    let (_repository, project) = indexed(&app, "spelling").await;
    let answer = result(&app, "search", json!({ "query": "regster_bluepirnt", "project_id": project })).await;
    assert!(["none", "low"].contains(&answer["confidence"].as_str().unwrap()), "{answer:#}");
    assert_eq!(answer["didYouMean"][0], "register_blueprint", "{answer:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn hits_that_pass_a_filter_on_their_content_are_shown_at_any_confidence() {
    let app = app_with_model();
    let (_repository, project) = indexed(&app, "demanding").await;
    for query in ["zzzz qqqq type:function", "zzzz \"get_template\""] {
        let answer = result(&app, "search", json!({ "query": query, "project_id": project })).await;
        assert!(!answer["hits"].as_array().unwrap().is_empty(), "{query}: {answer:#}");
    }
    // Filters on language and path only restrict where to search: irrelevant hits stay hidden.
    let elsewhere = json!({ "query": "zzzz qqqq", "lang": "python", "path": "src", "project_id": project });
    assert_eq!(result(&app, "search", elsewhere).await["hits"], json!([]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_listing_has_no_confidence_and_equal_scores() {
    let app = app();
    let (_repository, project) = indexed(&app, "listing").await;
    let answer = result(&app, "search", json!({ "query": "lang:python", "project_id": project })).await;
    assert!(answer.get("confidence").is_none(), "{answer:#}");
    let scores = scores(&answer);
    assert!(!scores.is_empty(), "{answer:#}");
    assert!(scores.iter().all(|score| (score - 1.0).abs() < f64::EPSILON), "{answer:#}");
}
