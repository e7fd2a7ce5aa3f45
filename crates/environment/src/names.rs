//! Settings that are either the name of a preset or a table.

use core::fmt;
use core::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{self, Deserialize, Deserializer, MapAccess, Visitor};

/// Setting with named presets.
pub(crate) trait Named: Sized {
    /// Name of the setting in messages, such as `observation`.
    const WHAT: &'static str;
    /// Names of all presets.
    const NAMES: &'static [&'static str];

    /// Returns the preset called `name`.
    fn named(name: &str) -> Option<Self>;

    /// Returns the preset called `name`, or an error message.
    fn find(name: &str) -> Result<Self, String> {
        Self::named(name).ok_or_else(|| unknown(Self::WHAT, name, Self::NAMES.iter().copied()))
    }
}

/// Returns the error message for the unknown `name`, with a suggestion and all known names.
pub(crate) fn unknown<'n>(
    what: &str,
    name: &str,
    known: impl Iterator<Item = &'n str> + Clone,
) -> String {
    let near = known
        .clone()
        .map(|word| (strsim::damerau_levenshtein(name, word), word))
        .filter(|(distance, word)| *distance <= 1 + word.len() / 3)
        .min();
    let meant = near.map_or(String::new(), |(_, word)| {
        format!("; did you mean `{word}`?")
    });
    let known: Vec<&str> = known.collect();
    format!(
        "unknown {what} `{name}`: expected one of {}{meant}",
        known.join(", ")
    )
}

/// Deserializes a name as the preset with that name, and a table as a custom value.
pub(crate) fn name_or_table<'de, D, P, T>(deserializer: D) -> Result<P, D::Error>
where
    D: Deserializer<'de>,
    P: Named + From<T>,
    T: Deserialize<'de>,
{
    struct Either<P, T>(PhantomData<(P, T)>);

    impl<'de, P: Named + From<T>, T: Deserialize<'de>> Visitor<'de> for Either<P, T> {
        type Value = P;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(
                f,
                "the name of a preset ({}) or a table",
                P::NAMES.join(", ")
            )
        }

        fn visit_str<E: de::Error>(self, name: &str) -> Result<P, E> {
            P::find(name).map_err(E::custom)
        }

        fn visit_map<M: MapAccess<'de>>(self, map: M) -> Result<P, M::Error> {
            T::deserialize(MapAccessDeserializer::new(map)).map(P::from)
        }
    }

    deserializer.deserialize_any(Either(PhantomData))
}
