//! Stacks with random parameters.

use dupack_algorithms::catalog::{Axis, Catalog, Kind, ParameterSpec, StackSpec};
use dupack_net::random::Stream;

/// Maximum difference of a random integer from its minimum. Larger thresholds and windows would be larger than any
/// transfer here.
const INTEGER_SPAN: u64 = 40;
/// Maximum difference of a random real number from its minimum.
const REAL_SPAN: f64 = 8.0;

/// Returns the stack with some random parameters for each entry, or the unchanged stack if the random values exclude
/// each other.
pub fn vary(stack: &StackSpec, catalog: &Catalog, stream: &mut Stream) -> StackSpec {
    let entries = Axis::ALL.map(|axis| {
        let name = stack.name(axis);
        let described = catalog.find(axis, name);
        let parameters = described.map_or(&[][..], |entry| &entry.parameters[..]);
        let given: Vec<String> = parameters
            .iter()
            .filter_map(|spec| value(spec, stream))
            .collect();
        if given.is_empty() {
            name.to_owned()
        } else {
            format!("{name}({})", given.join(","))
        }
    });
    StackSpec::parse(&entries.join("/"), catalog).unwrap_or_else(|_| stack.clone())
}

/// Returns `name=value` for two parameters in five, and `None` for the others.
fn value(spec: &ParameterSpec, stream: &mut Stream) -> Option<String> {
    let chosen = stream.below(5) < 2;
    let value = match &spec.kind {
        Kind::Choice(words) => words[stream.below(words.len() as u64) as usize]
            .word
            .to_string(),
        Kind::Integer { min, max, .. } => {
            let span = (max - min).min(INTEGER_SPAN);
            (min + stream.below(span + 1)).to_string()
        }
        Kind::Real { min, max, .. } => {
            let span = (max - min).min(REAL_SPAN);
            let steps = stream.below(17) as f64 / 16.0;
            (min + span * steps).to_string()
        }
        Kind::Time => format!("{}ms", stream.below(300)),
    };
    chosen.then(|| format!("{}={value}", spec.name))
}
