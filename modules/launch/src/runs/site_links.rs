//! Asks the hosts that a site profile lists whether they have the pages to which links lead.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use contract::{Fault, echo_within};
use futures::StreamExt;
use launch::external_hosts::ExternalHosts;
use launch::observed::{ExternalLinks, LinkOutcome};
use platform::outbound::{LinkAnswer, LinkClient, Url};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::evidence::stopped;

/// Maximum number of addresses that are asked for in one validation.
const LINKS_MAX: usize = 200;
/// Addresses that are asked for at a time.
const AT_ONCE: usize = 4;
/// Longest time of one request.
const REQUEST_TIME: Duration = Duration::from_secs(10);
/// Longest time of all requests of one validation.
const TOTAL_TIME: Duration = Duration::from_secs(120);
/// Longest address and reason that a report shows, in characters.
const SHOWN_CHARS_MAX: usize = 200;

/// Requests these addresses, which must all be on listed hosts.
///
/// # Errors
/// `CANCELLED`; `INTERNAL` if TLS cannot be set up.
pub(super) async fn ask(
    hosts: ExternalHosts,
    addresses: BTreeSet<Url>,
    cancel: &CancellationToken,
) -> Result<ExternalLinks, Fault> {
    let client = LinkClient::new(REQUEST_TIME, hosts.with_port().map(str::to_owned))
        .map_err(|error| Fault::internal("Links to other hosts cannot be followed.", error))?;
    let hosts = Arc::new(hosts);
    let left_out = addresses.len().saturating_sub(LINKS_MAX);
    let end = Instant::now() + TOTAL_TIME;
    let asked = addresses.into_iter().take(LINKS_MAX).map(|url| {
        let (client, hosts) = (client.clone(), Arc::clone(&hosts));
        async move { (url.to_string(), ask_one(&client, &hosts, &url, end).await) }
    });
    let all = futures::stream::iter(asked).buffer_unordered(AT_ONCE).collect::<BTreeMap<_, _>>();
    tokio::select! {
        results = all => Ok(ExternalLinks { results, left_out }),
        () = cancel.cancelled() => Err(stopped()),
    }
}

async fn ask_one(client: &LinkClient, hosts: &ExternalHosts, url: &Url, end: Instant) -> LinkOutcome {
    let is_listed = |url: &Url| hosts.has(url);
    match tokio::time::timeout_at(end, client.ask(url, &is_listed)).await {
        Ok(Ok(LinkAnswer::Status(status))) => LinkOutcome::of_status(status),
        Ok(Ok(LinkAnswer::Elsewhere(address))) => {
            let address = echo_within(&address, SHOWN_CHARS_MAX);
            LinkOutcome::Unclear(format!("the host redirects to {address}, which is not on a listed host"))
        }
        Ok(Err(error)) => LinkOutcome::Unclear(echo_within(&error.to_string(), SHOWN_CHARS_MAX)),
        Err(_) => LinkOutcome::Unclear("there was no time left to ask".to_owned()),
    }
}
