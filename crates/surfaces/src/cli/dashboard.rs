//! The flags of the dashboard, which `serve` and `mcp` can serve as well.

use super::flags::whole_number_in;
use super::output::{PATH, styled};
use super::session::{CommandError, Session};
use crate::http::{Dashboard, DashboardAddress};

/// The flags. Of `--dashboard` and `--no-dashboard` the later one counts.
#[derive(Debug, Default, clap::Args)]
#[group(skip)]
pub(super) struct DashboardFlags {
    /// Also serve a page about the instruction catalog, without keys, to browsers on this machine
    #[arg(long, overrides_with_all = ["dashboard", "no_dashboard"])]
    dashboard: bool,
    /// Serve no such page; the default
    #[arg(long, overrides_with_all = ["dashboard", "no_dashboard"])]
    no_dashboard: bool,
    /// Port of the page; 0 selects a free port
    #[arg(long, value_name = "PORT", default_value_t = 8787, value_parser = parse_port)]
    dashboard_port: u16,
    /// Address of the page; only addresses of this machine's loopback are possible
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1")]
    dashboard_host: String,
    /// How many further ports to try if that port is in use
    #[arg(long, value_name = "COUNT", default_value_t = 10, value_parser = parse_port)]
    dashboard_tries: u16,
}

fn parse_port(text: &str) -> Result<u16, String> {
    whole_number_in(text, &(0..=u16::MAX))
}

impl DashboardFlags {
    /// Binds the dashboard if it is enabled, without serving anything yet.
    ///
    /// # Errors
    /// `INVALID_INPUT` for a host beyond loopback; `ILLEGAL_STATE` if no port is free.
    pub(super) async fn bind(&self) -> Result<Option<Dashboard>, CommandError> {
        self.check_host()?;
        match self.dashboard {
            true => Ok(Some(Dashboard::bind(&self.address()).await?)),
            false => Ok(None),
        }
    }

    /// Refuses a host beyond loopback.
    ///
    /// # Errors
    /// `INVALID_INPUT`.
    pub(super) fn check_host(&self) -> Result<(), CommandError> {
        match self.dashboard {
            true => self.address().ip().map(drop).map_err(CommandError::not_run),
            false => Ok(()),
        }
    }

    fn address(&self) -> DashboardAddress {
        DashboardAddress {
            host: self.dashboard_host.clone(),
            port: self.dashboard_port,
            tries: self.dashboard_tries,
        }
    }
}

/// Prints the dashboard's URL on stderr, and serves it until the program stops.
pub(super) async fn serve_dashboard(session: &Session, dashboard: Option<Dashboard>) {
    if let Some(dashboard) = dashboard {
        session.output.print_note(&format!("Dashboard: {}", styled(PATH, &dashboard.url())));
        dashboard.serve(&session.app, session.modules).await;
    }
}

#[cfg(test)]
mod tests {
    use super::super::arguments::{Cli, Command};
    use super::*;

    fn flags(arguments: &[&str]) -> DashboardFlags {
        let arguments = [&["serve"], arguments].concat();
        match Cli::try_parse_from(arguments).unwrap().command {
            Command::Serve(args) => args.dashboard,
            _ => panic!("another command"),
        }
    }

    #[test]
    fn the_later_flag_wins() {
        for (arguments, is_wanted) in [
            (&[][..], false),
            (&["--dashboard"], true),
            (&["--dashboard-port=9000"], false),
            (&["--dashboard", "--no-dashboard"], false),
            (&["--no-dashboard", "--dashboard"], true),
            (&["--dashboard", "--no-dashboard", "--dashboard"], true),
            (&["--dashboard", "--dashboard"], true),
        ] {
            assert_eq!(flags(arguments).dashboard, is_wanted, "{arguments:?}");
        }
    }

    #[test]
    fn the_address_has_defaults() {
        let DashboardAddress { host, port, tries } = flags(&["--dashboard"]).address();
        assert_eq!((host.as_str(), port, tries), ("127.0.0.1", 8787, 10));
        let named = ["--dashboard-host=::1", "--dashboard-port=9000", "--dashboard-tries", "0"];
        let DashboardAddress { host, port, tries } = flags(&named).address();
        assert_eq!((host.as_str(), port, tries), ("::1", 9000, 0));
        assert!(Cli::try_parse_from(["serve", "--dashboard-port", "65536"]).is_err());
    }

    #[tokio::test]
    async fn a_host_beyond_loopback_is_refused_before_anything_runs() {
        let refused = flags(&["--dashboard", "--dashboard-host", "0.0.0.0", "--dashboard-port", "0"]);
        let error = refused.bind().await.err().unwrap();
        assert_eq!(
            (error.fault.code, error.exit),
            (contract::ErrorCode::InvalidInput, super::super::session::Exit::NotRun)
        );
        assert!(flags(&["--dashboard-host", "0.0.0.0"]).bind().await.unwrap().is_none(), "it is not wanted");
    }
}
