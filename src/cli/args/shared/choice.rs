//! Options that take one of a few names.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

/// A name, what it is, and what it means.
pub(crate) type Choice<T> = (&'static str, &'static str, T);

/// Accepts these names.
pub(crate) fn one_of<T>(choices: &[Choice<T>]) -> impl TypedValueParser<Value = T> + use<T>
where
    T: Copy + Send + Sync + 'static,
{
    let choices = choices.to_vec();
    let names = choices.iter();
    let names = names.map(|(name, what, _)| PossibleValue::new(*name).help(*what));
    PossibleValuesParser::new(names).map(move |typed| {
        let mut named = choices.iter().filter(|(name, ..)| *name == typed);
        named.next().expect("clap accepts no other name").2
    })
}
