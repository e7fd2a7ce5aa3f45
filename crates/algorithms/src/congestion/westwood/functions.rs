//! Functions f1 to f6 of §III, which compute the windows after a loss from x = BWE · RTTmin.

use super::parameters::WestwoodParameters;
use crate::catalog::Choice;

/// Functions of §III, for windows in bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Functions {
    pub(super) f1: Function,
    pub(super) f2: Function,
    pub(super) f3: Function,
    pub(super) f4: Function,
    pub(super) f5: Function,
    pub(super) f6: Function,
}

impl Functions {
    /// Returns the functions for segments of `smss` bytes.
    pub(super) fn new(parameters: &WestwoodParameters, smss: f64) -> Self {
        let p = parameters;
        let function = |shape, gain| Function { shape, gain, smss };
        Self {
            f1: function(p.f1, p.f1_gain),
            f2: function(p.f2, p.f2_gain),
            f3: function(p.f3, p.f3_gain),
            f4: function(p.f4, p.f4_gain),
            f5: function(p.f5, p.f5_gain),
            f6: function(p.f6, p.f6_gain),
        }
    }

    pub(super) fn resize(&mut self, smss: u32) {
        let Self {
            f1,
            f2,
            f3,
            f4,
            f5,
            f6,
        } = self;
        for function in [f1, f2, f3, f4, f5, f6] {
            function.smss = f64::from(smss);
        }
    }
}

/// Function: a shape and a gain.
#[derive(Clone, Copy, Debug)]
pub(super) struct Function {
    shape: Shape,
    gain: f64,
    /// Size of a segment, in bytes.
    smss: f64,
}

/// Shape of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub enum Shape {
    /// x = BWE · RTTmin
    Pipe,
    /// x/a
    Reduced,
    /// one segment
    Segment,
}

impl Function {
    /// Returns the value of the function for a pipe of `x` bytes and a reduction factor `a`.
    pub(super) fn of(self, x: f64, a: f64) -> f64 {
        self.gain
            * match self.shape {
                Shape::Pipe => x,
                Shape::Reduced => x / a,
                Shape::Segment => self.smss,
            }
    }
}
