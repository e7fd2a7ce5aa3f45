//! Coordinates of the points of a sweep on its axes: numbers in a single unit, for programs that read the results.

use toml::{Table, Value};

use super::Results;
use crate::experiment::SweepValue;
use crate::experiment::load::split;
use crate::experiment::points::Point;
use crate::units::{Buffer, ByteCount, Delay, Distance, Probability, Rate};

/// Value of a swept key at a point.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Coordinate {
    /// A number. The unit is `%`, `Mbit/s`, `ms`, `packets`, `kB` or `m`, or empty for a count or a dimensionless
    /// ratio.
    Number {
        /// The number, in the unit.
        number: f64,
        /// The unit.
        unit: &'static str,
    },
    /// A boolean.
    Switch(bool),
    /// A word, such as a dialect.
    Word(String),
}

impl Coordinate {
    fn of_text(text: &str) -> Self {
        let bare = text.parse::<f64>().ok().filter(|number| number.is_finite());
        let (number, unit) = if let Some(number) = bare {
            (number, "")
        } else if let Ok(probability) = text.parse::<Probability>() {
            (probability.as_percent(), "%")
        } else if let Ok(rate) = text.parse::<Rate>() {
            (rate.as_megabits_per_second(), "Mbit/s")
        } else if let Ok(delay) = text.parse::<Delay>() {
            (delay.as_nanos() as f64 / 1e6, "ms")
        } else if let Ok(Buffer::Packets(packets)) = text.parse() {
            (f64::from(packets), "packets")
        } else if let Ok(bytes) = text.parse::<ByteCount>() {
            (bytes.as_bytes() as f64 / 1e3, "kB")
        } else if let Ok(distance) = text.parse::<Distance>() {
            (distance.as_metres(), "m")
        } else {
            return Self::Word(text.to_owned());
        };
        Self::Number { number, unit }
    }

    fn of_toml(value: &Value) -> Option<Self> {
        Some(match value {
            Value::String(text) => Self::of_text(text),
            Value::Integer(number) => Self::count(*number as f64),
            Value::Float(number) => Self::count(*number),
            Value::Boolean(on) => Self::Switch(*on),
            _ => return None,
        })
    }

    fn of_sweep(value: &SweepValue) -> Self {
        match value {
            SweepValue::Text(text) => Self::of_text(text),
            SweepValue::Integer(number) => Self::count(*number as f64),
            SweepValue::Real(number) => Self::count(*number),
            SweepValue::Switch(on) => Self::Switch(*on),
        }
    }

    const fn count(number: f64) -> Self {
        Self::Number { number, unit: "" }
    }

    /// Returns the coordinates of all points of a sweep, in the order of its keys. A coordinate is the value after
    /// parsing, not the text in the file. A zero without a unit takes the unit of the other values on its axis.
    #[must_use]
    pub fn of_points(points: &[Point]) -> Vec<Vec<Self>> {
        let mut all: Vec<Vec<Self>> = points.iter().map(coordinates).collect();
        let axes = all.iter().map(Vec::len).max().unwrap_or(0);
        for axis in 0..axes {
            let units = all.iter().filter_map(|point| point.get(axis));
            let Some(unit) = units.map(Self::unit).find(|unit| !unit.is_empty()) else {
                continue;
            };
            let here = all.iter_mut().filter_map(|point| point.get_mut(axis));
            here.for_each(|coordinate| coordinate.zero_in(unit));
        }
        all
    }

    /// Returns the unit, which is empty if there is none.
    #[must_use]
    pub const fn unit(&self) -> &'static str {
        match self {
            Self::Number { unit, .. } => unit,
            Self::Switch(_) | Self::Word(_) => "",
        }
    }

    /// Sets the unit of a zero without a unit.
    fn zero_in(&mut self, unit: &'static str) {
        let bare = Self::count(0.0);
        if *self == bare {
            *self = Self::Number { number: 0.0, unit };
        }
    }
}

impl Results {
    /// Returns the coordinates of all points of the sweep ([`Coordinate::of_points`]).
    #[must_use]
    pub fn coordinates(&self) -> Vec<Vec<Coordinate>> {
        Coordinate::of_points(&self.points)
    }
}

fn coordinates(point: &Point) -> Vec<Coordinate> {
    let whole = Table::try_from(&*point.experiment).map_or(Value::Boolean(false), Value::Table);
    let of = |(key, value): &(String, SweepValue)| {
        let understood = at(&whole, key).and_then(Coordinate::of_toml);
        understood.unwrap_or_else(|| Coordinate::of_sweep(value))
    };
    point.values.iter().map(of).collect()
}

/// Returns the value at the dotted `key`, or `None` if the table omits the key because its value is the default.
fn at<'v>(whole: &'v Value, key: &str) -> Option<&'v Value> {
    let mut here = whole;
    for step in split(key) {
        here = match here {
            Value::Array(items) => items.get(step.parse::<usize>().ok()?)?,
            other => other.get(&step)?,
        };
    }
    Some(here)
}

#[cfg(test)]
mod tests {
    use dupack_algorithms::catalog::Catalog;

    use super::*;
    use crate::experiment::load::Source;
    use crate::run::Plan;

    fn swept(lines: &str) -> Results {
        let text = format!(
            "stacks = [\"sack/reno\"]\n[path]\nrate = \"1Mbit/s\"\n[[flows]]\ncount = 1\n[sweep]\n{lines}\n"
        );
        let source = Source::new("test.toml", text);
        let plan = Plan::new(source.parse().unwrap(), &source, &Catalog::builtin()).unwrap();
        plan.empty_results()
    }

    /// Returns the coordinates of a sweep over one key.
    fn along(lines: &str) -> Vec<Coordinate> {
        let all = swept(lines).coordinates();
        all.into_iter().map(|mut point| point.remove(0)).collect()
    }

    fn numbers(lines: &str) -> Vec<(f64, &'static str)> {
        let number = |coordinate| match coordinate {
            Coordinate::Number { number, unit } => (number, unit),
            other => panic!("{other:?}"),
        };
        along(lines).into_iter().map(number).collect()
    }

    #[test]
    fn all_values_of_a_key_have_one_unit() {
        let rates = numbers("\"path.rate\" = [\"500kbit/s\", \"10Mbit/s\", \"1Gbit/s\"]");
        assert_eq!(
            rates,
            [(0.5, "Mbit/s"), (10.0, "Mbit/s"), (1000.0, "Mbit/s")]
        );
        let delays = numbers("\"path.delay\" = [\"0\", \"200us\", \"1.5s\"]");
        assert_eq!(delays, [(0.0, "ms"), (0.2, "ms"), (1500.0, "ms")]);
        let losses = numbers("\"path.loss\" = [\"0\", \"0.5%\", \"7%\"]");
        assert_eq!(losses, [(0.0, "%"), (0.5, "%"), (7.0, "%")]);
        let counts = numbers("\"flows.0.count\" = [1, 5]");
        assert_eq!(counts, [(1.0, ""), (5.0, "")]);
        let rooms = numbers("\"path.buffer\" = [\"50pkt\", \"64kB\", \"1MiB\"]");
        assert_eq!(rooms, [(50.0, "packets"), (64.0, "kB"), (1048.576, "kB")]);
    }

    #[test]
    fn values_that_are_not_numbers_are_kept() {
        let dialects = along("\"dialect\" = [\"rfc\", \"linux\"]");
        let word = |text: &str| Coordinate::Word(text.to_owned());
        assert_eq!(dialects, [word("rfc"), word("linux")]);
        let switches = along("\"receiver.sack_compression\" = [false, true]");
        assert_eq!(
            switches,
            [Coordinate::Switch(false), Coordinate::Switch(true)]
        );
    }

    /// A number with its unit parses to the quantity that was swept.
    #[test]
    fn a_number_with_its_unit_parses_to_the_same_quantity() {
        for nanos in [
            1_u64,
            100_000,
            123_456_789,
            1_500_000_000,
            86_400_000_000_007,
        ] {
            let Coordinate::Number { number, unit } =
                Coordinate::of_text(&Delay::from_nanos(nanos).to_string())
            else {
                panic!("{nanos} is a number");
            };
            let back: Delay = format!("{number}{unit}").parse().unwrap();
            assert_eq!(back.as_nanos(), nanos);
        }
        for bits in [1_u64, 838_000, 10_000_000, 1_234_567_891] {
            let text = Rate::from_bits_per_second(bits).to_string();
            let Coordinate::Number { number, unit } = Coordinate::of_text(&text) else {
                panic!("{bits} is a number");
            };
            let back: Rate = format!("{number}{unit}").parse().unwrap();
            assert_eq!(back.as_bits_per_second(), bits);
        }
        for text in ["0.001%", "0.1%", "7%", "33.3%", "100%"] {
            let Coordinate::Number { number, unit } = Coordinate::of_text(text) else {
                panic!("{text} is a number");
            };
            let (back, own): (Probability, Probability) = (
                format!("{number}{unit}").parse().unwrap(),
                text.parse().unwrap(),
            );
            assert_eq!(back, own);
        }
    }
}
