//! The filter flags of `search`, generated from the filter table.

use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use serde::Serialize;
use serde_json::{Map, Value};

use engine::search::fields::{FIELDS, FilterField, ValueKind};

/// The filter flags that were given, as arguments of the tool.
#[derive(Debug, Default, Clone, Serialize)]
#[serde(transparent)]
pub(super) struct FilterArgs(Map<String, Value>);

fn filter_flag(field: &'static FilterField) -> Arg {
    let arg =
        Arg::new(field.name).long(field.flag).help(field.help.trim_end_matches('.')).help_heading("Filters");
    match field.kind {
        ValueKind::Text | ValueKind::Alternatives | ValueKind::Json => arg.value_name("TEXT"),
        ValueKind::TextOrList => arg.value_name("TEXT").action(ArgAction::Append),
        ValueKind::Pairs => arg.value_name("KEY[=VALUE]").action(ArgAction::Append),
        ValueKind::Number => {
            arg.value_name("N").value_parser(value_parser!(f64)).allow_negative_numbers(true)
        }
        ValueKind::Flag => arg
            .value_name("true|false")
            .num_args(0..=1)
            .require_equals(true)
            .default_missing_value("true")
            .value_parser(value_parser!(bool)),
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
        ValueKind::Flag => matches.get_one::<bool>(field.name).map(|holds| Value::Bool(*holds)),
    }
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
        let given =
            FIELDS.iter().filter_map(|field| Some((field.name.to_owned(), flag_value(field, matches)?)));
        Ok(Self(given.collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        self.0.extend(Self::from_arg_matches(matches)?.0);
        Ok(())
    }
}
