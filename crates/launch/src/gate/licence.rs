//! Gate `licence`: the repository has one licence, and pages name that one.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex::Regex;

use super::{Checked, Found, Gate, GateInput, RunInput};
use crate::issue::{Rule, Severity, quote};
use crate::licence::{Licence, agree, known};
use crate::pattern::pattern;
use crate::site::Page;

pub(super) const GATE: Gate = Gate {
    name: "licence",
    about: "The repository has one licence, and pages name that one.",
    rules: &[NO_LICENCE, CONFLICT, NOT_NAMED, OTHER_LICENCE],
    check,
};

const NO_LICENCE: Rule = Rule::new("no_licence", "The repository has no licence");
const CONFLICT: Rule = Rule::new("licence_conflict", "Two files of the repository name different licences");
const NOT_NAMED: Rule = Rule::fixable("licence_not_named", "No page names the licence");
const OTHER_LICENCE: Rule = Rule::fixable("other_licence", "A page names another licence");

/// A sentence that states the licence of the product.
static SENTENCE: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?i)\b(?:is|are) (?:released |distributed |published |available )?(?:licen[sc]ed )?under (?:the |an? )?(?:terms of the )?([^.\n]{2,60})",
    )
});

fn check(input: &GateInput<'_>, found: &mut Found) -> Checked {
    let evidence = match input.evidence {
        Ok(evidence) => evidence,
        Err(reason) => return Checked::Unable(reason.to_owned()),
    };
    let Some(licence) = evidence.licence() else {
        let severity = input.severity(Severity::Error, Severity::Warning);
        let message =
            "No licence file and no manifest at the root says which licence the repository has.".to_owned();
        found.add_to_site(&NO_LICENCE, severity, "", message);
        return Checked::Done;
    };
    if let Some((path, other)) = &licence.conflict {
        let message = format!(
            "{} says {}, {} says {}.",
            quote(&licence.path),
            quote(&licence.spdx),
            quote(path),
            quote(other)
        );
        found.add_to_site(&CONFLICT, input.severity(Severity::Error, Severity::Warning), path, message);
    }
    if let Some(run) = input.run
        && !pages_of_run(input, run).any(|page| names(page, licence))
    {
        let message = format!("No page names the licence {}.", quote(&licence.spdx));
        found.add_to_site(&NOT_NAMED, Severity::Error, "", message);
    }
    for page in input.pages() {
        other_licences(page, licence, found);
    }
    Checked::Done
}

/// Returns the pages that a run changes, those it planned that are already correct, and those that it left to people.
fn pages_of_run<'a>(input: &GateInput<'a>, run: &'a RunInput<'a>) -> impl Iterator<Item = &'a Page> {
    let planned = run.pages.iter().map(|page| page.path.as_str());
    let kept = run.kept.iter().map(|kept| kept.other.as_deref().unwrap_or(&kept.output_path));
    let site = input.site;
    input.pages().chain(planned.chain(kept).filter_map(|path| site.page(path)))
}

/// Returns `true` if a page names one of the licences.
fn names(page: &Page, licence: &Licence) -> bool {
    let text = page.text.to_lowercase();
    let words: BTreeSet<&str> = licence_words(&text).collect();
    licence.spdx.split(" OR ").any(|spdx| words.contains(spdx.to_lowercase().as_str()))
}

/// Looks only below headings about the licence, because elsewhere a page may be about the licences of others.
fn other_licences(page: &Page, licence: &Licence, found: &mut Found) {
    let mut headings = page.headings.iter().peekable();
    let mut is_below = false;
    for (number, _, line) in page.numbered_lines() {
        while let Some(heading) = headings.next_if(|heading| heading.line <= number) {
            let title = heading.text.to_lowercase();
            is_below = title == "license" || title == "licence" || title == "licensing";
        }
        if !is_below {
            continue;
        }
        let Some(said) = SENTENCE.captures(line).and_then(|found| found.get(1)) else { continue };
        if let Some(other) = named_licence(said.as_str())
            && !agree(other, &licence.spdx)
        {
            let message =
                format!("The page says {}; the repository has {}.", quote(other), quote(&licence.spdx));
            found.add(&OTHER_LICENCE, Severity::Error, (&page.path, number), other, message);
        }
    }
}

/// Splits a text into words that may be parts of licence identifiers, such as `apache-2.0`.
fn licence_words(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split(|c: char| !(c.is_alphanumeric() || matches!(c, '-' | '.' | '+')));
    words.map(|word| word.trim_matches(['.', '-'])).filter(|word| !word.is_empty())
}

/// Returns the licence that a phrase names by its identifier or its common name.
fn named_licence(phrase: &str) -> Option<&'static str> {
    const NAMES: &[(&str, &str)] = &[
        ("apache license", "Apache-2.0"),
        ("apache 2", "Apache-2.0"),
        ("mit license", "MIT"),
        ("mit licence", "MIT"),
        ("mozilla public license", "MPL-2.0"),
        ("gnu affero", "AGPL-3.0"),
        ("isc license", "ISC"),
        ("unlicense", "Unlicense"),
    ];
    let phrase = phrase.to_lowercase();
    let words: BTreeSet<&str> = licence_words(&phrase).collect();
    let by_id = known().find(|spdx| words.contains(spdx.to_lowercase().as_str()));
    by_id.or_else(|| NAMES.iter().find(|(name, _)| phrase.contains(name)).map(|(_, spdx)| *spdx))
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn headings_and_lines_are_walked_together() {
        let licence = Licence { spdx: "MIT".to_owned(), path: "LICENSE".to_owned(), conflict: None };
        let said = "It is licensed under the ISC license.\n";
        let text = format!(
            "{said}\n{}{said}\n# Use\n\n{said}{}",
            "# License\n".repeat(10_000),
            "\n".repeat(900_000)
        );
        let page = Page::parse("a.md", text, 20_000);
        let mut found = Found::new(GATE.name);
        let begin = Instant::now();
        other_licences(&page, &licence, &mut found);
        assert!(begin.elapsed() < Duration::from_secs(20), "{:?}", begin.elapsed());
        let lines: Vec<Option<u32>> = found.issues.values().map(|issue| issue.line).collect();
        assert_eq!(lines, [Some(10_003)]);
    }
}
