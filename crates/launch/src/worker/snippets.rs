//! The worker `snippets`: chooses the examples that pages may show. Each parses, uses only names that the repository has, and is not
//! dangerous.

use languages::risk::Severity as Impact;

use super::trial::{self, Trial};
use super::{NewArtifact, SNIPPETS, SiteView, WorkItem, Worker, WorkerError, WorkerInput, WorkerOutput};
use crate::evidence::Questions;
use crate::forms::{SNIPPET_CANDIDATES, SNIPPET_CATALOG, SnippetCandidates, SnippetCatalog, required};
use crate::render::fenced;
use crate::report::stable_json;
use crate::site::Site;
use crate::snippet::ParsedSnippet;

/// The worker.
pub static WORKER: Worker = Worker {
    name: SNIPPETS,
    version: 1,
    artifacts: &[SNIPPET_CANDIDATES],
    site: SiteView::Base,
    parses: true,
    asks,
    run,
};

/// The candidates, each as a page.
#[must_use]
pub fn candidate_pages(item: &WorkItem<'_>) -> Site {
    trial_of(item).map(|(_, trial)| trial.site()).unwrap_or_default()
}

fn trial_of(item: &WorkItem<'_>) -> Result<(SnippetCandidates, Trial), WorkerError> {
    let form: SnippetCandidates = required(item, SNIPPETS, SNIPPET_CANDIDATES)?;
    let trial = Trial::new(form.candidates.iter().map(|one| fenced(&one.language, &one.code)));
    Ok((form, trial))
}

fn asks(item: &WorkItem<'_>) -> Questions {
    Questions::new(&candidate_pages(item), item.snippets, None)
}

fn run(input: &WorkerInput<'_>) -> Result<WorkerOutput, WorkerError> {
    let (form, trial) = trial_of(&input.item)?;
    let parsed = input.item.snippets;
    let verdicts = trial.verdicts(input, parsed);
    let chosen = form.candidates.into_iter().zip(verdicts).zip(0..).filter(|((_, verdict), number)| {
        let page = trial::path(*number);
        let own: Vec<&ParsedSnippet> = parsed.iter().filter(|snippet| snippet.page == page).collect();
        verdict.problems.is_empty() && !own.is_empty() && !own.iter().any(|snippet| is_dangerous(snippet))
    });
    let catalog = SnippetCatalog { snippets: chosen.map(|((candidate, _), _)| candidate).collect() };
    let artifact = NewArtifact::json(SNIPPET_CATALOG, "snippet_catalog", stable_json(&catalog));
    Ok(WorkerOutput { artifacts: vec![artifact], ..WorkerOutput::default() })
}

/// Returns `true` if untrusted input reaches a dangerous operation. A warning in the code does not make it acceptable.
fn is_dangerous(snippet: &ParsedSnippet) -> bool {
    snippet.risk.as_ref().is_some_and(|risk| risk.severity >= Impact::High)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::worker::scene::{README, Scene};
    use crate::worker::{facts, scout};

    fn chosen(scene: &mut Scene) -> Vec<String> {
        for worker in [&scout::WORKER, &facts::WORKER, &WORKER] {
            scene.run(worker, "").unwrap();
        }
        let catalog: SnippetCatalog = serde_json::from_value(scene.json(SNIPPET_CATALOG)).unwrap();
        catalog.snippets.into_iter().map(|snippet| snippet.code).collect()
    }

    #[test]
    fn examples_come_from_documents_and_from_files() {
        let mut scene = Scene::new();
        let file = "from shopkit.cash import drawer\n\ndrawer([3])\n";
        scene.write("examples/count.py", file);
        let readme = "from shopkit.cash import drawer\n\nprint(drawer([1, 2]))\n";
        assert_eq!(chosen(&mut scene), [readme, file]);
    }

    #[test]
    fn what_is_broken_gone_or_dangerous_is_not_shown() {
        for code in [
            "from shopkit.cash import drawer\n\ndrawer((\n",
            "from shopkit.cash import count_notes\n\ncount_notes([])\n",
            "import os, sys\nfor a in sys.argv:\n    os.system('ls ' + a)\n",
            "# Security: this is unsafe.\nimport os, sys\nfor a in sys.argv:\n    os.system('ls ' + a)\n",
            "token = 'TOPSECRETTOKEN'\n",
            "print('{{< x >}}')\n",
        ] {
            let mut scene = Scene::new();
            scene.write("README.md", &format!("{README}\n```python\n{code}```\n"));
            let shown = chosen(&mut scene);
            assert_eq!(shown.len(), 1, "{code}: {shown:?}");
            assert!(shown[0].contains("print(drawer([1, 2]))"), "{shown:?}");
        }
    }
}
