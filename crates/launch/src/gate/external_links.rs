//! Gate `external_links`: links to the hosts that the site profile lists lead somewhere. Those hosts, and no others, were requested before;
//! see [`ExternalLinks`](crate::observed::ExternalLinks).

use super::{Checked, Found, Gate, GateInput};
use crate::external_hosts::address;
use crate::issue::{Rule, Severity, quote};
use crate::observed::LinkOutcome;

pub(super) const GATE: Gate = Gate {
    name: "external_links",
    about: "Links to the hosts that the site profile lists lead somewhere.",
    rules: &[GONE, UNCLEAR, LEFT_OUT],
    check,
};

const GONE: Rule = Rule::new("external_link_gone", "A link leads to a page that another host does not have");
const UNCLEAR: Rule = Rule::new("external_link_unclear", "A link to another host could not be checked");
const LEFT_OUT: Rule = Rule::new("external_links_left_out", "Not all links to other hosts were followed");

fn check(input: &GateInput<'_>, found: &mut Found) -> Checked {
    let Some(run) = input.run else { return Checked::NotAsked("no run changes the site") };
    let Some(links) = &run.observed.links else {
        return Checked::NotAsked("the site profile lists no hosts");
    };
    for page in input.pages() {
        for link in &page.links {
            let asked = address(&link.target).and_then(|url| links.results.get(url.as_str()));
            let place = (page.path.as_str(), link.line);
            match asked {
                None | Some(LinkOutcome::Reached) => {}
                Some(LinkOutcome::Gone(status)) => {
                    let message =
                        format!("{} is not there: the host answers status {status}.", quote(&link.target));
                    found.add(&GONE, Severity::Error, place, &link.target, message);
                }
                Some(LinkOutcome::Unclear(why)) => {
                    let message = format!("{} could not be checked: {why}.", quote(&link.target));
                    found.add(&UNCLEAR, Severity::Warning, place, &link.target, message);
                }
            }
        }
    }
    if links.left_out > 0 {
        let message = format!("{} addresses on other hosts were not asked for.", links.left_out);
        found.add_to_site(&LEFT_OUT, Severity::Warning, "", message);
    }
    Checked::Done
}
