//! Capabilities of the terminal on stdout: colours, links, and long output in a pager.

use std::io::{self, IsTerminal};

use anstream::{AutoStream, ColorChoice};

use super::flags::{GlobalFlags, When};
use super::hyperlinks::{LinkFormat, has_hyperlinks};
use super::output::Output;
use super::pager::{Pager, fits_screen};
use contract::Fault;
use contract::config;

/// The features that stdout supports and the user wants.
#[derive(Debug)]
pub struct Terminal {
    /// `true` if text has colours.
    pub(super) has_colours: bool,
    /// The target of a click on a path; `None` if paths are not links.
    pub(super) link_format: Option<LinkFormat>,
    /// The program that shows long output; `None` if it is printed at once.
    pager: Option<Pager>,
}

/// Applies `--color` to all output of this process. Without it, anstream decides for each stream: colours are used on terminals
/// that support them, unless `NO_COLOR` is set, and `CLICOLOR_FORCE` enables them everywhere.
pub(super) fn choose_colours(when: Option<When>) {
    let choice = match when.unwrap_or_default() {
        When::Auto => ColorChoice::Auto,
        When::Always => ColorChoice::Always,
        When::Never => ColorChoice::Never,
    };
    choice.write_global();
}

impl Terminal {
    /// Reads the flags, the settings and the environment; [`choose_colours`] must be called before.
    ///
    /// # Errors
    /// `INVALID_INPUT` if the setting `terminal.link_format` is not valid.
    pub(super) fn new(flags: &GlobalFlags, settings: &config::Terminal) -> Result<Self, Fault> {
        let environment = config::environment_variables();
        let is_terminal = io::stdout().is_terminal();
        // Links are escape sequences as well, so they need a stream that lets them pass.
        let has_colours = AutoStream::choice(&io::stdout()) != ColorChoice::Never;
        let has_links = match flags.hyperlinks.unwrap_or_default() {
            When::Auto => has_hyperlinks(is_terminal, &environment),
            When::Always => true,
            When::Never => false,
        };
        let format = LinkFormat::parse(&settings.link_format)?;
        let may_page = is_terminal && !flags.json && !flags.no_pager && !config::is_dumb_terminal();
        Ok(Self {
            has_colours,
            link_format: Some(format).filter(|_| has_links && has_colours),
            pager: Pager::from_environment(&environment).filter(|_| may_page),
        })
    }

    /// Prints text on stdout: through the pager if there is one and the text does not fit the screen.
    pub fn print(&self, output: Output, text: &str) {
        let pager = self.pager.as_ref().filter(|_| !fits_screen(text));
        let is_shown = pager.is_some_and(|pager| pager.show(text, self.has_colours));
        if !is_shown {
            output.print_text(text);
        }
    }
}
