//! The flags of `search` that are the filter table's fields; made from the table, so that it has no second copy.

use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use serde::Serialize;
use serde_json::{Map, Value};

use engine::search::fields::{FIELDS, FilterField, ValueKind};

/// Fields that were given, as the tool takes them.
#[derive(Debug, Default, Clone, Serialize)]
#[serde(transparent)]
pub(super) struct FilterArgs(Map<String, Value>);

fn arg(field: &'static FilterField) -> Arg {
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

fn value(field: &FilterField, matches: &ArgMatches) -> Option<Value> {
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
        command.args(FIELDS.iter().map(arg))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl clap::FromArgMatches for FilterArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let given = FIELDS.iter().filter_map(|field| Some((field.name.to_owned(), value(field, matches)?)));
        Ok(Self(given.collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        self.0.extend(Self::from_arg_matches(matches)?.0);
        Ok(())
    }
}
