//! The pages that a product gets, section by section, and their blocks.

use crate::config::{LaunchTier, Section};

/// The source of a block's content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// The first things that the repository says about itself, as paragraphs.
    Overview,
    /// Other things that it does, as a list.
    Features,
    /// Formats that it reads and writes.
    Formats,
    /// Commands that install it, and statements about them.
    Install,
    /// Instructions for its use.
    Usage,
    /// The first snippet.
    Example,
    /// All other snippets.
    Examples,
    /// Its limitations.
    Limitations,
    /// Its licence.
    Licence,
    /// Its definitions: one block a file.
    Api,
    /// Links to the other pages.
    Links,
}

/// A block of a page.
#[derive(Debug, Clone, Copy)]
pub struct BlockRule {
    /// Its heading.
    pub heading: &'static str,
    /// The source of its content.
    pub source: Source,
}

/// A page.
#[derive(Debug, Clone, Copy)]
pub struct PageRule {
    /// The section.
    pub section: Section,
    /// Name of its file without extension; `{slug}` is replaced by the product.
    pub file: &'static str,
    /// Its title; `{name}` is replaced by the product.
    pub title: &'static str,
    /// The lowest tier that has it.
    pub tier: LaunchTier,
    /// Its blocks.
    pub blocks: &'static [BlockRule],
}

/// The number of claims that blocks get.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quota {
    /// Paragraphs.
    pub paragraphs: usize,
    /// Items of a list.
    pub entries: usize,
    /// Definitions of a page.
    pub definitions: usize,
    /// Snippets of a page.
    pub snippets: usize,
}

/// The text of a block about risks. It states nothing about the repository.
pub const SECURITY_LINE: &str = "Input that comes from others is untrusted: check it before it reaches the operations that this page names.";
/// The heading of that block.
pub const SECURITY_HEADING: &str = "Security";

const fn block(heading: &'static str, source: Source) -> BlockRule {
    BlockRule { heading, source }
}

/// The pages, in the order in which they are planned.
pub static PAGES: &[PageRule] = &[
    PageRule {
        section: Section::Products,
        file: "index",
        title: "{name}",
        tier: LaunchTier::Minimal,
        blocks: &[
            block("Overview", Source::Overview),
            block("Features", Source::Features),
            block("Formats", Source::Formats),
            block("Installation", Source::Install),
            block("Limitations", Source::Limitations),
            block("Licence", Source::Licence),
            block("See also", Source::Links),
        ],
    },
    PageRule {
        section: Section::Docs,
        file: "getting-started",
        title: "Getting started with {name}",
        tier: LaunchTier::Minimal,
        blocks: &[
            block("Overview", Source::Overview),
            block("Installation", Source::Install),
            block("Usage", Source::Usage),
            block("Example", Source::Example),
            block("Features", Source::Features),
            block("Limitations", Source::Limitations),
            block("Licence", Source::Licence),
            block("See also", Source::Links),
        ],
    },
    PageRule {
        section: Section::Docs,
        file: "examples",
        title: "Examples of {name}",
        tier: LaunchTier::Standard,
        blocks: &[block("Examples", Source::Examples), block("See also", Source::Links)],
    },
    PageRule {
        section: Section::Reference,
        file: "api",
        title: "API of {name}",
        tier: LaunchTier::Minimal,
        blocks: &[
            block("", Source::Api),
            block("Limitations", Source::Limitations),
            block("Licence", Source::Licence),
            block("See also", Source::Links),
        ],
    },
    PageRule {
        section: Section::Kb,
        file: "questions",
        title: "Questions about {name}",
        tier: LaunchTier::Minimal,
        blocks: &[
            block("What does it do?", Source::Overview),
            block("Which formats does it know?", Source::Formats),
            block("How is it installed?", Source::Install),
            block("How is it used?", Source::Usage),
            block("What are its limitations?", Source::Limitations),
            block("Which licence does it have?", Source::Licence),
            block("See also", Source::Links),
        ],
    },
    PageRule {
        section: Section::Blog,
        file: "introducing-{slug}",
        title: "Introducing {name}",
        tier: LaunchTier::Minimal,
        blocks: &[
            block("What it does", Source::Overview),
            block("Features", Source::Features),
            block("Formats", Source::Formats),
            block("Licence", Source::Licence),
            block("See also", Source::Links),
        ],
    },
];

/// The quota of a tier.
#[must_use]
pub fn quota(tier: LaunchTier) -> Quota {
    match tier {
        LaunchTier::Minimal => Quota { paragraphs: 2, entries: 5, definitions: 20, snippets: 1 },
        LaunchTier::Standard => Quota { paragraphs: 3, entries: 10, definitions: 60, snippets: 5 },
        LaunchTier::Rich => Quota { paragraphs: 5, entries: 30, definitions: 150, snippets: 20 },
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_section_has_a_page_in_every_tier() {
        for section in Section::ALL {
            assert!(PAGES.iter().any(|page| page.section == section && page.tier == LaunchTier::Minimal));
        }
        let names: BTreeSet<_> = PAGES.iter().map(|page| (page.section, page.file)).collect();
        assert_eq!(names.len(), PAGES.len(), "two pages have one name");
    }

    #[test]
    fn pages_that_the_gates_ask_for_limitations_have_them() {
        for page in PAGES.iter().filter(|page| page.file == "getting-started" || page.file == "api") {
            assert!(page.blocks.iter().any(|one| one.source == Source::Limitations), "{}", page.file);
        }
    }

    #[test]
    fn higher_tiers_have_more() {
        let tiers = [LaunchTier::Minimal, LaunchTier::Standard, LaunchTier::Rich];
        assert!(tiers.is_sorted());
        let entries = tiers.map(|tier| quota(tier).entries);
        assert!(entries.is_sorted(), "{entries:?}");
    }
}
