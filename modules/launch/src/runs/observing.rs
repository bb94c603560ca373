//! Makes observations that gates, which are pure, cannot: runs the commands of the site profile, and asks its hosts about links.

use std::sync::Arc;

use contract::Fault;
use launch::external_hosts::ExternalHosts;
use launch::observed::Observed;
use launch::validate::changed_pages;
use launch::worker::VALIDATE;

use super::answer::Stop;
use super::item::ItemInputs;
use super::run_job::RunJob;
use super::site_commands::SiteCommands;
use super::site_links;
use super::workers::OpenSite;
use gate::app::blocking;

impl RunJob<'_> {
    /// Returns `true` if a validation of the site depends on more than the run's pinned inputs: then an earlier report may be outdated.
    pub(super) fn looks_outside(&self) -> bool {
        self.site().is_ok_and(|site| !site.checks.is_empty() || !site.external_hosts.is_empty())
    }

    /// Runs the commands of the site, and asks the listed hosts, if the item is a validation.
    pub(super) async fn observe(
        &self,
        inputs: &Arc<ItemInputs>,
        read: OpenSite,
    ) -> Result<(OpenSite, Observed), Stop> {
        if inputs.worker.name != VALIDATE || !self.looks_outside() {
            return Ok((read, Observed::default()));
        }
        let site = self.site()?;
        let hosts = ExternalHosts::parse(&site.external_hosts)
            .map_err(|wrong| Fault::internal("A host of the site profile is malformed.", wrong))?;
        let commands = SiteCommands::new(self.app, site, self.journal.run_id());
        let (inputs, listed) = (Arc::clone(inputs), hosts.clone());
        let (cancel, progress) = (self.running.cancel.clone(), self.running.progress.clone());
        let observed = blocking(move || {
            let linked = listed.linked_from(&changed_pages(&read.item(&inputs)));
            // A job whose command takes long does not hang: commands have time limits of their own.
            let cancelled = || {
                progress.touch();
                cancel.is_cancelled()
            };
            let commands = commands.run(read.site(), &cancelled)?;
            Ok((read, linked, commands))
        })
        .await;
        // A cancelled job ends its commands, so that comes before the fault that they return.
        self.require_running()?;
        let (read, linked, commands) = observed?;
        let links = match hosts.is_empty() {
            true => None,
            false => Some(site_links::ask(hosts, linked, &self.running.cancel).await),
        };
        self.require_running()?;
        Ok((read, Observed { commands, links: links.transpose()? }))
    }
}
