//! Faults that a site had before a run must not fail the run; faults that the run introduces must.

use super::*;

const OLD: &str = "content/docs/other/en/old.md";
const OLDER: &str = "content/docs/other/en/older.md";

/// A fault of pages that the run does not change.
type OldFault = fn(&mut Scene);

#[test]
fn old_faults_do_not_fail_a_run() {
    let faults: &[OldFault] = &[
        |s| s.pages.push((OLD, "\0".into())),
        |s| s.pages.push((OLD, "x".repeat(SiteLimits::default().page_bytes_max + 1))),
        |s| {
            s.pages.push((OLD, "---\nurl: /guide\n---\n# Old\n".into()));
            s.pages.push((OLDER, "---\nurl: /guide/\n---\n# Older\n".into()));
        },
        |s| {
            s.pages.push(("static/Logo.png", String::new()));
            s.pages.push(("static/logo.png", String::new()));
        },
        |s| s.pages.push((OLD, "---\ntitle: [\n---\n# __PRODUCT_NAME__\n".into())),
        |s| s.pages.push((OLD, "# Old\n\n[x](gone.md) [y](../../shop/en/start.md#never)\n".into())),
        |s| s.pages.push((OLD, "# Old\n\nTOPSECRETTOKEN `shop/data/gone.csv`\n".into())),
    ];
    for (at, fault) in faults.iter().enumerate() {
        let mut scene = Scene { profile: Profile::Prod, ..Scene::new() };
        scene.before.push((START, "# Start\n".to_owned()));
        fault(&mut scene);
        let report = scene.report();
        assert!(report.ok && found(&report).is_empty(), "fault {at}: {}", report.to_json());
    }
}

#[test]
fn a_page_of_the_run_may_not_take_what_an_old_one_has() {
    let codes = |path: &'static str, text: &str| {
        let mut scene = Scene::new();
        scene.pages.push((path, text.to_owned()));
        let report = scene.report();
        let places = report.issues.iter().filter(|issue| issue.severity < Severity::Info);
        places.map(|issue| (issue.code.clone(), issue.path.clone())).collect::<Vec<_>>()
    };
    let at_start = |code: &str| [(code.to_owned(), Some(START.to_owned()))];
    let url = format!("---\nurl: /{}/\n---\n# Old\n", START.trim_end_matches(".md"));
    assert_eq!(codes(OLD, &url), at_start("duplicate_address"));
    assert_eq!(codes("content/docs/shop/en/START.md", "# Old\n"), at_start("case_collision"));
}
