//! Unknown words in definitions. The check needs no inputs, so it also covers definitions that no rule uses.

use crate::dictionary::{Definition, Dictionary, WORDS};
use crate::eval::PAPER;
use crate::reference::FUNCTIONS;
use crate::syntax::{Expression, Fault, Node};
use crate::world::World;

/// The words known at a place in a definition.
struct Known<'k> {
    book: &'k Dictionary,
    world: &'k World<'k>,
    /// Inputs of the definition, and the variables of enclosing loops.
    variables: Vec<&'k str>,
}

/// Returns the fault for the first unknown word of a definition.
pub(crate) fn unknown(
    definition: &Definition,
    book: &Dictionary,
    world: &World<'_>,
) -> Option<Fault> {
    let mut known = Known {
        book,
        world,
        variables: definition.inputs.iter().map(String::as_str).collect(),
    };
    known.read(&definition.body).err()
}

impl<'k> Known<'k> {
    fn read(&mut self, of: &'k Expression) -> Result<(), Fault> {
        match &of.node {
            Node::Number(_) | Node::Quantity(_) | Node::Text(_) => Ok(()),
            Node::Name(name) => self.name(name, of),
            Node::List(inner) => inner.iter().try_for_each(|one| self.read(one)),
            Node::Call { name, inputs } => {
                self.function(name, of)?;
                self.choices(inputs)
            }
            Node::Select { name, choices } => {
                self.measure(name, of)?;
                self.choices(choices)
            }
            Node::Within { experiment, body } => self.within(experiment, body, of),
            Node::Over {
                variable,
                items,
                body,
                ..
            } => {
                self.read(items)?;
                self.variables.push(variable);
                let out = self.read(body);
                self.variables.pop();
                out
            }
            Node::Negative(inner) | Node::Not(inner) => self.read(inner),
            Node::Binary { .. } => self.chain(of),
        }
    }

    /// Checks a chain of operators from the right in a loop, so that a long chain does not need deep recursion.
    fn chain(&mut self, of: &'k Expression) -> Result<(), Fault> {
        let mut here = of;
        while let Node::Binary { left, right, .. } = &here.node {
            self.read(right)?;
            here = left;
        }
        self.read(here)
    }

    /// Checks the choices in brackets. The left side of a condition is a key and is not checked here.
    fn choices(&mut self, choices: &'k [Expression]) -> Result<(), Fault> {
        choices.iter().try_for_each(|choice| match &choice.node {
            Node::Binary {
                operator,
                left,
                right,
            } if operator.compares() && matches!(left.node, Node::Name(_)) => self.read(right),
            _ => self.read(choice),
        })
    }

    fn within(
        &mut self,
        experiment: &str,
        body: &'k Expression,
        of: &Expression,
    ) -> Result<(), Fault> {
        if experiment == PAPER {
            return match &body.node {
                Node::Select { choices, .. } => self.choices(choices),
                _ => Ok(()),
            };
        }
        let scenes = self.world.scenes.iter().map(|scene| scene.name.as_str());
        if scenes.clone().any(|known| known == experiment) {
            return self.read(body);
        }
        let span = of.span.start..of.span.start + experiment.len();
        let message = format!("unknown experiment `{experiment}`");
        Err(Fault::new(&span, message).meant(experiment, scenes))
    }

    fn quantities(&self) -> impl Iterator<Item = &'k str> + Clone + use<'k> {
        self.world
            .scenes
            .iter()
            .flat_map(|scene| scene.quantities())
    }

    fn name(&self, name: &str, of: &Expression) -> Result<(), Fault> {
        let names = self.book.names.iter().map(|stack| stack.name.as_str());
        let definitions = self.book.definitions.iter().map(|d| d.name.as_str());
        let variables = self.variables.iter().copied();
        let all = variables
            .chain(names)
            .chain(definitions)
            .chain(self.quantities());
        if WORDS.contains(&name) || all.clone().any(|known| known == name) {
            return Ok(());
        }
        let message = format!("unknown name `{name}`");
        Err(Fault::new(&of.span, message).meant(name, all))
    }

    fn function(&self, name: &str, of: &Expression) -> Result<(), Fault> {
        let functions = FUNCTIONS.iter().map(|function| function.name);
        let definitions = self.book.definitions.iter().map(|d| d.name.as_str());
        let all = functions.chain(definitions);
        if all.clone().any(|known| known == name) {
            return Ok(());
        }
        let message = format!("unknown function `{name}`");
        Err(Fault::new(&of.span, message).meant(name, all))
    }

    fn measure(&self, name: &str, of: &Expression) -> Result<(), Fault> {
        if name == "points" || self.quantities().any(|known| known == name) {
            return Ok(());
        }
        let message = format!("unknown measure `{name}`");
        Err(Fault::new(&of.span, message).meant(name, self.quantities()))
    }
}
