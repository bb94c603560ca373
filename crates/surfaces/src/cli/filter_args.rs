//! The filter flags of `search`, generated from the filter table.

use clap::builder::BoolishValueParser;
use clap::error::ErrorKind;
use clap::{Arg, ArgAction, ArgMatches, Command};
use serde::Serialize;
use serde_json::{Map, Value};

use engine::search::fields::{FIELDS, FilterField, ValueKind};

/// The value that the parser substitutes for a boolean flag without a value. It means true, and is not documented.
const WITHOUT_VALUE: &str = "y";

/// Name of the argument that holds the words of the query.
const QUERY: &str = "query";

/// Fields whose values are code and may start with a hyphen: `->`, `-> Result<Order>`, `--i`.
const CODE_FIELDS: &[&str] = &["content", "signature", "inferredType", "returnType", "riskFlow"];

/// The filter flags that were given, as arguments of the tool.
#[derive(Debug, Default, Clone, Serialize)]
#[serde(transparent)]
pub(super) struct FilterArgs(Map<String, Value>);

fn filter_flag(field: &'static FilterField) -> Arg {
    let arg = Arg::new(field.name)
        .long(field.cli_flag)
        .help(field.help.trim_end_matches('.'))
        .help_heading("Filters");
    match field.kind {
        ValueKind::Text | ValueKind::Alternatives | ValueKind::Json => {
            arg.value_name("TEXT").allow_hyphen_values(CODE_FIELDS.contains(&field.name))
        }
        ValueKind::TextOrList => arg.value_name("TEXT").action(ArgAction::Append),
        ValueKind::Pairs => arg.value_name("KEY[=VALUE]").action(ArgAction::Append),
        ValueKind::Number => {
            let number = |text: &str| text.parse::<f64>().map_err(|_| "it is not a number".to_owned());
            arg.value_name("N").value_parser(number).allow_negative_numbers(true)
        }
        ValueKind::Boolean => arg
            .value_name("true|false")
            .num_args(0..=1)
            .require_equals(true)
            .default_missing_value(WITHOUT_VALUE)
            .value_parser(BoolishValueParser::new()),
    }
}

fn flag_value(field: &FilterField, matches: &ArgMatches) -> Option<Value> {
    match field.kind {
        ValueKind::Text | ValueKind::Alternatives | ValueKind::Json => {
            matches.get_one::<String>(field.name).cloned().map(Value::String)
        }
        ValueKind::TextOrList | ValueKind::Pairs => {
            let values = matches.get_many::<String>(field.name)?;
            Some(Value::Array(values.cloned().map(Value::String).collect()))
        }
        ValueKind::Number => matches.get_one::<f64>(field.name).map(|number| Value::from(*number)),
        ValueKind::Boolean => matches.get_one::<bool>(field.name).map(|holds| Value::Bool(*holds)),
    }
}

/// Returns a query word `true` or `false` right after a flag without a value: `--async false` means `--async=false` to most
/// people, but would search for the word in asynchronous chunks.
fn detached_value(field: &FilterField, matches: &ArgMatches) -> Option<String> {
    let last_value = matches.get_raw(field.name)?.next_back()?;
    if last_value != WITHOUT_VALUE {
        return None;
    }
    let flag = matches.indices_of(field.name)?.next_back()?;
    let words = matches.get_many::<String>(QUERY)?.zip(matches.indices_of(QUERY)?);
    let mut after = words.filter(|(word, at)| *at == flag + 1 && ["true", "false"].contains(&word.as_str()));
    after.next().map(|(word, _)| word.clone())
}

/// Returns the filter flag that a field without a value took as its value.
fn swallowed_flag(field: &FilterField, matches: &ArgMatches) -> Option<&'static str> {
    let value = matches.get_one::<String>(field.name)?.strip_prefix("--")?;
    FIELDS.iter().map(|field| field.cli_flag).find(|flag| *flag == value)
}

impl clap::Args for FilterArgs {
    fn augment_args(command: Command) -> Command {
        command.args(FIELDS.iter().map(filter_flag))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl clap::FromArgMatches for FilterArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        for field in FIELDS.iter().filter(|field| field.kind == ValueKind::Boolean) {
            if let Some(value) = detached_value(field, matches) {
                let flag = field.cli_flag;
                let message =
                    format!("write `--{flag}={value}`; after a space, `{value}` is a word of the query\n");
                return Err(clap::Error::raw(ErrorKind::InvalidValue, message));
            }
        }
        for field in FIELDS.iter().filter(|field| CODE_FIELDS.contains(&field.name)) {
            if let Some(flag) = swallowed_flag(field, matches) {
                let message = format!("`--{}` needs a value; `--{flag}` is a flag\n", field.cli_flag);
                return Err(clap::Error::raw(ErrorKind::InvalidValue, message));
            }
        }
        let given =
            FIELDS.iter().filter_map(|field| Some((field.name.to_owned(), flag_value(field, matches)?)));
        Ok(Self(given.collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        self.0.extend(Self::from_arg_matches(matches)?.0);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use clap::{Args as _, FromArgMatches as _};
    use serde_json::json;

    use super::*;

    fn parsed(arguments: &[&str]) -> Result<Map<String, Value>, clap::Error> {
        let command =
            FilterArgs::augment_args(Command::new("search")).arg(Arg::new(QUERY).action(ArgAction::Append));
        let matches = command.try_get_matches_from([&["search"], arguments].concat())?;
        FilterArgs::from_arg_matches(&matches).map(|filters| filters.0)
    }

    #[test]
    fn code_that_begins_with_a_hyphen_is_a_value() {
        for (arguments, name, value) in [
            (["--risk-flow", "->"], "riskFlow", "->"),
            (["--return-type", "-> Result<Order>"], "returnType", "-> Result<Order>"),
            (["--signature", "--count"], "signature", "--count"),
            (["--content", "- item"], "content", "- item"),
        ] {
            assert_eq!(parsed(&arguments).unwrap()[name], json!(value), "{arguments:?}");
        }
    }

    #[test]
    fn a_flag_is_not_taken_for_the_value_of_another() {
        for arguments in [["--risk-flow", "--lang"], ["--path", "--lang"], ["--signature", "--async"]] {
            assert!(parsed(&arguments).is_err(), "{arguments:?}");
        }
    }
}
