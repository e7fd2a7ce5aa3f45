//! The points of a sweep as a table: the key along the axis of a figure, the key across figures, and the remaining
//! keys.

use dupack_lab::experiment::SweepValue;
use dupack_lab::results::scaled;

use crate::figure::Scale;
use crate::shown::Shown;

/// A swept key.
#[derive(Clone, Debug)]
pub(super) struct Key {
    /// Name of the key in the experiment: `path.loss`.
    name: String,
    /// Name of the key for readers: `packet loss`.
    pub(super) label: String,
    /// Unit of the values. Empty if the values have no unit.
    unit: &'static str,
    pub(super) values: Vec<SweepValue>,
    /// Scale of the values on an axis, or `None` if not all values are numbers with the same unit.
    pub(super) scale: Option<Scale>,
}

/// The keys of a sweep that have several values.
#[derive(Clone, Debug)]
pub(super) struct Grid {
    /// Key along the axis of a figure.
    pub(super) first: Key,
    /// Key across figures: its values are the panels of a figure or the rows of a table.
    pub(super) second: Option<Key>,
    others: Vec<Key>,
    points: Vec<Vec<(String, SweepValue)>>,
}

/// The points that have the same values of all keys except the first two.
#[derive(Clone, Debug, Default)]
pub(super) struct Slice {
    /// The common values in words. Empty if there is only one slice.
    pub(super) label: String,
    /// The common values as part of a file name.
    pub(super) slug: String,
    /// The indices of the points, by the value of the second key, then by the value of the first key. `None` for a
    /// missing point.
    pub(super) points: Vec<Vec<Option<usize>>>,
}

impl Key {
    fn of(name: &str, values: &[SweepValue]) -> Self {
        let numbers: Option<Vec<(f64, &'static str)>> = values.iter().map(scaled).collect();
        let unit = numbers.as_ref().and_then(|all| all.first()).map(|n| n.1);
        // Values with different units, such as "20pkt" and "50kB", cannot share an axis.
        let alike = numbers.filter(|all| all.iter().all(|number| Some(number.1) == unit));
        let scale = alike.map(|all| {
            let numbers: Vec<f64> = all.iter().map(|number| number.0).collect();
            Scale::of_settings(&numbers)
        });
        let label = match name {
            "path.loss" => "packet loss",
            "path.delay" => "one-way delay",
            "path.rate" => "rate of the bottleneck",
            "path.buffer" => "buffer of the bottleneck",
            other => other,
        };
        Self {
            name: name.to_owned(),
            label: label.to_owned(),
            unit: unit.unwrap_or_default(),
            values: values.to_vec(),
            scale,
        }
    }

    pub(super) fn with_unit(&self) -> String {
        match self.unit {
            "" => self.label.clone(),
            unit => format!("{} ({unit})", self.label),
        }
    }
}

impl Grid {
    /// Returns the grid of a sweep, or `None` if no swept key has several values. The first key is the numeric key with
    /// the most values; if no key is numeric, it is the key with the most values. If several keys are equal in this,
    /// the last of them is chosen. The second key is chosen from the remaining keys by the same rule.
    pub(super) fn of(results: &dyn Shown) -> Option<Self> {
        let sweep = results.experiment().sweep.iter();
        let several = sweep.filter(|(_, values)| values.len() > 1);
        let mut keys: Vec<Key> = several.map(|(key, values)| Key::of(key, values)).collect();
        let take = |keys: &mut Vec<Key>| {
            let by_length = |n: &usize| (keys[*n].scale.is_some(), keys[*n].values.len());
            let longest = (0..keys.len()).max_by_key(by_length)?;
            Some(keys.remove(longest))
        };
        let first = take(&mut keys)?;
        let second = take(&mut keys);
        Some(Self {
            first,
            second,
            others: keys,
            points: results.points().iter().map(|p| p.values.clone()).collect(),
        })
    }

    /// Returns the names of the remaining keys for readers.
    pub(super) fn others(&self) -> String {
        let labels: Vec<&str> = self.others.iter().map(|key| key.label.as_str()).collect();
        labels.join(" and ")
    }

    /// Returns one slice per combination of values of the remaining keys.
    pub(super) fn slices(&self) -> Vec<Slice> {
        let mut settings: Vec<Vec<(&Key, &SweepValue)>> = vec![Vec::new()];
        for key in &self.others {
            let each = settings.iter().flat_map(|done| {
                key.values.iter().map(move |value| {
                    let mut next = done.clone();
                    next.push((key, value));
                    next
                })
            });
            settings = each.collect();
        }
        let mut slices: Vec<Slice> = settings.iter().map(|fixed| self.slice(fixed)).collect();
        for n in 1..slices.len() {
            let (before, rest) = slices.split_at_mut(n);
            // Two labels may give the same file name, because file names do not have all characters of the labels.
            while { before.iter() }.any(|other| other.slug == rest[0].slug) {
                rest[0].slug += &format!("-{}", n + 1);
            }
        }
        slices
    }

    fn slice(&self, fixed: &[(&Key, &SweepValue)]) -> Slice {
        let at = |row: Option<(&Key, &SweepValue)>| -> Vec<Option<usize>> {
            let columns = self.first.values.iter().map(|value| {
                let own = [(&self.first, value)];
                let wanted = || own.iter().chain(fixed).chain(&row);
                self.points.iter().position(|point| {
                    wanted().all(|(key, value)| {
                        point
                            .iter()
                            .any(|(name, set)| *name == key.name && set == *value)
                    })
                })
            });
            columns.collect()
        };
        let label = fixed
            .iter()
            .map(|(key, value)| format!("{} {value}", key.label));
        let slug = fixed.iter().map(|(key, value)| {
            let end = key.name.rsplit('.').next().unwrap_or_default();
            let text = format!("{end}-{value}");
            text.replace(|c: char| !(c.is_ascii_alphanumeric() || c == '.'), "-")
        });
        Slice {
            label: label.collect::<Vec<String>>().join(", "),
            slug: slug.collect::<Vec<String>>().join("-"),
            points: match &self.second {
                Some(second) => second
                    .values
                    .iter()
                    .map(|v| at(Some((second, v))))
                    .collect(),
                None => vec![at(None)],
            },
        }
    }
}
