//! The columns that all tables of an experiment have in common: the place of each row in the sweep.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use arrow_array::{ArrayRef, BooleanArray, Float64Array, RecordBatch, UInt32Array};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use dupack_lab::results::{Coordinate, Groups, Medium, Results, Run};
use dupack_lab::run::engine;

use crate::field::{field, words};
use crate::words::Known;

/// The points and stacks of an experiment, prepared for columns. Clones share one copy.
#[derive(Clone, Debug)]
pub struct Sweep(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    axes: Vec<Axis>,
    points: usize,
    stacks: Known,
    metadata: HashMap<String, String>,
    hashed: Hashed,
    /// The groups of flows of each point, or a single entry if they are the same at every point.
    groups: Vec<Groups>,
}

/// `Yes` if runs have a trace hash: simulated runs have one, and runs on a wire do not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Hashed {
    Yes,
    No,
}

/// A swept key and its value at each point.
#[derive(Clone, Debug)]
struct Axis {
    key: String,
    values: Values,
}

#[derive(Clone, Debug)]
enum Values {
    Numbers(Vec<f64>, &'static str),
    Switches(Vec<bool>),
    /// The distinct values as they were written, and the index of each point's value.
    Words(Known, Vec<usize>),
}

/// Returns the groups of flows of each point, or a single entry if they are the same at every point.
fn groups(results: &Results) -> Vec<Groups> {
    let each = results
        .points
        .iter()
        .map(|point| Groups::of(&point.experiment));
    let mut all: Vec<Groups> = each.collect();
    let alike = all.windows(2).all(|pair| pair[0] == pair[1]);
    if alike {
        all.truncate(1);
    }
    all
}

impl Sweep {
    /// Creates the sweep of `results`. Only the points and stacks are used, not the runs.
    #[must_use]
    pub fn of(results: &Results) -> Self {
        let e = &results.experiment;
        let metadata = [
            ("title", e.title.clone()),
            ("experiment", e.text()),
            ("engine", engine()),
        ];
        Self(Arc::new(Inner {
            axes: axes(results),
            points: results.points.len(),
            stacks: Known::new(&results.stacks),
            metadata: metadata.map(|(k, v)| (k.to_owned(), v)).into(),
            hashed: match results.medium {
                Medium::Simulated => Hashed::Yes,
                Medium::Wire(_) => Hashed::No,
            },
            groups: groups(results),
        }))
    }

    /// Returns the name of the group that a flow belongs to at `point`.
    pub(crate) fn group_of(&self, point: usize, flow: usize) -> Option<&str> {
        let groups = match self.0.groups.as_slice() {
            [all] => all,
            each => each.get(point)?,
        };
        Some(&groups.of_flow(flow)?.name)
    }

    /// Returns the number of points.
    #[must_use]
    pub fn points(&self) -> usize {
        self.0.points
    }

    /// Returns the trace hash of a run, if it has one.
    pub(crate) fn hash_of(&self, run: &Run) -> Option<u64> {
        (self.0.hashed == Hashed::Yes).then_some(run.trace_hash)
    }

    /// Returns a table's schema: the columns of the place in the sweep, then the table's `own` fields.
    pub(crate) fn schema(&self, own: impl IntoIterator<Item = Field>) -> SchemaRef {
        let point = field(
            "point",
            DataType::UInt32,
            "",
            "Index of the point in the sweep, from 0.",
        );
        let axes = self.0.axes.iter().map(Axis::field);
        let fields: Vec<Field> = std::iter::once(point).chain(axes).chain(own).collect();
        Arc::new(Schema::new_with_metadata(fields, self.0.metadata.clone()))
    }

    /// Returns the schema of a table without points: only its `own` fields.
    pub(crate) fn bare_schema(&self, own: Vec<Field>) -> SchemaRef {
        Arc::new(Schema::new_with_metadata(own, self.0.metadata.clone()))
    }

    /// Builds a batch with a row at each of `points`: the columns of the place in the sweep, then the table's `own`
    /// columns.
    pub(crate) fn batch(
        &self,
        schema: SchemaRef,
        points: &[u32],
        own: impl IntoIterator<Item = ArrayRef>,
    ) -> RecordBatch {
        let point: ArrayRef = Arc::new(UInt32Array::from(points.to_vec()));
        let axes = self.0.axes.iter().map(|axis| axis.column(points));
        let columns = std::iter::once(point).chain(axes).chain(own).collect();
        batch(schema, columns)
    }

    /// Returns a column with the names of the stacks that have these indices.
    pub(crate) fn stacks(&self, stacks: impl IntoIterator<Item = usize>) -> ArrayRef {
        self.0.stacks.column(stacks)
    }
}

/// Returns the field of a column of stack names.
pub(crate) fn stack_field(name: &str, description: &str) -> Field {
    field(name, words(), "", description)
}

/// Returns `columns` as a batch.
pub(crate) fn batch(schema: SchemaRef, columns: Vec<ArrayRef>) -> RecordBatch {
    RecordBatch::try_new(schema, columns)
        .expect("columns have equal lengths and the types of the schema")
}

/// Returns the swept keys with their values.
fn axes(results: &Results) -> Vec<Axis> {
    let Some(first) = results.points.first() else {
        return Vec::new();
    };
    let coordinates = results.coordinates();
    let axes = first.values.iter().enumerate();
    let axis = |(n, (key, _)): (usize, &(String, _))| {
        let here: Vec<&Coordinate> = coordinates.iter().filter_map(|at| at.get(n)).collect();
        let written = results
            .points
            .iter()
            .map(|point| point.values[n].1.to_string());
        Axis {
            key: key.clone(),
            values: Values::of(&here, written),
        }
    };
    axes.map(axis).collect()
}

impl Values {
    /// Returns numbers if all points have a number in the same unit, switches if all have a switch, and otherwise the
    /// values as they were `written`.
    fn of(coordinates: &[&Coordinate], written: impl Iterator<Item = String>) -> Self {
        let unit = coordinates.first().map_or("", |first| first.unit());
        let number = |coordinate: &&Coordinate| match coordinate {
            Coordinate::Number { number, unit: own } if *own == unit => Some(*number),
            _ => None,
        };
        let switch = |coordinate: &&Coordinate| match coordinate {
            Coordinate::Switch(on) => Some(*on),
            _ => None,
        };
        if let Some(numbers) = coordinates.iter().map(number).collect() {
            return Self::Numbers(numbers, unit);
        }
        if let Some(switches) = coordinates.iter().map(switch).collect() {
            return Self::Switches(switches);
        }
        let mut places: BTreeMap<String, usize> = BTreeMap::new();
        let mut words = Vec::new();
        let which = written.map(|word| {
            *places.entry(word).or_insert_with_key(|word| {
                words.push(word.clone());
                words.len() - 1
            })
        });
        let which = which.collect();
        Self::Words(Known::new(words), which)
    }
}

impl Axis {
    fn field(&self) -> Field {
        let about = format!("Value of the swept key `{}` at the point.", self.key);
        let (kind, unit) = match &self.values {
            Values::Numbers(_, unit) => (DataType::Float64, *unit),
            Values::Switches(_) => (DataType::Boolean, ""),
            Values::Words(..) => (words(), ""),
        };
        field(&self.key, kind, unit, &about)
    }

    /// Returns the value at each of `points`.
    fn column(&self, points: &[u32]) -> ArrayRef {
        let places = points.iter().map(|point| *point as usize);
        match &self.values {
            Values::Numbers(numbers, _) => {
                let here = places.map(|place| numbers[place]);
                Arc::new(Float64Array::from_iter_values(here))
            }
            Values::Switches(switches) => {
                let here: Vec<bool> = places.map(|place| switches[place]).collect();
                Arc::new(BooleanArray::from(here))
            }
            Values::Words(words, which) => words.column(places.map(|place| which[place])),
        }
    }
}
