//! Congestion response in Python.

use std::sync::Arc;

use dupack_algorithms::catalog::{Context, Values};
use dupack_tcp::facts::{AckFacts, LossFacts, View};
use dupack_tcp::response::Response as Trait;
use dupack_tcp::window::Window;
use pyo3::prelude::*;

use super::object::{Class, Object, methods};
use super::read::{self, Plain};
use super::reused::Reused;
use super::{facts, values};

methods! {
    OnAck = "on_ack",
    Respond = "respond",
    Growth = "growth",
    OnSegmentSize = "on_segment_size",
}

/// Congestion response with methods in Python.
#[derive(Debug)]
pub struct Response {
    object: Object,
    on_ack: Reused<(Py<facts::AckFacts>, Py<facts::View>)>,
}

impl Response {
    pub fn new(class: &Arc<Class>, values: &Values, context: &Context) -> Self {
        Self {
            object: Object::new(class, METHODS, values, context),
            on_ack: Reused::default(),
        }
    }
}

impl Trait for Response {
    fn on_ack(&mut self, ack: &AckFacts<'_>, view: &View<'_>) {
        self.object.ask_of(
            Method::OnAck as usize,
            &self.on_ack,
            (ack,),
            view,
            read::nothing,
        );
    }

    fn respond(&mut self, loss: &LossFacts, congestion: Window) -> Window {
        let window = self.object.ask_with(
            Method::Respond as usize,
            Some(loss.now),
            |py| (values::LossFacts(*loss), values::Window(congestion)).into_pyobject(py),
            |answer| read::window(answer, Plain::Refused),
        );
        window.unwrap_or(congestion)
    }

    fn growth(&self) -> f64 {
        let what = "a share of the increase, from 0 to 1";
        let place = Method::Growth as usize;
        let growth = self
            .object
            .ask_alone(place, |answer| read::real(answer, what));
        growth.unwrap_or(1.0)
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
