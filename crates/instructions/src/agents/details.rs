//! Details below the title of a generated section, so that it reads back: the id of its entry in a comment, which agents may quote
//! to the catalog, and in plain words everything the agent must know that the form of the file does not express.

use super::Layout;
use super::globs::split_globs;
use super::markdown::Markdown;
use crate::levels::Requirement;

/// Priority of an entry that does not state one.
pub(super) const PRIORITY: u8 = 50;
const COMMENT_START: &str = "<!-- instruction: ";
const COMMENT_END: &str = " -->";
const REQUIREMENT: &str = "Requirement: ";
const APPLIES_TO: &str = "Applies to: ";
const ALL_FILES: &str = "all files";
/// Words that make a text binding if they are in capitals.
const BINDING: &[&str] = &["MUST", "NEVER", "ALWAYS"];

/// Details of a section.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Details {
    /// Id of the entry.
    pub(super) id: Option<String>,
    /// Priority, if it is not the default.
    pub(super) priority: Option<u8>,
    /// The number of levels by which the headings of the body were lowered.
    pub(super) lowered: usize,
    /// Requirement, if the text itself does not imply it.
    pub(super) requirement: Option<Requirement>,
    /// Globs, if the file itself does not imply them; an empty list means all files.
    pub(super) globs: Option<Vec<String>>,
}

impl Details {
    /// Writes the lines below the title.
    pub(super) fn to_text(&self) -> String {
        let mut comment = format!("{COMMENT_START}{}", self.id.as_deref().unwrap_or_default());
        if let Some(priority) = self.priority {
            comment.push_str(&format!("; priority: {priority}"));
        }
        if self.lowered > 0 {
            comment.push_str(&format!("; headings: +{}", self.lowered));
        }
        comment.push_str(COMMENT_END);
        let mut lines = vec![comment];
        lines.extend(self.requirement.map(|requirement| format!("{REQUIREMENT}{}", requirement.as_str())));
        lines.extend(self.globs.as_ref().map(|globs| match globs.as_slice() {
            [] => format!("{APPLIES_TO}{ALL_FILES}"),
            globs => format!("{APPLIES_TO}`{}`", globs.join("`, `")),
        }));
        lines.join("\n")
    }

    /// Splits the details off the start of a section's text. Lines that are not details stay in the text.
    pub(super) fn split(text: &str) -> (Self, &str) {
        let mut details = Self::default();
        let (first, mut rest) = text.split_once('\n').unwrap_or((text, ""));
        if !details.read_comment(first) {
            return (details, text);
        }
        loop {
            let (line, below) = rest.split_once('\n').unwrap_or((rest, ""));
            if !details.read_line(line) {
                return (details, rest);
            }
            rest = below;
        }
    }

    fn read_comment(&mut self, line: &str) -> bool {
        let comment =
            line.strip_prefix(COMMENT_START).and_then(|rest| rest.trim_end().strip_suffix(COMMENT_END));
        let Some(comment) = comment else { return false };
        let mut fields = comment.split("; ");
        self.id = fields.next().map(str::to_owned);
        for field in fields {
            if let Some(priority) = field.strip_prefix("priority: ") {
                self.priority = priority.parse().ok().filter(|priority| (1..=100).contains(priority));
            } else if let Some(levels) = field.strip_prefix("headings: +") {
                self.lowered = levels.parse().ok().filter(|levels| *levels < 6).unwrap_or(0);
            }
        }
        true
    }

    fn read_line(&mut self, line: &str) -> bool {
        if let Some(requirement) = line.strip_prefix(REQUIREMENT).and_then(|text| Requirement::parse(text.trim_end()))
            // It would need the id of another entry.
            && requirement != Requirement::Deprecated
        {
            self.requirement = Some(requirement);
            return true;
        }
        let Some(globs) = line.strip_prefix(APPLIES_TO).map(str::trim_end) else { return false };
        if globs == ALL_FILES {
            self.globs = Some(Vec::new());
            return true;
        }
        let Some(list) = globs.strip_prefix('`').and_then(|list| list.strip_suffix('`')) else {
            return false;
        };
        let globs: Vec<&str> = list.split("`, `").collect();
        let are_globs = globs.iter().all(|glob| !glob.contains('`') && split_globs(glob) == [*glob]);
        if are_globs {
            self.globs = Some(globs.into_iter().map(str::to_owned).collect());
        }
        are_globs
    }
}

/// Returns how binding the text of a file is. A skill is a capability that agents use when a task needs it: its words bind only the
/// agents that use it.
pub(super) fn requirement_in(layout: Layout, title: &str, body: &str) -> Requirement {
    match layout {
        Layout::Whole => Requirement::Recommended,
        Layout::Rules | Layout::Sections => requirement_of(title, body),
    }
}

/// Derives the requirement from the words of a text: mandatory with MUST, NEVER or ALWAYS outside code blocks, else recommended.
fn requirement_of(title: &str, body: &str) -> Requirement {
    let is_word = |character: char| character.is_alphanumeric() || character == '_';
    let mut title_words = title.split(|character| !is_word(character));
    let is_binding = |word: &str| BINDING.contains(&word);
    if title_words.any(is_binding) || Markdown::read(body).words().any(is_binding) {
        Requirement::Mandatory
    } else {
        Requirement::Recommended
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all() -> Details {
        Details {
            id: Some("no-secrets".into()),
            priority: Some(7),
            lowered: 2,
            requirement: Some(Requirement::Critical),
            globs: Some(vec!["web/**".into(), "*.{a,b}".into()]),
        }
    }

    #[test]
    fn details_read_back() {
        let text = "<!-- instruction: no-secrets; priority: 7; headings: +2 -->\nRequirement: critical\n\
                    Applies to: `web/**`, `*.{a,b}`";
        assert_eq!(all().to_text(), text);
        let few = Details { id: Some("a".into()), globs: Some(Vec::new()), ..Details::default() };
        assert_eq!(few.to_text(), "<!-- instruction: a -->\nApplies to: all files");
        for details in [all(), few, Details { id: Some("b".into()), ..Details::default() }] {
            for body in
                ["", "body", "Requirement: optional\nx", "<!-- instruction: z -->", "Applies to: all files"]
            {
                let text = format!("{}\n\n{body}", details.to_text());
                assert_eq!(Details::split(&text), (details.clone(), &*format!("\n{body}")));
            }
        }
    }

    #[test]
    fn what_is_no_detail_stays_text() {
        for text in [
            "", "Requirement: optional", " <!-- instruction: a -->", "<!-- instruction: a",
            "text\n<!-- instruction: a -->",
        ] {
            assert_eq!(Details::split(text), (Details::default(), text));
        }
        for line in [
            "Requirement: must", "Requirement: deprecated", "Applies to: web", "Applies to: `a",
            "Applies to: `a``", "x",
        ] {
            let text = format!("<!-- instruction: a; priority: 101; headings: +9; x -->\n{line}");
            let (details, rest) = Details::split(&text);
            assert_eq!((details.priority, details.lowered, rest), (None, 0, line));
        }
    }

    #[test]
    fn capitals_bind() {
        for (title, body, mandatory) in [
            ("Style", "You MUST NOT do it.", true),
            ("NEVER push", "x", true),
            ("Style", "ALWAYS: x", true),
            ("Style", "you must, MUSTER, MUST_X", false),
            ("Style", "```sql\nid GENERATED ALWAYS\n```", false),
        ] {
            assert_eq!(requirement_of(title, body) == Requirement::Mandatory, mandatory, "{title} {body}");
        }
    }
}
