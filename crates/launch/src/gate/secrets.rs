//! Gate `secrets`: no page has a secret.

use std::collections::BTreeMap;

use super::{Checked, Found, Gate, GateInput};
use crate::issue::{Rule, Severity, quote};

pub(super) const GATE: Gate =
    Gate { name: "secrets", about: "No page has a secret.", rules: &[SECRET, LIKELY_SECRET], check };

const SECRET: Rule = Rule::new("secret", "A page has a secret");
const LIKELY_SECRET: Rule = Rule::new("likely_secret", "A page has what may be a password");

/// Kinds that are recognised by the name beside the value. Documents show such values as examples as often as by mistake.
const BY_NAME: &[&str] = &["password", "url_password"];

fn check(input: &GateInput<'_>, found: &mut Found) -> Checked {
    for page in input.pages() {
        let mut of_kind: BTreeMap<String, u32> = BTreeMap::new();
        for secret in input.secrets.find(&page.path, &page.text) {
            let is_by_name = BY_NAME.contains(&secret.kind.as_str());
            let (rule, severity) = match is_by_name {
                true => (&LIKELY_SECRET, input.severity(Severity::Blocker, Severity::Warning)),
                false => (&SECRET, Severity::Blocker),
            };
            let number = of_kind.entry(secret.kind.clone()).or_default();
            *number += 1;
            // Expose the secret neither in the message nor, by its hash, in the id.
            let subject = format!("{} {number}", secret.kind);
            let message = format!("The line has a secret of the kind {}.", quote(&secret.kind));
            found.add(rule, severity, (&page.path, secret.line), &subject, message);
        }
    }
    Checked::Done
}
