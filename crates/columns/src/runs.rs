//! Tables with a row per run, and with a row per flow of every run, built run by run.

use std::sync::Arc;

use arrow_array::builder::{Float64Builder, UInt64Builder};
use arrow_array::{ArrayRef, Float64Array, RecordBatch, UInt32Array, UInt64Array};
use arrow_schema::{DataType, Field, SchemaRef};
use dupack_lab::results::{Measure, Results, Run};

use crate::field::{field, optional, words};
use crate::sweep::{Sweep, stack_field};
use crate::words::Met;

/// Returns the measures that at least one run of `results` has.
#[must_use]
pub fn measured(results: &Results) -> Vec<Measure> {
    Measure::ALL
        .into_iter()
        .filter(|m| results.has(*m))
        .collect()
}

/// Columns that identify the run in every table about runs. They follow the columns for the place in the sweep.
#[derive(Clone, Debug, Default)]
struct Places {
    points: Vec<u32>,
    stacks: Vec<usize>,
    seeds: Vec<u64>,
}

impl Places {
    fn push(&mut self, point: usize, run: &Run) {
        self.points.push(point as u32);
        self.stacks.push(run.stack);
        self.seeds.push(run.seed);
    }

    fn fields() -> [Field; 2] {
        [
            stack_field("stack", "The stack under comparison."),
            field("seed", DataType::UInt64, "", "The seed of the run."),
        ]
    }

    /// Returns the rows added since the last call as a batch: their places and seeds, followed by the table's `own`
    /// columns.
    fn take(&mut self, sweep: &Sweep, schema: &SchemaRef, own: Vec<ArrayRef>) -> RecordBatch {
        let places = std::mem::take(self);
        let seeds: ArrayRef = Arc::new(UInt64Array::from(places.seeds));
        let columns = [sweep.stacks(places.stacks), seeds].into_iter().chain(own);
        sweep.batch(schema.clone(), &places.points, columns)
    }
}

/// Builder of the table `runs`: a row per run.
///
/// ```
/// use dupack_algorithms::catalog::Catalog;
/// use dupack_columns::{Runs, Sweep, measured};
/// use dupack_lab::experiment::load::{ExperimentError, Source};
/// use dupack_engine::{Execute, Execution};
/// use dupack_lab::run::{Interrupt, Plan};
///
/// # fn main() -> Result<(), ExperimentError> {
/// let text = "stacks = [\"sack/reno\"]\nseeds = 3\nduration = \"2s\"\n[path]\nrate = \"1Mbit/s\"\n";
/// let source = Source::new("example.toml", text);
/// let plan = Plan::new(source.parse()?, &source, &Catalog::builtin())?;
/// let results = plan.execute(Execution::default(), &(), &Interrupt::new());
/// let mut table = Runs::new(Sweep::of(&results), measured(&results));
/// results.runs.iter().for_each(|run| table.push(run));
/// let batch = table.take();
/// assert_eq!(batch.num_rows(), 3);
/// assert_eq!(batch.schema().field_with_name("goodput_mbit_s").unwrap().metadata()["unit"], "Mbit/s");
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Runs {
    sweep: Sweep,
    schema: SchemaRef,
    places: Places,
    measures: Vec<(Measure, Float64Builder)>,
    hashes: UInt64Builder,
}

impl Runs {
    /// Creates an empty table for the runs of `sweep`, with a column for each of `measures`. Use [`measured`] if all
    /// runs are available, and [`Measure::ALL`] otherwise.
    #[must_use]
    pub fn new(sweep: Sweep, measures: impl IntoIterator<Item = Measure>) -> Self {
        let measures = measures.into_iter().map(|m| (m, Float64Builder::new()));
        let measures: Vec<_> = measures.collect();
        let column = |(m, _): &(Measure, Float64Builder)| {
            optional(m.key(), DataType::Float64, m.unit(), m.description())
        };
        let hash = "Hash over every event of every packet: equal for runs that are the same event by event.";
        let hash = optional("trace_hash", DataType::UInt64, "", hash);
        let own = Places::fields().into_iter();
        let schema = sweep.schema(own.chain(measures.iter().map(column)).chain([hash]));
        Self {
            sweep,
            schema,
            places: Places::default(),
            measures,
            hashes: UInt64Builder::new(),
        }
    }

    /// Returns the schema of every batch of the table.
    #[must_use]
    pub fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    /// Returns an empty table with the same sweep and columns.
    #[must_use]
    pub fn another(&self) -> Self {
        let measures = self.measures.iter();
        Self {
            sweep: self.sweep.clone(),
            schema: self.schema.clone(),
            places: Places::default(),
            measures: measures.map(|(m, _)| (*m, Float64Builder::new())).collect(),
            hashes: UInt64Builder::new(),
        }
    }

    /// Adds a run of the sweep.
    ///
    /// # Panics
    /// [`take`](Self::take) panics if the run's point or stack is not in the sweep.
    pub fn push(&mut self, run: &Run) {
        self.push_at(run.point, run);
    }

    /// Adds a run at `point` of the sweep. The point in `run` is ignored.
    ///
    /// # Panics
    /// [`take`](Self::take) panics if `point` or the run's stack is not in the sweep.
    pub fn push_at(&mut self, point: usize, run: &Run) {
        self.places.push(point, run);
        for (measure, column) in &mut self.measures {
            column.append_option(run.values.get(*measure));
        }
        self.hashes.append_option(self.sweep.hash_of(run));
    }

    /// Returns the number of rows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.places.points.len()
    }

    /// Returns `true` if the table has no rows.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the rows as a batch and empties the table.
    #[must_use]
    pub fn take(&mut self) -> RecordBatch {
        let measures = self.measures.iter_mut();
        let mut own: Vec<ArrayRef> = measures
            .map(|(_, column)| Arc::new(column.finish()) as ArrayRef)
            .collect();
        own.push(Arc::new(self.hashes.finish()));
        self.places.take(&self.sweep, &self.schema, own)
    }
}

/// Builder of the table `flows`: a row per TCP flow of every run.
#[derive(Debug)]
pub struct Flows {
    sweep: Sweep,
    schema: SchemaRef,
    places: Places,
    flows: Vec<u32>,
    groups: Met<String>,
    goodputs: Vec<f64>,
}

impl Flows {
    /// Creates an empty table for the flows of `sweep`.
    #[must_use]
    pub fn new(sweep: Sweep) -> Self {
        let flow = "Index of the flow among the TCP flows of the run, from 0.";
        let goodput = "Bytes of the flow delivered in order per second, in Mbit/s of payload.";
        let own = [
            field("flow", DataType::UInt32, "", flow),
            optional("group", words(), "", "Name of the flow's group."),
            field("goodput_mbit_s", DataType::Float64, "Mbit/s", goodput),
        ];
        let schema = sweep.schema(Places::fields().into_iter().chain(own));
        Self {
            sweep,
            schema,
            places: Places::default(),
            flows: Vec::new(),
            groups: Met::default(),
            goodputs: Vec::new(),
        }
    }

    /// Returns the schema of every batch of the table.
    #[must_use]
    pub fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    /// Returns an empty table with the same sweep.
    #[must_use]
    pub fn another(&self) -> Self {
        Self {
            sweep: self.sweep.clone(),
            schema: self.schema.clone(),
            places: Places::default(),
            flows: Vec::new(),
            groups: Met::default(),
            goodputs: Vec::new(),
        }
    }

    /// Adds the flows of a run of the sweep.
    ///
    /// # Panics
    /// [`take`](Self::take) panics if the run's point or stack is not in the sweep.
    pub fn push(&mut self, run: &Run) {
        self.push_at(run.point, run);
    }

    /// Adds the flows of a run at `point` of the sweep. The point in `run` is ignored.
    ///
    /// # Panics
    /// [`take`](Self::take) panics if `point` or the run's stack is not in the sweep.
    pub fn push_at(&mut self, point: usize, run: &Run) {
        for (flow, goodput) in (0..).zip(&run.flow_goodputs) {
            self.places.push(point, run);
            self.flows.push(flow);
            let group = self.sweep.group_of(point, flow as usize);
            self.groups.push(group.map(str::to_owned));
            self.goodputs.push(*goodput);
        }
    }

    /// Returns the number of rows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.flows.len()
    }

    /// Returns `true` if the table has no rows.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the rows as a batch and empties the table.
    #[must_use]
    pub fn take(&mut self) -> RecordBatch {
        let flows: ArrayRef = Arc::new(UInt32Array::from(std::mem::take(&mut self.flows)));
        let goodputs: ArrayRef = Arc::new(Float64Array::from(std::mem::take(&mut self.goodputs)));
        let own = vec![flows, self.groups.take(), goodputs];
        self.places.take(&self.sweep, &self.schema, own)
    }
}
