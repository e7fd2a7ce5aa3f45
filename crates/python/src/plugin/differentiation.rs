//! Loss differentiation in Python.

use std::sync::Arc;

use dupack_algorithms::catalog::{Context, Values};
use dupack_tcp::differentiation::Differentiation as Trait;
use dupack_tcp::facts::{AckFacts, LossCause, LossFacts, View};
use pyo3::prelude::*;

use super::object::{Class, Object, methods};
use super::reused::Reused;
use super::words::Word;
use super::{facts, read, values};

methods! {
    OnAck = "on_ack",
    Judge = "judge",
    OnSegmentSize = "on_segment_size",
}

/// Loss differentiation with methods in Python.
#[derive(Debug)]
pub struct Differentiation {
    object: Object,
    on_ack: Reused<(Py<facts::AckFacts>, Py<facts::View>)>,
}

impl Differentiation {
    pub fn new(class: &Arc<Class>, values: &Values, context: &Context) -> Self {
        Self {
            object: Object::new(class, METHODS, values, context),
            on_ack: Reused::default(),
        }
    }
}

impl Trait for Differentiation {
    fn on_ack(&mut self, ack: &AckFacts<'_>, view: &View<'_>) {
        self.object.ask_of(
            Method::OnAck as usize,
            &self.on_ack,
            (ack,),
            view,
            read::nothing,
        );
    }

    fn judge(&mut self, loss: &LossFacts) -> LossCause {
        let cause = self.object.ask_with(
            Method::Judge as usize,
            Some(loss.now),
            |py| (values::LossFacts(*loss),).into_pyobject(py),
            |answer| {
                LossCause::read(answer).or_else(|_| {
                    read::expected("a cause: dupack.LossCause.CONGESTION or .WIRELESS")
                })
            },
        );
        cause.unwrap_or(LossCause::Congestion)
    }

    fn on_segment_size(&mut self, from: u32, to: u32) {
        self.object.ask_with(
            Method::OnSegmentSize as usize,
            None,
            |py| (from, to).into_pyobject(py),
            read::nothing,
        );
    }
}
